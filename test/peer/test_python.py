"""python/familyseer.py: answers, shapes, memory of the caller's, errors, sessions on several threads, in children, of the
first version.
SEER_TEST: timeout=300"""
import html
import importlib.util
import multiprocessing
import os
import pickle
import platform
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
    raw = np.zeros(x.nbytes + 1, np.uint8)
    odd = raw[1:].view(np.float32).reshape(x.shape)  # between the multiples of 4
    odd[...] = x
    close(model.run({"x": odd}))
    assert [v.name for v in model.outputs] == list(want) and model.inputs[0].shape == (4, 20)
    assert model.threads == 2 and model.info["inputs"][0]["name"] == "x"
    steps = model.profile([x], runs=3)
    assert len(steps) >= 2 and all(s[4] > 0 for s in steps if s[1] == "kernel")
    assert all(s == (s.name, s.kind, s.source, s.flops, s.seconds) for s in steps)
    lines = str(steps).split("\n")
    assert lines[0].split() == ["us", "%", "GFLOP/s", "kind", "schedule", "step"] and f"in {len(steps)} steps" in lines[-1], lines
    shown = [float(line.split()[0]) for line in lines[1:-1]]
    assert len(shown) == len(steps) and shown == sorted(shown, reverse=True), lines
    several = fs.Profile(fs.Step("s", "kernel", "tuned", 1e6, s) for s in (1e-3, 3e-3, 2e-3))
    assert [line.split()[:3] for line in str(several).split("\n")[1:-1]] == [
        ["3000.0", "50.0", "0.3"], ["2000.0", "33.3", "0.5"], ["1000.0", "16.7", "1.0"]], str(several)
    assert steps._repr_html_().count("<tr>") == len(steps) + 1
    assert "x: float32[4, 20]" in repr(model) and model.path.endswith("/out/model.so") and model.report is None
    assert "<td>x</td><td>float32</td><td>[4, 20]</td>" in model._repr_html_() and "report" not in model._repr_html_()
    with open(os.path.join(tmp.name, "out", "report.html"), "w") as file:
        file.write("a report")
    assert model.report == os.path.join(tmp.name, "out", "report.html") and "report.html" in model._repr_html_()
    raises(ValueError, "no report", lambda: model.report.data)
    familyseer("tune", os.path.join(tmp.name, "m.onnx"), "--measure=fake", "--ignore-records", "--trials=4", f"--report={model.report}")
    data, shown = model.report.data, model.report._repr_html_()
    assert data["model"] == "m.onnx" and data["sum_s"] > 0 and sorted(t["name"] for t in data["tasks"])[0].startswith("gemm"), data
    assert shown.startswith("<iframe sandbox=") and shown.count("<") == 2 and shown.endswith("</iframe>")
    with open(model.report, encoding="utf-8") as file:
        assert html.unescape(shown[shown.index('srcdoc="') + 8:shown.rindex('"')]) == file.read()


