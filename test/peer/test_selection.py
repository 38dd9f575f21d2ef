"""Operators whose result's size only data decides, and what detection networks do with it, against ONNX Runtime. SEER_TEST: timeout=600"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from control import BOOL, F, I32, I64, Graph, check, refused
from peer import familyseer, run_tests

rng = np.random.default_rng(11)


def boxes(n, batch=1, center=False):
    at, size = rng.uniform(0, 10, (batch, n, 2)), rng.uniform(0.5, 5, (batch, n, 2))
    pair = np.concatenate([at, size], -1) if center else np.concatenate([at, at + size], -1)
    if not center and rng.integers(2):
        pair = pair[..., [2, 1, 0, 3]]  # other corners
    return pair.astype(np.float32)


# ---- the operators alone

def nms(opset, center, classes=3, batch=2, n=37, most=5, iou=0.4, score=0.3, data=False):
    g = Graph(opset)
    b, s = g.input("boxes", F, [batch, n, 4]), g.input("scores", F, [batch, classes, n])
    parts = [b, s]
    if most is not None:
        parts.append(g.input("most", I64, [1]) if data else g.const([most]))
    if iou is not None:
        parts.append(g.input("iou", F, [1]) if data else g.const([iou], np.float32))
    if score is not None:
        parts.append(g.input("score", F, [1]) if data else g.const([score], np.float32))
    model = g.model((g.op("NonMaxSuppression", *parts, center_point_box=center), I64))
    many = []
    for k in range(4):
        feeds = {"boxes": boxes(n, batch, center), "scores": rng.random((batch, classes, n), np.float32)}
        if k == 1:
            feeds["scores"] = np.round(feeds["scores"], 1)  # ties
        if k == 2:
            feeds["scores"] *= 0.35
        if k == 3 and score is not None:
            feeds["scores"] *= 0  # nothing is found
        if data:
            feeds.update(most=np.array([k + 1]), iou=np.array([0.2 * k + 0.1], np.float32), score=np.array([0.2 * k], np.float32))
        many.append(feeds)
    return check(model, many)


def all_nms():
    assert (0, 3) in nms(11, 0)
    nms(11, 1)
    nms(10, 0, classes=1, batch=1, n=200, most=1000, iou=0.6)
    nms(11, 0, most=4, iou=None, score=None)
    nms(11, 0, most=3, iou=0.5, score=None)
    nms(11, 1, data=True)
    assert nms(11, 0, most=0) == {(0, 3)}


def nonzero():
    for kind, dtype, shape in [(F, np.float32, [5, 4, 3]), (BOOL, bool, [17]), (I32, np.int32, [4, 6]), (I64, np.int64, [1, 1]),
                               (TensorProto.FLOAT16, np.float16, [3, 5])]:
        g = Graph()
        model = g.model((g.op("NonZero", g.input("x", kind, shape)), I64))
        values = [rng.integers(-1, 2, shape).astype(dtype), np.zeros(shape, dtype), np.ones(shape, dtype)]
        values[0].reshape(-1)[0] = -0.0
        assert len(check(model, [{"x": v} for v in values])) > 1


def unique():
    for k, (shape, axis) in enumerate([([40], None), ([6, 7], None), ([9, 3], 0), ([2, 8, 3], 1), ([3, 2, 6], -1)]):
        for is_sorted in (0, 1):
            kind, dtype = ((F, np.float32), (I64, np.int64), (TensorProto.INT8, np.int8))[k % 3]
            g = Graph()
            attrs = {"sorted": is_sorted} if axis is None else {"sorted": is_sorted, "axis": axis}
            out = g.op("Unique", g.input("x", kind, shape), outs=4, **attrs)
            model = g.model((out[0], kind), *[(o, I64) for o in out[1:]])
            check(model, [{"x": rng.integers(-high, high + 1, shape).astype(dtype)} for high in (0, 1, 4)])


def compress():
    for shape, axis, n in [([5, 6], None, 30), ([5, 6], None, 7), ([5, 6], 0, 5), ([5, 6], 1, 4), ([2, 3, 4], -1, 4)]:
        g = Graph()
        attrs = {} if axis is None else {"axis": axis}
        y = g.op("Compress", g.input("x", F, shape), g.input("c", BOOL, [n]), **attrs)
        many = [{"x": rng.standard_normal(shape).astype(np.float32), "c": c} for c in
                (rng.random(n) < 0.5, np.zeros(n, bool), np.ones(n, bool))]
        check(g.model((y, F)), many)


def data_range():
    g = Graph()
    found = g.op("NonZero", g.input("x", F, [30]))
    n = g.op("Gather", g.op("Shape", found), g.const(1), axis=0)
    y = g.op("Range", g.const(0), n, g.const(1))
    z = g.op("Range", g.const(3), n, g.const(4))
    check(g.model((y, I64), (z, I64), (g.op("Size", found), I64)), [{"x": (rng.random(30) < p).astype(np.float32)} for p in (0, 0.1, 0.5, 1)])
    g = Graph()
    refused(g.model((g.op("Range", g.const(0), g.input("n", I64, []), g.const(1)), I64)), "without a bound")
    g = Graph()
    refused(g.model((g.op("Range", g.const(0, np.float32), g.input("n", F, []), g.const(0.5, np.float32)), F)), "without a bound")


def topk():
    g = Graph()
    k = g.input("k", I64, [1])
    v, i = g.op("TopK", g.input("x", F, [4, 9]), k, outs=2, axis=1)
    check(g.model((v, F), (i, I64)), [{"x": rng.standard_normal((4, 9)).astype(np.float32), "k": np.array([n])} for n in (1, 5, 9)])
    for largest in (0, 1):  # the best of those that pass a threshold
        g = Graph()
        x = g.input("x", F, [50])
        keep = g.op("Squeeze", g.op("NonZero", g.op("Greater", x, g.const(0.2, np.float32))), g.const([0]))
        some = g.op("Gather", x, keep)
        n = g.op("Min", g.op("Shape", some), g.const([7]))
        v, i = g.op("TopK", some, n, outs=2, largest=largest)
        at = g.op("Gather", keep, i)
        check(g.model((v, F), (at, I64)), [{"x": (rng.permutation(50) / 25 + shift).astype(np.float32)} for shift in (-1.9, -1, 0)])


# ---- what reads such values

def detector():
    """As torchvision's and YOLO's exports end: NonMaxSuppression, columns of the result, boxes and classes by them."""
    n, classes = 120, 4
    g = Graph()
    x = g.input("features", F, [1, 8, n])
    w = numpy_helper.from_array(rng.standard_normal((classes, 8, 1)).astype(np.float32), "w")
    g.constants.append(w)
    b = g.input("boxes", F, [1, n, 4])
    scores = g.op("Sigmoid", g.op("Conv", x, "w"))
    found = g.op("NonMaxSuppression", b, scores, g.const([10]), g.const([0.5], np.float32), g.const([0.6], np.float32))
    box = g.op("Squeeze", g.op("Slice", found, g.const([2]), g.const([3]), g.const([1])), g.const([1]))
    label = g.op("Gather", found, g.const(1), axis=1)
    picked = g.op("Gather", g.op("Squeeze", b, g.const([0])), box, axis=0)
    score = g.op("GatherND", scores, found)
    wide = g.op("Concat", g.op("Cast", g.op("Unsqueeze", label, g.const([1])), to=F), g.op("Unsqueeze", score, g.const([1])),
                g.op("Mul", picked, g.const([1, 2, 1, 2], np.float32)), axis=1)
    first = g.op("Slice", wide, g.const([0]), g.const([15]), g.const([0]))
    tail = g.op("Slice", wide, g.const([1]), g.const([-1]), g.const([0]), g.const([2]))
    turned = g.op("Transpose", picked, perm=[1, 0])
    total = g.op("ReduceSum", picked, g.const([1]), keepdims=0)
    rows = g.op("Reshape", picked, g.const([-1, 2, 2]))
    model = g.model((picked, F), (label, I64), (wide, F), (first, F), (tail, F), (turned, F), (total, F), (rows, F),
                    (g.op("Shape", wide), I64), (g.op("Softmax", wide, axis=1), F))
    many = [{"features": rng.standard_normal((1, 8, n)).astype(np.float32) * size, "boxes": boxes(n)} for size in (0, 0.3, 1, 3)]
    shapes = check(model, many, rtol=1e-4)
    assert (0, 4) in shapes, shapes


def heads():
    """A box head behind a threshold: products and convolutions over as many rows as there are."""
    g = Graph()
    x, mask = g.input("x", F, [12, 3, 5, 5]), g.input("mask", BOOL, [12])
    for name, shape in (("k", (4, 3, 3, 3)), ("m", (36, 6))):
        g.constants.append(numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name))
    some = g.op("Compress", x, mask, axis=0)
    flat = g.op("Flatten", g.op("Relu", g.op("Conv", some, "k")))
    y = g.op("Gemm", flat, "m")
    best = g.op("ArgMax", g.op("MatMul", flat, "m"), axis=1, keepdims=0)
    check(g.model((y, F), (best, I64), (g.op("MaxPool", some, kernel_shape=[2, 2]), F)),
          [{"x": rng.standard_normal((12, 3, 5, 5)).astype(np.float32), "mask": m} for m in
           (rng.random(12) < 0.5, np.zeros(12, bool), np.ones(12, bool))], rtol=1e-4)


FLOATS = (np.random.default_rng(3).standard_normal((9, 7)) * 3).astype(np.float32)


def masks(n):
    """One, some, all and none of n."""
    return [np.arange(n) == n // 2, (rng.random(n) < 0.5) | (np.arange(n) == 1), np.ones(n, bool), np.zeros(n, bool)]


def reductions():
    """Along the dimension whose size is data: what lies beyond it does not count."""
    for kind in ("Sum", "Mean", "Max", "Min", "Prod", "SumSquare", "L1", "L2", "LogSum", "LogSumExp"):
        for axes, keeps in (([0], 0), ([0, 1], 1), ([-1, 0], 0), (None, 0), ([1], 1)):
            g = Graph()
            some = g.op("Compress", g.input("x", F, [9, 7]), g.input("c", BOOL, [9]), axis=0)
            attrs = {} if axes is None else {"axes": axes}
            if kind == "Sum":
                y = g.op("ReduceSum", some, *([] if axes is None else [g.const(axes)]), keepdims=keeps)
            else:
                y = g.op("Reduce" + kind, some, keepdims=keeps, **attrs)
            x = np.abs(FLOATS) + np.float32(0.1) if kind == "LogSum" else FLOATS
            # Of nothing: ONNX Runtime refuses, or NaN; and it gives another shape where axes count from the end.
            full = axes != [-1, 0] and kind not in ("Max", "Min", "Mean")
            check(g.model((y, F)), [{"x": x, "c": c} for c in masks(9)[:4 if full else 3]], rtol=1e-4)
    for kind in (I64, I32):  # the least of nothing is not less than a number's
        dtype = np.int64 if kind == I64 else np.int32
        g = Graph()
        c = g.input("c", BOOL, [5])
        some, small = (g.op("Compress", g.input(name, kind, [6, 5]), c, axis=1) for name in ("x", "small"))
        # A product that does not fit is anything.
        model = g.model(*[(g.op("Reduce" + k, of, axes=[1]), kind) for k, of in (("Max", some), ("Min", some), ("Prod", small))])
        top = np.iinfo(dtype).max
        small = rng.integers(-9, 9, (6, 5)).astype(dtype)
        x = np.where(rng.random((6, 5)) < 0.5, small, rng.choice([top, -top], (6, 5))).astype(dtype)
        check(model, [{"x": x, "small": small, "c": c} for c in masks(5)[:3]])
    g = Graph()  # both dimensions
    some = g.op("Compress", g.op("Compress", g.input("x", F, [9, 7]), g.input("c", BOOL, [9]), axis=0), g.input("d", BOOL, [7]), axis=1)
    model = g.model((g.op("ReduceMean", some, axes=[0, 1]), F), (g.op("ReduceMax", some, axes=[1], keepdims=0), F), (g.op("ReduceMean", some, axes=[0]), F))
    check(model, [{"x": FLOATS, "c": c, "d": d} for c in masks(9)[:3] for d in masks(7)[:3]])


def chosen_along():
    """ArgMax, Softmax and running sums along it."""
    for axis in (0, 1):
        n = (9, 7)[axis]
        g = Graph()
        some = g.op("Compress", g.input("x", F, [9, 7]), g.input("c", BOOL, [n]), axis=axis)
        outs = [(g.op("Softmax", some, axis=axis), F), (g.op("LogSoftmax", some, axis=axis), F)]
        for reverse in (0, 1):
            outs += [(g.op("CumSum", some, g.const(axis), reverse=reverse, exclusive=e), F) for e in (0, 1)]
        outs += [(g.op("CumSum", some, g.const(1 - axis), reverse=1), F)]
        check(g.model(*outs), [{"x": FLOATS, "c": c} for c in masks(n)], rtol=1e-4)
        g = Graph()
        some = g.op("Compress", g.input("x", F, [9, 7]), g.input("c", BOOL, [n]), axis=axis)
        model = g.model((g.op("ArgMax", some, axis=axis, keepdims=0), I64), (g.op("ArgMin", some, axis=axis), I64), (g.op("Hardmax", some, axis=axis), F))
        check(model, [{"x": FLOATS - shift, "c": c} for c in masks(n)[:3] for shift in (0, np.float32(50), np.float32(-50))])
    g = Graph(opset=11)  # of old: all from the axis on are one
    some = g.op("Compress", g.input("x", F, [4, 9, 7]), g.input("c", BOOL, [9]), axis=1)
    check(g.model((g.op("Softmax", some, axis=1), F)), [{"x": rng.standard_normal((4, 9, 7)).astype(np.float32), "c": c} for c in masks(9)[:3]], rtol=1e-4)


def joined():
    """Concat along it: parts with sizes, and without, in any order."""
    for order in ("ab", "ba", "aba", "bab", "aa", "cab"):
        g = Graph()
        x, b = g.input("x", F, [6, 5]), g.input("b", F, [3, 5])
        parts = {"a": g.op("Compress", x, g.input("c", BOOL, [6]), axis=0), "b": b, "c": g.op("Compress", b, g.input("d", BOOL, [3]), axis=0)}
        y = g.op("Concat", *[parts[p] for p in order], axis=0)
        model = g.model((y, F), (g.op("Shape", y), I64), (g.op("ReduceSum", y, g.const([0])), F))
        check(model, [{"x": rng.standard_normal((6, 5)).astype(np.float32), "b": rng.standard_normal((3, 5)).astype(np.float32), "c": c, "d": d}
                      for c in masks(6) for d in masks(3)[1:]])
    g = Graph()  # detections of two classes, and how many there are
    found = [g.op("NonZero", g.op("Greater", g.input(n, F, [k]), g.const(0.3, np.float32))) for n, k in (("p", 20), ("q", 11))]
    both = g.op("Concat", *found, axis=1)
    count = g.op("Gather", g.op("Shape", both), g.const(1), axis=0)
    scores = g.op("Concat", "p", "q", axis=0)
    flat = g.op("Squeeze", both, g.const([0]))
    model = g.model((both, I64), (g.op("Range", g.const(0), count, g.const(1)), I64), (g.op("Gather", scores, flat), F), (g.op("ReduceMax", flat, axes=[0]), I64))
    check(model, [{"p": rng.random(20).astype(np.float32), "q": (rng.random(11) * s).astype(np.float32)} for s in (0, 1, 0.5)])
    g = Graph()  # another dimension with a size, the same for all
    a = g.op("Compress", g.op("Compress", g.input("x", F, [6, 5]), g.input("c", BOOL, [6]), axis=0), g.input("d", BOOL, [5]), axis=1)
    check(g.model((g.op("Concat", a, g.op("Neg", a), axis=0), F), (g.op("Concat", a, a, axis=-1), F)),
          [{"x": rng.standard_normal((6, 5)).astype(np.float32), "c": c, "d": d} for c in masks(6)[:3] for d in masks(5)[:3]])


def from_the_end():
    """Negative indices count from the size, not from the bound."""
    g = Graph()
    some = g.op("Compress", g.input("x", F, [20]), g.input("c", BOOL, [20]))
    y = g.op("Gather", some, g.input("i", I64, [3]))
    check(g.model((y, F)), [{"x": np.arange(20, dtype=np.float32), "c": np.arange(20) % step == 0, "i": np.array([-1, 0, -2])}
                            for step in (1, 2, 3)])


def chained():
    """NonZero of what is data-sized, and Unique of it."""
    g = Graph()
    some = g.op("Compress", g.input("x", I64, [6, 8]), g.input("c", BOOL, [8]), axis=1)
    values = g.op("Compress", g.input("y", I64, [9]), g.input("d", BOOL, [9]))
    out = g.op("Unique", values, outs=4)
    many = [{"x": rng.integers(0, 2, (6, 8)), "c": rng.random(8) < p, "y": rng.integers(0, 4, 9), "d": rng.random(9) < p}
            for p in (0.5, 1, 0)]
    check(g.model((g.op("NonZero", some), I64), *[(o, I64) for o in out]), many[:2])


# ---- loops that run as often as data says

def loop(build, values, trip=None, go=None, scans=0, outer=(), part=F):
    """build(g, number, *values) -> condition, values, parts: names of the body's graph `g`."""
    g, b = Graph(), Graph()
    b.n = 1000
    for name, kind, shape in outer:
        g.input(name, kind, shape)
    kinds = [k for k, _ in values]
    formal = [f"formal{k}" for k in range(len(values))]
    ends = build(b, "number", *formal)
    for k, end in enumerate(ends):  # each output of a body has a name of its own
        b.nodes.append(helper.make_node("Identity", [end], [f"end{k}"]))
    parts = [BOOL, *kinds, *[part] * scans]
    body = helper.make_graph(b.nodes, "body", [helper.make_tensor_value_info("number", I64, []), helper.make_tensor_value_info("go", BOOL, []),
                                               *[helper.make_tensor_value_info(f, k, s) for f, (k, s) in zip(formal, values)]],
                             [helper.make_tensor_value_info(f"end{k}", kind, None) for k, kind in enumerate(parts)], b.constants)
    first = [g.input(f"x{k}", kind, shape) for k, (kind, shape) in enumerate(values)]
    trip = trip(g) if callable(trip) else trip or ""
    go = go(g) if callable(go) else go or ""
    out = g.op("Loop", trip, go, *first, outs=len(values) + scans, body=body)
    out = [out] if isinstance(out, str) else out
    return g.model(*zip(out, parts[1:]))


