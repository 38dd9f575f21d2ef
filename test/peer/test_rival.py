"""bench and tune --against onnxruntime: turns beside it, for several inputs, a bound one and 16 bits; another network is seen by its
answers; what cannot be run is said, and a tuning stands all the same. How long anything takes is not asked. SEER_TEST: timeout=200 cost=15"""
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import familyseer, run_tests

ORT = ("--against", "onnxruntime", "--python", sys.executable)
SHORT = ("--duration", "100ms", "--iterations", "3", "--threads", "1")
rng = np.random.default_rng(5)


def network(scale=1.0, kind=TensorProto.FLOAT):
    """y = relu(x w + b), and b twice; b is an input."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["s"]),
             helper.make_node("Relu", ["s"], ["y"]), helper.make_node("Add", ["b", "b"], ["z"])]
    info = helper.make_tensor_value_info
    weights = (scale * rng.standard_normal((24, 17))).astype(dtype)
    graph = helper.make_graph(nodes, "g", [info("x", kind, [5, 24]), info("b", kind, [17])],
                              [info("y", kind, [5, 17]), info("z", kind, [17])], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def made(tmp, model, *flags):
    file, lib = os.path.join(tmp, "net.onnx"), os.path.join(tmp, "lib")
    onnx.save(model, file)
    familyseer("compile", file, "-o", lib, "-O0", *flags)
    return lib, file


def race(lib, file, *flags):
    said = json.loads(familyseer("bench", lib, file, *ORT, *SHORT, *flags, "--json").stdout)
    assert said["n"] >= 3 and said["other"]["n"] >= 3 and said["ratio"] > 0, said
    assert said["other"]["name"] == "onnxruntime" and said["other"]["version"][0].isdigit(), said
    return said["deviation"]


def beside_it():
    for kind, most in ((TensorProto.FLOAT, 1e-5), (TensorProto.FLOAT16, 1e-2)):
        with tempfile.TemporaryDirectory() as tmp:
            assert race(*made(tmp, network(kind=kind))) < most
    with tempfile.TemporaryDirectory() as tmp:  # the library has the value of b, and ONNX Runtime gets it
        np.save(os.path.join(tmp, "b.npy"), np.linspace(-2, 2, 17, dtype=np.float32))
        lib, file = made(tmp, network(), "--bind", f"b={tmp}/b.npy")
        assert race(lib, file) < 1e-5 and race(lib, file, "--bind", f"b={tmp}/b.npy") < 1e-5
        text = familyseer("bench", lib, file, *ORT, *SHORT, "--bind", f"b={tmp}/b.npy").stdout
        assert "as ONNX Runtime" in text and "apart" not in text, text


def another_network():
    with tempfile.TemporaryDirectory() as tmp:
        lib, file = made(tmp, network())
        onnx.save(network(scale=3.0), file)
        assert race(lib, file) > 0.1
        assert "answers are" in familyseer("bench", lib, file, *ORT, *SHORT).stdout
        for count in 1, 3:  # outputs; the library has two
            other = network()
            other.graph.node.append(helper.make_node("Neg", ["y"], ["n"]))
            other.graph.output.append(helper.make_tensor_value_info("n", TensorProto.FLOAT, [5, 17]))
            del other.graph.output[count:]
            onnx.save(other, file)
            assert "their outputs are others" in familyseer("bench", lib, file, *ORT, *SHORT).stdout


def what_cannot_be():
    with tempfile.TemporaryDirectory() as tmp:
        lib, file = made(tmp, network())
        bad = os.path.join(tmp, "bad.onnx")
        broken = network()
        broken.graph.node[0].input[1] = "nothing"
        onnx.save(broken, bad)
        for args, text, status in (((lib, file), "--against onnxruntime", 2), ((lib, *ORT), "MODEL.so MODEL", 2),
                                   ((lib, file, *ORT, "--compare", lib), "one at a time", 2), ((lib, file, *ORT, "--streams", "2"), "one stream", 2),
                                   ((lib, file, "--against", "interpreter"), "no others", 2),
                                   ((lib, bad, *ORT), "nothing", 1), ((lib, file, *ORT[:3], "/nowhere/python"), "no '/nowhere/python'", 1),
                                   ((lib, file, *ORT[:3], "/bin/true"), "ONNX Runtime", 1)):
            done = familyseer("bench", *args, *SHORT, check=False)
            assert done.returncode == status and text in done.stderr, (args, done)


def the_end_of_a_tuning():
    with tempfile.TemporaryDirectory() as tmp:
        file = os.path.join(tmp, "net.onnx")
        onnx.save(network(), file)
        common = ("--trials", "4", "--records", f"{tmp}/records", "--device-lock", f"{tmp}/lock", "--threads", "1")
        done = familyseer("tune", file, "-o", f"{tmp}/out", *common, *ORT, "--json")
        rival = [line for line in map(json.loads, done.stdout.splitlines()) if line["event"] == "rival"]
        assert len(rival) == 1 and rival[0]["ratio"] > 0 and rival[0]["deviation"] < 1e-4, done.stdout
        assert "as ONNX Runtime" in done.stderr.splitlines()[-1], done.stderr
        done = familyseer("tune", file, "-o", f"{tmp}/other", *common, *ORT[:3], "/nowhere/python")
        assert "not held against ONNX Runtime: there is no" in done.stderr and os.path.exists(f"{tmp}/other/model.so"), done.stderr
        done = familyseer("tune", file, *common, *ORT, check=False)
        assert done.returncode == 2 and "-o DIR" in done.stderr, done


run_tests([("beside it", beside_it), ("another network", another_network), ("what cannot be", what_cannot_be), ("the end of a tuning", the_end_of_a_tuning)])
