"""Elementary functions over the whole range of f32 exponents against numpy in f64; NaN and the ends of the types. SEER_TEST: timeout=300"""
import numpy as np
from onnx import TensorProto, helper

from peer import familyseer, reference, run_tests

import os
import tempfile

import onnx
import onnxruntime

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


def answers(nodes, feeds, outs, opset=18, constants=(), level="-O1"):
    """What a network of nodes gives, by name. feeds: name -> array; outs: name -> type."""
    value = helper.make_tensor_value_info
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in feeds.items()}
    graph = helper.make_graph(nodes, "far", [value(n, kinds[n], a.shape) for n, a in feeds.items()], [value(n, k, None) for n, k in outs.items()], list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", tmp, level)
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


def exp_ends():
    """Up to the ends of the numbers that are not subnormal; exp of those is 0."""
    x = np.concatenate([np.linspace(-87.3365, -86, 500), np.linspace(88, 88.7228, 500)]).astype(np.float32)
    wide = np.concatenate([np.linspace(-708.396, -708, 500), np.linspace(709, 709.7827, 500)])
    nodes = [helper.make_node("Exp", ["x"], ["f"]), helper.make_node("Exp", ["w"], ["d"]), helper.make_node("Sigmoid", ["x"], ["s"])]
    got = answers(nodes, {"x": x, "w": wide}, {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "s": TensorProto.FLOAT})
    with np.errstate(all="ignore"):
        assert np.allclose(got["f"], np.exp(x.astype(np.float64)), rtol=3e-7, atol=0), f"Exp {got['f'][:5]}"
        assert np.allclose(got["s"], 1 / (1 + np.exp(-x.astype(np.float64))), rtol=3e-7, atol=2e-45), f"Sigmoid {got['s'][:5]}"
    assert np.allclose(got["d"], np.exp(wide), rtol=1e-15, atol=0), f"Exp of f64 {got['d'][:5]}"


def powers():
    """Constant exponents where IEEE 754 says what they are: of -0, infinities, NaN, negative numbers; the sign of 0 too."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -2.5, 1e-30, 1e30, -1e30, 3e-39], np.float32)
    exponents = [-3, -2, -1.5, -1, -0.5, -0.0, 0.0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, np.inf, -np.inf, np.nan]
    nodes, outs, constants = [], {}, []
    for k, e in enumerate(exponents):
        for name, dtype in (("f", np.float32), ("d", np.float64)):
            constants.append(onnx.numpy_helper.from_array(np.array(e, dtype), f"{name}e{k}"))
            nodes.append(helper.make_node("Pow", [name, f"{name}e{k}"], [f"{name}{k}"]))
            outs[f"{name}{k}"] = TensorProto.FLOAT if name == "f" else TensorProto.DOUBLE
    got = answers(nodes, {"f": x, "d": x.astype(np.float64)}, outs, constants=constants)
    for name, y in got.items():
        wide = x.astype(np.float64)
        with np.errstate(all="ignore"):
            # Of one exponent for all, 0.5, NumPy takes the square root, which is NaN of -inf.
            want = np.power(wide, np.full_like(wide, exponents[int(name[1:])])).astype(y.dtype)
        right = np.isclose(y, want, rtol=1e-6, atol=0, equal_nan=True) & (np.isnan(want) | (np.signbit(y) == np.signbit(want)))
        right |= np.abs(want) < 1.18e-38 if name[0] == "f" else False
        assert right.all(), f"{x[~right]} to the {exponents[int(name[1:])]} ({name[0]}) is {y[~right]}, not {want[~right]}"


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


def hard_places():
    """NaN, infinities and zeros of both signs at random places, where NumPy says what comes of them; under random schedules."""
    hard = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40], np.float32)

    def field(*shape):
        x = rng.standard_normal(shape).astype(np.float32)
        return np.where(rng.random(shape) < 0.06, rng.choice(hard, shape), x)

    x, a, b, image = field(30, 129), field(30, 1), field(129), field(2, 3, 14, 17)
    node = helper.make_node
    nodes = [node("Clip", ["x", "low", "high"], ["clip"]), node("Clip", ["x", "", "high"], ["below"]), node("Clip", ["x", "low"], ["above"]),
             node("Max", ["x", "a", "b"], ["max"]), node("Min", ["x", "a", "b"], ["min"]), node("Sum", ["x", "a", "b"], ["sum"]),
             node("MaxPool", ["i"], ["pool"], kernel_shape=[3, 2], pads=[1, 1, 1, 0], strides=[2, 1]), node("GlobalMaxPool", ["i"], ["peak"]),
             node("ReduceMax", ["x"], ["top"], axes=[0, 1], keepdims=0), node("ReduceProd", ["x"], ["prod"], axes=[1], keepdims=0),
             node("ReduceSum", ["x", "first"], ["total"], keepdims=0), node("Sign", ["x"], ["sign"]), node("Abs", ["x"], ["abs"]),
             node("Relu", ["x"], ["relu"]), node("TopK", ["x", "k"], ["values", "places"], axis=1)]
    constants = [onnx.numpy_helper.from_array(np.array(v, t), n) for n, v, t in
                 (("low", -0.5, np.float32), ("high", 0.75, np.float32), ("first", [0], np.int64), ("k", [129], np.int64))]
    names = [n for one in nodes for n in one.output]
    outs = {n: TensorProto.INT64 if n == "places" else TensorProto.FLOAT for n in names}
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 0)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::2]
    with np.errstate(all="ignore"):
        want = {"clip": np.clip(x, np.float32(-0.5), np.float32(0.75)), "below": np.minimum(x, np.float32(0.75)), "above": np.maximum(x, np.float32(-0.5)),
                "max": np.maximum(np.maximum(x, a), b), "min": np.minimum(np.minimum(x, a), b), "sum": x + a + b, "pool": windows.max((4, 5)),
                "peak": image.max((2, 3), keepdims=True), "top": x.max(), "prod": x.astype(np.float64).prod(1), "total": x.astype(np.float64).sum(0),
                "sign": np.sign(x), "abs": np.abs(x), "relu": np.maximum(x, 0)}
    for level in ("-O0", "-O1", "--random-schedules=1", "--random-schedules=2", "--random-schedules=3"):
        got = answers(nodes, {"x": x, "a": a, "b": b, "i": image}, outs, 17, constants, level)
        for n, w in want.items():
            assert np.allclose(got[n], w, rtol=1e-5, atol=1e-5 if n in ("total", "sum") else 0, equal_nan=True), f"{n} {level}"
        # TopK: every element once, each with its place, NaN first, then in falling order, equal ones by place
        places, values = got["places"], got["values"]
        assert np.array_equal(np.sort(places, 1), np.broadcast_to(np.arange(129), places.shape)), f"TopK {level}"
        assert np.array_equal(np.take_along_axis(x, places, 1), values, equal_nan=True), f"TopK {level}"
        key = np.where(np.isnan(values), np.inf, values)
        falls = (np.isnan(values[:, :-1]) & ~np.isnan(values[:, 1:])) | (key[:, :-1] > key[:, 1:])
        equal = (np.isnan(values[:, :-1]) == np.isnan(values[:, 1:])) & (key[:, :-1] == key[:, 1:])
        assert (falls | (equal & (places[:, :-1] < places[:, 1:]))).all(), f"TopK {level}"


def means():
    """The mean of equal numbers is that number, and a normalisation has nothing left of them; a factor of 0 or an inverse that overflows."""
    node, f32 = helper.make_node, TensorProto.FLOAT
    counts = [3, 5, 7, 41, 47, 49, 55, 61, 82, 83, 97, 107]
    nodes, feeds, outs, constants, want = [], {}, {}, [], {}
    for n in counts:
        feeds[f"x{n}"] = np.full([2, 2, n], 1e4, np.float32)
        nodes += [node("ReduceMean", [f"x{n}"], [f"mean{n}"], axes=[2]), node("LayerNormalization", [f"x{n}", f"one{n}"], [f"norm{n}"]),
                  node("InstanceNormalization", [f"x{n}", "two", "none"], [f"own{n}"]), node("GlobalAveragePool", [f"x{n}"], [f"pool{n}"]),
                  node("AveragePool", [f"x{n}"], [f"window{n}"], kernel_shape=[n])]
        constants.append(onnx.numpy_helper.from_array(np.ones(n, np.float32), f"one{n}"))
        for name in ("mean", "pool", "window"):
            want[f"{name}{n}"] = np.full([2, 2, 1], 1e4, np.float32)
        if n <= 64:
            nodes.append(node("Mean", [f"x{n}"] * n, [f"several{n}"]))
            want[f"several{n}"] = feeds[f"x{n}"]
        for name in ("norm", "own"):
            want[f"{name}{n}"] = np.zeros([2, 2, n], np.float32)
    constants += [onnx.numpy_helper.from_array(np.full(2, v, np.float32), name) for name, v in (("two", 1), ("none", 0))]
    x = np.array([np.inf, 3e38, 1, 0, -0.0, -1, -3e38], np.float32)
    feeds["x"] = x
    nodes += [node("LeakyRelu", ["x"], ["leaky"], alpha=0.0), node("Celu", ["x"], ["celu"], alpha=1e-39)]
    want["leaky"] = np.maximum(x, 0)
    want["celu"] = np.where(x < 0, np.float32(-1e-39), np.maximum(x, 0))
    got = answers(nodes, feeds, {n: f32 for n in want}, 17, constants)
    for name, w in want.items():
        assert np.array_equal(got[name], w), f"{name} is {got[name].ravel()[:3]}, not {w.ravel()[0]}"


def exact_value(name, nodes, constants, x):
    """The value of a chain in f64."""
    if name == "x":
        return x.astype(np.float64)
    node = next(n for n in nodes if n.output[0] == name)
    a, b = exact_value(node.input[0], nodes, constants, x), constants[node.input[1]]
    if node.op_type == "Conv":
        return np.einsum("nchw,dc->ndhw", a, b[:, :, 0, 0])
    return {"Mul": np.multiply, "Div": np.divide, "Add": np.add, "Sub": np.subtract}[node.op_type](a, b)


def factors():
    """Chains of factors that leave f32 together, but not one by one; by channel, and behind a convolution. ONNX Runtime is the judge."""
    x = np.array([0, -0.0, 1e-20, 1e10, -3e-25, 1.5], np.float32)
    x = np.stack([x, x[::-1]]).reshape(1, 2, 6, 1)
    extremes = [1e30, 1e-30, 3e38, 1e-38, 1e-42, -2e25, 0.5, 0]
    nodes, made, constants = [], {}, []

    def constant(values, shape):
        constants.append(onnx.numpy_helper.from_array(np.array(values, np.float32).reshape(shape), f"c{len(constants)}"))
        return constants[-1].name

    for trial in range(60):
        at = "x"
        if trial % 3 == 0:
            nodes.append(helper.make_node("Conv", ["x", constant([1e-3, 2, 1e20, -1], [2, 2, 1, 1])], [f"conv{trial}"]))
            at = f"conv{trial}"
        for step in range(rng.integers(2, 4)):
            op, by = rng.choice(["Mul", "Mul", "Div", "Add", "Sub"]), constant(rng.choice(extremes, 2), [2, 1, 1])
            if op == "Div" and not np.all(onnx.numpy_helper.to_array(constants[-1])):
                op = "Mul"
            nodes.append(helper.make_node(op, [at, by], [f"y{trial}_{step}"]))
            at = f"y{trial}_{step}"
        made[at] = TensorProto.FLOAT
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "factors", [value("x", TensorProto.FLOAT, x.shape)], [value(n, k, None) for n, k in made.items()], constants)
    options = onnxruntime.SessionOptions()  # as written: it merges factors itself otherwise, some of which it loses
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    theirs = dict(zip(made, session.run(list(made), {"x": x})))
    ours = answers(nodes, {"x": x}, made, constants=constants)
    for name, want in theirs.items():
        is_known = np.isfinite(want)  # what is finite there is finite here
        # What is lost on the way there (too small for f32) may be kept here.
        exact = exact_value(name, nodes, {t.name: onnx.numpy_helper.to_array(t).astype(np.float64) for t in constants}, x)
        is_right = np.isclose(ours[name], want, rtol=1e-4, atol=1e-37) | np.isclose(ours[name], exact, rtol=1e-4, atol=1e-37)
        assert is_right[is_known].all(), f"{name}: {ours[name]}, not {want} or {exact}"


def small_factors():
    """A factor that would leave a convolution's weights no digits stays behind it."""
    x = (rng.random((1, 3, 5, 5)) * 1e30).astype(np.float32)
    w, factor = (rng.random((4, 3, 2, 2)) * 1e-6).astype(np.float32), (1.2e-38 + rng.random((4, 1, 1)) * 1e-38).astype(np.float32)
    constants = [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(factor, "f")]
    got = answers([helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Mul", ["c", "f"], ["y"])], {"x": x}, {"y": TensorProto.FLOAT}, constants=constants)["y"]
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (2, 2), (2, 3))
    want = np.einsum("nchwij,dcij->ndhw", windows, w.astype(np.float64)) * factor
    assert np.allclose(got, want, rtol=1e-5, atol=0), f"{got.ravel()[:3]}, not {want.ravel()[:3]}"


def empty_sequences():
    """A sequence of length 0 in the batch leaves 0 in Y, Y_h and Y_c, whatever its initial state."""
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for direction, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            hidden, value, f32 = 4, helper.make_tensor_value_info, TensorProto.FLOAT
            feeds = {"x": rng.standard_normal([5, 3, 2]).astype(np.float32), "lens": np.array([0, 5, 2], np.int32),
                     "h0": rng.standard_normal([n, 3, hidden]).astype(np.float32)}
            if op == "LSTM":
                feeds["c0"] = rng.standard_normal([n, 3, hidden]).astype(np.float32)
            constants = [onnx.numpy_helper.from_array(rng.standard_normal([n, gates * hidden, k]).astype(np.float32), name)
                         for name, k in (("w", 2), ("r", hidden))]
            outs = ["y", "yh", "yc"][:3 if op == "LSTM" else 2]
            order = ["x", "w", "r", "", "lens", "h0"] + (["c0"] if op == "LSTM" else [])
            nodes = [helper.make_node(op, order, outs, hidden_size=hidden, direction=direction)]
            kinds = {"x": f32, "lens": TensorProto.INT32, "h0": f32, "c0": f32}
            graph = helper.make_graph(nodes, "g", [value(k, kinds[k], a.shape) for k, a in feeds.items()], [value(k, f32, None) for k in outs], constants)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
            theirs, ours = reference(model, feeds), answers(nodes, feeds, {k: f32 for k in outs}, 14, constants)
            for k in outs:
                assert np.allclose(ours[k], theirs[k], rtol=1e-4, atol=1e-5), f"{op} {direction} {k}: {ours[k]}, not {theirs[k]}"


run_tests([("factors", factors), ("small factors", small_factors), ("empty sequences", empty_sequences), ("functions", functions), ("ends", ends), ("exp", exp_ends), ("powers", powers), ("remainders", remainders), ("NaN", nan_places), ("hard places", hard_places), ("means", means)])
