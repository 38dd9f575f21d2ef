"""Concat, Split and Slice between kernels, against ONNX Runtime: untuned and random schedules, one and two threads; how many steps are
left that copy. SEER_TEST: timeout=600"""
import json
import os
import tempfile

import numpy as np
import onnx
from onnx import helper

from control import F, Graph, check, fs
from peer import FULL, familyseer, reference, run_tests, schedules

rng = np.random.default_rng(5)
HOW = tuple(zip(schedules(), (2, 1) * 3))


def weight(g, *shape):
    return g.const(rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])), np.float32)


def conv(g, x, n_in, n_out, kernel=1, group=1, act=None, stride=1):
    y = g.op("Conv", x, weight(g, n_out, n_in // group, kernel, kernel), pads=[kernel // 2] * 4, group=group, strides=[stride] * 2)
    return g.op(act, y) if act else y


def concat(g, *parts, axis=1):
    return g.op("Concat", *parts, axis=axis)


def n_copies(model, *flags):
    """Steps of kind copy."""
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        out = os.path.join(tmp, "out")
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", out, "-O1", *flags)
        with open(os.path.join(out, "model.json")) as file:
            steps = json.load(file)["steps"]
    return sum(s["kind"] == "copy" for s in steps)


def expect(model, copies, shape=(1, 8, 9, 7), n=2):
    many = [{"x": rng.standard_normal(shape).astype(np.float32)} for _ in range(n)]
    check(model, many, rtol=1e-4, atol=1e-5, how=HOW)
    found = n_copies(model)
    assert found == copies, f"{found} steps copy, should be {copies}"


def dense(is_list):
    """DenseNet's block; `is_list`: each layer joins all earlier ones anew, as exporters write it."""
    g = Graph()
    x = conv(g, g.input("x", F, [1, 8, 9, 7]), 8, 16, 3, act="Relu")
    made, width, last = [x], 16, x
    for _ in range(4):
        y = conv(g, conv(g, g.op("Relu", last), width, 24, act="Relu"), 24, 8, 3)
        made.append(y)
        last = concat(g, *(made if is_list else [last, y]))
        width += 8
    return g.model((conv(g, last, width, 5), F))


def fire_and_pool():
    g = Graph()
    x = conv(g, g.input("x", F, [1, 8, 9, 7]), 8, 16, act="Relu")
    for _ in range(2):
        x = concat(g, conv(g, x, 16, 8, act="Relu"), conv(g, x, 16, 4, 3, act="Relu"),
                   g.op("MaxPool", conv(g, x, 16, 4), kernel_shape=[3, 3], pads=[1] * 4))
    return g.model((conv(g, x, 16, 3), F))


def c2f():
    """YOLO's block: halves, pairs with residual additions, all joined."""
    g = Graph()
    x = conv(g, g.input("x", F, [1, 8, 9, 7]), 8, 16, act="Sigmoid")
    a, b = g.op("Split", x, g.const([8, 8]), outs=2, axis=1)
    kept = [a, b]
    for _ in range(2):
        y = conv(g, conv(g, kept[-1], 8, 8, 3, act="Sigmoid"), 8, 8, 3, act="Sigmoid")
        kept.append(g.op("Add", kept[-1], y))
    return g.model((conv(g, concat(g, *kept), 32, 6), F))


def shuffle_net():
    """ShuffleNetV2's units: a half goes on as it is, so that it alone is copied; then channels take turns."""
    g = Graph()
    x = conv(g, g.input("x", F, [1, 8, 9, 7]), 8, 16, 3, act="Relu")
    for _ in range(3):
        a, b = g.op("Split", x, g.const([8, 8]), outs=2, axis=1)
        b = conv(g, conv(g, conv(g, b, 8, 8, act="Relu"), 8, 8, 3, group=8), 8, 8, act="Relu")
        x = g.op("Reshape", concat(g, a, b), g.const([1, 2, 8, 9, 7]))
        x = g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3, 4]), g.const([1, 16, 9, 7]))
    return g.model((conv(g, x, 16, 4), F))


def odd_uses():
    """A part that is an output, one twice, the input, a Split's parts in another order, and rows cut out of a part."""
    g = Graph()
    x = g.input("x", F, [1, 8, 9, 7])
    a, b = conv(g, x, 8, 8, act="Relu"), conv(g, x, 8, 8, 3, act="Tanh")
    twice = concat(g, a, b, b, x)
    p, q, r = g.op("Split", conv(g, twice, 32, 24), g.const([8, 12, 4]), outs=3, axis=1)
    turned = conv(g, concat(g, r, p, q), 24, 8)
    rows = g.op("Slice", turned, g.const([2]), g.const([7]), g.const([2]), g.const([1]))
    y = g.op("Add", conv(g, rows, 8, 8), g.op("Relu", rows))
    tall = conv(g, concat(g, y, conv(g, rows, 8, 8), axis=2), 8, 4)
    return g.model((tall, F), (b, F), (concat(g, conv(g, y, 8, 4), conv(g, rows, 8, 4)), F))