def loops():
    def fibonacci(b, number, x, y):  # what enters as one leaves as the other
        return b.const(True, bool), y, b.op("Add", x, y)

    model = loop(fibonacci, [(F, [2, 3])] * 2, trip=lambda g: g.input("n", I64, []))
    x = {f"x{k}": rng.standard_normal((2, 3)).astype(np.float32) for k in range(2)}
    check(model, [{**x, "n": np.array(n)} for n in (0, 1, 2, 7)], rtol=1e-4)

    def halve(b, number, x):  # while the sum of squares is large
        y = b.op("Mul", x, b.const(0.5, np.float32))
        return b.op("Greater", b.op("ReduceSum", b.op("Mul", y, y), keepdims=0), b.const(0.3, np.float32)), y, b.op("ReduceMax", y, keepdims=0)

    model = loop(halve, [(F, [4, 5])], trip=lambda g: g.const(20), go=lambda g: g.input("c", BOOL, []), scans=1)
    shapes = check(model, [{"x0": rng.standard_normal((4, 5)).astype(np.float32) * size, "c": np.array(go)}
                           for size, go in ((1, True), (100, True), (1e9, True), (0, True), (1, False))])
    assert {(0,), (1,), (20,)} <= shapes, shapes

    def step(b, number, x):  # a product with what is outside, its convolution hoisted
        inner = b.op("Tanh", b.op("Add", b.op("MatMul", x, "w"), b.op("Relu", "outside")))
        return b.const(True, bool), inner

    def product(body):
        made = loop(body, [(F, [3, 6])], trip=lambda g: g.input("n", I64, [1]), outer=[("w", F, [6, 6]), ("outside", F, [3, 6])])
        check(made, [{"x0": rng.standard_normal((3, 6)).astype(np.float32), "w": rng.standard_normal((6, 6)).astype(np.float32),
                      "outside": rng.standard_normal((3, 6)).astype(np.float32), "n": np.array([n])} for n in (0, 1, 5)], rtol=1e-4)

    product(step)
    product(lambda b, number, x: (b.const(True, bool), b.op("Mul", b.op("MatMul", "outside", "w"), x)))  # all but the last goes out

    def nested(b, number, x):
        c = Graph()
        c.n = 5000
        c.nodes.append(helper.make_node("Add", ["inner", "two"], ["sum"]))
        c.nodes.append(helper.make_node("Less", ["sum", "most"], ["any"]))
        c.nodes.append(helper.make_node("ReduceMax", ["sum"], ["top"], keepdims=0))
        c.nodes.append(helper.make_node("Less", ["top", "most"], ["more"]))
        inner = helper.make_graph(c.nodes, "inner", [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("c", BOOL, []),
                                                     helper.make_tensor_value_info("inner", F, [3])],
                                  [helper.make_tensor_value_info("more", BOOL, None), helper.make_tensor_value_info("sum", F, None)],
                                  [numpy_helper.from_array(np.array(2, np.float32), "two"), numpy_helper.from_array(np.array(9, np.float32), "most")])
        y = b.op("Loop", "", b.const(True, bool), b.op("Mul", x, b.const(0.25, np.float32)), body=inner)
        return b.const(True, bool), y, b.op("Add", y, b.op("Cast", number, to=F))

    model = loop(nested, [(F, [3])], trip=lambda g: g.op("Min", g.input("n", I64, []), g.const(6)), scans=1)
    check(model, [{"x0": rng.standard_normal(3).astype(np.float32), "n": np.array(n)} for n in (1, 3, 9)], rtol=1e-4)

    long = loop(lambda b, number, x: (b.const(True, bool), b.op("Add", x, b.op("Cast", number, to=F))), [(F, [4])], trip=lambda g: g.const(10000))
    check(long, [{"x0": np.zeros(4, np.float32)}])

    grows = loop(lambda b, number, x: (b.const(True, bool), b.op("Concat", x, x, axis=0)), [(F, None)], trip=lambda g: g.input("n", I64, []))
    grows.graph.input[0].CopyFrom(helper.make_tensor_value_info("x0", F, [2]))
    refused(grows, "before and")
    refused(loop(lambda b, number, x: (b.const(True, bool), x, x), [(F, [2])], trip=lambda g: g.input("n", I64, []), scans=1), "have a bound")


