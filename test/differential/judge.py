"""What is right, and whether an answer is.

Up to two references for each output: what ONNX Runtime computes in the case's own types, and the same operator on the same
(rounded) inputs in f64, by ONNX Runtime or, where it lacks the operator for f64, by onnx.reference. An element is right if
it agrees with either; NaN agrees with NaN only, infinity with that of its sign, integers and truth values are equal, shapes
and types too.

How far reals may be off follows from arithmetic, not from what is usual:
  exact        not at all (elements are moved, compared, chosen);
  close        so many roundings of the result in the type it is computed in (f32 for half precision), one of the result's
               own type, and an absolute part where the operator's own formula takes differences;
  conditioned  as close, and what the result moves in f64 when each input moves by one rounding, both ways at random (or
               when what it is a difference of does: formulas.ROUNDED),
               times a factor that grows with the square root of the number of terms. A badly conditioned case is so
               known by its own behaviour, element by element;
  cut off, rounded   an integer that a real number is cut off to, or rounded to, halves up: that of the f64 reference, or one
               a few roundings of f32 away;
  graph        as conditioned, where every real intermediate moves by a rounding of its type, too. An integer or a truth value
               may be what any of these runs gives (the index of two maxima that are a rounding apart).
"""
import functools
import re

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper

import data
import formulas
from case import model_of

PERTURBATIONS, GRAPH_PERTURBATIONS = 4, 8
onnxruntime.set_default_logger_severity(4)

# Where a reference is known to be wrong or to define otherwise: operator, which reference, types (None: all), why.
WRONG = [
    ("GlobalMaxPool", "onnx.reference", None, "its output has the rank of volumes wrong"),
    ("AveragePool", "onnx.reference", None, "windows that ceil_mode adds and dilations are averaged over other counts than the page defines"),
    ("Random.*|Bernoulli|Multinomial", "onnxruntime", None, "ends the process at a scale of 0, the only one with an answer"),
    ("Shrink", "onnxruntime", (T.DOUBLE,), "computes in f32"),
    ("LRN", "onnxruntime", None, "a running sum over channels keeps what a large element has left, in f32"),
    ("Sigmoid", "onnxruntime", (T.DOUBLE,), "1 + tanh: of small results nothing is left"),
    ("LogSoftmax", "onnxruntime", (T.DOUBLE,), "-infinity beside +infinity, whose row is NaN, as it says itself in f32"),
    ("ReduceM(ax|in)", "onnxruntime", None, "loses NaN where its vectors fall so"),
    ("MeanVarianceNormalization", "onnxruntime", None, "the root of E[x^2] - E[x]^2 may be NaN"),
    ("GroupNormalization", "onnxruntime", None, "a variance as E[x^2] - E[x]^2 in f32: of values far from 0 little is left"),
    ("DFT", "onnxruntime", (T.DOUBLE,), "1 / length in f32"),
    ("Gelu", "onnxruntime", (T.DOUBLE,), "the function that it is expanded to has its constants in f32"),
    ("OneHot", "onnx.reference", None, "on and off come out of a sum of both"),
    ("CenterCropPad", "onnx.reference", None, "dimensions of one size lose their number"),
]


class NoReference(Exception):
    pass


def is_wrong(case, which):
    if case.hollow:  # nothing to be wrong about but shapes and types
        return False
    elems = {e for _, e, _ in case.inputs}
    return any(re.fullmatch(op, case.op) and which == w and (types is None or elems & set(types)) for op, w, types, _ in WRONG)


# ---- the same in f64
def _wide_attribute(a, to=T.DOUBLE):
    if a.name in ("to", "dtype", "output_datatype", "stash_type") and a.i in (T.FLOAT, T.FLOAT16, T.BFLOAT16):
        a.i = to if a.name != "stash_type" else a.i
    if a.type == onnx.AttributeProto.TENSOR and a.t.data_type in (T.FLOAT, T.FLOAT16, T.BFLOAT16):
        values = onnx.numpy_helper.to_array(a.t)
        a.t.CopyFrom(onnx.numpy_helper.from_array(values.astype(data.CARRIER[to]), a.t.name))
    if a.type == onnx.AttributeProto.GRAPH:
        _wide_graph(a.g, to)


