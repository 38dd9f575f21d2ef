"""familyseer - runs a network that `familyseer compile` or `familyseer tune` wrote. One file; needs NumPy only.

    import familyseer
    model = familyseer.Model("out/model.so")
    y = model(x)                       # one input, one output: arrays in, array out
    out = model.run({"input": x})      # by name: a dict of outputs
    model.run([x], outputs=[y])        # into memory of your own

Inputs and outputs are NumPy arrays, PyTorch tensors on the processor, or anything else there with __dlpack__; what has the
right type and lies dense is used where it is, without a copy. Types that NumPy lacks travel in those that carry their bits: bfloat16 in uint16, float8 and float4 in uint8; uint4 and
uint2 in uint8 (0..15, 0..3), int4 and int2 in int8 (-8..7, -2..1); all of them one a byte.
A Model has one session and serves one thread at a time: a second one gets an Error that says "busy"; clone() makes
another Model that shares the weights. After os.fork (or in a process that multiprocessing forked) the child may go on
with the models of its parent. Libraries that were compiled by an earlier or a later version run, too.
"""
import contextlib
import ctypes
import html
import json
import math
import os
import sys
import threading
from typing import NamedTuple

import numpy as np

__all__ = ["Model", "Error"]

_CODES = ["ok", "invalid", "unsupported", "not found", "io", "corrupt", "resource", "internal", "busy", "device", "timeout", "stopped"]
_DTYPES = {1: "<f4", 2: "|u1", 3: "|i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "|b1", 10: "<f2", 11: "<f8",
           12: "<u4", 13: "<u8",
           16: "<u2", 17: "|u1", 18: "|u1", 19: "|u1", 20: "|u1", 21: "|u1", 22: "|i1", 23: "|u1", 24: "|u1", 25: "|u1", 26: "|i1"}


class Error(RuntimeError):
    """What is wrong; `code` is one of the words of seer_rt_code ("invalid", "unsupported", "busy", ...). Where a network cannot
    be compiled because of its operators, `operators` has each of them once: (name, count, reason)."""

    def __init__(self, code, message, operators=()):
        if not isinstance(code, str):
            code = _CODES[code] if 0 <= code < len(_CODES) else str(code)
        self.code = code
        self.operators = list(operators)
        super().__init__(message or self.code)

    def __reduce__(self):
        return Error, (self.code, str(self), self.operators)


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
        ("find_set", _F(ctypes.c_int, _p, ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)), ctypes.POINTER(_i32), ctypes.POINTER(_i32), *_say)),
        ("select", _F(ctypes.c_int, _p, _i32)), ("selected", _F(_i32, _p)),
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
        # One for all calls, which are one thread's at a time: it would cost each more than a small network takes.
        self.message = ctypes.create_string_buffer(1024)
        session = _p()
        code = api.session_create(shared.model, shared.pool, ctypes.byref(session), self.message, len(self.message))
        self.check(code, self.said())
        self.session = session
        self.say = say = (ctypes.cast(self.message, _p), ctypes.c_size_t(len(self.message)))
        # Looked up once: each look makes a new object of ctypes.
        if _has(api, "session_output_shape"):
            self.c_bind_input, self.c_bind_output = api.session_bind_input, api.session_bind_output
            self.c_run, self.c_select = api.session_run, api.session_select
            self.c_time_steps, self.c_output_shape = api.session_time_steps, api.session_output_shape
            return
        old_in, old_out, old_run = api.bind_input, api.bind_output, api.run
        old_select, old_profile, old_shape = api.select, api.session_profile, api.output_shape
        self.c_bind_input = lambda session, i, data, n, *say: old_in(session, i, data)
        self.c_bind_output = lambda session, i, data, n, *say: old_out(session, i, data)
        self.c_run = lambda session, *say: old_run(session)
        self.c_select = lambda session, index, *say: old_select(session, index)
        self.c_time_steps = lambda session, runs, steps, size, n, *say: old_profile(session, runs, steps)
        self.c_output_shape = lambda session, i, shape, *say: old_shape(session, i, shape)

    def __del__(self):
        if self.session:
            self.api.session_destroy(self.session)

    @staticmethod
    def check(code, message):
        if code:
            raise Error(code, message)

    def said(self):
        return self.message.value.decode("utf-8", "replace")

    def bind_input_at(self, i, address, n_bytes):
        code = self.c_bind_input(self.session, i, address, n_bytes, *self.say)
        if code:
            raise Error(code, self.said() or f"input {i} cannot be bound")

    def bind_output_at(self, i, address, n_bytes):
        code = self.c_bind_output(self.session, i, address, n_bytes, *self.say)
        if code:
            raise Error(code, self.said() or f"output {i} cannot be bound")

    def bind_input(self, i, array):
        self.bind_input_at(i, array.ctypes.data, array.nbytes)

    def bind_output(self, i, array):
        self.bind_output_at(i, array.ctypes.data, array.nbytes)

    def select(self, index):
        self.check(self.c_select(self.session, index, *self.say), self.said() or "a set of shapes cannot be selected")

    def run(self):
        code = self.c_run(self.session, *self.say)
        if code:
            raise Error(code, self.said() or "running failed")

    def time_steps(self, runs, steps):
        code = self.c_time_steps(self.session, runs, steps, ctypes.sizeof(_StepInfo), len(steps), *self.say)
        self.check(code, self.said() or "profiling failed")

    def output_shape(self, i):
        shape = (ctypes.c_int64 * 12)()
        self.check(self.c_output_shape(self.session, i, shape, *self.say), self.said() or f"output {i} has no shape")
        return shape


