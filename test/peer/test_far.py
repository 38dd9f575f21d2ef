"""Elementary functions over the whole range of f32 exponents against numpy in f64; NaN and the ends of the types. SEER_TEST: timeout=300"""
import numpy as np
from onnx import TensorProto, helper

from peer import familyseer, run_tests

import os
import tempfile

import onnx

rng = np.random.default_rng(5)
M = (1 + rng.random(4000)) * rng.choice([-1, 1], 4000)
ALL = np.ldexp(M, rng.integers(-120, 127, 4000)).astype(np.float32)


def inside(low, high):
    return np.concatenate([ALL[(ALL >= low) & (ALL <= high)], rng.uniform(max(low, -100), min(high, 100), 1000).astype(np.float32)])


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


FUNCTIONS = {
    "Sin": (np.sin, ALL, 0, 2e-7), "Cos": (np.cos, ALL, 0, 2e-7), "Tan": (np.tan, inside(-1.4, 1.4), 4e-6, 0),
    "Asinh": (np.arcsinh, ALL, 1e-6, 0), "Acosh": (np.arccosh, inside(1, 3.4e38), 1e-6, 0), "Atanh": (np.arctanh, inside(-0.9999999, 0.9999999), 1e-6, 0),
    "Sinh": (np.sinh, inside(-89.4, 89.4), 2e-6, 1e-37), "Cosh": (np.cosh, inside(-89.4, 89.4), 2e-6, 0), "Tanh": (np.tanh, ALL, 1e-6, 0),
    "Atan": (np.arctan, ALL, 1e-6, 0), "Softplus": (softplus, inside(-80, 3e38), 1e-6, 0),
    "Mish": (lambda x: x * np.tanh(softplus(x)), inside(-80, 3e38), 2e-6, 0), "Softsign": (lambda x: x / (1 + np.abs(x)), ALL, 1e-6, 0),
}


def answers(nodes, feeds, outs, opset=18):
    """What a network of nodes gives, by name. feeds: name -> array; outs: name -> type."""
    value = helper.make_tensor_value_info
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in feeds.items()}
    graph = helper.make_graph(nodes, "far", [value(n, kinds[n], a.shape) for n, a in feeds.items()], [value(n, k, None) for n, k in outs.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", tmp, "-O1")
        args = []
        for name, array in feeds.items():
            np.save(os.path.join(tmp, name + ".npy"), array)
            args += ["--input", f"{name}={tmp}/{name}.npy"]
        familyseer("run", os.path.join(tmp, "model.so"), *args, "-o", os.path.join(tmp, "out"))
        return {n: np.load(os.path.join(tmp, "out", n + ".npy")) for n in outs}


def functions():
    names = list(FUNCTIONS)
    feeds = {"x" + n: FUNCTIONS[n][1] for n in names}
    got = answers([helper.make_node(n, ["x" + n], ["y" + n]) for n in names], feeds, {"y" + n: TensorProto.FLOAT for n in names})
    for n in names:
        want_of, x, rtol, atol = FUNCTIONS[n]
        with np.errstate(over="ignore"):
            want = want_of(x.astype(np.float64))
        error = np.abs(got["y" + n] - want) - rtol * np.abs(want) - atol
        assert not (error > 0).any() and not np.isnan(got["y" + n]).any(), f"{n}({x[np.nanargmax(error)]}) is {got['y' + n][np.nanargmax(error)]}, not {want[np.nanargmax(error)]}"
        print(n, "ok", len(x))


def ends():
    """NaN, infinities and what overflows, where numpy is the judge."""
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45, 1.0, -1.0], np.float32)
    names = {"Sin": np.sin, "Cos": np.cos, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Sinh": np.sinh, "Cosh": np.cosh,
             "Tanh": np.tanh, "Exp": np.exp, "Log": np.log, "Atan": np.arctan}
    got = answers([helper.make_node(n, ["x"], ["y" + n]) for n in names], {"x": x}, {"y" + n: TensorProto.FLOAT for n in names})
    for n, of in names.items():
        with np.errstate(all="ignore"):
            want = of(x.astype(np.float64)).astype(np.float32)
        assert np.allclose(got["y" + n], want, rtol=2e-6, atol=1e-38, equal_nan=True), f"{n}: {got['y' + n]}, not {want}"


