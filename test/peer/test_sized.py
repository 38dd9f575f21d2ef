"""Arithmetic on sizes that only data decides, and tensors made with them, against ONNX Runtime. SEER_TEST: timeout=900 cost=20"""
import os
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from control import BOOL, F, I64, Graph, all_commands, check, refused
from peer import familyseer, run_tests

rng = np.random.default_rng(26)

def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)

# ---- a size that nothing but the caller, or something other than its tensor, wants

def counted():
    """Shape of what was found, and no more."""
    for build, feeds in [
            (lambda g: g.op("NonZero", g.input("x", F, [3, 4])), [{"x": v} for v in (normal(3, 4), np.zeros((3, 4), np.float32))]),
            (lambda g: g.op("Unique", g.input("x", I64, [9])), [{"x": np.array(v)} for v in ([3, 1, 1, 7, 7, 7, 2, 9, 0], [5] * 9)]),
            (lambda g: g.op("Compress", g.input("x", F, [5, 2]), g.input("c", BOOL, [5]), axis=0),
             [{"x": normal(5, 2), "c": np.array(c)} for c in ([True, False, True, True, False], [False] * 5)]),
            (lambda g: g.op("TopK", g.input("x", F, [7]), g.input("k", I64, [1]), outs=2)[0],
             [{"x": normal(7), "k": np.array([k])} for k in (1, 4, 7)]),
            (lambda g: g.op("NonMaxSuppression", g.input("b", F, [1, 6, 4]), g.input("s", F, [1, 2, 6]), g.const([3]), g.const([0.5], np.float32),
                            g.const([0.4], np.float32)),
             [{"b": np.sort(rng.random((1, 6, 4), np.float32) * 9), "s": s} for s in (rng.random((1, 2, 6), np.float32), np.zeros((1, 2, 6), np.float32))])]:
        for after in ("Shape", "Size", "both", "and itself"):
            g = Graph()
            found = build(g)
            made = [g.op("Shape" if after != "Size" else "Size", found)]
            if after == "both":
                made.append(g.op("Size", found))
            outputs = [(m, I64) for m in made]
            if after == "and itself":
                outputs.append((g.op("Identity", found), I64 if g.nodes[0].op_type in ("NonZero", "Unique", "NonMaxSuppression") else F))
            check(g.model(*outputs), feeds)

def then_more():
    """The size alone, after operators that only hand it on."""
    for last in ("Shape", "ReduceSum"):
        g = Graph(13)
        x = g.input("x", F, [3, 4])
        places = g.op("Transpose", g.op("NonZero", x), perm=[1, 0])
        taken = g.op("GatherND", x, places)
        outputs = [(g.op("Shape", taken), I64)]
        if last == "ReduceSum":
            outputs.append((g.op("ReduceSum", taken, keepdims=1), F))
        check(g.model(*outputs), [{"x": v} for v in (normal(3, 4), np.zeros((3, 4), np.float32), np.ones((3, 4), np.float32))], atol=1e-5)


def masks(n):
    """Some, others, none, all."""
    return [rng.random(n) < 0.5, rng.random(n) < 0.2, np.zeros(n, bool), np.ones(n, bool)]


def kept(g, rows=12, columns=4, name="x", mask="m"):
    """Rows of an input for which a mask holds, [<=rows, columns]."""
    if name not in [i.name for i in g.inputs]:
        g.input(name, F, [rows, columns])
    if mask not in [i.name for i in g.inputs]:
        g.input(mask, BOOL, [rows])
    return g.op("Compress", name, mask, axis=0)


def size_of(g, v, d=0):
    return g.op("Gather", g.op("Shape", v), g.const([d]), axis=0)


def agree(g, out, rows=12, columns=4, kind=F, rtol=1e-4, none=True, **more):
    many = [{"x": normal(rows, columns), "m": m, **more} for m in masks(rows) if none or m.any()]
    names = {i.name for i in g.inputs}
    outs = out if isinstance(out, list) else [(out, kind)]
    return check(g.model(*outs), [{k: v for k, v in feeds.items() if k in names} for feeds in many], rtol=rtol, atol=1e-5)


# ---- the same size, found twice

