"""Pooling against ONNX Runtime: kernels, strides, paddings, dilations, ceil_mode and count_include_pad in 1 to 3 dimensions. SEER_TEST: timeout=600

What a window of ceil_mode has beyond the trailing padding counts nowhere.
"""
import itertools
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import check_model, compare, familyseer, reference, run_ours, run_tests

SPATIAL = {1: [11], 2: [7, 10], 3: [5, 6, 7]}


def fits(kernel, stride, pads, dilation, size):
    """ONNX Runtime takes no padding as large as the kernel; a window that is larger than its padded input is refused."""
    return all(p < kernel for p in pads) and (kernel - 1) * dilation + 1 <= size + sum(pads)


def sweep(n, average, opset):
    """One model, an output for each way to pool."""
    size, nodes, k = SPATIAL[n], [], 0
    ways = itertools.product((1, 2, 3, 4), (1, 2, 3), ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1)), (1, 2), (0, 1), (0, 1))
    for kernel, stride, pads, dilation, ceil, counts in ways:
        k += 1
        if not fits(kernel, stride, pads, dilation, min(size)) or (not average and counts) or (dilation > 1 and average and opset < 19):
            continue
        if k % (1 if n == 1 else 5 if n == 2 else 11):
            continue
        more = {"dilations": [dilation] * n} if dilation > 1 else {}
        if average:
            more["count_include_pad"] = counts
        if ceil or opset >= 10:
            more["ceil_mode"] = ceil
        nodes.append(helper.make_node("AveragePool" if average else "MaxPool", ["x"], [f"y{len(nodes)}"], kernel_shape=[kernel] * n,
                                      strides=[stride] * n, pads=[pads[0]] * n + [pads[1]] * n, **more))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "pools", [value("x", TensorProto.FLOAT, [1, 2, *size])],
                              [value(x.output[0], TensorProto.FLOAT, None) for x in nodes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    x = np.random.default_rng(n).standard_normal([1, 2, *size]).astype(np.float32)
    check_model("pools", model, {"x": x}, threads=(1,), rtol=1e-5, check=False, discriminate=False)


def skipping():
    """SAME with strides above the kernel: no padding, as ONNX's shape inference, TensorFlow and ONNX Runtime's Conv say (its pools
    begin inside the input, or fail). So an average is a convolution with equal weights, and a window of one element picks."""
    value, f32 = helper.make_tensor_value_info, TensorProto.FLOAT
    x = np.random.default_rng(4).standard_normal([1, 1, 9, 10]).astype(np.float32)
    ways = [((1, 1), (3, 2), "SAME_UPPER"), ((2, 1), (4, 3), "SAME_LOWER"), ((1, 2), (3, 3), "SAME_UPPER"), ((1, 1), (3, 4), "SAME_LOWER")]

    def model(pools):
        nodes, weights, outs = [helper.make_node("Abs", ["x"], ["size"])], [], []
        for kernel, strides, pad in ways:
            given = {"kernel_shape": kernel, "strides": strides, "auto_pad": pad}
            weights.append(numpy_helper.from_array(np.full([1, 1, *kernel], 1 / np.prod(kernel), np.float32), f"w{len(weights)}"))
            ops = [("AveragePool", {"count_include_pad": 1})] + ([("MaxPool", {}), ("LpPool", {"p": 1})] if kernel == (1, 1) else [])
            for op, more in ops:
                outs.append(f"y{len(outs)}")
                at = "x" if op != "LpPool" else "size"
                nodes.append(helper.make_node(op, [at], outs[-1:], **given, **more) if pools else
                             helper.make_node("Conv", [at, weights[-1].name], outs[-1:], **given))
        graph = helper.make_graph(nodes, "skip", [value("x", f32, x.shape)], [value(n, f32, None) for n in outs], [] if pools else weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8)

    want = reference(model(False), {"x": x})
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model(True), os.path.join(tmp, "m.onnx"))
        familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", tmp, "-O1")
        compare("skipping", run_ours(tmp, {"x": x}, tmp, 1), want, rtol=1e-6)


run_tests([("skipping", skipping)] + [(f"{'average' if average else 'max'} {n}d opset {opset}", lambda n=n, a=average, o=opset: sweep(n, a, o))
           for average in (True, False) for n, opset in ((1, 11), (1, 19), (2, 11), (2, 19), (3, 11), (3, 19))])
