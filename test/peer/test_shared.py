"""--share: an input and an output in one memory. Caches of several steps against ONNX Runtime, which has them apart; networks in which
something reads the old values later; what is refused. SEER_TEST: timeout=300"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from nodes import Nodes  # noqa: E402
from peer import familyseer, reference, run_tests  # noqa: E402

rng = np.random.default_rng(5)


def some(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def network(nodes, inputs, outputs, constants=()):
    """inputs: name -> array; outputs: name -> type."""
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in inputs.items()]
    made = [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()]
    graph = helper.make_graph(nodes, "g", values, made, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


def compiled(model, folder, shares, level="-O1", check=True):
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    flags = [word for s in shares for word in ("--share", s)]
    return familyseer("compile", path, "-o", os.path.join(folder, "lib"), level, *flags, check=check)


def agrees(model, feeds, pairs, in_place, rtol=1e-4):
    """In one memory and apart the answers are ONNX Runtime's. in_place None: as the order of steps allows."""
    want = reference(model, feeds)
    for level in ("-O0", "-O1", "--random-schedules=1"):
        with tempfile.TemporaryDirectory() as folder:
            compiled(model, folder, [f"{a}:{b}" for a, b in pairs], level)
            library = fs.Model(os.path.join(folder, "lib"), threads=2)
            said = [s["in_place"] for s in library.info["shared"]]
            assert in_place is None or said == in_place, f"{level}: in place {said}, must be {in_place}"
            for is_apart in (True, False):
                given = {n: x.copy() for n, x in feeds.items()}
                out = {b: np.empty_like(given[a]) for a, b in pairs} if is_apart else None
                got = library.run(given, out)
                for name, w in want.items():
                    np.testing.assert_allclose(got[name], w, rtol=rtol, atol=1e-5, err_msg=f"{name} {level} apart: {is_apart}")
                for a, b in pairs:
                    assert (got[b] is given[a]) != is_apart, f"'{b}' is not in the memory of '{a}'"
                    assert is_apart or not np.array_equal(feeds[a], given[a]), f"'{a}' is as it was"
                    assert not is_apart or np.array_equal(feeds[a], given[a]), f"'{a}' was written"


CACHE, ROW, AT = some(2, 9, 6), some(2, 1, 6), np.array([[[0, 4]], [[1, 7]]], np.int64)
FEEDS = {"past": CACHE, "row": ROW, "at": AT}
SCATTER = helper.make_node("ScatterND", ["past", "at", "row"], ["present"])
F = TensorProto.FLOAT


def scatters():
    """Rows are written and no others, though little enough for a kernel; who reads the result comes behind."""
    behind = [SCATTER, helper.make_node("ReduceSum", ["present"], ["sum"])]
    agrees(network(behind, FEEDS, {"present": F, "sum": F}), FEEDS, [("past", "present")], [True])
    feeds = {"past": CACHE, "row": ROW, "at": np.full((2, 1, 6), 3, np.int64)}
    node = helper.make_node("ScatterElements", ["past", "at", "row"], ["present"], axis=1)
    agrees(network([node], feeds, {"present": F}), feeds, [("past", "present")], [True])


def two():
    """Two caches, one of which reads the other's old values first."""
    feeds = {**FEEDS, "old": some(2, 9, 6)}
    nodes = [SCATTER, helper.make_node("ReduceMax", ["past"], ["most"], keepdims=1), helper.make_node("Mul", ["row", "most"], ["scaled"]),
             helper.make_node("ScatterND", ["old", "at", "scaled"], ["new"])]
    agrees(network(nodes, feeds, {"present": F, "new": F}), feeds, [("old", "new")], [True])


def old_values():
    """Something reads the old values when the new ones have been made: those are made elsewhere, and copied in the end."""
    nodes = [SCATTER, helper.make_node("ReduceSum", ["present"], ["sum"], keepdims=1), helper.make_node("Mul", ["past", "sum"], ["late"])]
    agrees(network(nodes, FEEDS, {"present": F, "late": F}), FEEDS, [("past", "present")], [False])
    nodes = [SCATTER, helper.make_node("Identity", ["past"], ["before"])]
    agrees(network(nodes, FEEDS, {"present": F, "before": F}), FEEDS, [("past", "present")], None)
    nodes = [helper.make_node("ScatterND", ["past", "at", "part"], ["present"]), helper.make_node("Slice", ["past", "from", "to"], ["part"])][::-1]
    ends = [onnx.numpy_helper.from_array(np.array(v), n) for n, v in (("from", [0, 2]), ("to", [2, 3]))]
    agrees(network(nodes, {n: FEEDS[n] for n in ("past", "at")}, {"present": F}, ends), {n: FEEDS[n] for n in ("past", "at")}, [("past", "present")],
           [True])


def exchanged():
    """Each output is the other one's input."""
    nodes = [helper.make_node("Identity", [a], [b]) for a, b in (("x", "p"), ("y", "q"))]
    feeds = {"x": some(9, 6), "y": some(9, 6)}
    agrees(network(nodes, feeds, {"p": F, "q": F}), feeds, [("y", "p"), ("x", "q")], [False, True])


