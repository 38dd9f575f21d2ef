"""Operators of com.microsoft that exporters and ONNX Runtime's optimiser write, against ONNX Runtime. SEER_TEST: timeout=300"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from peer import check_model, run_tests

F, U, I32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT32
rng = np.random.default_rng(7)


def weight(name, *shape, dtype=np.float32, low=0, high=256):
    data = rng.standard_normal(shape) if dtype == np.float32 else rng.integers(low, high, shape)
    return numpy_helper.from_array(np.asarray(data, dtype), name)


def scalar(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.array(value, dtype), name)


def single(op, inputs, constants=(), order=None, domain="com.microsoft", out=F, rtol=1e-4, feeds=None, **attrs):
    """One node; inputs: name -> (type, shape)."""
    order = order or [*inputs, *(c.name for c in constants)]
    node = helper.make_node(op, order, ["y"], domain=domain, **attrs)
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info(n, k, s) for n, (k, s) in inputs.items()],
                              [helper.make_tensor_value_info("y", out, None)], list(constants))
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("com.microsoft", 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    given = {n: (rng.standard_normal(s).astype(np.float32) if k == F else
                 rng.integers(0, 256, s).astype(np.uint8) if k == U else np.ones(s, np.int32)) for n, (k, s) in inputs.items()}
    given.update(feeds or {})
    check_model(op, model, given, levels=["-O1"], threads=(2,), rtol=rtol, check=False)


X = {"x": (F, [2, 5, 8])}
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
QUANT = [scalar("s", 0.02), scalar("z", 128, np.uint8)]
PAIR = {"a": (U, [2, 3, 4]), "b": (U, [2, 3, 4])}
IMAGE = {"x": (U, [1, 6, 6, 4])}
TWO = ["a", "s", "z", "b", "s", "z", "t", "z"]
UNIT = 1.01 / 255  # a quantised answer may be off by one

run_tests([
    ("FusedMatMul", lambda: single("FusedMatMul", {"a": (F, [2, 4, 3]), "b": (F, [2, 5, 4])}, transA=1, transB=1, alpha=0.5)),
    ("Gelu", lambda: single("Gelu", X)),
    ("BiasGelu", lambda: single("BiasGelu", X, [weight("b", 8)])),
    ("FastGelu", lambda: single("FastGelu", X, [weight("b", 8)])),
    ("QuickGelu", lambda: single("QuickGelu", X, alpha=1.5)),
    ("SkipLayerNormalization", lambda: single("SkipLayerNormalization", {**X, "skip": (F, [2, 5, 8])},
                                              [weight("g", 8), weight("b", 8), weight("c", 8)])),
    ("SkipSimplifiedLayerNormalization", lambda: single("SkipSimplifiedLayerNormalization", {**X, "skip": (F, [2, 5, 8])}, [weight("g", 8)])),
    ("SimplifiedLayerNormalization", lambda: single("SimplifiedLayerNormalization", X, [weight("g", 8)], domain="", axis=-1)),
    ("Attention", lambda: single("Attention", {**X, "mask": (I32, [2, 5])}, [weight("w", 8, 24), weight("b", 24)],
                                 order=["x", "w", "b", "mask"], feeds={"mask": MASK}, num_heads=2)),
    ("Attention causal", lambda: single("Attention", X, [weight("w", 8, 24), weight("b", 24)], num_heads=2, unidirectional=1)),
    ("MultiHeadAttention", lambda: single("MultiHeadAttention", {"q": (F, [2, 5, 8]), "k": (F, [2, 7, 8]), "v": (F, [2, 7, 8])},
                                          [weight("b", 24)], num_heads=2)),
    ("DynamicQuantizeMatMul", lambda: single("DynamicQuantizeMatMul", {"x": (F, [3, 8])},
                                             [weight("w", 8, 6, dtype=np.uint8), scalar("s", 0.01), scalar("z", 120, np.uint8), weight("b", 6)])),
    ("QLinearAdd", lambda: single("QLinearAdd", PAIR, QUANT + [scalar("t", 0.04)], order=TWO, out=U, rtol=UNIT)),
    ("QLinearMul", lambda: single("QLinearMul", PAIR, QUANT + [scalar("t", 0.06)], order=TWO, out=U, rtol=UNIT)),
    ("QLinearSigmoid", lambda: single("QLinearSigmoid", {"a": (U, [2, 9])}, QUANT + [scalar("t", 1 / 256), scalar("zero", 0, np.uint8)],
                                      order=["a", "s", "z", "t", "zero"], out=U, rtol=UNIT)),
    ("QLinearGlobalAveragePool", lambda: single("QLinearGlobalAveragePool", IMAGE, QUANT, order=["x", "s", "z", "s", "z"], out=U,
                                                rtol=UNIT, channels_last=1)),
    ("NhwcMaxPool", lambda: single("NhwcMaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], out=U)),
])
