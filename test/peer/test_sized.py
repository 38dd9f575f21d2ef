"""Arithmetic on sizes that only data decides, and tensors made with them, against ONNX Runtime. SEER_TEST: timeout=900"""
import numpy as np

from control import BOOL, F, I64, Graph, check
from peer import run_tests

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

run_tests([("counted", counted), ("then more", then_more)])
