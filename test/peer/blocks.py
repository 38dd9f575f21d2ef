"""What the tests of weights of 2, 4 and 8 bits share: nodes on weights that are quantised by blocks, each with constants of its own, in one
model, and what they are to give in f64."""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper, numpy_helper

from peer import familyseer, reference, schedules

MS, LEVELS = "com.microsoft", schedules()
SMALL = {T.INT4: (-8, 7), T.UINT4: (0, 15), T.INT8: (-128, 127), T.UINT8: (0, 255)}


def bytes_of(codes, bits):
    """Along the last axis, lowest first."""
    each = 8 // bits
    codes = np.pad(codes.astype(np.uint8), [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)], constant_values=1)
    codes = codes.reshape(codes.shape[:-1] + (-1, each))
    return sum((codes[..., i] << (bits * i)).astype(np.uint8) for i in range(each))


class Net:
    """Nodes of one model, each with constants of its own, and what they are to give in f64."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.feeds, self.want, self.scale = [], [], {}, {}, {}

    def constant(self, value, elem=None):
        name, value = f"c{len(self.constants)}", np.asarray(value)
        if elem in (T.INT4, T.UINT4):
            raw = bytes_of((value & 15).reshape(1, -1), 4).tobytes()
            self.constants.append(helper.make_tensor(name, elem, value.shape, raw, raw=True))
        else:
            self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        name = f"v{len(self.nodes)}_{op}"
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def x(self, *shape):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = (self.rng.standard_normal(shape) * np.exp2(self.rng.uniform(-12, 12, shape))).astype(np.float32)
        return name

    def expect(self, name, want, magnitude):
        """magnitude: what the sum of the terms' magnitudes is."""
        self.want[name], self.scale[name] = want, magnitude

    def product(self, name, x, weights, plus=0.0):
        self.expect(name, x.astype(np.float64) @ weights + plus, np.abs(x.astype(np.float64)) @ np.abs(weights) + np.abs(plus))

    # ---- com.microsoft
    def nbits(self, bits, block, n, k, rows, zero, bias=False):
        blocks = -(-k // block)
        codes, scales = self.rng.integers(0, 1 << bits, (n, blocks, block)), self.scales(n, blocks)
        inputs = [self.x(*rows, k), self.constant(bytes_of(codes, bits)), self.constant(scales)]
        zeros = np.full((n, blocks), 1 << (bits - 1), np.float64)
        if zero == "packed":
            zeros = self.rng.integers(0, 1 << bits, (n, blocks))
            inputs.append(self.constant(bytes_of(zeros, bits)))
        elif zero == "real":
            zeros = self.rng.uniform(0, (1 << bits) - 1, (n, blocks)).astype(np.float32)
            inputs.append(self.constant(zeros))
        plus = self.rng.standard_normal(n).astype(np.float32) if bias else 0.0
        if bias:
            inputs += [""] * (5 - len(inputs)) + [self.constant(plus)]
        weights = ((codes - zeros.astype(np.float64)[..., None]) * scales.astype(np.float64)[..., None]).reshape(n, -1)[:, :k]
        y = self.node("MatMulNBits", inputs, MS, K=k, N=n, bits=bits, block_size=block, accuracy_level=1)
        self.product(y, self.feeds[inputs[0]], weights.T, plus)

    def gather(self, bits, block, rows, k, zero):
        blocks = -(-k // block)
        codes, scales = self.rng.integers(0, 1 << bits, (rows, k)), self.scales(rows, blocks)
        zeros = np.full((rows, blocks), 1 << (bits - 1))
        index = np.array([[0, rows - 1, -1], [-rows, 1 % rows, 0]], np.int64)
        name = f"x{len(self.feeds)}"
        self.feeds[name] = index
        inputs = [self.constant(bytes_of(codes, bits)), name, self.constant(scales)]
        if zero:
            zeros = self.rng.integers(0, 1 << bits, (rows, blocks))
            inputs.append(self.constant(bytes_of(zeros, bits)))
        table = (codes - np.repeat(zeros, block, 1)[:, :k]) * np.repeat(scales.astype(np.float64), block, 1)[:, :k]
        y = self.node("GatherBlockQuantized", inputs, MS, bits=bits, block_size=block, gather_axis=0, quantize_axis=1)
        self.expect(y, table[index], np.abs(table[index]))

    def scales(self, *shape):
        return (self.rng.uniform(0.001, 0.1, shape) * self.rng.choice([-1, 1], shape)).astype(np.float32)

    # ---- DequantizeLinear in front
    def table(self, elem, n, k, block, turned, zero):
        """(its name, rows [n, k] in f64) of codes [n, k] (turned) or [k, n]; block 0: a scale a row, None: one for all."""
        low, high = SMALL[elem]
        codes = self.rng.integers(low, high + 1, (n, k))
        shape = () if block is None else (n,) if block == 0 else (n, -(-k // block))
        scales, zeros = self.scales(*shape), self.rng.integers(low, high + 1, shape)
        def spread(a):
            return a if block is None else a[:, None] if block == 0 else np.repeat(a, block, 1)[:, :k]
        rows = (codes - (spread(zeros) if zero else 0)) * spread(scales.astype(np.float64))
        def placed(a):
            return a if turned or a.ndim < 2 else np.ascontiguousarray(a.T)
        to = {T.INT8: np.int8, T.UINT8: np.uint8}.get(elem, np.int64)
        inputs = [self.constant(placed(codes).astype(to), elem), self.constant(placed(scales))]
        if zero:
            inputs.append(self.constant(placed(zeros).astype(to), elem))
        given = {} if block is None else {"axis": 0 if turned else 1} if block == 0 else {"axis": 1 if turned else 0, "block_size": block}
        return self.node("DequantizeLinear", inputs, **given), rows

    def linear(self, elem, n, k, block, how, zero):
        turned = how != "MatMul"
        w, rows = self.table(elem, n, k, block, turned, zero)
        x = self.x(3, k)
        if how == "Gemm":
            plus = self.rng.standard_normal(n).astype(np.float32)
            y = self.node("Gemm", [x, w, self.constant(plus)], transB=1)
        else:
            plus, y = 0.0, self.node("MatMul", [x, self.node("Transpose", [w], perm=[1, 0]) if turned else w])
        self.product(y, self.feeds[x], rows.T, plus)

    def look_up(self, elem, n, k, block, zero):
        w, rows = self.table(elem, n, k, block, True, zero)
        name = f"x{len(self.feeds)}"
        self.feeds[name] = np.array([0, n - 1, -1, 1 % n], np.int64)
        y = self.node("Gather", [w, name], axis=0)
        self.expect(y, rows[self.feeds[name]], np.abs(rows[self.feeds[name]]))

    # ---- the whole
    def model(self):
        ins = [helper.make_tensor_value_info(n, T.INT64 if a.dtype == np.int64 else T.FLOAT, a.shape) for n, a in self.feeds.items()]
        outs = [helper.make_tensor_value_info(n, T.FLOAT, None) for n in self.want]
        graph = helper.make_graph(self.nodes, "weights", ins, outs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MS, 1)], ir_version=10)

    def judge(self, name, got, who):
        """Within some roundings of the sum of magnitudes: products in f32, whatever the order."""
        most = 32 * 2.0 ** -24 * self.scale[name] + 1e-30
        off = np.argwhere(~(np.abs(got - self.want[name]) <= most))
        assert got.shape == self.want[name].shape and len(off) == 0, f"{name} {who}: {len(off)} of {got.size} are off, first at {off[0]}"

    def check(self):
        theirs = reference(self.model(), self.feeds)
        for name in self.want:
            self.judge(name, theirs[name], "ONNX Runtime")
        with tempfile.TemporaryDirectory() as folder:
            path, args = os.path.join(folder, "m.onnx"), []
            onnx.save(self.model(), path)
            for name, array in self.feeds.items():
                np.save(os.path.join(folder, name + ".npy"), array)
                args += ["-i", f"{name}={folder}/{name}.npy"]
            for level in LEVELS:
                familyseer("compile", path, "-o", folder, level)
                familyseer("run", os.path.join(folder, "model.so"), *args, "-o", os.path.join(folder, "out"))
                for name in self.want:
                    self.judge(name, np.load(os.path.join(folder, "out", name + ".npy")), level)