class Value:
    """Name, NumPy dtype and shape of an input or output; `bounded`: its dimensions whose size a run decides, for which
    shape has the most that it can be."""

    def __init__(self, info):
        self.name = info.name.decode("utf-8", "replace")
        self.dtype = np.dtype(_DTYPES[info.onnx_dtype])
        self.shape = tuple(info.dim[: info.rank])
        self.bounded = tuple(d for d in range(info.rank) if info.bounded >> d & 1)
        self.n_bytes = info.n_bytes

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
        self.path = os.path.abspath(path)
        self.options = {"weights": os.path.abspath(weights) if weights is not None else None, "threads": threads, "pin": pin,
                        "verify": verify}
        self.library = _load(self.path)
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


_DENSE = 0x101  # of ndarray.flags.num: NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED
_OWN = _DENSE | 0x400  # and NPY_ARRAY_WRITEABLE


_first_byte, _addressof = ctypes.c_char.from_buffer, ctypes.addressof


def _address(array):
    """Of a dense array's memory, seven times as fast as array.ctypes.data where that may be written to."""
    try:
        return _addressof(_first_byte(array))
    except (TypeError, ValueError, BufferError):  # read-only, or without elements
        return array.ctypes.data


def _as_array(x):
    """An array over the memory of `x`, where it has memory on the processor."""
    if isinstance(x, np.ndarray):
        return x
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor) and x.device.type == "cpu":
        x = x.detach().resolve_conj().resolve_neg()
        if not x.dtype.is_complex and x.dtype.is_floating_point and x.dtype not in (torch.float16, torch.float32, torch.float64):
            x = x.view(torch.uint16 if x.element_size() == 2 else torch.uint8)  # bfloat16, float8: their bits
        return x.numpy()  # unlike from_dlpack's it may be written to, in any version of NumPy
    if hasattr(x, "__dlpack__"):
        if hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) not in (1, 3, 11):  # processor's memory, also pinned
            raise TypeError(f"{type(x).__name__} on a device: models run on the processor's memory (.cpu())")
        return np.from_dlpack(x)
    return np.asarray(x)


class _Set:
    """Inputs and outputs of one set of input shapes."""

    def __init__(self, api, model, index):
        self.index = index
        self.inputs = [Value(api.set_input(model, index, i).contents) for i in range(api.n_inputs(model))]
        self.outputs = [Value(api.set_output(model, index, i).contents) for i in range(api.n_outputs(model))]
        self.n_steps = api.set_n_steps(model, index)
        self.shapes = [v.shape for v in self.inputs]
        # What a call needs of each.
        self.takes = [(_i32(i), v.dtype, v.shape, _u64(v.n_bytes), v) for i, v in enumerate(self.inputs)]
        self.makes = [(_i32(i), v.dtype, v.shape, _u64(v.n_bytes), v) for i, v in enumerate(self.outputs)]


class Step(NamedTuple):
    """A step of a profile; seconds: the median of the runs."""

    name: str
    kind: str
    source: str  # where its schedule comes from
    flops: float
    seconds: float


