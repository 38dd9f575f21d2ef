"""How exact half precision is: products, convolutions, sums and normalisations of f16 and bf16 over 16 to 65,536 elements.
The error against f64 is at most twice that of ONNX Runtime, at both levels and under random schedules. SEER_TEST: timeout=600"""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from peer import FULL, familyseer, run_tests, schedules  # noqa: E402

LENGTHS = [16, 250, 4096, 65536]
KINDS = {"f16": (T.FLOAT16, 2.0**-11), "bf16": (T.BFLOAT16, 2.0**-9)}  # the type, and what rounding to it may take off
LEVELS = schedules() + [f"--random-schedules={seed}" for seed in range(4, 7 if FULL else 4)]
EPSILON = 1e-5


# ---- numbers of the type, as bits and as f64

def bits_of(x, kind):
    if kind == T.FLOAT16:
        return x.astype(np.float16)
    f = np.atleast_1d(np.asarray(x, np.float32)).view(np.uint32)
    return ((f + 0x7FFF + ((f >> 16) & 1)) >> 16).astype(np.uint16).reshape(x.shape)


def value_of(bits, kind):
    if kind == T.FLOAT16:
        return bits.astype(np.float64)
    return (np.atleast_1d(bits).astype(np.uint32) << 16).view(np.float32).astype(np.float64).reshape(bits.shape)


def tensor(name, bits, kind):
    return helper.make_tensor(name, kind, bits.shape, bits.tobytes(), raw=True)


# ---- one operator at one length: node, operands, and its answer in f64

def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalised(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + EPSILON)


