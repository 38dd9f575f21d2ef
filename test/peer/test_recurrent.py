"""Long recurrences, Scans and Loops: loops of the plan, against ONNX Runtime. SEER_TEST: timeout=900"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from control import F, I64, Graph, all_commands, check, fs
from peer import familyseer, reference, run_tests

rng = np.random.default_rng(35)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def recurrent(op, steps, batch, size, hidden, direction="forward", layout=0, lengths=False, states=False, bias=True, peephole=False, which=(0, 1, 2), **attrs):
    """Model and inputs of one recurrence."""
    g, n, gates = Graph(14), 2 if direction == "bidirectional" else 1, GATES[op]
    feeds = {"x": normal(*((batch, steps) if layout else (steps, batch)), size)}
    state = (batch, n, hidden) if layout else (n, batch, hidden)
    ins = [g.input("x", F, feeds["x"].shape), g.const(normal(n, gates * hidden, size) / size ** 0.5, np.float32),
           g.const(normal(n, gates * hidden, hidden) / hidden ** 0.5, np.float32), g.const(normal(n, 2 * gates * hidden), np.float32) if bias else ""]
    ins.append("")
    if lengths:
        feeds["lengths"] = rng.integers(1, steps + 1, batch).astype(np.int32)
        ins[4] = g.input("lengths", TensorProto.INT32, [batch])
    for k, name in enumerate(("h", "c") if op == "LSTM" else ("h",)):
        if states:
            feeds[name] = normal(*state)
        ins.append(g.input(name, F, state) if states else "")
    if peephole:
        ins.append(g.const(normal(n, 3 * hidden), np.float32))
    outs = g.op(op, *ins, outs=3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, layout=layout, **attrs)
    return g.model(*[(o, F) for k, o in enumerate(outs) if k in which]), feeds


def agrees(*args, rtol=1e-4, atol=2e-5, **attrs):
    model, feeds = recurrent(*args, **attrs)
    check(model, [feeds], rtol=rtol, atol=atol)


def directions():
    for op in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            agrees(op, 97, 3, 5, 17, direction=direction)


def operands():
    for op in GATES:
        agrees(op, 90, 4, 3, 9, direction="bidirectional", lengths=True, states=True)
        agrees(op, 70, 1, 6, 8, bias=False, states=True, direction="reverse")
        agrees(op, 130, 2, 2, 5, clip=0.4)
        agrees(op, 75, 2, 4, 6, which=(1,))
        agrees(op, 75, 2, 4, 6, which=(0,), direction="bidirectional")
    agrees("GRU", 80, 2, 4, 7, linear_before_reset=1, direction="bidirectional", lengths=True)
    agrees("LSTM", 80, 2, 4, 7, peephole=True)
    agrees("LSTM", 66, 2, 4, 7, activations=["HardSigmoid", "Softsign", "Relu"])
    agrees("RNN", 66, 2, 4, 7, activations=["LeakyRelu"], activation_alpha=[0.2])


def layouts():
    """Batch first: the same numbers as steps first, whose judge is ONNX Runtime."""
    for op in GATES:
        for direction in ("forward", "bidirectional"):
            state = rng.bit_generator.state
            model, feeds = recurrent(op, 70, 3, 4, 6, direction=direction, states=True, lengths=True)
            rng.bit_generator.state = state
            first, own = recurrent(op, 70, 3, 4, 6, direction=direction, states=True, lengths=True, layout=1)
            constants = {i.name: i for i in model.graph.initializer}
            for i in first.graph.initializer:
                i.CopyFrom(constants[i.name])
            turned = {k: v if v.ndim == 1 else v.transpose(1, 0, 2) for k, v in feeds.items()}
            want = reference(model, feeds)
            with tempfile.TemporaryDirectory() as tmp:
                onnx.save(first, os.path.join(tmp, "m.onnx"))
                familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1")
                got = fs.Model(os.path.join(tmp, "out"), threads=1).run(turned)
            for k, (name, x) in enumerate(want.items()):
                np.testing.assert_allclose(got[name], x.transpose(2, 0, 1, 3) if k == 0 else x.transpose(1, 0, 2), rtol=1e-4, atol=2e-5)


def long():
    """Thousands of steps are one step and a loop: the library does not grow with them."""
    sizes = []
    for steps in (1000, 5000):
        model, feeds = recurrent("LSTM", steps, 1, 16, 32)
        check(model, [feeds], rtol=1e-3, atol=1e-4)
        with tempfile.TemporaryDirectory() as tmp:
            onnx.save(model, os.path.join(tmp, "m.onnx"))
            familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O0")
            sizes.append(os.path.getsize(os.path.join(tmp, "out", "model.so")))
    assert abs(sizes[1] - sizes[0]) < 8192, sizes


def stacked():
    """Two layers and what reads them: loops one after another, in one kernel's neighbourhood."""
    g = Graph(14)
    x = g.input("x", F, [100, 2, 4])
    for size, hidden in ((4, 6), (12, 5)):
        w = [g.const(normal(2, 4 * hidden, k) / k ** 0.5, np.float32) for k in (size, hidden)]
        y = g.op("LSTM", x, *w, outs=3, hidden_size=hidden, direction="bidirectional")[0]
        x = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.const([100, 2, 2 * hidden]))
    check(g.model((g.op("ReduceMean", g.op("Relu", x), axes=[0]), F)), [{"x": normal(100, 2, 4)}], rtol=1e-4, atol=1e-5)


