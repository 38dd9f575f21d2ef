"""Operators of ONNX's own domain in forms that built-in networks lack: Resize with crop and antialias, sequences, values without
elements, training's BatchNormalization, TfIdfVectorizer; against ONNX Runtime. SEER_TEST: timeout=300"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import familyseer, reference, run_ours, run_tests

F, I32, I64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
rng = np.random.default_rng(5)


def const(name, value, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def check(nodes, feeds, outputs, constants=(), opset=18, atol=1e-5, rtol=1e-4):
    kinds = {np.float32: F, np.int32: I32, np.int64: I64, np.uint8: TensorProto.UINT8}
    inputs = [helper.make_tensor_value_info(n, kinds[x.dtype.type], [f"{n}{k}" for k in range(x.ndim)]) for n, x in feeds.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(n, k, None) for n, k in outputs.items()],
                              list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    want = reference(model, feeds)
    sizes = ",".join(f"{n}:{'x'.join(map(str, x.shape))}" for n, x in feeds.items())
    with tempfile.TemporaryDirectory() as tmp:
        path, folder, out = (os.path.join(tmp, n) for n in ("m.onnx", "lib", "out"))
        os.mkdir(out)
        onnx.save(model, path)
        familyseer("compile", path, "-o", folder, "-O1", "--input-shapes", sizes)
        familyseer("verify", os.path.join(folder, "model.so"), path, "--input-shapes", sizes)
        got = run_ours(folder, feeds, out, 2)
    for name, y in want.items():
        assert got[name].shape == y.shape and got[name].dtype == y.dtype, f"{name}: {got[name].dtype}{got[name].shape}, must be {y.dtype}{y.shape}"
        np.testing.assert_allclose(got[name], y, rtol=rtol, atol=atol)


def resize(sizes=None, scales=None, roi=None, shape=(1, 2, 7, 9), x=None, **attrs):
    x = rng.standard_normal(shape).astype(np.float32) if x is None else x
    given = [("roi", roi, np.float32), ("scales", scales, np.float32), ("sizes", sizes, np.int64)]
    constants = [const(n, v, t) for n, v, t in given if v is not None]
    node = helper.make_node("Resize", ["x", *(n if v is not None else "" for n, v, _ in given)], ["y"], **attrs)
    check([node], {"x": x}, {"y": helper.np_dtype_to_tensor_dtype(x.dtype)}, constants)


def crops():
    for mode in ("nearest", "linear"):
        for roi in ([0, 0, 0.2, 0.1, 1, 1, 0.9, 0.7], [0, 0, -0.3, 0.4, 1, 1, 0.6, 1.5]):
            resize(sizes=[1, 2, 5, 6], roi=roi, mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.5)


def antialias():
    for mode in ("linear", "cubic"):
        for sizes in ([1, 2, 3, 4], [1, 2, 2, 12], [1, 2, 5, 2]):
            resize(sizes=sizes, mode=mode, antialias=1, exclude_outside=1)
        resize(scales=[1, 1, 0.4, 0.6], mode=mode, antialias=1, exclude_outside=1)
    resize(scales=[1, 1, 0.5, 1], x=rng.integers(0, 256, (1, 2, 2, 40)).astype(np.uint8), mode="linear", antialias=1)  # halves go up


def policies():
    for policy in ("not_larger", "not_smaller"):
        resize(sizes=[12, 20], axes=[2, 3], mode="linear", keep_aspect_ratio_policy=policy)
        resize(sizes=[3, 3], axes=[3, 2], mode="linear", antialias=1, keep_aspect_ratio_policy=policy)


def sequences():
    x = rng.standard_normal((6, 4)).astype(np.float32)
    body = helper.make_graph([helper.make_node("Mul", ["e", "w"], ["s"]), helper.make_node("Add", ["s", "k"], ["r"])], "body",
                             [helper.make_tensor_value_info(n, F, None) for n in ("e", "w")], [helper.make_tensor_value_info("r", F, None)])
    nodes = [helper.make_node("SplitToSequence", ["x", "two"], ["parts"], axis=0),
             helper.make_node("SequenceMap", ["parts", "w"], ["mapped"], body=body),
             helper.make_node("SequenceInsert", ["mapped", "z", "one"], ["more"]),
             helper.make_node("SequenceErase", ["more", "zero"], ["fewer"]),
             helper.make_node("SequenceAt", ["fewer", "last"], ["a"]),
             helper.make_node("SequenceLength", ["fewer"], ["n"]),
             helper.make_node("ConcatFromSequence", ["fewer"], ["y"], axis=0)]
    scalars = [const("two", 2), const("one", 1), const("zero", 0), const("last", -1), const("k", 0.5, np.float32)]
    check(nodes, {"x": x, "w": np.float32([1, 2, 3, 4]), "z": np.zeros((1, 4), np.float32)}, {"y": F, "a": F, "n": I64}, scalars)


def empty():
    x, z = np.zeros((0, 4), np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    nodes = [helper.make_node("Concat", ["x", "z"], ["y"], axis=0), helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("MatMul", ["a", "x"], ["m"]), helper.make_node("ReduceSum", ["x", "zero"], ["s"]),
             helper.make_node("Split", ["z", "parts"], ["p", "q"], axis=0), helper.make_node("Neg", ["q"], ["t"])]
    check(nodes, {"x": x, "z": z, "a": np.zeros((2, 0), np.float32)}, dict.fromkeys(["y", "r", "m", "s", "p", "t"], F),
          [const("zero", [0]), const("parts", [0, 3])])


def none():
    """Results without elements have a shape, whatever there would be to choose, resize or repeat."""
    x, picture = np.zeros((0, 0), np.float32), np.zeros((0, 4, 5, 6), np.float32)
    nodes = [helper.make_node("ArgMax", ["x"], ["a"], axis=0, keepdims=0), helper.make_node("ArgMin", ["x"], ["b"], axis=1),
             helper.make_node("Resize", ["p", "", "scales"], ["r"], mode="linear"), helper.make_node("Resize", ["p", "", "", "sizes"], ["s"]),
             helper.make_node("GatherElements", ["x", "places"], ["g"], axis=1), helper.make_node("Pad", ["x", "pads"], ["e"], mode="reflect"),
             helper.make_node("Slice", ["p", "low", "none", "third"], ["flat"]), helper.make_node("GlobalMaxPool", ["flat"], ["m"])]
    check(nodes, {"x": x, "p": picture}, {"a": I64, "b": I64, **dict.fromkeys(["r", "s", "g", "e", "m"], F)},
          [const("scales", [1, 1, 2, 0.5], np.float32), const("sizes", [0, 4, 7, 3]), const("places", np.zeros((0, 0))), const("pads", [0] * 4),
           const("low", [0]), const("none", [0]), const("third", [2])])


def batch_norm():
    feeds = {"x": rng.standard_normal((4, 3, 5)).astype(np.float32), **{n: rng.random(3).astype(np.float32) for n in "sbmv"}}
    node = helper.make_node("BatchNormalization", ["x", *"sbmv"], ["y", "mean", "var"], training_mode=1, momentum=0.8)
    check([node], feeds, {"y": F, "mean": F, "var": F})


def tf_idf():
    x = rng.integers(1, 5, (3, 12)).astype(np.int32)
    for mode in ("TF", "IDF", "TFIDF"):
        for low, high, skip in ((1, 1, 0), (1, 2, 3), (2, 3, 1), (3, 3, 5)):
            node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode=mode, min_gram_length=low, max_gram_length=high, max_skip_count=skip,
                                    ngram_counts=[0, 3, 9], ngram_indexes=[4, 1, 0, 3, 2, 6, 5, 7], weights=[0.5, 2, 3, 4, 5, 6, 7, 8],
                                    pool_int64s=[1, 2, 3, 1, 2, 3, 3, 4, 1, 2, 3, 4, 1, 1, 2])
            check([node], {"x": x}, {"y": F})


def inverse_angles():
    """Close to ONNX Runtime's, at the ends and far out too."""
    ends = np.float32([-1, -0.999, -0.5, -1e-3, 0, 1e-3, 0.25, 0.5, 0.75, 0.99999, 1])
    x = np.concatenate([ends, rng.uniform(-1, 1, 500).astype(np.float32)])
    far = np.concatenate([x, np.float32([2.5, -40, 1e7, -3e20, 3e38, np.inf, -np.inf])])
    for op, values in (("Asin", x), ("Acos", x), ("Atan", far)):
        check([helper.make_node(op, ["x"], ["y"])], {"x": values}, {"y": F}, rtol=6e-7, atol=6e-7)


