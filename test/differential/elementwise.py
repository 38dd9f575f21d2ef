"""Cases of operators that compute element by element, and of reductions."""
import numpy as np
from onnx import TensorProto as T

import data
from case import FIRST_OPSET, NoCase

REALS = data.FLOATS


def unary(relative=6.0, absolute=0.0, exact=False, among=None, attributes=(), first=FIRST_OPSET, conditioned=False, integers=None, **domain):
    """One input; integers: their domain, if another; `attributes`: name -> a function of the maker."""
    def make(m):
        m.choose_opset(first)
        elem = m.type(m.schema.inputs[0].type_str if m.schema else "T", among)
        own = domain if data.is_float(elem) else integers if integers is not None else domain
        x = m.input(m.shape(), elem, **own)
        given = {n: f(m) for n, f in dict(attributes).items() if m.chance(0.7)}
        if m.schema:
            given = {n: v for n, v in given.items() if n in m.schema.attributes}
        m.out(m.node([x], **given))
        kind = "exact" if exact else "conditioned" if conditioned else "close"
        m.judged(kind, relative, absolute)
    return make


def real(lo, hi):
    """An attribute between lo and hi."""
    return lambda m: float(np.float32(m.rng.uniform(lo, hi)))


def flag(m):
    return m.whole(0, 1)


def binary(relative=2.0, absolute=0.0, exact=False, among=None, right=None, attributes=(), more=0, conditioned=False, first=FIRST_OPSET, **domain):
    """Two inputs (or up to `more` others), broadcast against each other. right: the domain of the second, if another."""
    def make(m):
        opset = m.choose_opset(first)
        elem = m.type("T", among)
        shape = m.shape(0, 4, 4000)
        count = 2 + m.whole(0, more) - (1 if more and m.chance(0.2) else 0)
        own = domain if data.is_float(elem) else {**domain, "positive": False}
        inputs = []
        for i in range(count):
            d = own if i == 0 or right is None else right
            name = m.weight if i and m.chance(0.3) else m.input
            broadcasts = not more or opset >= 8  # of many inputs not before
            inputs.append(name(m.broadcastable(shape) if i and broadcasts else shape, elem, **d))
        if m.chance(0.3) and len(inputs) == 2:
            inputs = inputs[::-1] if right is None else inputs
        given = {n: f(m) for n, f in dict(attributes).items() if m.chance(0.7)}
        m.out(m.node(inputs, **given))
        kind = "exact" if exact or not data.is_float(elem) else "conditioned" if conditioned else "close"
        m.judged(kind, relative, absolute)
    return make


def mod(m):
    m.choose_opset()
    elem = m.type()
    fmod = 1 if data.is_float(elem) else m.whole(0, 1)
    if data.is_float(elem) and m.chance(0.3):
        m.case.opset, fmod = 28, 0
    shape = m.shape()
    b = m.weight if m.chance(0.3) else m.input
    # In half precision the remainder of a quotient near a whole number is the whole divisor: both are right by a rounding.
    m.out(m.node([m.input(shape, elem), b(m.broadcastable(shape), elem, nonzero=True)], fmod=fmod))
    m.judged("exact" if fmod or not data.is_float(elem) else "close", 2)


def power(m):
    m.choose_opset()
    elem = m.type("T")
    other = elem
    if m.case.opset >= 12 and m.chance(0.4):
        m.types.pop("T1", None)
        other = m.type("T1")
    shape = m.shape()
    if data.is_float(elem):
        bounds = {} if m.chance(0.5) else {"lo": 0.01, "hi": 30.0}
        x = m.input(shape, elem, **bounds)
        exponent = m.broadcastable(shape)
        if m.chance(0.4):  # what is written as products
            value = m.pick([0, 0.5, 1, 2, 3, -1, -2, 4, -0.5]) if data.is_float(other) else m.pick([0, 1, 2, 3, 4])
            y = m.scalar(value, other)
        else:
            y = m.input(exponent, other, moderate=True, lo=-3 if data.is_float(other) or np.iinfo(data.CARRIER[other]).min < 0 else 0, hi=3)
    else:
        # (Of a real power of a negative number NaN would become an integer.)
        x, y = m.input(shape, elem, lo=0 if data.is_float(other) else -4, hi=4), m.input(m.broadcastable(shape), other, lo=0, hi=3)
    m.out(m.node([x, y]))
    m.judged("close" if data.is_float(elem) else "exact", 24)


