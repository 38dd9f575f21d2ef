"""Cases of operators of com.microsoft."""
import numpy as np
from onnx import TensorProto as T

import data
from anchors import BYTES, _extents, _scale, _seven_bits, _window, _zero

F = T.FLOAT
OPSET = 17


def _begin(m):
    m.case.opset = min(OPSET, m.max_opset)


def fused_matmul(m):
    _begin(m)
    i, j, k = m.size(33), m.size(33), m.size(65)
    ta, tb = m.whole(0, 1), m.whole(0, 1)
    m.out(m.node([m.input([2, k, i] if ta else [2, i, k], F), m.weight([2, j, k] if tb else [2, k, j], F)], transA=ta, transB=tb, alpha=m.pick([None, 0.5])))
    m.judged("conditioned")


def gelu(kind):
    def make(m):
        _begin(m)
        shape = m.shape(1, 3)
        inputs = [m.input(shape, F)]
        if kind == "BiasGelu" or (kind == "FastGelu" and m.chance(0.5)):
            inputs.append(m.weight(shape[-1:], F))
        m.out(m.node(inputs, alpha=m.pick([None, 1.0]) if kind == "QuickGelu" else None))
        m.judged("conditioned", 16, 16)
    return make


def skip_norm(simplified):
    def make(m):
        _begin(m)
        shape = [m.whole(1, 3), m.size(17), m.size(129)]
        inputs = [m.input(shape, F), m.input(shape, F), m.weight(shape[-1:], F, finite=True)]
        if not simplified and m.chance(0.6):
            inputs.append(m.weight(shape[-1:], F))
        m.out(m.node(inputs, epsilon=m.pick([None, 1e-3])))
        m.judged("conditioned", 8, 24)
    return make


def attention(m):
    _begin(m)
    heads, per, n, tokens = m.whole(1, 3), m.pick([1, 4, 8]), m.whole(1, 2), m.size(17)
    hidden = heads * per
    m.out(m.node([m.input([n, tokens, hidden], F), m.weight([hidden, 3 * hidden], F), m.weight([3 * hidden], F)], num_heads=heads,
                 unidirectional=m.pick([None, 0, 1])))
    m.judged("conditioned", 16, 8)


def multi_head(m):
    _begin(m)
    heads, per, n, tokens, others = m.whole(1, 3), m.pick([1, 4, 8]), m.whole(1, 2), m.size(17), m.size(17)
    hidden = heads * per
    m.out(m.node([m.input([n, tokens, hidden], F), m.input([n, others, hidden], F), m.input([n, others, hidden], F)], num_heads=heads, scale=m.pick([None, 0.5])))
    m.judged("conditioned", 16, 8)


def embed(m):
    _begin(m)
    n, tokens, hidden = m.whole(1, 2), m.size(9), m.size(33)
    ids = m.input([n, tokens], T.INT32, lo=0, hi=8)
    segments = m.input([n, tokens], T.INT32, lo=0, hi=1) if m.chance(0.6) else ""
    own = {"finite": True, "lo": -10, "hi": 10}
    inputs = [ids, segments, m.weight([9, hidden], F, **own), m.weight([tokens + 2, hidden], F, **own),
              m.weight([2, hidden], F, **own) if segments else "", m.weight([hidden], F, **own), m.weight([hidden], F, **own)]
    m.out(m.node(inputs, outputs=2)[0])
    m.judged("conditioned", 8, 64)


def nhwc_max_pool(m):
    _begin(m)
    extents = _extents(m, 2)
    given = _window(m, 2, extents, OPSET, dilate=False, pool=True)
    m.out(m.node([m.input([m.whole(1, 2)] + extents + [m.size(17)], m.pick(BYTES))], **given))


def dynamic_matmul(m):
    _begin(m)
    i, j, k = m.size(17), m.size(17), m.size(33)
    b = m.pick(BYTES)
    own = {"finite": True, "lo": -100, "hi": 100}
    inputs = [m.input([i, k], F, **own), _seven_bits(m, [k, j], b), _scale(m)]
    if m.chance(0.5):
        inputs.append(m.constant(np.array(m.whole(0, 60), data.CARRIER[b]), b))
    m.out(m.node(inputs))
    m.judged("conditioned", 16, 64)


