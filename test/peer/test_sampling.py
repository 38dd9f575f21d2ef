"""Operators that read between elements (GridSample) against ONNX Runtime, and against the ONNX project's reference where that has
no such operator. SEER_TEST: timeout=400"""
import itertools

import numpy as np

from nodes import Nodes, refused
from peer import run_tests

rng = np.random.default_rng(11)


def random(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def grid(*shape, scale=1.4):
    """Coordinates inside and outside."""
    return rng.uniform(-scale, scale, shape).astype(np.float32)


def grid_sample_2d():
    for names, opset in ((("bilinear", "nearest", "bicubic"), 16), (("linear", "nearest", "cubic"), 20)):
        nodes = Nodes(opset)
        for (n, c, h, w), (oh, ow) in (((2, 3, 5, 7), (4, 6)), ((1, 1, 1, 1), (3, 2)), ((1, 17, 13, 2), (1, 11))):
            x, g = random(n, c, h, w), grid(n, oh, ow, 2)
            for mode, padding, corners in itertools.product(names, ("zeros", "border", "reflection"), (0, 1)):
                # a reflection between two middles that are one has no length: ONNX Runtime divides by it
                if not (padding == "reflection" and corners and 1 in (h, w)):
                    nodes.add("GridSample", x, g, mode=mode, padding_mode=padding, align_corners=corners)
        nodes.check(atol=2e-5)


def grid_sample_3d():
    nodes = Nodes(20)
    for (n, c, d, h, w), out in (((2, 3, 4, 5, 7), (3, 4, 2)), ((1, 2, 1, 3, 2), (2, 1, 5))):
        x, g = random(n, c, d, h, w), grid(n, *out, 3)
        for mode, padding, corners in itertools.product(("linear", "nearest"), ("zeros", "border", "reflection"), (0, 1)):
            if not (padding == "reflection" and corners and 1 in (d, h, w)):
                nodes.add("GridSample", x, g, mode=mode, padding_mode=padding, align_corners=corners)
    nodes.check()


def grid_sample_values():
    """Far away, exactly at elements and edges; infinite elements outside the picture of a coordinate; f64."""
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    places = np.array([-1e6, -7.5, -1, -0.5, 0, 1 / 3, 1, 3.25, 1e6], np.float32)
    g = np.stack(np.meshgrid(places, places), -1)[None]
    nodes = Nodes(20)
    for mode, padding, corners in itertools.product(("linear", "cubic"), ("zeros", "border"), (0, 1)):
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
    from peer import reference
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


run_tests([("GridSample 2-D", grid_sample_2d), ("GridSample 3-D", grid_sample_3d), ("GridSample values", grid_sample_values),
           ("GridSample types", grid_sample_types), ("GridSample refused", grid_sample_refused)])
