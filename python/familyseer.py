"""familyseer - runs a network that `familyseer compile` or `familyseer tune` wrote. One file; needs NumPy only.

    import familyseer
    model = familyseer.Model("out/model.so")
    y = model(x)                       # one input, one output: arrays in, array out
    out = model.run({"input": x})      # by name: a dict of outputs

Types that NumPy lacks travel in those that carry their bits: bfloat16 in uint16, float8 and float4 in uint8; uint4 and
uint2 in uint8 (0..15, 0..3), int4 and int2 in int8 (-8..7, -2..1); all of them one a byte.
A Model has one session and serves one thread at a time: a second one gets an Error that says "busy"; clone() makes
another Model that shares the weights. After os.fork (or in a process that multiprocessing forked) the child may go on
with the models of its parent. Libraries that were compiled by an earlier or a later version run, too.
"""
import contextlib
import ctypes
import json
import math
import os
import threading

import numpy as np

__all__ = ["Model", "Error"]

_CODES = ["ok", "invalid", "unsupported", "not found", "io", "corrupt", "resource", "internal", "busy"]
_DTYPES = {1: "<f4", 2: "|u1", 3: "|i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "|b1", 10: "<f2", 11: "<f8",
           12: "<u4", 13: "<u8",
           16: "<u2", 17: "|u1", 18: "|u1", 19: "|u1", 20: "|u1", 21: "|u1", 22: "|i1", 23: "|u1", 24: "|u1", 25: "|u1", 26: "|i1"}


class Error(RuntimeError):
    """What the runtime says is wrong; `code` is one of its words ("invalid", "unsupported", "busy", ...), or "failed", of
    what tunes and compiles."""

    def __init__(self, code, message):
        if not isinstance(code, str):
            code = _CODES[code] if 0 <= code < len(_CODES) else str(code)
        self.code = code
        super().__init__(message or self.code)


class _IoInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("onnx_dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("dim", ctypes.c_int64 * 12), ("n_bytes", ctypes.c_uint64), ("bounded", ctypes.c_uint32)]


class _StepInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_char_p), ("source", ctypes.c_char_p),
                ("flops", ctypes.c_double), ("seconds", ctypes.c_double)]


_p, _i32, _u32, _u64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64
_F = ctypes.CFUNCTYPE


_say = (_p, ctypes.c_size_t)  # message, message_bytes


class _Api(ctypes.Structure):  # seer_model_api of seer/runtime.h; a library may have only the first members
    _fields_ = [
        ("struct_size", _u32), ("abi_version", _u32),
        ("open", _F(ctypes.c_int, ctypes.c_char_p, _p, _u64, ctypes.c_int, ctypes.POINTER(_p), _p, ctypes.c_size_t)),
        ("close", _F(None, _p)),
        ("n_inputs", _F(_i32, _p)), ("n_outputs", _F(_i32, _p)),
        ("input", _F(ctypes.POINTER(_IoInfo), _p, _i32)), ("output", _F(ctypes.POINTER(_IoInfo), _p, _i32)),
        ("info_json", _F(ctypes.c_char_p, _p)),
        ("pool_create", _F(_p, _u32, ctypes.c_int)), ("pool_wrap", _p), ("pool_destroy", _F(None, _p)),
        ("pool_threads", _F(_u32, _p)),
        ("session_create", _F(ctypes.c_int, _p, _p, ctypes.POINTER(_p), _p, ctypes.c_size_t)),
        ("session_destroy", _F(None, _p)),
        ("bind_input", _F(ctypes.c_int, _p, _i32, _p)), ("bind_output", _F(ctypes.c_int, _p, _i32, _p)),
        ("run", _F(ctypes.c_int, _p)),
        ("n_steps", _F(_i32, _p)),
        ("session_profile", _F(ctypes.c_int, _p, _u32, ctypes.POINTER(_StepInfo))),
        ("output_shape", _F(ctypes.c_int, _p, _i32, ctypes.POINTER(ctypes.c_int64))),
        ("n_sets", _F(_i32, _p)),
        ("set_input", _F(ctypes.POINTER(_IoInfo), _p, _i32, _i32)),
        ("set_output", _F(ctypes.POINTER(_IoInfo), _p, _i32, _i32)),
        ("set_n_steps", _F(_i32, _p, _i32)),
        ("find_set", _p), ("select", _F(ctypes.c_int, _p, _i32)), ("selected", _F(_i32, _p)),
        # from here on: _has
        ("session_bind_input", _F(ctypes.c_int, _p, _i32, _p, _u64, *_say)),
        ("session_bind_output", _F(ctypes.c_int, _p, _i32, _p, _u64, *_say)),
        ("session_run", _F(ctypes.c_int, _p, *_say)),
        ("session_time_steps",
         _F(ctypes.c_int, _p, _u32, ctypes.POINTER(_StepInfo), ctypes.c_size_t, _i32, *_say)),
        ("session_select", _F(ctypes.c_int, _p, _i32, *_say)),
        ("session_output_shape", _F(ctypes.c_int, _p, _i32, ctypes.POINTER(ctypes.c_int64), *_say)),
    ]


