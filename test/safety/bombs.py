"""Small ONNX files that ask for much: names, functions, folding, tables, shapes, nesting, numbers of things.

write_all(folder) writes one file for each entry of BOMBS and returns their paths; `bombs.py FOLDER` does it from the
command line. The files are not checked by the onnx package: many are wrong on purpose. None is larger than 8 MB.
"""
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
BIG = 1 << 62
node = helper.make_node


def value(name, kind=F, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def const(name, array, dtype=np.int64):
    return numpy_helper.from_array(np.array(array, dtype), name)


def model(nodes, constants=(), inputs=None, outputs=("y",), opset=18, functions=(), domains=()):
    inputs = [value("x", F, [1, 4])] if inputs is None else inputs
    graph = helper.make_graph(nodes, "bomb", inputs, [value(o) for o in outputs], list(constants))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(functions))


def function(name, nodes, inputs=("a",), outputs=("z",), domain="d"):
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(domain, 1)]
    return helper.make_function(domain, name, list(inputs), list(outputs), nodes, opsets)


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


def chain(op, n, x="x", y="y", **attrs):
    names = [x] + [f"t{k}" for k in range(n - 1)] + [y]
    return [node(op, [names[k]], [names[k + 1]], **attrs) for k in range(n)]


# ---- names


def long_name():
    return model([node("Relu", ["x"], ["y"], name="n" * (4 << 20))])


def long_value_name():
    return model([node("Relu", ["x"], ["v" * (2 << 20)]), node("Relu", ["v" * (2 << 20)], ["y"])])


def long_function_name():
    """A function of 2,000 nodes, called 50 times by a node with a name of 1 MB."""
    called = function("G", chain("Relu", 2000, "a", "z"))
    nodes = [node("G", [f"t{k - 1}" if k else "x"], [f"t{k}" if k < 49 else "y"], domain="d", name="n" * (1 << 20) if k == 0 else f"c{k}")
             for k in range(50)]
    return model(nodes, functions=[called], domains=["d"])


def names_of_calls():
    """Each call prefixes the names of what it calls, 30 deep, with names of 2,000 bytes."""
    functions = [function("f0", chain("Relu", 50, "a", "z"))]
    for k in range(1, 30):
        functions.append(function(f"f{k}", [node(f"f{k - 1}", ["a"], ["b"], domain="d", name="p" * 2000),
                                            node(f"f{k - 1}" if k % 5 == 0 else "Relu", ["b"], ["z"], domain="d" if k % 5 == 0 else "",
                                                 name="q" * 2000)]))
    return model([node("f29", ["x"], ["y"], domain="d")], functions=functions, domains=["d"])


def names_to_be_fresh():
    """Thousands of transposes to move, each of which asks for a name that is taken."""
    constants = [const(f"c{k}", np.ones((4, 1)), np.float32) for k in range(3000)]
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0])]
    for k in range(3000):
        nodes.append(node("Add", [f"s{k - 1}" if k else "t", f"c{k}"], [f"s{k}"], name="same"))
    nodes.append(node("Transpose", ["s2999"], ["y"], perm=[1, 0]))
    return model(nodes, constants)


def many_domains():
    return model([node("Relu", ["x"], ["y"])], domains=[f"d{k}" for k in range(50000)])


# ---- functions


def doubling_functions():
    functions = [function("f0", [node("Relu", ["a"], ["z"])])]
    for k in range(1, 30):
        functions.append(function(f"f{k}", [node(f"f{k - 1}", ["a"], ["b"], domain="d"), node(f"f{k - 1}", ["b"], ["z"], domain="d")]))
    return model([node("f29", ["x"], ["y"], domain="d")], functions=functions, domains=["d"])


def cycle_of_functions():
    functions = [function(f"f{k}", [node(f"f{(k + 1) % 3}", ["a"], ["z"], domain="d")]) for k in range(3)]
    return model([node("f0", ["x"], ["y"], domain="d")], functions=functions, domains=["d"])


def function_calls_itself():
    called = function("f", [node("f", ["a"], ["b"], domain="d"), node("f", ["b"], ["z"], domain="d")])
    return model([node("f", ["x"], ["y"], domain="d")], functions=[called], domains=["d"])


