"""python/familyseer.py: answers, shapes, errors, sessions on several threads. SEER_TEST: timeout=120"""
import os
import sys
import tempfile
import threading

import numpy as np
import onnx

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from build_onnx import Net  # noqa: E402
from peer import familyseer, reference, run_tests  # noqa: E402

tmp = tempfile.TemporaryDirectory()
net = Net("two", [4, 20], 5)
first = net.op("Relu", net.gemm("x", 30, 20))
second = net.gemm(first, 6, 30)
proto = net.model(first, second)
onnx.save(proto, os.path.join(tmp.name, "m.onnx"))
familyseer("compile", os.path.join(tmp.name, "m.onnx"), "-o", os.path.join(tmp.name, "out"), "-O1")
x = np.random.default_rng(1).standard_normal((4, 20)).astype(np.float32)
want = reference(proto, {"x": x})
model = fs.Model(os.path.join(tmp.name, "out"), threads=2)


def close(got):
    for name, y in want.items():
        np.testing.assert_allclose(got[name], y, rtol=1e-4, atol=1e-4)


def raises(kind, text, call):
    try:
        call()
    except kind as problem:
        assert text in str(problem), problem
        return
    raise AssertionError(f"no {kind.__name__}")


def answers():
    close(model.run({"x": x}))
    close(model.run([x]))
    close(dict(zip(want, model(x))))
    close(model.run({"x": x.astype(np.float64)}))  # same kind: converted
    close(model.run({"x": np.asfortranarray(x)}))
    assert [v.name for v in model.outputs] == list(want) and model.inputs[0].shape == (4, 20)
    assert model.threads == 2 and model.info["inputs"][0]["name"] == "x"
    steps = model.profile([x], runs=3)
    assert len(steps) >= 2 and all(s[4] > 0 for s in steps if s[1] == "kernel")


def errors():
    raises(ValueError, "shape", lambda: model(x[:2]))
    raises(ValueError, "unknown", lambda: model.run({"y": x}))
    raises(TypeError, "complex", lambda: model(x.astype(np.complex64)))
    raises(fs.Error, "weights", lambda: fs.Model(os.path.join(tmp.name, "out"), weights="/nonexistent/weights.bin"))
    raises(OSError, "", lambda: fs.Model("/nonexistent/model.so"))


def threads():
    wrong = []

    def use(m):
        for _ in range(50):
            try:
                close(m.run({"x": x}))
            except AssertionError as problem:
                wrong.append(problem)

    workers = [threading.Thread(target=use, args=(model.clone(),)) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong, wrong[0]


run_tests([("answers", answers), ("errors", errors), ("threads", threads)])
