"""Operators of hundreds of operands or results, and networks of thousands of steps, as exporters write what they unroll: against ONNX
Runtime, by verify too, which has a kernel for each node of the file. SEER_TEST: timeout=600 cost=35"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto

from control import BOOL, F, I64, Graph, check, fs, verify
from peer import familyseer, run_tests

rng = np.random.default_rng(29)
HALF = TensorProto.FLOAT16
# At the limits of a kernel, beyond them, and several levels of them.
NUMBERS = (64, 65, 128, 700)


def normal(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def joined(op, n, kind=F, constants=False, **attrs):
    """One operator over n inputs, or constants, of shapes that broadcast."""
    dtype = {F: np.float32, I64: np.int64, HALF: np.float16}[kind]
    shapes = [[3, 2] if op == "Concat" or k % 3 else [3, 1] if k % 2 else [2] for k in range(n)]
    feeds = {f"x{k}": (10 * normal(*s)).astype(dtype) for k, s in enumerate(shapes)}
    g = Graph(18)
    x = g.input("x", kind, [1, 2])
    given = [g.const(v, dtype) if constants else g.input(name, kind, list(v.shape)) for name, v in feeds.items()]
    model = g.model((g.op("Add", x, g.op(op, *given, **attrs)), kind))
    return model, {"x": np.zeros((1, 2), dtype), **({} if constants else feeds)}


def operands():
    for op in ("Concat", "Sum", "Max", "Min", "Mean"):
        for n in NUMBERS:
            model, feeds = joined(op, n, **({"axis": -2} if op == "Concat" else {}))
            check(model, [feeds], rtol=1e-5, atol=1e-4)
        verify(model)


def other_types():
    """Half precision is rounded once; integers are exact."""
    for op in ("Sum", "Mean"):
        model, feeds = joined(op, 150, HALF)
        exact = sum(np.asarray(v, np.float64) for n, v in feeds.items() if n != "x") / (150 if op == "Mean" else 1)
        with tempfile.TemporaryDirectory() as tmp:
            onnx.save(model, os.path.join(tmp, "m.onnx"))
            familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1")
            got, = fs.Model(os.path.join(tmp, "out")).run(feeds).values()
        np.testing.assert_array_equal(got, exact.astype(np.float16))
    for op in ("Max", "Min", "Concat"):
        model, feeds = joined(op, 150, I64, **({"axis": 0} if op == "Concat" else {}))
        check(model, [feeds])


def constants():
    for op in ("Concat", "Sum", "Max", "Min", "Mean"):
        model, feeds = joined(op, 150, constants=True, **({"axis": 0} if op == "Concat" else {}))
        check(model, [feeds], rtol=1e-5, atol=1e-4)


def sized():
    """Dimensions that data decides, among so many operands; a Split along another dimension."""
    for op in ("Concat", "Sum", "Max"):
        g = Graph(18)
        found = g.op("Compress", g.input("x", F, [5, 90]), g.input("c", BOOL, [5]), axis=0)
        parts = g.op("Split", found, outs=90, axis=1, num_outputs=90)
        model = g.model((g.op(op, *(g.op("Tanh", p) for p in parts), **({"axis": 1} if op == "Concat" else {})), F))
        shapes = check(model, [{"x": normal(5, 90), "c": np.array(c)} for c in ([True, False, True, True, False], [False] * 5, [True] * 5)], atol=1e-4)
        assert len(shapes) == 3


def results():
    """Split into many parts: outputs of the network, read by others, of unequal sizes, some without elements, some that nobody wants."""
    for n in (8, 9, 30, 150):
        for sizes in (None, [k % 4 for k in range(n)]):
            g = Graph(18)
            x = g.op("Tanh", g.input("x", F, [3, 2 * n - 1 if sizes is None else sum(sizes), 2]))
            parts = g.op("Split", x, *([] if sizes is None else [g.const(sizes)]), outs=n, axis=1, **({"num_outputs": n} if sizes is None else {}))
            model = g.model(*((p if k % 3 else g.op("Neg", p), F) for k, p in enumerate(parts) if k % 5))
            check(model, [{"x": normal(*[d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim])}])
        verify(model)


def sequences():
    """As many tensors of a sequence."""
    for new_axis in (0, 1):
        g = Graph(18)
        parts = g.op("SplitToSequence", g.op("Tanh", g.input("x", F, [3, 150])), g.const(1), axis=1)
        model = g.model((g.op("ConcatFromSequence", parts, axis=0, new_axis=new_axis), F))
        check(model, [{"x": normal(3, 150)}])
        verify(model)


def unrolled(steps):
    """A recurrence as exporters of today write it: a slice, a product, a sum and a function for each step, and a Concat of all."""
    g = Graph(18)
    x, weight, bias = g.input("x", F, [steps, 2, 8]), g.const(normal(8, 8) / 3, np.float32), g.const(normal(8), np.float32)
    state, made = g.const(np.zeros((2, 8)), np.float32), []
    axis = g.const([0])
    for k in range(steps):
        now = g.op("Squeeze", g.op("Slice", x, g.const([k]), g.const([k + 1]), axis), axis)
        state = g.op("Tanh", g.op("Add", g.op("Add", g.op("MatMul", state, weight), bias), now))
        made.append(g.op("Unsqueeze", state, axis))
    return g.model((g.op("Concat", *made, axis=0), F), (state, F))


def steps():
    """A thousand steps within the memory that a model may take."""
    model = unrolled(1000)
    check(model, [{"x": normal(1000, 2, 8)}], rtol=1e-4, atol=1e-5, how=(("-O0", 1), ("-O1", 2)), verified="-O1")


run_tests([("operands", operands), ("other types", other_types), ("constants", constants), ("sized", sized), ("results", results), ("sequences", sequences), ("steps", steps)])
