"""A case: one operator (a few nodes where it needs others), its inputs with several sets of values, its outputs, and how it
is judged. Everything about it follows from (seed, operator, number).

Names of values and nodes begin with the case's own prefix, so that many cases are one file by concatenation.
"""
import functools
import re
import zlib
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

import data

FIRST_OPSET = 7  # the first that ONNX Runtime answers for
HOLLOW = 0.08  # of the cases
# Of tensors without elements ONNX Runtime reads here what nobody wrote, or has another shape.
SOLID = re.compile("graph|ReduceMean|AffineGrid|Random.*|Bernoulli|Multinomial|.*(Loss|Dynamic|Pool|LSTM|GRU|RNN|MatMulInteger|QLinear).*")
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129, 257, 511, 1025)
IR = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 11, 25: 12}


@functools.lru_cache(maxsize=None)
def _histories():
    """The opsets of each operator's definitions."""
    found = {}
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "":
            found.setdefault(s.name, set()).add(s.since_version)
    return {name: sorted(versions) for name, versions in found.items()}


class NoCase(Exception):
    """The drawn opset or type has no such case: another is drawn."""


@dataclass
class Judge:
    """How answers are held against the references (judge.py): "exact"; "close": elementwise, so many roundings relative
    plus absolute; "conditioned": by what a rounding of the inputs moves the result; "cut off", "rounded": integers of reals; "graph": and of every intermediate."""
    kind: str = "exact"
    relative: float = 4.0
    absolute: float = 0.0  # in roundings of 1


@dataclass
class Case:
    op: str
    number: int
    opset: int = 0
    domains: dict = field(default_factory=dict)
    nodes: list = field(default_factory=list)
    inputs: list = field(default_factory=list)  # (name, elem, shape)
    sets: list = field(default_factory=list)  # one dict of arrays for each of data.SETS
    constants: list = field(default_factory=list)  # (name, elem, array)
    outputs: list = field(default_factory=list)  # names
    judge: Judge = field(default_factory=Judge)
    seed: int = 0
    hollow: bool = False  # has tensors without elements
    attempt: int = 0  # which draw it is
    shapes: dict = field(default_factory=dict)  # name -> (shape, elem) of intermediates, where they are known

    @property
    def name(self):
        return f"{self.op}:{self.number}"

    @property
    def prefix(self):
        return prefix_of(self.op, self.number)

    def describe(self):
        shapes = ", ".join(f"{onnx.TensorProto.DataType.Name(e).lower()}{list(s)}" for _, e, s in self.inputs)
        constants = ", ".join(f"{onnx.TensorProto.DataType.Name(e).lower()}{list(a.shape)}" for _, e, a in self.constants)
        attributes = " ".join(f"{n.op_type}({', '.join(_attribute(a) for a in n.attribute)})" for n in self.nodes)
        return f"opset {self.opset}: {attributes} of {shapes or 'no input'}" + (f"; constants {constants}" if constants else "")


def _attribute(a):
    if a.type == onnx.AttributeProto.GRAPH:
        return f"{a.name}=graph"
    if a.type == onnx.AttributeProto.TENSOR:
        return f"{a.name}=tensor"
    value = helper.get_attribute_value(a)
    return f"{a.name}={value.decode() if isinstance(value, bytes) else value}"


def prefix_of(op, number):
    return f"{re.sub('[^A-Za-z0-9]', '_', op)}_{number}__"


def tensor(name, elem, array):
    """A TensorProto of what carries `elem`."""
    if elem in (T.INT4, T.UINT4):  # two a byte, the first in the lower half
        nibbles = np.append(array.reshape(-1).astype(np.uint8) & 15, np.zeros(array.size % 2, np.uint8))
        return helper.make_tensor(name, elem, array.shape, (nibbles[::2] | nibbles[1::2] << 4).tobytes(), raw=True)
    return helper.make_tensor(name, elem, array.shape, np.ascontiguousarray(array).tobytes(), raw=True)


def model_of(cases):
    """One ONNX file of cases of one opset."""
    nodes = [n for c in cases for n in c.nodes]
    inputs = [helper.make_tensor_value_info(*i) for c in cases for i in c.inputs]
    outputs = [helper.make_empty_tensor_value_info(o) for c in cases for o in c.outputs]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, [tensor(*c) for case in cases for c in case.constants])
    opset = cases[0].opset
    domains = {"": opset} | {d: v for c in cases for d, v in c.domains.items()}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in domains.items()],
                             ir_version=IR.get(opset, 12))