def found_twice():
    for op in ("Greater", "Less"):
        g = Graph()
        b, s, t = g.input("b", F, [20, 4]), g.input("s", F, [20]), g.const(0, np.float32)
        taken = []
        for x in (b, s):
            places = g.op("Transpose", g.op("NonZero", g.op(op, s, t)), perm=[1, 0])
            taken.append(g.op("GatherND", x, places))
        y = g.op("Mul", taken[0], g.op("Unsqueeze", taken[1], g.const([1])))
        check(g.model((y, F)), [{"b": normal(20, 4), "s": v} for v in (normal(20), -np.ones(20, np.float32), np.ones(20, np.float32))])
    g = Graph()  # not the same: the limits differ
    s = g.input("s", F, [9])
    parts = [g.op("Compress", s, g.op("Greater", s, g.const(limit, np.float32)), axis=0) for limit in (0, 0.5)]
    refused(g.model((g.op("Add", *parts), F)), "another size")
    for arithmetic in (lambda g, n: g.op("Sub", g.op("Add", n, g.const([5])), g.const([5])), lambda g, n: g.op("Div", g.op("Mul", n, g.const([6])), g.const([6])),
                       lambda g, n: g.op("Max", n, g.const([0])), lambda g, n: g.op("Min", n, g.const([12])),
                       lambda g, n: g.op("Sub", g.const([40]), g.op("Sub", g.const([40]), n))):
        g = Graph()
        y = kept(g)
        made = g.op("ConstantOfShape", g.op("Concat", arithmetic(g, size_of(g, y)), g.const([4]), axis=0), value=numpy_helper.from_array(np.array([1.5], np.float32)))
        agree(g, g.op("Mul", made, y))


# ---- operators whose result's shape is made of found sizes

def expanded():
    for shape, k in (([1, 2], 2), ([2], 2), ([1, 1, 2], 2), ([12, 1], None)):
        g = Graph()
        y = kept(g)
        n = size_of(g, y)
        wanted = g.op("Concat", n, g.const([2]), axis=0) if k else g.op("Concat", g.const([12]), n, axis=0)
        agree(g, g.op("Expand", g.const(normal(*shape), np.float32), wanted))
    g = Graph()  # what torch writes for expand(-1, ...)
    y = kept(g)
    wanted = g.op("Concat", size_of(g, y), g.const([-1]), axis=0)
    wanted = g.op("Where", g.op("Equal", wanted, g.const([-1, -1])), g.const([1, 1]), wanted)
    agree(g, g.op("Expand", y, wanted))
    g = Graph()
    y = kept(g)
    agree(g, g.op("Expand", g.op("Unsqueeze", y, g.const([1])), g.op("Concat", g.const([1]), size_of(g, y), g.const([1]), axis=0)))


def filled():
    g = Graph()
    y = kept(g)
    n = size_of(g, y)
    twice = g.op("Add", n, n)
    made = g.op("ConstantOfShape", g.op("Concat", twice, g.const([3]), n, axis=0), value=numpy_helper.from_array(np.array([7], np.int64)))
    assert (24, 3, 12) in agree(g, made, kind=I64)
    g = Graph()
    y = kept(g)
    limit = g.op("Squeeze", g.op("Mul", g.op("Add", size_of(g, y), g.const([1])), g.const([2])), g.const([0]))
    agree(g, g.op("Range", g.const(0), limit, g.const(1)), kind=I64)


def padded():
    for total in (30, 12, 15):
        g = Graph()
        y = kept(g)
        pads = g.op("Concat", g.const([0, 0]), g.op("Sub", g.const([total]), size_of(g, y)), g.const([0]), axis=0)
        assert agree(g, g.op("Pad", y, pads, g.const(2.5, np.float32))) == {(total, 4)}
    g = Graph()
    y = kept(g)
    agree(g, g.op("Pad", y, g.const([1, 2, 3, 0]), g.const(-1, np.float32)))
    g = Graph()
    n = size_of(g, kept(g))
    agree(g, g.op("Pad", g.input("z", F, [3, 2]), g.op("Concat", g.const([1, 0]), n, g.const([0]), axis=0)), z=normal(3, 2))
    g = Graph()
    refused(g.model((g.op("Pad", kept(g), g.const([1, 0, 0, 0]), mode="reflect"), F)), "must be constant where")


