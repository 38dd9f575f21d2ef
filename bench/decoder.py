#!/usr/bin/env python3
"""One step of a decoder, random weights, in f32 or with weights of 4 or 8 bits, as ONNX: what bench/peers.py times.

    bench/decoder.py gpt2 TO.onnx [--bits 4|8] [--block 32] [--zero-points] [--form nbits|qdq] [--cache 128] [--rows 1]
    bench/decoder.py --compare TO4.onnx TO.onnx     the answers of two such files by familyseer

gpt2: 12 layers of 768, 124 million weights; llama: 12 layers of 768 with 4 heads of keys, gated, 100 million. Both have one table for
tokens and for logits. A step reads `--rows` tokens behind a cache of so many, and gives logits and the tokens' keys and values. Without
--bits, weights are f32: those of 4 bits (--like 4, or 8) dequantised, so that the answers of both files are to be the same.
--form nbits: MatMulNBits and GatherBlockQuantized; qdq: DequantizeLinear by blocks of int4 and int8 (opset 21).
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper, numpy_helper

MS = "com.microsoft"
SHAPES = {"gpt2": dict(layers=12, dim=768, heads=12, kv=12, inner=3072, words=50257),
          "llama": dict(layers=12, dim=768, heads=12, kv=4, inner=2048, words=32000)}


def quantised(w, bits, block, with_zeros):
    """w[n, k] -> codes u8[n, blocks, block], scales, zero points [n, blocks]."""
    n, k = w.shape
    w = np.pad(w, ((0, 0), (0, -k % block))).reshape(n, -1, block)
    middle, top = 1 << (bits - 1), (1 << bits) - 1
    if with_zeros:
        low, high = np.minimum(w.min(2), 0), np.maximum(w.max(2), 0)
        scale = np.maximum((high - low) / top, 1e-8).astype(np.float32)
        zero = np.rint(-low / scale).astype(np.uint8)
    else:
        scale = np.maximum(np.abs(w).max(2) / (middle - 1), 1e-8).astype(np.float32)
        zero = np.full(scale.shape, middle, np.uint8)
    codes = np.clip(np.rint(w / scale[..., None]) + zero[..., None], 0, top).astype(np.uint8)
    return codes, scale, zero


def packed(codes, bits):
    """Along the last axis, lowest first, into bytes."""
    each = 8 // bits
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)])
    codes = codes.reshape(codes.shape[:-1] + (-1, each))
    return sum((codes[..., i] << (bits * i)).astype(np.uint8) for i in range(each))


class Net:
    def __init__(self, args):
        self.args, self.rng = args, np.random.default_rng(7)
        self.nodes, self.constants, self.inputs, self.outputs, self.n = [], [], [], [], 0

    def name(self, base):
        self.n += 1
        return f"{base}_{self.n}"

    def constant(self, value, base="c"):
        name = self.name(base)
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def int4(self, codes, signed):
        """A tensor of 4 bits an element."""
        name = self.name("w")
        data = codes.astype(np.uint8).reshape(-1) & 15
        raw = packed(data[None], 4).tobytes()
        self.constants.append(helper.make_tensor(name, T.INT4 if signed else T.UINT4, codes.shape, raw, raw=True))
        return name

    def add(self, op, inputs, domain="", n_out=1, **attributes):
        names = [self.name(op) for _ in range(n_out)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if n_out == 1 else names

    def random(self, *shape, std=0.02, mean=0.0):
        return (self.rng.standard_normal(shape) * std + mean).astype(np.float32)

    def table(self, n, k):
        """Weights [n, k] in the form that was asked for."""
        a = self.args
        bits = a.bits or a.like
        codes, scale, zero = quantised(self.random(n, k), bits, a.block, a.zero_points)
        if not a.bits:
            values = ((codes.astype(np.float32) - zero[..., None]) * scale[..., None]).reshape(n, -1)[:, :k]
            return {"n": n, "k": k, "f32": values}
        made = {"n": n, "k": k, "scale": self.constant(scale, "scale")}
        if a.form == "nbits":
            bytes_ = packed(codes, bits)
            made["codes"] = self.constant(bytes_, "w")
            made["rows"] = lambda: self.constant(bytes_.reshape(n, -1), "rows")
            if a.zero_points:
                made["zero"] = self.constant(packed(zero, bits), "zero")
        else:
            flat = codes.reshape(n, -1)[:, :k].astype(np.int16) - (0 if a.zero_points else 1 << (bits - 1))
            if bits == 4:
                made["codes"] = self.int4(flat, not a.zero_points)
                made["zero"] = self.int4(zero, False) if a.zero_points else None
            else:
                made["codes"] = self.constant(flat.astype(np.uint8 if a.zero_points else np.int8), "w")
                made["zero"] = self.constant(zero, "zero") if a.zero_points else None
        return made

    def dequantised(self, t):
        if "full" not in t:
            if "f32" in t:
                t["full"] = self.constant(t["f32"], "w")
            else:
                inputs = [t["codes"], t["scale"]] + ([t["zero"]] if t.get("zero") else [])
                t["full"] = self.add("DequantizeLinear", inputs, axis=1, block_size=self.args.block)
        return t["full"]

    def product(self, x, t):
        if self.args.bits and self.args.form == "nbits":
            inputs = [x, t["codes"], t["scale"]] + ([t["zero"]] if t.get("zero") else [])
            return self.add("MatMulNBits", inputs, MS, K=t["k"], N=t["n"], bits=self.args.bits, block_size=self.args.block, accuracy_level=1)
        if "f32" in t and "turned" not in t and "full" not in t:
            t["turned"] = self.constant(np.ascontiguousarray(t["f32"].T), "w")
        if "turned" not in t:
            t["turned"] = self.add("Transpose", [self.dequantised(t)], perm=[1, 0])
        return self.add("MatMul", [x, t["turned"]])

    def linear(self, x, n, k, bias=False):
        y = self.product(x, self.table(n, k))
        return self.add("Add", [y, self.constant(self.random(n))]) if bias else y

    def rows(self, t, index):
        if self.args.bits and self.args.form == "nbits":
            inputs = [t["rows"](), index, t["scale"]] + ([t["zero"]] if t.get("zero") else [])
            return self.add("GatherBlockQuantized", inputs, MS, bits=self.args.bits, block_size=self.args.block, gather_axis=0, quantize_axis=1)
        return self.add("Gather", [self.dequantised(t), index], axis=0)

    def reshape(self, x, *dims):
        return self.add("Reshape", [x, self.constant(np.array(dims, np.int64))])

    def heads_first(self, x, heads, per):
        return self.add("Transpose", [self.reshape(x, self.args.rows, heads, per)], perm=[1, 0, 2])

    def input(self, name, elem, dims):
        self.inputs.append(helper.make_tensor_value_info(name, elem, dims))
        return name

    def output(self, name, of, dims):
        self.nodes.append(helper.make_node("Identity", [of], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, T.FLOAT, dims))

    def attend(self, layer, q, k, v, heads, kv, per):
        """q [heads, rows, per], k and v [kv, rows, per], with what the cache has: [heads, rows, per]."""
        a = self.args
        group, cache = heads // kv, a.cache
        self.output(f"k{layer}", k, [kv, a.rows, per])
        self.output(f"v{layer}", v, [kv, a.rows, per])
        past = [self.input(f"past_{x}{layer}", T.FLOAT, [kv, cache, per]) for x in "kv"]
        q = self.reshape(self.add("Mul", [q, self.constant(np.float32(per ** -0.5))]), kv, group * a.rows, per)
        old = self.add("MatMul", [q, self.add("Transpose", [past[0]], perm=[0, 2, 1])])
        new = self.add("MatMul", [q, self.add("Transpose", [k], perm=[0, 2, 1])])
        if a.rows > 1:
            mask = np.tile(np.triu(np.full((a.rows, a.rows), -1e9, np.float32), 1), (group, 1))
            new = self.add("Add", [new, self.constant(mask)])
        p = self.add("Softmax", [self.add("Concat", [old, new], axis=-1)], axis=-1)
        parts = self.add("Split", [p, self.constant(np.array([cache, a.rows], np.int64))], n_out=2, axis=-1)
        y = self.add("Add", [self.add("MatMul", [parts[0], past[1]]), self.add("MatMul", [parts[1], v])])
        return self.reshape(y, heads, a.rows, per)

    def merged(self, y, dim):
        return self.reshape(self.add("Transpose", [y], perm=[1, 0, 2]), self.args.rows, dim)


def norm(net, x, dim, root):
    scale = net.constant(net.random(dim, mean=1.0))
    if not root:
        return net.add("LayerNormalization", [x, scale, net.constant(net.random(dim))], axis=-1, epsilon=1e-5)
    return net.add("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=1e-5)


def turned(net, x, cos, sin, per):
    low, high = net.add("Split", [x, net.constant(np.array([per // 2] * 2, np.int64))], n_out=2, axis=-1)
    a = net.add("Sub", [net.add("Mul", [low, cos]), net.add("Mul", [high, sin])])
    b = net.add("Add", [net.add("Mul", [high, cos]), net.add("Mul", [low, sin])])
    return net.add("Concat", [a, b], axis=-1)


def gpt2(net, s):
    dim, per = s["dim"], s["dim"] // s["heads"]
    words = net.table(s["words"], dim)
    places = net.constant(net.random(net.args.cache + net.args.rows, dim))
    at = net.input("position", T.INT64, [net.args.rows])
    x = net.add("Add", [net.rows(words, net.input("token", T.INT64, [net.args.rows])), net.add("Gather", [places, at], axis=0)])
    for layer in range(s["layers"]):
        y = net.linear(norm(net, x, dim, False), 3 * dim, dim, True)
        q, k, v = (net.heads_first(p, s["heads"], per) for p in net.add("Split", [y, net.constant(np.array([dim] * 3, np.int64))], n_out=3, axis=-1))
        y = net.merged(net.attend(layer, q, k, v, s["heads"], s["kv"], per), dim)
        x = net.add("Add", [x, net.linear(y, dim, dim, True)])
        y = net.add("Gelu", [net.linear(norm(net, x, dim, False), s["inner"], dim, True)], approximate="tanh")
        x = net.add("Add", [x, net.linear(y, dim, s["inner"], True)])
    net.output("logits", net.product(norm(net, x, dim, False), words), [net.args.rows, s["words"]])


def llama(net, s):
    dim, per = s["dim"], s["dim"] // s["heads"]
    words = net.table(s["words"], dim)
    angle = np.arange(net.args.cache + net.args.rows)[:, None] / 1e4 ** (np.arange(per // 2)[None] * 2 / per)
    at = net.input("position", T.INT64, [net.args.rows])
    cos, sin = (net.add("Gather", [net.constant(f(angle).astype(np.float32)), at], axis=0) for f in (np.cos, np.sin))
    x = net.rows(words, net.input("token", T.INT64, [net.args.rows]))
    for layer in range(s["layers"]):
        y = norm(net, x, dim, True)
        q, k, v = (net.heads_first(net.linear(y, n * per, dim), n, per) for n in (s["heads"], s["kv"], s["kv"]))
        q, k = (turned(net, z, cos, sin, per) for z in (q, k))
        x = net.add("Add", [x, net.linear(net.merged(net.attend(layer, q, k, v, s["heads"], s["kv"], per), dim), dim, dim)])
        y = norm(net, x, dim, True)
        gate, up = (net.linear(y, s["inner"], dim) for _ in range(2))
        gate = net.add("Mul", [gate, net.add("Sigmoid", [gate])])
        x = net.add("Add", [x, net.linear(net.add("Mul", [gate, up]), dim, s["inner"])])
    net.output("logits", net.product(norm(net, x, dim, True), words), [net.args.rows, s["words"]])


def make(args):
    net = Net(args)
    {"gpt2": gpt2, "llama": llama}[args.what](net, SHAPES[args.what])
    graph = helper.make_graph(net.nodes, args.what, net.inputs, net.outputs, net.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MS, 1)], ir_version=10), args.to)


def feeds(path, words):
    rng, made = np.random.default_rng(3), {}
    for value in onnx.load(path, load_external_data=False).graph.input:
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        n = dims[0]
        made[value.name] = (rng.integers(0, words, dims) if value.name == "token" else np.arange(n) + 128 if value.name == "position"
                            else (rng.standard_normal(dims) * 0.5).astype(np.float32))
    return made


def compare(args):
    """The largest difference of each output by the largest magnitude, and whether the same token is the likeliest."""
    program = os.environ.get("FAMILYSEER", "familyseer")
    given, found = feeds(args.to, min(s["words"] for s in SHAPES.values())), []
    with tempfile.TemporaryDirectory() as work:
        flags = []
        for name, value in given.items():
            np.save(os.path.join(work, name + ".npy"), value)
            flags += ["-i", f"{name}={work}/{name}.npy"]
        for i, path in enumerate((args.what, args.to)):
            out = os.path.join(work, str(i))
            subprocess.run([program, "compile", path, "-o", out, "-O1"], check=True)
            subprocess.run([program, "run", os.path.join(out, "model.so"), *flags, "-o", os.path.join(out, "out")], check=True)
            print(f"{path}: weights.bin of {os.path.getsize(os.path.join(out, 'weights.bin')) / 1e6:.1f} MB")
            found.append({f: np.load(os.path.join(out, "out", f)) for f in os.listdir(os.path.join(out, "out")) if f.endswith(".npy")})
    worst = max(float(np.abs(a - found[1][f]).max() / np.abs(found[1][f]).max()) for f, a in found[0].items())
    same = (found[0]["logits.npy"].argmax(-1) == found[1]["logits.npy"].argmax(-1)).all()
    print(f"largest difference {worst:.2e} of the largest magnitude; likeliest token {'the same' if same else 'ANOTHER'}")
    return 0 if same and worst < 1e-4 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what")
    parser.add_argument("to")
    parser.add_argument("--bits", type=int, choices=(4, 8))
    parser.add_argument("--like", type=int, choices=(4, 8), default=4)
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--zero-points", action="store_true")
    parser.add_argument("--form", choices=("nbits", "qdq"), default="nbits")
    parser.add_argument("--cache", type=int, default=128)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--compare", action="store_true")
    args = parser.parse_args()
    return compare(args) if args.compare else make(args)


if __name__ == "__main__":
    sys.exit(main())
