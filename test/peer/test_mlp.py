"""Multilayer perceptrons of Gemm, MatMul, Relu, Add against ONNX Runtime. SEER_TEST: timeout=300"""
import numpy as np

from build_onnx import Net
from peer import check_model, run_tests, schedules


def mlp(batch, sizes, seed=1):
    net = Net("mlp", [batch, sizes[0]], seed)
    for k, n in zip(sizes, sizes[1:]):
        net.gemm(net.top, n, k)
        if n != sizes[-1]:
            net.op("Relu")
    return net.model()


def matmul_add():
    net = Net("matmul", [7, 33], 3)
    a = net.op("MatMul", "x", net.weight(33, 65, fan_in=33))
    b = net.op("Relu", net.op("Add", a, net.vector(65)))
    c = net.op("MatMul", b, net.weight(65, 33, fan_in=65))
    net.op("Add", c, "x")
    return net.model()


def gemm_attributes():
    net = Net("gemm", [24, 10], 4)
    a = net.op("Gemm", "x", net.weight(24, 17, fan_in=24), net.vector(17), transA=1, alpha=0.5, beta=2.0)
    net.op("Gemm", a, net.weight(5, 17), transB=1)
    return net.model()


def two_outputs():
    net = Net("two", [4, 20], 5)
    a = net.op("Relu", net.gemm("x", 30, 20))
    b = net.gemm(a, 6, 30)
    return net.model(a, b)


def output_is_read_on():
    net = Net("chain", [4, 20], 6)
    a = net.gemm("x", 30, 20)
    b = net.op("Reshape", a, net.const(np.array([8, 15], np.int64)))
    c = net.op("Relu", a)
    return net.model(a, b, c)


run_tests([
    ("mlp", lambda: check_model("mlp 784-256-128-10", mlp(1, [784, 256, 128, 10]), levels=schedules("-O1"))),
    ("batch", lambda: check_model("mlp batch 32", mlp(32, [100, 300, 50, 11]), levels=schedules("-O1"))),
    ("odd", lambda: check_model("mlp odd extents", mlp(13, [17, 23, 31, 7]), levels=schedules("-O1"))),
    ("matmul", lambda: check_model("matmul + add", matmul_add(), levels=schedules("-O1"))),
    ("attributes", lambda: check_model("gemm attributes", gemm_attributes(), levels=schedules("-O1"))),
    ("outputs", lambda: check_model("two outputs", two_outputs())),
    ("views", lambda: check_model("an output, its view, its consumer", output_is_read_on())),
])
