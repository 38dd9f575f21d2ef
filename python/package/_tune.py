"""From a network to a Model, by the library's C interface (include/seer/familyseer.h)."""
import ctypes
import os
import shutil
import sys
import tempfile
import threading
import time
import weakref
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from ._runtime import Error, Model


class Event(NamedTuple):
    """What a tuning tells on its way: see seer_tuner_event in include/seer/familyseer.h."""

    kind: str  # "start", "round", "best", "accept", "note", "wait", "done", "verdict", ...
    text: str
    elapsed_s: float
    estimated_ms: float
    trials: int
    latency_ms: float
    untuned_ms: float
    speedup: float
    task: int  # -1: of none
    task_name: str
    before_ms: float
    after_ms: float
    budget_s: float  # 0: no limit
    budget_trials: int


class Operator(NamedTuple):
    """One that is not supported, of Error.operators."""

    name: str
    count: int
    reason: str


class _CEvent(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("text", ctypes.c_char_p), ("elapsed_s", ctypes.c_double),
                ("estimated_ms", ctypes.c_double), ("trials", ctypes.c_uint32), ("latency_ms", ctypes.c_double),
                ("untuned_ms", ctypes.c_double), ("speedup", ctypes.c_double), ("task", ctypes.c_int32),
                ("task_name", ctypes.c_char_p), ("before_ms", ctypes.c_double), ("after_ms", ctypes.c_double),
                ("budget_s", ctypes.c_double), ("budget_trials", ctypes.c_uint32)]


class _CMissing(ctypes.Structure):
    _fields_ = [("op", ctypes.c_char_p), ("count", ctypes.c_uint32), ("reason", ctypes.c_char_p)]


_p, _text_p, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_Listener = ctypes.CFUNCTYPE(None, _p, ctypes.POINTER(_CEvent))
_SIGNATURES = {"create": (ctypes.POINTER(_p),), "destroy": (_p,), "message": (_p,), "code": (_p,),
               "code_text": (ctypes.c_int,), "set": (_p, _text_p, _text_p), "load": (_p, _text_p),
               "load_bytes": (_p, _p, _size, _text_p), "give": (_p, _text_p, _p, _size), "n_missing": (_p,),
               "missing_at": (_p, ctypes.c_uint32), "listen": (_p, _Listener, _p), "tune": (_p,), "stop": (_p,),
               "compile": (_p, _text_p)}
_RESULTS = {"destroy": None, "listen": None, "stop": None, "message": _text_p, "code_text": _text_p,
            "n_missing": ctypes.c_uint32, "missing_at": ctypes.POINTER(_CMissing)}
_lock = threading.Lock()
_functions: dict = {}


def _library() -> dict:
    """The library's functions, loaded when they are first asked for: who only runs models needs none of them."""
    with _lock:
        if not _functions:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libfamilyseer.so")
            library = ctypes.CDLL(path)
            found = {}
            for name, arguments in _SIGNATURES.items():
                found[name] = getattr(library, "seer_tuner_" + name)
                found[name].argtypes = arguments
                found[name].restype = _RESULTS.get(name, ctypes.c_int)
            _functions.update(found)
    return _functions