def many_functions():
    functions = [function(f"f{k}", [node("Relu", ["a"], ["z"])]) for k in range(20000)]
    nodes = [node(f"f{k}", [f"t{k - 1}" if k else "x"], [f"t{k}" if k < 19999 else "y"], domain="d") for k in range(20000)]
    return model(nodes, functions=functions, domains=["d"])


def function_of_many_inputs():
    names = [f"a{k}" for k in range(20000)]
    called = function("f", [node("Relu", [names[0]], ["z"])], inputs=names)
    return model([node("f", ["x"] * 20000, [f"t{k}" if k < 19 else "y"], domain="d") for k in range(20)], functions=[called], domains=["d"])


# ---- folding


def constants_of_shape():
    """60 constants of 2^27 floats, and their sums."""
    nodes = [node("ConstantOfShape", ["n"], [f"c{k}"]) for k in range(60)]
    nodes += [node("Add", [f"s{k - 1}" if k else "x1", f"c{k}"], [f"s{k}" if k < 59 else "y"]) for k in range(60)]
    return model(nodes, [const("n", [1 << 27])], [value("x1", F, [1])])


def expanded_constant():
    nodes = [node("Expand", ["one", "n"], ["c"]), node("Neg", ["c"], ["d"]), node("ReduceSum", ["d"], ["s"]), node("Add", ["x", "s"], ["y"])]
    return model(nodes, [const("one", [1], np.float32), const("n", [1 << 14, 1 << 13])])


def tiled_constant():
    nodes = [node("Tile", ["one", "n"], ["c"]), node("Tile", ["c", "n"], ["d"]), node("Add", ["x", "d"], ["y"])]
    return model(nodes, [const("one", [1], np.float32), const("n", [1 << 13])])


def doubling_concat():
    nodes = [node("Concat", [f"t{k}"] * 2, [f"t{k + 1}"], axis=0) for k in range(40)]
    return model(nodes + [node("Gather", ["t40", "zero"], ["g"]), node("Add", ["x", "g"], ["y"])],
                 [const("t0", [1, 2], np.float32), const("zero", 0)])


def doubling_shapes():
    nodes = [node("Concat", [f"t{k}"] * 2, [f"t{k + 1}"], axis=1) for k in range(60)]
    return model(nodes + [node("Relu", ["t60"], ["y"])], inputs=[value("t0", F, [1, 4])])


def folded_matmuls():
    """Products of constants: no bytes, but work."""
    nodes = [node("MatMul", ["a", "b"] if k == 0 else [f"t{k - 1}", "b"], [f"t{k}"]) for k in range(200)]
    return model(nodes + [node("MatMul", ["x", "t199"], ["y"])], [const("a", np.ones((4, 512)), np.float32), const("b", np.eye(512), np.float32)])


def folded_conv():
    nodes = [node("ConstantOfShape", ["n"], ["a"]), node("ConstantOfShape", ["m"], ["w"]),
             node("Conv", ["a", "w"], ["c"], pads=[3, 3, 3, 3]), node("ReduceMean", ["c"], ["d"]), node("Add", ["x", "d"], ["y"])]
    return model(nodes, [const("n", [1, 16, 512, 512]), const("m", [16, 16, 7, 7])], opset=13)


def range_of_numbers():
    nodes = [node("Range", ["zero", "n", "one"], ["r"]), node("Mul", ["r", "r"], ["s"]), node("ReduceSum", ["s"], ["u"]),
             node("Cast", ["u"], ["v"], to=F), node("Add", ["x", "v"], ["y"])]
    return model(nodes, [const("zero", 0), const("n", (1 << 28) - 1), const("one", 1)])


def non_zero_of_constant():
    nodes = [node("ConstantOfShape", ["n"], ["c"], value=const("v", [1])), node("NonZero", ["c"], ["i"]), node("Shape", ["i"], ["s"]),
             node("Cast", ["s"], ["f"], to=F), node("ReduceSum", ["f"], ["g"]), node("Add", ["x", "g"], ["y"])]
    return model(nodes, [const("n", [1 << 12, 1 << 12])])


def non_zero_of_input():
    nodes = [node("NonZero", ["x"], ["i"]), node("NonZero", ["i"], ["j"]), node("NonZero", ["j"], ["y"])]
    return model(nodes, inputs=[value("x", F, [1 << 15, 1 << 15])])


