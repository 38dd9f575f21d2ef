"""Ifs of which one side cannot be built for the given shapes: the other is as ONNX Runtime's, the one ends the run with its reason. SEER_TEST: timeout=300"""
import json
import os
import tempfile

import numpy as np
import onnx
from onnx import helper

from control import BOOL, F, I64, Graph, fs, refused
from peer import familyseer, reference, run_tests

rng = np.random.default_rng(11)
HOW = (("-O1", 2), ("--random-schedules=1", 1))
HIDDEN, FRAME = 4, 8
n_bodies = 0


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def body(build, formals=()):
    global n_bodies
    n_bodies += 1
    b = Graph(first=1000 * n_bodies)
    ends = build(b)
    ends = [b.op("Identity", end) for end in ([ends] if isinstance(ends, str) else ends)]
    outs = [helper.make_tensor_value_info(e, F, None) for e in ends]
    for o in outs:
        o.ClearField("type")
    return helper.make_graph(b.nodes, f"body{n_bodies}", list(formals), outs, b.constants)


def branch(g, c, then, other, name="which", outs=1):
    return g.op("If", c, outs=outs, name=name, then_branch=body(then), else_branch=body(other))


def lstm(b, frames, h, n=FRAME):
    w, r = b.const(floats(1, 4 * HIDDEN, n), np.float32), b.const(floats(1, 4 * HIDDEN, HIDDEN), np.float32)
    return b.op("LSTM", frames, w, r, "", "", h, outs=2, hidden_size=HIDDEN)


def voice():
    """As detectors of voices are exported: a side for each sampling rate, of which one fits the length of the input. How many
    dimensions the other side's frames have, only the input's shape says: ONNX Runtime does not look before it is there."""
    g = Graph()
    x, rate, h = g.input("x", F, ["n", "m"]), g.input("rate", I64, []), g.input("h", F, [1, 1, HIDDEN])

    def fits(b):
        y, last = lstm(b, b.op("Reshape", x, b.const([-1, 1, FRAME])), h)
        return b.op("ReduceMean", y, axes=[0, 1]), last

    def does_not(b):
        y, last = lstm(b, b.op("Squeeze", b.op("Unsqueeze", x, b.const([0]))), h)
        return b.op("ReduceMean", y, axes=[0, 1]), last

    p, state = branch(g, g.op("Equal", rate, g.const(16000)), fits, does_not, outs=2)
    return g.model((g.op("Sigmoid", p), F), (state, F))


SHAPES = ["--input-shapes", "x:1x32"]
REASON = "rank 3"


def says(status, text, *args):
    done = familyseer(*args, check=False)
    assert done.returncode == status and text in done.stderr + done.stdout, f"{args}: status {done.returncode}, not '{text}': {done.stderr}{done.stdout}"
    return done.stdout


def compiled(model, tmp, *flags, name="out"):
    onnx.save(model, os.path.join(tmp, "m.onnx"))
    out = os.path.join(tmp, name)
    done = familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", out, *(flags or ("-O1",)))
    return out, done.stderr


def save(tmp, **feeds):
    flags = []
    for name, x in feeds.items():
        np.save(os.path.join(tmp, name + ".npy"), x)
        flags += ["-i", f"{name}={tmp}/{name}.npy"]
    return flags


def compare(out, model, feeds, threads=2):
    ours = fs.Model(out, threads=threads).run(feeds)
    for name, want in reference(model, feeds).items():
        np.testing.assert_allclose(ours[name], want, rtol=1e-4, atol=1e-5, err_msg=name)


def fails(out, tmp, text, **feeds):
    """The run ends with an error that has this text, in a program as on the command line, and a good run works afterwards."""
    says(1, text, "run", out, *save(tmp, **feeds))
    try:
        fs.Model(out, threads=2).run(feeds)
    except fs.Error as problem:
        assert problem.code == "unsupported" and text in str(problem), f"{problem.code}: {problem}"
    else:
        raise AssertionError("a side that is not built was run")