def _text(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"1" if value else b"0"
    return os.fsencode(value) if isinstance(value, (str, os.PathLike)) else str(value).encode()


def _said(text: bytes) -> str:
    return text.decode(errors="replace")


class _Network(NamedTuple):
    """Where a network comes from: a file or the name of one that is built in, or the bytes of a file, with external data in
    memory by the location that the bytes name."""

    name: Optional[str]
    data: Any = None
    tensors: Optional[dict] = None


def _network(model: Any, example_inputs: Any, folder: str) -> _Network:
    """`folder`: for files that it takes, as long as the tuner lives."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        if example_inputs is None:
            raise TypeError("a torch.nn.Module is a model together with example_inputs=")
        from . import torch as exporter

        path = os.path.join(folder, "model.onnx")
        exporter.export(model, example_inputs, path)
        return _Network(path)
    if example_inputs is not None:
        raise TypeError(f"example_inputs are for a torch.nn.Module, the model is a {type(model).__name__}")
    if isinstance(model, (str, os.PathLike)):
        return _Network(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _Network(None, model)
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        return _Network(None, model.SerializeToString())
    raise TypeError(f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module, not {type(model).__name__}")


PERIOD_S = 0.25  # from one look at signals and progress to the next


class _Progress:
    """A line on stderr that is written over: whether in a terminal or in a notebook, both know a carriage return."""

    def __init__(self, asked: Optional[bool]):
        stream = sys.stderr
        self.is_on = asked if asked is not None else bool(stream) and stream.isatty()
        self.stream, self.event, self.at, self.n_shown = stream, None, 0.0, 0

    def hear(self, event: Event) -> None:
        self.event, self.at = event, time.monotonic()

    def line(self) -> str:
        e = self.event
        if e is None:
            return "preparing"
        if e.kind in ("wait", "done", "verdict"):
            return e.text or e.kind
        elapsed = e.elapsed_s + time.monotonic() - self.at if e.elapsed_s > 0 else 0
        limit = f" of {e.budget_s:.0f}" if e.budget_s > 0 else ""
        parts = [f"{elapsed:.0f}{limit} s", f"{e.trials} measurements"]
        if e.estimated_ms > 0:
            parts.append(f"{e.estimated_ms:.3f} ms expected")
        if e.task_name:
            parts.append(e.task_name)
        return ", ".join(parts)

    def show(self) -> None:
        text = "familyseer: " + " ".join(self.line().split())
        text = text[: max(20, shutil.get_terminal_size().columns - 1)]
        self.stream.write("\r" + text.ljust(self.n_shown))
        self.stream.flush()
        self.n_shown = len(text)

    def end(self) -> None:
        if self.is_on:
            self.show()
            self.stream.write("\n")
            self.stream.flush()


class _Tuner:
    """One network on its way. Calls that fail are an Error with the library's words."""

    def __init__(self, model: Any, options: dict, folder: str, example_inputs: Any = None):
        self.api = _library()
        self.tuner = _p()
        self.kept: list = []  # memory that the tuner looks at
        self.done = threading.Event()  # whether nothing runs in another thread
        self.done.set()
        failed = self.api["create"](ctypes.byref(self.tuner))
        try:
            self.check(failed)
            for name, value in options.items():
                for one in value if isinstance(value, (list, tuple)) else [value]:
                    self.check(self.api["set"](self.tuner, name.replace("_", "-").encode(), _text(one)))
            if model is not None:
                self.load(_network(model, example_inputs, folder))
        except BaseException:
            self.destroy()
            raise

    def code(self) -> str:
        return self.api["code_text"](self.api["code"](self.tuner)).decode()

    def check(self, failed: int) -> None:
        if not failed:
            return
        api = self.api
        code = self.code()
        missing = (api["missing_at"](self.tuner, k).contents for k in range(api["n_missing"](self.tuner)))
        raise Error(code, _said(api["message"](self.tuner)),
                    [Operator(_said(m.op), m.count, _said(m.reason)) for m in missing] if code == "unsupported" else ())

    def destroy(self) -> None:
        if not self.done.is_set():  # signals came faster than they were handled
            self.api["stop"](self.tuner)
            self.done.wait()
        self.api["destroy"](self.tuner)
        self.tuner = _p()
        self.kept.clear()

    def memory(self, data: Any) -> tuple:
        """Address and bytes of what is kept where it is: bytes, or an array that lies dense."""
        array = np.frombuffer(data, np.uint8) if isinstance(data, (bytes, bytearray, memoryview)) else np.ascontiguousarray(data)
        self.kept.append(array)
        return array.ctypes.data, array.nbytes

    def load(self, network: _Network) -> None:
        if network.name is not None:
            self.call("load", os.fsencode(network.name))
            return
        for location, data in (network.tensors or {}).items():
            self.check(self.api["give"](self.tuner, location.encode(), *self.memory(data)))
        self.call("load_bytes", *self.memory(network.data), None)

    def work(self, name: str, arguments: tuple, progress: Optional[_Progress]) -> tuple:
        """Result of a call in a thread of its own, as a call into the library lets no signal through; and how often Ctrl-C
        was pressed, which stops it."""
        result: list = []

        def work() -> None:
            try:
                result.append(self.api[name](self.tuner, *arguments))
            finally:
                self.done.set()

        # Not join: one that a signal interrupts may take the thread for ended.
        self.done.clear()
        thread = threading.Thread(target=work, name="familyseer." + name)
        thread.start()
        interrupts = 0
        while not self.done.is_set():
            try:
                # Never for good: a signal that another thread takes, or that comes just before the wait, ends none.
                self.done.wait(PERIOD_S)
                if progress:
                    progress.show()
            except KeyboardInterrupt:
                interrupts += 1
                self.api["stop"](self.tuner)
        thread.join()
        return result[0], interrupts

    def call(self, name: str, *arguments: Any) -> None:
        """One that Ctrl-C ends, with nothing left behind."""
        failed, interrupts = self.work(name, arguments, None)
        if failed and not interrupts and self.code() == "stopped":  # by a stop that came when the call before had ended
            failed, interrupts = self.work(name, arguments, None)
        if interrupts:
            raise KeyboardInterrupt
        self.check(failed)

    def tune(self, on_event: Optional[Callable[[Event], Any]], progress: _Progress) -> None:
        """Ctrl-C ends the search, and what was found is kept; a second one is a KeyboardInterrupt, when the search has
        ended."""
        fault: list = []

        def listen(_user: Any, event: Any) -> None:
            try:
                c = event.contents
                e = Event(*(_said(v) if isinstance(v, bytes) else v for v in (getattr(c, name) for name, _ in _CEvent._fields_)))
                progress.hear(e)
                if on_event:
                    on_event(e)
            except BaseException as error:  # nothing may leave a call from C
                if not fault:
                    fault.append(error)
                self.api["stop"](self.tuner)

        listener = _Listener(listen)
        if on_event or progress.is_on:
            self.api["listen"](self.tuner, listener, None)
        failed, interrupts = self.work("tune", (), progress if progress.is_on else None)
        self.api["listen"](self.tuner, _Listener(), None)
        if fault:
            raise fault[0]
        if interrupts > 1:
            raise KeyboardInterrupt
        self.check(failed)


def check_options(options: dict) -> None:
    """An Error if the library does not take them; of one alone, as it can be seen without a network."""
    _Tuner(None, options, "").destroy()


def _make(model: Any, output: Any, options: dict, example_inputs: Any, is_tuned: bool,
          on_event: Optional[Callable[[Event], Any]] = None, progress: Optional[bool] = False) -> Model:
    work = tempfile.mkdtemp(prefix="familyseer-")
    shown = _Progress(progress)
    try:
        report = os.path.join(work, "report.html")
        if is_tuned:
            options = {"report": report, **options}
        tuner = _Tuner(model, options, work, example_inputs)
        try:
            if is_tuned:
                try:
                    tuner.tune(on_event, shown)
                finally:
                    shown.end()
            folder = os.path.join(work, "library") if output is None else os.fspath(output)
            tuner.call("compile", os.fsencode(folder))
            if os.path.exists(report):  # a file of its own until it is whole, as the library was
                with tempfile.NamedTemporaryFile(dir=folder, prefix=".report", delete=False) as file:
                    pass
                shutil.copyfile(report, file.name)
                os.chmod(file.name, os.stat(report).st_mode & 0o777)
                os.replace(file.name, os.path.join(folder, "report.html"))
        finally:
            tuner.destroy()
        made = Model(folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    if output is None:  # the files go with the last Model over them
        weakref.finalize(made._shared, _remove, work, os.getpid())
    else:
        shutil.rmtree(work, ignore_errors=True)
    return made


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child ends before its parent
        shutil.rmtree(folder, ignore_errors=True)


def tune(model: Any, output: Any = None, *, example_inputs: Any = None, on_event: Optional[Callable[[Event], Any]] = None,
         progress: Optional[bool] = None, **options: Any) -> Model:
    """Measures on this machine, and compiles what was fastest.

    model: an ONNX file, its bytes, an onnx.ModelProto, a torch.nn.Module, or the name of a built-in network ("mobilenet_v2")
    output: the folder for the library (load() takes it later); None: it lasts as long as the Model
    example_inputs: of a torch.nn.Module: a tensor, a tuple of what it takes in order, or a dict by name; their sizes are the
        network's
    on_event: called with each Event; what it raises ends the tuning, and is raised here
    progress: a line on stderr, four times a second; None: where that is a terminal
    options: those of the program's tune (doc/options.md), with underscores: time_budget="2m", threads=4,
        input_shapes=["x:1x8", "x:4x8"]; without time_budget 5 minutes at most

    The page of what it has brought is report.html beside the library (Model.report), or the file of the option report.
    What goes wrong is an Error; its `code` says what kind of thing it is, and its `operators`, where it is that, which ones are
    not supported. Ctrl-C ends the search, and what was found is kept."""
    return _make(model, output, options, example_inputs, True, on_event, progress)


def compile(model: Any, output: Any = None, *, example_inputs: Any = None, **options: Any) -> Model:
    """The same without a measurement, in a second or two: by what earlier tunings recorded, and by models of the machine."""
    return _make(model, output, options, example_inputs, False)


def load(path: Any, **options: Any) -> Model:
    """What tune or compile, or the program, wrote: model.so or its folder. options: Model's."""
    return Model(path, **options)