def one_hot_depth():
    return model([node("OneHot", ["i", "depth", "v"], ["y"])], [const("depth", 1 << 40), const("v", [0, 1], np.float32)], [value("i", I, [4])])


def one_hot_of_constant():
    return model([node("OneHot", ["i", "depth", "v"], ["o"]), node("ReduceSum", ["o"], ["s"]), node("Add", ["x", "s"], ["y"])],
                 [const("i", [1, 2, 3]), const("depth", 1 << 27), const("v", [0, 1], np.float32)])


def eye_like():
    return model([node("ConstantOfShape", ["n"], ["c"]), node("EyeLike", ["c"], ["e"]), node("MatMul", ["e", "e"], ["f"]),
                  node("ReduceSum", ["f"], ["s"]), node("Add", ["x", "s"], ["y"])], [const("n", [6000, 6000])])


def trilu():
    return model([node("ConstantOfShape", ["n"], ["c"]), node("Trilu", ["c"], ["e"]), node("CumSum", ["e", "one"], ["f"]),
                  node("ReduceSum", ["f"], ["s"]), node("Add", ["x", "s"], ["y"])], [const("n", [9000, 9000]), const("one", 1)])


# ---- tables


def many_dfts():
    """40 transforms of a constant of 4,096 numbers."""
    nodes = [node("DFT", [f"t{k}" if k else "c", "n"], [f"t{k + 1}"], axis=1) for k in range(40)]
    return model(nodes + [node("ReduceSum", ["t40"], ["s"]), node("Add", ["x", "s"], ["y"])],
                 [const("c", np.ones((1, 4096, 1)), np.float32), const("n", 4096)])


def dft_of_length():
    return model([node("DFT", ["z", "n"], ["y"], axis=1)], [const("n", 1 << 40)], [value("z", F, [1, 16, 1])])


def dft_tables():
    nodes = [node("DFT", ["z", "n"], [f"t{k}"], axis=1) for k in range(30)]
    return model(nodes + [node("Sum", [f"t{k}" for k in range(30)], ["y"])], [const("n", 1 << 20)], [value("z", F, [1, 16, 1])])


def windows():
    nodes = [node("HannWindow", ["n"], [f"t{k}"]) for k in range(40)]
    return model(nodes + [node("Sum", [f"t{k}" for k in range(40)], ["s"]), node("ReduceSum", ["s"], ["u"]), node("Add", ["x", "u"], ["y"])],
                 [const("n", (1 << 24) - 1)])


def mel_weights():
    constants = [const("bins", 16000), const("dft", 1 << 20), const("rate", 16000), const("low", 0, np.float32), const("high", 8000, np.float32)]
    return model([node("MelWeightMatrix", ["bins", "dft", "rate", "low", "high"], ["m"]), node("ReduceSum", ["m"], ["s"]),
                  node("Add", ["x", "s"], ["y"])], constants)


def mel_weights_many():
    constants = [const("bins", 4000), const("dft", 8000), const("rate", 16000), const("low", 0, np.float32), const("high", 8000, np.float32)]
    nodes = [node("MelWeightMatrix", ["bins", "dft", "rate", "low", "high"], [f"m{k}"], name=f"m{k}") for k in range(50)]
    return model(nodes + [node("Sum", [f"m{k}" for k in range(50)], ["s"]), node("ReduceSum", ["s"], ["u"]), node("Add", ["x", "u"], ["y"])],
                 constants)


def resize_to_huge():
    return model([node("Resize", ["x", "", "", "n"], ["y"], mode="cubic")], [const("n", [1, 1, 1 << 20, 1 << 20])], [value("x", F, [1, 1, 4, 4])])


def resized_constant():
    nodes = [node("Resize", ["c", "", "", "n"], ["r"], mode="linear"), node("ReduceSum", ["r"], ["s"]), node("Add", ["x", "s"], ["y"])]
    return model(nodes, [const("c", np.ones((1, 1, 4, 4)), np.float32), const("n", [1, 1, 8192, 8192])])


def affine_grid():
    return model([node("AffineGrid", ["t", "n"], ["y"])], [const("n", [1, 1, 32000, 32000])], [value("t", F, [1, 2, 3])], opset=20)


