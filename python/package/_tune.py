"""From a network to a Model, by the library's C interface (include/seer/familyseer.h)."""
import ctypes
import os
import shutil
import tempfile
import threading
import weakref
from typing import Any, Callable, NamedTuple, Optional

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


class _CEvent(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("text", ctypes.c_char_p), ("elapsed_s", ctypes.c_double),
                ("estimated_ms", ctypes.c_double), ("trials", ctypes.c_uint32), ("latency_ms", ctypes.c_double),
                ("untuned_ms", ctypes.c_double), ("speedup", ctypes.c_double)]


_Listener = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_CEvent))
_SIGNATURES = {"create": (ctypes.POINTER(ctypes.c_void_p),), "destroy": (ctypes.c_void_p,), "message": (ctypes.c_void_p,),
               "set": (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p), "load": (ctypes.c_void_p, ctypes.c_char_p),
               "listen": (ctypes.c_void_p, _Listener, ctypes.c_void_p), "tune": (ctypes.c_void_p,),
               "stop": (ctypes.c_void_p,), "compile": (ctypes.c_void_p, ctypes.c_char_p)}
_RESULTS = {"destroy": None, "listen": None, "stop": None, "message": ctypes.c_char_p}
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


class _Tuner:
    """One network on its way. Calls that fail are an Error with the library's words."""

    def __init__(self, model: Any, options: dict, folder: str):
        self.api = _library()
        self.tuner = ctypes.c_void_p()
        self.done = threading.Event()  # whether nothing runs in another thread
        self.done.set()
        failed = self.api["create"](ctypes.byref(self.tuner))
        try:
            self.check(failed)
            for name, value in options.items():
                for one in value if isinstance(value, (list, tuple)) else [value]:
                    self.call("set", name.replace("_", "-").encode(), _text(one))
            self.call("load", os.fsencode(_file(model, folder)))
        except BaseException:
            self.destroy()
            raise

    def check(self, failed: int) -> None:
        if failed:
            raise Error("failed", self.api["message"](self.tuner).decode(errors="replace"))

    def call(self, name: str, *arguments: Any) -> None:
        self.check(self.api[name](self.tuner, *arguments))

    def destroy(self) -> None:
        if not self.done.is_set():  # signals came faster than they were handled
            self.api["stop"](self.tuner)
            self.done.wait()
        self.api["destroy"](self.tuner)
        self.tuner = ctypes.c_void_p()

    def tune(self, on_event: Optional[Callable[[Event], Any]]) -> None:
        """In a thread of its own, as a call into the library lets no signal through. Ctrl-C ends the search, and what was
        found is kept; a second one is a KeyboardInterrupt, when the search has ended."""
        fault: list = []

        def listen(_user: Any, event: Any) -> None:
            try:
                e = event.contents
                on_event(Event(e.kind.decode(), e.text.decode(errors="replace"),  # type: ignore[misc]
                               *(getattr(e, name) for name, _ in _CEvent._fields_[2:])))
            except BaseException as error:  # nothing may leave a call from C
                if not fault:
                    fault.append(error)
                self.api["stop"](self.tuner)

        listener = _Listener(listen)
        if on_event:
            self.api["listen"](self.tuner, listener, None)
        result: list = []

        def work() -> None:
            try:
                result.append(self.api["tune"](self.tuner))
            finally:
                self.done.set()

        # Not join: one that a signal interrupts may take the thread for ended.
        self.done.clear()
        thread = threading.Thread(target=work, name="familyseer.tune")
        thread.start()
        interrupts = 0
        while not self.done.is_set():
            try:
                self.done.wait()
            except KeyboardInterrupt:
                interrupts += 1
                self.api["stop"](self.tuner)
        thread.join()
        self.api["listen"](self.tuner, _Listener(), None)
        if fault:
            raise fault[0]
        if interrupts > 1:
            raise KeyboardInterrupt
        self.check(result[0])


def _file(model: Any, folder: str) -> str:
    """The network as a file, or the name of one that is built in."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    data = model if isinstance(model, (bytes, bytearray, memoryview)) else None
    if data is None and hasattr(model, "SerializeToString"):  # onnx.ModelProto
        data = model.SerializeToString()
    if data is None:
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(data)
    return path


def _make(model: Any, output: Any, options: dict, on_event: Optional[Callable[[Event], Any]], is_tuned: bool) -> Model:
    work = tempfile.mkdtemp(prefix="familyseer-")
    try:
        tuner = _Tuner(model, options, work)
        try:
            if is_tuned:
                tuner.tune(on_event)
            folder = os.path.join(work, "library") if output is None else os.fspath(output)
            tuner.call("compile", os.fsencode(folder))
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


def tune(model: Any, output: Any = None, *, on_event: Optional[Callable[[Event], Any]] = None, **options: Any) -> Model:
    """Measures on this machine, and compiles what was fastest.

    model: an ONNX file, its bytes, an onnx.ModelProto, or the name of a built-in network ("mobilenet_v2")
    output: the folder for the library (load() takes it later); None: it lasts as long as the Model
    on_event: called with each Event; what it raises ends the tuning, and is raised here
    options: those of the program's tune (doc/options.md), with underscores: time_budget="2m", threads=4,
        input_shapes=["x:1x8", "x:4x8"]; without time_budget 5 minutes at most

    Ctrl-C ends the search, and what was found is kept."""
    return _make(model, output, options, on_event, True)


def compile(model: Any, output: Any = None, **options: Any) -> Model:
    """The same without a measurement, in a second or two: by what earlier tunings recorded, and by models of the machine."""
    return _make(model, output, options, None, False)


def load(path: Any, **options: Any) -> Model:
    """What tune or compile, or the program, wrote: model.so or its folder. options: Model's."""
    return Model(path, **options)