class Profile(list):
    """Steps in order. As text, and in notebooks: a table, the slowest first."""

    def _rows(self):
        total = sum(s.seconds for s in self) or 1.0
        for s in sorted(self, key=lambda s: -s.seconds):
            rate = f"{s.flops / s.seconds / 1e9:.1f}" if s.seconds > 0 and s.flops > 0 else ""
            yield f"{s.seconds * 1e6:.1f}", f"{100 * s.seconds / total:.1f}", rate, s.kind, s.source, s.name

    _HEAD = ("us", "%", "GFLOP/s", "kind", "schedule", "step")

    def __str__(self):
        rows = [self._HEAD, *self._rows()]
        width = [max(len(r[k]) for r in rows) for k in range(len(self._HEAD))]
        lines = ["  ".join(c.rjust(w) if k < 3 else c.ljust(w) for k, (c, w) in enumerate(zip(r, width))).rstrip() for r in rows]
        return "\n".join([*lines, f"{sum(s.seconds for s in self) * 1e3:.3f} ms in {len(self)} steps"])

    __repr__ = __str__

    def _repr_html_(self):
        return _table(self._HEAD, self._rows())


def _table(head, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(r, "td") for r in rows) + "</table>"


class Report(str):
    """The path of a report, a text like any other; a notebook shows the page. It is read when it is asked for, not before."""

    _BEGIN, _END = "<template id='familyseer-report'>", "</template>"

    def _read(self):
        with open(self, encoding="utf-8") as file:
            return file.read()

    @property
    def data(self):
        """What the report says, for programs: latency_s, sum_s, tasks, points of the curve, settings (as `familyseer report --json`)."""
        text = self._read()
        begin, end = text.find(self._BEGIN), text.rfind(self._END)
        if begin < 0 or end < begin:
            raise ValueError(f"{self} is no report of tune, or one of an older version")
        return json.loads(html.unescape(text[begin + len(self._BEGIN):end]))

    def _repr_html_(self):
        # A frame of its own: its style is not the notebook's, and nothing in it may run.
        return ('<iframe sandbox="" title="report of the tuning" style="width:100%;height:44em;border:0" '
                f'srcdoc="{html.escape(self._read(), quote=True)}"></iframe>')


def _open(path, options):
    return Model(path, **options)


