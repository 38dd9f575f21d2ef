"""python/package: the names tune, compile and load over this build's libfamilyseer.so, laid out as a wheel has it.
SEER_TEST: timeout=120 cost=15"""
import atexit
import glob
import io
import os
import signal
import sys
import tempfile
import threading

import numpy as np
import onnx

import package

tmp = package.folder
os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(tmp, "temporary")
os.mkdir(tempfile.tempdir)
os.environ["SEER_DEVICE_LOCK"] = os.path.join(tmp, "device.lock")  # who tunes beside it would be waited for, out of the time that a tuning has
os.environ["XDG_CACHE_HOME"] = os.path.join(tmp, "cache")  # records of an earlier run would leave nothing to tune
import familyseer as fs  # noqa: E402

from build_onnx import Net  # noqa: E402
from peer import reference, run_tests  # noqa: E402

net = Net("two", [4, 20], 5)
proto = net.model(net.gemm(net.op("Relu", net.gemm("x", 30, 20)), 6, 30))
x = np.random.default_rng(1).standard_normal((4, 20)).astype(np.float32)
want = reference(proto, {"x": x})


def close(model):
    for name, y in want.items():
        np.testing.assert_allclose(model.run({"x": x})[name], y, rtol=1e-4, atol=1e-4)


def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return error
    raise AssertionError(f"no {kind.__name__}")


def left():
    return glob.glob(os.path.join(tempfile.tempdir, "*"))


def test_compile_keeps_files_as_long_as_a_model():
    model = fs.compile(proto, untuned_drafts=64)
    close(model)
    other = model.clone()
    child = os.fork()
    if child == 0:  # its end is not that of the files
        atexit._run_exitfuncs()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    del model
    assert left(), "a clone has them still"
    close(other)
    del other
    assert not left(), left()


def test_bytes_path_and_folder():
    folder, file = os.path.join(tmp, "out"), os.path.join(tmp, "m.onnx")
    fs.compile(proto.SerializeToString(), folder, untuned_drafts=64)
    close(fs.load(folder))
    assert not left(), left()
    with open(file, "wb") as f:
        f.write(proto.SerializeToString())
    close(fs.compile(file, untuned_drafts=64))


def test_a_tuning_leaves_its_report():
    with tempfile.TemporaryDirectory() as folder:
        out, page, records = (os.path.join(folder, name) for name in ("out", "page.html", "records"))
        data = fs.tune(proto, out, trials=16, records=records).report.data
        assert data["trials"] >= 16 and data["latency_s"] > 0, data
        assert sorted(name for name in os.listdir(out) if name.startswith((".", "report"))) == ["report.html"]
        assert fs.tune(proto, trials=16, measure="fake", report=page).report is None and os.path.getsize(page) > 0


def test_tune_tells_what_happens():
    events = []
    close(fs.tune(proto, trials=16, on_event=events.append))
    kinds = [e.kind for e in events]
    assert "start" in kinds and kinds[-1] == "verdict" and "done" in kinds, kinds
    assert max(e.trials for e in events) >= 16 and events[-1].latency_ms > 0, events[-1]
    assert all((e.task >= 0) == bool(e.task_name) for e in events), events
    assert all(e.task_name and e.budget_trials == 16 for e in events if e.kind == "measurement"), events


def test_a_network_is_never_written_to_a_file():
    fs._tune._Tuner(proto.SerializeToString(), {}, "/nowhere").destroy()
    fs._tune._Tuner(proto, {}, "/nowhere").destroy()
    fs._tune._Tuner(bytearray(proto.SerializeToString()), {}, "/nowhere").destroy()


def test_weights_in_memory():
    outside = onnx.ModelProto()
    outside.CopyFrom(proto)
    tensors = {}
    for k, tensor in enumerate(outside.graph.initializer):
        tensors[f"memory/{k}"] = onnx.numpy_helper.to_array(tensor).copy()
        n_bytes = tensors[f"memory/{k}"].nbytes
        onnx.external_data_helper.set_external_data(tensor, f"memory/{k}", 0, n_bytes)
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
    network = fs._tune._Network(None, outside.SerializeToString(), tensors)
    tuner = fs._tune._Tuner(None, {"untuned_drafts": 64}, "")
    try:
        tuner.load(network)
        tuner.call("compile", os.path.join(tmp, "weights").encode())
    finally:
        tuner.destroy()
    close(fs.load(os.path.join(tmp, "weights")))


