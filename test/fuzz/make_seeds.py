"""Writes the seeds of the ONNX fuzzer that hold control flow, composite operators, functions, external and sparse data: make_seeds.py FOLDER.

They are stored in test/fuzz/corpus/onnx, so that the quick suite reads them too.
"""
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I, U, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL


def value(name, kind=F, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def const(name, array, dtype=np.int64):
    return numpy_helper.from_array(np.array(array, dtype), name)


def model(name, nodes, inputs, outputs, constants=(), opset=18):
    graph = helper.make_graph(nodes, name, inputs, [value(o, k) for o, k in outputs], list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(made.SerializeToString())


def single(name, op, inputs, constants=(), outputs=(("y", F),), opset=18, **attrs):
    """One node; inputs: (name, kind, shape), constants: tensors; operands in that order, '' for absent ones in `order`."""
    order = attrs.pop("order", [i[0] for i in inputs] + [c.name for c in constants])
    node = helper.make_node(op, order, [o for o, _ in outputs], **attrs)
    model(name, [node], [value(*i) for i in inputs], outputs, constants, opset)


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, [value(o, k) for o, k in outputs], list(constants))


node = helper.make_node
x = ("x", F, [2, 3])
branches = {"then_branch": body([node("Add", ["x", "x"], ["a"])], [], [("a", F)]),
            "else_branch": body([node("If", ["c"], ["b"], then_branch=body([node("Mul", ["x", "x"], ["m"])], [], [("m", F)]),
                                      else_branch=body([node("Neg", ["x"], ["n"])], [], [("n", F)]))], [], [("b", F)])}
single("if_constant", "If", [x], [const("c", True, bool)], order=["c"], **branches)
single("if_data", "If", [("c", B, []), x], order=["c"], **branches)
heavy = {"then_branch": body([node("MatMul", ["x", "w"], ["a"])], [], [("a", F)]),
         "else_branch": body([node("If", ["d"], ["b"], then_branch=body([node("MatMul", ["x", "v"], ["m"])], [], [("m", F)]),
                                   else_branch=body([node("NonZero", ["x"], ["i"]), node("Cast", ["i"], ["n"], to=F)], [], [("n", F)]))], [], [("b", F)])}
single("if_branch", "If", [("c", B, []), ("d", B, []), x], [const("w", np.ones((3, 3)), np.float32), const("v", np.ones((3, 5)), np.float32)],
       order=["c"], **heavy)
half = {"then_branch": body([node("MatMul", ["x", "w"], ["a"])], [], [("a", F)]),
        "else_branch": body([node("LSTM", ["x", "w", "w"], ["b"], hidden_size=1)], [], [("b", F)])}
single("if_half", "If", [("c", B, []), x], [const("w", np.ones((3, 3)), np.float32)], order=["c"], **half)
turn = body([node("Mul", ["v", "x"], ["w"]), node("Identity", ["go"], ["on"]), node("Identity", ["w"], ["s"])],
            [value("k", I, []), value("go", B, []), value("v")], [("on", B), ("w", F), ("s", F)])
single("loop", "Loop", [x, ("v0", F, [2, 3])], [const("n", 3)], order=["n", "", "v0"], outputs=(("y", F), ("z", F)), body=turn)
scan = body([node("Add", ["s", "e"], ["t"]), node("Identity", ["t"], ["o"])], [value("s"), value("e")], [("t", F), ("o", F)])
single("scan", "Scan", [("s0", F, [3]), x], outputs=(("y", F), ("z", F)), body=scan, num_scan_inputs=1, scan_input_directions=[1])
rng = np.random.default_rng(1)
for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    single(op.lower(), op, [("x", F, [3, 2, 2])], [const("w", rng.normal(size=(2, gates * 2, 2)), np.float32),
           const("r", rng.normal(size=(2, gates * 2, 2)), np.float32), const("b", rng.normal(size=(2, gates * 4)), np.float32)],
           outputs=(("y", F), ("h", F)), direction="bidirectional", hidden_size=2)
single("loss", "SoftmaxCrossEntropyLoss", [("x", F, [2, 3, 2]), ("l", I, [2, 2])], [const("w", [1, 2, 3], np.float32)],
       ignore_index=1, reduction="mean")
quantised = [const("s", 0.5, np.float32), const("z", 3, np.uint8)]
single("quantize", "QuantizeLinear", [x], quantised, (("y", U),))
single("dequantize", "DequantizeLinear", [("x", U, [2, 4])], [const("s", [[1, 2], [3, 4]], np.float32)], opset=21, block_size=2)
single("qlinear_matmul", "QLinearMatMul", [("a", U, [2, 2]), ("b", U, [2, 2])], quantised, (("y", U),),
       order=["a", "s", "z", "b", "s", "z", "s", "z"])
single("qlinear_conv", "QLinearConv", [("a", U, [1, 2, 4, 4])], quantised + [const("w", np.ones((2, 2, 3, 3)), np.uint8)],
       (("y", U),), order=["a", "s", "z", "w", "s", "z", "s", "z"], pads=[1, 1, 1, 1])
single("dynamic_quantize", "DynamicQuantizeLinear", [x], outputs=(("y", U), ("s", F), ("z", U)))
single("scatter_elements", "ScatterElements", [x, ("i", I, [1, 3]), ("u", F, [1, 3])], reduction="max")
single("scatter_nd", "ScatterND", [x, ("i", I, [2, 1]), ("u", F, [2, 3])])
single("gather_nd", "GatherND", [x, ("i", I, [2, 1])], batch_dims=1)
single("top_k", "TopK", [x], [const("k", [2])], (("y", F), ("i", I)), largest=0)
single("reverse_sequence", "ReverseSequence", [("x", F, [3, 2])], [const("n", [2, 3])], time_axis=0, batch_axis=1)
single("dft", "DFT", [("x", F, [1, 4, 1])], [const("n", 6)], axis=1, onesided=1)
single("stft", "STFT", [("x", F, [1, 8, 1])], [const("n", 2), const("w", [1, 1, 1, 1], np.float32)])
single("col2im", "Col2Im", [("x", F, [1, 4, 6])], [const("i", [3, 4]), const("b", [2, 2])])
single("affine_grid", "AffineGrid", [("x", F, [1, 2, 3])], [const("n", [1, 1, 2, 3])], opset=20)
single("center_crop_pad", "CenterCropPad", [x], [const("n", [3, 2])])
single("compress", "Compress", [x], [const("c", [1, 0, 1], bool)], axis=1)
single("old_add", "Add", [("x", F, [2, 3, 2]), ("b", F, [3])], opset=6, broadcast=1, axis=1)
single("upsample", "Upsample", [("x", F, [1, 1, 2, 2])], [const("s", [1, 1, 2, 2], np.float32)], opset=9)
single("non_zero", "NonZero", [], [const("c", [[1, 0], [2, 3]])], (("y", I),))
boxes, scores = ("b", F, [1, 6, 4]), ("s", F, [1, 2, 6])
limits = [const("n", [3]), const("o", [0.5], np.float32), const("p", [0.1], np.float32)]
single("nms", "NonMaxSuppression", [boxes, scores], limits, (("y", I),), center_point_box=1)
single("nms_data", "NonMaxSuppression", [boxes, scores, ("n", I, [1])], outputs=(("y", I),))
single("unique", "Unique", [("x", F, [3, 4])], outputs=(("y", F), ("f", I), ("i", I), ("c", I)), axis=1)
single("compress_data", "Compress", [x, ("c", B, [3])], axis=1)
single("top_k_data", "TopK", [x, ("k", I, [1])], outputs=(("y", F), ("i", I)))
single("loop_data", "Loop", [("n", I, []), ("go", B, []), ("v0", F, [2, 3]), x], order=["n", "go", "v0"],
       body=body(turn.node[:2], turn.input, [("on", B), ("w", F)]))
def step(formals, nodes, end):
    return body(nodes, [value(formals[0], I, []), value(formals[1], B, []), value(formals[2], F, [3, 3])], [("on" + end, B), (end, F)])


inner = step(("j", "q", "u"), [node("If", ["c"], ["t"], **half), node("MatMul", ["u", "t"], ["s"]), node("Add", ["s", "v"], ["e"]),
                               node("Identity", ["q"], ["one"])], "e")
outer = step(("i", "p", "v"), [node("Loop", ["n", "", "x"], ["r"], body=inner), node("Add", ["r", "v"], ["f"]), node("Identity", ["p"], ["onf"])], "f")
single("loop_in_loop", "Loop", [("n", I, []), ("c", B, []), ("x", F, [3, 3])], [const("w", np.ones((3, 3)), np.float32)], order=["n", "", "x"], body=outer)
single("loop_scan", "Loop", [("go", B, []), ("v0", F, [2, 3]), x], [const("n", 9000)], order=["n", "go", "v0"],
       outputs=(("y", F), ("z", F)), body=turn)
model("tail", [node("NonZero", ["x"], ["i"]), node("Shape", ["i"], ["h"]), node("Gather", ["h", "1"], ["n"]),
               node("Range", ["0", "n", "1"], ["r"]), node("Transpose", ["i"], ["t"]), node("GatherND", ["x", "t"], ["v"]),
               node("Slice", ["v", "from", "to"], ["w"]), node("TopK", ["v", "k"], ["y", "z"])],
      [value(*x)], [("y", F), ("z", I), ("w", F), ("r", I)],
      [const("0", 0), const("1", 1), const("from", [1]), const("to", [-1]), const("k", [2])])


def save(name, made):
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(made.SerializeToString())


# Functions that call functions, with an attribute that is handed on and one that has a default.
opsets = [helper.make_opsetid("", 18), helper.make_opsetid("d", 1)]
scaled = node("Selu", ["a"], ["z"])
for attribute in "alpha", "gamma":
    handed = scaled.attribute.add()
    handed.name, handed.ref_attr_name, handed.type = attribute, attribute, 1
inner = helper.make_function("d", "Inner", ["a"], ["z"], [scaled], opsets[:1], ["alpha", "gamma"])
call = node("Inner", ["a"], ["b"], domain="d", gamma=2.0)
handed = call.attribute.add()
handed.name, handed.ref_attr_name, handed.type = "alpha", "alpha", 1
outer = helper.make_function("d", "Outer", ["a"], ["z"], [call, node("Inner", ["b"], ["z"], domain="d", alpha=1.0, gamma=1.0)], opsets, ["alpha"])
graph = helper.make_graph([node("Outer", ["x"], ["t"], domain="d", alpha=0.5), node("Outer", ["t"], ["y"], domain="d")], "functions",
                          [value(*x)], [value("y")])
save("functions", helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[inner, outer]))