def integer_to_float(m):
    _begin(m)
    i, j, k = m.size(17), m.size(17), m.size(33)
    a = m.pick(BYTES)
    b = T.INT8 if a == T.INT8 else m.pick(BYTES)
    inputs = [m.input([i, k], a), _seven_bits(m, [k, j], b), _scale(m), _scale(m, [j] if m.chance(0.5) else ())]
    if m.chance(0.5):
        inputs += [_zero(m, a), m.constant(np.array(m.whole(0, 60), data.CARRIER[b]), b)]
    m.out(m.node(inputs))
    m.judged("close", 8)


def qgemm(m):
    _begin(m)
    i, j, k = m.size(17), m.size(17), m.size(33)
    tb = m.whole(0, 1)
    inputs = [m.input([i, k], T.UINT8), _scale(m), _zero(m, T.UINT8), _seven_bits(m, [j, k] if tb else [k, j], T.INT8), _scale(m), m.constant(np.array(0, np.int8))]
    inputs += [m.constant(m.rng.integers(-1000, 1000, j).astype(np.int32)) if m.chance(0.5) else "", m.constant(np.array(m.rng.uniform(0.5, 3), np.float32)), _zero(m, T.UINT8)]
    m.out(m.node(inputs, transB=tb))


def dynamic_lstm(m):
    _begin(m)
    steps, batch, inner, hidden = m.whole(1, 4), m.whole(1, 2), m.size(9), m.size(9)
    own = {"finite": True, "lo": -1, "hi": 1}
    w = m.constant(m.rng.integers(-60, 60, [1, inner, 4 * hidden]).astype(np.int8))
    r = m.constant(m.rng.integers(-60, 60, [1, hidden, 4 * hidden]).astype(np.int8))
    scale = [m.constant(m.rng.uniform(0.005, 0.02, [1]).astype(np.float32)), m.constant(np.zeros([1], np.int8))]
    m.out(*m.node([m.input([steps, batch, inner], F, **own), w, r, m.weight([1, 8 * hidden], F, **own), "", "", "", ""] + scale + scale, outputs=3, hidden_size=hidden))
    m.judged("close", 32, 2.0**24 * 0.02)  # ONNX Runtime quantises inputs and states: a step of 8 bits a product


def qlinear(kind):
    def make(m):
        _begin(m)
        elem = m.pick(BYTES)
        shape = m.shape(1, 3)
        inputs = [m.input(shape, elem), _scale(m), _zero(m, elem)]
        if kind in ("QLinearAdd", "QLinearMul"):
            inputs += [m.weight(m.broadcastable(shape), elem), _scale(m), _zero(m, elem)]
        given = {"alpha": m.pick([None, 0.2])} if kind == "QLinearLeakyRelu" else {"axis": -1, "opset": 13} if kind == "QLinearSoftmax" else {}
        out = _scale(m)
        zero = _zero(m, elem)
        if kind == "QLinearSoftmax" and elem == T.INT8:  # ONNX Runtime wraps around beyond 127: at most 100 steps
            zero = m.constant(np.array(m.whole(-128, 27), np.int8))
        m.out(m.node(inputs + [out, zero], **given))
    return make


def qlinear_concat(m):
    _begin(m)
    elem, shape = m.pick(BYTES), m.shape(1, 3, 500)
    parts = []
    for _ in range(m.whole(1, 3)):
        parts += [m.input(shape, elem), _scale(m), _zero(m, elem)]
    m.out(m.node([_scale(m), _zero(m, elem)] + parts, axis=m.whole(0, len(shape) - 1)))


def qlinear_pool(everything):
    def make(m):
        _begin(m)
        elem, extents = m.pick(BYTES), _extents(m, 2)
        given = {} if everything else _window(m, 2, extents, OPSET, dilate=False, pool=True)
        if not everything:
            given["count_include_pad"] = m.pick([None, 0, 1])
        m.out(m.node([m.input([m.whole(1, 2), m.size(9)] + extents, elem), _scale(m), _zero(m, elem), _scale(m), _zero(m, elem)], **given))
    return make



ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid")


def fused_conv(m):
    _begin(m)
    extents = _extents(m, 2)
    given = _window(m, 2, extents, OPSET)
    c, n = m.pick([1, 3, 8]), m.pick([1, 2, 16, 17])
    activation = m.pick(ACTIVATIONS)
    params = {"LeakyRelu": [0.1], "HardSigmoid": [0.2, 0.5]}.get(activation)
    inputs = [m.input([1, c] + extents, F), m.weight([n, c] + given["kernel_shape"], F)] + ([m.weight([n], F)] if m.chance(0.5) else [])
    m.out(m.node(inputs, activation=activation, activation_params=params, **given))
    m.judged("conditioned", 16, 8)


