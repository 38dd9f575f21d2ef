"""Cases of the types that are stored and converted only: float8 and 4-bit integers. They come from a conversion and end in
one, so that what goes in and out has types that everything knows."""
import numpy as np
from onnx import TensorProto as T

import data
from case import NoCase

FLOAT8 = (T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ)
FOUR_BITS = {T.INT4: (-8, 7), T.UINT4: (0, 15)}
REALS = (T.FLOAT, T.FLOAT, T.FLOAT16, T.BFLOAT16)


def choose(m, opset):
    if opset < 19:
        raise NoCase("newer types")
    # (Floats become 4-bit integers by rounding, as in ONNX Runtime, which ends at opset 26; onnx.reference cuts them off.)
    return m.pick(FLOAT8 + (tuple(FOUR_BITS) if 21 <= opset <= 25 else ()))


def domain(elem, saturate):
    """What a conversion is defined for. Without saturation both references have it wrong just above the largest number: of
    480 they make 448 (E4M3FN), of 61440 NaN (E5M2)."""
    if elem in FOUR_BITS:
        return dict(zip(("lo", "hi"), FOUR_BITS[elem]), finite=True)
    most = {T.FLOAT8E4M3FN: 470, T.FLOAT8E5M2: 6.1e4}.get(elem) if saturate == 0 else None
    return {"lo": -most, "hi": most} if most else {}


def converted(m, shape, elem):
    """Values of the type."""
    saturate = m.pick([None, 0, 1]) if elem in FLOAT8 else None
    x = m.input(shape, m.pick(REALS), **domain(elem, saturate))
    return m.node([x], op="Cast", to=int(elem), saturate=saturate)


def out(m, y):
    m.out(m.node([y], op="Cast", to=int(T.FLOAT)))


def cast(m):
    elem = choose(m, m.choose_opset(19))
    out(m, converted(m, m.shape(), elem))


def moved(m):
    """Transpose, Reshape, Identity."""
    elem = choose(m, m.choose_opset(21 if m.op_type == "Transpose" else 19))
    if elem in FOUR_BITS and m.op_type != "Transpose":
        raise NoCase("ONNX Runtime has it of float8 only")
    shape = m.shape(1, 4)
    x = converted(m, shape, elem)
    if m.op_type == "Transpose":
        out(m, m.node([x], perm=[int(i) for i in m.rng.permutation(len(shape))]))
    elif m.op_type == "Reshape":
        out(m, m.node([x, m.ints([-1])]))
    else:
        out(m, m.node([x]))


def _scales(m, shape, opset):
    """One scale, one for each place of an axis, or one for each block of it: its shape, attributes."""
    how, axis = m.pick(["all", "axis", "blocks"]), m.whole(0, len(shape) - 1)
    if how == "all" or (how == "blocks" and opset < 21):
        return [], {}
    if how == "axis":
        return [shape[axis]], {"axis": axis}
    block = m.whole(2, 5)
    if shape[axis] % block:
        shape[axis] = block * m.whole(1, 5)
    return [d // block if i == axis else d for i, d in enumerate(shape)], {"axis": axis, "block_size": block}


def _zeros(m, elem, shape):
    low, high = FOUR_BITS.get(elem, (0, 0))
    return m.constant(m.rng.integers(low, high, shape, endpoint=True).astype(data.CARRIER[elem]), elem)


def quantize(m):
    opset = m.choose_opset(19)
    elem, shape = choose(m, opset), m.shape(1, 3, 2000)
    own, given = _scales(m, shape, opset)
    x = m.input(shape, T.FLOAT, lo=-1e3, hi=1e3, finite=True)
    if elem in FLOAT8:
        given["saturate"] = m.pick([None, 1])
    out(m, m.node([x, m.constant(np.asarray(m.rng.uniform(0.01, 2, own), np.float32)), _zeros(m, elem, own)], **given))


def dequantize(m):
    opset = m.choose_opset(19)
    elem, shape = choose(m, opset), m.shape(1, 3, 2000)
    own, given = _scales(m, shape, opset)
    if elem in FOUR_BITS and m.chance(0.5):
        x = m.constant(m.rng.integers(*FOUR_BITS[elem], shape, endpoint=True).astype(data.CARRIER[elem]), elem)
    else:
        x = converted(m, shape, elem)
    inputs = [x, m.constant(np.asarray(m.rng.uniform(0.01, 2, own), np.float32))]
    if elem in FOUR_BITS and m.chance(0.6):
        inputs.append(_zeros(m, elem, own))
    y = m.node(inputs, **given)
    m.out(m.node([y, m.input([1], T.FLOAT, lo=1, hi=2)], op="Mul"))
    m.judged("close", 4)


def sometimes(tight, usual):
    """One case of four has a tight type."""
    def make(m):
        (tight if m.chance(0.25) else usual)(m)
    return make


TIGHT = {"Cast": cast, "Transpose": moved, "Reshape": moved, "Identity": moved, "QuantizeLinear": quantize, "DequantizeLinear": dequantize}
