"""ONNX's operators of attention and of what decoders keep between tokens, against ONNX Runtime, and against their definitions in f64 where
it lacks a form or computes another one. SEER_TEST: timeout=600"""
import itertools

import numpy as np

from nodes import Nodes, refused
from peer import run_tests, schedules

rng = np.random.default_rng(11)
LEVELS = schedules()


def some(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def masks(batch, heads, n, total, dtype=np.float32, shorter=()):
    """What broadcasts to the scores, of truth values and numbers; with rows that hide all keys. shorter: by how many keys."""
    for shape in ([n, total], [heads, n, total], [batch, 1, n, total], [1, heads, 1, total], [total], *([heads, n, total - s] for s in shorter)):
        allowed = rng.random(shape) < 0.7
        yield allowed
        yield np.where(allowed, some(*shape), -np.inf).astype(dtype)
    none = np.ones([n, total], bool)
    none[n // 2] = False
    yield none
    yield np.where(none, 0, -np.inf).astype(dtype)


def attended(q, k, v, mask=None, past=None, cached=None, scale=None, cap=0.0, causal=False, left=-1, right=-1):
    """The definition, of heads: the answer, present keys and values, and what qk_matmul_output is by its mode."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    n, before = q.shape[2], 0 if past is None else past[0].shape[2]
    if past is not None:
        k, v = (np.concatenate([p.astype(np.float64), x], 2) for p, x in zip(past, (k, v)))
    present, total = (k, v), k.shape[2]
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scaled = q @ k.swapaxes(2, 3) * (1 / np.sqrt(q.shape[3]) if scale is None else scale)
    capped = cap * np.tanh(scaled / cap) if cap else scaled
    offset = np.array([[[[before]]]]) if cached is None else cached.reshape(-1, 1, 1, 1) - n
    place, key = offset + np.arange(n).reshape(1, 1, n, 1), np.arange(total).reshape(1, 1, 1, total)
    seen = np.ones_like(place + key, bool)
    if causal:
        seen &= key <= place
    if left >= 0:
        seen &= key >= place - left
    if right >= 0:
        seen &= key <= place + right
    if cached is not None:
        seen &= key < cached.reshape(-1, 1, 1, 1)
    bias = np.where(seen, 0.0, -np.inf)
    if mask is not None:
        given = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask.astype(np.float64)
        bias = bias + np.pad(given, [(0, 0)] * (given.ndim - 1) + [(0, total - given.shape[-1])], constant_values=-np.inf)
    biased = capped + bias
    blind = np.broadcast_to(bias.max(-1, keepdims=True) == -np.inf, biased.shape[:3] + (1,))
    with np.errstate(all="ignore"):
        p = np.exp(biased - biased.max(-1, keepdims=True))
        p = np.where(blind, 0, p / p.sum(-1, keepdims=True))
    return p @ v, *present, (scaled, capped, biased, p)


def packed(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def forms():
    """Heads as dimensions or packed, several of queries to one of keys, masks of all shapes, with what is before."""
    batch, groups, per, n, new, d, dv = 2, 2, 3, 4, 6, 8, 5
    q, k, v = some(batch, groups * per, n, d), some(batch, groups, new, d), some(batch, groups, new, dv)
    heads = {"q_num_heads": groups * per, "kv_num_heads": groups}
    nodes = Nodes(24)
    for before in (0, 3):
        past = [some(batch, groups, before, w) for w in (d, dv)] if before else [None, None]
        outputs = 3 if before else 1
        for causal, extra in itertools.product((0, 1), ({}, {"scale": 0.3, "softcap": 2.0})):
            nodes.add("Attention", q, k, v, None, *past, outputs=outputs, is_causal=causal, **extra)
            nodes.add("Attention", packed(q), packed(k), packed(v), None, *past, outputs=outputs, is_causal=causal, **heads, **extra)
        for mask, causal in itertools.product(masks(batch, groups * per, n, new + before), (0, 1)):
            if mask.ndim > 1 and mask.shape[-2] == n:  # as ONNX Runtime wants it
                nodes.add("Attention", q, k, v, mask, *past, outputs=outputs, is_causal=causal)
    nodes.check(LEVELS, atol=2e-5)


def definition():
    """What is made on the way in all four modes; windows; a cache whose length is data; by the definition."""
    batch, groups, per, n, new, d, dv = 2, 2, 2, 4, 7, 8, 3
    q, k, v = some(batch, groups * per, n, d), some(batch, groups, new, d), some(batch, groups, new, dv)
    past = [some(batch, groups, 3, w) for w in (d, dv)]
    cached = np.array([5, 2])  # fewer than queries: some see no key
    nodes = Nodes(25)
    for mask in (None, *masks(batch, groups * per, n, new, shorter=(2, new - 1))):
        for mode, causal in itertools.product(range(4), (0, 1)):
            y, *_, made = attended(q, k, v, mask, scale=0.2, cap=1.5, causal=causal)
            nodes.add("Attention", q, k, v, mask, outputs=[True, False, False, True], qk_matmul_output_mode=mode, is_causal=causal,
                      scale=0.2, softcap=1.5, want=(y.astype(np.float32), None, None, made[mode].astype(np.float32)))
    for left, right, causal in itertools.product((-1, 0, 2), (-1, 0, 1), (0, 1)):
        given = {"left_window_size": left, "right_window_size": right, "is_causal": causal}
        for before, length in ((None, None), (past, None), (None, cached)):
            y, key, value, _ = attended(q, k, v, None, before, length, causal=causal, left=left, right=right)
            operands = (None, *(before or (None, None)), length)
            nodes.add("Attention", q, k, v, *operands, outputs=3, want=[x.astype(np.float32) for x in (y, key, value)], **given)
    y, *_ = attended(q, k, v, masked := rng.random((n, new)) < 0.6, None, cached, causal=True)
    nodes.add("Attention", q, k, v, masked, None, None, cached, is_causal=1, want=[y.astype(np.float32)])
    nodes.add("Attention", q, k, v, masked, None, None, cached, constants=(3, 6), is_causal=1, want=[y.astype(np.float32)])
    nodes.check(LEVELS, atol=2e-5)


def types():
    """f16, f64, values of another type than keys, softmax in another type."""
    shapes = (2, 4, 3, 8), (2, 2, 6, 8), (2, 2, 6, 5)
    for dtype, tolerance in ((np.float16, 1e-3), (np.float64, 1e-12)):
        nodes = Nodes(23)
        x = [some(*s, dtype=dtype) for s in shapes]
        mask = some(3, 6, dtype=dtype)
        for causal, cap in itertools.product((0, 1), (0.0, 2.0)):
            y, key, value, made = attended(*x, mask, cap=cap, causal=causal)
            nodes.add("Attention", *x, mask, outputs=4, is_causal=causal, softcap=cap, qk_matmul_output_mode=3,
                      want=[a.astype(dtype) for a in (y, key, value, made[3])])
        nodes.check(LEVELS, rtol=tolerance, atol=tolerance)
    q, k, v = [some(*s) for s in shapes]
    y, key, value, _ = attended(q, k, v.astype(np.float16))
    nodes = Nodes(23)
    nodes.add("Attention", q, k, v.astype(np.float16), outputs=3, want=[y.astype(np.float32), key.astype(np.float32), value.astype(np.float16)])
    nodes.check(LEVELS)
    for precision, tolerance in ((1, 1e-5), (10, 2e-3), (11, 1e-5), (16, 2e-2)):
        nodes = Nodes(23)
        nodes.add("Attention", q, k, v, softmax_precision=precision, want=[attended(q, k, v)[0].astype(np.float32)])
        nodes.check(LEVELS, rtol=tolerance, atol=tolerance)


def refusals():
    q, k, v, mask = some(2, 4, 3, 8), some(2, 2, 6, 8), some(2, 2, 6, 5), some(3, 6)
    past, lengths = [some(2, 2, 3, 8), some(2, 2, 3, 5)], np.array([3, 4])
    for part, operands, given in (
            ("must be [batch, heads, tokens, d]", (q, some(2, 3, 6, 8), some(2, 3, 6, 5)), {}),
            ("with both attributes", (packed(q), packed(k), packed(v)), {"q_num_heads": 4}),
            ("'q_num_heads' and 'kv_num_heads' 3", (q, k, v), {"q_num_heads": 3}),
            ("inputs 0 and 1 are f32 and f16", (q, k.astype(np.float16), v), {}),
            ("past keys and values) go together", (q, k, v, None, past[0]), {}),
            ("must be f32[2,2, tokens, 5]", (q, k, v, None, past[0], past[0]), {}),
            ("there are past keys", (q, k, v, None, *past, lengths), {}),
            ("(nonpad_kv_seqlen) is i64[3], must be i64[2]", (q, k, v, None, None, None, np.array([1, 2, 3])), {}),
            ("must broadcast to [2,4,3,6]", (q, k, v, mask[:2]), {}),
            ("with at most as many keys", (q, k, v, some(3, 7)), {}),
            ("'scale' is -1", (q, k, v), {"scale": -1.0}),
            ("'qk_matmul_output_mode' is 4", (q, k, v), {"qk_matmul_output_mode": 4}),
            ("'softmax_precision' is 7", (q, k, v), {"softmax_precision": 7}),
            ("'left_window_size' is -2", (q, k, v), {"left_window_size": -2})):
        refused(part, 25, "Attention", *operands, **given)


def rotary():
    nodes = Nodes(23)
    for tokens, heads, d, width in ((5, 2, 8, 8), (1, 3, 4, 4), (7, 2, 12, 8)):
        at, angles = rng.integers(0, 16, (2, tokens)), rng.uniform(-3, 3, (16, width // 2))
        by_place = [f(angles).astype(np.float32) for f in (np.cos, np.sin)]
        by_token = [t[at] for t in by_place]
        x, part = some(2, heads, tokens, d), {} if width == d else {"rotary_embedding_dim": width}
        for interleaved, operands in itertools.product((0, 1), ((*by_place, at), by_token)):
            nodes.add("RotaryEmbedding", x, *operands, interleaved=interleaved, **part)
            nodes.add("RotaryEmbedding", packed(x), *operands, interleaved=interleaved, num_heads=heads, **part)
    nodes.check(LEVELS)
    refused("'num_heads' 0, must be at least 1", 23, "RotaryEmbedding", packed(x), *by_place, at)
    refused("must both be [batch, tokens, pairs]", 23, "RotaryEmbedding", x, *by_place)
    refused("must be i64[2,7]", 23, "RotaryEmbedding", x, *by_place, at[:, :1])
    refused("heads have 12 numbers", 23, "RotaryEmbedding", x, *by_place, at, rotary_embedding_dim=12)


def scatter():
    nodes = Nodes(24)
    for shape, axis in (([3, 2, 7, 4], None), ([2, 9], 1), ([2, 5, 3], -2), ([2, 3, 4, 5, 6], 3)):
        at = -2 if axis is None else axis
        most = shape[at]
        for n, dtype in itertools.product((1, 3, most), (np.float32, np.int8, np.float16, bool)):
            cache, update = (rng.integers(-9, 9, s).astype(dtype) for s in (shape, [n if k == at % len(shape) else d for k, d in enumerate(shape)]))
            named = {} if axis is None else {"axis": axis}
            nodes.add("TensorScatter", cache, update, **named)
            nodes.add("TensorScatter", cache, update, rng.integers(0, most - n, shape[0], endpoint=True), **named)
            nodes.add("TensorScatter", cache, update, rng.integers(0, 3 * most, shape[0]), mode="circular", **named)
    nodes.check(LEVELS, rtol=0, atol=0)
    refused("axis 0, which may not be 0", 24, "TensorScatter", cache, update, axis=0)
    refused("'mode' is 'ring'", 24, "TensorScatter", cache, update, mode="ring")
    refused("(write_indices) is i64[3]", 24, "TensorScatter", cache, update, np.arange(3), axis=3)


def bit_cast():
    """All bits: of NaN, too, and of halves, which kernels widen."""
    for group in (("float32", "int32", "uint32"), ("float64", "int64", "uint64"), ("float16", "int16", "uint16"), ("int8", "uint8")):
        nodes, bits = Nodes(26), rng.integers(0, 256, (3, 700, np.dtype(group[0]).itemsize)).astype(np.uint8)
        bits[0, :5] = 255  # NaN
        number = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}
        want = {}
        for a, b in itertools.product(group, group):
            x = bits.view(a)[..., 0].copy()
            want[nodes.add("BitCast", x, to=number[b])] = x.view(b)
            want[nodes.add("BitCast", x, constants=(0,), to=number[b])] = x.view(b)
        got = nodes.run()
        for name, w in want.items():
            assert got[name].dtype == w.dtype and got[name].tobytes() == w.tobytes(), f"{nodes.label[name]}: bits differ"
    refused("both must have as many bits", 26, "BitCast", some(3), to=11)
    refused("both must have as many bits", 26, "BitCast", some(3), to=8)


def causal_conv():
    nodes = Nodes(27)
    for length, k, dtype in itertools.product((1, 2, 9), (1, 2, 4), (np.float32,)):
        x, w, b, state = some(2, 5, length), some(5, 1, k), some(5), some(2, 5, k - 1) if k > 1 else None
        for operands in ((x, w), (x, w, b), (x, w, None, state), (x, w, b, state)):
            for activation in ("none", "silu", "swish"):
                nodes.add("CausalConvWithState", *operands, outputs=2, activation=activation)
    nodes.check(LEVELS)
    refused("'activation' is 'relu'", 27, "CausalConvWithState", x, w, activation="relu")
    refused("(past_state) is [2,5,2], must be [2,5,3]", 27, "CausalConvWithState", x, w, b, state[:, :, 1:])


def linear_attention():
    """Tokens that are unrolled, and more, which are a loop; all rules."""
    for tokens, dtype, tolerance in ((1, np.float32, 2e-5), (5, np.float32, 2e-5), (33, np.float32, 1e-4), (33, np.float16, 4e-3)):
        nodes, batch, groups, per, d, dv = Nodes(27), 2, 2, 2, 4, 3

        def rows(width, low=-0.7, high=0.7):
            return rng.uniform(low, high, (batch, tokens, width)).astype(dtype)
        q, k, v, state = rows(groups * per * d), rows(groups * d), rows(groups * dv), rng.uniform(-1, 1, (batch, groups, d, dv)).astype(dtype)
        by_head, by_key, beta, one_beta = rows(groups, -2, 0), rows(groups * d, -2, 0), rows(groups, 0, 1), rows(1, 0, 1)
        heads = {"q_num_heads": groups * per, "kv_num_heads": groups}
        for past in (None, state):
            nodes.add("LinearAttention", q, k, v, past, outputs=2, update_rule="linear", scale=0.3, **heads)
            for decay in (by_head, by_key):
                nodes.add("LinearAttention", q, k, v, past, decay, outputs=2, update_rule="gated", **heads)
                nodes.add("LinearAttention", q, k, v, past, decay, beta, outputs=2, **heads)
            nodes.add("LinearAttention", q, k, v, past, None, one_beta, outputs=2, update_rule="delta", **heads)
        nodes.check(rtol=tolerance, atol=tolerance)
    refused("needs a decay (input 4, absent)", 27, "LinearAttention", q, k, v, update_rule="gated", outputs=2, **heads)
    refused("needs no decay (input 4, given)", 27, "LinearAttention", q, k, v, None, by_head, update_rule="linear", outputs=2, **heads)
    refused("'update_rule' is 'none'", 27, "LinearAttention", q, k, v, update_rule="none", outputs=2, **heads)
    refused("of queries a multiple of the others", 27, "LinearAttention", q, k, v, update_rule="linear", outputs=2, q_num_heads=3, kv_num_heads=2)


run_tests([("forms", forms), ("definition", definition), ("types", types), ("refusals", refusals), ("RotaryEmbedding", rotary),
           ("TensorScatter", scatter), ("BitCast", bit_cast), ("CausalConvWithState", causal_conv), ("LinearAttention", linear_attention)])
