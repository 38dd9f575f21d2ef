"""Operators that read between elements, GridSample and RoiAlign, and MaxRoiPool, against ONNX Runtime. SEER_TEST: timeout=400 cost=30"""
import numpy as np

from onnx import TensorProto, helper, numpy_helper

from nodes import Nodes, const, refused
from peer import FULL, check_model, crossed, reference, run_tests

rng = np.random.default_rng(11)


def random(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def grid(*shape, scale=1.4):
    """Coordinates inside and outside."""
    return rng.uniform(-scale, scale, shape).astype(np.float32)


def grid_sample_2d():
    shapes = ((2, 3, 5, 7), (4, 6)), ((1, 1, 1, 1), (3, 2)), ((1, 17, 13, 2), (1, 11))
    for names, opset in ((("bilinear", "nearest", "bicubic"), 16), (("linear", "nearest", "cubic"), 20)):
        nodes = Nodes(opset)
        for (n, c, h, w), (oh, ow) in shapes if opset == 16 or FULL else shapes[:1]:  # of 20 only names are new
            x, g = random(n, c, h, w), grid(n, oh, ow, 2)
            for mode, padding, corners in crossed(names, ("zeros", "border", "reflection"), (0, 1)):
                # a reflection between two middles that are one has no length: ONNX Runtime divides by it
                if not (padding == "reflection" and corners and 1 in (h, w)):
                    nodes.add("GridSample", x, g, mode=mode, padding_mode=padding, align_corners=corners)
        nodes.check(atol=2e-5)


def grid_sample_3d():
    nodes = Nodes(20)
    for (n, c, d, h, w), out in (((2, 3, 4, 5, 7), (3, 4, 2)), ((1, 2, 1, 3, 2), (2, 1, 5))):
        x, g = random(n, c, d, h, w), grid(n, *out, 3)
        for mode, padding, corners in crossed(("linear", "nearest"), ("zeros", "border", "reflection"), (0, 1)):
            if not (padding == "reflection" and corners and 1 in (d, h, w)):
                nodes.add("GridSample", x, g, mode=mode, padding_mode=padding, align_corners=corners)
    nodes.check()


def grid_sample_values():
    """Far away, exactly at elements and edges; infinite elements outside the picture of a coordinate; f64."""
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    places = np.array([-1e6, -7.5, -1, -0.5, 0, 1 / 3, 1, 3.25, 1e6], np.float32)
    g = np.stack(np.meshgrid(places, places), -1)[None]
    nodes = Nodes(20)
    for mode, padding, corners in crossed(("linear", "cubic"), ("zeros", "border"), (0, 1)):
        nodes.add("GridSample", x, g, mode=mode, padding_mode=padding, align_corners=corners)
    edges = x.copy()
    edges[:, :, 0, :] = edges[:, :, -1, :] = np.inf
    nodes.add("GridSample", edges, np.full((1, 1, 1, 2), -3, np.float32))
    x64, g64 = random(1, 2, 5, 6, dtype=np.float64), grid(1, 3, 4, 2).astype(np.float64)
    nodes.add("GridSample", x64, g64, padding_mode="border")
    nodes.add("GridSample", x64, g64, mode="cubic")
    nodes.check()
    nodes = Nodes(20)  # beyond what an integer holds, where ONNX Runtime's is undefined: outside as any other
    far = np.array([-1e30, 1e30, -np.inf, np.inf], np.float32)
    for mode in ("nearest", "linear", "cubic"):
        nodes.add("GridSample", x, np.stack([far, far], -1)[None, None], mode=mode,
                  want=[np.zeros((1, 1, 1, 4), np.float32)])
    nodes.check()


def grid_sample_types():
    """Types that ONNX has and ONNX Runtime has not, against the same numbers in f32."""
    g = grid(1, 4, 6, 2)
    image = rng.integers(0, 200, (1, 3, 5, 7))
    exact = Nodes(20)
    name = exact.add("GridSample", image.astype(np.float32), g, mode="nearest")
    want = reference(exact.model(), exact.feeds)[name]
    nodes = Nodes(20)
    for t in (np.uint8, np.int32, np.int64, np.float16):
        nodes.add("GridSample", image.astype(t), g, mode="nearest", want=[want.astype(t)])
    nodes.check()


def grid_sample_refused():
    x, g = random(1, 2, 3, 4), grid(1, 3, 3, 2)
    refused("attribute 'mode' is 'area'", 20, "GridSample", x, g, mode="area")
    refused("attribute 'padding_mode' is 'wrap'", 20, "GridSample", x, g, padding_mode="wrap")
    refused("input 1 is [1,3,3,3]", 20, "GridSample", x, grid(1, 3, 3, 3))
    refused("must have 2 or 3 spatial dimensions", 20, "GridSample", random(1, 2, 3), grid(1, 3, 1))
    refused("cubic interpolation of 3 dimensions", 20, "GridSample", random(1, 2, 3, 4, 2), grid(1, 2, 2, 2, 3), mode="cubic")


def regions(n, height, width):
    """Inside, beyond and beside the image, and with ends in front of starts."""
    rois = rng.uniform(-0.2, 1.2, (n, 4)) * [width, height, width, height]
    rois[: n // 2, 2:] = rois[: n // 2, :2] + np.abs(rois[: n // 2, 2:])
    return rois.astype(np.float32)


def tidied(rois):
    """No end in front of its start: for such a region ONNX Runtime finds less than no points."""
    rois[:, 2:] = np.maximum(rois[:, 2:], rois[:, :2] + 0.1)
    return rois


def roi_align():
    for opset, modes in ((10, (None,)), (16, ("half_pixel", "output_half_pixel"))):
        nodes = Nodes(opset)
        for (n, c, h, w), (oh, ow) in (((2, 3, 9, 13), (3, 5)), ((1, 1, 1, 1), (1, 1)), ((3, 17, 16, 7), (7, 2))):
            x, rois, index = random(n, c, h, w), regions(11, h, w), rng.integers(0, n, 11)
            for mode, ratio, scale, coordinates in crossed(("avg", "max"), (1, 2, 3), (1.0, 0.6), modes):
                attrs = {"coordinate_transformation_mode": coordinates} if coordinates else {}
                nodes.add("RoiAlign", x, rois, index, mode=mode, sampling_ratio=ratio, spatial_scale=scale, output_height=oh,
                          output_width=ow, **attrs)
        nodes.check(rtol=1e-4, atol=2e-5)


def roi_align_adaptive():
    """As many points as a bin has pixels: few, as many as regions in the image need, and of regions far larger than it."""
    for size, big in ((1, 0), (1, 1), (1, 40)):
        nodes = Nodes(16)
        for (h, w), (oh, ow) in (((9, 33), (3, 2)), ((5, 7), (7, 7))):
            x, index = random(2, 3, h, w), rng.integers(0, 2, 6)
            rois = tidied(regions(6, h, w) * (0.3 if big == 0 else 1))
            if big > 1:
                rois[1] = [-big * w, -3, big * w, big * h]
                rois[3] = [-7, -big * h, 3, 2]
            for mode, coordinates in crossed(("avg", "max"), ("half_pixel", "output_half_pixel")):
                nodes.add("RoiAlign", x, rois.astype(np.float32), index, mode=mode, coordinate_transformation_mode=coordinates,
                          output_height=oh, output_width=ow)
        nodes.check(rtol=1e-4, atol=2e-5)


def roi_align_detected():
    """Regions of which data says how many there are."""
    F, I = TensorProto.FLOAT, TensorProto.INT64
    for ratio in (0, 2):
        made = [helper.make_node("Greater", ["score", "half"], ["is"]), helper.make_node("NonZero", ["is"], ["at"]),
                helper.make_node("Squeeze", ["at", "zero"], ["index"]), helper.make_node("Gather", ["boxes", "index"], ["rois"]),
                helper.make_node("Gather", ["images", "index"], ["image"]),
                helper.make_node("RoiAlign", ["x", "rois", "image"], ["y"], output_height=3, output_width=2, sampling_ratio=ratio)]
        graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", F, [2, 3, 20, 20]),
                                              helper.make_tensor_value_info("boxes", F, [9, 4]),
                                              helper.make_tensor_value_info("images", I, [9]),
                                              helper.make_tensor_value_info("score", F, [9])],
                                  [helper.make_tensor_value_info("y", F, ["n", 3, 3, 2])],
                                  [const("half", 0.4, np.float32), const("zero", [0], np.int64)])
        feeds = {"x": random(2, 3, 20, 20), "boxes": tidied(regions(9, 20, 20)), "images": rng.integers(0, 2, 9),
                 "score": rng.random(9).astype(np.float32)}
        check_model(f"RoiAlign of detections, {ratio}", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8),
                    feeds, threads=(2,))