def fused_gemm(m):
    _begin(m)
    i, j, k = m.size(33), m.size(33), m.size(65)
    ta, tb = m.whole(0, 1), m.whole(0, 1)
    activation = m.pick(ACTIVATIONS)
    params = {"LeakyRelu": {"activation_alpha": 0.1}, "HardSigmoid": {"activation_alpha": 0.2, "activation_beta": 0.5}}.get(activation, {})
    inputs = [m.input([k, i] if ta else [i, k], F), m.weight([j, k] if tb else [k, j], F)] + ([m.weight([j], F)] if m.chance(0.5) else [])
    m.out(m.node(inputs, transA=ta, transB=tb, activation=activation, **params))
    m.judged("conditioned", 16, 8)


def quantize(forward):
    def make(m):
        _begin(m)
        to, shape = m.pick(BYTES + (T.UINT16, T.INT16)), m.shape(1, 4)
        own, given = [], {}
        if m.chance(0.5):
            axis = m.whole(0, len(shape) - 1)
            own, given = [shape[axis]], {"axis": axis}
        x = m.input(shape, F, lo=-1e4, hi=1e4, finite=True) if forward else m.input(shape, to)
        m.out(m.node([x, _scale(m, own), _zero(m, to, own)], **given))
        m.judged("exact" if forward else "close", 2)
    return make



def _angles(m, rows, half):
    angles = m.rng.uniform(-3, 3, (rows, half))
    return [m.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin)]


