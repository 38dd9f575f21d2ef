"""Whole networks on an OpenCL device, against ONNX Runtime: steps of the host between kernels, loops, branches, outputs whose size a run
finds, several sets of shapes. Kernels are PoCL's here, so few and small ones. `make check-full` (CHECK_FULL=1) has all cases of the tests
that these are from. SEER_TEST: timeout=900 cost=55"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

os.environ["SEER_TARGET"] = "opencl:generic"
import test_branch  # noqa: E402
import test_recurrent  # noqa: E402
import test_sized  # noqa: E402
from control import BOOL, F, I64, Graph, check, fs  # noqa: E402
from peer import FULL, SKIP, compare, familyseer, reference, run_tests, safe  # noqa: E402
from test_shapes import convnet  # noqa: E402

ONCE = (("-O1", 2),)


def has_device():
    with tempfile.TemporaryDirectory() as tmp:
        familyseer("compile", "mlp", "-o", tmp)
        done = familyseer("run", os.path.join(tmp, "model.so"), check=False)
    assert done.returncode == 0 or "OpenCL" in done.stderr, done.stderr
    return done.returncode == 0


def recurrent():
    for op in ("LSTM", "GRU"):
        test_recurrent.agrees(op, 3, 2, 4, 5, direction="bidirectional", lengths=op == "LSTM")


def parts():
    """Half of what is joined is made by a kernel, half by a step of the host (which sorts more than 32)."""
    g = Graph()
    x, k = g.input("x", F, [3, 40]), g.const([40])
    many = [{"x": np.random.default_rng(s).standard_normal((3, 40)).astype(np.float32)} for s in range(2)]
    made = []
    for n in range(2):
        top, exp = g.op("TopK", x, k, outs=2, axis=1)[0], g.op("Exp", x)
        joined = g.op("Concat", *((top, exp), (exp, top))[n], axis=0)
        made.append((g.op("Softmax", joined, axis=0), F))
    check(g.model(*made), many, 1e-4, ONCE)


def mixed():
    """What a branch results in, and a loop carries, is made by a kernel here and by a step of the host there."""
    g = Graph()
    x, c, n, k = g.input("x", F, [40]), g.input("c", BOOL, []), g.input("n", I64, []), g.const([40])
    sides = [Graph(first=100), Graph(first=200)]
    made = [sides[0].op("TopK", x, k, outs=2)[0], sides[1].op("Neg", x)]
    y = g.op("If", c, **{name: helper.make_graph(side.nodes, name, [], [helper.make_tensor_value_info(v, F, [40])], side.constants)
                         for name, side, v in zip(("then_branch", "else_branch"), sides, made)})
    y = g.op("Abs", y)
    body = Graph(first=300)
    v = body.op("TopK", body.op("Exp", body.op("Tanh", "v")), k, outs=2, largest=0)[0]
    inputs = [helper.make_tensor_value_info(*i) for i in (("i", I64, []), ("go", BOOL, []), ("v", F, [40]))]
    outputs = [helper.make_tensor_value_info(*i) for i in ((body.op("Identity", "go"), BOOL, []), (v, F, [40]))]
    z = g.op("Loop", n, "", y, body=helper.make_graph(body.nodes, "body", inputs, outputs, body.constants))
    many = [{"x": np.random.default_rng(s).standard_normal(40).astype(np.float32), "c": np.array(s % 2 == 0), "n": np.array(s)} for s in range(4)]
    check(g.model((g.op("Add", z, y), F), (y, F)), many, 1e-4, ONCE)


def scanned():
    """Unrolled; and as loops, rows along either axis, from either end."""
    axes = {"scan_output_axes": [1, 0], "scan_output_directions": [1, 0]}, {"scan_output_axes": [-1, 0], "scan_output_directions": [0, 1]}
    for steps, attrs in ((3, {}), (65, axes[0]), (65, axes[1])):
        model, feeds = test_recurrent.scan(steps, **attrs)
        check(model, [feeds], rtol=1e-3, atol=1e-4)


def cut():
    """By sizes that a run finds, and by numbers that it is given."""
    for start, end in ((None, -2), ("n-3", -1), ("z", 9)):
        test_sized.sliced_from(start, end)


def copies():
    """An input that is an output, one value that is two, a constant."""
    g = Graph()
    x = g.input("x", F, [2, 6])
    y = g.op("Relu", x)
    outs = [g.op("Identity", x), g.op("Reshape", y, g.const([3, 4])), y, g.op("Identity", g.const([1.5, 2], np.float32))]
    many = [{"x": np.random.default_rng(1).standard_normal((2, 6)).astype(np.float32)}]
    check(g.model(*((out, F) for out in outs)), many, how=ONCE)


def shapes():
    """One library for two sets of shapes, by turns, and what is found when steps are timed."""
    model = convnet()
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", tmp, "--input-shapes", "x:1x3x20x20", "--input-shapes", "x:2x3x20x20")
        ours = fs.Model(tmp, threads=2)
        for n in (1, 2, 1):
            x = np.random.default_rng(n).standard_normal((n, 3, 20, 20)).astype(np.float32)
            compare(f"{n} images", {safe(name): y for name, y in ours.run({"x": x}).items()}, reference(model, {"x": x}))
        profile = familyseer("bench", os.path.join(tmp, "model.so"), "--duration", 0, "--iterations", 2, "--profile", "--json")
        assert '"upload"' in profile.stdout and '"download"' in profile.stdout, profile.stdout


FEW = (recurrent, parts, mixed, copies, shapes, scanned, cut, test_branch.nested, test_branch.in_loop, test_branch.loop_inside,
       test_branch.captured_directly, test_sized.found_twice)
ALL = tuple(f for module in (test_recurrent, test_branch, test_sized) for name, f in vars(module).items()
            if callable(f) and f.__module__ == module.__name__ and not f.__code__.co_argcount and name not in ("commands", "refusals", "unrolled"))

if __name__ == "__main__":
    if not has_device():
        print("no OpenCL device")
        sys.exit(SKIP)
    run_tests([(f.__name__.replace("_", " "), f) for f in (dict.fromkeys(FEW + ALL) if FULL else FEW)])