def shrunken_integers():
    x = rng.integers(-9, 10, (5, 7)).astype(np.int32)
    check([helper.make_node("Shrink", ["x"], ["y"], bias=1.5, lambd=2.5)], {"x": x}, {"y": I32})


def columns_with_nan():
    """What is not finite stays in its places."""
    x = rng.standard_normal((2, 12, 15)).astype(np.float32)
    x[0, 3, 4], x[1, 7, 2] = np.nan, np.inf
    for pads, sizes in ((None, [5, 6]), ([1, 0, 1, 2], [3, 4])):
        node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"], pads=pads, dilations=[1, 1])
        check([node], {"x": x}, {"y": F}, [const("image", sizes), const("block", [3, 2])])


def halves_that_are_chosen():
    """x > c ? x : c of f16 is a maximum: the compiler would call one that is not there."""
    x = rng.standard_normal((3, 37)).astype(np.float32)
    for c in (0, 0.25, -0.5):
        for op in ("Greater", "Less"):
            nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16), helper.make_node("Transpose", ["h"], ["t"]),
                     helper.make_node(op, ["t", "c"], ["g"]), helper.make_node("Where", ["g", "t", "c"], ["w"]),
                     helper.make_node("Transpose", ["w"], ["s"]), helper.make_node("Cast", ["s"], ["y"], to=F)]
            check(nodes, {"x": x}, {"y": F}, [const("c", c, np.float16)], rtol=0, atol=0)


