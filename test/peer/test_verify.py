"""verify: right libraries under both judges, in f32, f16, 8 bits and with sizes that the data decide; libraries of another
network's weights are refused by both; ONNX Runtime that is not there is said. SEER_TEST: timeout=300"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import familyseer, run_tests

F, H, I64, U8 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.UINT8
rng = np.random.default_rng(11)
ORT = ("--against", "onnxruntime", "--python", sys.executable)


def model(nodes, inputs, outputs, constants):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(n, k, None) for n, k in outputs],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def network(dtype, scale=1.0):
    """Two convolutions, a product and a Softmax, in f32 or f16."""
    kind = F if dtype == np.float32 else H
    draw = lambda *shape: (scale * rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(dtype)
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "v"], ["c"], strides=[2, 2]), helper.make_node("Flatten", ["c"], ["d"]),
             helper.make_node("MatMul", ["d", "m"], ["e"]), helper.make_node("LayerNormalization", ["e", "g"], ["y"])]
    constants = {"w": draw(13, 5, 3, 3), "v": draw(7, 13, 1, 1), "m": draw(7 * 36, 21), "g": np.ones(21, dtype)}
    return model(nodes, [("x", kind, [2, 5, 11, 11])], [("y", kind)], constants)


def quantised():
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             helper.make_node("MatMul", ["d", "m"], ["e"]), helper.make_node("QuantizeLinear", ["e", "t", "z"], ["r"]),
             helper.make_node("DequantizeLinear", ["r", "t", "z"], ["y"])]
    constants = {"s": np.float32(0.02), "t": np.float32(0.05), "z": np.uint8(128), "m": rng.standard_normal((40, 30)).astype(np.float32)}
    return model(nodes, [("x", F, [9, 40])], [("y", F), ("r", U8)], constants)


def sized():
    nodes = [helper.make_node("Greater", ["x", "zero"], ["m"]), helper.make_node("NonZero", ["m"], ["n"]),
             helper.make_node("Transpose", ["n"], ["t"], perm=[1, 0]), helper.make_node("GatherND", ["x", "t"], ["g"]),
             helper.make_node("Exp", ["g"], ["y"])]
    return model(nodes, [("x", F, [6, 7])], [("y", F)], {"zero": np.float32(0)})


def verify(tmp, made, judged, *flags, ok=True):
    """A library of `made`, judged by `judged`."""
    paths = [os.path.join(tmp, n) for n in ("made.onnx", "judged.onnx")]
    for path, what in zip(paths, (made, judged)):
        onnx.save(what, path)
    familyseer("compile", paths[0], "-o", os.path.join(tmp, "lib"), "-O1")
    done = familyseer("verify", os.path.join(tmp, "lib"), paths[1], *flags, check=False)
    assert done.returncode == (0 if ok else 1), f"status {done.returncode}\n{done.stdout}{done.stderr}"
    assert ("DIFFERS" in done.stdout) != ok, done.stdout
    return done.stdout


def right():
    for made in (network(np.float32), network(np.float16), quantised(), sized()):
        with tempfile.TemporaryDirectory() as tmp:
            said = verify(tmp, made, made)
            assert "nodes agree with the interpreter" in said, said
            assert "ONNX Runtime 1." in verify(tmp, made, made, *ORT)


def other_weights():
    """One weight of one channel is another: both judges see it, and say in which output."""
    for judge in ((), ORT):
        with tempfile.TemporaryDirectory() as tmp:
            made = network(np.float32)
            other = onnx.ModelProto()
            other.CopyFrom(made)
            m = numpy_helper.to_array(other.graph.initializer[2]).copy()
            m[:, 4] = -m[:, 4]
            other.graph.initializer[2].CopyFrom(numpy_helper.from_array(m, "m"))
            assert "y " in verify(tmp, made, other, *judge, ok=False)


def no_package():
    with tempfile.TemporaryDirectory() as tmp:
        path, lib = os.path.join(tmp, "m.onnx"), os.path.join(tmp, "lib")
        onnx.save(sized(), path)
        familyseer("compile", path, "-o", lib, "-O1")
        for python, says in (("no-such-python", "there is no 'no-such-python'"), (fake_python(tmp), "pip install onnxruntime")):
            done = familyseer("verify", lib, path, "--against", "onnxruntime", "--python", python, check=False)
            assert done.returncode == 1 and says in done.stderr, done.stderr


def fake_python(tmp):
    path = os.path.join(tmp, "python-without")
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\nshift\nexec {sys.executable} -S -E -c \"$@\"\n")
    os.chmod(path, 0o755)
    return path


run_tests([("right", right), ("other weights", other_weights), ("no package", no_package)])