def shapes():
    """Several sets of shapes: one has images behind each other, one has not."""
    g = Graph()
    x = conv(g, g.input("x", F, ["n", 8, "h", 7]), 8, 8, act="Relu")
    x = concat(g, conv(g, x, 8, 8), x, conv(g, x, 8, 4, 3))
    model = g.model((conv(g, g.op("Concat", x, g.op("Relu", x), axis=2), 20, 4), F))
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        sets = ((1, 8, 9, 7), (2, 8, 5, 7))
        flags = [f for s in sets for f in ("--input-shapes", "x:" + "x".join(map(str, s)))]
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1", *flags)
        ours = fs.Model(os.path.join(tmp, "out"), threads=2)
        for shape in sets + sets:
            feeds = {"x": rng.standard_normal(shape).astype(np.float32)}
            want, got = reference(model, feeds), ours.run(feeds)
            for name, y in want.items():
                np.testing.assert_allclose(got[name], y, rtol=1e-4, atol=1e-5, err_msg=f"{name} {shape}")


def sized():
    """As many rows as the input has positive elements, in two products that are joined."""
    g = Graph()
    x = g.input("x", F, [12])
    found = g.op("Squeeze", g.op("NonZero", g.op("Relu", x)), g.const([0]))
    rows = g.op("Gather", weight(g, 12, 6), found, axis=0)
    both = concat(g, g.op("Tanh", g.op("MatMul", rows, weight(g, 6, 8))), g.op("MatMul", rows, weight(g, 6, 4)))
    return g.model((g.op("MatMul", both, weight(g, 12, 3)), F))


def in_a_loop_and_a_branch():
    """A loop that is not unrolled, whose body joins what it makes with what stands before the loop; and a side that does."""
    from onnx import TensorProto
    g = Graph()
    x = g.input("x", F, [1, 8, 5, 3])
    trips = g.op("Cast", g.op("Abs", g.op("ReduceSum", g.op("Sign", g.op("ReduceMax", x, axes=[1, 2, 3], keepdims=0)), keepdims=0)),
                 to=TensorProto.INT64)
    trips = g.op("Add", trips, g.const(2))
    before = conv(g, x, 8, 8, act="Relu")
    b = Graph(first=1000)
    carried = helper.make_tensor_value_info("state", F, [1, 8, 5, 3])
    number = helper.make_tensor_value_info("number", TensorProto.INT64, [])
    go = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    y = conv(b, concat(b, conv(b, "state", 8, 8, 3, act="Tanh"), before), 16, 8, act="Tanh")
    again = b.op("Identity", "go")
    outs = [helper.make_tensor_value_info(again, TensorProto.BOOL, []), helper.make_tensor_value_info(y, F, [1, 8, 5, 3])]
    body = helper.make_graph(b.nodes, "body", [number, go, carried], outs, b.constants)
    last = g.op("Loop", trips, g.const(True, bool), x, body=body)
    condition = g.op("Greater", g.op("ReduceMean", x, keepdims=0), g.const(0, np.float32))
    sides = []
    for k in range(2):
        s = Graph(first=2000 + 1000 * k)
        parts = (conv(s, last, 8, 8, act="Relu"), before) if k == 0 else (before, conv(s, before, 8, 8))
        made = conv(s, concat(s, *parts), 16, 8)
        sides.append(helper.make_graph(s.nodes, f"side{k}", [], [helper.make_tensor_value_info(made, F, None)], s.constants))
    z = g.op("If", condition, then_branch=sides[0], else_branch=sides[1])
    model = g.model((conv(g, concat(g, z, last), 16, 4), F))
    many = [{"x": (sign * np.abs(rng.standard_normal((1, 8, 5, 3)))).astype(np.float32)} for sign in (1, -1)]
    check(model, many, rtol=1e-4, atol=1e-5, how=HOW)


run_tests([
    ("a dense block", lambda: expect(dense(False), 0)),
    ("a dense block of lists", lambda: expect(dense(True), 0)),
    ("fire modules", lambda: expect(fire_and_pool(), 0)),
    ("halves, pairs and all", lambda: expect(c2f(), 0)),
    ("shuffled halves", lambda: expect(shuffle_net(), 6)),
    ("odd uses", lambda: expect(odd_uses(), 2)),
    ("several sets of shapes", shapes),
    ("sizes that data decides", lambda: check(sized(), [{"x": rng.standard_normal(12).astype(np.float32)} for _ in range(3)],
                                              rtol=1e-4, atol=1e-5, how=HOW)),
    ("in a loop and in a branch", in_a_loop_and_a_branch),
])
