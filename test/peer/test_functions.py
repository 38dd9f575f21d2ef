"""A model's own functions of one name that differ in their overload (IR version 10). The judge is ONNX Runtime on the same model
with a name for each: it never ends on an overload that calls another of its own name.

SEER_TEST: timeout=120
"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from peer import compare, familyseer, random_feeds, reference, run_ours, run_tests

F = TensorProto.FLOAT
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
node = helper.make_node


def function(name, overload, nodes, attributes=()):
    return helper.make_function("own", name, ["a"], ["z"], nodes, OPSETS, list(attributes), overload=overload)


def call(name, overload, x, y, **attributes):
    return node(name, [x], [y], domain="own", overload=overload, **attributes)


def model(nodes, functions):
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", F, [3, 4])], [helper.make_tensor_value_info("y", F, [3, 4])])
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10, functions=functions)


def plain(op):
    return [node(op, ["a"], ["z"])]


# Each does something else, so that taking one for another shows.
ALL = [function("F", "", plain("Tanh")), function("F", "exp", plain("Exp")), function("F", "two words/é", plain("Abs")), function("G", "exp", plain("Neg"))]


def renamed(made):
    """The same without overloads."""
    other = onnx.ModelProto()
    other.CopyFrom(made)
    for named in [n for part in (other.graph, *other.functions) for n in part.node]:
        if named.domain == "own":
            named.op_type += "_" + named.overload
        named.ClearField("overload")
    for named in other.functions:
        named.name += "_" + named.overload
        named.ClearField("overload")
    return other


def check(label, made):
    feeds = random_feeds(made)
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(made, os.path.join(tmp, "net.onnx"))
        familyseer("compile", os.path.join(tmp, "net.onnx"), "-o", os.path.join(tmp, "out"))
        compare(label, run_ours(os.path.join(tmp, "out"), feeds, tmp, 1), reference(renamed(made), feeds), rtol=1e-6)


def each_is_called():
    for order in (1, -1):  # whichever the file has first
        nodes = [call("F", "exp", "x", "p"), call("F", "", "p", "q"), call("G", "exp", "q", "r"), call("F", "two words/é", "r", "s"),
                 node("Add", ["s", "x"], ["y"])]
        check("overloads", model(nodes, ALL[::order]))


def in_each_other():
    """An overload may call another of its own name, and hand attributes on."""
    scaled = node("Elu", ["a"], ["z"])
    handed = scaled.attribute.add()
    handed.name, handed.ref_attr_name, handed.type = "alpha", "by", onnx.AttributeProto.FLOAT
    inner = function("F", "scaled", [scaled], ["by"])
    outer = function("F", "", [call("F", "scaled", "a", "t", by=0.5), call("F", "scaled", "t", "z", by=0.25)])
    for functions in [inner, outer], [outer, inner]:
        check("nested overloads", model([call("F", "", "x", "y")], functions))


def refusals():
    cases = [(call("F", "log", "x", "y"), "it calls overload 'log' of the function, which the model lacks; it has overload ''"),
             (call("G", "", "x", "y"), "it calls overload '' of the function, which the model lacks; it has overload 'exp'"),
             (call("H", "log", "x", "y"), "it calls overload 'log' of a function, but the model has no function of this name"),
             (node("Relu", ["x"], ["y"], overload="fast"), "it calls overload 'fast' of a function, but the model has no function of this name")]
    for wrong, said in cases:
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "net.onnx")
            onnx.save(model([wrong], ALL), path)
            done = familyseer("compile", path, "-o", os.path.join(tmp, "out"), check=False)
            assert done.returncode == 1 and said in done.stderr and "node 'y'" in done.stderr, done.stderr


np.random.seed(1)
run_tests([("each is called", each_is_called), ("in each other", in_each_other), ("refusals", refusals)])
