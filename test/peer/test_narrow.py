"""How exact half precision is: products, convolutions, sums and normalisations of f16 and bf16 over 16 to 65,536 elements.
The error against f64 is at most twice that of ONNX Runtime, at both levels and under random schedules. SEER_TEST: timeout=300"""
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

from peer import FULL, familyseer, run_tests  # noqa: E402

LENGTHS = [16, 250, 4096, 65536]
KINDS = {"f16": (T.FLOAT16, 2.0**-11), "bf16": (T.BFLOAT16, 2.0**-9)}  # the type, and what rounding to it may take off
LEVELS = ["-O0", "-O1"] + [f"--random-schedules={seed}" for seed in range(1, 7 if FULL else 3)]
EPSILON = 1e-5


# ---- numbers of the type, as bits and as f64

def bits_of(x, kind):
    if kind == T.FLOAT16:
        return x.astype(np.float16)
    f = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((f + 0x7FFF + ((f >> 16) & 1)) >> 16).astype(np.uint16)


def value_of(bits, kind):
    if kind == T.FLOAT16:
        return bits.astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


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
    return {n: y if kind == T.FLOAT16 else bits_of(y, kind) for n, y in zip(names, session.run(None, feeds))}


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


run_tests([(name, lambda name=name: check(name)) for name in KINDS])
