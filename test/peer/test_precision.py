"""--precision bf16 and f16 against ONNX Runtime in f32: by how much answers may differ is computed beside them, rounding by
rounding, from what the option promises (operands of products are rounded, half a step each; sums and all else are f32). Less
than a five-thousandth of that would be no rounding at all. Without the option, and with f32, libraries are the same to the byte.
SEER_TEST: timeout=600"""
import os
import tempfile

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from peer import FULL, answerer, familyseer, run_ours, run_tests, schedules

UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11, "tf32": 2.0**-11}  # half a step of numbers from 1 to 2
TINY = {"bf16": 2.0**-134, "f16": 2.0**-25, "tf32": 2.0**-137}  # of the smallest
F32 = 2.0**-22  # a sum of f32, relative to the terms' magnitudes
LEVELS = schedules() + [f"--random-schedules={seed}" for seed in range(4, 6 if FULL else 4)]


class Net:
    """Builds a model, and with each value what ONNX Runtime gives for it in f32 and how far from that it may be."""

    def __init__(self, seed):
        self.rng, self.nodes, self.weights, self.inputs, self.outputs, self.shapes = np.random.default_rng(seed), [], [], [], [], []
        self.feeds = {}

    def input(self, name, *shape):
        self.feeds[name] = self.rng.standard_normal(shape).astype(np.float32)
        self.inputs.append(helper.make_tensor_value_info(name, T.FLOAT, shape))
        return name

    def weight(self, *shape, scale=None):
        name = f"w{len(self.weights)}"
        fan = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        data = (self.rng.standard_normal(shape) * (scale or fan**-0.5)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(data, name))
        return name

    def add(self, op, *operands, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, [name], name=name, **attributes))
        return name

    def output(self, *names):
        self.outputs += names

    def model(self, outputs=None):
        infos = [helper.make_tensor_value_info(o, T.FLOAT, None) for o in outputs or self.outputs]
        graph = helper.make_graph(self.nodes, "precision", self.inputs, infos, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def magnitudes(node, a, b):
    """The node's answer of these operands, in f64 by ONNX Runtime's own definition of its shapes."""
    infos = [helper.make_tensor_value_info(n, T.DOUBLE, x.shape) for n, x in zip(("a", "b"), (a, b))]
    one = helper.make_node(node.op_type, ["a", "b"], ["y"])
    one.attribute.extend(node.attribute)
    graph = helper.make_graph([one], "one", infos, [helper.make_tensor_value_info("y", T.DOUBLE, None)])
    return onnx.reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])).run(
        None, {"a": a, "b": b})[0]


def bounds(net, kind):
    """Of each value: its number in f32, and the error that it may have."""
    names = [n.output[0] for n in net.nodes]
    value = answerer(net.model(names))(net.feeds)
    value.update(net.feeds)
    value.update({w.name: numpy_helper.to_array(w) for w in net.weights})
    error = {name: np.zeros_like(x, np.float64) for name, x in value.items() if name not in names}
    unit, tiny = UNIT[kind], TINY[kind]

    def rounded(name):  # what a reader may see of it
        return error[name] + unit * (np.abs(value[name]).astype(np.float64) + error[name]) + tiny

    for node in net.nodes:
        x, out = list(node.input), node.output[0]
        size = [np.abs(value[i]).astype(np.float64) for i in x]
        if node.op_type in ("MatMul", "Conv", "Gemm"):
            off = [rounded(i) for i in x[:2]]
            e = magnitudes(node, size[0], off[1]) + magnitudes(node, off[0], size[1] + off[1])
            e += F32 * magnitudes(node, size[0], size[1])
            if len(x) > 2:
                e += error[x[2]].reshape(-1, *[1] * (e.ndim - 2)) if node.op_type == "Conv" else error[x[2]]
        elif node.op_type == "Add":
            e = rounded(x[0]) + rounded(x[1])
        elif node.op_type == "Concat":
            e = np.concatenate([rounded(i) for i in x], node.attribute[0].i)
        elif node.op_type == "Transpose":
            e = rounded(x[0]).transpose(node.attribute[0].ints)
        elif node.op_type == "Softmax":
            e = value[out] * np.expm1(2 * rounded(x[0]).max(-1, keepdims=True))
        elif node.op_type == "GlobalAveragePool":
            e = error[x[0]].mean((2, 3), keepdims=True)
        else:
            assert node.op_type == "Relu", node.op_type
            e = rounded(x[0])
        error[out] = e + F32 * np.abs(value[out])
    return value, error


