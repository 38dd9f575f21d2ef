"""--precision on an OpenCL device, against ONNX Runtime in f32 within what roundings may make (test_precision), and of a recurrence,
loops and branches by verify's tolerances. `make check-full` (CHECK_FULL=1) has every level of these, and whole networks.
SEER_TEST: timeout=1200 cost=40"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

import test_precision
import test_recurrent
from control import BOOL, F, I64, Graph
from peer import FULL, SKIP, familyseer, run_tests

TARGET = ("--target", "opencl:generic")
LEVELS = test_precision.LEVELS if FULL else ["-O1"]
NETWORKS = ("mobilenet_v2", "resnet18", "gpt2_small:sequence=1")


def has_device():
    with tempfile.TemporaryDirectory() as tmp:
        familyseer("compile", "mlp", "-O0", "-o", tmp, *TARGET)
        done = familyseer("run", os.path.join(tmp, "model.so"), check=False)
    assert done.returncode == 0 or "OpenCL" in done.stderr, done.stderr
    return done.returncode == 0


def holds(model, kind):
    """What is said is of the device; what it computes is within verify's tolerances."""
    with tempfile.TemporaryDirectory() as tmp:
        said = familyseer("compile", model, "-o", tmp, "-O1", *TARGET, "--precision", kind).stderr
        assert f"{kind} against f32, both on this machine's opencl" in said, said
        judged = familyseer("verify", tmp, model).stdout
        assert f"{kind} against f32: max error" in judged, judged
        assert "max error 0 (0 of" not in judged, f"nothing is rounded: {judged}"


def holds_model(model, kind):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "m.onnx")
        onnx.save(model, path)
        holds(path, kind)


def lstm(kind):
    holds_model(test_recurrent.recurrent("LSTM", 3, 2, 24, 20)[0], kind)


def controlled(kind):
    """A product in the body of a loop whose end only data knows, and others in an If's sides."""
    rng = np.random.default_rng(5)
    weights = [(rng.standard_normal((24, 24)) * 0.2).astype(np.float32) for _ in range(3)]
    g = Graph()
    x, c, n = g.input("x", F, [4, 24]), g.input("c", BOOL, []), g.input("n", I64, [])
    sides = [Graph(first=100), Graph(first=200)]
    made = [side.op("MatMul", x, side.const(w, np.float32)) for side, w in zip(sides, weights)]
    y = g.op("If", c, **{name: helper.make_graph(side.nodes, name, [], [helper.make_tensor_value_info(v, F, [4, 24])], side.constants)
                         for name, side, v in zip(("then_branch", "else_branch"), sides, made)})
    body = Graph(first=300)
    v = body.op("Tanh", body.op("MatMul", "v", body.const(weights[2], np.float32)))
    inputs = [helper.make_tensor_value_info(*i) for i in (("i", I64, []), ("go", BOOL, []), ("v", F, [4, 24]))]
    outputs = [helper.make_tensor_value_info(*i) for i in ((body.op("Identity", "go"), BOOL, []), (v, F, [4, 24]))]
    z = g.op("Loop", n, "", y, body=helper.make_graph(body.nodes, "body", inputs, outputs, body.constants))
    holds_model(g.model((z, F), (y, F)), kind)


if __name__ == "__main__":
    if not has_device():
        print("no OpenCL device")
        sys.exit(SKIP)
    tests = [(f"{b.__name__}.{k}", lambda b=b, k=k: test_precision.check(b, k, LEVELS, TARGET)) for b in test_precision.BUILDS for k in ("bf16", "f16")]
    tests += [(f"{f.__name__}.{k}", lambda f=f, k=k: f(k)) for f in (lstm, controlled) for k in ("bf16", "f16")]
    if FULL:
        tests += [(f"{m}.{k}", lambda m=m, k=k: holds(m, k)) for m in NETWORKS for k in ("bf16", "f16")]
    run_tests(tests)
