"""If whose condition is data, against ONNX Runtime: both conditions, untuned and random schedules, one and two threads. SEER_TEST: timeout=600"""
import json
import os
import tempfile

import numpy as np
import onnx
from onnx import helper

from control import BOOL, F, I64, Graph, check, fs, refused
from peer import FULL, familyseer, reference, run_tests, schedules

rng = np.random.default_rng(3)
HOW = tuple(zip(schedules(), (2, 1) * 3))
n_bodies = 0


def body(build, *args, formals=(), direct=False):
    """A body that build(graph, *args) fills; outputs of a body need names of their own."""
    global n_bodies
    n_bodies += 1
    b = Graph(first=1000 * n_bodies)
    ends = build(b, *args)
    ends = [ends] if isinstance(ends, str) else list(ends)
    if not direct:
        ends = [b.op("Identity", end) for end in ends]
    outs = [helper.make_tensor_value_info(e, F, None) for e in ends]
    for o in outs:  # whatever type they have
        o.ClearField("type")
    return helper.make_graph(b.nodes, f"body{n_bodies}", list(formals), outs, b.constants)


def branch(g, c, then, other, outs=1, direct=False):
    return g.op("If", c, outs=outs, then_branch=body(then, direct=direct), else_branch=body(other, direct=direct))


def weight(g, *shape):
    return g.const(rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])), np.float32)


def feeds_for(*conditions, **shapes):
    """Values for all conditions, each way."""
    many = []
    for bits in range(2 ** len(conditions)):
        some = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        many.append({**some, **{c: np.array(bool(bits >> k & 1)) for k, c in enumerate(conditions)}})
    return many


def n_branches(model):
    """Branches among the steps, and the most steps behind one, by the library's own description."""
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1")
        with open(os.path.join(tmp, "out", "model.json")) as file:
            steps = json.load(file)["steps"]
    return sum(s["kind"] == "branch" for s in steps)


def expect(model, many, branches, rtol=1e-4, how=HOW):
    found = n_branches(model)
    assert found == branches, f"{found} branches, should be {branches}"
    return check(model, many, rtol, how, atol=1e-5)


# ---- what the sides hold

def convolutions():
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, [1, 4, 9, 9])
    stem = g.op("Relu", g.op("Conv", x, weight(g, 8, 4, 3, 3), pads=[1] * 4))
    y = branch(g, c, lambda b: b.op("Relu", b.op("Conv", stem, weight(b, 8, 8, 3, 3), pads=[1] * 4)),
               lambda b: b.op("Add", b.op("Conv", stem, weight(b, 8, 8, 1, 1)), stem))
    z = g.op("GlobalAveragePool", g.op("Conv", y, weight(g, 6, 8, 3, 3)))
    expect(g.model((z, F)), feeds_for("c", x=(1, 4, 9, 9)), 1)


def products():
    """A value outside that both sides read, ones that one side reads, and one that is an output as well."""
    g = Graph()
    c, x = g.input("c", BOOL, [1]), g.input("x", F, [5, 6])
    both, mine, yours, seen = (g.op("MatMul", x, weight(g, 6, 6)) for _ in range(4))
    y, z = branch(g, c, lambda b: (b.op("Add", b.op("MatMul", mine, weight(b, 6, 3)), b.op("MatMul", both, weight(b, 6, 3))), b.op("Tanh", seen)),
                  lambda b: (b.op("MatMul", b.op("Sub", both, yours), weight(b, 6, 3)), yours), outs=2)
    many = [{**f, "c": f["c"].reshape(1)} for f in feeds_for("c", x=(5, 6))]
    expect(g.model((g.op("Exp", y), F), (z, F), (seen, F)), many, 1)


def passed_through():
    """Sides that give what they captured, constants, one tensor twice, or each other's order; results that are outputs, or views."""
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, [4, 6])
    made, w = g.op("MatMul", x, weight(g, 6, 6)), weight(g, 6, 6)

    def then(b):
        p, q = b.op("MatMul", made, w), b.op("Softmax", b.op("MatMul", x, w))
        return p, q, p, x, made, b.const(np.ones((4, 6)), np.float32), b.op("Reshape", q, b.const([6, 4]))

    def other(b):
        p, q = b.op("MatMul", x, w), b.op("Gemm", made, w, transB=1)
        return q, q, p, made, made, x, b.op("Reshape", x, b.const([6, 4]))

    y = branch(g, c, then, other, outs=7)
    flat = g.op("Reshape", y[1], g.const([24]))
    expect(g.model(*[(o, F) for o in y], (flat, F), (g.op("Relu", y[6]), F)), feeds_for("c", x=(4, 6)), 1)


