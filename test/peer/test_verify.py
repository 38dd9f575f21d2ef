"""verify: right libraries under both judges, in f32, f16, 8 bits and with sizes that the data decide; libraries of another
network's weights are refused by both; ONNX Runtime that is not there is said. --layers: what is in memory agrees, and the
first layer of other weights is named, with the nodes of its kernel. SEER_TEST: timeout=300 cost=25"""
import json
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


def build(tmp, made, judged, level="-O1"):
    """A library of `made`, and what it is to be judged by."""
    paths = [os.path.join(tmp, n) for n in ("made.onnx", "judged.onnx")]
    for path, what in zip(paths, (made, judged)):
        onnx.save(what, path)
    # whole: what a batch's steps leave to each other for one image at a time nobody sees
    familyseer("compile", paths[0], "-o", os.path.join(tmp, "lib"), level, "--images", "whole")


def verify(tmp, made, judged, *flags, ok=True):
    build(tmp, made, judged)
    return judge(tmp, *flags, ok=ok)


def judge(tmp, *flags, ok=True):
    done = familyseer("verify", os.path.join(tmp, "lib"), os.path.join(tmp, "judged.onnx"), *flags, check=False)
    assert done.returncode == (0 if ok else 1), f"status {done.returncode}\n{done.stdout}{done.stderr}"
    if "--json" in flags:
        said = json.loads(done.stdout)
        assert said["ok"] == ok, done.stdout
        return said["sets"][0]
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
    for whom in ((), ORT):
        with tempfile.TemporaryDirectory() as tmp:
            made = network(np.float32)
            other = onnx.ModelProto()
            other.CopyFrom(made)
            m = numpy_helper.to_array(other.graph.initializer[2]).copy()
            m[:, 4] = -m[:, 4]
            other.graph.initializer[2].CopyFrom(numpy_helper.from_array(m, "m"))
            assert "y " in verify(tmp, made, other, *whom, ok=False)


def changed(made, name, change):
    """The model with another constant."""
    other = onnx.ModelProto()
    other.CopyFrom(made)
    for initial in other.graph.initializer:
        if initial.name == name:
            initial.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(initial).copy()), name))
    return other


def flipped(array):
    return np.ascontiguousarray(array[::-1])


def normed():
    """Conv, BatchNormalization, Relu; parts of a Concat; a Split; a product: passes rewrite and place all of them."""
    draw = lambda *shape: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
    norm = lambda x, y: helper.make_node("BatchNormalization", [x, "scale", "shift", "mean", "var"], [y])
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), norm("a", "b"), helper.make_node("Relu", ["b"], ["c"]),
             helper.make_node("Conv", ["c", "v"], ["d"], pads=[1, 1, 1, 1]), norm("d", "e"),
             helper.make_node("Concat", ["c", "e"], ["f"], axis=1), helper.make_node("Split", ["f", "sizes"], ["g", "h"], axis=1),
             helper.make_node("Conv", ["g", "u"], ["i"]), helper.make_node("MaxPool", ["h"], ["j"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             helper.make_node("Add", ["i", "j"], ["k"]), helper.make_node("GlobalAveragePool", ["k"], ["l"]),
             helper.make_node("Flatten", ["l"], ["m"]), helper.make_node("MatMul", ["m", "p"], ["y"])]
    constants = {"w": draw(8, 4, 3, 3), "v": draw(8, 8, 3, 3), "u": draw(8, 8, 1, 1), "p": draw(8, 5), "scale": 1 + draw(8) / 9,
                 "shift": draw(8), "mean": draw(8) / 9, "var": (1 + draw(8) ** 2).astype(np.float32), "sizes": np.array([8, 8], np.int64)}
    return model(nodes, [("x", F, [1, 4, 13, 13])], [("y", F)], constants)


def branches():
    """An If and a Loop, whose condition and count are data, between products."""
    info = helper.make_tensor_value_info
    def side(name, op):
        node = helper.make_node(op, ["a"], [name])
        return helper.make_graph([node], name, [], [info(name, F, [4, 6])])
    body = helper.make_graph([helper.make_node("MatMul", ["s", "w"], ["s_out"]), helper.make_node("Identity", ["go"], ["go_out"])], "body",
                             [info("i", I64, []), info("go", TensorProto.BOOL, []), info("s", F, [4, 6])],
                             [info("go_out", TensorProto.BOOL, []), info("s_out", F, [4, 6])])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("ReduceSum", ["a"], ["sum"], keepdims=0),
             helper.make_node("Greater", ["sum", "zero"], ["is_more"]),
             helper.make_node("If", ["is_more"], ["b"], then_branch=side("t", "Exp"), else_branch=side("e", "Tanh")),
             helper.make_node("Loop", ["n", "", "b"], ["c"], body=body), helper.make_node("Softmax", ["c"], ["y"])]
    draw = (rng.standard_normal((6, 6)) / 3).astype(np.float32)
    return model(nodes, [("x", F, [4, 6]), ("n", I64, [])], [("y", F)], {"w": draw, "zero": np.float32(0)})