class Model:
    """path: model.so or its folder; weights: a file other than weights.bin beside it; threads 0: what the machine allows.

    A library that was compiled for several sets of input shapes runs the one that the arrays have; one for a range of
    batches takes any of them. `inputs` and `outputs` are those of the first set; `sets` has (inputs, outputs) of all. Pickled it is its path: who unpickles it needs the files."""

    def __init__(self, path, *, weights=None, threads=0, pin=False, verify=False, _shared=None):
        self._shared = _shared or _Shared(path, weights, threads, pin, verify)
        api = self._api = self._shared.api
        model = self._shared.model
        self._sets = [_Set(api, model, s) for s in range(api.n_sets(model))]
        self.inputs, self.outputs = self._sets[0].inputs, self._sets[0].outputs
        self._only = self._sets[0] if len(self._sets) == 1 else None
        self._batches = {}  # of a library for a range of batches: sizes without a set that were asked for, by shapes
        self._in_names, self._out_names = [v.name for v in self.inputs], [v.name for v in self.outputs]
        self._out_set = frozenset(self._out_names)
        self._one_memory = None
        if pairs := self.info.get("shared"):  # by output: the input that may have the same memory
            self._one_memory = {self._out_names.index(p["output"]): self._in_names.index(p["input"]) for p in pairs}
        self._has_bounds = any(v.bounded for s in self._sets for v in s.outputs)
        self._session = _Session(self._shared)
        self._process, self._free = os.getpid(), threading.Lock()

    def __reduce__(self):
        return _open, (self._shared.path, self._shared.options)

    def __repr__(self):
        ends = f"{', '.join(map(repr, self.inputs))} -> {', '.join(map(repr, self.outputs))}"
        return f"<familyseer.Model {self._shared.path}: {ends}>"

    def _repr_html_(self):
        rows = [(kind, v.name, v.dtype.name, str(list(v.shape))) for kind, values in (("input", self.inputs), ("output", self.outputs))
                for v in values]
        place = html.escape(self._shared.path)
        link = f'; <a href="file://{html.escape(self.report, quote=True)}">report</a>' if self.report else ""
        return f"{_table(('', 'name', 'type', 'shape'), rows)}<p>{place}, {self.threads} threads{link}</p>"

    def clone(self):
        """Another session over the same weights and threads, for another thread of the caller."""
        return Model(None, _shared=self._shared)

    @property
    def path(self):
        """Of model.so."""
        return self._shared.path

    @property
    def report(self):
        """The path of report.html, which `tune` puts beside model.so; None: there is none. A notebook shows the
        page, and `report.data` has its figures."""
        path = os.path.join(os.path.dirname(self._shared.path), "report.html")
        return Report(path) if os.path.exists(path) else None

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

    def _find_batch(self, shapes):
        """Of a library for a range of batches what has these shapes and no set of its own; None: nothing has."""
        n = len(shapes)
        dims = [(ctypes.c_int64 * max(len(s), 1))(*s) for s in shapes]
        pointers = (ctypes.POINTER(ctypes.c_int64) * max(n, 1))(*(ctypes.cast(d, ctypes.POINTER(ctypes.c_int64)) for d in dims))
        ranks, found = (_i32 * max(n, 1))(*map(len, shapes)), _i32()
        if self._api.find_set(self._shared.model, pointers, ranks, ctypes.byref(found), None, 0):
            return None
        return _Set(self._api, self._shared.model, found.value)

    def _choose(self, arrays):
        """The set that has the shapes of these arrays."""
        shapes = [tuple(a.shape) for a in arrays]
        for own in self._sets:
            if shapes == own.shapes:
                return own
        if len(self._sets) > 1:
            key = tuple(shapes)
            if own := self._batches.get(key) or self._find_batch(shapes):
                self._batches[key] = own
                return own
        if len(self._sets) == 1:
            value, shape = next((v, x) for v, x in zip(self.inputs, shapes) if x != v.shape)
            raise ValueError(f"input '{value.name}' has shape {shape}, must be {value.shape}")
        allowed = "; ".join(" ".join(f"{v.name}{list(v.shape)}" for v in s.inputs) for s in self._sets)
        found = " ".join(f"{v.name}{list(x)}" for v, x in zip(self.inputs, shapes))
        batches = self.info.get("range")
        allowed += f"; and any batch from {batches['first']} to {batches['last']}" if batches else ""
        raise ValueError(f"inputs have shapes {found}; the model was compiled for {allowed}")

    def _take(self):
        """From binding to the last look at a result, a session is one thread's."""
        if self._process != os.getpid():  # who had it in the parent is not here
            self._process, self._free = os.getpid(), threading.Lock()
        free = self._free
        if not free.acquire(False):
            raise Error(8, "the model is in use by another thread; every thread needs a clone() of its own")
        return free

    @contextlib.contextmanager
    def _alone(self):
        free = self._take()
        try:
            yield
        finally:
            free.release()

    @staticmethod
    def _input(value, array):
        if array.dtype != value.dtype:
            if not np.can_cast(array.dtype, value.dtype, "same_kind"):
                raise TypeError(f"input '{value.name}' is {array.dtype}, must be {value.dtype}")
            array = array.astype(value.dtype)
        return np.require(array, requirements=["C", "A"]).reshape(value.shape)

    @staticmethod
    def _output(value, given):
        """Memory of the caller's: as it is or not at all."""
        array = _as_array(given)
        if array is not given and not hasattr(given, "__dlpack__"):
            raise TypeError(f"output '{value.name}': {type(given).__name__} is no memory that can be written to")
        if array.dtype != value.dtype:
            raise TypeError(f"output '{value.name}' is {array.dtype}, must be {value.dtype}")
        if array.shape != value.shape:
            raise ValueError(f"output '{value.name}' has shape {array.shape}, must be {value.shape}")
        if array.flags.num & _OWN != _OWN:
            raise ValueError(f"output '{value.name}' must lie dense, and be writable")
        return array

    def _in_order(self, inputs):
        """Those of a dict; by position what is none."""
        names = self._in_names
        if not isinstance(inputs, dict):
            if len(inputs) != len(names):
                raise ValueError(f"{len(inputs)} inputs, must be {len(names)}")
            return inputs
        if len(inputs) == len(names):
            try:
                return [inputs[n] for n in names]
            except KeyError:
                pass
        unknown, missing = set(inputs) - set(names), set(names) - set(inputs)
        bound = sorted(unknown & {b["name"] for b in self.info.get("bound", [])})
        why = f"; {bound} had values when the model was compiled" if bound else ""
        raise ValueError(f"unknown inputs {sorted(unknown)}, missing inputs {sorted(missing)}{why}")

    def _outputs_in_order(self, outputs):
        names = self._out_names
        if isinstance(outputs, dict):
            if not outputs.keys() <= self._out_set:
                raise ValueError(f"unknown outputs {sorted(set(outputs) - self._out_set)}, there are {names}")
            return [outputs.get(n) for n in names]
        if len(outputs) != len(names):
            raise ValueError(f"{len(outputs)} outputs, must be {len(names)}")
        return outputs

    def _bind(self, inputs, outputs=None):
        """Binds all. Returns the set, arrays that must live until the run is over, and the outputs."""
        session = self._session
        own = self._only
        if own is None:
            inputs = [_as_array(x) for x in inputs]
            own = self._choose(inputs)
            session.select(own.index)
        bind, handle, (said, n_said) = session.c_bind_input, session.session, session.say
        kept, ndarray = [], np.ndarray
        for (i, dtype, shape, n_bytes, value), x in zip(own.takes, inputs):
            if type(x) is not ndarray:
                x = _as_array(x)
            if x.shape != shape:
                self._choose([_as_array(y) for y in inputs])
            if x.dtype is not dtype and x.dtype != dtype or x.flags.num & _DENSE != _DENSE:
                x = self._input(value, x)
            kept.append(x)
            code = bind(handle, i, _address(x), n_bytes, said, n_said)
            if code:
                raise Error(code, session.said() or f"input {i.value} cannot be bound")
        bind, empty, out, shared = session.c_bind_output, np.empty, [], self._one_memory
        for i, dtype, shape, n_bytes, value in own.makes:
            given = None if outputs is None else outputs[len(out)]
            if given is None:
                x = empty(shape, dtype) if shared is None else self._memory_of(kept, len(out), shape, dtype)
            elif type(given) is ndarray and given.dtype is dtype and given.shape == shape and given.flags.num & _OWN == _OWN:
                x = given
            else:
                x = self._output(value, given)
            out.append(x)
            code = bind(handle, i, _address(x), n_bytes, said, n_said)
            if code:
                raise Error(code, session.said() or f"output {i.value} cannot be bound")
        return own, kept, out

    def _memory_of(self, inputs, index, shape, dtype):
        """For output `index`: the array of the input that it shares memory with, if that may be written, or a new one."""
        own = self._one_memory.get(index)
        return inputs[own] if own is not None and inputs[own].flags.writeable else np.empty(shape, dtype)

    def _run(self, inputs, outputs=None):
        """Arrays in order, in and out."""
        free = self._take()
        try:
            session = self._session
            own, kept, out = self._bind(inputs, outputs)
            said, n_said = session.say
            code = session.c_run(session.session, said, n_said)
            if code:
                raise Error(code, session.said() or "running failed")
            del kept
            if self._has_bounds:
                out = [self._cut(i, v, x, outputs is None or outputs[i] is None) for i, (v, x) in enumerate(zip(own.outputs, out))]
        finally:
            free.release()
        if outputs is not None:  # the caller's own objects, where nothing was cut off them
            for k, given in enumerate(outputs):
                if given is not None and given is not out[k] and not own.outputs[k].bounded:
                    out[k] = given
        return out

    def run(self, inputs, outputs=None):
        """inputs: dict by name, or a sequence in order. Returns a dict by name, of new arrays.

        outputs: memory for them, dict or sequence likewise: arrays or CPU tensors of the very type and shape (of sizes that a
        run decides: their bounds) that lie dense; they are what is returned (what a run has cut: an array over their
        beginning). None in the place of one, or an output that a dict leaves out: a new array; of one that was compiled to
        share memory with an input (--share): that input's array, if it can be written."""
        if outputs is not None:
            outputs = self._outputs_in_order(outputs)
        return dict(zip(self._out_names, self._run(self._in_order(inputs), outputs)))

    def _cut(self, index, value, array, is_ours):
        """What the run left in the memory of output `index`, in the shape that it says."""
        if not value.bounded:
            return array
        shape = tuple(self._session.output_shape(index)[: len(value.shape)])
        cut = array.reshape(-1)[: math.prod(shape)].reshape(shape)
        return cut.copy() if is_ours else cut

    def __call__(self, *inputs):
        """Arrays in order; returns the output, or a tuple of them when there are several."""
        if len(inputs) != len(self._in_names):
            raise ValueError(f"{len(inputs)} inputs, must be {len(self._in_names)}")
        out = self._run(inputs)
        return out[0] if len(out) == 1 else tuple(out)

    def profile(self, inputs, runs=20):
        """Every step: (name, kind, schedule's source, flops, seconds), medians of `runs` runs; printed it is a table."""
        with self._alone():
            own, kept, out = self._bind(self._in_order(inputs))
            steps = (_StepInfo * max(1, own.n_steps))()
            self._session.time_steps(runs, steps)
            del kept, out
        return Profile(Step(s.name.decode(), s.kind.decode(), s.source.decode(), s.flops, s.seconds)
                       for s in steps[: own.n_steps])
