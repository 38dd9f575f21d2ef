"""What the build must get right beyond one kernel: literals, shared weights, odd outputs. SEER_TEST: timeout=300"""
import json
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from build_onnx import Net
from peer import check_model, compare, familyseer, random_feeds, reference, run_ours, run_tests


def built(model, level="-O1"):
    """Compiles and compares; returns (model.json, bytes of weights)."""
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        folder = os.path.join(tmp, "out")
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", folder, level)
        feeds = random_feeds(model)
        compare(model.graph.name, run_ours(folder, feeds, tmp, 2), reference(model, feeds), discriminate=False)
        with open(os.path.join(folder, "model.json")) as f:
            info = json.load(f)
        return info, os.path.getsize(os.path.join(folder, "weights.bin"))


def literals():
    """Clip(0,6) and Clip(0,1) of one shape: one task, two kernels."""
    net = Net("literals", [1, 8, 12, 12], 1)
    x = "x"
    for high in (6, 6, 1, 6, 6):  # the first and the last also change the layout
        x = net.op("Clip", net.conv(x, 8, 8, 3, pads=[1, 1, 1, 1]), net.const(np.float32(0)), net.const(np.float32(high)))
    info, _ = built(net.model())
    inner = [s for s in info["steps"] if s["kind"] == "kernel"][1:4]
    assert len({s["task"] for s in inner}) == 1, inner
    assert len({s["symbol"] for s in inner}) == 2, inner


def tied():
    """One weight tensor read by two equal layers is stored once."""
    net = Net("tied", [16, 256], 2)
    w, b = net.weight(256, 256), net.vector(256)
    x = net.op("Relu", net.op("Gemm", "x", w, b, transB=1))
    net.op("Relu", net.op("Gemm", x, w, b, transB=1))
    _, n_bytes = built(net.model())
    assert n_bytes < 1.5 * 256 * 256 * 4, n_bytes


def two_copies():
    """The same content in two tensors is stored once, too."""
    net = Net("copies", [16, 256], 2)
    values = (net.rng.standard_normal((256, 256)) / 16).astype(np.float32)
    x = net.op("Gemm", "x", net.const(values), transB=1)
    net.op("Gemm", x, net.const(values.copy()), transB=1)
    _, n_bytes = built(net.model())
    assert n_bytes < 1.5 * 256 * 256 * 4, n_bytes


def outputs():
    """An input, a constant, a view of an input and one value twice as outputs."""
    net = Net("outputs", [4, 6], 3)
    a = net.op("Identity", "x")
    b = net.op("Identity", net.const(np.arange(12, dtype=np.float32).reshape(3, 4)))
    c = net.op("Reshape", "x", net.const(np.array([2, 12], np.int64)))
    d = net.op("Relu", "x")
    e = net.op("Identity", d)
    f = net.op("Flatten", d, axis=0)
    built(net.model(a, b, c, d, e, f))


def two_inputs():
    net = Net("inputs", [5, 7], 4)
    net.inputs.append(helper.make_tensor_value_info("second input/with odd:name", TensorProto.FLOAT, [5, 7]))
    net.op("Mul", net.op("Add", "x", "second input/with odd:name"), "x")
    built(net.model())


def long_chain():
    """Buffers are reused: a chain of 20 layers needs the memory of two."""
    net = Net("chain", [64, 128], 5)
    x = "x"
    for _ in range(20):
        x = net.op("Tanh", net.op("Gemm", x, net.weight(128, 128), transB=1))
    info, _ = built(net.model())
    assert info["memory"]["activations"] <= 2 * 64 * 192 * 4 + 4096, info["memory"]


def random_checks():
    net = Net("o0", [2, 3, 9, 9], 6)
    net.op("Relu", net.conv("x", 5, 3, 3))
    check_model("o0 and o3", net.model(), levels=("-O0", "-O3"))


run_tests([(f.__name__, f) for f in (literals, tied, two_copies, outputs, two_inputs, long_chain, random_checks)])