def refusals():
    def compressed(g):
        return g.op("Compress", g.input("x", F, [8, 4]), g.input("c", BOOL, [8]), axis=0)

    cases = [(lambda g, s: g.op("LayerNormalization", s, g.const(np.ones((8, 4)), np.float32), axis=0), "reduces it"),
             (lambda g, s: g.op("ArgMax", s, axis=0, select_last_index=1), "select_last_index"),
             (lambda g, s: g.op("Add", s, g.const(np.ones((8, 4)), np.float32)), "another size"),
             (lambda g, s: g.op("Concat", s, g.const(np.ones((8, 2)), np.float32), axis=1), "another size there"), (lambda g, s: g.op("Gather", s, g.const([-1])), "0 or more"),
             (lambda g, s: g.op("Reshape", s, g.const([4, 8])), "dimension of its own")]
    for build, text in cases:
        g = Graph()
        refused(g.model((build(g, compressed(g)), F)), text)
    for kind, name in ((TensorProto.FLOAT8E4M3FN, "f8e4m3fn"), (TensorProto.FLOAT8E5M2, "f8e5m2"), (TensorProto.INT4, "i4"), (TensorProto.UINT4, "u4")):
        for op in ("NonZero", "Unique"):
            g = Graph(opset=21)
            refused(g.model((g.op(op, g.input("x", kind, [6])), I64 if op == "NonZero" else kind)), f"({op}) with inputs")
            g = Graph(opset=21)
            refused(g.model((g.op(op, g.op("Cast", g.const([1, 0]), to=kind)), I64 if op == "NonZero" else kind)), f"is {name}; floats of a byte")