def reshaped():
    n = lambda g, y: size_of(g, y)
    cat = lambda g, *parts: g.op("Concat", *parts, axis=0)
    shapes = [lambda g, y: cat(g, n(g, y), g.const([2, 2])), lambda g, y: cat(g, g.op("Mul", n(g, y), g.const([4]))), lambda g, y: g.const([-1]),
              lambda g, y: g.const([-1, 2]), lambda g, y: cat(g, n(g, y), g.const([-1])), lambda g, y: cat(g, n(g, y), g.const([2, -1])),
              lambda g, y: cat(g, g.const([1]), n(g, y), g.const([1, 4])), lambda g, y: g.const([0, 4]), lambda g, y: cat(g, g.op("Mul", n(g, y), g.const([2])), g.const([-1])),
              lambda g, y: g.const([-1, 1, 4, 1]), lambda g, y: g.op("Shape", y)]
    for k, shape in enumerate(shapes):
        g = Graph()
        y = kept(g)
        agree(g, g.op("Reshape", y, shape(g, y)), none=k not in (4, 5, 8))  # ONNX Runtime divides 0 elements by 0
    g = Graph()  # there and back
    y = kept(g)
    flat = g.op("Reshape", y, g.const([-1]))
    agree(g, g.op("Add", g.op("Reshape", flat, g.const([-1, 4])), y))
    for wanted in ([4, -1], [2, 24]):
        g = Graph()
        refused(g.model((g.op("Reshape", kept(g), g.const(wanted)), F)), "dimension of its own")


def flattened():
    """Flatten, whatever becomes one with a found size: what stands behind it, nothing, or what stands in front of it where that is one."""
    for shape, axis in (((-1, 2, 2), 1), ((-1, 2, 2), 2), ((-1, 2, 2), 3), ((-1, 2, 2), 0), ((-1, 4), -1), ((1, -1, 4), 2), ((1, -1, 4), 1), ((-1, 4), 2)):
        g = Graph()
        y = g.op("Reshape", kept(g), g.const(shape))
        agree(g, g.op("Relu", g.op("Flatten", y, axis=axis)))
    g = Graph()  # a class's mask for each that was found, as detectors gather it
    y = g.op("Reshape", kept(g), g.const([-1, 2, 2, 1]))
    n = g.op("Squeeze", size_of(g, y), g.const([0]))
    at = g.op("Mul", g.op("Range", g.const(0), n, g.const(1)), g.const(2))
    agree(g, g.op("Gather", g.op("Flatten", y, axis=2), at, axis=0))


def repeated():
    """Each row as often as a number says that is data, with a bound: what lengthens speech. The bound comes from what limits the numbers."""
    def limited(g, n, how):
        if how == "clip":
            return g.op("Clip", g.op("Cast", n, to=I64), g.const(0), g.const(4))
        if how == "clip floats":
            return g.op("Cast", g.op("Ceil", g.op("Clip", n, g.const(0.0, np.float32), g.const(3.5, np.float32))), to=I64)
        if how == "min":
            return g.op("Min", g.op("Max", g.op("Cast", n, to=I64), g.const(0)), g.op("Add", g.const([3]), g.const([1])))
        return g.op("Where", g.op("Greater", n, g.const(1.5, np.float32)), g.const(4), g.const(1))

    for how in ("clip", "clip floats", "min", "where"):
        for rows in (5, 90):  # few sizes are sums of elements, of many only their bounds are known
            g = Graph()
            x, n = g.input("x", F, [rows, 3]), g.input("n", F, [rows])
            ends = g.op("CumSum", limited(g, n, how), g.const(0))
            total = g.op("Squeeze", g.op("Gather", ends, g.const([-1])), g.const([0])) if how != "min" else g.op("ReduceSum", limited(g, n, how), g.const([0]), keepdims=0)
            place = g.op("Unsqueeze", g.op("Range", g.const(0), total, g.const(1)), g.const([1]))
            row = g.op("ReduceSum", g.op("Cast", g.op("GreaterOrEqual", place, g.op("Unsqueeze", ends, g.const([0]))), to=I64), g.const([1]), keepdims=0)
            y = g.op("MatMul", g.op("Gather", x, row, axis=0), g.const(normal(3, 3), np.float32))
            check(g.model((y, F)), [{"x": normal(rows, 3), "n": v} for v in (rng.random(rows).astype(np.float32) * 6, np.full(rows, 9, np.float32), np.ones(rows, np.float32))])
    g = Graph()
    n = g.input("n", F, [5])
    total = g.op("ReduceSum", g.op("Max", g.op("Cast", n, to=I64), g.const(0)), g.const([0]), keepdims=0)
    refused(g.model((g.op("Range", g.const(0), total, g.const(1)), I64)), "without a bound")


