"""Random graphs of 2 to 12 operators: results fan out, operands are shared and broadcast; products, windows,
normalisations and reductions with elementwise operators, moves (transpose, reshape, slice, concat, pad, gather) and casts
between; weights and constants; f32, f16, i64 and truth values.

Values stay near 1 (what grows is scaled down), so that rounding is all that may differ; how far it carries is measured
(judge.py, "graph": every real intermediate is moved by a rounding in the f64 reference).
"""
import numpy as np
from onnx import TensorProto as T

import data
from case import NoCase

MOST = 4000  # elements of a value
OPSETS = (13, 14, 15, 16, 17, 18, 19, 20, 21)


class Value:
    def __init__(self, name, shape, elem):
        self.name, self.shape, self.elem = name, list(shape), elem
        self.used = False


class Graph:
    """The values so far, and operators that draw from them."""

    def __init__(self, m, real):
        self.m, self.real, self.values = m, real, []

    def add(self, name, shape, elem=None):
        if int(np.prod(shape, dtype=np.int64)) > MOST * 4:
            raise NoCase("too large")
        value = Value(name, shape, self.real if elem is None else elem)
        self.values.append(value)
        return value

    def node(self, op, inputs, shape, elem=None, **given):
        for v in inputs:
            if isinstance(v, Value):
                v.used = True
        names = [v.name if isinstance(v, Value) else v for v in inputs]
        return self.add(self.m.node(names, op=op, **given), shape, elem)

    def input(self, shape, elem=None):
        elem = self.real if elem is None else elem
        bounds = {"lo": -3, "hi": 3, "finite": True} if data.is_float(elem) else {"lo": -4, "hi": 4}
        return self.add(self.m.input(shape, elem, **bounds), shape, elem)

    def weight(self, shape, elem=None, scale=1.0):
        elem = self.real if elem is None else elem
        x = self.m.rng.standard_normal(shape) * scale if data.is_float(elem) else self.m.rng.integers(-4, 5, shape)
        if not self.m.chance(0.8):
            return self.input(shape, elem).name
        return self.m.constant(data.narrow(x, elem), elem)

    def some(self, condition=lambda v: True):
        """A value: the latest more often, and those that nothing reads yet."""
        fit = [v for v in self.values if condition(v)]
        if not fit:
            raise NoCase("no operand")
        fresh = [v for v in fit if not v.used]
        return self.m.pick(fresh[-2:]) if fresh and self.m.chance(0.7) else self.m.pick(fit)

    def a_real(self, rank=0):
        return self.some(lambda v: v.elem == self.real and len(v.shape) >= rank)


