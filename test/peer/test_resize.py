"""Resize and Upsample against ONNX Runtime: which element a coordinate falls on, at scales whose coordinates are ties or whole numbers but
for a rounding of f32, and extents that follow from scales. SEER_TEST: timeout=300"""
import itertools
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import familyseer, reference, run_tests

F32 = TensorProto.FLOAT
MODES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric", "tf_crop_and_resize")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SCALES = (2.6, 1.5, 0.7, 0.6, 1 / 3, 2 / 3, 3.0, 0.1, 1.2, 5 / 3, 0.35, 2.2)
rng = np.random.default_rng(3)


class Net:
    def __init__(self, opset):
        self.opset, self.nodes, self.feeds, self.constants, self.exact, self.said = opset, [], {}, [], {}, {}

    def constant(self, value, dtype):
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def input(self, shape):
        name = "x" + "x".join(map(str, shape))
        self.feeds.setdefault(name, rng.standard_normal(shape).astype(np.float32))
        return name

    def add(self, op, inputs, **attrs):
        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        self.exact[name], self.said[name] = attrs.get("mode", "nearest") == "nearest", f"{op} {attrs}"

    def judge(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "resize", [value(n, F32, a.shape) for n, a in self.feeds.items()],
                                  [value(n, F32, None) for n in self.exact], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        theirs = reference(model, self.feeds)
        with tempfile.TemporaryDirectory() as tmp:
            onnx.save(model, os.path.join(tmp, "m.onnx"))
            familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", tmp, "-O1")
            args = []
            for name, array in self.feeds.items():
                np.save(os.path.join(tmp, name + ".npy"), array)
                args += ["-i", f"{name}={tmp}/{name}.npy"]
            familyseer("run", os.path.join(tmp, "model.so"), *args, "-o", os.path.join(tmp, "out"))
            for name, want in theirs.items():
                got = np.load(os.path.join(tmp, "out", name + ".npy"))
                assert got.shape == want.shape, f"{self.said[name]}: {got.shape}, not {want.shape}"
                right = got == want if self.exact[name] else np.isclose(got, want, rtol=1e-5, atol=2e-6)
                assert right.all(), f"{self.said[name]}: {(~right).sum()} of {want.size} differ, at {np.argwhere(~right)[0]}"
        print(f"{len(theirs)} answers agree")


def nearest():
    net = Net(19)
    for k, (mode, how) in enumerate(itertools.product(MODES, NEAREST)):
        for i in range(4):
            scales = [SCALES[(k + 3 * i) % len(SCALES)], SCALES[(2 * k + 5 * i + 1) % len(SCALES)]]
            roi = net.constant([0.1, 0.2, 0.7, 1.1] if i % 2 else [0, 0, 1, 1], np.float32) if "crop" in mode else ""
            inputs = [net.input([13, 10]), roi, net.constant(scales, np.float32)]
            if i == 3:
                inputs = [*inputs[:2], "", net.constant([rng.integers(2, 40), rng.integers(2, 40)], np.int64)]
            net.add("Resize", inputs, mode="nearest", coordinate_transformation_mode=mode, nearest_mode=how, extrapolation_value=0.5)
    net.judge()


def interpolated():
    net = Net(19)
    for k, (mode, how) in enumerate(itertools.product(MODES, ("linear", "cubic"))):
        for i in range(3):
            scales = [1, 1, SCALES[(k + 3 * i) % len(SCALES)], SCALES[(2 * k + 5 * i + 1) % len(SCALES)]]
            roi = net.constant([0, 0, 0.1, 0.2, 1, 1, 0.7, 0.9], np.float32) if "crop" in mode else ""
            net.add("Resize", [net.input([1, 2, 13, 10]), roi, net.constant(scales, np.float32)], mode=how, coordinate_transformation_mode=mode)
    net.judge()


def proportions():
    """keep_aspect_ratio_policy; extents that are scales times extents, in f32: 0.7 of 10 are 7."""
    net = Net(18)
    for k in range(20):
        sizes = net.constant(rng.integers(1, 60, 2), np.int64)
        net.add("Resize", [net.input([10, 23]), "", "", sizes], mode="nearest", keep_aspect_ratio_policy=("not_larger", "not_smaller")[k % 2])
    for extent, scale in itertools.product((5, 10, 15, 20, 30, 35, 49), (0.7, 0.1, 0.6, 1.1, 1.4, 2.2)):
        if extent * scale >= 1:
            net.add("Resize", [net.input([extent]), "", net.constant([scale], np.float32)], mode="nearest")
    net.judge()


def of_old():
    """Before opset 11: what shrinks reads at the next element. tf_half_pixel_for_nn, before 13."""
    net = Net(10)
    for a, b in itertools.product(SCALES, SCALES[::3]):
        net.add("Resize", [net.input([13, 10]), net.constant([a, b], np.float32)], mode="nearest")
    net.judge()
    net = Net(11)
    empty = net.constant([], np.float32)
    for k, scale in enumerate(SCALES):
        net.add("Resize", [net.input([13, 10]), empty, net.constant([scale, SCALES[k - 1]], np.float32)], mode="nearest",
                coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode=NEAREST[k % 4])
    net.judge()
    net = Net(9)
    for scale in SCALES:
        if scale >= 1:
            net.add("Upsample", [net.input([1, 2, 5, 7]), net.constant([1, 1, scale, 1.3], np.float32)], mode="nearest")
            net.add("Upsample", [net.input([1, 2, 5, 7]), net.constant([1, 1, scale, 1.3], np.float32)], mode="linear")
    net.judge()


run_tests([("nearest", nearest), ("interpolated", interpolated), ("proportions", proportions), ("of old", of_old)])
