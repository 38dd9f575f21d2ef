"""Small networks that libraries written as C are made of: convolutions, a transformer, a quantised network, half
precision, sizes that data decide."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

rng = np.random.default_rng(11)


def model_of(nodes, inputs, outputs, constants):
    graph = helper.make_graph([helper.make_node(op, i, o, **a) for op, i, o, a in nodes], "net",
                              [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def array(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def normal(name, *shape, scale=1.0, dtype=np.float32):
    return array(name, (rng.standard_normal(shape) * scale).astype(dtype))


def transformer():
    """Embedding, one layer of attention and its feed-forward part: 12 tokens, 2 heads of 16."""
    n, d, heads, words = 12, 32, 2, 50
    nodes, constants = [("Gather", ["table", "ids"], ["x0"], {})], [normal("table", words, d)]

    def dense(x, name, m, k):
        constants.extend([normal(f"{name}.w", m, k, scale=m ** -0.5), normal(f"{name}.b", k, scale=0.1)])
        nodes.extend([("MatMul", [x, f"{name}.w"], [f"{name}.m"], {}), ("Add", [f"{name}.m", f"{name}.b"], [name], {})])
        return name

    def split(x, name, perm):
        nodes.extend([("Reshape", [x, "split"], [f"{name}.r"], {}), ("Transpose", [f"{name}.r"], [name], {"perm": perm})])
        return name

    def norm(x, name):
        constants.extend([normal(f"{name}.g", d), normal(f"{name}.o", d)])
        nodes.append(("LayerNormalization", [x, f"{name}.g", f"{name}.o"], [name], {"axis": -1}))
        return name

    constants += [array("split", np.int64([1, n, heads, d // heads])), array("join", np.int64([1, n, d])),
                  array("root", np.float32((d // heads) ** 0.5)), array("half", np.float32(0.5)),
                  array("one", np.float32(1)), array("sqrt2", np.float32(2 ** 0.5))]
    q = split(dense("x0", "q", d, d), "qh", [0, 2, 1, 3])
    k = split(dense("x0", "k", d, d), "kh", [0, 2, 3, 1])
    v = split(dense("x0", "v", d, d), "vh", [0, 2, 1, 3])
    nodes += [("MatMul", [q, k], ["s"], {}), ("Div", ["s", "root"], ["s2"], {}), ("Softmax", ["s2"], ["p"], {"axis": -1}),
              ("MatMul", ["p", v], ["c"], {}), ("Transpose", ["c"], ["ct"], {"perm": [0, 2, 1, 3]}),
              ("Reshape", ["ct", "join"], ["cj"], {})]
    nodes += [("Add", [dense("cj", "o", d, d), "x0"], ["r1"], {})]
    h = dense(norm("r1", "n1"), "f1", d, 4 * d)
    nodes += [("Div", [h, "sqrt2"], ["g1"], {}), ("Erf", ["g1"], ["g2"], {}), ("Add", ["g2", "one"], ["g3"], {}),
              ("Mul", [h, "g3"], ["g4"], {}), ("Mul", ["g4", "half"], ["g5"], {})]
    nodes += [("Add", [dense("g5", "f2", 4 * d, d), "n1"], ["r2"], {})]
    norm("r2", "y")
    return model_of(nodes, [("ids", T.INT64, [1, n])], [("y", T.FLOAT, [1, n, d])], constants)


def convolutions(dtype=np.float32, kind=T.FLOAT):
    """A strided convolution, a depthwise one, a residual, pooling, a classifier."""
    constants = [normal("w1", 16, 3, 3, 3, scale=0.3, dtype=dtype), normal("b1", 16, dtype=dtype),
                 normal("w2", 16, 1, 3, 3, scale=0.4, dtype=dtype), normal("w3", 16, 16, 1, 1, scale=0.3, dtype=dtype),
                 normal("w4", 16, 10, scale=0.3, dtype=dtype)]
    nodes = [("Conv", ["x", "w1", "b1"], ["c1"], {"strides": [2, 2], "pads": [1, 1, 1, 1]}), ("Relu", ["c1"], ["a1"], {}),
             ("Conv", ["a1", "w2"], ["c2"], {"group": 16, "pads": [1, 1, 1, 1]}), ("Sigmoid", ["c2"], ["s2"], {}),
             ("Mul", ["c2", "s2"], ["a2"], {}), ("Conv", ["a2", "w3"], ["c3"], {}), ("Add", ["c3", "a1"], ["a3"], {}),
             ("MaxPool", ["a3"], ["p"], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
             ("GlobalAveragePool", ["p"], ["g"], {}), ("Flatten", ["g"], ["f"], {}), ("MatMul", ["f", "w4"], ["y"], {})]
    return model_of(nodes, [("x", kind, [1, 3, 29, 31])], [("y", kind, [1, 10])], constants)


def quantised():
    """Two layers in u8 and i8, as quantisers write them: QLinearConv, then QDQ around a MatMul."""
    constants = [array("sx", np.float32(0.04)), array("zx", np.uint8(120)), array("sc", np.float32(0.06)),
                 array("zc", np.uint8(110)), array("sw", rng.uniform(0.004, 0.01, 24).astype(np.float32)),
                 array("zw", np.zeros(24, np.int8)), array("w", rng.integers(-127, 128, (24, 3, 3, 3)).astype(np.int8)),
                 array("b", rng.integers(-3000, 3000, 24).astype(np.int32)),
                 array("sm", np.float32(0.008)), array("zm", np.int8(0)),
                 array("wm", rng.integers(-127, 128, (24, 7)).astype(np.int8)), array("sy", np.float32(0.02)),
                 array("zy", np.uint8(128))]
    nodes = [("QuantizeLinear", ["x", "sx", "zx"], ["q"], {}),
             ("QLinearConv", ["q", "sx", "zx", "w", "sw", "zw", "sc", "zc", "b"], ["qc"], {"pads": [1, 1, 1, 1]}),
             ("DequantizeLinear", ["qc", "sc", "zc"], ["c"], {}), ("GlobalAveragePool", ["c"], ["g"], {}),
             ("Flatten", ["g"], ["f"], {}), ("DequantizeLinear", ["wm", "sm", "zm"], ["dm"], {}),
             ("MatMul", ["f", "dm"], ["m"], {}), ("QuantizeLinear", ["m", "sy", "zy"], ["qy"], {}),
             ("DequantizeLinear", ["qy", "sy", "zy"], ["y"], {})]
    return model_of(nodes, [("x", T.FLOAT, [1, 3, 14, 17])], [("y", T.FLOAT, [1, 7])], constants)


def sized():
    """What only a run knows: indices of what is not zero, and what is gathered with them."""
    nodes = [("Relu", ["x"], ["r"], {}), ("NonZero", ["r"], ["i"], {}), ("Transpose", ["i"], ["t"], {"perm": [1, 0]}),
             ("GatherND", ["x", "t"], ["v"], {}), ("Exp", ["v"], ["y"], {})]
    return model_of(nodes, [("x", T.FLOAT, [9, 13])], [("y", T.FLOAT, ["n"])], [])


def integers():
    """Integers of four widths, float64, casts between them, what rounds, saturates, divides, and truths."""
    nodes = [("Cast", ["x"], ["d"], {"to": T.DOUBLE}), ("Sqrt", ["d2"], ["s"], {}), ("Mul", ["d", "d"], ["d2"], {}),
             ("Round", ["x"], ["r"], {}), ("Cast", ["r"], ["i32"], {"to": T.INT32}), ("Cast", ["i32"], ["i8"], {"to": T.INT8}),
             ("Cast", ["i8"], ["u8"], {"to": T.UINT8}), ("Cast", ["i32"], ["i64"], {"to": T.INT64}),
             ("Div", ["i64", "three"], ["q"], {}), ("Mod", ["i64", "three"], ["m"], {}), ("Add", ["q", "m"], ["t"], {}),
             ("Greater", ["s", "half"], ["is"], {}), ("Where", ["is", "t", "i64"], ["y64"], {}),
             ("Floor", ["x"], ["fl"], {}), ("Ceil", ["x"], ["ce"], {}), ("Add", ["fl", "ce"], ["fc"], {}),
             ("Clip", ["fc", "low", "high"], ["y32"], {}), ("Cast", ["u8"], ["yu"], {"to": T.INT32}),
             ("ReduceMax", ["s"], ["ymax"], {"axes": [1]}), ("TopK", ["x", "k"], ["yk", "ik"], {"axis": -1})]
    nodes[1], nodes[2] = nodes[2], nodes[1]
    constants = [array("three", np.int64(3)), array("half", np.float64(2.5)), array("low", np.float32(-7)),
                 array("high", np.float32(9)), array("k", np.int64([5]))]
    outputs = [("y64", T.INT64, [7, 21]), ("y32", T.FLOAT, [7, 21]), ("yu", T.INT32, [7, 21]), ("ymax", T.DOUBLE, [7, 1]),
               ("yk", T.FLOAT, [7, 5]), ("ik", T.INT64, [7, 5])]
    return model_of(nodes, [("x", T.FLOAT, [7, 21])], outputs, constants)


def ordered():
    """What goes along in order, on the host: running sums, the largest of rows, scatters in f32 and f16."""
    nodes = [("CumSum", ["x", "one"], ["c"], {"reverse": 1}), ("TopK", ["c", "k"], ["v", "i"], {"axis": -1}),
             ("ScatterElements", ["x", "i", "v"], ["s"], {"axis": 1}), ("Cast", ["s"], ["h"], {"to": T.FLOAT16}),
             ("ScatterND", ["h", "rows", "u"], ["n"], {}), ("Cast", ["n"], ["w"], {"to": T.FLOAT}),
             ("Concat", ["s", "x"], ["pair"], {"axis": 0}), ("Slice", ["pair", "none", "twelve"], ["p"], {}),
             ("ScatterND", ["w", "rows", "p"], ["y"], {"reduction": "add"})]
    rng = np.random.default_rng(3)
    constants = [array("one", np.int64(1)), array("k", np.int64([17])), array("rows", rng.integers(-9, 9, (12, 1))),
                 array("u", rng.standard_normal((12, 150)).astype(np.float16)), array("none", np.int64([0])), array("twelve", np.int64([12]))]
    return model_of(nodes, [("x", T.FLOAT, [9, 150])], [("s", T.FLOAT, [9, 150]), ("y", T.FLOAT, [9, 150]), ("i", T.INT64, [9, 17])], constants)


# By name: what makes the network, and what check_model is told.
NETS = {"convolutions": (convolutions, {}), "transformer": (transformer, {}),
        "quantised": (quantised, {"atol": 0.021, "discriminate": False, "is_wide": True}),
        "half": (lambda: convolutions(np.float16, T.FLOAT16), {"rtol": 1e-2}),
        "sized": (sized, {"discriminate": False}), "integers": (integers, {"discriminate": False}),
        "ordered": (ordered, {"discriminate": False})}