def _unary(g):
    x = g.a_real()
    op = g.m.pick(["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "LeakyRelu", "HardSigmoid", "Softplus", "Elu", "Identity", "Sqrt1", "Exp1", "Clip"])
    if op == "Sqrt1":
        return g.node("Sqrt", [g.node("Abs", [x], x.shape)], x.shape)
    if op == "Exp1":
        return g.node("Exp", [g.node("Tanh", [x], x.shape)], x.shape)
    if op == "Clip":
        return g.node("Clip", [x, g.m.scalar(-1, g.real), g.m.scalar(1.5, g.real)], x.shape)
    return g.node(op, [x], x.shape)


def _binary(g):
    x = g.a_real()
    op = g.m.pick(["Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"])
    how = g.m.pick(["other", "weight", "scalar", "same"])
    if how == "other":
        y = g.some(lambda v: v.elem == g.real and _broadcast(v.shape, x.shape) is not None)
        shape = _broadcast(x.shape, y.shape)
    elif how == "weight":
        own = g.m.broadcastable(x.shape)
        y, shape = g.weight(own), x.shape
    elif how == "scalar":
        y, shape = g.m.scalar(g.m.pick([0.5, 2, -1, 0.1, 0]), g.real), x.shape
    else:
        y, shape = x, x.shape
    out = g.node(op, [x, y] if g.m.chance(0.6) else [y, x], shape)
    return g.node("Tanh", [out], shape) if op == "Mul" and how in ("other", "same") else out


def _broadcast(a, b):
    try:
        return list(np.broadcast_shapes(tuple(a), tuple(b)))
    except ValueError:
        return None


def _transpose(g):
    x = g.some(lambda v: len(v.shape) >= 2)
    perm = [int(i) for i in g.m.rng.permutation(len(x.shape))]
    return g.node("Transpose", [x], [x.shape[i] for i in perm], x.elem, perm=perm)


def _reshape(g):
    x = g.some(lambda v: len(v.shape) >= 1)
    to = list(x.shape)
    if len(to) > 1 and g.m.chance(0.6):
        i = g.m.whole(0, len(to) - 2)
        to[i:i + 2] = [to[i] * to[i + 1]]
    else:
        i = g.m.whole(0, len(to) - 1)
        factors = [f for f in (2, 3, 4, 8) if to[i] % f == 0] or [1]
        f = g.m.pick(factors)
        to[i:i + 1] = [to[i] // f, f]
    return g.node("Reshape", [x, g.m.ints(to)], to, x.elem)


def _slice(g):
    x = g.some(lambda v: any(d > 1 for d in v.shape))
    axis = g.m.pick([i for i, d in enumerate(x.shape) if d > 1])
    d, step = x.shape[axis], g.m.pick([1, 1, 2, -1])
    low = g.m.whole(0, d - 2)
    high = g.m.whole(low + 1, d)
    shape = list(x.shape)
    shape[axis] = -(-(high - low) // abs(step))
    begin, end = (low, high) if step > 0 else (high - 1, low - 1 if low else -d - 1)
    return g.node("Slice", [x] + [g.m.ints([v]) for v in (begin, end, axis, step)], shape, x.elem)


def _concat(g):
    x = g.some(lambda v: len(v.shape) >= 1)
    axis = g.m.whole(0, len(x.shape) - 1)
    fits = [v for v in g.values if v.elem == x.elem and len(v.shape) == len(x.shape)
            and all(a == b for k, (a, b) in enumerate(zip(v.shape, x.shape)) if k != axis)]
    parts = [x] + [g.m.pick(fits) for _ in range(g.m.whole(1, 2))]
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    return g.node("Concat", parts, shape, x.elem, axis=axis)


def _split(g):
    x = g.some(lambda v: any(d > 1 for d in v.shape))
    axis = g.m.pick([i for i, d in enumerate(x.shape) if d > 1])
    cut = g.m.whole(1, x.shape[axis] - 1)
    sizes = [cut, x.shape[axis] - cut]
    x.used = True
    names = g.m.node([x.name, g.m.ints(sizes)], outputs=2, op="Split", axis=axis)
    for name, s in zip(names, sizes):
        shape = list(x.shape)
        shape[axis] = s
        g.add(name, shape, x.elem)


def _pad(g):
    x = g.some(lambda v: v.elem == g.real and 1 <= len(v.shape))
    low, high = ([g.m.whole(0, 1) for _ in x.shape] for _ in range(2))
    return g.node("Pad", [x, g.m.ints(low + high)], [d + a + b for d, a, b in zip(x.shape, low, high)], x.elem)


def _gather(g):
    x = g.some(lambda v: len(v.shape) >= 1)
    axis = g.m.whole(0, len(x.shape) - 1)
    n = g.m.size(9)
    index = g.m.constant(g.m.rng.integers(0, x.shape[axis], n))
    return g.node("Gather", [x, index], x.shape[:axis] + [n] + x.shape[axis + 1:], x.elem, axis=axis)


def _reduce(g):
    x = g.a_real(1)
    op = g.m.pick(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"])
    axis, keep = g.m.whole(0, len(x.shape) - 1), g.m.whole(0, 1)
    shape = [1 if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis]
    if op == "ReduceSum" or g.m.case.opset >= 18:
        y = g.node(op, [x, g.m.ints([axis])], shape, keepdims=keep)
    else:
        y = g.node(op, [x], shape, keepdims=keep, axes=[axis])
    if op in ("ReduceSum", "ReduceL2"):
        y = g.node("Mul", [y, g.m.scalar(1.0 / np.sqrt(x.shape[axis]), g.real)], shape)
    return y


def _softmax(g):
    x = g.a_real(1)
    return g.node(g.m.pick(["Softmax", "Softmax", "LogSoftmax"]), [x], x.shape, axis=g.m.axis(len(x.shape)))


def _layer_norm(g):
    x = g.a_real(1)
    if g.m.case.opset < 17 or x.shape[-1] < 3:
        raise NoCase("no such operator")
    own = x.shape[-1:]
    return g.node("LayerNormalization", [x, g.weight(own), g.weight(own)], x.shape, axis=-1, epsilon=0.05)


def _matmul(g):
    x = g.a_real(2)
    k = x.shape[-1]
    if g.m.chance(0.2):
        y = g.some(lambda v: v.elem == g.real and len(v.shape) == 2 and v.shape[0] == k)
        y = g.node("Mul", [y, g.m.scalar(1.0 / np.sqrt(k), g.real)], y.shape)
        return g.node("MatMul", [x, y], x.shape[:-1] + [y.shape[1]])
    n = g.m.size(33)
    return g.node("MatMul", [x, g.weight([k, n], scale=1.0 / np.sqrt(k))], x.shape[:-1] + [n])


def _gemm(g):
    x = g.some(lambda v: v.elem == g.real and len(v.shape) == 2)
    tb, n, k = g.m.whole(0, 1), g.m.size(33), x.shape[1]
    inputs = [x, g.weight([n, k] if tb else [k, n], scale=1.0 / np.sqrt(k))] + ([g.weight([n])] if g.m.chance(0.7) else [])
    return g.node("Gemm", inputs, [x.shape[0], n], transB=tb)


def _conv(g):
    x = g.some(lambda v: v.elem == g.real and len(v.shape) in (3, 4) and v.shape[1] <= 32)
    c, extents = x.shape[1], x.shape[2:]
    kernel = [min(d, g.m.pick([1, 3, 3, 2])) for d in extents]
    stride = g.m.pick([1, 1, 2])
    depthwise = g.m.chance(0.3)
    n = c if depthwise else g.m.size(17)
    per = 1 if depthwise else c
    pads = [(k - 1) // 2 for k in kernel]
    shape = x.shape[:1] + [n] + [(d + 2 * p - k) // stride + 1 for d, p, k in zip(extents, pads, kernel)]
    weight = g.weight([n, per] + kernel, scale=1.0 / np.sqrt(per * np.prod(kernel)))
    inputs = [x, weight] + ([g.weight([n])] if g.m.chance(0.6) else [])
    return g.node("Conv", inputs, shape, kernel_shape=kernel, strides=[stride] * len(kernel), pads=pads * 2, group=c if depthwise else 1)


def _pool(g):
    x = g.some(lambda v: v.elem == g.real and len(v.shape) in (3, 4) and min(v.shape[2:]) >= 2)
    op = g.m.pick(["MaxPool", "AveragePool", "GlobalAveragePool"])
    if op == "GlobalAveragePool":
        return g.node(op, [x], x.shape[:2] + [1] * (len(x.shape) - 2))
    n = len(x.shape) - 2
    return g.node(op, [x], x.shape[:2] + [(d - 2) // 2 + 1 for d in x.shape[2:]], kernel_shape=[2] * n, strides=[2] * n)


def _batch_norm(g):
    x = g.some(lambda v: v.elem == g.real and len(v.shape) >= 3)
    c = x.shape[1]
    p = [g.m.constant(data.narrow(g.m.rng.uniform(lo, hi, c), g.real), g.real) for lo, hi in ((0.5, 1.5), (-1, 1), (-1, 1), (0.5, 1.5))]
    return g.node("BatchNormalization", [x] + p, x.shape)


def _choose(g):
    """A comparison, truth values combined, and what they choose."""
    x = g.a_real()
    threshold = g.m.scalar(g.m.pick([0.0, 0.25, -0.5]), g.real)
    c = g.node(g.m.pick(["Less", "Greater"]), [x, threshold], x.shape, T.BOOL)
    if g.m.chance(0.4):
        c = g.node("Not", [c], x.shape, T.BOOL)
    return g.node("Where", [c, x, g.node(g.m.pick(["Neg", "Abs"]), [x], x.shape) if g.m.chance(0.5) else threshold], x.shape)


def _integers(g):
    """i64: the index of a maximum, sums of it, and back."""
    x = g.a_real(1)
    axis = g.m.whole(0, len(x.shape) - 1)
    shape = [1 if i == axis else d for i, d in enumerate(x.shape)]
    i = g.node("ArgMax", [x], shape, T.INT64, axis=axis, keepdims=1)
    i = g.node("Add", [i, g.weight(g.m.broadcastable(shape), T.INT64)], shape, T.INT64)
    f = g.node("Cast", [i], shape, g.real, to=int(g.real))
    return g.node("Mul", [f, g.m.scalar(0.125, g.real)], shape)


def _cast(g):
    """To another real type and back."""
    x = g.a_real()
    other = T.FLOAT16 if g.real != T.FLOAT16 else T.FLOAT
    y = g.node("Cast", [x], x.shape, other, to=int(other))
    y = g.node("Tanh", [y], x.shape, other)
    return g.node("Cast", [y], x.shape, g.real, to=int(g.real))


def _residual(g):
    x = g.a_real(1)
    y = g.node("Relu", [x], x.shape)
    y = g.node("Mul", [y, g.weight([x.shape[-1]])], x.shape)
    return g.node("Add", [x, y], x.shape)


STEPS = [(_unary, 5), (_binary, 6), (_transpose, 3), (_reshape, 3), (_slice, 2), (_concat, 2), (_split, 1), (_pad, 1), (_gather, 1), (_reduce, 3),
         (_softmax, 2), (_layer_norm, 2), (_matmul, 3), (_gemm, 2), (_conv, 3), (_pool, 2), (_batch_norm, 1), (_choose, 1), (_integers, 1), (_cast, 1), (_residual, 1)]


def make(m):
    """A graph of 2 to 12 operators; what nothing reads is an output, and now and then what something reads."""
    m.case.opset = min(m.pick(OPSETS), m.max_opset)
    g = Graph(m, m.pick([T.FLOAT, T.FLOAT, T.FLOAT, T.FLOAT16]))
    kind = m.pick(["image", "image", "sequence", "table", "table", "any"])
    shape = {"image": [m.whole(1, 2), m.size(9), m.size(17), m.size(17)], "sequence": [m.whole(1, 2), m.size(33), m.size(17)],
             "table": [m.size(33), m.size(65)], "any": m.shape(1, 4, 1000)}[kind]
    g.input(shape)
    if m.chance(0.4):
        g.input(m.broadcastable(shape))
    want, weights = m.whole(2, 12), np.array([w for _, w in STEPS], float)
    for _ in range(60):
        if len(m.case.nodes) >= want:
            break
        step = STEPS[int(m.rng.choice(len(STEPS), p=weights / weights.sum()))][0]
        before = (len(m.case.nodes), len(g.values))
        try:
            step(g)
        except NoCase:
            if (len(m.case.nodes), len(g.values)) != before:
                raise
    if len(m.case.nodes) < 2:
        raise NoCase("too small")
    made = {n for node in m.case.nodes for n in node.output}
    read = {n for node in m.case.nodes for n in node.input}
    m.out(*[v.name for v in g.values if v.name in made and (v.name not in read or m.chance(0.1))])
    m.case.shapes = {v.name: (v.shape, v.elem) for v in g.values if v.name in made}
    m.judged("graph", 16, 4)