def rotary(m):
    _begin(m)
    heads, d, n, tokens = m.whole(1, 3), m.pick([4, 8, 16]), m.whole(1, 2), m.size(9)
    shape = [n, tokens, heads * d] if m.chance(0.5) else [n, heads, tokens, d]
    if m.chance(0.5):
        at = m.fed([m.rng.integers(0, 32, (n, tokens)) for _ in data.SETS], T.INT64)
    else:
        at = m.fed([m.rng.integers(0, 32 - tokens, 1) for _ in data.SETS], T.INT64)
    m.out(m.node([m.input(shape, F), at] + _angles(m, 32, d // 2), interleaved=m.pick([None, 0, 1])))
    m.judged("conditioned", 8)


def group_query(m):
    """All tokens new, or one after others."""
    _begin(m)
    groups, per, d, n = m.whole(1, 2), m.whole(1, 3), m.pick([8, 16]), m.whole(1, 2)
    before = m.pick([0, 0, 3, 6])
    tokens = 1 if before else m.size(9)
    own = {"finite": True, "lo": -3, "hi": 3}
    inputs = [m.input([n, tokens, groups * (per if i == 0 else 1) * d], F, **own) for i in range(3)]
    inputs += [m.input([n, groups, before, d], F, **own) for _ in range(2)] if before else ["", ""]
    last = np.full(n, before + tokens - 1, np.int32)
    inputs += [m.fed([last, last], T.INT32), m.constant(np.array(before + tokens, np.int32))]
    turned = m.chance(0.4)
    if turned:
        inputs += _angles(m, 32, d // 2)
    m.out(*m.node(inputs, outputs=3, num_heads=groups * per, kv_num_heads=groups, do_rotary=1 if turned else None,
                  scale=m.pick([None, 0.4]), softcap=m.pick([None, 2.0]), local_window_size=m.pick([None, 3])))
    m.judged("conditioned", 32, 32)


def packed(codes, bits):
    """Along the last axis into bytes, lowest first; the last byte is filled up with other codes' bits."""
    each = 8 // bits
    codes = np.pad(codes.astype(np.uint8), [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)], constant_values=(1 << bits) - 1)
    codes = codes.reshape(codes.shape[:-1] + (-1, each))
    return sum((codes[..., i] << (bits * i)).astype(np.uint8) for i in range(each))


def matmul_nbits(m):
    """Weights [n, k] by blocks of k, whose last one may be longer than what is left."""
    m.case.opset = m.max_opset
    m.domain["moderate"] = True  # a word's products are added up before they are scaled
    bits, block, elem = m.pick([2, 4, 4, 8]), m.pick([16, 32, 64, 128, 256]), m.pick([F, F, F, T.FLOAT16, T.BFLOAT16])
    n, k = m.pick([1, 2, 5, 16, 17, 33]), m.pick([1, 15, 16, 31, 32, 33, 64, 100, 129, 256, 513])
    blocks = -(-k // block)
    rows = m.pick([[1], [1], [2], [3], [7], [17], [2, 3], [1, 1]])
    codes = packed(m.rng.integers(0, 1 << bits, (n, blocks, block)), bits)
    scales = data.narrow(m.rng.uniform(0.001, 0.1, (n, blocks)) * m.rng.choice([-1, 1], (n, blocks)), elem)
    inputs = [m.input(rows + [k], elem), m.constant(codes), m.constant(scales, elem)]
    zero = m.pick(["none", "packed", "real"])
    if zero == "packed":
        inputs.append(m.constant(packed(m.rng.integers(0, 1 << bits, (n, blocks)), bits)))
    elif zero == "real":
        inputs.append(m.constant(data.narrow(m.rng.uniform(0, (1 << bits) - 1, (n, blocks)), elem), elem))
    if m.chance(0.3):
        inputs += [""] * (5 - len(inputs)) + [m.weight([n], elem)]
    m.out(m.node(inputs, K=k, N=n, bits=bits, block_size=block, accuracy_level=m.pick([None, 0, 1])))
    m.judged("conditioned", 16, 8)


def gather_block_quantized(m):
    """Of bytes, several codes each, or of 4 bits; along any axes."""
    m.case.opset = m.max_opset
    bits, block = m.pick([2, 4, 4, 8]), m.pick([16, 32, 64])
    elem = m.pick([T.UINT8, T.UINT8, T.INT4, T.UINT4])
    rank = m.pick([2, 2, 2, 3])
    dims = [m.pick([1, 2, 5, 17]) for _ in range(rank)]
    gather, quantize = 0, rank - 1
    if elem != T.UINT8:
        bits = 4
        gather, quantize = (int(i) for i in m.rng.choice(rank, 2, replace=False))
    dims[quantize] = m.pick([16, 31, 32, 64, 100]) if elem != T.UINT8 else m.pick([16, 32, 64, 96, 128])
    by_block = [-(-d // block) if a == quantize else d for a, d in enumerate(dims)]
    scales = m.constant(m.rng.uniform(0.001, 0.1, by_block).astype(np.float32))

    def of(shape, codes):
        values = m.rng.integers(0, 1 << bits, shape)
        if elem == T.UINT8:
            return m.constant(packed(values, bits))
        return m.constant(values.astype(np.uint8) if elem == T.UINT4 else (values - 8).astype(np.int8), elem)
    kind, most = m.pick([T.INT32, T.INT64]), dims[gather]
    index = m.fed([m.rng.integers(-most, most, m.shape(0, 2, 40))] * len(data.SETS), kind)
    inputs = [of(dims, True), index, scales] + ([of(by_block, False)] if m.chance(0.5) else [])
    m.out(m.node(inputs, bits=bits, block_size=block, gather_axis=m.pick([gather, gather - rank]), quantize_axis=m.pick([quantize, quantize - rank])))
    m.judged("close", 4)


MAKERS = {
    "MatMulNBits": matmul_nbits, "GatherBlockQuantized": gather_block_quantized,
    "RotaryEmbedding": rotary, "GroupQueryAttention": group_query,
    "FusedConv": fused_conv, "FusedGemm": fused_gemm, "QuantizeLinear": quantize(True), "DequantizeLinear": quantize(False),
    "FusedMatMul": fused_matmul, "DynamicQuantizeMatMul": dynamic_matmul, "SkipLayerNormalization": skip_norm(False),
    **{k: gelu(k) for k in ("Gelu", "BiasGelu", "FastGelu", "QuickGelu")},
    "SkipSimplifiedLayerNormalization": skip_norm(True), "Attention": attention, "MultiHeadAttention": multi_head,
    "EmbedLayerNormalization": embed, "NhwcMaxPool": nhwc_max_pool, "MatMulIntegerToFloat": integer_to_float, "QGemm": qgemm,
    "DynamicQuantizeLSTM": dynamic_lstm, **{k: qlinear(k) for k in ("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")},
    "QLinearConcat": qlinear_concat, "QLinearAveragePool": qlinear_pool(False), "QLinearGlobalAveragePool": qlinear_pool(True),
}
