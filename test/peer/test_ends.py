"""Reductions of integers at all lengths from 1 to 40, with data at the ends of their types, against numpy, to the bit.
Weights that a product and a slice of constant bounds read alike, against ONNX Runtime. SEER_TEST: timeout=300"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from peer import check_model, familyseer, run_ours, run_tests

TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
N_ROWS = 4
JUDGES = {
    "ReduceMax": lambda x: x.max(1),
    "ReduceMin": lambda x: x.min(1),
    "ReduceSum": lambda x: x.sum(1, dtype=x.dtype),
    "ReduceProd": lambda x: x.prod(1, dtype=x.dtype),
    "ArgMax": lambda x: x.argmax(1),
    "ArgMin": lambda x: x.argmin(1),
}


def numbers(rng, dtype, length):
    """Rows: all the highest, all the lowest, either of them or a step from it, anything."""
    ends = np.iinfo(dtype)
    x = np.empty((N_ROWS, length), dtype)
    x[0], x[1] = ends.max, ends.min
    x[2] = rng.choice(np.array([ends.min, ends.min + 1, ends.max - 1, ends.max], dtype), length)
    x[3] = rng.integers(ends.min, ends.max, length, dtype, endpoint=True)
    return x


def reductions(dtype, lengths):
    rng = np.random.default_rng(np.dtype(dtype).num)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, inputs, outputs, feeds, want = [], [], [], {}, {}
    for n in lengths:
        feeds[f"x{n}"] = numbers(rng, dtype, n)
        inputs.append(helper.make_tensor_value_info(f"x{n}", kind, [N_ROWS, n]))
        for op, judge in JUDGES.items():
            name = f"{op}{n}"
            is_arg = op.startswith("Arg")
            where = {"axis": 1} if is_arg else {}
            operands = [f"x{n}"] if is_arg else [f"x{n}", "axis"]
            nodes.append(helper.make_node(op, operands, [name], keepdims=0, **where))
            outputs.append(helper.make_tensor_value_info(name, T.INT64 if is_arg else kind, [N_ROWS]))
            want[name] = judge(feeds[f"x{n}"])
    graph = helper.make_graph(nodes, "ends", inputs, outputs, [numpy_helper.from_array(np.array([1], np.int64), "axis")])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
        for level in ("-O0", "-O1"):
            at = os.path.join(folder, "out" + level)
            familyseer("compile", path, "-o", at, level)
            out = os.path.join(folder, "run" + level)
            os.mkdir(out)
            got = run_ours(at, feeds, out, 2)
            for name, value in want.items():
                np.testing.assert_array_equal(got[name], value, f"{np.dtype(dtype).name} {name} {level}")
    print(f"{np.dtype(dtype).name}: {len(want)} reductions at two levels", flush=True)


def shared_weight(label, nodes, more=(), x=(5, 200), outputs=(("y", [5, 300]),)):
    rng = np.random.default_rng(len(label))
    ints = {"first": [1], "second": [2], "low": [7], "high": [150], "rows": [0]}
    constants = [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in ints.items()]
    constants.append(numpy_helper.from_array(rng.standard_normal((200, 300)).astype(np.float32), "w"))
    graph = helper.make_graph(
        nodes, "shared", [helper.make_tensor_value_info("x", T.FLOAT, x), *[helper.make_tensor_value_info(n, T.FLOAT, s) for n, s in more]],
        [helper.make_tensor_value_info(n, T.FLOAT, s) for n, s in outputs], constants)
    check_model(label, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), threads=(2,),
                discriminate=False)


node = helper.make_node
ROW = node("Slice", ["w", "first", "second", "rows"], ["s"])
ROWS = node("Slice", ["w", "low", "high", "rows"], ["s"])
PRODUCT = node("MatMul", ["x", "w"], ["p"])
tests = [(f"reductions of {np.dtype(t).name}", lambda t=t: reductions(t, range(1, 41) if t in (np.int64, np.uint64) else range(1, 41, 3)))
         for t in TYPES]
tests += [
    ("added", lambda: shared_weight("a row is added", [PRODUCT, ROW, node("Add", ["p", "s"], ["y"])])),
    ("second product", lambda: shared_weight("rows are a weight", [PRODUCT, ROWS, node("MatMul", ["z", "s"], ["q"]), node("Add", ["p", "q"], ["y"])],
                                             more=[("z", [5, 143])])),
    ("weight of a weight", lambda: shared_weight("a weight times its row", [ROW, node("Mul", ["w", "s"], ["v"]), node("MatMul", ["x", "v"], ["y"])])),
    ("output", lambda: shared_weight("rows are an output", [PRODUCT, ROWS, node("Identity", ["p"], ["y"])],
                                     outputs=(("y", [5, 300]), ("s", [143, 300])))),
]
run_tests(tests)