def remainders():
    a = np.concatenate([ALL, np.array([1, 5, -5, 5, 0, np.inf, np.nan, 7], np.float32)])
    b = np.concatenate([np.roll(ALL, 7), np.array([0.1, np.inf, np.inf, 0, 3, 2, 1, np.nan], np.float32)])
    i, j = np.array([7, -7, 7, -7, 5, -5, -2**31, 2**31 - 1], np.int32), np.array([3, 3, -3, -3, 0, 0, -1, -1], np.int32)
    got = answers([helper.make_node("Mod", ["a", "b"], ["f"], fmod=1), helper.make_node("Mod", ["i", "j"], ["m"]),
                   helper.make_node("Mod", ["i", "j"], ["n"], fmod=1), helper.make_node("Div", ["i", "j"], ["d"])],
                  {"a": a, "b": b, "i": i, "j": j}, {"f": TensorProto.FLOAT, "m": TensorProto.INT32, "n": TensorProto.INT32, "d": TensorProto.INT32})
    with np.errstate(all="ignore"):
        assert np.array_equal(got["f"], np.fmod(a, b), equal_nan=True), "fmod"
        keep = j != 0  # by 0 there is no answer, and no trap
        assert np.array_equal(got["m"][keep], np.mod(i, j)[keep]), f"Mod {got['m']}"
        assert np.array_equal(got["n"][keep], np.fmod(i, j)[keep]), f"Mod, fmod=1 {got['n']}"
        assert list(got["d"][:4]) == [2, -2, -2, 2] and got["d"][6] == -2**31, f"Div {got['d']}"


def nan_places():
    """ArgMax and ArgMin take the first NaN, as numpy does, however the reduction is cut; maxima are NaN."""
    x = rng.standard_normal([40, 257]).astype(np.float32)
    for row in range(1, 40):
        x[row, rng.integers(0, 257, row % 5)] = np.nan
    x[0], x[5] = np.nan, -np.inf
    last = x[:, ::-1]
    nodes = [helper.make_node(op, ["x"], [f"{op}{axis}{late}"], axis=axis, keepdims=0, select_last_index=late)
             for op in ("ArgMax", "ArgMin") for axis in (0, 1) for late in (0, 1)]
    outs = {n.output[0]: TensorProto.INT64 for n in nodes}
    nodes += [helper.make_node("ReduceMax", ["x"], ["top"], axes=[1], keepdims=0), helper.make_node("ReduceMin", ["x"], ["low"], axes=[1], keepdims=0),
              helper.make_node("Relu", ["x"], ["relu"]), helper.make_node("Max", ["x", "z"], ["max"])]
    got = answers(nodes, {"x": x, "z": np.zeros(1, np.float32)}, {**outs, **{n: TensorProto.FLOAT for n in ("top", "low", "relu", "max")}}, 17)
    for op, of in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        for axis in (0, 1):
            assert np.array_equal(got[f"{op}{axis}0"], of(x, axis)), f"{op} along {axis}"
            n = x.shape[axis]
            assert np.array_equal(got[f"{op}{axis}1"], n - 1 - of(np.flip(x, axis), axis)), f"{op} along {axis}, the last"
    assert np.array_equal(got["top"], np.max(x, 1), equal_nan=True) and np.array_equal(got["low"], np.min(x, 1), equal_nan=True)
    assert np.array_equal(got["relu"], np.maximum(x, 0), equal_nan=True) and np.array_equal(got["max"], np.maximum(x, 0), equal_nan=True)


run_tests([("functions", functions), ("ends", ends), ("remainders", remainders), ("NaN", nan_places)])