def commands():
    """run, verify and bench know how much there is; a second run may have another size."""
    g = Graph()
    model = g.model((g.op("NonZero", g.input("x", F, [3, 8])), I64))
    with tempfile.TemporaryDirectory() as tmp:
        path, folder = os.path.join(tmp, "m.onnx"), os.path.join(tmp, "out")
        onnx.save(model, path)
        familyseer("compile", path, "-o", folder, "-O1")
        x = np.zeros((3, 8), np.float32)
        x[1, 2] = x[2, 5] = 1
        np.save(os.path.join(tmp, "x.npy"), x)
        given = ["-i", f"x={tmp}/x.npy"]
        familyseer("run", folder, *given, "-o", os.path.join(tmp, "y"))
        got = np.load(os.path.join(tmp, "y", os.listdir(os.path.join(tmp, "y"))[0]))
        np.testing.assert_array_equal(got, np.stack(np.nonzero(x)))
        name = model.graph.output[0].name
        np.save(os.path.join(tmp, "bad.npy"), np.zeros((2, 3), np.int64))
        assert "(2, 2)" in familyseer("run", folder, *given).stdout or "2x2" in familyseer("run", folder, *given).stdout
        done = familyseer("run", folder, *given, "--expect", f"{name}={tmp}/bad.npy", check=False)
        assert done.returncode == 1, done.stdout
        assert "ok" in familyseer("verify", folder, path, *given).stdout
        assert "host" in familyseer("bench", folder, "--profile", "--duration", "1s").stdout
        assert "at most" in open(os.path.join(folder, "model.h")).read() or "<=24" in open(os.path.join(folder, "model.h")).read()


run_tests([("NonMaxSuppression", all_nms), ("NonZero", nonzero), ("Unique", unique), ("Compress", compress), ("Range", data_range),
           ("TopK", topk), ("detector", detector), ("heads", heads), ("reductions", reductions),
           ("chosen along", chosen_along), ("joined", joined), ("from the end", from_the_end), ("chained", chained),
           ("Loop", loops), ("refusals", refusals), ("commands", commands)])