def _wide_type(value, to):
    t = value.type.tensor_type
    if t.elem_type in (T.FLOAT, T.FLOAT16, T.BFLOAT16):
        t.elem_type = to


def _wide_graph(graph, to):
    for value in list(graph.input) + list(graph.output) + list(graph.value_info):
        _wide_type(value, to)
    for node in graph.node:
        for a in node.attribute:
            _wide_attribute(a, to)
    for i in graph.initializer:
        if i.data_type in (T.FLOAT, T.FLOAT16, T.BFLOAT16):
            values = np.frombuffer(i.raw_data, data.CARRIER[i.data_type]).reshape(tuple(i.dims))
            i.CopyFrom(helper.make_tensor(i.name, to, i.dims, data.narrow(data.widen(values, i.data_type), to).tobytes(), raw=True))


def wide_model(model, keep=(), to=T.DOUBLE):
    """The model with every real type f64; of the names in `keep` (scales of Resize, ...) the schema wants f32."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    kept = {i.name: onnx.TensorProto.FromString(i.SerializeToString()) for i in wide.graph.initializer if i.name in keep}
    _wide_graph(wide.graph, to)
    for k, i in enumerate(wide.graph.initializer):
        if i.name in kept:
            wide.graph.initializer[k].CopyFrom(kept[i.name])
    return wide


def real_model(model):
    """The model with its first input f64: what an integer result is before it is cut off."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    wide.graph.input[0].type.tensor_type.elem_type = T.DOUBLE
    return wide


# What ONNX Runtime has in f32 only: within a graph it is computed so.
SINGLE = ("Conv", "Erf", "Elu", "Softplus", "LeakyRelu", "HardSigmoid", "GlobalAveragePool", "AveragePool", "Gelu", "InstanceNormalization")


def with_single(model):
    """The f64 model with nodes of SINGLE between casts."""
    mixed = onnx.ModelProto()
    mixed.CopyFrom(model)
    nodes = []
    for node in mixed.graph.node:
        if node.op_type not in SINGLE:
            nodes.append(onnx.NodeProto.FromString(node.SerializeToString()))
            continue
        inner = onnx.NodeProto.FromString(node.SerializeToString())
        for k, name in enumerate(node.input):
            inner.input[k] = f"{name}_to_{node.output[0]}"
            nodes.append(helper.make_node("Cast", [name], [inner.input[k]], to=T.FLOAT))
        inner.output[0] = node.output[0] + "_single"
        nodes += [inner, helper.make_node("Cast", [inner.output[0]], [node.output[0]], to=T.DOUBLE)]
    del mixed.graph.node[:]
    mixed.graph.node.extend(nodes)
    return mixed


def noisy_model(model, shapes):
    """Every real intermediate is multiplied by an input of its own, NAME + "_noise"."""
    noisy = onnx.ModelProto()
    noisy.CopyFrom(model)
    nodes = []
    for node in noisy.graph.node:
        nodes.append(node)
        for k, name in enumerate(node.output):
            if data.is_float(shapes.get(name, (0, 0))[1]):
                node.output[k] = name + "_raw"
                nodes.append(helper.make_node("Mul", [name + "_raw", name + "_noise"], [name]))
                noisy.graph.input.append(helper.make_tensor_value_info(name + "_noise", T.DOUBLE, shapes[name][0]))
    copies = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del noisy.graph.node[:]
    noisy.graph.node.extend(copies)
    return noisy


def _session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def by_onnxruntime(model, elems):
    session = _session(model)

    def answer(feeds):
        values = {n: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(np.require(x, requirements=["C"]), elems[n])
                  for n, x in feeds.items()}
        out = session.run_with_ort_values(None, values)
        return [_read(o) for o in out]
    return answer


def _read(value):
    """(elem, array) of an OrtValue."""
    elem = value.element_type()
    if elem == T.BFLOAT16:
        import ctypes
        n = int(np.prod(value.shape(), dtype=np.int64))
        bits = np.frombuffer((ctypes.c_uint16 * n).from_address(value.data_ptr()), np.uint16).copy() if n else np.zeros(0, np.uint16)
        return elem, bits.reshape(value.shape())
    return elem, value.numpy()