def _has(api, member):
    """What SEER_API_HAS of seer/runtime.h says."""
    field = getattr(_Api, member)
    return api.struct_size >= field.offset + field.size


class _Session:
    """The calls of a session, each raising Error with what the library says; the first libraries say nothing."""

    def __init__(self, shared):
        self.shared, self.api, self.session = shared, shared.api, None
        api = self.api
        self.tells = _has(api, "session_output_shape")
        # One for all calls, which are one thread's at a time: it would cost each more than a small network takes.
        self.message = ctypes.create_string_buffer(1024)
        session = _p()
        code = api.session_create(shared.model, shared.pool, ctypes.byref(session), self.message, len(self.message))
        self.check(code, self.said())
        self.session = session

    def __del__(self):
        if self.session:
            self.api.session_destroy(self.session)

    @staticmethod
    def check(code, message):
        if code:
            raise Error(code, message)

    def said(self):
        return self.message.value.decode("utf-8", "replace")

    def call(self, member, old, what, *args):
        """`member` and its message, or in a first library `old`, a call of other arguments."""
        if not self.tells:
            return self.check(old(), what)
        code = getattr(self.api, member)(self.session, *args, self.message, len(self.message))
        if code:
            self.check(code, self.said() or what)

    def bind_input(self, i, array):
        self.call("session_bind_input", lambda: self.api.bind_input(self.session, i, array.ctypes.data),
                  f"input {i} cannot be bound", i, array.ctypes.data, array.nbytes)

    def bind_output(self, i, array):
        self.call("session_bind_output", lambda: self.api.bind_output(self.session, i, array.ctypes.data),
                  f"output {i} cannot be bound", i, array.ctypes.data, array.nbytes)

    def select(self, index):
        self.call("session_select", lambda: self.api.select(self.session, index),
                  "a set of shapes cannot be selected", index)

    def run(self):
        self.call("session_run", lambda: self.api.run(self.session), "running failed")

    def time_steps(self, runs, steps):
        self.call("session_time_steps", lambda: self.api.session_profile(self.session, runs, steps),
                  "profiling failed", runs, steps, ctypes.sizeof(_StepInfo), len(steps))

    def output_shape(self, i):
        shape = (ctypes.c_int64 * 12)()
        self.call("session_output_shape", lambda: self.api.output_shape(self.session, i, shape),
                  f"output {i} has no shape", i, shape)
        return shape


class Value:
    """Name, NumPy dtype and shape of an input or output; `bounded`: its dimensions whose size a run decides, for which
    shape has the most that it can be."""

    def __init__(self, info):
        self.name = info.name.decode("utf-8", "replace")
        self.dtype = np.dtype(_DTYPES[info.onnx_dtype])
        self.shape = tuple(info.dim[: info.rank])
        self.bounded = tuple(d for d in range(info.rank) if info.bounded >> d & 1)

    def __repr__(self):
        return f"{self.name}: {self.dtype.name}{list(self.shape)}"


