"""Quantised operators against ONNX Runtime, to the last step: scales that are round numbers, as quantisers like them, put
every few elements half between two steps, where the order of operations decides. SEER_TEST: timeout=300 cost=25"""
import numpy as np

import quantised
from peer import run_tests
from quantised import BYTES, MS

rng = np.random.default_rng(11)
ROUND = [0.1, 0.05, 0.02, 0.2, 0.3, 0.15, 1 / 256, 0.5, 0.25, 0.75, 0.0421, 0.0213, 0.4, 0.6, 0.07, 0.035]


class Net(quantised.Net):
    """A network of single nodes, each with inputs and constants of its own."""
    LEVELS = ("-O1", "--random-schedules=1")

    def quantised(self, dtype, scale=None):
        """A scale and a zero point."""
        scale = scale or (rng.choice(ROUND) if rng.random() < 0.7 else rng.uniform(0.01, 1))
        limits = np.iinfo(dtype)
        return [self.constant(scale, np.float32), self.constant(rng.integers(limits.min, limits.max + 1), dtype)]

    def input(self, dtype, shape, coarse=1):
        name, limits = f"x{len(self.feeds)}", np.iinfo(dtype)
        self.feeds[name] = (rng.integers(limits.min, limits.max + 1, shape) // coarse).astype(dtype)
        return name

    def add(self, op, inputs, dtype, domain=MS, **attrs):
        super().add(op, inputs, dtype, domain, **attrs)


def binary(op):
    net = Net()
    for k in range(40):
        dtype = BYTES[k % 2]
        a, b = [2, 5, 37], [2, 5, 37]
        if k % 5 == 1:
            b = [5, 1]
        if k % 5 == 2:
            a = [5, 1]
        if k % 5 == 3:
            b = [1, 37]
        if k % 5 == 4:
            a, b = [2, 5, 1], [1, 5, 1]
        net.add(op, [net.input(dtype, a), *net.quantised(dtype), net.input(dtype, b), *net.quantised(dtype), *net.quantised(dtype)], dtype)
    net.judge()


def unary():
    net = Net()
    for k in range(30):
        dtype = BYTES[k % 2]
        x = net.input(dtype, [300])
        net.add("QLinearSigmoid", [x, *net.quantised(dtype), *net.quantised(dtype, (1 / 256, None)[k % 3 == 2])], dtype)
        net.add("QLinearLeakyRelu", [x, *net.quantised(dtype), *net.quantised(dtype)], dtype, alpha=(0.3, 0.5)[k % 4 == 3])
        net.add("QLinearConcat", [*net.quantised(dtype), x, *net.quantised(dtype), net.input(dtype, [41]), *net.quantised(dtype)], dtype, axis=0)
    net.judge()


def softmax():
    net = Net()
    for k in range(60):
        dtype = BYTES[k % 2]
        shape = [int(rng.choice([2, 3, 5, 16, 37, 300])) for _ in range(2)]
        zero = np.iinfo(dtype).min if k % 4 < 2 else rng.integers(np.iinfo(dtype).min, 0 if dtype == np.int8 else 100)
        # Where ONNX Runtime's own numbers stay finite, and an i8 does not pass 127 by adding its zero point: it wraps around there.
        to = [net.constant(rng.choice([1 / 255, 1 / 128, 0.01]), np.float32), net.constant(zero, dtype)]
        net.add("QLinearSoftmax", [net.input(dtype, shape, 1 + 7 * (k % 3 == 0)), *net.quantised(dtype), *to], dtype, axis=k % 2, opset=(13, 12)[k % 5 == 0])
    net.judge()


def pools():
    net = Net()
    for k in range(40):
        dtype, last, extent = BYTES[k % 2], k // 2 % 2, int(rng.choice([2, 4, 5, 8, 10]))
        shape = [2, extent, extent, 7] if last else [2, 7, extent, extent]
        given = net.quantised(dtype)
        made = [given[0], net.quantised(dtype)[1]] if k % 3 else net.quantised(dtype)
        net.add("QLinearGlobalAveragePool", [net.input(dtype, shape), *given, *made], dtype, channels_last=last)
    for k in range(40):
        dtype, last = BYTES[k % 2], k // 2 % 2
        rank = (2, 2, 1, 3)[k % 4]
        kernel = [int(rng.integers(1, 5 if rank < 3 else 3)) for _ in range(rank)]
        extent = [7, 9, 8][:rank]
        attrs = {"kernel_shape": kernel, "strides": [int(rng.integers(1, 3)) for _ in range(rank)], "channels_last": last}
        if k % 3 == 1:
            attrs.update(pads=[int(rng.integers(0, n)) for n in kernel * 2], count_include_pad=k % 2)
        if k % 3 == 2:
            attrs.update(auto_pad="SAME_UPPER", count_include_pad=k // 3 % 2)
        if k % 6 == 4:
            attrs.update(ceil_mode=1)
        if k % 10 == 9:
            attrs = {"kernel_shape": extent, "channels_last": last}  # all of it: as the global one
        given = net.quantised(dtype)
        made = [given[0], net.quantised(dtype)[1]] if k % 4 else net.quantised(dtype)
        net.add("QLinearAveragePool", [net.input(dtype, [2, *extent, 5] if last else [2, 5, *extent]), *given, *made], dtype, **attrs)
    net.judge()


def products():
    """Weights below 64: ONNX Runtime's products of u8 and i8 saturate where a machine has no instruction for them."""
    net = Net()
    for k in range(12):
        dtype = BYTES[k % 2]
        far = [net.constant(rng.choice(ROUND) * 40, np.float32), net.quantised(dtype)[1]] if k % 3 else net.quantised(dtype)
        scales = net.constant(rng.choice(ROUND, 6), np.float32)
        weights = [net.constant(rng.integers(-63, 64, [6, 3, 2, 2]), np.int8), scales, net.constant(np.zeros(6), np.int8)]
        net.add("QLinearConv", [net.input(dtype, [1, 3, 9, 9]), *net.quantised(dtype), *weights, *far], dtype, "")
        weights = [net.constant(rng.integers(-63, 64, [20, 6]), np.int8), scales, net.constant(np.zeros(6), np.int8)]
        net.add("QLinearMatMul", [net.input(dtype, [30, 20]), *net.quantised(dtype), *weights, *far], dtype, "")
        if dtype == np.uint8:
            bias = net.constant(rng.integers(-3000, 3000, 6), np.int32)
            net.add("QGemm", [net.input(dtype, [30, 20]), *net.quantised(dtype), *weights, bias, *far], dtype, alpha=(1.0, 0.3, 1.7)[k % 3])
    net.judge()


run_tests([("add", lambda: binary("QLinearAdd")), ("multiply", lambda: binary("QLinearMul")), ("unary", unary), ("softmax", softmax), ("pools", pools), ("products", products)])