class Maker:
    """What generators draw from and build with."""

    def __init__(self, op, number, seed, max_opset, attempt=0, draws=lambda rng: rng):
        """draws: what is made of the random generator (shrink.py)."""
        key = [seed, number, attempt, zlib.crc32(op.encode())]
        self.rng = draws(np.random.default_rng(key))
        self.hollow = not SOLID.fullmatch(op) and np.random.default_rng(key + [1]).random() < HOLLOW  # some extents are 0
        self.case = Case(op, number, seed=seed)
        self.case.sets = [{} for _ in data.SETS]
        self.names = 0
        self.types = {}
        self.domain = {}  # of every input
        self.op_type = op.split(".")[-1]
        self.schema = None
        self.max_opset = max_opset

    # ---- draws
    def chance(self, p):
        return self.rng.random() < p

    def pick(self, choices):
        choices = list(choices)
        return choices[int(self.rng.integers(0, len(choices)))]

    def whole(self, lo, hi):
        return int(self.rng.integers(lo, hi, endpoint=True))

    def size(self, most=1025):
        """An extent: below, at and above vectors, primes; small ones more often."""
        if self.hollow and self.chance(0.2):
            return 0
        fit = [s for s in SIZES if s <= most]
        return self.pick(fit if self.chance(0.5) else fit[: max(1, len(fit) // 2)])

    def shape(self, lowest=0, highest=4, most=6000):
        """A shape of so many dimensions and at most `most` elements."""
        rank, left, out = self.whole(lowest, highest), most, []
        for _ in range(rank):
            d = self.size(max(1, left))
            out.append(d)
            left //= max(1, d)
        order = self.rng.permutation(rank)
        return [out[i] for i in order]

    def broadcastable(self, shape):
        """A shape that broadcasts to `shape`."""
        if self.chance(0.4):
            return list(shape)
        cut = self.whole(0, len(shape))
        return [1 if self.chance(0.4) else d for d in shape[cut:]]

    def axis(self, rank):
        return self.whole(-rank, rank - 1)

    # ---- opset and types
    def choose_opset(self, first=FIRST_OPSET, last=None):
        """One of the operator's definitions, an opset that has it."""
        last = min(last or self.max_opset, self.max_opset)
        history = _histories().get(self.op_type, [])
        ranges = [(max(a, first), min(b - 1, last)) for a, b in zip(history, history[1:] + [last + 1])] or [(first, last)]
        ranges = [r for r in ranges if r[0] <= r[1]]
        if not ranges:
            raise NoCase(f"no opset from {first} to {last}")
        low, high = ranges[-1] if self.chance(0.4) else self.pick(ranges)
        self.case.opset = self.whole(low, high)
        self.schema = onnx.defs.get_schema(self.op_type, self.case.opset) if history else None
        return self.case.opset

    def type(self, variable="T", among=None):
        """The type of a variable of the schema, drawn once a case; floats, f32 above all, more often than the rest."""
        if variable not in self.types:
            allowed = None
            if self.schema is not None:
                found = [c for c in self.schema.type_constraints if c.type_param_str == variable]
                if found:
                    names = [re.fullmatch(r"tensor\((\w+)\)", s) for s in found[0].allowed_type_strs]
                    allowed = [data.NAMES[m.group(1)] for m in names if m and m.group(1) in data.NAMES]
            allowed = [t for t in (allowed or data.FLOATS) if among is None or t in among]
            if not allowed:
                raise NoCase(f"no type for {variable}")
            weight = np.array([{T.FLOAT: 6, T.FLOAT16: 3, T.DOUBLE: 1.5, T.BFLOAT16: 1.5, T.INT64: 1.5}.get(t, 1) for t in allowed])
            self.types[variable] = int(self.rng.choice(allowed, p=weight / weight.sum()))
        return self.types[variable]

    # ---- building
    def name(self, what):
        self.names += 1
        return f"{self.case.prefix}{what}{self.names}"

    def input(self, shape, elem, **domain):
        """An input of the network with values in every set."""
        own = [max(1, int(d)) for d in shape]
        name = self.name("x")
        self.case.inputs.append((name, elem, tuple(own)))
        for k, kind in enumerate(data.SETS):
            self.case.sets[k][name] = data.values(self.rng, elem, own, kind == "wild", **{**self.domain, **domain})
        return self._emptied(name, own, shape)

    def _emptied(self, name, own, shape):
        """Of the network's input `name`, what has the extents 0 of `shape`: a slice (as an input's extent, 0 is "not known")."""
        axes = [i for i, d in enumerate(shape) if d == 0]
        if not axes:
            return name
        self.case.hollow = True
        none = [0] * len(axes)
        if self.case.opset < 10:
            return self.node([name], op="Slice", domain="", starts=none, ends=none, axes=axes)
        return self.node([name] + [self.ints(v) for v in (none, none, axes)], op="Slice", domain="")

    def constant(self, array, elem=None):
        """An initialiser."""
        array = np.asarray(array)
        if elem is None:
            elem = next(t for t in data.USUAL if data.CARRIER[t] == array.dtype and t != T.BFLOAT16)
        name = self.name("c")
        self.case.constants.append((name, elem, np.ascontiguousarray(array).reshape(array.shape)))
        return name

    def weight(self, shape, elem, **domain):
        """An input, or as often an initialiser."""
        if self.chance(0.5):
            return self.input(shape, elem, **domain)
        self.case.hollow |= 0 in shape
        return self.constant(data.values(self.rng, elem, shape, self.chance(0.2), **{**self.domain, **domain}), elem)

    def fed(self, arrays, elem):
        """An input with these values, one array for each set."""
        name = self.name("x")
        shape = arrays[0].shape
        own = tuple(max(1, d) for d in shape)
        self.case.inputs.append((name, elem, own))
        for k, array in enumerate(arrays):
            self.case.sets[k][name] = (array if own == shape else np.zeros(own)).astype(data.CARRIER[elem])
        return self._emptied(name, own, shape)

    def ints(self, values):
        return self.constant(np.array(values, np.int64).reshape(-1))

    def scalar(self, value, elem):
        return self.constant(data.narrow(np.array(value), elem) if data.is_float(elem) else np.array(value, data.CARRIER[elem]), elem)

    def node(self, inputs, outputs=1, op=None, domain=None, **attributes):
        """Adds a node; returns the names of its outputs (one: the name). `outputs`: a number, or which are there."""
        domain = domain if domain is not None else (self.case.op.rpartition(".")[0] if op is None else "")
        if domain:
            self.case.domains[domain] = 1
        present = [True] * outputs if isinstance(outputs, int) else list(outputs)
        names = [self.name("y") if p else "" for p in present]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.case.nodes.append(helper.make_node(op or self.op_type, list(inputs), names, name=self.name("n"), domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def out(self, *names):
        self.case.outputs += [n for n in names if n]

    def judged(self, kind, relative=4.0, absolute=0.0):
        self.case.judge = Judge(kind, relative, absolute)
