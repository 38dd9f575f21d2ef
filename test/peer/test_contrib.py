"""Operators of com.microsoft that exporters and ONNX Runtime's optimiser write, against ONNX Runtime. SEER_TEST: timeout=300"""
import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from nodes import Nodes, refused
from peer import check_model, reference, run_tests

# Weights of i8 are below 64: ONNX Runtime's products of u8 and i8 saturate where a machine has no instruction for them.
F, U, I32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT32
rng = np.random.default_rng(7)


def weight(name, *shape, dtype=np.float32, low=0, high=256):
    data = rng.standard_normal(shape) if dtype == np.float32 else rng.integers(low, high, shape)
    return numpy_helper.from_array(np.asarray(data, dtype), name)


def scalar(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.array(value, dtype), name)


def single(op, inputs, constants=(), order=None, domain="com.microsoft", out=F, rtol=None, feeds=None, more=None, **attrs):
    """One node. inputs: name -> (type, shape); more: outputs after the first, name -> type ("" for one that is left out)."""
    order = order or [*inputs, *(c.name for c in constants)]
    outs = {"y": out, **(more or {})}
    node = helper.make_node(op, order, list(outs), domain=domain, **attrs)
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info(n, k, s) for n, (k, s) in inputs.items()],
                              [helper.make_tensor_value_info(n, k, None) for n, k in outs.items() if n], list(constants))
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("com.microsoft", 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    given = {n: (rng.standard_normal(s).astype(np.float32) if k == F else
                 rng.integers(0, 256, s).astype(np.uint8) if k == U else np.ones(s, np.int32)) for n, (k, s) in inputs.items()}
    given.update(feeds or {})
    check_model(op, model, given, threads=(2,), rtol=rtol or (0 if out == U else 1e-4), check=False,
                discriminate=I32 not in outs.values())


def attention(mask=None, past=0, bias=None, tokens=5, present=False, **attrs):
    """Attention of two heads; mask: the operand's value."""
    total = tokens + past
    inputs, feeds = {"x": (F, [2, tokens, 8])}, {}
    if mask is not None:
        feeds["mask"] = np.asarray(mask, np.int32)
        inputs["mask"] = (I32, feeds["mask"].shape)
    if past:
        inputs["past"] = (F, [2, 2, 2, past, 4])
    if bias:
        inputs["bias"] = (F, [*bias, tokens, total])
    order = ["x", "w", "b", *(n if n in inputs else "" for n in ("mask", "past", "bias"))]
    while not order[-1]:
        order.pop()
    single("Attention", inputs, [weight("w", 8, 24), weight("b", 24)], order=order, feeds=feeds,
           more={"present": F} if present else None, num_heads=2, **attrs)


def multi_head(inputs, order, constants=(), more=None, **attrs):
    single("MultiHeadAttention", inputs, list(constants), order=order, more=more, num_heads=2, **attrs)


def embed(mask=False, positions=False, segments=True, more=None):
    inputs = {"ids": (I32, [2, 5])}
    feeds = {"ids": rng.integers(0, 11, (2, 5)).astype(np.int32)}
    for name, wanted, data in (("seg", segments, rng.integers(0, 2, (2, 5))), ("mask", mask, MASK),
                               ("pos", positions, rng.integers(0, 9, (2, 5)))):
        if wanted:
            inputs[name], feeds[name] = (I32, [2, 5]), data.astype(np.int32)
    tables = [weight("words", 11, 8), weight("places", 9, 8), weight("kinds", 2, 8), weight("g", 8), weight("b", 8)]
    order = ["ids", "seg" if segments else "", "words", "places", "kinds" if segments else "", "g", "b", "mask" if mask else "",
             "pos" if positions else ""]
    while not order[-1]:
        order.pop()
    single("EmbedLayerNormalization", inputs, [t for t in tables if t.name in order], order=order, feeds=feeds, more=more)


def lstm(per_gate, directions):
    """Both sides round the weights alike; ONNX Runtime also rounds inputs and states to 8 bits."""
    hidden, shape = 6, [directions, 24] if per_gate else [directions]
    weights = [weight("w", directions, 5, 4 * hidden, dtype=np.int8, low=-60, high=60),
               weight("r", directions, hidden, 4 * hidden, dtype=np.int8, low=-60, high=60), weight("b", directions, 8 * hidden)]
    scales = [numpy_helper.from_array(rng.uniform(0.008, 0.016, shape).astype(np.float32), n) for n in ("ws", "rs")]
    zeros = [numpy_helper.from_array(np.zeros(shape, np.int8), n) for n in ("wz", "rz")]
    order = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    single("DynamicQuantizeLSTM", {"x": (F, [7, 3, 5])}, weights + scales + zeros, order=order, rtol=2e-2, more={"h": F, "c": F},
           hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward")


def qgemm(trans_b, quantised, bias=True, per_column=False):
    n = [6] if per_column else []
    b = weight("b", *([6, 8] if trans_b else [8, 6]), dtype=np.int8, low=-60, high=60)
    constants = [b, scalar("sa", 0.02), scalar("za", 121, np.uint8),
                 numpy_helper.from_array(rng.uniform(0.005, 0.01, n).astype(np.float32), "sb"),
                 numpy_helper.from_array(np.zeros(n, np.int8), "zb")]
    if bias:
        constants.append(weight("c", 6, dtype=np.int32, low=-9000, high=9000))
    order = ["a", "sa", "za", "b", "sb", "zb", "c" if bias else ""]
    if quantised:
        constants += [scalar("sy", 0.05), scalar("zy", 130, np.uint8)]
        order += ["sy", "zy"]
    single("QGemm", {"a": (U, [5, 8])}, constants, order=order, out=U if quantised else F,
           transB=trans_b, alpha=0.5)


def matmul_flags():
    nodes = Nodes(17, ["com.microsoft"])
    for turn_a, turn_b, batch_a, batch_b in itertools.product((0, 1), repeat=4):
        dims = []
        for rows, columns, turned, batch in ((3, 4, turn_a, batch_a), (4, 5, turn_b, batch_b)):
            m, k = (columns, rows) if turned else (rows, columns)
            dims.append([m, 2, k] if batch else [2, m, k])
        a, b = (rng.standard_normal(d).astype(np.float32) for d in dims)
        nodes.add("FusedMatMul", a, b, domain="com.microsoft", transA=turn_a, transB=turn_b, transBatchA=batch_a, transBatchB=batch_b, alpha=0.5)
    x = rng.standard_normal((3, 2, 5, 4)).astype(np.float32)
    nodes.add("FusedMatMul", x, rng.standard_normal((2, 5, 4, 6)).astype(np.float32), domain="com.microsoft", transBatchA=1)
    nodes.check()
    refused("must have rank 3", 17, "FusedMatMul", x[0, 0], x[0, 0], domain="com.microsoft", transBatchA=1)


def activations():
    """As its own operator and of the values that the product has."""
    nodes = Nodes(17, ["com.microsoft"])
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((2, 4, 7, 6), (6, 2, 3, 3), (6,)))
    z = rng.standard_normal((2, 6, 4, 3)).astype(np.float32)
    for name, params in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.3, 0.4])):
        attrs = {"activation_params": params} if params else {}
        for operands in ((x, w, b), (x, w), (x, w, b, z), (x, w, None, z)):
            nodes.add("FusedConv", *operands, domain="com.microsoft", activation=name, group=2, pads=[1] * 4, strides=[2, 2], **attrs)
    a, c, d = (rng.standard_normal(s).astype(np.float32) for s in ((5, 7), (4, 7), (4,)))
    for name, params in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Elu", [0.7]), ("HardSigmoid", [0.3, 0.4]), ("Softplus", []),
                         ("Softsign", []), ("ThresholdedRelu", [0.5])):
        attrs = dict(zip(("activation_alpha", "activation_beta"), params))
        nodes.add("FusedGemm", a, c, d, domain="com.microsoft", activation=name, transB=1, alpha=0.5, beta=2.0, **attrs)
    nodes.check(atol=2e-5)
    refused("'activation' is 'Sine', must be one of", 17, "FusedConv", x, w, domain="com.microsoft", group=2, activation="Sine")
    refused("without its two bounds", 17, "FusedConv", x, w, domain="com.microsoft", group=2, activation="Clip")


