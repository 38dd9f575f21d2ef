"""Cases of ONNX's attention and of what stands around it in decoders. The installed onnx package may be older than these operators:
opsets are named here."""
import numpy as np
from onnx import TensorProto as T

import data

F = (T.FLOAT, T.FLOAT, T.FLOAT16)
MILD = {"finite": True, "lo": -4, "hi": 4}  # no score is beyond half precision


def _bounds(m, given, opset):
    """What hides keys by their places."""
    given["is_causal"] = m.pick([None, 0, 1])
    if opset >= 25:
        given["left_window_size"] = m.pick([None, -1, 0, 2, 5])
        given["right_window_size"] = m.pick([None, -1, 0, 1])


def _mask(m, elem, shape, total):
    """An operand that broadcasts to [batch, heads, queries, keys]; of truth values or numbers, -infinity among them."""
    dims = [d if m.chance(0.6) else 1 for d in shape[m.whole(0, 2):]] + [total]
    if m.chance(0.5):
        return m.input(dims, T.BOOL)
    sets = []
    for _ in data.SETS:
        x = m.rng.uniform(-3, 3, dims)
        sets.append(np.where(m.rng.random(dims) < 0.2, -np.inf, x).astype(data.CARRIER[elem]))
    return m.fed(sets, elem)


def attention(m):
    m.case.opset = opset = m.pick([23, 24, 25])
    elem, batch, groups, per = m.pick(F), m.whole(1, 2), m.whole(1, 3), m.pick([1, 1, 2, 3])
    n, new, d, dv = m.size(9), m.size(33), m.pick([1, 4, 8, 9]), m.pick([1, 4, 8, 11])
    packed, cached = m.chance(0.4), opset > 23 and m.chance(0.3)
    before = 0 if cached else m.pick([0, 0, 3, 8])

    def heads(count, tokens, width):
        return m.input([batch, tokens, count * width] if packed else [batch, count, tokens, width], elem, **MILD)
    inputs = [heads(groups * per, n, d), heads(groups, new, d), heads(groups, new, dv)]
    given = {"scale": m.pick([None, 0.3]), "softcap": m.pick([None, 2.0]), "softmax_precision": m.pick([None, T.FLOAT]) if elem == T.FLOAT else None}
    if packed:
        given |= {"q_num_heads": groups * per, "kv_num_heads": groups}
    _bounds(m, given, opset)
    inputs.append(_mask(m, elem, [batch, groups * per, n], before + new) if m.chance(0.5) else "")
    inputs += [m.input([batch, groups, before, w], elem, **MILD) for w in (d, dv)] if before else ["", ""]
    if cached:
        counts = [m.rng.integers(1, new, batch, endpoint=True) for _ in data.SETS]
        inputs.append(m.fed(counts, T.INT64))
    # ONNX Runtime hides by its own large number where mode 2 shows the sum.
    shown = m.pick([None, 0, 1, 3]) if m.chance(0.4) else None
    outputs = [True, before > 0, before > 0, shown is not None]
    while not outputs[-1]:
        outputs.pop()
    while not inputs[-1]:
        inputs.pop()
    made = m.node(inputs, outputs=outputs if len(outputs) > 1 else 1, qk_matmul_output_mode=shown, **given)
    m.out(*(made if isinstance(made, list) else [made]))
    m.judged("conditioned", 32, 32)


