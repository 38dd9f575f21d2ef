"""ONNX's own tests as PyPI's onnx has them: models, and the arrays that go in and come out.

Node tests are made by the package (their expected values by its own code), the others lie in its folder of data. Types that
NumPy lacks are ml_dtypes' here; libraries, and files of --bind, have them in types of NumPy that carry their bits
(python/familyseer.py): carried() and decoded() go from one to the other.
"""
import dataclasses
import glob
import os
import re
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
# Floats: their bits are carried. Integers of fewer than 8 bits: their values are.
_FLOATS = {np.dtype(ml_dtypes.bfloat16): np.uint16}
_FLOATS.update({np.dtype(t): np.uint8 for t in (
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float4_e2m1fn)})
_INTEGERS = {np.dtype(ml_dtypes.int4): np.int8, np.dtype(ml_dtypes.uint4): np.uint8,
             np.dtype(ml_dtypes.int2): np.int8, np.dtype(ml_dtypes.uint2): np.uint8}


@dataclasses.dataclass
class Case:
    name: str  # with its kind: node/test_abs
    model: onnx.ModelProto
    sets: list  # [(inputs, outputs)], arrays in the order of the graph's
    rtol: float
    atol: float


def carried(array):
    """The array in the NumPy type that carries it through a library."""
    if array.dtype in _FLOATS:
        return array.view(_FLOATS[array.dtype])
    return array.astype(_INTEGERS[array.dtype]) if array.dtype in _INTEGERS else array


def decoded(array, dtype):
    """What a library returned, as `dtype`; as it is if it is not what carries that."""
    if dtype in _FLOATS and array.dtype == _FLOATS[dtype]:
        return array.view(dtype)
    return array.astype(dtype) if dtype in _INTEGERS and array.dtype == _INTEGERS[dtype] else array


def is_narrow(dtype):
    """Integers that carry no more than a few bits, floats that NumPy does not know."""
    return dtype in _FLOATS or dtype in _INTEGERS


def _is_counted(model, newest):
    """Tensors of numbers only, operators of ONNX's own domain, a set that familyseer reads."""
    if any(o.domain not in ("", "ai.onnx") or o.version > newest for o in model.opset_import):
        return False  # training, ai.onnx.ml
    values = list(model.graph.input) + list(model.graph.output)
    return all(v.type.HasField("tensor_type") and v.type.tensor_type.elem_type != onnx.TensorProto.STRING for v in values)


def _array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _read(folder, what, count):
    """The arrays of one data set, in the order of the graph's inputs or outputs."""
    files = sorted(glob.glob(os.path.join(folder, f"{what}_*.pb")), key=lambda f: int(re.findall(r"_(\d+)\.pb", f)[0]))
    tensors = []
    for path in files[:count]:
        with open(path, "rb") as file:
            tensors.append(onnx.TensorProto.FromString(file.read()))
    return [_array(t) for t in tensors]


def _sets(test, model, n_in):
    if test.data_sets is not None:
        return [([_array(x) for x in inputs], [_array(x) for x in outputs]) for inputs, outputs in test.data_sets]
    folders = sorted(glob.glob(os.path.join(test.model_dir, "test_data_set_*")))
    return [(_read(f, "input", n_in), _read(f, "output", len(model.graph.output))) for f in folders]


def _tests(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how the package makes its values: overflow, log of 0
        return sorted(load_model_tests(kind=kind), key=lambda t: t.name)


def _model(test):
    return test.model or onnx.load(os.path.join(test.model_dir, "model.onnx"))


def models(kind, names):
    """The models of these cases, in this order; KeyError if the package has no such case."""
    made = {test.name: test for test in _tests(kind)}
    return [_model(made[name]) for name in names]


def load(kind, newest, only=""):
    """The cases of one kind whose names contain `only`, by name: those that are counted."""
    cases = []
    for test in _tests(kind):
        if only not in test.name:
            continue
        model = _model(test)
        if _is_counted(model, newest):
            cases.append(Case(f"{kind}/{test.name}", model, _sets(test, model, len(input_names(model))), test.rtol, test.atol))
    return cases


def input_names(model):
    """The inputs that have no value in the file."""
    constants = {i.name for i in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in constants]