def rotary():
    nodes = Nodes(17, ["com.microsoft"])
    for tokens, heads, d, width in ((5, 2, 8, 8), (1, 3, 4, 4), (7, 2, 12, 8)):
        angles = rng.uniform(-3, 3, (16, width // 2))
        tables = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        each, first = rng.integers(0, 16, (2, tokens)), np.array([3])
        joint, split = (rng.standard_normal(s).astype(np.float32) for s in ((2, tokens, heads * d), (2, heads, tokens, d)))
        part = {} if width == d else {"rotary_embedding_dim": width, "num_heads": heads}
        for interleaved, at in itertools.product((0, 1), (each, first)):
            nodes.add("RotaryEmbedding", joint, at, *tables, constants=(2, 3), domain="com.microsoft", interleaved=interleaved, **part)
            nodes.add("RotaryEmbedding", split, at, *tables, domain="com.microsoft", interleaved=interleaved, **part)
    nodes.check()
    refused("no heads of 8", 17, "RotaryEmbedding", joint[:, :, :21], each, tables[0], tables[1], domain="com.microsoft")
    refused("must be i64[1] or i64[2,7]", 17, "RotaryEmbedding", joint[:, :, :16], each[:, :3], *tables, domain="com.microsoft")
    refused("'rotary_embedding_dim' is 6", 17, "RotaryEmbedding", joint, each, *tables, domain="com.microsoft", num_heads=2, rotary_embedding_dim=6)


def group_query():
    """All tokens new; one after others, as many for each of a batch or not; room for more; several after others."""
    heads, groups, d = 4, 2, 16
    tables = [f(rng.uniform(-3, 3, (32, d // 2))).astype(np.float32) for f in (np.cos, np.sin)]

    def some(*shape):
        return rng.standard_normal(shape).astype(np.float32)
    for batch, n, before, total, last in ((2, 5, 0, 5, [4, 4]), (2, 5, 16, 5, [4, 4]), (2, 1, 6, 7, [6, 6]), (2, 1, 6, 7, [6, 3]), (2, 1, 16, 7, [6, 3]),
                                          (1, 3, 6, 9, [8]), (1, 3, 16, 9, [8]), (1, 1, 0, 1, [0])):
        nodes = Nodes(17, ["com.microsoft"])
        q, k, v, packed = some(batch, n, heads * d), some(batch, n, groups * d), some(batch, n, groups * d), some(batch, n, (heads + 2 * groups) * d)
        past = [some(batch, groups, before, d) for _ in range(2)] if before else [None, None]
        rest = [np.array(last, np.int32), np.array(total, np.int32)]

        def add(*operands, **attrs):
            nodes.add("GroupQueryAttention", *operands, outputs=3, constants=(6,), domain="com.microsoft", num_heads=heads, kv_num_heads=groups, **attrs)
        add(q, k, v, *past, *rest)
        add(q, k, v, *past, *rest, scale=0.4, local_window_size=3)
        add(q, k, v, *past, *rest, *tables, do_rotary=1, softcap=2.0)
        add(packed, None, None, *past, *rest, *tables, do_rotary=1, rotary_interleaved=1)
        add(q, k, v, *past, *rest, None, None, None, some(1, heads, n, total))
        add(q, k, v, *past, *rest, smooth_softmax=1)
        add(q, k, v, *past, *rest, None, None, None, None, some(heads), local_window_size=3)
        nodes.check(atol=2e-5)
    operands = [q, k, v, None, None, *rest]
    named = {"constants": (6,), "domain": "com.microsoft", "outputs": 3}
    refused("the second must divide the first", 17, "GroupQueryAttention", *operands, num_heads=4, kv_num_heads=3, **named)
    refused("attribute 'causal' is 0", 17, "GroupQueryAttention", *operands, num_heads=4, kv_num_heads=2, causal=0, **named)
    refused("input 12 (k_scale) is given", 17, "GroupQueryAttention", *operands, *[None] * 5, q[0, 0, :1], num_heads=4, kv_num_heads=2, **named)
    refused("input 11 is", 17, "GroupQueryAttention", *operands, *[None] * 4, some(3), num_heads=4, kv_num_heads=2, **named)
    refused("have room for 2 tokens", 17, "GroupQueryAttention", some(1, 3, heads * d), some(1, 3, groups * d), some(1, 3, groups * d),
            some(1, groups, 2, d), some(1, groups, 2, d), *rest, num_heads=4, kv_num_heads=2, domain="com.microsoft", outputs=3)
    refused("input 1 is", 17, "GroupQueryAttention", q, k[:, :, 1:], v, *operands[3:], num_heads=4, kv_num_heads=2, **named)
    refused("inputs 1 and 2, 3 and 4) go together", 17, "GroupQueryAttention", q, k, None, *operands[3:], num_heads=4, kv_num_heads=2, **named)


def group_query_open():
    """total_sequence_length is data: a prompt, padded ones, one token, several; and heads that are normalised first, which ONNX Runtime
    has on GPUs alone: by its operators for that."""
    heads, groups, d, room = 4, 2, 16, 16
    tables = [f(rng.uniform(-3, 3, (32, d // 2))).astype(np.float32) for f in (np.cos, np.sin)]

    def some(*shape):
        return rng.standard_normal(shape).astype(np.float32)
    for batch, n, total, last in ((2, 5, 5, [4, 4]), (2, 5, 5, [4, 2]), (2, 1, 7, [6, 3]), (1, 3, 9, [8]), (1, 1, 16, [15]), (1, 1, 1, [0])):
        nodes = Nodes(17, ["com.microsoft"])
        operands = [some(batch, n, (heads + 2 * groups) * d), None, None, *(some(batch, groups, room, d) for _ in range(2)),
                    np.array(last, np.int32), np.array(total, np.int32), *tables]
        for more in ({}, {"local_window_size": 4}, {"smooth_softmax": 1, "scale": 0.5}):
            out = nodes.add("GroupQueryAttention", *operands, outputs=3, domain="com.microsoft", num_heads=heads, kv_num_heads=groups, do_rotary=1, **more)
            if total == n and min(last) < n - 1:
                nodes.label.pop(out)  # what rows of padding become is nobody's concern, and not the same for all
        nodes.check(atol=2e-5)
    q, k, v, weights = some(2, 3, heads, d), some(2, 3, groups, d), some(2, 3, groups * d), [some(d), some(d)]
    rest = [np.array([2, 2], np.int32), np.array(3, np.int32)]
    apart = Nodes(17, ["com.microsoft"])
    normed = [apart.add("SimplifiedLayerNormalization", x, w, axis=-1, epsilon=1e-3) for x, w in zip((q, k), weights)]
    rows = [apart.add("Reshape", x, np.array([2, 3, -1]), constants=(1,)) for x in normed]
    apart.add("GroupQueryAttention", *rows, v, None, None, *rest, outputs=3, domain="com.microsoft", num_heads=heads, kv_num_heads=groups)
    want = [x for name, x in reference(apart.model(), apart.feeds).items() if name.startswith("y4")]
    nodes = Nodes(17, ["com.microsoft"])
    nodes.add("GroupQueryAttention", q.reshape(2, 3, -1), k.reshape(2, 3, -1), v, None, None, *rest, *[None] * 7, *weights, outputs=3, constants=(6,),
              domain="com.microsoft", num_heads=heads, kv_num_heads=groups, qk_norm_epsilon=1e-3, want=want)
    nodes.check(atol=2e-5)


def quantise():
    """Types that ONNX's own got later, and scales per channel."""
    nodes = Nodes(17, ["com.microsoft"])
    x, scales = rng.standard_normal((3, 4, 5)).astype(np.float32) * 4, rng.uniform(0.01, 0.1, 4).astype(np.float32)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        zero = np.array(7, dtype)
        q = nodes.add("QuantizeLinear", x, np.float32(0.03), zero, constants=(1, 2), domain="com.microsoft")
        nodes.add("DequantizeLinear", q, np.float32(0.03), zero, constants=(1, 2), domain="com.microsoft")
        q = nodes.add("QuantizeLinear", x, scales, np.full(4, 3, dtype), constants=(1, 2), domain="com.microsoft", axis=1)
        nodes.add("DequantizeLinear", q, scales, np.full(4, 3, dtype), constants=(1, 2), domain="com.microsoft", axis=1)
    nodes.check()


X = {"x": (F, [2, 5, 8])}
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
QUANT = [scalar("s", 0.02), scalar("z", 128, np.uint8)]
PAIR = {"a": (U, [2, 3, 4]), "b": (U, [2, 3, 4])}
IMAGE = {"x": (U, [1, 6, 6, 4])}
TWO = ["a", "s", "z", "b", "s", "z", "t", "z"]

run_tests([
    ("FusedMatMul flags", matmul_flags),
    ("activations", activations),
    ("quantise", quantise),
    ("RotaryEmbedding", rotary),
    ("GroupQueryAttention", group_query),
    ("GroupQueryAttention of lengths that are data", group_query_open),
    ("FusedMatMul", lambda: single("FusedMatMul", {"a": (F, [2, 4, 3]), "b": (F, [2, 5, 4])}, transA=1, transB=1, alpha=0.5)),
    ("Gelu", lambda: single("Gelu", X)),
    ("BiasGelu", lambda: single("BiasGelu", X, [weight("b", 8)])),
    ("FastGelu", lambda: single("FastGelu", X, [weight("b", 8)])),
    ("QuickGelu", lambda: single("QuickGelu", X, alpha=1.5)),
    ("SkipLayerNormalization", lambda: single("SkipLayerNormalization", {**X, "skip": (F, [2, 5, 8])},
                                              [weight("g", 8), weight("b", 8), weight("c", 8)])),
    ("SkipSimplifiedLayerNormalization", lambda: single("SkipSimplifiedLayerNormalization", {**X, "skip": (F, [2, 5, 8])}, [weight("g", 8)])),
    ("SimplifiedLayerNormalization", lambda: single("SimplifiedLayerNormalization", X, [weight("g", 8)], domain="", axis=-1)),
    ("Attention", lambda: single("Attention", {**X, "mask": (I32, [2, 5])}, [weight("w", 8, 24), weight("b", 24)],
                                 order=["x", "w", "b", "mask"], feeds={"mask": MASK}, num_heads=2)),
    ("Attention causal", lambda: single("Attention", X, [weight("w", 8, 24), weight("b", 24)], num_heads=2, unidirectional=1)),
    # Scores beyond 1e4: what hides a token must be below them.
    ("Attention causal, large", lambda: single("Attention", X, [weight("w", 8, 24), weight("b", 24)], num_heads=2, unidirectional=1,
                                               scale=3e4, feeds={"x": rng.standard_normal((2, 5, 8)).astype(np.float32)})),
    ("MultiHeadAttention", lambda: single("MultiHeadAttention", {"q": (F, [2, 5, 8]), "k": (F, [2, 7, 8]), "v": (F, [2, 7, 8])},
                                          [weight("b", 24)], num_heads=2)),
    ("Attention ends", lambda: attention([5, 3])),
    ("Attention ends and starts", lambda: attention([5, 4, 0, 2])),
    ("Attention full mask", lambda: attention(rng.integers(0, 2, (2, 5, 5)) | np.eye(5, dtype=int))),
    ("Attention bias", lambda: attention(bias=[1, 2])),
    ("Attention first present", lambda: attention(present=True, unidirectional=1)),
    ("Attention past", lambda: attention(past=3, present=True, unidirectional=1)),
    ("Attention past, one token", lambda: attention(np.ones((2, 7)), past=6, tokens=1, present=True, unidirectional=1)),
    ("Attention past, ends", lambda: attention([8, 4], past=3, present=True)),
    ("Attention widths", lambda: single("Attention", X, [weight("w", 8, 28), weight("b", 28)], num_heads=2, qkv_hidden_sizes=[8, 8, 12])),
    ("MultiHeadAttention past", lambda: multi_head(
        {"q": (F, [2, 2, 8]), "k": (F, [2, 2, 8]), "v": (F, [2, 2, 8]), "n": (F, [1, 2, 2, 5]), "pk": (F, [2, 2, 3, 4]), "pv": (F, [2, 2, 3, 4])},
        ["q", "k", "v", "b", "", "n", "pk", "pv"], [weight("b", 24)], more={"nk": F, "nv": F}, unidirectional=1)),
    ("MultiHeadAttention cross", lambda: multi_head({"q": (F, [2, 5, 8]), "k": (F, [2, 2, 7, 4]), "v": (F, [2, 2, 7, 4])}, ["q", "k", "v"])),
    ("EmbedLayerNormalization", lambda: embed(more={"m": I32})),
    ("EmbedLayerNormalization all", lambda: embed(mask=True, positions=True, more={"m": I32, "sum": F})),
    ("EmbedLayerNormalization no segments", lambda: embed(segments=False, more={"m": I32})),
    ("MatMulIntegerToFloat", lambda: single("MatMulIntegerToFloat", {"a": (U, [2, 3, 8])}, [
        weight("w", 8, 6, dtype=np.int8, low=-60, high=60), scalar("sa", 0.02), weight("sb", 6), scalar("za", 130, np.uint8),
        weight("zb", 6, dtype=np.int8, low=-9, high=9), weight("c", 6)], order=["a", "w", "sa", "sb", "za", "zb", "c"])),
    ("MatMulIntegerToFloat plain", lambda: single("MatMulIntegerToFloat", {"a": (U, [3, 8])}, [
        weight("w", 8, 6, dtype=np.uint8), scalar("sa", 0.02), scalar("sb", 0.03)])),
    ("QGemm", lambda: qgemm(0, True)),
    ("QGemm transposed", lambda: qgemm(1, True, per_column=True)),
    ("QGemm to float", lambda: qgemm(0, False, bias=False, per_column=True)),
    ("DynamicQuantizeLSTM", lambda: lstm(False, 1)),
    ("DynamicQuantizeLSTM both ways", lambda: lstm(True, 2)),
    ("QLinearLeakyRelu", lambda: single("QLinearLeakyRelu", {"a": (U, [2, 9])}, QUANT + [scalar("t", 0.01)],
                                        order=["a", "s", "z", "t", "z"], out=U, alpha=0.3)),
    ("QLinearSoftmax", lambda: single("QLinearSoftmax", {"a": (U, [2, 3, 9])}, QUANT + [scalar("t", 1 / 256), scalar("zero", 0, np.uint8)],
                                      order=["a", "s", "z", "t", "zero"], out=U, axis=1, opset=13)),
    ("QLinearSoftmax of old", lambda: single("QLinearSoftmax", {"a": (U, [2, 3, 4])}, QUANT + [scalar("t", 1 / 256), scalar("zero", 0, np.uint8)],
                                             order=["a", "s", "z", "t", "zero"], out=U, axis=1, opset=12)),
    ("QLinearConcat", lambda: single("QLinearConcat", PAIR, QUANT + [scalar("t", 0.04), scalar("p", 100, np.uint8)],
                                     order=["t", "z", "a", "s", "z", "b", "t", "p"], out=U, axis=1)),
    ("QLinearAveragePool", lambda: single("QLinearAveragePool", IMAGE, QUANT, order=["x", "s", "z", "s", "z"], out=U,
                                          kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])),
    ("QLinearAveragePool last", lambda: single("QLinearAveragePool", IMAGE, QUANT, order=["x", "s", "z", "s", "z"], out=U,
                                               kernel_shape=[2, 2], channels_last=1, count_include_pad=1, pads=[1, 1, 1, 1])),
    ("DynamicQuantizeMatMul", lambda: single("DynamicQuantizeMatMul", {"x": (F, [3, 8])},
                                             [weight("w", 8, 6, dtype=np.uint8), scalar("s", 0.01), scalar("z", 120, np.uint8), weight("b", 6)])),
    ("QLinearAdd", lambda: single("QLinearAdd", PAIR, QUANT + [scalar("t", 0.04)], order=TWO, out=U)),
    ("QLinearMul", lambda: single("QLinearMul", PAIR, QUANT + [scalar("t", 0.06)], order=TWO, out=U)),
    ("QLinearSigmoid", lambda: single("QLinearSigmoid", {"a": (U, [2, 9])}, QUANT + [scalar("t", 1 / 256), scalar("zero", 0, np.uint8)],
                                      order=["a", "s", "z", "t", "zero"], out=U)),
    ("QLinearGlobalAveragePool", lambda: single("QLinearGlobalAveragePool", IMAGE, QUANT, order=["x", "s", "z", "s", "z"], out=U, channels_last=1)),
    ("NhwcMaxPool", lambda: single("NhwcMaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], out=U)),
])