# Overloads of one name, one of which calls another.
overloads = [helper.make_function("d", "F", ["a"], ["z"], [node("Exp", ["a"], ["z"])], opsets[:1], overload="e"),
             helper.make_function("d", "F", ["a"], ["z"], [node("F", ["a"], ["z"], domain="d", overload="e")], opsets)]
graph = helper.make_graph([node("F", ["x"], ["y"], domain="d")], "overloads", [value(*x)], [value("y")])
save("overloads", helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=overloads))

# External data (there is none when bytes are fuzzed: what is read are its entries), and a sparse initialiser.
outside = const("w", np.ones((2, 3)), np.float32)
outside.ClearField("raw_data")
outside.data_location = TensorProto.EXTERNAL
for key, text in ("location", "w.bin"), ("offset", "64"), ("length", "24"):
    entry = outside.external_data.add()
    entry.key, entry.value = key, text
model("external", [node("Add", ["x", "w"], ["y"])], [value(*x)], [("y", F)], [outside])
graph = helper.make_graph([node("Add", ["x", "w"], ["y"])], "sparse", [value(*x)], [value("y")])
graph.sparse_initializer.append(helper.make_sparse_tensor(const("w", [1, 2], np.float32), const("i", [0, 4]), [2, 3]))
save("sparse", helper.make_model(graph, opset_imports=opsets[:1], ir_version=8))
table = helper.make_sparse_tensor(const("w", [1, 2, 3], np.float32), const("i", [[0, 1], [0, 2], [1, 0]]), [2, 3])
model("sparse_table", [node("Constant", [], ["w"], sparse_value=table), node("Add", ["x", "w"], ["y"])], [value(*x)], [("y", F)])
