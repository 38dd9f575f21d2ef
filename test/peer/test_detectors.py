"""What exporters write behind detection networks: candidates above a threshold, the best of each class, boxes that overlap, regions of several levels. Against ONNX Runtime. SEER_TEST: timeout=600"""
import numpy as np
from onnx import numpy_helper

from control import BOOL, F, I64, Graph, check
from peer import run_tests

rng = np.random.default_rng(37)


def number(g, value):
    return g.const(np.array(value))


def rows(g, v):
    """The number of rows, as exporters ask for it."""
    return g.op("Gather", g.op("Shape", v), number(g, 0), axis=0)


def where(g, mask):
    return g.op("Squeeze", g.op("Transpose", g.op("NonZero", mask), perm=[1, 0]), g.const([1]))


def one(g, v):
    return g.op("Unsqueeze", v, g.const([0]))


def some_boxes(n, low=1, high=9, extent=30):
    at = rng.uniform(0, extent, (n, 2))
    return np.concatenate([at, at + rng.uniform(low, high, (n, 2))], 1).astype(np.float32)


def single_shot(n=60, classes=4, most=20, kept=10):
    """SSD: of each class the best above a threshold, boxes shifted by their class, one suppression for all."""
    g = Graph()
    boxes, scores = g.input("boxes", F, [n, 4]), g.input("scores", F, [n, classes])
    shares = g.op("Softmax", scores, axis=1)
    found = []
    for c in range(1, classes):
        score = g.op("Gather", shares, number(g, c), axis=1)
        places = where(g, g.op("Greater", score, g.const(0.3, np.float32)))
        score, box = g.op("Gather", score, places), g.op("Gather", boxes, places)
        count = g.op("ReduceMin", g.op("Concat", one(g, rows(g, score)), g.const([most]), axis=0), axes=[0], keepdims=0)
        best, at = g.op("TopK", score, g.op("Reshape", count, g.const([1])), outs=2)
        label = g.op("ConstantOfShape", g.op("Shape", best), value=numpy_helper.from_array(np.array([c])))
        found.append((g.op("Gather", box, at), best, label))
    box, score, label = (g.op("Concat", *parts, axis=0) for parts in zip(*found))
    shift = g.op("Mul", g.op("Cast", label, to=F), g.op("Add", g.op("ReduceMax", boxes, keepdims=0), g.const(1, np.float32)))
    shifted = one(g, g.op("Add", box, g.op("Unsqueeze", shift, g.const([1]))))
    chosen = g.op("NonMaxSuppression", shifted, one(g, one(g, score)), g.const([2**31 - 1]), g.const([0.45], np.float32))
    chosen = g.op("Squeeze", g.op("Gather", chosen, g.const([2]), axis=1), g.const([1]))
    chosen = g.op("Slice", chosen, g.const([0]), g.const([kept]), g.const([0]))
    model = g.model((g.op("Gather", box, chosen), F), (g.op("Gather", score, chosen), F), (g.op("Gather", label, chosen), I64))
    check(model, [{"boxes": some_boxes(n), "scores": (rng.standard_normal((n, classes)) * s).astype(np.float32)} for s in (1, 3, 2)], rtol=1e-4)


def anchor_free(n=40, classes=4, most=15):
    """RetinaNet, FCOS: the best of all anchors and classes in one row; boxes decoded and cut to the image."""
    g = Graph()
    logits, boxes = g.input("logits", F, [n * classes]), g.input("boxes", F, [n, 4])
    places = where(g, g.op("Greater", logits, g.const(0.2, np.float32)))
    count = g.op("Min", rows(g, places), number(g, most))
    best, at = g.op("TopK", g.op("Gather", logits, places), one(g, count), outs=2)
    chosen = g.op("Gather", places, at)
    box, label = g.op("Gather", boxes, g.op("Div", chosen, number(g, classes))), g.op("Mod", chosen, number(g, classes))
    limits = g.const(0, np.float32), g.const(20, np.float32)
    sides = [g.op("Unsqueeze", g.op("Clip", g.op("Gather", box, g.const(at), axis=1), *limits), g.const([2])) for at in ([0, 2], [1, 3])]
    cut = g.op("Reshape", g.op("Concat", *sides, axis=2), g.op("Concat", one(g, rows(g, box)), g.const([4]), axis=0))
    check(g.model((cut, F), (best, F), (label, I64)),
          [{"logits": (rng.standard_normal(n * classes) * s).astype(np.float32), "boxes": some_boxes(n)} for s in (1, 0.1, 3, 0)], rtol=1e-4)


def twice_filtered(n=30):
    """Region proposals: those that score, of those what is not too small."""
    g = Graph()
    boxes, scores = g.input("boxes", F, [n, 4]), g.input("scores", F, [n])
    for limit in (0.0, 4.0):
        by = scores if limit == 0 else g.op("Sub", *(g.op("Gather", boxes, number(g, k), axis=1) for k in (2, 0)))
        places = where(g, g.op("GreaterOrEqual", by, g.const(limit, np.float32)))
        boxes, scores = g.op("Gather", boxes, places), g.op("Gather", scores, places)
    y = g.op("Add", boxes, g.op("Unsqueeze", scores, g.const([1])))
    check(g.model((y, F), (g.op("Shape", y), I64)),
          [{"boxes": some_boxes(n), "scores": (rng.standard_normal(n) + more).astype(np.float32)} for more in (0, -9, 9)], rtol=1e-4)


def levels(n=20):
    """Faster R-CNN: regions pooled at the level that their size asks for, put back in their order."""
    g = Graph()
    boxes, mask = g.input("boxes", F, [n, 4]), g.input("mask", BOOL, [n])
    maps = [g.input(f"map{k}", F, [1, 3, 16 >> k, 16 >> k]) for k in range(2)]
    regions = g.op("Compress", boxes, mask, axis=0)
    width = g.op("Sub", *(g.op("Gather", regions, number(g, k), axis=1) for k in (2, 0)))
    level = g.op("Clip", g.op("Floor", g.op("Mul", width, g.const(0.2, np.float32))), g.const(0, np.float32), g.const(1, np.float32))
    level = g.op("Cast", level, to=I64)
    pooled = g.op("ConstantOfShape", g.op("Concat", one(g, rows(g, regions)), g.const([3, 2, 2]), axis=0))
    for k, source in enumerate(maps):
        places = where(g, g.op("Equal", level, number(g, k)))
        here = g.op("Gather", regions, places)
        batch = g.op("ConstantOfShape", one(g, rows(g, here)), value=numpy_helper.from_array(np.array([0])))
        y = g.op("RoiAlign", source, here, batch, output_height=2, output_width=2, sampling_ratio=2, spatial_scale=0.5**k)
        to = g.op("Expand", g.op("Reshape", places, g.const([-1, 1, 1, 1])), g.op("Shape", y))
        pooled = g.op("ScatterElements", pooled, to, y, axis=0)
    many = [{"boxes": some_boxes(n, extent=8), "mask": m, "map0": rng.standard_normal((1, 3, 16, 16)).astype(np.float32),
             "map1": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for m in (rng.random(n) < 0.5, np.ones(n, bool), np.zeros(n, bool))]
    check(g.model((pooled, F)), many, rtol=1e-3, atol=1e-5)


run_tests([("single shot", single_shot), ("anchor free", anchor_free), ("filtered twice", twice_filtered), ("levels", levels)])