# ---- shapes and numbers


def huge_dimensions():
    return model([node("Relu", ["x"], ["y"])], inputs=[value("x", F, [BIG, 4])])


def product_overflows():
    return model([node("Relu", ["x"], ["y"])], inputs=[value("x", F, [1 << 32, 1 << 32, 4])])


def negative_dimensions():
    return model([node("Relu", ["x"], ["y"])], inputs=[value("x", F, [-BIG, -1, 4])])


def negative_weight():
    tensor = const("w", [1, 2, 3, 4], np.float32)
    del tensor.dims[:]
    tensor.dims.extend([-4, -1])
    return model([node("Add", ["x", "w"], ["y"])], [tensor])


def weight_without_data():
    tensor = const("w", [1], np.float32)
    del tensor.dims[:]
    tensor.dims.extend([1 << 31, 1 << 30])
    return model([node("Add", ["x", "w"], ["y"])], [tensor])


def huge_pads():
    return model([node("Pad", ["x", "p"], ["y"])], [const("p", [BIG, BIG, BIG, BIG])])


def padded_constant():
    return model([node("Pad", ["c", "p"], ["d"]), node("ReduceSum", ["d"], ["s"]), node("Add", ["x", "s"], ["y"])],
                 [const("c", [[1]], np.float32), const("p", [0, 0, 20000, 20000])])


def conv_attributes():
    return model([node("Conv", ["x", "w"], ["y"], dilations=[BIG, BIG], strides=[BIG, 1], pads=[BIG, 0, BIG, 0])],
                 [const("w", np.ones((1, 1, 3, 3)), np.float32)], [value("x", F, [1, 1, 8, 8])])


def pool_window():
    return model([node("AveragePool", ["x"], ["y"], kernel_shape=[1 << 40, 1 << 40], pads=[1 << 40] * 4)], inputs=[value("x", F, [1, 1, 8, 8])])


def reshape_to_huge():
    return model([node("Reshape", ["x", "n"], ["y"])], [const("n", [BIG, 4, 0, -1])])


def slices():
    return model([node("Slice", ["x", "from", "to", "axes", "by"], ["y"])],
                 [const("from", [-BIG]), const("to", [BIG]), const("axes", [1]), const("by", [BIG])])


def split_in_many():
    return model([node("Split", ["x"], ["y"] + [f"o{k}" for k in range(60000)], axis=1, num_outputs=60001)], inputs=[value("x", F, [1, 60001])])


def gathered_constant():
    nodes = [node("Gather", ["c", "i"], ["d"]), node("Gather", ["d", "i"], ["e"], axis=1), node("ReduceSum", ["e"], ["s"]), node("Add", ["x", "s"], ["y"])]
    return model(nodes, [const("c", np.ones((1, 1)), np.float32), const("i", [0] * 20000)])


def einsum_of_a_megabyte():
    return model([node("Einsum", ["x", "x"], ["y"], equation="ij," * 350000 + "jk->ik")])


def einsum_of_letters():
    letters = "abcdefghijklmnopqrstuvwxyz"
    return model([node("Einsum", ["x"] * 13, ["y"], equation=",".join(letters[2 * k:2 * k + 2] for k in range(13)) + "->" + letters)],
                 inputs=[value("x", F, [64, 64])])


def cross_product():
    nodes = [node("Unsqueeze", ["x", "one"], ["a"]), node("Unsqueeze", ["x", "zero"], ["b"]), node("Mul", ["a", "b"], ["c"]),
             node("ReduceSum", ["c"], ["y"])]
    return model(nodes, [const("one", [1]), const("zero", [0])], [value("x", F, [1 << 17])])


# ---- nesting and control flow


def deep_ifs():
    inner = body([node("Relu", ["x"], ["r"])], [], [value("r")])
    for k in range(20):
        inner = body([node("If", ["c"], [f"o{k}"], then_branch=inner, else_branch=body([node("Neg", ["x"], ["n"])], [], [value("n")]))], [], [value(f"o{k}")])
    return model([node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], inputs=[value("c", B, []), value("x", F, [1, 4])])


