"""Products of bytes against ONNX Runtime, to the last step: any zero points, signed and unsigned, one or one a channel, constant
or data; paddings, groups, depthwise, sums over K of all remainders by four; weights that fit no i8. SEER_TEST: timeout=600"""
import numpy as np

import quantised
from peer import run_tests
from quantised import BYTES, MS


class Net(quantised.Net):
    """A network of single nodes, each with inputs and constants of its own."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def feed(self, value, dtype):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = np.array(value, dtype)
        return name

    def whole(self, low, high, shape=()):
        return self.rng.integers(low, high + 1, shape)

    def bytes_of(self, dtype, shape):
        return self.whole(np.iinfo(dtype).min, np.iinfo(dtype).max, shape)

    def weights(self, dtype, shape, zero):
        """Of 7 bits, in any order around the zero point: ONNX Runtime adds pairs in 16 bits on some processors."""
        limits = np.iinfo(dtype)
        return np.clip(self.whole(-63, 63, shape) + zero, limits.min, limits.max)

    def scale(self, shape=(), low=0.002, high=0.05):
        return self.constant(self.rng.uniform(low, high, shape), np.float32)


def convs(seed):
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(24):
        x, w = BYTES[k % 2], BYTES[k % 2] if k % 2 else BYTES[k // 2 % 2]
        group, per = ((1, 1 + k % 7), (2, 3), (int(rng.integers(2, 9)), 1), (1, 16))[k % 4]
        out = group * int(rng.integers(1, 4))
        kernel = [int(rng.integers(1, 4)), int(rng.integers(1, 4))]
        # u8 weights about 128 become i8; about other numbers they mostly do, or stay what they are.
        zero = 0 if w == np.int8 else int(rng.choice([128, 100, 3, 255]))
        weights = net.constant(net.weights(w, [out, per, *kernel], zero), w)
        per_channel = k % 3 == 0
        inputs = [net.feed(net.bytes_of(x, [2, group * per, 7, 6]), x), net.scale(), net.constant(net.bytes_of(x, ()), x), weights,
                  net.scale([out] if per_channel else ()), net.constant(np.full([out] if per_channel else (), zero), w),
                  net.scale((), 0.05, 2), net.constant(net.bytes_of(x, ()), x)]
        if k % 5:
            inputs.append(net.constant(net.whole(-2000, 2000, [out]), np.int32))
        attrs = {"pads": [int(rng.integers(0, n)) for n in kernel * 2], "strides": [int(rng.integers(1, 3))] * 2, "group": group}
        if k % 6 == 5:
            attrs = {"auto_pad": "SAME_UPPER", "group": group}
        net.add("QLinearConv", inputs, x, **attrs)
        if x == np.uint8:
            point = net.constant(net.bytes_of(x, ()), x) if k % 4 < 2 else net.feed(net.bytes_of(x, ()), x)
            u8 = net.constant(net.weights(np.uint8, [out, per, *kernel], 128), np.uint8)
            net.add("ConvInteger", [inputs[0], u8, point, net.constant(128, np.uint8)], np.int32, **attrs)
    net.judge()


def products(seed):
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(24):
        x = BYTES[k % 2]
        w = np.int8 if x == np.int8 else BYTES[k // 2 % 2]
        inner, columns = 1 + k, int(rng.integers(1, 40))
        zero = 0 if w == np.int8 and k % 3 else int(rng.choice([128, 90, 0]) if w == np.uint8 else rng.choice([-30, 64]))
        a = net.feed(net.bytes_of(x, [3, 5, inner] if k % 4 == 1 else [5, inner]), x)
        b = net.constant(net.weights(w, [3, inner, columns] if k % 8 == 1 else [inner, columns], zero), w)
        b_zero = net.constant(np.full([columns] if k % 3 == 2 and k % 8 != 1 else (), zero), w)
        point = net.constant(net.bytes_of(x, ()), x) if k % 3 else net.feed(net.bytes_of(x, ()), x)
        per_column = [columns] if k % 3 == 2 and k % 8 != 1 else ()
        net.add("QLinearMatMul", [a, net.scale(), net.constant(net.bytes_of(x, ()), x), b, net.scale(per_column), b_zero, net.scale((), 0.05, 2),
                                  net.constant(net.bytes_of(x, ()), x)], x)
        net.add("MatMulInteger", [a, b, point, b_zero], np.int32)
        other = net.feed(net.weights(w, [inner, columns], zero), w)  # no constant: as it was
        net.add("MatMulInteger", [a, other, point, b_zero], np.int32)
    # So long a sum that with its zero point apart it may pass i32: that one is no product of bytes.
    a, b = net.feed(net.bytes_of(np.uint8, [2, 140000]), np.uint8), net.constant(rng.choice([-63, 63], [140000, 1]), np.int8)
    net.add("MatMulInteger", [a, b, net.constant(200, np.uint8)], np.int32)
    net.judge()


def gemms(seed):
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(16):
        inner, columns, turned = 1 + k, int(rng.integers(1, 40)), k % 2
        per = [columns] if k % 4 > 1 else ()
        shape = [columns, inner] if turned else [inner, columns]
        a = net.feed(net.bytes_of(np.uint8, [inner, 6] if k % 8 == 7 else [6, inner]), np.uint8)
        inputs = [a, net.scale(), net.constant(net.bytes_of(np.uint8, ()), np.uint8), net.constant(net.weights(np.int8, shape, 0), np.int8),
                  net.scale(per), net.constant(np.zeros(per), np.int8), net.constant(net.whole(-3000, 3000, [columns]), np.int32) if k % 3 else ""]
        if k % 5:
            inputs += [net.scale((), 0.05, 2), net.constant(net.bytes_of(np.uint8, ()), np.uint8)]
        net.add("QGemm", inputs, np.uint8 if k % 5 else np.float32, MS, transB=turned, transA=int(k % 8 == 7), alpha=(1.0, 0.3)[k % 4 == 3])
    net.judge(ulps=2)


def reals(seed):
    """Results that stay real: f32 by both, so within some last places."""
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(16):
        x, inner, columns = BYTES[k % 2], 1 + k, int(rng.integers(1, 40))
        w = np.int8 if x == np.int8 else BYTES[k // 2 % 2]
        zero = 128 if w == np.uint8 else 0
        b, b_zero = net.constant(net.weights(w, [inner, columns], zero), w), net.constant(zero, w)
        bias = net.constant(rng.normal(size=columns), np.float32) if k % 3 else ""
        point = net.constant(net.bytes_of(x, ()), x) if k % 4 else net.feed(net.bytes_of(x, ()), x)
        net.add("MatMulIntegerToFloat", [net.feed(net.bytes_of(x, [5, inner]), x), b, net.scale(), net.scale([columns] if k % 2 else ()), point, b_zero, bias],
                np.float32, MS)
        net.add("DynamicQuantizeMatMul", [net.feed(rng.normal(size=[4, inner]) * 10, np.float32), b, net.scale(), b_zero, bias], np.float32, MS)
    net.judge(ulps=16)


run_tests([(f"{name} {seed}", lambda test=test, seed=seed: test(seed))
           for name, test in (("convolutions", convs), ("products", products), ("gemms", gemms), ("reals", reals)) for seed in (1, 2)])