LEVELS = ("-O0", "-O1", "--random-schedules=5")
JUDGES = ((), ORT)


def layers_agree():
    for made in (network(np.float32), network(np.float16), quantised(), sized(), normed(), branches()):
        names = {n for node in made.graph.node for n in node.output}
        for level in LEVELS:
            with tempfile.TemporaryDirectory() as tmp:
                build(tmp, made, made, level)
                for whom in JUDGES:
                    said = judge(tmp, "--layers", "--json", *whom)["layers"]
                    assert said["ok"] and said["values"] > 1 and not said["decided_otherwise"], said
                    assert said["values"] + len([n for n in said["not_in_memory"] if n in names]) >= len(names), said


def first_layer():
    """Of other weights: (model, constant, values one of which differs first, what may be between, of which a product made it)."""
    for k, (made, constant, value, ops) in enumerate((
            (network(np.float32), "v", {"c", "d"}, {"Conv", "Flatten"}), (network(np.float32), "w", {"a", "b"}, {"Conv", "Relu"}),
            (network(np.float16), "v", {"c", "d"}, {"Conv", "Flatten"}), (network(np.float32), "m", {"e"}, {"MatMul", "Flatten"}),
            (normed(), "v", {"d", "e"}, {"Conv", "BatchNormalization"}),
            (normed(), "u", {"i", "k"}, {"Conv", "Add", "MaxPool", "Split", "Concat"}),
            (normed(), "p", {"y"}, {"MatMul", "Flatten", "GlobalAveragePool"}))):
        with tempfile.TemporaryDirectory() as tmp:
            build(tmp, made, changed(made, constant, flipped), LEVELS[k % 3])
            for whom in JUDGES:
                wrong = judge(tmp, "--layers", "--json", *whom, ok=False)["layers"]["wrong"]
                assert wrong["value"] in value and abs(wrong["found"] - wrong["expected"]) > wrong["tolerance"] > 0, wrong
                between = {n["op"] for n in wrong["nodes"]}
                assert between <= ops and between & {"Conv", "MatMul"}, (constant, wrong)
    with tempfile.TemporaryDirectory() as tmp:
        made = network(np.float32)
        said = verify(tmp, made, changed(made, "v", flipped), "--layers", ok=False)
        assert "tolerance" in said and "(Conv)" in said and "what was in memory before agrees" in said, said


def damaged_weights():
    """A right library whose weights.bin holds another number where a kernel reads a product's weights."""
    made, payload = normed(), 64
    with tempfile.TemporaryDirectory() as tmp:
        path, libs = os.path.join(tmp, "made.onnx"), [os.path.join(tmp, n) for n in ("a", "b")]
        for lib, what in zip(libs, (made, changed(made, "v", flipped))):
            onnx.save(what, path)
            familyseer("compile", path, "-o", lib, "-O1")
        onnx.save(made, path)
        right, other = (np.fromfile(os.path.join(lib, "weights.bin"), np.uint8) for lib in libs)
        assert len(right) == len(other) and (right[payload:] != other[payload:]).any()
        other[:payload] = right[:payload]
        other.tofile(os.path.join(libs[0], "weights.bin"))
        for whom in JUDGES:
            done = familyseer("verify", libs[0], path, "--layers", "--json", *whom, check=False)
            assert done.returncode == 1 and "values differ" in done.stderr, done.stderr
            wrong = json.loads(done.stdout)["sets"][0]["layers"]["wrong"]
            assert wrong["value"] in ("d", "e") and "Conv" in [n["op"] for n in wrong["nodes"]], wrong


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


run_tests([("right", right), ("other weights", other_weights), ("no package", no_package),
           ("layers agree", layers_agree), ("first layer", first_layer), ("damaged weights", damaged_weights)])