def captured_directly():
    """A body's output is a constant of its own; a side without steps."""
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, [3, 3])
    y = branch(g, c, lambda b: b.const(np.full((3, 3), 7), np.float32), lambda b: b.op("MatMul", b.op("MatMul", x, x), x), direct=True)
    expect(g.model((y, F)), feeds_for("c", x=(3, 3)), 1)


def many_values():
    """As many as a decoder's caches: more than a kernel may have operands."""
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, [3, 4])
    y = branch(g, c, lambda b: [b.op("MatMul", x, weight(b, 4, 4)) for _ in range(50)],
               lambda b: [b.op("MatMul", x, weight(b, 4, 4)) for _ in range(49)] + [x], outs=50)
    expect(g.model(*[(o, F) for o in y]), feeds_for("c", x=(3, 4)), 1, how=HOW[:1])


# ---- in each other

def nested():
    g = Graph()
    c, d, x = g.input("c", BOOL, []), g.input("d", BOOL, []), g.input("x", F, [4, 4])

    def inner(b):
        p = b.op("MatMul", x, weight(b, 4, 4))
        first, second = branch(b, d, lambda i: (i.op("MatMul", p, weight(i, 4, 4)), i.op("Exp", p)),
                               lambda i: (i.op("MatMul", x, weight(i, 4, 4)), p), outs=2)
        return b.op("Add", first, p), second

    y = branch(g, c, inner, lambda b: (b.op("Softmax", b.op("MatMul", x, x)), branch(
        b, d, lambda i: i.op("MatMul", x, weight(i, 4, 4)), lambda i: i.op("ReduceSum", i.op("MatMul", x, weight(i, 4, 4)), keepdims=1))),
        outs=2)  # the last one has two shapes
    expect(g.model(*[(o, F) for o in y]), feeds_for("c", "d", x=(4, 4)), 3)


def chained():
    """Each only needed where the next says so: deeper than plans nest, and the rest is computed either way."""
    g = Graph()
    cs, x = [g.input(f"c{k}", BOOL, []) for k in range(40)], g.input("x", F, [3, 3])
    y = x
    for c in cs:
        y = branch(g, c, lambda b, y=y: b.op("Tanh", b.op("MatMul", y, weight(b, 3, 3))), lambda b: b.op("Softmax", b.op("MatMul", x, weight(b, 3, 3))))
    many = [{**{f"c{k}": np.array(bool(flags[k])) for k in range(40)}, "x": rng.standard_normal((3, 3)).astype(np.float32)}
            for flags in (np.ones(40), np.zeros(40), rng.random(40) < 0.9, rng.random(40) < 0.5)]
    expect(g.model((y, F)), many, 40, how=HOW[:1])


def loop_body(build, shape):
    formals = [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", BOOL, []), helper.make_tensor_value_info("v", F, shape)]
    return body(build, formals=formals)


def in_loop():
    """What does not depend on the iteration is computed once, in front; the condition changes from one to the next."""
    g = Graph()
    n, c, x = g.input("n", I64, []), g.input("c", BOOL, []), g.input("x", F, [3, 4])

    def turn(b):
        odd = b.op("Equal", b.op("Mod", "i", b.const(2)), b.const(1))
        y = branch(b, odd, lambda i: i.op("MatMul", "v", weight(i, 4, 4)), lambda i: i.op("Sub", i.op("MatMul", x, weight(i, 4, 4)), "v"))
        z = branch(b, c, lambda i: i.op("Tanh", i.op("MatMul", y, weight(i, 4, 4))), lambda i: i.op("MatMul", x, weight(i, 4, 4)))
        return b.const(True, bool), b.op("Add", y, z), b.op("ReduceSum", z, keepdims=0)

    y, parts = g.op("Loop", g.op("Min", n, g.const(9)), "", x, outs=2, body=loop_body(turn, [3, 4]))
    expect(g.model((y, F), (parts, F)), [{**f, "n": np.array(k)} for k in (0, 1, 2, 5) for f in feeds_for("c", x=(3, 4))], 2)


def loop_inside():
    """A loop in a side that is not taken does not run: it would take hours."""
    g = Graph()
    n, c, x = g.input("n", I64, []), g.input("c", BOOL, []), g.input("x", F, [2, 2])

    def turn(b):
        y = branch(b, b.op("Less", "i", b.const(2)), lambda i: i.op("MatMul", "v", weight(i, 2, 2)), lambda i: i.op("Softmax", i.op("MatMul", "v", x)))
        return b.const(True, bool), y

    y = branch(g, c, lambda b: b.op("Loop", n, "", b.op("MatMul", x, weight(b, 2, 2)), body=loop_body(turn, [2, 2])),
               lambda b: b.op("MatMul", x, x))
    shape = {"x": (2, 2)}
    ends, does_not = feeds_for("c", **shape), feeds_for("c", **shape)
    expect(g.model((y, F)), [{**f, "n": np.array(k)} for k in (0, 1, 4) for f in ends] + [{**does_not[0], "n": np.array(10 ** 13)}], 2)


def nested_loops():
    """A loop whose begin does not depend on the loop that it is in, though its body does."""
    g = Graph()
    n, m, x = g.input("n", I64, []), g.input("m", I64, []), g.input("x", F, [2, 2])
    formals = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (("j", I64, []), ("on", BOOL, []), ("w", F, [2, 2]))]

    def outer(b):
        z = b.op("Loop", m, "", x, body=body(lambda i: (i.const(True, bool), i.op("Add", i.op("MatMul", "w", x), "v")), formals=formals))
        return b.const(True, bool), b.op("Add", z, "v")

    y = g.op("Loop", n, "", x, body=loop_body(outer, [2, 2]))
    check(g.model((y, F)), [{"n": np.array(a), "m": np.array(b), "x": (rng.standard_normal((2, 2)) * 0.3).astype(np.float32)} for a in (0, 1, 3) for b in (0, 1, 2)], 1e-4, HOW[:1])


