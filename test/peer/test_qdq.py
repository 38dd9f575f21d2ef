"""Networks that quantise and dequantise around products, against ONNX Runtime: within one step where the result is quantised, within
some last places where it stays real. Any zero points, scales one or one a channel, biases whole or real, Relu and Clip between,
shared operands, transposed weights, weights that the file has as floats. SEER_TEST: timeout=900 cost=40"""
import os
import tempfile

import numpy as np
from onnx import helper

import quantised
from peer import FULL, familyseer, reference, run_tests, schedules
from quantised import BYTES

SEEDS = (1, 2, 3)


class Net(quantised.Net):
    """Products between quantisations, each with inputs and constants of its own."""
    LEVELS = schedules()

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        # It takes a third of all: what it makes of such networks shows with one seed of each. Answers are judged with all.
        self.is_verified = FULL or seed == SEEDS[0]

    def node(self, op, inputs, **attrs):
        name = f"v{len(self.nodes)}_{op}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def bytes_of(self, dtype, shape=()):
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max + 1, shape)

    def activation(self, dtype, shape, zeros=None):
        """Bytes, dequantised, and their scale. zeros: a scale for each channel, whose zero points are one ("alike") or not ("own")."""
        name = f"x{len(self.feeds)}"
        self.feeds[name] = self.bytes_of(dtype, shape).astype(dtype)
        scale, zero = self.points(dtype, shape[1] if zeros else None, zeros)
        along = {"axis": 1} if zeros else {}
        return self.node("DequantizeLinear", [name, self.constant(scale, np.float32), self.constant(zero, dtype)], **along), scale

    def points(self, dtype, n, zeros):
        scale = self.rng.uniform(0.002, 0.05, () if n is None else n).astype(np.float32)
        return scale, self.bytes_of(dtype, n) if zeros == "own" else np.full(scale.shape, self.bytes_of(dtype))

    def norm(self, y, n, is_turned):
        """A BatchNormalization of n channels; some of them turn signs, where it says so."""
        gamma, beta, mean = self.rng.uniform(0.3, 2, n), self.rng.normal(size=n), self.rng.normal(size=n)
        if is_turned:
            gamma[::3] *= -1
        return self.node("BatchNormalization", [y, *(self.constant(c, np.float32) for c in (gamma, beta, mean, self.rng.uniform(0.2, 2, n)))])

    def end_by_channel(self, y, dtype, n, zeros, limit):
        """As `end`, with a scale for each channel."""
        y = self.node("Clip", [y, self.constant(-0.5, np.float32), self.constant(6, np.float32)]) if limit else y
        scale, zero = self.points(dtype, n, zeros)
        y = self.node("QuantizeLinear", [y, self.constant(10 * scale, np.float32), self.constant(zero, dtype)], axis=1)
        self.outs[y] = dtype

    def weights(self, dtype, shape, axis, kind):
        """Dequantised, with a scale for all or for each of `axis`; and those scales. Of 7 bits: some of ONNX Runtime's kernels add pairs in
        16. kind "real": the file has floats, and quantises them; "turned": it has them transposed."""
        zero = int(self.rng.choice([128, 100, 128])) if dtype == np.uint8 else 0
        per = kind != "one" and self.rng.random() < 0.5
        scale = self.rng.uniform(0.002, 0.02, shape[axis] if per else ()).astype(np.float32)
        whole = np.clip(self.rng.integers(-63, 64, shape) + zero, np.iinfo(dtype).min, np.iinfo(dtype).max)
        along = {"axis": axis} if per else {}
        points = [self.constant(scale, np.float32), self.constant(np.full_like(scale, zero), dtype)]
        if kind == "turned":
            if per:
                along = {"axis": 1 - axis}
            return self.node("Transpose", [self.node("DequantizeLinear", [self.constant(whole.T, dtype), *points], **along)], perm=[1, 0]), scale
        if kind == "real":
            wide = scale.reshape([-1 if d == axis else 1 for d in range(len(shape))]) if per else scale
            given = self.node("QuantizeLinear", [self.constant((whole - zero) * wide, np.float32), *points], **along)
        else:
            given = self.constant(whole, dtype)
        return self.node("DequantizeLinear", [given, *points], **along), scale

    def bias(self, n, scale, kind):
        if kind == "real":
            return self.constant(self.rng.normal(size=n), np.float32)
        step = np.broadcast_to(scale, [n]).astype(np.float32)
        whole = self.constant(self.rng.integers(-2000, 2000, n), np.int32)
        return self.node("DequantizeLinear", [whole, self.constant(step, np.float32), self.constant(np.zeros(n), np.int32)], axis=0)

    def end(self, y, dtype, limit):
        """A Relu or Clip, or neither; then a quantisation to `dtype`, or (f32) none."""
        if limit == "relu":
            y = self.node("Relu", [y])
        if limit == "clip":
            y = self.node("Clip", [y, self.constant(-0.5, np.float32), self.constant(6, np.float32)])
        if dtype != np.float32:
            zero = self.constant(np.iinfo(dtype).min if self.rng.random() < 0.3 else self.bytes_of(dtype), dtype)
            y = self.node("QuantizeLinear", [y, self.constant(self.rng.uniform(0.05, 0.5), np.float32), zero])
        self.outs[y] = dtype

    def judge(self, is_literal=False):
        """Within a step; floats, and how many may be a step off, have limits of their own."""
        theirs, total, off = reference(self.model(), self.feeds, is_literal), 0, 0
        flat = [name for name, want in theirs.items() if want.min() == want.max()]
        assert len(flat) <= len(theirs) / 8, f"nothing to see in {flat}"
        with tempfile.TemporaryDirectory() as folder:
            for level, name, got, want in self.answers(theirs, folder):
                most = 1 if want.dtype != np.float32 else 1e-5 * np.abs(want).max()
                error = np.abs(got.astype(np.float64) - want.astype(np.float64))
                assert error.max() <= most, f"{name} {level}: {(error > most).sum()} of {want.size} differ, at most by {error.max()}, {most} is allowed"
                total, off = total + want.size, off + int((error != 0).sum()) * (want.dtype != np.float32)
            assert off <= 0.01 * total, f"{off} of {total} elements are a step off"
            if self.is_verified:
                familyseer("verify", os.path.join(folder, "model.so"), os.path.join(folder, "m.onnx"))
        print(f"{total} elements agree, {off} of them within a step")