def doubling_ifs():
    inner = body([node("MatMul", ["x", "w"], ["r"])], [], [value("r")])
    for k in range(14):
        inner = body([node("If", [f"c{k}"], [f"o{k}"], then_branch=inner, else_branch=inner)], [], [value(f"o{k}")])
    conditions = [value(f"c{k}", B, []) for k in range(15)]
    return model([node("If", ["c14"], ["y"], then_branch=inner, else_branch=inner)], [const("w", np.ones((4, 4)), np.float32)],
                 conditions + [value("x", F, [1, 4])])


def deep_messages():
    """Graphs in attributes, nested deeper than any reader's stack."""
    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    deep = b""
    for _ in range(20000):
        deep = b"\x0a" + varint(len(deep) + 2) + b"\x32" + varint(len(deep)) + deep if len(deep) < 120 else deep
        deep = b"\x2a" + varint(len(deep)) + deep
        if len(deep) > 60000:
            break
    return b"\x42\x02\x10\x12" + b"\x3a" + varint(len(deep) + 1 + len(varint(len(deep)))) + b"\x0a" + varint(len(deep)) + deep


def nested_loops():
    """4,096 times 4,096 iterations, unrolled."""
    i, go, v = value("i", I, []), value("go", B, []), value("v", F, [1, 4])
    inner = body([node("Relu", ["v"], ["w"]), node("Identity", ["go"], ["on"])], [i, go, v], [value("on", B), value("w")])
    turn = body([node("Loop", ["n", "", "v"], ["w"], body=inner), node("Identity", ["go"], ["on"])], [i, go, v], [value("on", B), value("w")])
    return model([node("Loop", ["n", "", "x"], ["y"], body=turn)], [const("n", 4096)])


def loop_of_many():
    i, go, v = value("i", I, []), value("go", B, []), value("v", F, [1, 4])
    turn = body(chain("Relu", 200, "v", "w") + [node("Identity", ["go"], ["on"])], [i, go, v], [value("on", B), value("w")])
    return model([node("Loop", ["n", "", "x"], ["y"], body=turn)], [const("n", 4000)])


def loop_for_ever():
    i, go, v = value("i", I, []), value("go", B, []), value("v", F, [1, 4])
    turn = body([node("Concat", ["v", "v"], ["w"], axis=1), node("Identity", ["go"], ["on"])], [i, go, v], [value("on", B), value("w")])
    return model([node("Loop", ["n", "", "x"], ["y"], body=turn)], [const("n", (1 << 63) - 1)])


def doubling_loop():
    i, go, v = value("i", I, []), value("go", B, []), value("v", F, [1, 4])
    turn = body([node("Concat", ["v", "v"], ["w"], axis=1), node("Identity", ["go"], ["on"])], [i, go, v], [value("on", B), value("w")])
    return model([node("Loop", ["n", "", "x"], ["y"], body=turn)], [const("n", 62)])


def scan_outputs():
    i, go, v = value("i", I, []), value("go", B, []), value("v", F, [1, 4])
    turn = body([node("Relu", ["v"], ["w"]), node("Identity", ["go"], ["on"]), node("Expand", ["v", "m"], ["s"])], [i, go, v],
                [value("on", B), value("w"), value("s")])
    return model([node("Loop", ["n", "", "x"], ["w", "y"], body=turn)], [const("n", 4000), const("m", [1 << 20, 4])])


def long_scan():
    turn = body([node("Add", ["s", "e"], ["t"]), node("Identity", ["t"], ["o"])], [value("s", F, [4]), value("e", F, [4])], [value("t"), value("o")])
    return model([node("Scan", ["s0", "c"], ["y", "z"], body=turn, num_scan_inputs=1)], outputs=("y", "z"),
                 inputs=[value("s0", F, [4]), value("c", F, [100000, 4])])


def long_lstm():
    constants = [const("w", np.ones((2, 16, 4)), np.float32), const("r", np.ones((2, 16, 4)), np.float32)]
    return model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4, direction="bidirectional")], constants, [value("x", F, [4000, 1, 4])], opset=14)


def sequence_of_many():
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0), node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    return model(nodes, inputs=[value("x", F, [100000, 4])])


def unique_of_input():
    return model([node("Unique", ["x"], ["y", "i", "j", "k"]), node("Unique", ["y"], ["z"])], inputs=[value("x", F, [1 << 20])], outputs=("z",))