def old_scan():
    """The Scan of opset 8: a batch of sequences, one of them backwards; its body reads a value outside."""
    g = Graph(opset=8)
    s, x, w = g.input("s", F, [3, 2]), g.input("x", F, [3, 5, 2]), g.input("w", F, [2])
    formals = [helper.make_tensor_value_info(name, F, [2]) for name in ("state", "there", "back")]

    def turn(b):
        state = b.op("Add", b.op("Mul", "state", w), b.op("Sub", "there", "back"))
        return state, b.op("Tanh", state)

    y, z = g.op("Scan", "", s, x, x, outs=2, num_scan_inputs=2, directions=[0, 1], body=body(turn, formals=formals))
    check(g.model((y, F), (z, F)), [{k: rng.standard_normal(n).astype(np.float32) for k, n in (("s", (3, 2)), ("x", (3, 5, 2)), ("w", 2))}], 1e-4, HOW[:1])


def unrolled():
    """A loop of known length with an If in each turn."""
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, [3, 3])

    def turn(b):
        big = b.op("Greater", b.op("ReduceMax", "v", keepdims=0), b.const(0.5, np.float32))
        return b.const(True, bool), branch(b, big, lambda i: i.op("MatMul", "v", weight(i, 3, 3)), lambda i: i.op("MatMul", x, "v"))

    y = g.op("Loop", g.const(4), "", x, body=loop_body(turn, [3, 3]))
    expect(g.model((y, F)), feeds_for("c", x=(3, 3)) + feeds_for("c", x=(3, 3)), 4)


# ---- sizes

def other_shapes():
    """A size that differs is a bound; one that data decides in a side is no step of the other's."""
    for axis, shape in ((0, [3, 4]), (1, [3, 2]), (1, [3, 0])):
        g = Graph()
        c, x, w = g.input("c", BOOL, []), g.input("x", F, [5, 4]), weight(g, 4, 4)
        y = branch(g, c, lambda b: b.op("MatMul", x, w), lambda b: b.op("Slice", b.op("MatMul", b.op("Tanh", x), w), b.const([0, 0]), b.const(shape)))
        shapes = expect(g.model((y, F), (g.op("Shape", y), I64), (g.op("Exp", y), F)), feeds_for("c", x=(5, 4)), 1)
        assert {(5, 4), tuple(shape)} <= shapes, shapes
    g = Graph()
    c, x, w = g.input("c", BOOL, []), g.input("x", F, [6, 3]), weight(g, 3, 3)
    y, n = branch(g, c, lambda b: (b.op("Compress", b.op("MatMul", x, w), b.op("Greater", b.op("ReduceSum", x, b.const([1]), keepdims=0), b.const(0, np.float32)), axis=0),
                                   b.const([3])), lambda b: (b.op("Concat", x, b.op("MatMul", x, w), axis=0), b.const([1])), outs=2)
    expect(g.model((y, F), (n, I64)), feeds_for("c", x=(6, 3)) + feeds_for("c", x=(6, 3)), 1)