class Screen(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


def progress_of(is_terminal, progress):
    before, sys.stderr = sys.stderr, Screen(is_terminal)
    os.environ["COLUMNS"] = "60"
    try:
        fs.tune(proto, trials=16, measure="fake", progress=progress)
        return sys.stderr.getvalue()
    finally:
        sys.stderr = before
        del os.environ["COLUMNS"]


def test_progress_is_one_line_where_somebody_looks():
    assert progress_of(False, None) == "" and progress_of(True, False) == ""
    for is_terminal, progress in ((True, None), (False, True)):
        text = progress_of(is_terminal, progress)
        assert text.startswith("\rfamilyseer: ") and text.endswith("\n") and text.count("\n") == 1, text
        assert all(len(line) <= 59 for line in text.strip("\n").split("\r")), text
        assert "the budget of trials is used up" in text, text


def test_progress_says_how_far_it_is():
    shown = fs._tune._Progress(True)
    assert shown.line() == "preparing"
    event = dict(zip(fs.Event._fields, ("round", "", 0.0, 3.25, 40, 0, 0, 0, 2, "conv 3x3", 0, 0, 120.0, 0)))
    shown.hear(fs.Event(**event))
    assert shown.line() == "0 of 120 s, 40 measurements, 3.250 ms expected, conv 3x3", shown.line()
    shown.hear(fs.Event(**{**event, "kind": "wait", "text": "another tuner"}))
    assert shown.line() == "another tuner"
    shown.stream = Screen(True)
    os.environ["COLUMNS"] = "60"
    shown.hear(fs.Event(**{**event, "kind": "wait", "text": "another tuner " * 10}))
    shown.show()
    shown.hear(fs.Event(**{**event, "kind": "wait", "text": "short\nlines"}))
    shown.end()
    del os.environ["COLUMNS"]
    long, short = shown.stream.getvalue().split("\r")[1:]
    assert len(long) == 59 and short == "familyseer: short lines".ljust(59) + "\n", (long, short)


def test_several_sets_of_shapes():
    free = Net("free", ["n", 20], 5)
    model = fs.compile(free.model(free.gemm("x", 6, 20)), untuned_drafts=64, input_shapes=["x:1x20", "x:4x20"])
    assert len(model.sets) == 2, model.sets


def test_what_is_wrong_is_said():
    error = raises(fs.Error, "time-budgett", lambda: fs.tune(proto, time_budgett="2m"))
    assert error.code == "invalid" and error.operators == [], error.code
    assert raises(fs.Error, "nowhere.onnx", lambda: fs.compile("nowhere.onnx")).code == "not found"
    assert raises(fs.Error, "", lambda: fs.compile(b"no network")).code == "invalid"
    raises(TypeError, "not int", lambda: fs.compile(3))
    raises(TypeError, "the model is a bytes", lambda: fs.compile(b"no network", example_inputs=(1,)))
    strange = Net("strange", [4, 20], 5)
    error = raises(fs.Error, "Wibble", lambda: fs.compile(strange.model(strange.op("Wibble", strange.op("Wibble", "x")))))
    assert error.code == "unsupported", error.code
    ((name, count, reason),) = error.operators
    assert (name, count) == ("Wibble", 2) and "operator set" in reason, error.operators
    assert raises(fs.Error, "no-such", lambda: fs._tune.check_options({"threads": 1, "no_such": 2})).code == "invalid"
    fs._tune.check_options({"threads": 1})
    assert not left(), left()


def test_a_listener_that_fails_ends_the_tuning():
    def fail(event):
        if event.kind == "start":
            raise KeyError("mine")

    raises(KeyError, "mine", lambda: fs.tune(proto, trials=100000, time_budget="300s", on_event=fail))
    assert not left(), left()


def test_ctrl_c_ends_compiling():
    api = fs._tune._library()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for name in ("load_bytes", "compile"):
            real = api[name]

            def pressed(*arguments, real=real):
                os.kill(os.getpid(), signal.SIGINT)
                return real(*arguments)

            api[name] = pressed
            try:
                raises(KeyboardInterrupt, "", lambda: fs.compile(proto))
            finally:
                api[name] = real
            assert not left() and threading.active_count() == 1, left()
    finally:
        signal.signal(signal.SIGINT, before)
    close(fs.compile(proto, untuned_drafts=64))


def test_a_stop_that_came_too_late_ends_nothing():
    tuner = fs._tune._Tuner(proto, {"untuned_drafts": 64}, "/nowhere")
    try:
        tuner.api["stop"](tuner.tuner)
        tuner.call("compile", os.path.join(tmp, "late").encode())
    finally:
        tuner.destroy()
    close(fs.load(os.path.join(tmp, "late")))


def test_ctrl_c_keeps_what_was_found():
    def press(event):
        events.append(event)
        if [e.kind for e in events].count("round-end") == 1 and event.kind == "round-end":
            # This thread takes it, not the one that waits, as the system may also have it of itself.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    events = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts behind itself has none
    try:
        close(fs.tune(proto, trials=100000, time_budget="300s", on_event=press))
    finally:
        signal.signal(signal.SIGINT, before)
    (why,) = (e.text for e in events if e.kind == "done")
    assert why == "stopped by the user", why
    assert events[-1].kind == "verdict" and threading.active_count() == 1


run_tests([(name, test) for name, test in globals().items() if name.startswith("test_")])