def compare(among=None):
    def make(m):
        m.choose_opset()
        elem = m.type("T", among)
        shape = m.shape()
        domain = m.pick([{}, {"lo": -2, "hi": 2}])
        m.out(m.node([m.input(shape, elem, **domain), m.input(m.broadcastable(shape), elem, **domain)]))
    return make


def where(m):
    m.choose_opset()
    elem, shape = m.type(), m.shape()
    a, b = m.input(m.broadcastable(shape), elem), m.weight(m.broadcastable(shape), elem)
    m.out(m.node([m.input(shape, T.BOOL), a, b]))


def bit_shift(m):
    m.choose_opset()
    elem, shape = m.type(), m.shape()
    bits = data.CARRIER[elem].itemsize * 8
    m.out(m.node([m.input(shape, elem), m.input(m.broadcastable(shape), elem, lo=0, hi=bits - 1)], direction=m.pick(["LEFT", "RIGHT"])))


def clip(m):
    opset = m.choose_opset()
    elem, shape = m.type(), m.shape()
    lo, hi = sorted([m.pick([-3, -1, 0, 1]), m.pick([0, 1, 2, 6])])
    if data.is_float(elem):
        lo, hi = lo * 0.75, hi * 0.75
    elif np.iinfo(data.CARRIER[elem]).min == 0:
        lo = max(lo, 0)
    bounds = [lo if m.chance(0.7) else None, hi if m.chance(0.7) else None]
    x = m.input(shape, elem)
    if opset < 11:
        m.out(m.node([x], min=None if bounds[0] is None else float(bounds[0]), max=None if bounds[1] is None else float(bounds[1])))
        return
    names = ["" if b is None else m.scalar(b, elem) if m.chance(0.7) else m.input([], elem, lo=b, hi=b, finite=True) for b in bounds]
    while names and not names[-1]:
        names.pop()
    m.out(m.node([x] + names))


def prelu(m):
    m.choose_opset()
    elem = m.type("T", REALS)
    shape = m.shape(1, 4)
    m.out(m.node([m.input(shape, elem), m.weight(m.broadcastable(shape), elem)]))
    m.judged("close", 2)


def _cast_input(m, source, target, shape):
    """What the target can hold: conversions of what it cannot are not defined."""
    if data.is_float(source) and not data.is_float(target) and target != T.BOOL:
        info = np.iinfo(data.CARRIER[target])
        largest = min(2.0**(data.CARRIER[target].itemsize * 8 - 2), data.LARGEST[source] / 2, 1e15)
        return m.input(shape, source, lo=max(float(info.min), -largest), hi=min(float(info.max) - 1, largest), finite=True)
    return m.input(shape, source)


def cast(m):
    m.choose_opset(9 if m.max_opset < 9 else FIRST_OPSET)
    source, target = m.type("T1"), m.type("T2")
    m.out(m.node([_cast_input(m, source, target, m.shape())], to=int(target)))


def cast_like(m):
    m.choose_opset(15)
    source, target = m.type("T1"), m.type("T2")
    m.out(m.node([_cast_input(m, source, target, m.shape()), m.input(m.shape(0, 2, 10), target)]))


def is_inf(m):
    m.choose_opset()
    m.out(m.node([m.input(m.shape(), m.type("T1"))], detect_negative=m.pick([None, 0, 1]), detect_positive=m.pick([None, 0, 1])))


def gelu(m):
    m.choose_opset(20)
    m.out(m.node([m.input(m.shape(), m.type())], approximate=m.pick([None, "none", "tanh"])))
    m.judged("conditioned", 8, 16)