def types_of(model):
    """The types of the outputs by their definitions; None: not known."""
    inferred = onnx.shape_inference.infer_shapes(model)
    return [o.type.tensor_type.elem_type or None for o in inferred.graph.output]


def as_real(answer, name):
    return lambda feeds: answer(feeds | {name: feeds[name].astype(np.float64)})


def as_single(answer):
    return lambda feeds: answer({n: x.astype(np.float32) if x.dtype.kind == "f" else x for n, x in feeds.items()})


def by_onnx_reference(model):
    from onnx.reference import ReferenceEvaluator
    evaluator = ReferenceEvaluator(model)

    def answer(feeds):
        with np.errstate(all="ignore"):
            out = evaluator.run(None, feeds)
        return [(None, np.asarray(o)) for o in out]
    return answer


@functools.lru_cache(maxsize=None)
def _f32_only(op):
    return op in ("Resize", "Upsample")


class References:
    """Both references of a case, and the spread of its results."""

    def __init__(self, case):
        self.case, self.why = case, []
        model = model_of([case])
        self.elems = {n: e for n, e, _ in case.inputs}
        self.own = self._try("onnxruntime", lambda: by_onnxruntime(model, self.elems))
        self.types, self.wide, self.noisy = types_of(model), None, None
        reals = any(data.is_float(e) for e in self.elems.values()) or any(data.is_float(e) for _, e, _ in case.constants)
        self.is_formula = case.op in formulas.FORMULA and not case.hollow
        if self.is_formula:
            self.wide = formulas.of(case)
            return
        if case.judge.kind in WHOLE:
            self.wide = self._try("onnx.reference", lambda: as_real(by_onnx_reference(real_model(model)), case.inputs[0][0]))
            return
        if not reals:
            if self.own is None:
                self.own = self._try("onnx.reference", lambda: by_onnx_reference(model))
            return
        keep = {n for n, e, _ in case.constants if _f32_only(case.op) and e == T.FLOAT}
        wide = wide_model(model, keep)
        elems = {n: T.DOUBLE if data.is_float(e) else e for n, e in self.elems.items()}
        if case.judge.kind == "graph":
            wide = with_single(wide)
            known = elems | {n + "_noise": T.DOUBLE for n in case.shapes}
            self.noisy = by_onnxruntime(noisy_model(wide, case.shapes), known)
        if T.FLOAT in self.elems.values() or self.own is None or case.judge.kind != "exact":
            self.wide = self._try("onnxruntime", lambda: by_onnxruntime(wide, elems))
        if self.wide is None and not {T.DOUBLE, T.FLOAT} & set(self.elems.values()):  # what half precision holds, f32 holds too
            single = wide_model(model, keep, T.FLOAT)
            floats = {n: T.FLOAT if data.is_float(e) else e for n, e in self.elems.items()}
            self.wide = self._try("onnxruntime", lambda: as_single(by_onnxruntime(single, floats)))
        if self.wide is None and (case.judge.kind != "exact" or self.own is None):
            self.wide = self._try("onnx.reference", lambda: by_onnx_reference(wide))
        if self.own is None and case.judge.kind == "exact":  # what f32 rounds to a tie, f64 does not
            self.own = self._try("onnx.reference", lambda: by_onnx_reference(model))

    def _try(self, which, make):
        if is_wrong(self.case, which):
            return None
        try:
            answer = make()
            self._answer(answer, 0, probe=True)
            return answer
        except Exception as problem:  # whatever a reference says: the other one answers
            self.why.append(f"{which}: {str(problem).splitlines()[0][:160]}")
            return None

    def _feeds(self, k, wide, noise=None):
        feeds = {}
        for n, e, _ in self.case.inputs:
            x = self.case.sets[k][n]
            if data.is_float(e) and wide:
                x = data.widen(x, e)
                if noise is not None:
                    u = data.ROUNDOFF[T.FLOAT if e in (T.FLOAT16, T.BFLOAT16) else e]
                    by = noise.uniform(-1.5, 1.5, x.shape)  # of one size they would cancel
                    if e == T.DOUBLE:  # half of them would be lost in the sum with 1
                        by = np.copysign(1 + np.abs(by) / 1.5, by)
                    x = x * (1 + u * by)
            feeds[n] = x
        return feeds

    def _answer(self, answer, k, probe=False, wide=None):
        if not probe:
            return answer(self._feeds(k, wide))
        try:
            return answer(self._feeds(k, False))
        except Exception:
            return answer(self._feeds(k, True))

    def of(self, k):
        """[(own array or None, f64 array or None, spread or None)] of the outputs for the set k."""
        own = wide = None
        if self.own is not None:
            own = self._guard(lambda: self.own(self._feeds(k, False)))
        if self.wide is not None:
            feeds = self._feeds(k, True)
            wide = self.wide(feeds) if self.is_formula else self._guard(lambda: self.wide(feeds))  # a formula of ours that fails is a fault
        if own is None and wide is None:
            raise NoReference("; ".join(self.why))
        spreads = [None] * len(own or wide)
        if wide is not None and self.case.judge.kind in ("conditioned", "graph"):
            spreads = self._spread(k, wide)
            if self.is_formula and self.case.op in formulas.ROUNDED:
                spreads[0] = np.maximum(spreads[0], self._rounded(k))
        types = [o[0] or t for o, t in zip(own, self.types)] if own else self.types
        return [(own and own[i][1], types[i], wide and wide[i][1], spreads[i]) for i in range(len(own or wide))]

    def _rounded(self, k):
        """One rounding of what the first result is a difference of."""
        [(_, size)] = formulas.of(self.case, formulas.ROUNDED)(self._feeds(k, True))
        elem = self.case.inputs[0][1]
        with np.errstate(all="ignore"):
            return np.where(np.isfinite(size), size, 0) * data.ROUNDOFF[T.FLOAT if elem in (T.FLOAT16, T.BFLOAT16) else elem]

    def _guard(self, run):
        try:
            return run()
        except Exception as problem:
            self.why.append(str(problem).splitlines()[0][:160])
            return None

    def _noise(self, noise):
        """What every intermediate is multiplied by."""
        return {n + "_noise": 1 + data.ROUNDOFF[e] * noise.uniform(-1.5, 1.5, tuple(s))
                for n, (s, e) in self.case.shapes.items() if data.is_float(e)}

    def _spread(self, k, wide):
        """Of reals, how far the perturbed results are from the others; of all else, the perturbed results."""
        noise = np.random.default_rng(7)
        spreads = [np.zeros(np.shape(w)) if w.dtype.kind == "f" else [] for _, w in wide]
        is_graph = self.case.judge.kind == "graph"
        for _ in range(GRAPH_PERTURBATIONS if is_graph else PERTURBATIONS):
            feeds = self._feeds(k, True, noise)
            moved = self._guard(lambda: self.noisy(feeds | self._noise(noise)) if is_graph else self.wide(feeds))
            for i, (_, m) in enumerate(moved or []):
                if m.shape != wide[i][1].shape:
                    continue
                if m.dtype.kind != "f":
                    spreads[i].append(m)
                    continue
                with np.errstate(all="ignore"):
                    d = np.abs(m - wide[i][1])
                spreads[i] = np.maximum(spreads[i], np.where(np.isfinite(d), d, 0))
        return spreads