# ---- Scan

def scan(steps, opset=17, **attrs):
    """A running sum with decay, of x and of y scanned the other way; rows and a second state."""
    b = Graph()
    b.n = 1000
    state = b.op("Add", b.op("Mul", "s", b.const(0.9, np.float32)), "xs")
    other = b.op("Max", "t", b.op("ReduceSum", b.op("Mul", "ys", state), keepdims=0))
    row = b.op("Tanh", state)
    info = helper.make_tensor_value_info
    body = helper.make_graph(b.nodes, "body", [info("s", F, [3]), info("t", F, []), info("xs", F, [3]), info("ys", F, [3])],
                             [info(v, F, None) for v in (state, other, row, other + "b")], b.constants)
    body.node.append(helper.make_node("Identity", [other], [other + "b"]))
    g = Graph(opset)
    out = g.op("Scan", g.input("s0", F, [3]), g.input("t0", F, []), g.input("x", F, [steps, 3]), g.input("y", F, [3, steps]), outs=4, body=body,
               num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=[0, 1], **attrs)
    return g.model(*[(o, F) for o in out]), {"s0": normal(3), "t0": np.array(-9, np.float32), "x": normal(steps, 3), "y": normal(3, steps)}


def scans():
    for steps in (3, 64, 65, 300, 5000):
        for attrs in ({}, {"scan_output_axes": [1, 0], "scan_output_directions": [1, 0]}, {"scan_output_axes": [-1, 0], "scan_output_directions": [0, 1]}):
            if steps in (3, 65) or attrs:
                model, feeds = scan(steps, **attrs)
                check(model, [feeds], rtol=1e-3, atol=1e-4)


# ---- Loop with a number of iterations that is known

def loop(steps, body, carried, scans=0, go=True):
    """body(graph, number, value...) -> condition, value..., part..."""
    b = Graph()
    b.n = 1000
    names = [f"c{k}" for k in range(len(carried))]
    made = body(b, "i", *names)
    info = helper.make_tensor_value_info
    inner = helper.make_graph(b.nodes, "body", [info("i", I64, []), info("go", TensorProto.BOOL, [])] + [info(n, F, s) for n, s in zip(names, carried)],
                              [info(made[0], TensorProto.BOOL, None)] + [info(m, F, None) for m in made[1:]], b.constants)
    g = Graph()
    outs = g.op("Loop", g.const(steps), g.const(go, bool), *[g.input(f"x{k}", F, s) for k, s in enumerate(carried)], outs=len(made) - 1, body=inner)
    outs = [outs] if isinstance(outs, str) else outs
    return g.model(*[(o, F) for o in outs]), {f"x{k}": normal(*s) for k, s in enumerate(carried)}


def loops():
    def swap(b, i, x, y):  # values change places, parts are read behind the loop as whole tensors
        z = b.op("Add", b.op("Mul", x, b.const(0.5, np.float32)), b.op("Sin", b.op("Cast", i, to=F)))
        return b.const(True, bool), y, z, b.op("Add", z, y)

    for steps in (10, 64, 65, 200):
        model, feeds = loop(steps, swap, [[4], [4]], scans=1)
        total = helper.make_node("ReduceMean", [model.graph.output[2].name], ["mean"], axes=[0])
        model.graph.node.append(total)
        model.graph.output.append(helper.make_tensor_value_info("mean", F, None))
        assert (steps, 4) in check(model, [feeds], rtol=1e-4, atol=1e-5)

    def counts(b, i, x):  # ends early, and that is known
        return b.op("Less", i, b.const(7)), b.op("Add", x, x), b.op("Cast", i, to=F)

    model, feeds = loop(1000, counts, [[3]])
    assert (8,) in check(model, [feeds])

    def grows(b, i, x):  # no loop can hold it; unrolled it can be
        return b.const(True, bool), b.op("Concat", x, b.const([1.5], np.float32), axis=0)

    model, feeds = loop(70, grows, [[2]])
    for value in list(model.graph.node[0].attribute[0].g.input)[2:]:
        value.CopyFrom(helper.make_tensor_value_info(value.name, F, ["n"]))
    check(model, [feeds])


def commands():
    """verify, bench, tune and C sources know such loops."""
    model, _ = recurrent("LSTM", 100, 2, 4, 8, direction="bidirectional")
    all_commands(model)


if __name__ == "__main__":
    run_tests([("directions", directions), ("operands", operands), ("layouts", layouts), ("long", long), ("stacked", stacked), ("Scan", scans), ("Loop", loops),
               ("commands", commands)])
