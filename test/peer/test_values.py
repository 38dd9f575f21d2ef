"""Operators in forms that few networks have, many sweeps in one model each: outputs besides the first, integers, windows; against
ONNX Runtime. SEER_TEST: timeout=400"""
import itertools

import numpy as np

from nodes import Nodes, refused
from peer import run_tests

rng = np.random.default_rng(12)


def random(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def max_pool_indices():
    """Ties, too: few different integers. Of -inf alone there is no largest, and NaN are none."""
    nodes = Nodes(12)
    for x in (random(2, 3, 7, 9), rng.integers(-2, 3, (2, 2, 8, 5)).astype(np.float32), rng.integers(0, 9, (1, 3, 6, 7)).astype(np.uint8),
              random(1, 1, 1, 1)):
        for order in (0, 1):
            small = x.shape[2] == 1
            nodes.add("MaxPool", x, outputs=2, kernel_shape=[1, 1] if small else [3, 2], storage_order=order, strides=[2, 1])
            if not small:
                nodes.add("MaxPool", x, outputs=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], storage_order=order)
                nodes.add("MaxPool", x, outputs=2, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, storage_order=order)
                nodes.add("MaxPool", x, outputs=2, kernel_shape=[2, 2], dilations=[1 + order, 1], auto_pad="VALID" if order else "SAME_UPPER")
    line, volume = random(2, 3, 11), random(1, 2, 5, 4, 6)
    nodes.add("MaxPool", line, outputs=2, kernel_shape=[3], strides=[2], pads=[1, 1])
    for order in (0, 1):
        nodes.add("MaxPool", volume, outputs=2, kernel_shape=[2, 3, 2], pads=[1, 1, 0, 0, 1, 1], storage_order=order)
    nodes.check(rtol=0, atol=0)


def dropout_mask():
    x = random(3, 5)
    for opset in (7, 10):
        nodes = Nodes(opset)
        nodes.add("Dropout", x, outputs=2, ratio=0.3)
        nodes.check()
    nodes = Nodes(13)
    nodes.add("Dropout", x, outputs=2)
    nodes.add("Dropout", x, np.float32(0.4), np.bool_(False), outputs=2, constants=(1, 2))
    nodes.add("Dropout", x, np.float32(0), np.bool_(True), outputs=2, constants=(1, 2))
    nodes.check()
    refused("training_mode", 13, "Dropout", x, np.float32(0.4), np.bool_(True), constants=(1, 2), outputs=2)


def reduce_integers():
    """Means and roots of integers are cut off toward zero."""
    nodes, old = Nodes(18), Nodes(12)
    means = ("ReduceMean", "ReduceL2", "ReduceL1", "ReduceSumSquare", "ReduceProd")
    for dtype in (np.int32, np.int64):
        x, positive = rng.integers(-9, 10, (3, 4, 7)).astype(dtype), rng.integers(1, 10, (2, 5)).astype(dtype)
        for op, axes in itertools.product(means, ([0], [1, -1], [0, 1, 2])):
            if op != "ReduceProd" or len(axes) < 3:
                nodes.add(op, x, np.array(axes), constants=(1,), keepdims=len(axes) % 2)
                old.add(op, x, axes=axes)
        nodes.add("ReduceLogSum", positive, np.array([1]), constants=(1,))
        nodes.add("ReduceMean", x, np.array([], np.int64), constants=(1,), noop_with_empty_axes=1)
    nodes.check(rtol=0, atol=0)
    old.check(rtol=0, atol=0)
    nodes = Nodes(18)  # ONNX Runtime cuts off each power, too, not the logarithm alone
    x = rng.integers(-4, 5, (5, 6)).astype(np.int32)
    want = np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True)).astype(np.int32)
    nodes.add("ReduceLogSumExp", x, np.array([1]), constants=(1,), want=[want])
    nodes.check(rtol=0, atol=0)


def reduce_bools():
    x, nodes = rng.integers(0, 2, (3, 4, 5)) > 0, Nodes(20)
    for op, axes in itertools.product(("ReduceMax", "ReduceMin"), ([0], [1, 2], [0, 1, 2])):
        nodes.add(op, x, np.array(axes), constants=(1,))
    nodes.check()
    refused("is bool, must be numbers", 13, "ReduceL1", x)
    refused("is bool, must be numbers", 13, "ReduceMean", x)


run_tests([("MaxPool indices", max_pool_indices), ("Dropout mask", dropout_mask), ("Reduce integers", reduce_integers),
           ("Reduce bools", reduce_bools)])