# ---- reductions
def reduction(exact_floats=False, **domain):
    def make(m):
        opset = m.choose_opset()
        elem = m.type()
        shape = m.shape(0 if m.chance(0.1) else 1, 4, 8000)
        rank = len(shape)
        axes_as_input = len(m.schema.inputs) > 1
        count = m.whole(0, rank)
        axes = [int(a) - (rank if m.chance(0.4) else 0) for a in sorted(m.rng.permutation(rank)[:count])]
        given = {"keepdims": m.pick([None, 0, 1])}
        own = dict(domain)
        if not data.is_float(elem):
            own = {"lo": -9, "hi": 9} if not exact_floats else {}
            if m.op_type in ("ReduceProd",):
                own = {"lo": -2, "hi": 2}
            if m.op_type in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
                raise NoCase("roots and logarithms in integers are rounded as one likes")
        x = m.input(shape, elem, **own)
        inputs = [x]
        if axes_as_input:
            # (onnx.reference, which answers where ONNX Runtime lacks a type, does not know it.)
            given["noop_with_empty_axes"] = m.pick([None, 0, 1]) if elem in (T.FLOAT, T.DOUBLE, T.INT32, T.INT64) else None
            if axes or m.chance(0.3):
                inputs.append(m.ints(axes))
        elif axes:
            given["axes"] = axes
        m.out(m.node(inputs, **given))
        m.judged("conditioned" if data.is_float(elem) and not exact_floats else "exact")
    return make


def arg(m):
    opset = m.choose_opset()
    elem = m.type()
    shape = m.shape(1, 4, 8000)
    given = {"axis": m.pick([None, m.axis(len(shape))]), "keepdims": m.pick([None, 0, 1])}
    if given["axis"] is not None and given["axis"] < 0 and opset < 11:
        given["axis"] += len(shape)
    if opset >= 12:
        given["select_last_index"] = m.pick([None, 0, 1])
    m.out(m.node([m.input(shape, elem)], **given))


def cum_sum(m):
    m.choose_opset()
    elem = m.type("T")
    shape = m.shape(1, 3, 4000)
    axis = m.scalar(m.axis(len(shape)), m.pick([T.INT32, T.INT64]))
    own = {} if data.is_float(elem) else {"lo": -9, "hi": 9}
    m.out(m.node([m.input(shape, elem, **own), axis], exclusive=m.pick([None, 0, 1]), reverse=m.pick([None, 0, 1])))
    m.judged("conditioned" if data.is_float(elem) else "exact")


def cum_prod(m):
    m.choose_opset(26)
    elem = m.type("T")
    shape = m.shape(1, 3, 4000)
    own = {"lo": -1.2, "hi": 1.2} if data.is_float(elem) else {"lo": -1, "hi": 1}
    axis = m.scalar(m.axis(len(shape)), m.pick([T.INT32, T.INT64]))
    m.out(m.node([m.input(shape, elem, **own), axis], exclusive=m.pick([None, 0, 1]), reverse=m.pick([None, 0, 1])))
    m.judged("conditioned" if data.is_float(elem) else "exact")


def along_axis(among=REALS, exact=False, attributes=(), absolute=1, **domain):
    """Softmax and its like: one axis, or all from it on. absolute: 1 is what the largest result is; the logarithm of a sum
    near 1 has that sum's roundings."""
    def make(m):
        opset = m.choose_opset()
        elem = m.type("T", among)
        shape = m.shape(1, 4, 8000)
        axis = m.pick([None, m.axis(len(shape))])
        if axis is not None and axis < 0 and opset < 11:
            axis += len(shape)
        if axis is None and opset < 13 and len(shape) < 2:
            axis = 0
        given = {n: f(m) for n, f in dict(attributes).items() if m.chance(0.7)}
        m.out(m.node([m.input(shape, elem, **domain)], axis=axis, **given))
        m.judged("exact" if exact else "conditioned", 8, absolute)
    return make