def max_roi_pool():
    nodes = Nodes(11)
    for (n, c, h, w), shape in (((2, 3, 9, 13), (3, 5)), ((1, 1, 1, 1), (2, 1)), ((1, 5, 16, 7), (6, 7))):
        x, rois = random(n, c, h, w), np.concatenate([rng.integers(0, n, (8, 1)), regions(8, h, w)], 1).astype(np.float32)
        for scale in (1.0, 0.3):
            nodes.add("MaxRoiPool", x, rois, pooled_shape=shape, spatial_scale=scale)
    nodes.check()


def roi_refused():
    x, rois, index = random(1, 2, 5, 5), regions(3, 5, 5), np.zeros(3, np.int64)
    refused("attribute 'mode' is 'min'", 16, "RoiAlign", x, rois, index, mode="min")
    refused("'sampling_ratio' is -1", 16, "RoiAlign", x, rois, index, sampling_ratio=-1)
    refused("'output_height' is 0", 16, "RoiAlign", x, rois, index, output_height=0)
    refused("must be half_pixel or output_half_pixel", 16, "RoiAlign", x, rois, index, coordinate_transformation_mode="asymmetric")
    refused("input 1 is [3,5]", 16, "RoiAlign", x, random(3, 5), index)
    refused("must be i64[3]", 16, "RoiAlign", x, rois, np.zeros(4, np.int64))
    refused("'pooled_shape' is absent", 11, "MaxRoiPool", x, random(3, 5))
    refused("'pooled_shape' has entry 0", 11, "MaxRoiPool", x, random(3, 5), pooled_shape=[0, 2])


