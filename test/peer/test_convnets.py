"""Small convolutional networks against ONNX Runtime. SEER_TEST: timeout=900"""
import numpy as np

from build_onnx import Net
from peer import check_model, run_tests, schedules


def plain():
    net = Net("plain", [1, 3, 32, 32], 1)
    x = net.op("Relu", net.norm(net.conv("x", 16, 3, 3, bias=False, pads=[1, 1, 1, 1], strides=[2, 2]), 16))
    x = net.op("Relu", net.conv(x, 32, 16, 3, pads=[1, 1, 1, 1]))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.conv(x, 40, 32, 1))
    x = net.op("GlobalAveragePool", x)
    x = net.op("Flatten", x)
    net.gemm(x, 10, 40)
    return net.model()


def residual():
    net = Net("residual", [1, 3, 24, 24], 2)
    x = net.op("Relu", net.norm(net.conv("x", 24, 3, 7, bias=False, pads=[3, 3, 3, 3], strides=[2, 2]), 24))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = net.op("Relu", net.norm(net.conv(x, 24, 24, 3, bias=False, pads=[1, 1, 1, 1]), 24))
    y = net.norm(net.conv(y, 24, 24, 3, bias=False, pads=[1, 1, 1, 1]), 24)
    x = net.op("Relu", net.op("Add", y, x))
    y = net.op("Relu", net.norm(net.conv(x, 48, 24, 3, bias=False, pads=[1, 1, 1, 1], strides=[2, 2]), 48))
    y = net.norm(net.conv(y, 48, 48, 3, bias=False, pads=[1, 1, 1, 1]), 48)
    z = net.norm(net.conv(x, 48, 24, 1, bias=False, strides=[2, 2]), 48)
    x = net.op("Relu", net.op("Add", y, z))
    x = net.op("GlobalAveragePool", x)
    x = net.op("Reshape", x, net.const(np.array([1, -1], np.int64)))
    net.gemm(x, 12, 48)
    return net.model()


def inverted():
    net = Net("inverted", [1, 3, 32, 32], 3)
    clip = [net.const(np.float32(0)), net.const(np.float32(6))]
    x = net.op("Clip", net.norm(net.conv("x", 16, 3, 3, bias=False, pads=[1, 1, 1, 1], strides=[2, 2]), 16), *clip)
    y = net.op("Clip", net.norm(net.conv(x, 48, 16, 1, bias=False), 48), *clip)
    y = net.op("Clip", net.norm(net.conv(y, 48, 48, 3, group=48, bias=False, pads=[1, 1, 1, 1]), 48), *clip)
    y = net.norm(net.conv(y, 16, 48, 1, bias=False), 16)
    x = net.op("Add", x, y)
    y = net.op("Clip", net.norm(net.conv(x, 40, 16, 1, bias=False), 40), *clip)
    y = net.op("Clip", net.norm(net.conv(y, 40, 40, 3, group=40, bias=False, pads=[1, 1, 1, 1], strides=[2, 2]), 40), *clip)
    x = net.norm(net.conv(y, 20, 40, 1, bias=False), 20)
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    net.gemm(x, 10, 20)
    return net.model()


def odd():
    net = Net("odd", [1, 5, 19, 23], 4)
    x = net.op("LeakyRelu", net.conv("x", 7, 5, (3, 5), pads=[0, 1, 2, 3], strides=[1, 2], dilations=[2, 1]), alpha=0.1)
    x = net.op("Sigmoid", net.conv(x, 11, 7, 3, auto_pad="SAME_UPPER", strides=[2, 2]))
    x = net.op("AveragePool", x, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], count_include_pad=1)
    x = net.op("Tanh", net.conv(x, 13, 11, 1))
    net.op("Reshape", x, net.const(np.array([1, -1], np.int64)))
    return net.model()


def groups():
    net = Net("groups", [1, 12, 14, 14], 5)
    x = net.op("Relu", net.conv("x", 24, 12, 3, group=3, pads=[1, 1, 1, 1]))
    x = net.op("Reshape", x, net.const(np.array([1, 3, 8, 14, 14], np.int64)))
    x = net.op("Transpose", x, perm=[0, 2, 1, 3, 4])
    x = net.op("Reshape", x, net.const(np.array([1, 24, 14, 14], np.int64)))
    x = net.conv(x, 24, 24, 3, group=24, pads=[1, 1, 1, 1])
    net.conv(x, 12, 24, 1, group=3)
    return net.model()


def concat():
    net = Net("concat", [1, 16, 15, 15], 6)
    a = net.op("Relu", net.conv("x", 12, 16, 1))
    b = net.op("Relu", net.conv("x", 20, 16, 3, pads=[1, 1, 1, 1]))
    c = net.op("MaxPool", "x", kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    x = net.op("Concat", a, b, c, axis=1)
    x = net.op("LRN", x, size=5, alpha=1e-3, beta=0.75, bias=1.0)
    net.conv(x, 10, 48, 3)
    return net.model()


def batch():
    net = Net("batch", [3, 4, 10, 10], 7)
    x = net.op("HardSwish", net.conv("x", 8, 4, 3, pads=[1, 1, 1, 1])) if net.opset >= 14 else net.op("Relu", net.conv("x", 8, 4, 3))
    x = net.op("Mul", x, net.op("HardSigmoid", net.conv(net.op("GlobalAveragePool", x), 8, 8, 1)))
    net.op("Softmax", net.op("Flatten", net.op("GlobalMaxPool", x)), axis=1)
    return net.model()


run_tests([(f.__name__, lambda f=f: check_model(f.__name__, f(), levels=schedules("-O1"), discriminate=f is not batch))
           for f in (plain, residual, inverted, odd, groups, concat, batch)])
