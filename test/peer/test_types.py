"""Float8 and types of 4 and 2 bits against ONNX Runtime, as weights and inside; as inputs and outputs through Python; and how narrow
integer weights are stored. SEER_TEST: timeout=300 labels=target"""
import os
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from peer import check_model, familyseer, on_this_machine, run_tests  # noqa: E402

rng = np.random.default_rng(5)
FLOAT8 = {"e4m3fn": T.FLOAT8E4M3FN, "e4m3fnuz": T.FLOAT8E4M3FNUZ, "e5m2": T.FLOAT8E5M2, "e5m2fnuz": T.FLOAT8E5M2FNUZ}


def model_of(nodes, inputs, outputs, constants=(), opset=21):
    graph = helper.make_graph(nodes, "types", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset < 24 else 12)


def packed(name, kind, shape, values):
    return helper.make_tensor(name, kind, shape, values)


def scales(name, *shape):
    return numpy_helper.from_array(rng.uniform(0.01, 0.1, shape).astype(np.float32), name)


def four_bit_weights(kind, **how):
    """Weights of 4 bits, a scale per column or per block of rows."""
    low, high = (-8, 8) if kind == T.INT4 else (0, 16)
    blocked = "block_size" in how
    shape = [3, 24] if blocked else [24]
    constants = [packed("w", kind, [48, 24], rng.integers(low, high, 48 * 24).tolist()), scales("s", *shape),
                 packed("z", kind, shape, rng.integers(low, high, int(np.prod(shape))).tolist())]
    nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], **how),
             helper.make_node("MatMul", ["x", "d"], ["y"])]
    model = model_of(nodes, [("x", T.FLOAT, [5, 48])], [("y", T.FLOAT, [5, 24])], constants)
    check_model(f"4 bits {how}", model, levels=["-O1"])


def through(kind, label):
    """x / scale, rounded to `kind`, and back; the values are spread over all exponents."""
    zero = packed("z", kind, [], [0])
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
             helper.make_node("Cast", ["x"], ["c"], to=kind), helper.make_node("Cast", ["c"], ["w"], to=T.FLOAT)]
    model = model_of(nodes, [("x", T.FLOAT, [7, 33])], [("y", T.FLOAT, [7, 33]), ("w", T.FLOAT, [7, 33])],
                     [numpy_helper.from_array(np.float32(0.75), "s"), zero])
    x = (rng.standard_normal((7, 33)) * np.exp2(rng.uniform(-12, 8, (7, 33)))).astype(np.float32)
    check_model(label, model, {"x": x}, levels=["-O1"], rtol=0)


def quantised_to_four_bits(kind):
    zero = packed("z", kind, [], [3])
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    model = model_of(nodes, [("x", T.FLOAT, [7, 33])], [("y", T.FLOAT, [7, 33])], [numpy_helper.from_array(np.float32(0.25), "s"), zero])
    check_model("to 4 bits", model, levels=["-O1"], rtol=0)


def converted_to_four_bits(kind):
    """Rounded, halves away from zero; where the compiler computes it, too."""
    x = np.concatenate([np.arange(-32, 32) / 4, rng.uniform(-8, 7, 66)]) if kind == T.INT4 else np.concatenate([np.arange(64) / 4, rng.uniform(0, 15, 66)])
    x = np.clip(x, -8 if kind == T.INT4 else 0, 7 if kind == T.INT4 else 15).astype(np.float32)
    nodes = [helper.make_node("Cast", ["x"], ["q"], to=kind), helper.make_node("Cast", ["q"], ["y"], to=T.FLOAT),
             helper.make_node("Cast", ["c"], ["d"], to=kind), helper.make_node("Cast", ["d"], ["e"], to=T.FLOAT), helper.make_node("Add", ["e", "x"], ["z"])]
    model = model_of(nodes, [("x", T.FLOAT, [130])], [("y", T.FLOAT, [130]), ("z", T.FLOAT, [130])], [numpy_helper.from_array(x, "c")])
    check_model("converted to 4 bits", model, {"x": x}, levels=["-O1"], rtol=0)


