"""Writes a network with an operator of com.acme between two of ONNX's: cap.py FILE. Needs PyPI's onnx."""
import sys

import onnx
from onnx import TensorProto, helper

nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Cap", ["a"], ["b"], domain="com.acme", top=2.0),
         helper.make_node("Neg", ["b"], ["y"])]
graph = helper.make_graph(nodes, "cap", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), sys.argv[1])