def any_network(seed):
    """Values by random operators, with Ifs in each other, of any values so far; some are outputs as well."""
    some = np.random.default_rng(seed)
    g = Graph()
    x, conditions = g.input("x", F, [4, 4]), [g.input(f"c{k}", BOOL, []) for k in range(3)]
    w = [g.const(some.standard_normal((4, 4)) / 2, np.float32) for _ in range(3)]

    def grow(b, known, depth):
        known = list(known)
        for _ in range(some.integers(1, 7)):
            one, two = some.choice(known, 2)
            kind = some.integers(0, 9 if depth < 3 else 6)
            if kind < 3:
                known.append(b.op("Tanh", b.op("MatMul", one, w[kind])))
            elif kind < 6:
                known.append(b.op(("Add", "Relu", "Reshape")[kind - 3], *((one, two), (one,), (one, b.const([4, 4])))[kind - 3]))
            else:
                n = some.integers(1, 4)

                def side(inner):
                    made = grow(inner, known, depth + 1)
                    return [some.choice(made[-4:]) for _ in range(n)]

                made = branch(b, str(some.choice(conditions)), side, side, outs=n)
                known += [made] if n == 1 else made
        return known

    known = grow(g, [x, *w], 0)
    outs = sorted({str(known[-1]), str(known[len(known) // 2])} - {x, *w}) or [g.op("Exp", x)]
    return g.model(*[(o, F) for o in outs])


def random_networks():
    for seed in range(40 if FULL else 12):
        model = any_network(seed)
        conditions = [i.name for i in model.graph.input if i.name != "x"]
        try:
            check(model, feeds_for(*conditions, x=(4, 4)), 1e-3, ((("-O1", 2), (f"--random-schedules={seed}", 1))[seed % 2],), atol=1e-4)
        except Exception as problem:
            raise AssertionError(f"seed {seed}: {problem}") from problem


def refusals():
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, [4, 4])
    refused(g.model((branch(g, c, lambda b: b.op("MatMul", x, x), lambda b: b.op("ReduceSum", x, keepdims=0)), F)), "f32[4,4] or f32[]")
    g = Graph()
    c, x = g.input("c", BOOL, [2]), g.input("x", F, [4, 4])
    refused(g.model((branch(g, c, lambda b: b.op("MatMul", x, x), lambda b: b.op("Exp", x)), F)), "one element")


def picked():
    """Few cheap operators are computed on both sides; a ninth, or one product, makes it a branch."""
    for n, product, branches in ((4, False, 0), (5, False, 1), (1, True, 1)):
        g = Graph()
        c, x = g.input("c", BOOL, []), g.input("x", F, [3, 3])

        def side(b, start, last):
            y = start
            for k in range(n):
                y = b.op(("Sin", "Exp", "Tanh")[k % 3], y)
            return b.op("MatMul", y, x) if last else y

        y = branch(g, c, lambda b: side(b, x, product), lambda b: side(b, b.const(rng.random((3, 3)), np.float32) if product else b.op("Neg", x), False) if n != 4 else side(b, x, False))
        expect(g.model((y, F)), feeds_for("c", x=(3, 3)), branches)


def commands():
    """Several sets of shapes; profile and verify show it and agree."""
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, ["n", 8])
    model = g.model((branch(g, c, lambda b: b.op("MatMul", x, weight(b, 8, 8)), lambda b: b.op("Softmax", b.op("MatMul", x, weight(b, 8, 8)))), F))
    with tempfile.TemporaryDirectory() as tmp:
        path, folder = os.path.join(tmp, "m.onnx"), os.path.join(tmp, "out")
        onnx.save(model, path)
        familyseer("compile", path, "-o", folder, "-O1", "--input-shapes", "x:2x8", "--input-shapes", "x:5x8")
        ours = fs.Model(folder, threads=2)
        for n in (2, 5, 2):
            for feeds in feeds_for("c", x=(n, 8)):
                got, want = ours.run(feeds), reference(model, feeds)
                for name, y in want.items():
                    np.testing.assert_allclose(got[name], y, rtol=1e-4, atol=1e-5)
        familyseer("compile", path, "-o", folder, "-O0", "--input-shapes", "x:3x8")
        for value in (True, False):
            np.save(os.path.join(tmp, "c.npy"), np.array(value))
            assert "ok" in familyseer("verify", folder, path, "-i", f"c={tmp}/c.npy", "--input-shapes", "x:3x8").stdout
        assert " branch" in familyseer("bench", folder, "--profile", "--duration", "1s").stdout


if __name__ == "__main__":
    run_tests([("convolutions", convolutions), ("products", products), ("passed through", passed_through), ("captured directly", captured_directly),
               ("many values", many_values), ("nested", nested), ("chained", chained), ("in a loop", in_loop), ("a loop inside", loop_inside),
               ("nested loops", nested_loops), ("old scan", old_scan), ("unrolled", unrolled), ("other shapes", other_shapes), ("random networks", random_networks), ("refusals", refusals), ("picked", picked), ("commands", commands)])