def _load(path):
    """The library that is at `path` now. The loader knows one by its path, and gives the old one where a new one has
    been put in its place: then it is asked by another spelling of the path, which the file's identity decides."""
    try:
        ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return ctypes.CDLL(path)
    file = os.stat(path)
    bits = hash((file.st_ino, file.st_mtime_ns)) & (1 << 64) - 1
    folder, name = os.path.split(path)
    return ctypes.CDLL(folder + "".join("/." if bits >> k & 1 else "//" for k in range(64)) + "/" + name)


class _Shared:
    """Library, model and threads; lives as long as any Model that uses it."""

    def __init__(self, path, weights, threads, pin, verify):
        path = os.fspath(path)
        if os.path.isdir(path):
            path = os.path.join(path, "model.so")
        self.library = _load(os.path.abspath(path))
        try:
            entry = self.library.seer_model_v1
        except AttributeError:
            raise Error(1, f"{path}: a library, but no model (it lacks seer_model_v1)") from None
        entry.restype = ctypes.POINTER(_Api)
        self.api = entry().contents
        if self.api.abi_version != 1 or not _has(self.api, "selected"):
            raise Error(1, f"{path}: a model of another version: interface {self.api.abi_version} with a table of "
                           f"{self.api.struct_size} bytes, must be 1 with at least "
                           f"{_Api.session_bind_input.offset}")
        self.model = self.pool = None
        model, message = _p(), ctypes.create_string_buffer(1024)
        where = os.fsencode(weights) if weights is not None else None
        code = self.api.open(where, None, 0, int(verify), ctypes.byref(model), message, len(message))
        if code:
            raise Error(code, message.value.decode("utf-8", "replace"))
        self.model = model
        pool = self.api.pool_create(threads, int(pin))
        if not pool:
            raise Error(6, "threads cannot be made")
        self.pool = _p(pool)

    def __del__(self):
        if getattr(self, "pool", None):
            self.api.pool_destroy(self.pool)
        if getattr(self, "model", None):
            self.api.close(self.model)


class _Set:
    """Inputs and outputs of one set of input shapes."""

    def __init__(self, api, model, index):
        self.index = index
        self.inputs = [Value(api.set_input(model, index, i).contents) for i in range(api.n_inputs(model))]
        self.outputs = [Value(api.set_output(model, index, i).contents) for i in range(api.n_outputs(model))]
        self.n_steps = api.set_n_steps(model, index)


