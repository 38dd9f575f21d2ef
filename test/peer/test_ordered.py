"""Scatters, TopK and running sums, at sizes where they are kernels and where they run on the host, in every type: against NumPy,
which takes updates one after another, and ONNX Runtime where it has the type. SEER_TEST: timeout=300 cost=30"""
import os
import tempfile

import numpy as np
import onnx
from onnx import helper

from control import BOOL, F, I64, Graph, check, fs, refused
from peer import familyseer, reference, run_tests, schedules

rng = np.random.default_rng(64)
TYPES = [np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool]


def kind_of(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def numbers(dtype, *shape, ties=False):
    if np.dtype(dtype) == bool:
        return rng.random(shape) < 0.5
    if np.issubdtype(dtype, np.floating):
        x = rng.standard_normal(shape)
        return (np.round(x * 2) / 2 if ties else x).astype(dtype)
    limit = np.iinfo(dtype)
    return rng.integers(-3 if limit.min else 0, 4, shape).astype(dtype) if ties else rng.integers(limit.min, limit.max, shape, dtype=dtype, endpoint=True)


def same(label, got, want, rtol=0.0):
    assert got.shape == want.shape and got.dtype == want.dtype, f"{label}: {got.dtype}{got.shape}, should be {want.dtype}{want.shape}"
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=rtol, err_msg=label)


class Many:
    """Nodes with their answers, in one model."""

    def __init__(self, opset=18):
        self.g, self.feeds, self.outputs, self.want = Graph(opset), {}, [], []

    def given(self, x):
        if x.size == 0:
            return self.g.const(x, x.dtype)
        name = f"in{len(self.feeds)}"
        self.feeds[name] = x
        return self.g.input(name, kind_of(x.dtype), list(x.shape))

    def add(self, label, outs, want, rtol=0.0):
        for out, x in zip([outs] if isinstance(outs, str) else outs, want):
            self.outputs.append((out, kind_of(x.dtype)))
            self.want.append((label, out, x, rtol))

    def run(self, options=tuple(schedules()), peer=False):
        model = self.g.model(*self.outputs)
        theirs = reference(model, self.feeds) if peer else {}
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "m.onnx")
            onnx.save(model, path)
            for k, option in enumerate(options):
                familyseer("compile", path, "-o", os.path.join(tmp, str(k)), option)
                got = fs.Model(os.path.join(tmp, str(k)), threads=1 + k % 3).run(self.feeds)
                for label, name, x, rtol in self.want:
                    same(f"{label} {option}", got[name], x, rtol)
                    if peer:
                        same(f"{label} {option}, ONNX Runtime", got[name], theirs[name], rtol)


# ---- scatters