def resized():
    """Pictures, as many as were found, each resized: by scales that leave their number alone, or along the other dimensions only."""
    for mode in ("nearest", "linear", "cubic"):
        for more in ({"scales": [1, 1, 2, 1.5]}, {"axes": [2, 3], "sizes": [5, 3]}, {"axes": [-1], "scales": [2.0]}):
            if mode == "cubic" and more.get("axes") == [-1]:
                continue  # ONNX Runtime has no cubic along one dimension
            g = Graph(opset=18)
            y = g.op("Reshape", kept(g, columns=16), g.const([-1, 1, 4, 4]))
            scales = g.const(more["scales"], np.float32) if "scales" in more else ""
            sizes = [g.const(more["sizes"])] if "sizes" in more else []
            agree(g, g.op("Resize", y, "", scales, *sizes, mode=mode, **({"axes": more["axes"]} if "axes" in more else {})), columns=16, none=False)
    g = Graph(opset=18)
    y = g.op("Reshape", kept(g, columns=16), g.const([-1, 1, 4, 4]))
    refused(g.model((g.op("Resize", y, "", "", g.const([12, 1, 8, 8])), F)), "its scale must be 1")
    g = Graph(opset=18)
    y = g.op("Reshape", kept(g, columns=16), g.const([1, -1, 4, 4]))
    refused(g.model((g.op("Resize", y, "", g.const([1, 2, 1, 1], np.float32)), F)), "its scale must be 1")


def sliced_from(start, end):
    g = Graph()
    y = kept(g)
    n = size_of(g, y)
    z = g.input("z", I64, [1]) if "z" in (start, end) else None
    begin = {None: g.const([0]), "n-3": g.op("Sub", n, g.const([3])), "z": z}.get(start) or g.const([start])
    stop = z if end == "z" else g.op("Add", n, g.const([end])) if isinstance(start, str) or end <= 0 else g.const([end])
    for x in (y, "x"):
        out = g.op("Slice", x, begin, stop, g.const([0]))
        for value in (3, -2, 100, -100):
            agree(g, out, z=np.array([value]))
            if z is None:
                break


def sliced():
    for start, end in ((None, 0), (None, -2), (2, 0), ("n-3", 0), ("n-3", -1), (None, "z"), ("z", 9)):
        sliced_from(start, end)
    g = Graph()
    n = size_of(g, kept(g, columns=12))
    agree(g, g.op("Slice", "x", g.op("Concat", n, g.const([1]), axis=0), g.const([12, 9]), g.const([0, 1]), g.const([1, 2])), columns=12)


def multiplied():
    """Attention among the tokens that are kept, one head and several."""
    g = Graph()
    y = kept(g, columns=8)
    scores = g.op("MatMul", g.op("MatMul", y, g.const(normal(8, 8), np.float32)), g.op("Transpose", y, perm=[1, 0]))
    agree(g, g.op("MatMul", g.op("Softmax", scores), y), columns=8)
    g = Graph()
    y = kept(g, columns=8)
    heads = [g.op("Transpose", g.op("Reshape", g.op("MatMul", y, g.const(normal(8, 8), np.float32)), g.op("Concat", size_of(g, y), g.const([2, 4]), axis=0)),
                  perm=perm) for perm in ([1, 0, 2], [1, 2, 0], [1, 0, 2])]
    mixed = g.op("MatMul", g.op("Softmax", g.op("MatMul", heads[0], heads[1]), axis=-1), heads[2])
    agree(g, g.op("Reshape", g.op("Transpose", mixed, perm=[1, 0, 2]), g.op("Concat", size_of(g, y), g.const([8]), axis=0)), columns=8)
    g = Graph()  # a sum over what was found, by a vector
    y = kept(g)
    column = g.op("Squeeze", g.op("Slice", y, g.const([0]), g.const([1]), g.const([1])), g.const([1]))
    agree(g, g.op("MatMul", column, y))
    for turn_a, turn_b in ((0, 1), (1, 0)):  # among each other, or summed over what was found
        g = Graph()
        y = kept(g)
        agree(g, g.op("Gemm", y, y, transA=turn_a, transB=turn_b, alpha=0.5), rtol=1e-4)
        g = Graph()
        y = kept(g)
        added = g.op("Expand", g.const([[0.25]], np.float32), g.op("Concat", size_of(g, y), size_of(g, y), axis=0)) if turn_b else g.const(normal(4), np.float32)
        agree(g, g.op("Gemm", y, y, added, transA=turn_a, transB=turn_b, beta=2.0), rtol=1e-4)
    g = Graph()
    refused(g.model((g.op("MatMul", g.const(normal(3, 12), np.float32), kept(g)), F)), "another size")