def moved():
    """A window that moves on, and arithmetic: no scatter, so they are copied."""
    ends = [onnx.numpy_helper.from_array(np.array(v), n) for n, v in (("from", [1]), ("to", [9]), ("axis", [1]))]
    nodes = [helper.make_node("Slice", ["past", "from", "to", "axis"], ["rest"]), helper.make_node("Concat", ["rest", "row"], ["present"], axis=1)]
    feeds = {n: FEEDS[n] for n in ("past", "row")}
    agrees(network(nodes, feeds, {"present": F}, ends), feeds, [("past", "present")], [False])
    nodes = [helper.make_node("Softmax", ["past"], ["present"], axis=0)]
    agrees(network(nodes, {"past": CACHE}, {"present": F}), {"past": CACHE}, [("past", "present")], [False])


def steps():
    """A decoder in one buffer: a prompt, then tokens, whose lengths are data; answers of each step are those of buffers apart."""
    heads, groups, d, room = 4, 2, 16, 16
    tables = [onnx.numpy_helper.from_array(f(rng.uniform(-3, 3, (32, d // 2))).astype(np.float32), n) for n, f in (("cos", np.cos), ("sin", np.sin))]
    node = helper.make_node("GroupQueryAttention", ["qkv", "", "", "past_key", "past_value", "last", "total", "cos", "sin"],
                            ["y", "present_key", "present_value"], domain="com.microsoft", num_heads=heads, kv_num_heads=groups, do_rotary=1)
    empty = np.zeros((1, groups, room, d), np.float32)
    theirs, ours, done = {"past_key": empty, "past_value": empty}, {"past_key": empty.copy(), "past_value": empty.copy()}, 0
    libraries = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in (5, 1, 1, 3, 1):
            done += n
            step = {"qkv": some(1, n, (heads + 2 * groups) * d), "last": np.array([done - 1], np.int32), "total": np.array(done, np.int32)}
            model = network([node], {**step, **theirs}, {"y": F, "present_key": F, "present_value": F}, tables)
            if n not in libraries:
                os.mkdir(own := os.path.join(folder, str(n)))
                compiled(model, own, ["past_key:present_key", "past_value:present_value"])
                libraries[n] = fs.Model(os.path.join(own, "lib"), threads=2)
                assert all(s["in_place"] for s in libraries[n].info["shared"])
            want, got = reference(model, {**step, **theirs}), libraries[n].run({**step, **ours})
            np.testing.assert_allclose(got["y"], want["y"], rtol=1e-4, atol=1e-5)
            for kind in ("key", "value"):
                assert got["present_" + kind] is ours["past_" + kind]
                np.testing.assert_allclose(ours["past_" + kind], want["present_" + kind], rtol=1e-4, atol=1e-5)
                theirs["past_" + kind] = want["present_" + kind]


def tensor_scatter():
    for shape, axis, n, mode in (([3, 2, 7, 4], -2, 1, "linear"), ([3, 2, 7, 4], 2, 3, "circular"), ([2, 9], 1, 2, "linear"), ([2, 5, 3], 1, 5, "circular")):
        update = list(shape)
        update[axis] = n
        feeds = {"past": some(*shape), "row": some(*update), "at": rng.integers(0, shape[axis] - n, shape[0], endpoint=True)}
        for names in (["past", "row", "at"], ["past", "row"]):
            nodes = Nodes(24)
            nodes.feeds = {k: feeds[k] for k in names}
            nodes.add("TensorScatter", *names, axis=axis, mode=mode)
            model = nodes.model()
            whole = n == shape[axis] and len(names) == 2  # all is new
            if not whole:
                agrees(model, nodes.feeds, [("past", "y0_0")], [True])


def refusals():
    model = network([SCATTER, helper.make_node("ReduceSum", ["present"], ["sum"])], FEEDS, {"present": F, "sum": F})
    for part, net, shares in (("must be INPUT:OUTPUT; inputs are past", model, ["past"]), ("must be INPUT:OUTPUT", model, ["past:absent"]),
                              ("must have one type and shape", model, ["past:sum"]), ("must have one type and shape", model, ["at:present"]),
                              ("in common", model, ["past:present", "row:present"])):
        with tempfile.TemporaryDirectory() as folder:
            done = compiled(net, folder, shares, check=False)
            assert done.returncode == 1 and part in done.stderr, f"{shares}: must be refused with '{part}', got {done.stderr}"
    with tempfile.TemporaryDirectory() as folder:
        compiled(model, folder, ["past:present"])
        library = fs.Model(os.path.join(folder, "lib"))
        given = {n: x.copy() for n, x in FEEDS.items()}
        try:
            library.run(given, {"sum": given["past"].reshape(-1)[:1].reshape(1, 1, 1)})
        except fs.Error as problem:
            assert "overlap" in str(problem), problem
        else:
            raise AssertionError("an output lies in an input that it has no leave to")
        frozen = given["past"].copy()
        frozen.flags.writeable = False
        got = library.run({**given, "past": frozen})
        assert got["present"] is not frozen and np.array_equal(frozen, CACHE)


run_tests([("scatters", scatters), ("two", two), ("old values", old_values), ("exchanged", exchanged), ("moved", moved), ("steps", steps), ("TensorScatter", tensor_scatter),
           ("refusals", refusals)])