# ---- the comparison
WHOLE = {"cut off": np.trunc, "rounded": lambda x: np.floor(x + 0.5)}


def _agree(got, want, tolerance):
    """Elementwise; all f64."""
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= tolerance
    return near | (got == want) | (np.isnan(got) & np.isnan(want))


# The result is as large as what was summed up.
NORMALISING = ("Normalization", "Softmax", "Loss", "Scan", "Loop", "CumSum")


def _terms(case, size):
    largest = max([int(np.prod(s, dtype=np.int64)) for _, _, s in case.inputs] + [1])
    if any(word in case.op for word in NORMALISING):
        return max(16.0, largest)
    return max(16.0, largest / max(1, size))


def tolerance_of(case, elem, reference, spread, terms):
    judge = case.judge
    own = data.ROUNDOFF[elem]
    inner = data.ROUNDOFF[T.FLOAT] if elem in (T.FLOAT16, T.BFLOAT16) else own
    rounding = 1.02 * own if inner != own else 0.0
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(reference), np.abs(reference), 0)
    if judge.kind == "exact":
        return np.zeros(np.shape(reference))
    if judge.kind == "graph":
        return own * (judge.relative * size + judge.absolute) + (4 + 2 * np.sqrt(terms)) * (0 if spread is None else spread)
    floor = data.STEP[elem] if inner != own else data.SMALLEST[elem] * 2**-10
    tolerance = size * (rounding + judge.relative * inner) + judge.absolute * inner + floor
    if judge.kind == "conditioned":
        if "Normalization" in case.op and np.size(spread) > 1:  # the mean's rounding moves all of a row, also what its own element does not
            spread = spread.max(-1, keepdims=True)
        # Squares of few different values are rounded alike, and their sum drifts.
        factor = 4 + (4 if "Normalization" in case.op else 2) * np.sqrt(terms)
        tolerance = tolerance + factor * inner * size + factor * (0 if spread is None else spread)
    return tolerance