def sides():
    model = voice()
    good = {"x": floats(1, 32), "rate": np.array(16000), "h": floats(1, 1, HIDDEN)}
    bad = {**good, "rate": np.array(8000)}
    try:
        reference(model, bad)
    except Exception as problem:  # ONNX Runtime runs one side, and fails in the other
        assert "LSTM" in str(problem), problem
    else:
        raise AssertionError("ONNX Runtime has run the side that does not fit")
    with tempfile.TemporaryDirectory() as tmp:
        for k, (how, threads) in enumerate(HOW):
            out, notice = compiled(model, tmp, how, *SHAPES, name=f"out{k}")
            assert "the else side of If 'which' cannot be built, and a run that takes it fails" in notice and REASON in notice, notice
            compare(out, model, good, threads)
            fails(out, tmp, "step 'which/Branch': its condition led to the else side, which could not be built", **bad)
            fails(out, tmp, REASON, **bad)
        ours = fs.Model(out)
        for feeds in (good, bad, good):  # a run that failed leaves nothing behind
            try:
                y = ours.run(feeds)
            except fs.Error:
                assert feeds is bad
            else:
                assert feeds is good
                for name, want in reference(model, good).items():
                    np.testing.assert_allclose(y[name], want, rtol=1e-4, atol=1e-5)
        path = os.path.join(tmp, "m.onnx")
        for command in ("info", "tasks"):
            says(0, "the else side of If 'which' cannot be built", command, path, *SHAPES)
            lists = json.loads(says(0, "", command, path, *SHAPES, "--json"))["not_built"]
            assert len(lists) == 1 and REASON in lists[0], lists
        says(0, "'which/Branch', else side: ", "info", out)
        step = [s for s in json.loads(says(0, "", "info", out, "--json"))["steps"] if s["kind"] == "branch"]
        assert len(step) == 1 and step[0]["not_built"] == "else" and step[0]["else"] == 0 and REASON in step[0]["why"], step
        says(0, "ok", "verify", out, path, *SHAPES, *save(tmp, **good))
        says(1, "untiled code ends in the same way", "verify", out, path, *SHAPES, *save(tmp, **bad))
        says(1, REASON, "bench", out, "--duration", "50ms", "--fill", "zeros")
        tuned = os.path.join(tmp, "tuned")  # what is timed as a whole in the end may end, too
        says(0, "not timed as a whole", "tune", path, "-o", tuned, "--trials", "1", "--ignore-records", *SHAPES)
        compare(tuned, model, good)


def bound():
    """With the rate given when compiling there is no If."""
    model = voice()
    with tempfile.TemporaryDirectory() as tmp:
        out, notice = compiled(model, tmp, "-O1", *SHAPES, "--bind", "rate=16000")
        assert "cannot be built" not in notice, notice
        ours = fs.Model(out)
        assert [v.name for v in ours.inputs] == ["x", "h"]
        assert not [s for s in ours.info["steps"] if s["kind"] == "branch"]
        feeds = {"x": floats(1, 32), "h": floats(1, 1, HIDDEN)}
        want = reference(model, {**feeds, "rate": np.array(16000)})
        for name, x in ours.run(feeds).items():
            np.testing.assert_allclose(x, want[name], rtol=1e-4, atol=1e-5)
        says(1, REASON, "compile", os.path.join(tmp, "m.onnx"), "-o", out, "-O1", *SHAPES, "--bind", "rate=8000")


def wrong(b, x):
    """Cannot be built, for a matrix."""
    return b.op("LSTM", x, b.const(floats(1, 4, 2), np.float32), b.const(floats(1, 4, 1), np.float32), hidden_size=1)


def matrix(rank=("a", "b")):
    """c, d: conditions; x: a value whose rank ONNX Runtime does not know beforehand, given as a matrix."""
    g = Graph()
    c, d, x = g.input("c", BOOL, []), g.input("d", BOOL, []), g.input("x", F, list(rank))
    return g, c, d, g.op("Squeeze", g.op("Unsqueeze", x, g.const([0])))