def cases(rng, n):
    """(operator, inputs, weights, attributes, answer); values with a mean, so that sums grow."""
    normal = rng.standard_normal
    channels = max(1, n // 9)
    return [
        ("MatMul", [normal((5, n)) + 0.2], [normal((n, 24)) / 8 + 0.02], {}, lambda a, b: a @ b),
        ("Conv", [normal((1, channels, 3, 4)) + 0.2], [normal((6, channels, 3, 3)) / 8 + 0.02], {},
         lambda x, w: np.stack([np.einsum("ncyx,ocyx->no", x[:, :, :, k:k + 3], w) for k in range(2)], -1)[:, :, None, :]),
        ("ReduceSum", [normal((6, n)) + 0.3], [np.array([1])], {}, lambda x, _: x.sum(1, keepdims=True)),
        ("ReduceMean", [normal((6, n)) + 3], [np.array([1])], {}, lambda x, _: x.mean(1, keepdims=True)),
        ("ReduceLogSumExp", [normal((6, n)) * 2], [np.array([1])], {}, lambda x, _: np.log(np.exp(x).sum(1, keepdims=True))),
        ("Softmax", [normal((4, n)) * 2], [], {"axis": -1}, softmax),
        ("LayerNormalization", [normal((4, n)) + 3], [normal(n) / 4 + 1, normal(n)], {"axis": -1, "epsilon": EPSILON},
         lambda x, g, b: normalised(x, -1) * g + b),
        ("InstanceNormalization", [normal((1, 3, n // 2, 2)) + 3], [normal(3) / 4 + 1, normal(3)], {"epsilon": EPSILON},
         lambda x, g, b: normalised(x, (2, 3)) * g[None, :, None, None] + b[None, :, None, None]),
    ]


def build(kind):
    """All operators at all lengths in one model; what goes in, as bits, and what is right."""
    rng = np.random.default_rng(7)
    nodes, inputs, outputs, weights, feeds, right = [], [], [], [], {}, {}
    for n in LENGTHS:
        for op, given, constants, attributes, answer in cases(rng, n):
            at = f"{op}_{n}"
            operands, numbers = [], []
            for k, x in enumerate(given + constants):
                name = f"{at}_{k}"
                operands.append(name)
                if x.dtype == np.int64:
                    weights.append(numpy_helper.from_array(x, name))
                    numbers.append(x)
                    continue
                bits = bits_of(x, kind)
                numbers.append(value_of(bits, kind))
                if k < len(given):
                    feeds[name] = bits
                    inputs.append(helper.make_tensor_value_info(name, kind, x.shape))
                else:
                    weights.append(tensor(name, bits, kind))
            right[at] = answer(*numbers)
            nodes.append(helper.make_node(op, operands, [at], **attributes))
            outputs.append(helper.make_tensor_value_info(at, kind, right[at].shape))
    graph = helper.make_graph(nodes, "narrow", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), feeds, right


# ---- answers

def widened(model):
    """The same in f32, for what ONNX Runtime has no code for in bf16: its answer is rounded once."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for k, w in enumerate(wide.graph.initializer):
        if w.data_type == T.BFLOAT16:
            bits = np.frombuffer(w.raw_data, np.uint16).reshape(w.dims)
            wide.graph.initializer[k].CopyFrom(numpy_helper.from_array(value_of(bits, T.BFLOAT16).astype(np.float32), w.name))
    for v in [*wide.graph.input, *wide.graph.output]:
        v.type.tensor_type.elem_type = T.FLOAT
    return wide


def theirs(model, feeds, kind):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if kind == T.BFLOAT16:
        model = widened(model)
        feeds = {name: value_of(bits, kind).astype(np.float32) for name, bits in feeds.items()}
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return {n: bits_of(y, kind) if kind == T.BFLOAT16 else y for n, y in zip(names, session.run(None, feeds))}


def error(bits, right, kind):
    return np.abs(value_of(bits, kind) - right).max() / np.abs(right).max()


def check(label):
    kind, unit = KINDS[label]
    model, feeds, right = build(kind)
    reference = theirs(model, feeds, kind)
    allowed = {name: 2 * max(unit, error(reference[name], right[name], kind)) for name in right}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(model, path)
        for level in LEVELS:
            at = os.path.join(folder, "out" + level)
            familyseer("compile", path, "-o", at, level)
            library = fs.Model(at, threads=2)
            got = library(*[feeds[i.name] for i in library.inputs])
            names = [o.name for o in library.outputs]
            worst = 0
            for name, y in zip(names, got):
                e = error(np.asarray(y).reshape(right[name].shape), right[name], kind)
                worst = max(worst, e / allowed[name] * 2)
                assert e <= allowed[name], f"{label} {level} {name}: error {e:.2e}, at most {allowed[name]:.2e}"
            print(f"{label} {level}: {len(names)} operators, at most {worst:.2f} times the error of ONNX Runtime", flush=True)


# ---- everything else that adds up or multiplies, or is made of parts: rounded once

def many(rng):
    """(operator, inputs, weights, attributes, domain); one may be of indices or sizes, None is absent."""
    n = rng.standard_normal
    hidden, steps = 24, 20
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
    recurrent = [(op, [n((steps, 2, 9)), n((1, g * hidden, 9)) / 3, n((1, g * hidden, hidden)) / 5, n((1, 2 * g * hidden)) / 5], [],
                  {"hidden_size": hidden}, "") for op, g in gates.items()]
    labels = rng.integers(0, 7, (300,))
    return recurrent + [
        ("Gemm", [n((5, 700)) + 0.2, n((700, 9)) + 0.1, n(9)], [], {"alpha": 0.3, "beta": 2.0}, ""),
        ("Einsum", [n((5, 300)) + 0.2, n((300, 4)) + 0.1], [], {"equation": "ij,jk->ki"}, ""),
        ("ConvTranspose", [n((1, 40, 5, 5)) + 0.2, n((40, 6, 3, 3)) + 0.1, n(6)], [], {"strides": [2, 2]}, ""),
        ("AveragePool", [n((1, 5, 40, 40)) + 2], [], {"kernel_shape": [20, 20]}, ""),
        ("GlobalAveragePool", [n((1, 5, 90, 90)) + 9], [], {}, ""),
        ("ReduceSumSquare", [n((4, 900))], [np.array([1])], {}, ""),
        ("ReduceL1", [n((4, 900))], [np.array([1])], {}, ""),
        ("ReduceL2", [n((4, 3000)) * 30], [np.array([1])], {}, ""),
        ("ReduceProd", [1 + n((4, 300)) / 20], [np.array([1])], {}, ""),
        ("CumSum", [n((3, 500)) + 0.3], [np.array(1)], {}, ""),
        ("LRN", [n((1, 12, 5, 5)) * 20], [], {"size": 5}, ""),
        ("LpNormalization", [n((4, 900)) * 20], [], {"axis": 1}, ""),
        ("LogSoftmax", [n((4, 900)) * 3], [], {}, ""),
        ("MeanVarianceNormalization", [n((2, 3, 20, 20)) + 3], [], {}, ""),
        ("GroupNormalization", [n((1, 6, 20, 20)) + 3, n(2) + 1, n(2)], [], {"num_groups": 2}, ""),
        ("DFT", [n((1, 200, 1)) + 1], [np.zeros(0), np.array(1)], {}, ""),
        ("NegativeLogLikelihoodLoss", [n((300, 7)) + 9], [labels], {}, ""),
        ("SoftmaxCrossEntropyLoss", [n((300, 7)) * 3], [labels], {"reduction": "sum"}, ""),
        ("Resize", [n((1, 2, 60, 60)) + 2], [np.zeros(0), np.array([1, 1, 0.11, 0.17], np.float32)], {"mode": "linear", "antialias": 1}, ""),
        ("AffineGrid", [n((1, 2, 3))], [np.array([1, 1, 33, 35])], {}, ""),
        ("Gelu", [n((3, 400)) * 2], [], {}, "com.microsoft"),
        ("BiasGelu", [n((3, 400)), n(400)], [], {}, "com.microsoft"),
        ("FastGelu", [n((3, 400)) * 2], [], {}, "com.microsoft"),
        ("QuickGelu", [n((3, 400)) * 2], [], {}, "com.microsoft"),
        ("MultiHeadAttention", [n((2, 64, 64)), n((2, 64, 64)), n((2, 64, 64))], [], {"num_heads": 4}, "com.microsoft"),
        ("Attention", [n((2, 64, 64)), n((64, 192)) / 8, n(192) / 8], [], {"num_heads": 4}, "com.microsoft"),
        ("SkipLayerNormalization", [n((1, 3, 400)) * 9, n((1, 3, 400)), n(400) + 1, n(400)], [], {}, "com.microsoft"),
        ("SkipSimplifiedLayerNormalization", [n((1, 3, 400)) * 300, n((1, 3, 400)), n(400) + 1], [], {}, "com.microsoft"),
        ("SimplifiedLayerNormalization", [n((3, 400)) * 300, n(400) + 1], [], {}, ""),
        ("EmbedLayerNormalization", [rng.integers(0, 9, (2, 5)).astype(np.int32), rng.integers(0, 2, (2, 5)).astype(np.int32), n((9, 400)) + 300,
                                     n((7, 400)), n((2, 400)), n(400) + 1, n(400)], [], {}, "com.microsoft"),
        ("GroupQueryAttention", [n((2, 40, 64)) * 3, n((2, 40, 32)) * 3, n((2, 40, 32)), None, None, np.full(2, 39, np.int32)],
         [np.array(40, np.int32), *turns(40, 8)], {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "softcap": 90.0}, "com.microsoft"),
        ("RotaryEmbedding", [n((2, 40, 64)) * 9, np.arange(80).reshape(2, 40) % 40], turns(40, 16), {"interleaved": 1}, "com.microsoft"),
        ("FusedMatMul", [n((5, 300)) + 0.2, n((300, 4)) + 0.1], [], {"alpha": 0.3}, "com.microsoft"),
        ("FusedGemm", [n((5, 300)) / 9, n((300, 4)) / 9, n(4)], [], {"activation": "Tanh", "alpha": 0.7}, "com.microsoft"),
        ("FusedConv", [n((1, 40, 5, 5)) / 9, n((6, 40, 3, 3)) / 9, n(6)], [], {"activation": "Sigmoid"}, "com.microsoft"),
        ("DeformConv", [n((1, 40, 6, 6)), n((5, 40, 3, 3)), n((1, 18, 4, 4))], [], {"kernel_shape": [3, 3]}, ""),
        ("Det", [n((3, 9, 9))], [], {}, ""),
    ]


def turns(places, pairs):
    """Cosines and sines of angles by place."""
    angles = np.outer(np.arange(places), 0.7 ** np.arange(pairs))
    return [np.cos(angles), np.sin(angles)]


def gone(rng):
    """The same of operators that ended with opset 9."""
    n = rng.standard_normal
    return [
        ("Affine", [n((3, 40)) * 30], [], {"alpha": 0.3, "beta": -7.0}, ""),
        ("ScaledTanh", [n((3, 40))], [], {"alpha": 0.3, "beta": 0.7}, ""),
        ("ParametricSoftplus", [n((3, 40))], [], {"alpha": 0.3, "beta": 0.7}, ""),
        ("ImageScaler", [n((1, 3, 9, 9)) * 50], [], {"scale": 0.3, "bias": [-7.0, 3.0, 9.0]}, ""),
    ]


def newest(rng):
    """The same of operators that came with opset 23 and later."""
    n = rng.standard_normal
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    small = n((2, 40, 32)) / 4
    return [
        ("Attention", [n((2, 4, 40, 16)), n((2, 2, 50, 16)), n((2, 2, 50, 16)), n((40, 50))], [], {"softcap": 3.0}, ""),
        ("Attention", [n((2, 40, 64)), n((2, 40, 32)), n((2, 40, 32))], [], {"is_causal": 1, **heads}, ""),
        ("RotaryEmbedding", [n((2, 4, 40, 16)) * 9], [*turns(40, 8), np.arange(80).reshape(2, 40) % 40], {}, ""),
        ("CausalConvWithState", [n((2, 9, 60)), n((9, 1, 4)), n(9)], [], {"activation": "silu"}, ""),
        ("LinearAttention", [n((2, 40, 64)) / 4, small, n((2, 40, 32)), None, -np.abs(n((2, 40, 2))) / 9, 1 / (1 + np.exp(n((2, 40, 2))))], [], heads, ""),
    ]


def rounded_once(label, cases_of, opset):
    """Within two roundings of ONNX Runtime's answer in f32."""
    kind, unit = KINDS[label]
    feeds, outputs, graphs, f32 = {}, [], {T.FLOAT: ([], [], []), kind: ([], [], [])}, {}
    for at, (op, given, constants, attributes, domain) in enumerate(cases_of(np.random.default_rng(3))):
        out = f"{op}_{at}"
        outputs.append(out)
        all_of = [*given, *constants]
        names = ["" if x is None or x.size == 0 else f"{out}_{k}" for k, x in enumerate(all_of)]
        for name, x in zip(names, given):
            if name:
                feeds[name] = bits_of(x, kind) if x.dtype == np.float64 else x
                f32[name] = value_of(feeds[name], kind).astype(np.float32) if x.dtype == np.float64 else x
        more = [f"{out}_{k}" for k in range(-{"EmbedLayerNormalization": 2, "GroupQueryAttention": 2, "CausalConvWithState": 1, "LinearAttention": 1}.get(op, 0), 0)]
        outputs += more[-1:]  # (the first of EmbedLayerNormalization's are no floats)
        made = ["", out] if op in ("LSTM", "GRU", "RNN") else [out] + more
        for dtype, (nodes, inputs, weights) in graphs.items():
            nodes.append(helper.make_node(op, names, made, domain=domain, **attributes))
            inputs += [helper.make_tensor_value_info(name, dtype if x.dtype == np.float64 else helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                       for name, x in zip(names, given) if name]
            for name, x in zip(names[len(given):], constants):
                bits = bits_of(x, kind) if x.dtype == np.float64 else x
                if name and x.dtype == np.float64 and dtype == kind:
                    weights.append(tensor(name, bits, kind))
                elif name:
                    weights.append(numpy_helper.from_array(value_of(bits, kind).astype(np.float32) if x.dtype == np.float64 else x, name))
    models = {}
    for dtype, (nodes, inputs, weights) in graphs.items():
        graph = helper.make_graph(nodes, "once", inputs, [helper.make_tensor_value_info(o, dtype, None) for o in outputs], weights)
        models[dtype] = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    right = theirs(models[T.FLOAT], f32, T.FLOAT)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(models[kind], path)
        for level in LEVELS[:2]:
            at = os.path.join(folder, "out" + level)
            familyseer("compile", path, "-o", at, level)
            library = fs.Model(at, threads=2)
            got = dict(zip([o.name for o in library.outputs], library(*[feeds[i.name] for i in library.inputs])))
            wrong = []
            for name in outputs:
                e = error(np.asarray(got[name]).reshape(right[name].shape), right[name].astype(np.float64), kind)
                if not e <= 2 * unit:
                    wrong.append(f"{name}: {e / unit:.2f} roundings")
            assert not wrong, f"{label} {level}: " + ", ".join(wrong)
            print(f"{label} {level}: {len(outputs)} operators rounded once", flush=True)


def statistics(dtype):
    """Mean and inverse deviation are f32, whatever is normalised."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = (np.random.default_rng(2).standard_normal((4, 300)) * 30 + 50).astype(dtype)
    outputs = [("y", kind, [4, 300]), ("mean", T.FLOAT, [4, 1]), ("scale", T.FLOAT, [4, 1])]
    graph = helper.make_graph([helper.make_node("LayerNormalization", ["x", "g"], [o[0] for o in outputs])], "statistics",
                              [helper.make_tensor_value_info("x", kind, x.shape)], [helper.make_tensor_value_info(*o) for o in outputs],
                              [numpy_helper.from_array(np.ones(300, dtype), "g")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    want = theirs(model, {"x": x}, T.FLOAT16)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, os.path.join(folder, "m.onnx"))
        familyseer("compile", os.path.join(folder, "m.onnx"), "-o", folder, "-O1")
        library = fs.Model(folder, threads=1)
        for o, y in zip(library.outputs, library(x)):
            assert o.dtype == want[o.name].dtype, (o, want[o.name].dtype)
            np.testing.assert_allclose(np.asarray(y, np.float64), want[o.name].astype(np.float64), rtol=1e-6 if o.dtype == np.float32 else 1e-3, atol=1e-3)


# ---- bits of every kind

def casts(name):
    """Every pattern of a float's upper bits, with lower ones that round it up, down, to even and, of a NaN, beyond its end: to the narrow
    type and back, stored in between and not. NaN stays NaN."""
    kind = KINDS[name][0]
    lower = np.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    x = (np.arange(1 << 16, dtype=np.uint32)[:, None] << 16 | lower).view(np.float32)
    nodes = [helper.make_node("Cast", ["x"], ["narrow"], to=kind), helper.make_node("Cast", ["narrow"], ["y"], to=T.FLOAT)]
    for outputs in (["y"], ["y", "narrow"]):
        values = [helper.make_tensor_value_info(o, T.FLOAT if o == "y" else kind, x.shape) for o in outputs]
        graph = helper.make_graph(nodes, "casts", [helper.make_tensor_value_info("x", T.FLOAT, x.shape)], values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        with np.errstate(over="ignore"):  # infinite, as in the narrow type
            want = value_of(bits_of(np.where(np.isnan(x), 0, x), kind), kind)
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, os.path.join(folder, "m.onnx"))
            for level in LEVELS:
                familyseer("compile", os.path.join(folder, "m.onnx"), "-o", folder, level)
                library = fs.Model(folder, threads=1)
                found = library(x)
                y = np.asarray(found if len(outputs) == 1 else found[0])
                off = np.where(np.isnan(x), ~np.isnan(y), y != want)
                assert not off.any(), f"{outputs} {level}: {off.sum()} differ, first {x[off][:3].view(np.uint32)} gives {y[off][:3]}"


run_tests([(name, lambda name=name: check(name)) for name in KINDS]
          + [(f"casts.{name}", lambda name=name: casts(name)) for name in KINDS]
          + [(f"{name} rounded once", lambda name=name: rounded_once(name, many, 20)) for name in KINDS]
          + [(f"{name} of old operators rounded once", lambda name=name: rounded_once(name, gone, 9)) for name in KINDS]
          + [(f"{name} of newer operators rounded once", lambda name=name: rounded_once(name, newest, 27)) for name in KINDS]
          + [(f"statistics of {np.dtype(t).name}", lambda t=t: statistics(t)) for t in (np.float16, np.float32, np.float64)])