# ---- many things


def many_nodes_on_one_value():
    nodes = [node("Sigmoid" if k % 2 else "Tanh", ["x"], [f"t{k}"]) for k in range(20000)]
    return model(nodes + [node("Sum", [f"t{k}" for k in range(20000)], ["y"])])


def many_outputs():
    names = [f"y{k}" for k in range(10000)]
    return model([node("Relu", ["x"], [name]) for name in names], outputs=names)


def many_inputs():
    names = [f"x{k}" for k in range(10000)]
    return model([node("Relu", [names[0]], ["y"])], inputs=[value(n, F, [1, 4]) for n in names])


def same_c_names():
    """Names of inputs that are one name in C."""
    names = ["é" * (k % 7 + 1) + "*" * (k // 7) for k in range(700)]
    return model([node("Relu", [names[0]], ["y"])], inputs=[value(n, F, [1, 4]) for n in names])


def many_attributes():
    made = node("Relu", ["x"], ["y"])
    made.attribute.extend(helper.make_attribute(f"a{k}", k) for k in range(60000))
    return model([made])


def many_unknown_operators():
    return model([node(f"Unknown{k}", ["x"], [f"t{k}" if k < 29999 else "y"]) for k in range(30000)])


def many_initialisers():
    return model([node("Relu", ["x"], ["y"])], [const(f"c{k}", 1) for k in range(60000)])


def many_captures():
    names = [f"x{k}" for k in range(3000)]
    branch = body([node("Sum", names, ["s"])], [], [value("s")])
    other = body([node("Max", names, ["m"])], [], [value("m")])
    return model([node("If", ["c"], ["y"], then_branch=branch, else_branch=other)], inputs=[value("c", B, [])] + [value(n, F, [1, 4]) for n in names])


def empty_nodes():
    """Two bytes a node in the file, a hundred in memory."""
    return b"\x42\x02\x10\x12" + b"\x3a\x80\x89\x7a" + b"\x0a\x00" * 1000000


def empty_tensors():
    return b"\x42\x02\x10\x12" + b"\x3a\x80\x89\x7a" + b"\x2a\x00" * 1000000


def empty_list_elements():
    """A weight whose list is not packed: two bytes an element."""
    def varint(n):
        return bytes([n & 127 | 128, n >> 7 & 127 | 128, n >> 14 & 127 | 128, n >> 21])

    tensor = b"\x08\x80\x89\x7a\x10\x06" + b"\x28\x01" * 2000000 + b"\x42\x01w"
    graph = b"\x2a" + varint(len(tensor)) + tensor
    return b"\x42\x02\x10\x12" + b"\x3a" + varint(len(graph)) + graph


BOMBS = [entry for name, entry in list(globals().items())
         if callable(entry) and getattr(entry, "__module__", None) == __name__ and name not in
         ("value", "const", "model", "function", "body", "chain", "write_all")]


# Texts of graphs: files end in .graph.
TEXTS = {
    "splat": 'graph "bomb" {\n  input %x f32[2,4]\n  const $w f32[31111114,8] = splat 0.5\n'
             '  %y f32[2,4] = "Relu"(%x)\n  output %y\n}\n',
    "many_splats": 'graph "bomb" {\n  input %x f32[2,4]\n' +
                   "".join(f"  const $w{k} f32[262144] = splat 0.{k}\n" for k in range(1000)) +
                   '  %y f32[2,4] = "Relu"(%x)\n  output %y\n}\n',
    "long_dimensions": 'graph "bomb" {\n  input %x f32[' + ",".join(["9" * 30] * 10000) + "]\n}\n",
    "deep_brackets": 'graph "bomb" {\n  const $w i64[2] = ' + "[" * 200000,
}


def write_all(folder):
    paths = []
    for bomb in BOMBS:
        made = bomb()
        path = os.path.join(folder, bomb.__name__ + ".onnx")
        with open(path, "wb") as file:
            file.write(made if isinstance(made, bytes) else made.SerializeToString())
        paths.append(path)
    for name, text in TEXTS.items():
        paths.append(os.path.join(folder, name + ".graph"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    return paths


if __name__ == "__main__":
    print(len(write_all(sys.argv[1])), "files")
