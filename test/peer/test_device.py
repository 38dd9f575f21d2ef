"""Whole networks on an OpenCL device, against ONNX Runtime: steps of the host between kernels, loops, branches, outputs whose size a run
finds, several sets of shapes. Kernels are PoCL's here, so few and small ones. `make check-gpu` (CHECK_FULL=1) has all cases of the tests
that these are from. SEER_TEST: timeout=900 cost=90"""
import os
import sys
import tempfile

import numpy as np
import onnx

os.environ["SEER_TARGET"] = "opencl:generic"
import test_branch  # noqa: E402
import test_recurrent  # noqa: E402
import test_sized  # noqa: E402
from control import F, Graph, check, fs  # noqa: E402
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
    """What is joined is made in its place: one part by a kernel, one by a step of the host."""
    g = Graph()
    x, k = g.input("x", F, [3, 16]), g.const([16])
    top = g.op("TopK", x, k, outs=2, axis=1)[0]
    many = [{"x": np.random.default_rng(s).standard_normal((3, 16)).astype(np.float32)} for s in range(2)]
    for order in ((top, g.op("Exp", x)), (g.op("Tanh", x), top)):
        joined = g.op("Concat", *order, axis=0)
        check(g.model((g.op("Mul", joined, joined), F), (top, F)), many, 1e-4, ONCE)


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


FEW = (recurrent, parts, copies, shapes, test_recurrent.scans, test_branch.nested, test_branch.in_loop, test_branch.loop_inside,
       test_branch.captured_directly, test_sized.found_twice, test_sized.sliced)
ALL = tuple(f for module in (test_recurrent, test_branch, test_sized) for name, f in vars(module).items()
            if callable(f) and f.__module__ == module.__name__ and not f.__code__.co_argcount and name not in ("commands", "refusals", "unrolled"))

if __name__ == "__main__":
    if not has_device():
        print("no OpenCL device")
        sys.exit(SKIP)
    run_tests([(f.__name__.replace("_", " "), f) for f in (dict.fromkeys(FEW + ALL) if FULL else FEW)])