# ---- random arithmetic

def random_size(g, sizes, depth):
    """A size made of found ones, at least 0, and what it is at most."""
    if depth == 0 or rng.random() < 0.2:
        return sizes[rng.integers(len(sizes))] if rng.random() < 0.7 else (g.const([int(rng.integers(0, 5))]), 5)
    (a, most_a), (b, most_b) = random_size(g, sizes, depth - 1), random_size(g, sizes, depth - 1)
    kind = rng.integers(7)
    number = int(rng.integers(1, 4))
    if kind == 0:
        return g.op("Add", a, b), most_a + most_b
    if kind == 1:
        return g.op("Max", g.op("Sub", a, b), g.const([0])), most_a
    if kind == 2 and most_a < 40:
        return g.op("Mul", a, g.const([number])), most_a * number
    if kind == 3:
        return g.op("Div", a, g.const([number])), most_a
    if kind == 4:
        return g.op("Min", a, b), min(most_a, most_b)
    if kind == 5:
        return g.op("Gather", g.op("Concat", b, a, axis=0), g.const([1])), most_a
    return g.op("Unsqueeze", g.op("Squeeze", g.op("Max", a, b), g.const([0])), g.const([0])), max(most_a, most_b)


def random_arithmetic():
    for _ in range(30):
        g = Graph()
        a, b = kept(g, 9, 3), g.op("Compress", g.input("y", F, [7, 3]), g.input("k", BOOL, [7]), axis=0)
        sizes = [(size_of(g, a), 9), (size_of(g, b), 7)]
        made, most = random_size(g, sizes, 3)
        outs = [(g.op("Identity", made), I64)]
        for use in rng.permutation(4)[:2]:
            if use == 0:
                y = g.op("Expand", g.const(normal(1, 3), np.float32), g.op("Concat", made, g.const([3]), axis=0))
            elif use == 1:
                y = g.op("Add", g.op("ConstantOfShape", g.op("Concat", g.const([2]), made, axis=0)), g.const(normal(2, 1), np.float32))
            elif use == 2:
                y = g.op("Slice", a, g.const([0]), made, g.const([0]))
            else:
                y = g.op("Pad", b, g.op("Concat", g.const([0, 0]), made, g.const([1]), axis=0), g.const(3, np.float32))
            outs += [(g.op("Tanh", y), F), (g.op("ReduceSum", y, g.const([0]), keepdims=0), F)]
        many = [{"x": normal(9, 3), "m": m, "y": normal(7, 3), "k": k} for m, k in zip(masks(9), masks(7)[::-1])]
        check(g.model(*outs), many, rtol=1e-4, atol=1e-5)


# ---- what stays refused, and how sizes that are inputs are given

def refusals():
    for op, shape in (("ConstantOfShape", None), ("Reshape", [2, 6]), ("Expand", [1, 6])):
        g = Graph()
        x, s = (g.input("x", F, shape) if shape else None), g.input("s", I64, [2])
        model = g.model((g.op(op, *([x, s] if x else [s])), F))
        refused(model, "--bind")
        with tempfile.TemporaryDirectory() as tmp:
            onnx.save(model, os.path.join(tmp, "m.onnx"))
            familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O0", "--bind", "s=[2,6]")


def commands():
    """verify, bench, tune and C sources know what is padded, cut and multiplied at its bound."""
    g = Graph()
    y = kept(g, columns=8)
    scores = g.op("Softmax", g.op("MatMul", y, g.op("Transpose", y, perm=[1, 0])))
    pads = g.op("Concat", g.const([0, 0]), g.op("Sub", g.const([16]), size_of(g, y)), g.const([0]), axis=0)
    model = g.model((g.op("Pad", g.op("MatMul", scores, y), pads), F), (g.op("Expand", g.const([[2.0]], np.float32), g.op("Shape", y)), F))
    all_commands(model)


if __name__ == "__main__":
    run_tests([("counted", counted), ("then more", then_more), ("found twice", found_twice), ("expanded", expanded), ("filled", filled), ("padded", padded),
               ("reshaped", reshaped), ("flattened", flattened), ("repeated", repeated), ("resized", resized), ("sliced", sliced), ("multiplied", multiplied), ("random arithmetic", random_arithmetic), ("refusals", refusals),
               ("commands", commands)])
