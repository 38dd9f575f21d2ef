"""Convolutions between what the caller has in ONNX's order (front/pass/layout.c), against ONNX Runtime: what they read and make
is moved to channels last and back, beside what is added, read again inside, or left as it is. SEER_TEST: timeout=600"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import check_model, run_tests

node = helper.make_node


def check(label, size, nodes, weights, outputs, opset=18):
    """Inputs x and z of `size`; weights of these shapes, by name; each output is made by a node."""
    rng = np.random.default_rng(len(label))
    feeds = {name: rng.standard_normal(size).astype(np.float32) for name in ("x", "z") if any(name in n.input for n in nodes)}
    constants = [numpy_helper.from_array((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32), name)
                 for name, shape in weights.items()]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "orders", [value(name, TensorProto.FLOAT, size) for name in feeds],
                              [value(name, TensorProto.FLOAT, None) for name in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    check_model(label, onnx.shape_inference.infer_shapes(model), feeds, levels=["-O0", "-O1", "--random-schedules=1"], threads=(2,), rtol=1e-4)


def conv(x, w, y, pad=0, axes=2, **more):
    return node("Conv", [x, w, "bias"][:2 + more.pop("bias", False)], [y], pads=[pad] * 2 * axes, **more)


tests = [
    ("1x1", lambda: check("1x1", [1, 64, 19, 23], [conv("x", "w", "y", bias=True)], {"w": [96, 64, 1, 1], "bias": [96]}, ["y"])),
    ("windows", lambda: check("windows of two that read one input, strides, an image of two",
                              [2, 32, 17, 20], [conv("x", "w", "a", 1), conv("x", "w2", "y", 1, strides=[2, 2]), node("Relu", ["a"], ["b"])],
                              {"w": [48, 32, 3, 3], "w2": [64, 32, 3, 3]}, ["b", "y"])),
    ("read again", lambda: check("an output that is read inside, and a sum of it with an input",
                                 [1, 32, 18, 18], [conv("x", "w", "a", 1), node("Add", ["z", "a"], ["b"]), conv("b", "w2", "c", 1),
                                                   node("Mul", ["c", "a"], ["y"]), node("GlobalAveragePool", ["b"], ["m"])],
                                 {"w": [32, 32, 3, 3], "w2": [32, 32, 3, 3]}, ["a", "b", "y", "m"])),
    ("groups", lambda: check("groups of 32", [1, 64, 20, 20], [conv("x", "w", "y", 1, group=2)], {"w": [96, 32, 3, 3]}, ["y"])),
    ("a line", lambda: check("a line", [1, 48, 301], [conv("x", "w", "y", 2, axes=1)], {"w": [80, 48, 5]}, ["y"])),
    ("a volume", lambda: check("a volume", [1, 16, 9, 10, 11], [conv("x", "w", "y", 1, axes=3)], {"w": [32, 16, 3, 3, 3]}, ["y"])),
]
run_tests(tests)