def convs(seed):
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(24):
        x = BYTES[k % 2]
        group, per = ((1, 1 + k % 7), (2, 3), (int(rng.integers(2, 9)), 1), (1, 16))[k % 4]
        out, kernel = group * int(rng.integers(1, 4)), [int(rng.integers(1, 4)), int(rng.integers(1, 4))]
        a, a_scale = net.activation(x, [2, group * per, 7, 6])
        w, w_scale = net.weights(np.int8 if k % 5 else np.uint8, [out, per, *kernel], 0, "real" if k % 7 == 3 else "")
        kind = ("whole", "real", None)[k % 3]
        inputs = [a, w] + ([net.bias(out, a_scale * w_scale, kind)] if kind else [])
        pads = [int(rng.integers(0, n)) for n in kernel * 2]
        y = net.node("Conv", inputs, pads=pads, strides=[int(rng.integers(1, 3))] * 2, group=group, kernel_shape=kernel)
        net.end(y, (x, x, x, np.float32)[k % 4] if k % 8 != 7 else np.uint8, (None, "relu", "clip")[k // 2 % 3])
    net.judge()


def products(seed):
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(24):
        x, inner, columns = BYTES[k % 2], 2 + k, int(rng.integers(2, 40))
        a, a_scale = net.activation(x, [3, 5, inner] if k % 4 == 1 else [5, inner])
        w, w_scale = net.weights(np.int8 if k % 5 else np.uint8, [inner, columns], 1, ("", "turned", "real")[k % 3])
        end = (x, np.float32, np.uint8)[k % 3]
        if k % 4 == 2:
            kind = ("whole", "real")[k // 4 % 2]
            y = net.node("Gemm", [a, w, net.bias(columns, a_scale * w_scale, kind)])
        elif k % 4 == 3:
            t, t_scale = net.weights(np.int8, [columns, inner], 0, "")
            y = net.node("Gemm", [a, t], transB=1)
        else:
            y = net.node("MatMul", [a, w])
        if k % 6 == 1:
            y = net.node("Add", [y, net.constant(rng.normal(size=columns), np.float32)])
        net.end(y, end, (None, "relu", "clip")[k // 2 % 3])
    net.judge()


def shared(seed):
    """A dequantised operand that others read, weights of two products, results that are read twice; and what is no such product."""
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(6):
        x = BYTES[k % 2]
        a, _ = net.activation(x, [1, 8, 6, 6])
        w, _ = net.weights(np.int8, [8, 8, 3, 3], 0, "")
        y = net.node("Conv", [a, w], pads=[1, 1, 1, 1])
        net.end(y, x, "relu")
        z = net.node("Conv", [a, w], pads=[2, 2, 2, 2], dilations=[2, 2])
        both = net.node("Add", [a, z])  # the operand itself, and a real result
        net.end(both, x, None)
        net.end(z, np.uint8, None)
        b, _ = net.activation(x, [8, 12])
        v, _ = net.weights(np.int8, [8, 12], 0, "one")
        net.end(net.node("MatMul", [b, net.node("Transpose", [v], perm=[1, 0])]), x, None)
        other, _ = net.activation(x, [12, 5])
        net.end(net.node("MatMul", [b, other]), x, None)  # both are data
        rows, _ = net.weights(np.int8, [12, 7], 0, "")
        net.end(net.node("MatMul", [b, rows]), x, None)  # scales along what is summed
        net.end(net.node("Gemm", [b, rows], alpha=0.5), x, None)
        index = f"index{k}"
        net.feeds[index] = rng.integers(-8, 8, [2, 3])
        table, _ = net.weights(np.int8 if k % 2 else np.uint8, [20, 8], 0, "one" if k < 4 else "")
        net.end(net.node("Gather", [table, index], axis=k // 2 % 2), np.float32, None)
    net.judge()


def channels(seed):
    """As NNCF leaves them: scales of each channel in front of a depthwise convolution, and behind one; norms that were not folded; and
    what does not fit that: zero points of each channel, norms that turn signs, groups of more than one channel."""
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(24):
        x, n, per = BYTES[k % 2], int(rng.integers(2, 20)), 2 if k % 8 == 6 else 1
        out = n * int(rng.integers(1, 3))
        a, _ = net.activation(x, [2, n * per, 7, 6], "own" if k % 6 == 5 else "alike")
        w, w_scale = net.weights(np.int8 if k % 5 else np.uint8, [out, per, 3, 2], 0, "real" if k % 7 == 3 else "")
        inputs = [a, w] + ([net.bias(out, 0.01 * w_scale, "real")] if k % 3 == 0 else [])
        y = net.node("Conv", inputs, pads=[1, 0, 1, 1], strides=[int(rng.integers(1, 3))] * 2, group=n)
        if k % 2:
            y = net.norm(y, out, k % 8 == 7)
        if k % 4 < 2:
            net.end_by_channel(y, x, out, "own" if k % 12 == 8 else "alike", k % 3)
        else:
            net.end(y, (x, np.float32)[k % 3 == 2], (None, "relu", "clip")[k // 4 % 3])
        b, b_scale = net.activation(x, [2, 8, 5, 5])
        v, v_scale = net.weights(np.int8, [n, 8, 1, 1], 0, "")
        z = net.node("Conv", [b, v] + ([net.bias(n, b_scale * v_scale, "whole")] if k % 3 == 1 else []))
        net.end_by_channel(net.norm(z, n, k % 8 == 5) if k % 4 else z, x, n, "own" if k % 9 == 8 else "alike", k % 2)
    net.judge(is_literal=True)  # its fused kernel refuses a scale of each channel of the result


def picked(seed):
    """Bytes that are pooled, turned or reshaped between their DequantizeLinear and a product, which others read, too."""
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(12):
        x = BYTES[k % 2]
        a, _ = net.activation(x, [2, 6, 8, 8])
        pooled = net.node("MaxPool", [a], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        w, _ = net.weights(np.int8, [8, 6, 3, 3], 0, "")
        net.end(net.node("Conv", [pooled, w]), x, (None, "relu")[k % 2])
        if k % 3 == 0:
            net.outs[pooled] = np.float32
        if k % 3 == 1:
            net.end(net.node("Add", [pooled, pooled]), x, None)
            net.end(net.node("Mul", [a, a]), x, None)
        flat = net.node("Flatten", [pooled])
        v, _ = net.weights(np.int8, [11, 96], 0, "")
        net.end(net.node("Gemm", [flat, v], transB=1), np.float32, None)
        rows = net.node("Reshape", [net.node("Transpose", [a], perm=[0, 2, 1, 3]), net.constant([16, 48], np.int64)])
        m, _ = net.weights(np.int8, [48, int(rng.integers(2, 30))], 1, "")
        net.end(net.node("MatMul", [rows, m]), x, None)
    net.judge()


def reals(seed):
    """Real numbers, quantised on the way in: between steps, halfway between two, of both signs, far outside, infinite; sums of any number
    of terms, all weights at an end of their range among them."""
    net, rng = Net(seed), np.random.default_rng(seed)
    for k in range(20):
        x, inner, n = BYTES[k % 2], 1 + int(rng.integers(0, 70)), int(rng.integers(1, 40))
        scale, zero = net.points(x, None, "alike")
        points = [net.constant(scale, np.float32), net.constant(zero, x)]
        is_conv = k % 3 == 2
        shape = [1, inner, 5, 4] if is_conv else [7, inner]
        value = rng.normal(size=shape).astype(np.float32) * scale * 90
        wild = rng.random(shape)
        value = np.where(wild < 0.2, (np.rint(value / scale) + np.float32(0.5)) * scale, value)
        for share, number in ((0.01, np.inf), (0.02, -np.inf), (0.03, 3.4e38), (0.04, -1e30), (0.05, -0.0)):
            value[(wild > 0.9) & (rng.random(shape) < share)] = number
        name = f"r{k}"
        net.feeds[name] = value.astype(np.float32)
        a = net.node("DequantizeLinear", [net.node("QuantizeLinear", [name, *points]), *points])
        if k % 4 == 3:
            ends = np.where(rng.random([n, inner, 2, 1] if is_conv else [inner, n]) < 0.5, -64, 63)
            w = net.node("DequantizeLinear", [net.constant(ends, np.int8), net.constant(0.01, np.float32)])
        else:
            w, _ = net.weights(np.int8, [n, inner, 2, 1], 0, "") if is_conv else net.weights(np.int8, [inner, n], 1, "")
        pads = {"pads": [int(rng.integers(0, 2)), 0, 1, 0]} if is_conv else {}
        net.end(net.node("Conv" if is_conv else "MatMul", [a, w], **pads), (x, np.float32)[k % 5 == 4], (None, "relu", "clip")[k % 3])
    net.judge()


def chains(seed):
    """Elementwise operators between quantisations: of one byte, which are looked up, behind products, reshapes and transposes; and such
    as are not, because a channel or another byte has a say."""
    net, rng = Net(seed), np.random.default_rng(seed)

    def quantised(y, dtype):
        middle = (np.iinfo(dtype).min + np.iinfo(dtype).max) // 2
        points = [net.constant(rng.uniform(0.004, 0.05), np.float32), net.constant(middle + rng.integers(-60, 60), dtype)]
        return net.node("QuantizeLinear", [y, *points]), points

    def again(y, dtype):
        q, points = quantised(y, dtype)
        return net.node("DequantizeLinear", [q, *points])

    for k in range(16):
        x, y = BYTES[k % 2], BYTES[k // 2 % 2]
        a, _ = net.activation(x, [3, 4, 10 + k])
        if k % 4 == 1:
            w, _ = net.weights(np.int8, [10 + k, 12], 1, "one")
            a = again(net.node("MatMul", [a, w]), x)
        if k % 4 == 2:
            a = net.node("Transpose", [again(a, x)], perm=[0, 2, 1])
        if k % 4 == 3:
            a = net.node("Reshape", [again(a, x), net.constant([4, -1], np.int64)])
        b = again(net.node(("Erf", "Sigmoid", "Tanh", "Exp", "HardSwish", "Elu")[k % 6], [a]), y)
        if k % 3 == 0:  # Gelu's and Silu's form
            b = again(net.node("Mul", [a, again(net.node("Add", [b, net.constant([1], np.float32)]), y)]), x)
        if k % 5 == 4:
            net.outs[b] = np.float32  # read in between
        if k % 8 == 5:
            b = net.node("Add", [b, net.constant(rng.normal(size=12), np.float32)])
        if k % 8 == 6:
            b = net.node("Mul", [b, net.node("Transpose", [net.activation(y, [3, 4, 10 + k])[0]], perm=[0, 2, 1])])
        net.outs[quantised(net.node("LeakyRelu", [b], alpha=0.3), y)[0]] = y
    net.judge()


run_tests([(f"{name} {seed}", lambda test=test, seed=seed: test(seed))
           for name, test in (("convolutions", convs), ("products", products), ("shared", shared), ("channels", channels), ("picked", picked), ("reals", reals),
                                                 ("chains", chains)) for seed in SEEDS])