def nested():
    """The inner If's bad side ends the run only where the outer one leads to it."""
    g, c, d, x = matrix()
    y = branch(g, c, lambda b: b.op("Exp", branch(b, d, lambda i: i.op("MatMul", x, x), lambda i: wrong(i, x), name="inner")),
               lambda b: b.op("MatMul", b.op("Neg", x), x), name="outer")
    model = g.model((y, F))
    with tempfile.TemporaryDirectory() as tmp:
        out, _ = compiled(model, tmp, "-O1", "--input-shapes", "x:3x3")
        for cond, inner in ((True, True), (False, True), (False, False)):
            compare(out, model, {"c": np.array(cond), "d": np.array(inner), "x": floats(3, 3)})
        fails(out, tmp, "step 'outer/inner/Branch': its condition led to the else side", c=np.array(True), d=np.array(False), x=floats(3, 3))


def loop_body(build, shape):
    formals = [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", BOOL, []), helper.make_tensor_value_info("v", F, shape)]
    return body(build, formals)


def in_loop():
    """By the iteration, or with nothing that depends on it: a loop that does not run does not end the run."""
    for varies in (True, False):
        g, c, _, x = matrix()
        n = g.input("n", I64, [])

        def turn(b, x=x, c=c, varies=varies):
            cond = b.op("Less", "i", b.const(2)) if varies else c
            return b.const(True, bool), branch(b, cond, lambda i: i.op("MatMul", "v" if varies else x, x), lambda i: wrong(i, x), name="inner")

        y = g.op("Loop", n, "", x, body=loop_body(turn, None), name="loop")
        model = g.model((y, F))
        del model.graph.input[1]  # d
        with tempfile.TemporaryDirectory() as tmp:
            out, _ = compiled(model, tmp, "-O1", "--input-shapes", "x:3x3")
            for turns in (0, 1, 2):
                compare(out, model, {"c": np.array(True), "x": floats(3, 3), "n": np.array(turns)})
            compare(out, model, {"c": np.array(False), "x": floats(3, 3), "n": np.array(0)})
            feeds = {"c": np.array(not varies and False), "x": floats(3, 3), "n": np.array(3 if varies else 1)}
            fails(out, tmp, "led to the else side", **feeds)


def loop_in_loop():
    """The If is in the inner loop only, whose begin does not depend on the outer one."""
    g, c, _, x = matrix()
    n, m = g.input("n", I64, []), g.input("m", I64, [])
    formals = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (("j", I64, []), ("on", BOOL, []), ("w", F, None))]

    def inner(b):
        return b.const(True, bool), branch(b, c, lambda i: i.op("MatMul", "w", x), lambda i: wrong(i, x), name="inner")

    def outer(b):
        z = b.op("Loop", m, "", x, body=body(inner, formals))
        return b.const(True, bool), b.op("Add", "v", z)

    y = g.op("Loop", n, "", x, body=loop_body(outer, None), name="loop")
    model = g.model((y, F))
    del model.graph.input[1]
    with tempfile.TemporaryDirectory() as tmp:
        out, _ = compiled(model, tmp, "-O1", "--input-shapes", "x:3x3")
        for cond, n_outer, n_inner in ((True, 2, 2), (True, 1, 0), (False, 0, 2), (False, 2, 0)):
            compare(out, model, {"c": np.array(cond), "x": floats(3, 3), "n": np.array(n_outer), "m": np.array(n_inner)})
        fails(out, tmp, "led to the else side", c=np.array(False), x=floats(3, 3), n=np.array(1), m=np.array(1))


def sized():
    """What the good side gives has a size of its own, and passes through; so do captured values and constants."""
    g, c, d, x = matrix()
    found, same, fixed = branch(g, c, lambda b: [wrong(b, x)] * 3,
                                lambda b: (b.op("Cast", b.op("NonZero", b.op("Relu", x)), to=F), x, b.const(np.arange(3), np.float32)), outs=3)
    model = g.model((found, F), (g.op("ReduceSum", found, keepdims=0), F), (same, F), (fixed, F))
    del model.graph.input[1]
    with tempfile.TemporaryDirectory() as tmp:
        out, _ = compiled(model, tmp, "-O1", "--input-shapes", "x:3x3")
        for _ in range(3):
            compare(out, model, {"c": np.array(False), "x": floats(3, 3)})
        fails(out, tmp, "led to the then side", c=np.array(True), x=floats(3, 3))


