"""Outputs by their names: those that are inputs or constants, or stand in the list twice, and names that files cannot have; against ONNX Runtime."""
import json
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import answerer, familyseer, run_tests

F = TensorProto.FLOAT
X = np.random.default_rng(2).standard_normal([3, 4]).astype(np.float32)
K = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "k")
NODES = {"y": helper.make_node("Relu", ["x"], ["y"]), "z": helper.make_node("Neg", ["y"], ["z"]), "same": helper.make_node("Identity", ["x"], ["same"])}


def judge(nodes, outs, files=None, verify=True):
    """The outputs in their order, by the names that run --json says; `files`: the names that they must have."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", F, X.shape)], [value(n, F, None) for n in outs], [K])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    want = answerer(model)({"x": X})
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "m.onnx")
        onnx.save(model, path)
        np.save(os.path.join(tmp, "x.npy"), X)
        for level in ("-O0", "-O1"):
            familyseer("compile", path, "-o", tmp, level)
            said = json.loads(familyseer("run", os.path.join(tmp, "model.so"), "-i", f"x={tmp}/x.npy", "-o", os.path.join(tmp, level), "--json").stdout)["outputs"]
            assert [o["name"] for o in said] == outs, f"{[o['name'] for o in said]}, not {outs}"
            assert len({o["file"] for o in said}) == len(outs) == len(os.listdir(os.path.join(tmp, level))), f"{outs}: {[o['file'] for o in said]}"
            assert files is None or [o["file"] for o in said] == files, f"{[o['file'] for o in said]}, not {files}"
            for o in said:
                got = np.load(os.path.join(tmp, level, o["file"]))
                assert np.array_equal(got, want[o["name"]]), f"{outs}: {o['name']} is {got}, not {want[o['name']]}"
        shown = json.loads(familyseer("info", path, "--json").stdout)["outputs"]
        assert [o["name"] for o in shown] == outs, f"info says {shown}"
        if verify:
            familyseer("verify", os.path.join(tmp, "model.so"), path)
    print(outs, [o["file"] for o in said], flush=True)


def inputs_and_constants():
    y, z, same = NODES["y"], NODES["z"], NODES["same"]
    judge([y], ["x", "y"], ["x.npy", "y.npy"])
    judge([y], ["k", "y", "x"], ["k.npy", "y.npy", "x.npy"])
    judge([y, same], ["same", "x", "y", "k"], ["same.npy", "x.npy", "y.npy", "k.npy"])
    judge([y, z, helper.make_node("Identity", ["k"], ["c"])], ["c", "k", "z"], ["c.npy", "k.npy", "z.npy"])
    # a value that has the name of a copy
    judge([helper.make_node("Relu", ["x"], ["x.out"]), helper.make_node("Neg", ["x.out"], ["k.const"])], ["x.out", "x", "k", "k.const"])


def twice():
    y, z, same = NODES["y"], NODES["z"], NODES["same"]
    judge([y], ["y", "y"], ["y.npy", "y_1.npy"])
    judge([y, z], ["z", "y", "z", "y", "z"])
    judge([y], ["x", "y", "x"], ["x.npy", "y.npy", "x_1.npy"])
    judge([y, same], ["k", "y", "same", "k", "same"])


def files():
    def net(*names):
        return [helper.make_node("Mul", ["x", "x"], ["square"])] + [helper.make_node(("Relu", "Neg", "Abs", "Sqrt")[k], ["square"], [n]) for k, n in enumerate(names)]

    judge(net("a/b", "a:b", "a_b"), ["a/b", "a:b", "a_b"], ["a_b_1.npy", "a_b_2.npy", "a_b.npy"])
    judge(net("a_b_1", "a/b", "a:b", "a_b"), ["a_b_1", "a/b", "a:b", "a_b"], ["a_b_1.npy", "a_b_2.npy", "a_b_3.npy", "a_b.npy"])
    judge(net("a_b_2", "a/b", "a:b"), ["a_b_2", "a/b", "a:b"], ["a_b_2.npy", "a_b.npy", "a_b_1.npy"])
    judge(net("..", ".", "/"), ["..", ".", "/"])
    long = "n" * 250
    judge(net(long + "1", long + "2", "n" * 200), [long + "1", long + "2", "n" * 200])


run_tests([("inputs and constants", inputs_and_constants), ("twice", twice), ("files", files)])