class Exported:
    """An array of another library, as DLPack has it."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (self.device, 0)


def memory():
    """What lies dense and has the right type is used where it is, in and out."""
    fixed = x.copy()
    fixed.setflags(write=False)
    for given in (x, fixed, Exported(x)):
        close(model.run([given]))
        with model._alone():
            _, kept, _ = model._bind([given])
        assert kept[0].ctypes.data == fs._as_array(given).ctypes.data, given
    assert fs._as_array(Exported(x)).ctypes.data == x.ctypes.data
    shapes = [v.shape for v in model.outputs]
    out = [np.zeros(s, np.float32) for s in shapes]
    got = model.run([x], outputs=out)
    assert all(a is b for a, b in zip(got.values(), out))
    close(dict(zip(want, out)))
    first, second = list(want)
    whole = np.zeros(shapes[0], np.float32)
    far = Exported(whole)
    got = model.run({"x": x}, outputs={first: far})
    assert got[first] is far and isinstance(got[second], np.ndarray)
    close({first: whole, second: got[second]})
    got = model.run([x], [None, out[1]])
    assert got[second] is out[1] and got[first] is not out[0]
    fixed = np.zeros(shapes[0], np.float32)
    fixed.setflags(write=False)
    for wrong, kind, text in ((np.zeros(shapes[0]), TypeError, "is float64, must be float32"),
                              (np.zeros((2, 2), np.float32), ValueError, "has shape (2, 2)"),
                              (np.zeros(shapes[0][::-1], np.float32).T, ValueError, "must lie dense, and be writable"),
                              (fixed, ValueError, "must lie dense, and be writable"), ([[0.0]], TypeError, "list is no memory"),
                              (Exported(whole, 2), TypeError, "on a device")):
        raises(kind, text, lambda wrong=wrong: model.run([x], [wrong, None]))
    raises(TypeError, "on a device", lambda: model(Exported(x, 2)))
    raises(ValueError, "1 outputs, must be 2", lambda: model.run([x], [None]))
    raises(ValueError, "unknown outputs ['q']", lambda: model.run([x], {"q": whole}))
    raises(ValueError, "2 inputs, must be 1", lambda: model(x, x))
    raises(fs.Error, "overlap", lambda: model.run([x], [out[0], out[0].reshape(-1)[:24].reshape(shapes[1])]))
    close(model.run([x]))


def torch_tensors():
    """Where PyTorch is installed; else there is nothing to show."""
    try:
        import torch
    except ImportError:
        return
    t = torch.from_numpy(x.copy())
    close(model.run([t]))
    close(model.run([torch.nn.Parameter(t)]))
    assert fs._as_array(t).ctypes.data == t.data_ptr()
    out = [torch.zeros(v.shape) for v in model.outputs]
    got = model.run([t], out)
    assert all(a is b for a, b in zip(got.values(), out))
    close({name: v.numpy() for name, v in got.items()})
    half = fs._as_array(t.to(torch.bfloat16))
    assert half.dtype == np.uint16 and half.shape == x.shape


def pickled():
    again = pickle.loads(pickle.dumps(model.clone()))
    assert again.threads == 2 and again.path == model.path
    close(again.run([x]))
    error = pickle.loads(pickle.dumps(fs.Error("unsupported", "why", [("Op", 2, "not there")])))
    assert (error.code, str(error), error.operators) == ("unsupported", "why", [("Op", 2, "not there")])


def errors():
    raises(ValueError, "shape", lambda: model(x[:2]))
    raises(ValueError, "unknown", lambda: model.run({"y": x}))
    raises(TypeError, "complex", lambda: model(x.astype(np.complex64)))
    raises(fs.Error, "weights", lambda: fs.Model(os.path.join(tmp.name, "out"), weights="/nonexistent/weights.bin"))
    raises(OSError, "", lambda: fs.Model("/nonexistent/model.so"))
    # What the library says is what is raised.
    session = model.clone()._session
    short, room = np.zeros(79, np.float32), np.zeros(200, np.float32)
    raises(fs.Error, "input 'x': 316 bytes were given, it needs 320", lambda: session.bind_input(0, short))
    raises(fs.Error, "there is no output 2; the model has 2", lambda: session.bind_output(2, room))
    raises(fs.Error, "there is no set of shapes 1", lambda: session.select(1))
    raises(fs.Error, "'x' is not bound", session.run)
    session.bind_input(0, room)
    session.bind_output(0, room[79:])
    session.bind_output(1, np.zeros(24, np.float32))
    raises(fs.Error, f"input 'x' and output '{model.outputs[0].name}' overlap", session.run)
    with model._alone():
        try:
            model(x)
            raise AssertionError("two at a time")
        except fs.Error as problem:
            assert problem.code == "busy" and "clone()" in str(problem), problem
    assert fs.Error(99, "").code == "99"


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


def in_child(results):
    try:
        for m in (model, model.clone()):
            close(m.run({"x": x}))
        close(fs.Model(os.path.join(tmp.name, "out"), threads=2).run({"x": x}))
        results.put("well")
    except BaseException as problem:  # noqa: B902 - whatever it is, the parent is told
        results.put(repr(problem))


def children():
    """Forked processes go on with what the parent has, also while a thread of it runs, or has died running."""
    close(model.run({"x": x}))
    fork = multiprocessing.get_context("fork")
    for is_in_use in (False, True):
        if is_in_use:
            model._free.acquire()
        results = fork.Queue()
        processes = [fork.Process(target=in_child, args=(results,)) for _ in range(3)]
        for p in processes:
            p.start()
        assert [results.get(timeout=100) for _ in processes] == ["well"] * 3
        for p in processes:
            p.join(100)
            assert p.exitcode == 0, p.exitcode
        if is_in_use:
            model._free.release()
    close(model.run({"x": x}))


def versions():
    """The first version's library under today's module, and today's library under the first version's module."""
    stored = os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "test", "data", "abi")
    spec = importlib.util.spec_from_file_location("familyseer_first", os.path.join(stored, "familyseer.py"))
    first = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(first)
    close(first.Model(os.path.join(tmp.name, "out"), threads=2).run({"x": x}))
    if platform.machine() != "x86_64":
        return
    old = onnx.load(os.path.join(stored, "model.onnx"))
    m = fs.Model(stored, threads=2)
    assert not fs._has(m._api, "session_run") and fs._has(model._api, "session_run")
    for rows in (4, 2):
        feeds = {"x": x[:rows]}
        got, expected = m.run(feeds), reference(old, feeds)
        for name, y in expected.items():
            assert got[name].shape == y.shape, name
            np.testing.assert_allclose(got[name], y, rtol=1e-4, atol=1e-4)
        # Memory for what a run sizes is that of the bounds; what comes back is its beginning.
        out = [np.zeros(v.shape, v.dtype) for v in m.sets[0 if rows == 4 else 1][1]]
        got = m.run(feeds, out)
        for (name, y), whole in zip(expected.items(), out):
            assert got[name].shape == y.shape and np.shares_memory(got[name], whole), name
            np.testing.assert_allclose(got[name], y, rtol=1e-4, atol=1e-4)
    assert {s[1] for s in m.profile([x], runs=2)} == {"kernel", "host"}
    raises(fs.Error, "input 1 cannot be bound", lambda: m._session.bind_input(1, x))


def recompiled():
    """What is in a folder now is what runs, beside what was opened there before."""
    folder, models = os.path.join(tmp.name, "again"), []
    values = np.array([-1, 2, -3, 4], np.float32)
    for op, want in (("Neg", -values), ("Abs", np.abs(values))):
        ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node(op, ["x"], ["y"])], "g", ends[:1], ends[1:])
        net = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(net, folder + ".onnx")
        familyseer("compile", folder + ".onnx", "-o", folder, "-O0")
        models += [(fs.Model(folder, threads=1), want), (fs.Model(folder, threads=1), want)]
    for m, want in models:
        np.testing.assert_array_equal(m(values), want)


run_tests([("answers", answers), ("memory", memory), ("torch_tensors", torch_tensors), ("pickled", pickled), ("recompiled", recompiled), ("errors", errors), ("threads", threads), ("children", children),
           ("versions", versions)])