def deform_conv():
    nodes = Nodes(19)
    for (n, c, h, w), made, kernel, group, parts, attrs in (
            ((2, 4, 7, 6), 6, (3, 3), 1, 1, {"pads": [1] * 4}), ((1, 6, 9, 5), 4, (3, 2), 2, 3, {"strides": [2, 1], "pads": [0, 1, 2, 0]}),
            ((1, 4, 8, 8), 4, (3, 3), 4, 2, {"dilations": [2, 2], "pads": [2] * 4}), ((1, 1, 1, 1), 1, (1, 1), 1, 1, {})):
        pads, strides, dilations = attrs.get("pads", [0] * 4), attrs.get("strides", [1, 1]), attrs.get("dilations", [1, 1])
        out = [(size + pads[d] + pads[d + 2] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1 for d, size in enumerate((h, w))]
        x, weights, taps = random(n, c, h, w), random(made, c // group, *kernel), kernel[0] * kernel[1]
        offset, mask = random(n, parts * taps * 2, *out) * 2, random(n, parts * taps, *out)
        for constants in ((), (1,)):
            for operands in ((x, weights, offset), (x, weights, offset, random(made)), (x, weights, offset, None, mask),
                             (x, weights, offset, random(made), mask)):
                nodes.add("DeformConv", *operands, constants=constants, group=group, offset_group=parts, **attrs)
    nodes.check(rtol=1e-4, atol=1e-4)


def deform_conv_refused():
    x, w, offset = random(1, 4, 5, 5), random(2, 4, 3, 3), random(1, 18, 3, 3)
    refused("'offset_group' is 3, must divide channels 4", 19, "DeformConv", x, w, offset, offset_group=3)
    refused("must have 36 channels", 19, "DeformConv", x, w, offset, offset_group=2)
    refused("must have 18 channels at each of the window's places, 5", 19, "DeformConv", x, w, offset, pads=[1] * 4)
    refused("'group' is 0", 19, "DeformConv", x, w, offset, group=0)
    refused("'kernel_shape' has 2", 19, "DeformConv", x, w, offset, kernel_shape=[2, 2])


def between_convolutions():
    """Channels may lie last there, in f32 and in half precision."""
    for dtype, atol in ((np.float32, 2e-4), (np.float16, 3e-2)):
        nodes = Nodes(16)
        x, w, v = random(1, 8, 12, 10, dtype=dtype), random(16, 8, 3, 3, dtype=dtype) / dtype(8), random(8, 16, 1, 1, dtype=dtype) / dtype(4)
        rois = tidied(regions(3, 12, 10)).astype(dtype)
        made = nodes.add("Conv", x, w, constants=(1,), pads=[1] * 4)
        for read in (nodes.add("GridSample", made, grid(1, 7, 9, 2).astype(dtype), mode="bilinear"),
                     nodes.add("RoiAlign", made, rois, np.zeros(3, np.int64), output_height=4, output_width=4, sampling_ratio=2),
                     nodes.add("MaxPool", made, outputs=2, kernel_shape=[2, 2], strides=[2, 2]),
                     nodes.add("LpPool", made, kernel_shape=[2, 2], strides=[2, 2])):
            nodes.add("Relu", nodes.add("Conv", read, v, constants=(1,)))
        want = None
        if dtype == np.float16:  # of which ONNX Runtime has few of these operators: the same numbers in f32
            wide = Nodes(16)
            wide.nodes, wide.label = nodes.nodes, nodes.label
            wide.feeds = {k: a.astype(np.float32) if a.dtype == dtype else a for k, a in nodes.feeds.items()}
            wide.constants = [const(c.name, numpy_helper.to_array(c).astype(np.float32)) for c in nodes.constants]
            want = {k: a.astype(dtype) if a.dtype == np.float32 else a for k, a in reference(wide.model(), wide.feeds).items()}
            for k in [k for k, a in want.items() if a.dtype == np.int64]:  # halves have equals
                del want[k], nodes.label[k]
        nodes.want = want or {}
        nodes.check(rtol=atol, atol=atol)


run_tests([("RoiAlign points", roi_align), ("RoiAlign adaptive", roi_align_adaptive), ("RoiAlign detected", roi_align_detected),
           ("MaxRoiPool", max_roi_pool), ("Roi refused", roi_refused),
           ("GridSample 2-D", grid_sample_2d), ("GridSample 3-D", grid_sample_3d), ("GridSample values", grid_sample_values),
           ("GridSample types", grid_sample_types), ("GridSample refused", grid_sample_refused),
           ("DeformConv", deform_conv), ("Deform refused", deform_conv_refused),
           ("between convolutions", between_convolutions)])