def blocks_of_a_vector(kind):
    """Scales of rank 1 that are one a block, not one an element."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=0, block_size=4),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=0, block_size=4)]
    model = model_of(nodes, [("x", T.FLOAT, [24])], [("y", T.FLOAT, [24])], [scales("s", 6), packed("z", kind, [6], [3, 1, 0, 2, 7, 5])])
    check_model("blocks of a vector", model, levels=["-O1"], rtol=0)


def float8_weights(kind):
    constants = [packed("w", kind, [30, 20], rng.standard_normal(600).tolist()), scales("s", 20)]
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1), helper.make_node("MatMul", ["x", "d"], ["y"])]
    check_model("float8 weights", model_of(nodes, [("x", T.FLOAT, [4, 30])], [("y", T.FLOAT, [4, 20])], constants), levels=["-O1"])


def compiled(model):
    folder = tempfile.mkdtemp(dir=tmp.name)
    onnx.save(model, os.path.join(folder, "m.onnx"))
    familyseer("compile", os.path.join(folder, "m.onnx"), "-o", folder, "-O1")
    return folder


def in_and_out(kind, carrier, given, want):
    """An input of the type, passed in what carries it, to f32 and back, moved on the way."""
    n = len(given)
    nodes = [helper.make_node("Transpose", ["x"], ["t"]), helper.make_node("Cast", ["t"], ["f"], to=T.FLOAT),
             helper.make_node("Cast", ["f"], ["y"], to=kind)]
    folder = compiled(model_of(nodes, [("x", kind, [n, 1])], [("f", T.FLOAT, [1, n]), ("y", kind, [1, n])], opset=25))
    x = np.array(given, carrier).reshape(n, 1)
    model = fs.Model(folder, threads=1)
    assert model.inputs[0].dtype == carrier, model.inputs[0]
    f, y = model(x)
    np.testing.assert_array_equal(f.ravel(), want)
    np.testing.assert_array_equal(y.ravel(), x.ravel())
    np.save(os.path.join(folder, "x.npy"), x)  # and through the command line
    familyseer("run", os.path.join(folder, "model.so"), "-i", f"x={folder}/x.npy", "-o", folder)
    np.testing.assert_array_equal(np.load(os.path.join(folder, "y.npy")).ravel(), x.ravel())
    done = familyseer("run", os.path.join(folder, "model.so"), "-i", f"x={folder}/f.npy", check=False)
    assert done.returncode == 1 and "input 'x' must be" in done.stderr, done.stderr


def weights_in_place(kind, carrier, low, high, **how):
    """Weights of types that ONNX Runtime lacks, as NumPy multiplies them: a scale per column or per block of rows."""
    codes = rng.integers(low, high, (48, 24))
    zero = rng.integers(low, high, (3, 24)) if "block_size" in how else rng.integers(low, high, 24)
    w = codes.astype(carrier) if kind != T.FLOAT4E2M1 else codes.astype(np.uint8).view(carrier)
    constants = [numpy_helper.from_array(w, "w"), scales("s", *zero.shape)]
    if kind != T.FLOAT4E2M1:
        constants.append(numpy_helper.from_array(zero.astype(carrier), "z"))
    nodes = [helper.make_node("DequantizeLinear", [c.name for c in constants], ["d"], **how), helper.make_node("MatMul", ["x", "d"], ["y"])]
    model = model_of(nodes, [("x", T.FLOAT, [5, 48])], [("y", T.FLOAT, [5, 24])], constants, opset=25)
    x = rng.standard_normal((5, 48)).astype(np.float32)

    def rows(a):
        return np.repeat(a.astype(np.float64), 16, axis=0) if a.ndim == 2 else a.astype(np.float64)
    weights = w.astype(np.float64) - (rows(zero) if kind != T.FLOAT4E2M1 else 0)
    want = x @ (weights * rows(numpy_helper.to_array(constants[1])))
    np.testing.assert_allclose(fs.Model(compiled(model), threads=1)(x), want, rtol=1e-4, atol=1e-4)


def powers():
    """Scales of blocks: powers of two, by all ways of rounding, as an input and as a constant."""
    x = np.exp2(rng.uniform(-130, 128, 400)).astype(np.float32)
    x[:8] = [0, 2.0**-127, 1.4 * 2.0**-127, 1.5 * 2.0**-127, 2.0**127, 1.5 * 2.0**127, 1, 6]
    x[8:10] = [np.inf, np.nan]
    exponent = np.floor(np.log2(x.astype(np.float64), where=x > 0, out=np.full(400, -1e9)))
    below = np.exp2(np.maximum(exponent, -1000))
    rounded = {"up": np.where(x == below, below, 2 * below), "down": below, "nearest": np.where(x >= 1.5 * below, 2 * below, below)}
    rounded = {how: np.where(np.isfinite(x), r, x) for how, r in rounded.items()}
    # What is nearer to a number beyond the type than to its largest is beyond it.
    is_held = (x >= 2.0**-127) & (rounded["nearest"] <= 2.0**127)
    nodes, outputs, want = [], [], []
    for how, r in rounded.items():
        for saturate in 0, 1:
            for given in "xc":
                name = f"{how}_{saturate}_{given}"
                nodes += [helper.make_node("Cast", [given], ["q" + name], to=T.FLOAT8E8M0, round_mode=how, saturate=saturate),
                          helper.make_node("Cast", ["q" + name], [name], to=T.FLOAT)]
                outputs.append((name, T.FLOAT, [400]))
                inside = np.clip(r, 2.0**-127, 2.0**127) if saturate else np.where(is_held & (r <= 2.0**127), r, np.nan)
                want.append(np.where(np.isnan(x), np.nan, inside))
    folder = compiled(model_of(nodes, [("x", T.FLOAT, [400])], outputs, [numpy_helper.from_array(x, "c")], opset=25))
    for (name, *_), got, w in zip(outputs, fs.Model(folder, threads=1)(x), want):
        np.testing.assert_array_equal(got, w.astype(np.float32), err_msg=name)


def weight_bytes(model):
    return os.path.getsize(os.path.join(compiled(model), "weights.bin"))


# (Without VNNI, ONNX Runtime adds pairs of 8-bit products in 16 bits, saturating: weights that are compared have 7 bits.)
def integers(name, shape, dtype, low, high):
    return numpy_helper.from_array(rng.integers(low, high, shape).astype(dtype), name)


def matmul_weights(with_zero_points, n_bytes):
    """Weights less their zero points take one byte, or two where they need nine bits. (Packing may add a part of a tile.)"""
    constants = [integers("w", [256, 160], np.int8, -64, 64), integers("za", [], np.uint8, 3, 200)]
    operands = ["x", "w", "za"]
    if with_zero_points:
        constants.append(integers("zb", [160], np.int8, -100, 100))
        operands.append("zb")
    model = model_of([helper.make_node("MatMulInteger", operands, ["y"])], [("x", T.UINT8, [7, 256])], [("y", T.INT32, [7, 160])], constants)
    check_model("integer product", model, {"x": rng.integers(0, 256, (7, 256)).astype(np.uint8)}, rtol=0)
    assert 256 * 160 * n_bytes <= weight_bytes(model) < 256 * 160 * 2 * n_bytes, weight_bytes(model)


def conv_weights(group):
    constants = [numpy_helper.from_array(np.float32(0.02), "xs"), integers("xz", [], np.uint8, 100, 101),
                 integers("w", [128, 128 // group, 3, 3], np.int8, -64, 64), scales("ws", 128), numpy_helper.from_array(np.zeros(128, np.int8), "wz"),
                 numpy_helper.from_array(np.float32(4.0), "ys"), integers("yz", [], np.uint8, 120, 121), integers("b", [128], np.int32, -2000, 2000)]
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1], group=group)
    model = model_of([node], [("x", T.UINT8, [1, 128, 12, 12])], [("y", T.UINT8, [1, 128, 12, 12])], constants)
    check_model("integer convolution", model, {"x": rng.integers(0, 256, (1, 128, 12, 12)).astype(np.uint8)}, rtol=0, atol=1)
    assert weight_bytes(model) < 2 * 128 * (128 // group) * 9, weight_bytes(model)


def moved_integers():
    """Large integer constants that are indices, and parts of results between data."""
    constants = [integers("index", [120, 90], np.int64, -40, 40), integers("part", [20000], np.int64, -300, 40000)]
    nodes = [helper.make_node("Gather", ["x", "index"], ["y"]), helper.make_node("Concat", ["a", "part", "a"], ["z"], axis=0)]
    model = model_of(nodes, [("x", T.FLOAT, [40]), ("a", T.INT64, [30])], [("y", T.FLOAT, [120, 90]), ("z", T.INT64, [20060])], constants)
    feeds = {"x": rng.standard_normal(40).astype(np.float32), "a": rng.integers(-(1 << 40), 1 << 40, 30)}
    check_model("integers that are moved", model, feeds, rtol=0)
    assert weight_bytes(model) < 120 * 90 + 20000 * 4 + 4096, weight_bytes(model)


def carried_integers():
    """What a loop starts from is copied as bytes: it stays as wide as it is."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Add", ["v", "one"], ["v2"])], "body",
        [helper.make_tensor_value_info("i", T.INT64, []), helper.make_tensor_value_info("c", T.BOOL, []),
         helper.make_tensor_value_info("v", T.INT64, [10000])],
        [helper.make_tensor_value_info("c2", T.BOOL, []), helper.make_tensor_value_info("v2", T.INT64, [10000])])
    constants = [integers("start", [10000], np.int64, -100, 100), numpy_helper.from_array(np.int64(1), "one"), numpy_helper.from_array(np.array(True), "yes")]
    model = model_of([helper.make_node("Loop", ["n", "yes", "start"], ["y"], body=body)], [("n", T.INT64, [])], [("y", T.INT64, [10000])], constants)
    check_model("a loop's start", model, {"n": np.array(5)}, levels=["-O1"], rtol=0)


