"""Inverse transforms of half a spectrum (DFT, onesided and inverse), against numpy.fft.irfft, and ONNX Runtime where the spectrum
is just what the signal needs: it fills none up, and takes what is too much into odd lengths. SEER_TEST: timeout=300"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import compare, familyseer, reference, run_ours, run_tests

rng = np.random.default_rng(11)


def model(shape, axis, length, kind=TensorProto.FLOAT):
    constants = [numpy_helper.from_array(np.array(axis), "axis")]
    if length is not None:
        constants.append(numpy_helper.from_array(np.array(length), "length"))
    node = helper.make_node("DFT", ["x", "length" if length is not None else "", "axis"], ["y"], inverse=1, onesided=1)
    graph = helper.make_graph([node], "net", [helper.make_tensor_value_info("x", kind, shape)], [helper.make_tensor_value_info("y", kind, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def check(shape, axis, length, dtype=np.float32):
    made = model(shape, axis, length, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    x = rng.standard_normal(shape).astype(dtype)
    want = np.fft.irfft(x[..., 0] + 1j * x[..., 1], length, axis if axis >= 0 else axis + 1)[..., None].astype(dtype)
    label = f"{list(shape)} axis {axis} length {length} {np.dtype(dtype).name}"
    if length and shape[axis] == length // 2 + 1:
        compare(label + " ONNX Runtime", reference(made, {"x": x}), {"y": want}, rtol=1e-4)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "net.onnx")
        onnx.save(made, path)
        for level in "-O0", "-O1":
            familyseer("compile", path, "-o", os.path.join(tmp, "out"), level)
            compare(f"{label} {level}", run_ours(os.path.join(tmp, "out"), {"x": x}, tmp, 1), {"y": want}, rtol=1e-5 if dtype == np.float32 else 1e-12)


def lengths():
    """Even and odd, as many as the spectrum says, fewer, more, one; a spectrum of one number."""
    for n, length in ((5, None), (5, 8), (5, 9), (5, 6), (5, 7), (5, 12), (5, 1), (1, 1), (1, 4), (2, 2)):
        check([3, n, 2], 1, length)


def axes():
    for axis in (0, 1, -2, -3):
        check([4, 6, 5, 2], axis, 7)
    check([2, 9, 2], 1, 16, np.float64)


def refusals():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "net.onnx")
        onnx.save(model([3, 5, 3], 1, 8), path)
        done = familyseer("compile", path, "-o", os.path.join(tmp, "out"), check=False)
        assert done.returncode == 1 and "its last dimension must be 1 or 2" in done.stderr, done.stderr


run_tests([("lengths", lengths), ("axes", axes), ("refusals", refusals)])