def difference(case, k, got, elem, references):
    """None if the answer is right, else what is wrong with it, in words. got: an array in what carries `elem`;
    references: of one output, from References.of."""
    own, own_elem, wide, spread = references
    want_shape = np.shape(own if own is not None else wide)
    if got.shape != want_shape:
        return f"shape {list(got.shape)}, should be {list(want_shape)}"
    if own_elem is not None and own_elem != elem:
        return f"type {T.DataType.Name(elem)}, should be {T.DataType.Name(own_elem)}"
    if not data.is_float(elem):
        right = np.zeros(got.shape, bool)
        if case.judge.kind in WHOLE and wide is not None:
            slack, info = case.judge.absolute * data.ROUNDOFF[T.FLOAT] * (1 + np.abs(wide)), np.iinfo(data.CARRIER[elem])
            for real in (wide - slack, wide + slack):
                right |= got == np.clip(WHOLE[case.judge.kind](real), info.min, info.max)
        for want in (own, wide, *(spread if isinstance(spread, list) and case.judge.kind == "graph" else [])):
            if want is not None and want.shape == got.shape:
                right |= got == want
        return _say(case, k, got, own if own is not None else wide, right, None)
    value, right, shown = data.widen(got, elem), np.zeros(got.shape, bool), None
    terms = _terms(case, value.size)
    limit = None
    if wide is not None and wide.shape == got.shape:
        rounded = data.widen(data.narrow(wide, elem), elem)  # beyond the largest: infinity
        if case.judge.kind == "graph" and own is not None:  # what rounding does to the same graph elsewhere
            with np.errstate(all="ignore"):
                d = np.abs(data.widen(own, elem) - wide)
            spread = np.maximum(0 if spread is None else spread, np.where(np.isfinite(d), d, 0))
        limit = tolerance_of(case, elem, wide, spread, terms)
        right |= _agree(value, rounded, limit) | _agree(value, wide, limit)
        shown = wide
    if own is not None:
        want = data.widen(own, elem)
        if limit is None:
            loose = tolerance_of(case, elem, want, None, terms)
            if case.judge.kind == "conditioned":
                with np.errstate(all="ignore"):
                    largest = np.max(np.abs(want[np.isfinite(want)]), initial=0)
                loose = loose + 8 * data.ROUNDOFF[elem] * largest * (1 + np.sqrt(terms))
            limit = loose
        right |= _agree(value, want, limit)
        shown = want if shown is None else shown
    return _say(case, k, value, shown, right, limit)


def _say(case, k, got, want, right, limit):
    if right.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~right)[0])
    allowed = f" (allowed {np.broadcast_to(limit, got.shape)[at]:.3g})" if limit is not None else ""
    return (f"set {data.SETS[k]}: {int((~right).sum())} of {right.size} elements differ, first at {list(at)}: "
            f"{got[at].item()!r}, should be {want[at].item()!r}{allowed}")