JOINS = {"none": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def joined(x, at, update, reduction):
    """NumPy's; halves in f64, rounded once."""
    wide = np.float64 if x.dtype == np.float16 and reduction != "none" else x.dtype
    y, update = x.astype(wide), update.astype(wide)
    if reduction == "none":
        for k in np.ndindex(at[0].shape):  # assignment has no order of its own
            y[tuple(i[k] for i in at)] = update[k]
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            JOINS[reduction].at(y, at, update)
    with np.errstate(over="ignore"):
        return y.astype(x.dtype)


def indices(shape, extent, outside):
    at = rng.integers(-extent, extent, shape)
    return np.where(rng.random(shape) < 0.1, rng.choice([extent, -extent - 1, 2**40, -2**40], shape), at) if outside else at


def elements(m, x, n, axis, reduction, outside=False, dtype=np.int64):
    shape = [int(rng.integers(1, d + 1)) for d in x.shape]
    shape[axis] = n
    index, update = indices(shape, x.shape[axis], outside).astype(dtype), numbers(x.dtype.type, *shape)
    at = list(np.indices(shape))
    at[axis] = np.where(index < 0, index + x.shape[axis], index)
    inside = (at[axis] >= 0) & (at[axis] < x.shape[axis])
    want = joined(x, tuple(i[inside] for i in at), update[inside], reduction)
    given = {} if reduction == "none" else {"reduction": reduction}
    out = m.g.op("ScatterElements", m.given(x), m.given(index), m.given(update), axis=axis, **given)
    m.add(f"ScatterElements {reduction} {x.dtype} {x.shape} {shape} axis {axis}", out, [want], 2e-3 if x.dtype == np.float16 else 1e-5)


def tuples(m, x, places, n_index, reduction, outside=False):
    index = np.stack([indices(places, d, outside) for d in x.shape[:n_index]], -1)
    update = numbers(x.dtype.type, *places, *x.shape[n_index:])
    at = [np.where(index[..., j] < 0, index[..., j] + d, index[..., j]) for j, d in enumerate(x.shape[:n_index])]
    inside = np.ones(places, bool)
    for i, d in zip(at, x.shape):
        inside &= (i >= 0) & (i < d)
    want = joined(x, tuple(i[inside] for i in at), update[inside], reduction)
    given = {} if reduction == "none" else {"reduction": reduction}
    out = m.g.op("ScatterND", m.given(x), m.given(index), m.given(update), **given)
    m.add(f"ScatterND {reduction} {x.dtype} {x.shape} {places}", out, [want], 2e-3 if x.dtype == np.float16 else 1e-5)


def has_peer(dtype, reduction):
    if reduction == "none":
        return True
    return reduction in ("add", "mul") if dtype == bool else dtype != np.float16


def scatters():
    for dtype in TYPES:
        for peer in (False, True):
            m = Many()
            for reduction in JOINS:
                if has_peer(dtype, reduction) != peer:
                    continue
                for n in (1, 3, 40):  # as kernels, and on the host
                    elements(m, numbers(dtype, 7), n, 0, reduction)
                    elements(m, numbers(dtype, 5, 9), n, -1, reduction, dtype=np.int32)
                    elements(m, numbers(dtype, 3, 11, 2), n, 1, reduction)
                    tuples(m, numbers(dtype, 13), [n], 1, reduction)
                    tuples(m, numbers(dtype, 6, 5), [n], 1, reduction)
                    tuples(m, numbers(dtype, 4, 3, 5), [2, n], 2, reduction)
            if m.outputs:
                m.run(peer=peer)


def ends():
    """Indices out of range, NaN, no updates, one element; many threads' worth."""
    m = Many()
    for reduction in JOINS:
        for n in (4, 30):
            elements(m, numbers(np.float32, 6, 5), n, 0, reduction, outside=True)
            elements(m, numbers(np.int64, 9), n, 0, reduction, outside=True)
            tuples(m, numbers(np.float32, 6, 5), [n], 2, reduction, outside=True)
            tuples(m, numbers(np.uint8, 6, 5), [n], 1, reduction, outside=True)
        x = numbers(np.float32, 40)
        x[::7] = np.nan
        elements(m, x, 3, 0, reduction)
        elements(m, x, 90, 0, reduction)
        elements(m, numbers(np.float32, 1, 1), 50, 1, reduction)
        elements(m, numbers(np.float32, 3000, 7), 5000, 0, reduction)
        tuples(m, numbers(np.float32, 5000, 33), [2000], 1, reduction)
        tuples(m, numbers(np.float64, 50, 40), [30, 100], 2, reduction)
    m.run()
    m = Many()
    elements(m, numbers(np.float32, 5, 4), 0, 0, "none")
    tuples(m, numbers(np.float32, 5, 4), [0], 1, "add")
    m.run(peer=True)
    g = Graph()
    old = g.op("Scatter", g.input("x", F, [30, 4]), g.input("i", I64, [20, 4]), g.input("u", F, [20, 4]), axis=0)
    g.opset = 10
    feeds = {"x": numbers(np.float32, 30, 4), "i": np.stack([rng.permutation(30)[:20] for _ in range(4)], 1), "u": numbers(np.float32, 20, 4)}
    check(g.model((old, F)), [feeds])


def repetition():
    """A penalty on the logits of tokens that were seen before, which repeat; multi-hot tags; sums over the cells of a view."""
    g = Graph()
    logits, seen = g.input("logits", F, [2, 500]), g.input("seen", I64, [2, 40])
    score = g.op("GatherElements", logits, seen, axis=1)
    score = g.op("Where", g.op("Less", score, g.const(0, np.float32)), g.op("Mul", score, g.const(1.5, np.float32)), g.op("Div", score, g.const(1.5, np.float32)))
    out = g.op("ScatterElements", logits, seen, score, axis=1)
    hot = g.op("ScatterElements", g.const(np.zeros((2, 5000)), np.float32), seen, g.const(np.ones((2, 40)), np.float32), axis=1)
    cells = g.op("ScatterND", g.op("ConstantOfShape", g.const([300, 8])), g.op("Unsqueeze", g.op("Reshape", seen, g.const([-1])), g.const([1])),
                 g.input("points", F, [80, 8]), reduction="add")
    model = g.model((out, F), (hot, F), (cells, F))
    check(model, [{"logits": numbers(np.float32, 2, 500), "seen": rng.integers(0, 60, (2, 40)), "points": numbers(np.float32, 80, 8)} for _ in range(3)])
    with tempfile.TemporaryDirectory() as tmp:  # zeros that are scattered to are no weights
        onnx.save(model, f"{tmp}/m.onnx")
        familyseer("compile", f"{tmp}/m.onnx", "-o", f"{tmp}/out")
        assert os.path.getsize(f"{tmp}/out/weights.bin") < 10000, os.path.getsize(f"{tmp}/out/weights.bin")


def sized():
    """Where data decides how many updates there are, and how large what they go to is."""
    for shape in ([50], [12, 9]):
        g = Graph()
        x, v = g.input("x", F, shape), g.input("v", F, [])
        at = g.op("Transpose", g.op("NonZero", g.op("Greater", x, g.const(0.3, np.float32))), perm=[1, 0])
        picked = g.op("GatherND", x, at)
        out = [g.op("ScatterND", x, at, g.op("Mul", picked, v)), g.op("ScatterND", x, at, picked, reduction="add")]
        model = g.model(*[(o, F) for o in out])
        model.opset_import[0].version = 18
        check(model, [{"x": numbers(np.float32, *shape) + np.float32(shift), "v": np.array(3, np.float32)} for shift in (-9, -1, 0, 9)])
    g = Graph(18)
    x, keep = g.input("x", F, [30, 4]), g.input("keep", BOOL, [30])
    some = g.op("Compress", x, keep, axis=0)
    back = g.op("ScatterElements", some, g.const([[-1, -2, 0, -1], [-1, 0, 1, -2]]), g.const(np.ones((2, 4)), np.float32), axis=0, reduction="add")
    rows = g.op("Squeeze", g.op("NonZero", keep), g.const([0]))
    row = g.op("Unsqueeze", g.op("Sub", rows, g.op("Shape", g.op("Squeeze", g.op("Gather", x, g.const(0), axis=1)))), g.const([1]))  # from the end
    into = g.op("ScatterND", x, row, g.op("Neg", g.op("Gather", x, rows, axis=0)))
    sums = [g.op("CumSum", some, g.const(0), reverse=r, exclusive=e) for r in (0, 1) for e in (0, 1)]
    top, which = g.op("TopK", some, g.const([2]), axis=-1, outs=2)
    first, where = g.op("TopK", g.op("Squeeze", g.op("Slice", some, g.const([1]), g.const([2]), g.const([1])), g.const([1])), g.op("Min", g.op("Shape", rows), g.const([5])),
                        axis=0, outs=2, largest=0)
    model = g.model((back, F), (into, F), *[(s, F) for s in sums], (top, F), (which, I64), (first, F), (where, I64))
    check(model, [{"x": numbers(np.float32, 30, 4), "keep": np.arange(30) % step == 0} for step in (1, 2, 7, 14)])
    g = Graph(18)
    x, lists = g.input("x", F, [30]), [g.op("NonZero", g.input(name, BOOL, [9])) for name in "ab"]
    at, update = g.op("Transpose", lists[0], perm=[1, 0]), g.op("Gather", x, g.op("Squeeze", lists[1], g.const([0])))
    refused(g.model((g.op("ScatterND", x, at, update), F)), "may differ")


# ---- TopK

def ordered(x, k, axis, largest):
    """NaN is larger than all numbers; of equals the lower index."""
    keys = np.moveaxis(x, axis, -1)
    rank = np.unique(np.append(keys.ravel(), np.zeros(0, x.dtype)), return_inverse=True)[1].reshape(keys.shape)
    if np.issubdtype(x.dtype, np.floating):
        rank = np.where(np.isnan(keys), keys.size + 1, rank)
    at = np.argsort(-rank if largest else rank, -1, kind="stable")[..., :k]
    return np.moveaxis(np.take_along_axis(keys, at, -1), -1, axis), np.moveaxis(at, -1, axis)


def top(m, x, k, axis, largest):
    values, index = m.g.op("TopK", m.given(x), m.g.const([k]), outs=2, axis=axis, largest=largest)
    m.add(f"TopK {k} {x.dtype} {x.shape} axis {axis} largest {largest}", [values, index], ordered(x, k, axis, largest))


def top_k():
    for dtype in TYPES[:-1]:
        m = Many()
        for largest in (0, 1):
            for ties in (False, True):
                top(m, numbers(dtype, 1, ties=ties), 1, 0, largest)
                top(m, numbers(dtype, 3, 17, ties=ties), 4, -1, largest)
                top(m, numbers(dtype, 5, 37, ties=ties), 37, 1, largest)
                top(m, numbers(dtype, 101, 3, ties=ties), 13, -2, largest)
                top(m, numbers(dtype, 3, 67, 19, ties=ties), 5, 1, largest)
        m.run(peer=dtype not in (np.uint16, np.uint32, np.uint64))
    m = Many()
    for n, k in ((20000, 100), (50257, 50), (30011, 30011), (70000, 1)):
        top(m, numbers(np.float32, 2, n, ties=n < 40000), k, 1, 1)
    for n in (20, 300):
        x = numbers(np.float32, 3, n, ties=True)
        x[:, ::5], x[:, 1::7], x[:, 2::11] = np.nan, -np.inf, -0.0
        for largest in (0, 1):
            top(m, x, n // 2, 1, largest)
    m.run(peer=True)
    g = Graph()
    x, k = g.input("x", F, [3, 20011]), g.input("k", I64, [1])  # a k that is data, of more than was ever sorted whole
    values, index = g.op("TopK", x, k, outs=2, axis=1)
    only = g.op("TopK", x, g.op("Min", k, g.const([9])), outs=2, axis=1, largest=0)[1]
    model = g.model((values, F), (index, I64), (only, I64))
    check(model, [{"x": numbers(np.float32, 3, 20011), "k": np.array([n])} for n in (1, 17, 20011)])
    for k, n in ((0, 9), (0, 90)):
        g = Graph()
        v, i = g.op("TopK", g.input("x", F, [2, n]), g.const([k]), outs=2)
        check(g.model((v, F), (i, I64), (g.op("Identity", "x"), F)), [{"x": numbers(np.float32, 2, n)}])


# ---- running sums

def summed(x, axis, exclusive, reverse):
    wide = x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x
    wide = np.flip(wide, axis) if reverse else wide
    with np.errstate(over="ignore"):
        y = np.cumsum(wide, axis, dtype=wide.dtype)
    if exclusive:
        y = np.concatenate([np.zeros_like(np.take(y, [0], axis)), np.delete(y, -1, axis)], axis)
    with np.errstate(over="ignore"):
        return (np.flip(y, axis) if reverse else y).astype(x.dtype)


def running(m, x, axis):
    given = m.given(x)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            out = m.g.op("CumSum", given, m.g.const(axis), exclusive=exclusive, reverse=reverse)
            m.add(f"CumSum {x.dtype} {x.shape} axis {axis} exclusive {exclusive} reverse {reverse}", out, [summed(x, axis, exclusive, reverse)],
                  2e-3 if x.dtype == np.float16 else 2e-5)


def sums():
    for dtype in (np.float32, np.float64, np.float16, np.int32, np.int64, np.uint32, np.uint64):
        m = Many()
        for shape, axis in (([1], 0), ([31], -1), ([33], 0), ([2, 1, 5], 1), ([3, 32, 5], 1), ([3, 37, 5], 1), ([401, 3], -2), ([2, 40, 300], 1), ([7, 4097], 1)):
            running(m, numbers(dtype, *shape), axis)
        m.run()
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        m = Many()
        running(m, numbers(dtype, 5, 50, 3), 1)
        running(m, numbers(dtype, 5, 20, 3), 1)
        m.run(peer=True)
    m = Many()
    running(m, np.abs(numbers(np.float32, 240000)), 0)  # ONNX Runtime's own rounding grows with the length
    m.run()


# ---- wherever they stand

def between_kernels():
    """Rows of 4 KiB, which kernels would rather have a line apart: what the host reads and writes lies dense."""
    m = Many()
    x, update = numbers(np.float32, 6, 1024), numbers(np.float32, 6, 1024)
    places = rng.permuted(np.tile(np.arange(6), (1024, 1)), axis=1).T
    mine, mirror, of = -x, -update, m.g.op("Neg", m.given(x))
    for label, outs, want in (
            ("TopK", m.g.op("TopK", of, m.g.const([1024]), outs=2, axis=1), ordered(mine, 1024, 1, 1)),
            ("CumSum", [m.g.op("CumSum", of, m.g.const(1))], [summed(mine, 1, 0, 0)]),
            ("ScatterElements", [m.g.op("ScatterElements", of, m.g.const(places), m.g.op("Neg", m.given(update)), axis=0)],
             [np.take_along_axis(mirror, np.argsort(places, 0), 0)])):
        m.add(label, [m.g.op("Neg", outs[0]), *outs[1:]], [-want[0], *want[1:]], 2e-5)
    m.run()


def in_bodies():
    """In the body of a loop that data ends, and on the sides of an If."""
    def body(b, number, x):
        y = b.op("CumSum", x, b.const(0))
        y = b.op("Mul", y, b.const(0.01, np.float32))
        value, at = b.op("TopK", y, b.const([7]), outs=2)
        return b.op("ScatterElements", x, at, value, axis=0)

    g, b = Graph(18), Graph(18, first=1000)
    x = g.input("x", F, [200])
    made = body(b, "i", "state")
    inner = helper.make_graph(b.nodes + [helper.make_node("Identity", ["c"], ["go"])], "body",
                              [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("c", BOOL, []), helper.make_tensor_value_info("state", F, [200])],
                              [helper.make_tensor_value_info("go", BOOL, None), helper.make_tensor_value_info(made, F, None)], b.constants)
    out = g.op("Loop", g.op("Min", g.input("n", I64, []), g.const(9)), g.const(True, bool), x, body=inner)
    check(g.model((out, F)), [{"x": numbers(np.float32, 200), "n": np.array(n)} for n in (0, 1, 5)])

    def side(k, build):
        s = Graph(18, first=k)
        y = build(s)
        return helper.make_graph(s.nodes, f"side{k}", [], [helper.make_tensor_value_info(y, F, None)], s.constants)

    g = Graph(18)
    x, c = g.input("x", F, [150, 3]), g.input("c", BOOL, [])
    out = g.op("If", c, then_branch=side(2000, lambda s: s.op("CumSum", x, s.const(0), reverse=1)),
               else_branch=side(3000, lambda s: s.op("ScatterND", x, s.const([[5], [5], [-1], [7], [5], [0], [1], [2]]), s.op("Slice", x, s.const([0]), s.const([8])))))
    check(g.model((out, F)), [{"x": numbers(np.float32, 150, 3), "c": np.array(c)} for c in (True, False)])


def of_constants():
    """What is made of constants alone is made when compiling, however large."""
    g = Graph(18)
    x = g.input("x", F, [1])
    table, mask = np.zeros((300, 200), np.float32), rng.integers(0, 300, (500, 1))
    parts = [g.op("ScatterND", g.const(table, np.float32), g.const(mask), g.const(numbers(np.float32, 500, 200), np.float32), **({"reduction": r} if r else {}))
             for r in (None, "add", "mul", "min", "max")]
    parts += [g.op("ScatterElements", g.const(table, np.float32), g.const(rng.integers(-300, 300, (400, 150))), g.const(numbers(np.float32, 400, 150), np.float32), axis=0)]
    parts += [g.op("CumSum", g.const(numbers(np.float32, 300, 200), np.float32), g.const(1), exclusive=e, reverse=r) for e in (0, 1) for r in (0, 1)]
    ints = [g.op("CumSum", g.const(numbers(np.int32, 4000), np.int32), g.const(0)),
            g.op("ScatterND", g.const(numbers(np.int32, 50), np.int32), g.const(rng.integers(-50, 50, (99, 1))), g.const(numbers(np.int32, 99), np.int32), reduction="max")]
    model = g.model(*[(g.op("Mul", p, x), F) for p in parts], *[(g.op("Add", p, g.op("Cast", x, to=kind_of(np.int32))), kind_of(np.int32)) for p in ints])
    check(model, [{"x": np.ones(1, np.float32)}], rtol=2e-5, atol=1e-4)
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, f"{tmp}/m.onnx")
        assert " 0 on the host" in familyseer("tasks", f"{tmp}/m.onnx").stdout, familyseer("tasks", f"{tmp}/m.onnx").stdout


def commands():
    """Steps on the host have names and times; verify judges them."""
    g = Graph()
    v, i = g.op("TopK", g.op("CumSum", g.input("x", F, [4, 500]), g.const(1)), g.const([5]), outs=2)
    model = g.model((v, F), (i, I64))
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, f"{tmp}/m.onnx")
        familyseer("compile", f"{tmp}/m.onnx", "-o", f"{tmp}/out")
        said = familyseer("bench", f"{tmp}/out", "--profile", "--duration", "0.1s").stdout
        assert said.count("host") >= 2 and "TopK" in said, said
        assert "2 on the host" in familyseer("tasks", f"{tmp}/m.onnx").stdout
        assert "ok" in familyseer("verify", f"{tmp}/out", f"{tmp}/m.onnx").stdout


run_tests([("scatters", scatters), ("ends", ends), ("repetition", repetition), ("sized", sized), ("TopK", top_k), ("sums", sums), ("between kernels", between_kernels), ("in bodies", in_bodies),
           ("of constants", of_constants), ("commands", commands)])