def both():
    """Neither side: refused, with both reasons. In a side of another If, that is its reason."""
    g, c, d, x = matrix()
    y = branch(g, c, lambda b: wrong(b, x), lambda b: b.op("Conv", x, b.const(floats(2, 2, 3), np.float32)))
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(g.model((y, F)), os.path.join(tmp, "m.onnx"))
        done = says(1, "neither side can be built; then: ", "compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1", "--input-shapes", "x:3x3")
        done = familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1", "--input-shapes", "x:3x3", check=False).stderr
        assert "(LSTM)" in done and "; else: " in done and "(Conv)" in done, done
    g, c, d, x = matrix()
    y = branch(g, c, lambda b: b.op("Relu", branch(b, d, lambda i: wrong(i, x), lambda i: wrong(i, x), name="inner")), lambda b: b.op("MatMul", x, x))
    with tempfile.TemporaryDirectory() as tmp:
        out, notice = compiled(g.model((y, F)), tmp, "-O1", "--input-shapes", "x:3x3")
        assert "the then side of If 'which' cannot be built" in notice and "neither side" in notice, notice
        fails(out, tmp, "neither side can be built", c=np.array(True), d=np.array(True), x=floats(3, 3))
        compare(out, g.model((y, F)), {"c": np.array(False), "d": np.array(True), "x": floats(3, 3)})


def strange(b, x):
    return b.op("NoSuchOperator", x)


def dropped():
    """A constant condition: the other side is not looked at, whatever it holds."""
    for keep in (True, False):
        g, c, d, x = matrix()
        sides = [lambda b: b.op("MatMul", x, x), lambda b: strange(b, b.op("Conv", x, x))]
        y = branch(g, g.const(keep, bool), *(sides if keep else sides[::-1]))
        with tempfile.TemporaryDirectory() as tmp:
            out, notice = compiled(g.model((y, F)), tmp, "-O1", "--input-shapes", "x:3x3")
            assert "cannot be built" not in notice
            value = floats(3, 3)
            got = fs.Model(out).run({"c": np.array(True), "d": np.array(True), "x": value})
            np.testing.assert_allclose(list(got.values())[0], value @ value, rtol=1e-4, atol=1e-5)


def unsupported():
    """An operator that is not known in one side only; in what always runs it is listed with those in sides."""
    g, c, d, x = matrix()
    y = branch(g, c, lambda b: strange(b, x), lambda b: b.op("MatMul", x, x))
    with tempfile.TemporaryDirectory() as tmp:
        out, notice = compiled(g.model((y, F)), tmp, "-O1", "--input-shapes", "x:3x3")
        assert "NoSuchOperator (opset 17), is not supported" in notice, notice
        value = floats(3, 3)
        got = fs.Model(out).run({"c": np.array(False), "d": np.array(True), "x": value})
        np.testing.assert_allclose(list(got.values())[0], value @ value, rtol=1e-4, atol=1e-5)
        fails(out, tmp, "NoSuchOperator", c=np.array(True), d=np.array(True), x=value)
    refused(g.model((g.op("NorThisOne", y), F)), "2 nodes use operators that are not supported")


def sets():
    """A side that fits one set of input shapes."""
    g = Graph()
    c, x = g.input("c", BOOL, []), g.input("x", F, ["a", "b"])
    w = g.const(floats(3, 4), np.float32)
    y = branch(g, c, lambda b: b.op("ReduceSum", b.op("MatMul", x, w), keepdims=0), lambda b: b.op("ReduceSum", b.op("Exp", b.op("MatMul", x, b.op("Transpose", x, perm=[1, 0]))), keepdims=0))
    model = g.model((y, F))
    with tempfile.TemporaryDirectory() as tmp:
        out, notice = compiled(model, tmp, "-O1", "--input-shapes", "x:2x3", "--input-shapes", "x:2x5")
        assert "the then side of If 'which' cannot be built" in notice, notice
        for cond, shape in ((True, (2, 3)), (False, (2, 3)), (False, (2, 5))):
            compare(out, model, {"c": np.array(cond), "x": floats(*shape)})
        fails(out, tmp, "led to the then side", c=np.array(True), x=floats(2, 5))


run_tests([("sides", sides), ("bound", bound), ("nested", nested), ("in a loop", in_loop), ("a loop in a loop", loop_in_loop), ("sized", sized),
           ("both", both), ("dropped", dropped), ("unsupported", unsupported), ("sets", sets)])