def product():
    net = Net(1)
    net.output(net.add("MatMul", net.input("x", 7, 67), net.weight(67, 21)))
    return net


def dense():
    net = Net(2)
    x = net.add("Gemm", net.input("x", 6, 48), net.weight(64, 48, scale=0.15), net.weight(64, scale=1), transB=1)
    x = net.add("Gemm", net.add("Relu", x), net.weight(64, 33, scale=0.12), net.weight(33, scale=1))
    net.output(x)
    return net


def convolutions():
    net = Net(3)
    x = net.add("Conv", net.input("x", 1, 3, 13, 11), net.weight(16, 3, 3, 3), pads=[1] * 4, strides=[2, 2])
    x = net.add("Relu", x)
    depthwise = net.add("Conv", x, net.weight(16, 1, 3, 3), pads=[1] * 4, group=16)
    y = net.add("Conv", depthwise, net.weight(16, 16, 1, 1), net.weight(16, scale=1))
    joined = net.add("Concat", net.add("Add", x, y), x, axis=1)
    z = net.add("Conv", joined, net.weight(9, 32, 3, 3), pads=[1] * 4)
    net.output(z, net.add("GlobalAveragePool", z))
    return net


def attention():
    net = Net(4)
    x = net.input("x", 2, 24, 32)
    q, k, v = (net.add("MatMul", x, net.weight(32, 20)) for _ in range(3))
    p = net.add("Softmax", net.add("MatMul", q, net.add("Transpose", k, perm=[0, 2, 1])), axis=-1)
    net.output(net.add("Add", net.add("MatMul", net.add("MatMul", p, v), net.weight(20, 32)), x))
    return net


def check(build, kind, levels=LEVELS, flags=()):
    net = build()
    value, error = bounds(net, kind)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(net.model(), path)
        for level in levels:
            at = os.path.join(folder, "out" + level)
            familyseer("compile", path, "-o", at, level, "--precision", kind, *flags)
            answers = os.path.join(at, "answers")
            os.mkdir(answers)
            got = run_ours(at, net.feeds, answers, 2)
            most = 0
            for name in net.outputs:
                off = np.abs(np.asarray(got[name], np.float64).reshape(value[name].shape) - value[name])
                share = (off / error[name]).max()
                assert share <= 1, f"{build.__name__} {kind} {level}: {name} differs by {share:.2f} of what roundings may make"
                most = max(most, share)
            assert most >= 0.0002, f"{build.__name__} {kind} {level}: nothing is rounded, {most:.1e} of what it may be"
            familyseer("verify", at, path, "--precision", kind)
            print(f"{build.__name__} {kind} {level}: {most:.3f} of the bound", flush=True)


def is_as_before():
    """--precision f32 changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(convolutions().model(), path)
        files = []
        for flags in ([], ["--precision", "f32"]):
            at = os.path.join(folder, f"out{len(files)}")
            familyseer("compile", path, "-o", at, "-O1", *flags)
            files.append({n: open(os.path.join(at, n), "rb").read() for n in ("model.so", "weights.bin")})
        assert files[0] == files[1], "a library of --precision f32 is another"


BUILDS = (product, dense, convolutions, attention)
TESTS = [(f"{b.__name__}.{k}", lambda b=b, k=k: check(b, k)) for b in BUILDS for k in ("bf16", "f16")]
if __name__ == "__main__":
    run_tests([*TESTS, ("as_before", is_as_before)])