class Model:
    """path: model.so or its folder; weights: a file other than weights.bin beside it; threads 0: what the machine allows.

    A library that was compiled for several sets of input shapes runs the one that the arrays have. `inputs` and `outputs`
    are those of the first; `sets` has (inputs, outputs) of all."""

    def __init__(self, path, *, weights=None, threads=0, pin=False, verify=False, _shared=None):
        self._shared = _shared or _Shared(path, weights, threads, pin, verify)
        api = self._api = self._shared.api
        model = self._shared.model
        self._sets = [_Set(api, model, s) for s in range(api.n_sets(model))]
        self.inputs, self.outputs = self._sets[0].inputs, self._sets[0].outputs
        self._session = _Session(self._shared)
        self._process, self._free = os.getpid(), threading.Lock()

    def clone(self):
        """Another session over the same weights and threads, for another thread of the caller."""
        return Model(None, _shared=self._shared)

    @property
    def info(self):
        """What was compiled: tasks, schedules, sizes (the contents of model.json)."""
        return json.loads(self._api.info_json(self._shared.model))

    @property
    def threads(self):
        return self._api.pool_threads(self._shared.pool)

    @property
    def sets(self):
        """[(inputs, outputs)] for each set of input shapes."""
        return [(s.inputs, s.outputs) for s in self._sets]

    def _choose(self, arrays):
        """The set that has the shapes of these arrays."""
        shapes = [tuple(a.shape) for a in arrays]
        for own in self._sets:
            if shapes == [v.shape for v in own.inputs]:
                return own
        if len(self._sets) == 1:
            value, shape = next((v, x) for v, x in zip(self.inputs, shapes) if x != v.shape)
            raise ValueError(f"input '{value.name}' has shape {shape}, must be {value.shape}")
        allowed = "; ".join(" ".join(f"{v.name}{list(v.shape)}" for v in s.inputs) for s in self._sets)
        found = " ".join(f"{v.name}{list(x)}" for v, x in zip(self.inputs, shapes))
        raise ValueError(f"inputs have shapes {found}; the model was compiled for {allowed}")

    @contextlib.contextmanager
    def _alone(self):
        """From binding to the last look at a result, a session is one thread's."""
        if self._process != os.getpid():  # who had it in the parent is not here
            self._process, self._free = os.getpid(), threading.Lock()
        if not self._free.acquire(blocking=False):
            raise Error(8, "the model is in use by another thread; every thread needs a clone() of its own")
        try:
            yield
        finally:
            self._free.release()

    @staticmethod
    def _input(value, array):
        if array.dtype != value.dtype:
            if not np.can_cast(array.dtype, value.dtype, "same_kind"):
                raise TypeError(f"input '{value.name}' is {array.dtype}, must be {value.dtype}")
            array = array.astype(value.dtype)
        return np.require(array, requirements=["C", "A"]).reshape(value.shape)

    def _bind(self, inputs):
        """Returns the set, arrays that must live until the run is over, and the outputs."""
        if not isinstance(inputs, dict):
            if len(inputs) != len(self.inputs):
                raise ValueError(f"{len(inputs)} inputs, must be {len(self.inputs)}")
            inputs = {v.name: x for v, x in zip(self.inputs, inputs)}
        unknown = set(inputs) - {v.name for v in self.inputs}
        missing = {v.name for v in self.inputs} - set(inputs)
        if unknown or missing:
            bound = sorted(unknown & {b["name"] for b in self.info.get("bound", [])})
            why = f"; {bound} had values when the model was compiled" if bound else ""
            raise ValueError(f"unknown inputs {sorted(unknown)}, missing inputs {sorted(missing)}{why}")
        given = [np.asarray(inputs[v.name]) for v in self.inputs]
        own = self._choose(given)
        kept = [self._input(v, x) for v, x in zip(own.inputs, given)]
        out = [np.empty(v.shape, v.dtype) for v in own.outputs]
        if len(self._sets) > 1:
            self._session.select(own.index)
        for i, array in enumerate(kept):
            self._session.bind_input(i, array)
        for i, array in enumerate(out):
            self._session.bind_output(i, array)
        return own, kept, out

    def run(self, inputs):
        """inputs: dict by name, or a sequence in order. Returns a dict of new arrays by name."""
        with self._alone():
            own, kept, out = self._bind(inputs)
            self._session.run()
            del kept
            return {v.name: self._cut(i, v, x) for i, (v, x) in enumerate(zip(own.outputs, out))}

    def _cut(self, index, value, array):
        """What the run left in the memory of output `index`, in the shape that it says."""
        if not value.bounded:
            return array
        shape = tuple(self._session.output_shape(index)[: len(value.shape)])
        return array.reshape(-1)[: math.prod(shape)].reshape(shape).copy()

    def __call__(self, *inputs):
        """Arrays in order; returns the output, or a tuple of them when there are several."""
        out = tuple(self.run(inputs).values())
        return out[0] if len(out) == 1 else out

    def profile(self, inputs, runs=20):
        """[(name, kind, schedule's source, flops, seconds)] of every step, medians of `runs` runs."""
        with self._alone():
            own, kept, out = self._bind(inputs)
            steps = (_StepInfo * max(1, own.n_steps))()
            self._session.time_steps(runs, steps)
            del kept, out
        return [(s.name.decode(), s.kind.decode(), s.source.decode(), s.flops, s.seconds)
                for s in steps[: own.n_steps]]