def rotary(m):
    m.case.opset = m.whole(23, 25)
    elem, heads, d, batch, tokens = m.pick(F), m.whole(1, 3), m.pick([4, 8, 16]), m.whole(1, 2), m.size(9)
    packed, width, placed = m.chance(0.5), m.pick([None, d // 2]), m.chance(0.6)
    half = (width or d) // 2
    angles = m.rng.uniform(-3, 3, [32, half] if placed else [batch, tokens, half])
    inputs = [m.input([batch, tokens, heads * d] if packed else [batch, heads, tokens, d], elem)]
    inputs += [m.constant(f(angles).astype(data.CARRIER[elem])) for f in (np.cos, np.sin)]
    if placed:
        inputs.append(m.fed([m.rng.integers(0, 32, (batch, tokens)) for _ in data.SETS], T.INT64))
    m.out(m.node(inputs, interleaved=m.pick([None, 0, 1]), num_heads=heads if packed else None, rotary_embedding_dim=width))
    m.judged("conditioned", 8)


def linear(m):
    """As many tokens as are unrolled, or a loop."""
    m.case.opset = 27
    elem, batch, groups, per = m.pick(F), m.whole(1, 2), m.whole(1, 2), m.pick([1, 1, 2, 3])
    tokens, d, dv = m.pick([1, 2, 5, 16, 17, 40]), m.pick([1, 4, 8]), m.pick([1, 3, 8])
    rule = m.pick(["linear", "gated", "delta", "gated_delta", None])
    mild = {"finite": True, "lo": -0.7, "hi": 0.7}

    def rows(width, **domain):
        return m.input([batch, tokens, width], elem, **(domain or mild))
    inputs = [rows(groups * per * d), rows(groups * d), rows(groups * dv)]
    inputs.append(m.input([batch, groups, d, dv], elem, **mild) if m.chance(0.5) else "")
    inputs.append(rows(groups * m.pick([1, d]), finite=True, lo=-2, hi=0) if rule in ("gated", "gated_delta", None) else "")
    inputs.append(rows(m.pick([1, groups]), finite=True, lo=0.05, hi=0.95) if rule in ("delta", "gated_delta", None) else "")
    while not inputs[-1]:
        inputs.pop()
    m.out(*m.node(inputs, outputs=2, q_num_heads=groups * per, kv_num_heads=groups, update_rule=rule, scale=m.pick([None, 0.5])))
    m.judged("conditioned", 32, 32)


def causal_conv(m):
    m.case.opset = 27
    elem, batch, channels, length, k = m.pick(F), m.whole(1, 2), m.size(17), m.size(33), m.whole(1, 4)
    inputs = [m.input([batch, channels, length], elem, **MILD), m.weight([channels, 1, k], elem, **MILD),
              m.weight([channels], elem, **MILD) if m.chance(0.5) else "",
              m.input([batch, channels, k - 1], elem, **MILD) if k > 1 and m.chance(0.5) else ""]
    while not inputs[-1]:
        inputs.pop()
    made = m.node(inputs, outputs=2, activation=m.pick([None, "none", "silu", "swish"]))
    m.out(*made[: 2 if k > 1 else 1])
    m.judged("conditioned", 16, 16)


def tensor_scatter(m):
    m.case.opset = 24
    elem, rank = m.pick(data.FLOATS + data.INTEGERS + (T.BOOL,)), m.whole(2, 5)
    dims = [m.size(9) for _ in range(rank)]
    axis = m.whole(1, rank - 1)
    most, n = dims[axis], m.whole(1, dims[axis])
    mode = m.pick([None, "linear", "circular"])
    inputs = [m.input(dims, elem), m.input(dims[:axis] + [n] + dims[axis + 1:], elem)]
    if m.chance(0.8):
        last = 3 * most if mode == "circular" else most - n
        inputs.append(m.fed([m.rng.integers(0, last, dims[0], endpoint=True) for _ in data.SETS], T.INT64))
    m.out(m.node(inputs, axis=m.pick([axis, axis - rank]) if rank - axis != 2 or m.chance(0.5) else None, mode=mode))
    m.judged("exact")


BITS = ((T.INT8, T.UINT8), (T.INT16, T.UINT16, T.FLOAT16), (T.INT32, T.UINT32, T.FLOAT), (T.INT64, T.UINT64, T.DOUBLE))


def bit_cast(m):
    m.case.opset = 26
    group = m.pick(BITS)
    m.out(m.node([m.input(m.shape(0, 4), m.pick(group))], to=int(m.pick(group))))
    m.judged("exact")


MAKERS = {"Attention": attention, "RotaryEmbedding": rotary, "LinearAttention": linear, "CausalConvWithState": causal_conv,
          "TensorScatter": tensor_scatter, "BitCast": bit_cast}