tmp = tempfile.TemporaryDirectory()
tests = [
    ("weights of 8 bits", lambda: matmul_weights(False, 1)),
    ("weights of 9 bits", lambda: matmul_weights(True, 2)),
    ("convolution's weights", lambda: conv_weights(1)),
    ("grouped weights", lambda: conv_weights(4)),
    ("integers that are moved", moved_integers),
    ("integers that are carried", carried_integers),
    ("int4 per axis", lambda: four_bit_weights(T.INT4, axis=1)),
    ("uint4 per axis", lambda: four_bit_weights(T.UINT4, axis=1)),
    ("int4 blocked", lambda: four_bit_weights(T.INT4, axis=0, block_size=16)),
    ("uint4 blocked", lambda: four_bit_weights(T.UINT4, axis=0, block_size=16)),
    ("to int4", lambda: quantised_to_four_bits(T.INT4)),
    ("to uint4", lambda: quantised_to_four_bits(T.UINT4)),
    ("converted to int4", lambda: converted_to_four_bits(T.INT4)),
    ("converted to uint4", lambda: converted_to_four_bits(T.UINT4)),
    ("blocks of a vector", lambda: blocks_of_a_vector(T.INT8)),
    ("4-bit blocks of a vector", lambda: blocks_of_a_vector(T.INT4)),
    ("int4 in and out", lambda: in_and_out(T.INT4, np.int8, [-8, -1, 0, 3, 7], [-8, -1, 0, 3, 7])),
    ("int2 in and out", lambda: in_and_out(T.INT2, np.int8, [-2, -1, 0, 1, -2], [-2, -1, 0, 1, -2])),
    ("uint2 in and out", lambda: in_and_out(T.UINT2, np.uint8, [0, 1, 2, 3, 1], [0, 1, 2, 3, 1])),
    ("float4 in and out", lambda: in_and_out(T.FLOAT4E2M1, np.uint8, [0, 1, 2, 5, 7, 9, 15], [0, 0.5, 1, 3, 6, -0.5, -6])),
    ("powers of two", powers),
    ("int2 per axis", lambda: weights_in_place(T.INT2, ml_dtypes.int2, -2, 2, axis=1)),
    ("uint2 blocked", lambda: weights_in_place(T.UINT2, ml_dtypes.uint2, 0, 4, axis=0, block_size=16)),
    ("float4 blocked", lambda: weights_in_place(T.FLOAT4E2M1, ml_dtypes.float4_e2m1fn, 0, 16, axis=0, block_size=16)),
    ("uint4 in and out", lambda: in_and_out(T.UINT4, np.uint8, [0, 1, 8, 9, 15], [0, 1, 8, 9, 15])),
    ("e4m3fn in and out", lambda: in_and_out(T.FLOAT8E4M3FN, np.uint8, [0x38, 0xB8, 0x7E, 0x01, 0x80], [1, -1, 448, 2**-9, 0])),
    ("e4m3fnuz in and out", lambda: in_and_out(T.FLOAT8E4M3FNUZ, np.uint8, [0x40, 0xC0, 0x7F, 1], [1, -1, 240, 2**-10])),
    ("e5m2 in and out", lambda: in_and_out(T.FLOAT8E5M2, np.uint8, [0x3C, 0xBC, 0x7B, 1], [1, -1, 57344, 2**-16])),
    ("e5m2fnuz in and out", lambda: in_and_out(T.FLOAT8E5M2FNUZ, np.uint8, [0x40, 0xC0, 0x7F, 1], [1, -1, 57344, 2**-17])),
    ("bfloat16 in and out", lambda: in_and_out(T.BFLOAT16, np.uint16, [0x3F80, 0xBF80, 0x4049], [1, -1, 3.140625])),
]
for short, number in FLOAT8.items():
    tests += [(f"{short} through", lambda n=number, s=short: through(n, s)), (f"{short} weights", lambda n=number: float8_weights(n))]
run_tests(on_this_machine(tests, {"weights of 8 bits", "weights of 9 bits", "convolution's weights", "grouped weights", "int4 per axis"}))