def sum_of_infinite_powers():
    x = rng.standard_normal((3, 9)).astype(np.float32)
    x[0, 4], x[1] = np.inf, -np.inf
    check([helper.make_node("ReduceLogSumExp", ["x", "axes"], ["y"])], {"x": x}, {"y": F}, [const("axes", [1])])


def mel():
    node = helper.make_node("MelWeightMatrix", ["bins", "length", "rate", "low", "high"], ["w"])
    scalars = [const("bins", 20), const("length", 128), const("rate", 8000), const("low", 20, np.float32), const("high", 3800, np.float32)]
    x = rng.standard_normal((2, 65)).astype(np.float32)
    check([node, helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x}, {"y": F}, scalars)


def newest():
    """What operator sets from 22 on brought. QuantizeLinear, DequantizeLinear: the attributes that they got."""
    x = rng.standard_normal((2, 5, 8)).astype(np.float32)
    for alpha in ({}, {"alpha": 1.5}, {"alpha": -0.5}):
        check([helper.make_node("Swish", ["x"], ["y"], **alpha)], {"x": x}, {"y": F}, opset=24)
    for axis, shape in ((-1, [8]), (1, [5, 8]), (-2, [5, 8]), (0, [2, 5, 8])):
        node = helper.make_node("RMSNormalization", ["x", "w"], ["y"], axis=axis, epsilon=0.1)
        check([node], {"x": x}, {"y": F}, [const("w", rng.standard_normal(shape), np.float32)], opset=23)
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], precision=1),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], output_dtype=TensorProto.FLOAT16)]
    check(nodes, {"x": x}, {"y": TensorProto.FLOAT16}, [const("s", 0.02, np.float32), const("z", 3, np.uint8)], opset=23)
    for opset in (22, 25, 28):
        check([helper.make_node("Identity", ["x"], ["y"])], {"x": x}, {"y": F}, opset=opset, rtol=0, atol=0)


run_tests([("newest", newest), ("crops", crops), ("antialias", antialias), ("policies", policies), ("sequences", sequences), ("empty", empty), ("none", none),
           ("batch norm", batch_norm), ("tf-idf", tf_idf), ("mel", mel), ("inverse angles", inverse_angles),
           ("shrunken integers", shrunken_integers), ("columns with NaN", columns_with_nan), ("halves that are chosen", halves_that_are_chosen),
           ("infinite powers", sum_of_infinite_powers)])
