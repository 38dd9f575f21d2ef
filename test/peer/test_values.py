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


def ignored_labels():
    """What an ignored label would have picked counts nothing, infinity neither."""
    x, labels = np.log(np.abs(random(6, 4))), np.array([1, 2, 1, 3, 0, 2])
    x[labels == 1, 0] = -np.inf
    for opset in (12, 13):
        nodes = Nodes(opset)
        for reduction in ("none", "sum", "mean"):
            nodes.add("NegativeLogLikelihoodLoss", x, labels, reduction=reduction, ignore_index=1)
            nodes.add("SoftmaxCrossEntropyLoss", x, labels, np.abs(random(4)), reduction=reduction, ignore_index=1)
        nodes.check()


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


def max_unpool():
    """Of a pooling's own indices, where windows meet and where they overlap, and of any."""
    nodes = Nodes(11)
    for x, attrs in ((random(2, 3, 8, 6), {"kernel_shape": [2, 2], "strides": [2, 2]}), (random(1, 2, 9, 7), {"kernel_shape": [3, 3], "strides": [2, 2]}),
                     (random(1, 1, 11), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]})):
        pooled = nodes.add("MaxPool", x, outputs=2, **attrs)
        nodes.add("MaxUnpool", pooled, pooled[:-1] + "1", **attrs)
    x = random(1, 2, 3, 4)
    nodes.add("MaxUnpool", x, rng.permutation(2 * 6 * 8)[: x.size].reshape(x.shape), kernel_shape=[2, 2], strides=[2, 2])
    nodes.check(rtol=0, atol=0)
    nodes = Nodes(11)  # ONNX Runtime takes the indices for those of output_shape, ONNX does not
    want = np.zeros((1, 1, 5, 5), np.float32)
    want[0, 0, [1, 1, 3, 3], [1, 3, 1, 3]] = [1, 2, 3, 4]
    nodes.add("MaxUnpool", np.float32([[[[1, 2], [3, 4]]]]), np.array([[[[5, 7], [13, 15]]]]), np.array([1, 1, 5, 5]), constants=(2,),
              kernel_shape=[2, 2], strides=[2, 2], want=[want])
    nodes.check()
    refused("'kernel_shape' is absent", 11, "MaxUnpool", x, np.zeros(x.shape, np.int64))
    refused("must be i64[1,2,3,4]", 11, "MaxUnpool", x, np.zeros((1, 2, 3, 5), np.int64), kernel_shape=[2, 2])


def eye_like():
    nodes = Nodes(13)
    for x, k in itertools.product((random(4, 7), random(7, 3), random(1, 1), rng.integers(0, 9, (5, 5))), (0, 1, -2, 9, -9)):
        nodes.add("EyeLike", x, k=k)
        nodes.add("EyeLike", x, k=k, dtype=7)
    nodes.check(rtol=0, atol=0)
    refused("must have rank 2", 13, "EyeLike", random(2, 3, 4))
    refused("no type that is known", 13, "EyeLike", random(2, 3), dtype=77)


def resize_integers():
    """Cut off toward zero. ONNX Runtime's f32 falls on either side of a whole number, and with channels last it computes with 10 bits."""
    nodes, cut = Nodes(18), Nodes(18)
    for dtype, (low, high) in ((np.uint8, (0, 256)), (np.int8, (-128, 128)), (np.int32, (-1000, 1000))):
        for shape, sizes in (((1, 3, 7, 9), [1, 3, 12, 5]), ((7, 9), [13, 30]), ((1, 2, 4, 5, 6), [1, 2, 7, 3, 9])):
            x = rng.integers(low, high, shape).astype(dtype)
            for mode in ("half_pixel", "align_corners", "asymmetric"):
                nodes.add("Resize", x, None, None, np.array(sizes), constants=(3,), mode="linear", coordinate_transformation_mode=mode)
        flat = np.full((1, 1, 5, 7), high - 1, dtype)  # equal neighbours stay what they are
        for mode in ("linear", "cubic"):
            cut.add("Resize", flat, None, None, np.array([1, 1, 31, 37]), constants=(3,), mode=mode,
                    want=[np.full((1, 1, 31, 37), high - 1, dtype)])
    nodes.check(rtol=0, atol=1, off=0.05)
    cut.check(rtol=0, atol=0)
    refused("is bool, must be numbers", 13, "Resize", np.ones((2, 3), bool), None, None, np.array([4, 5]), constants=(3,), mode="linear")


def random_numbers():
    """Moments, independence, and the same numbers again; of no scale exactly the mean."""
    like, nodes = random(40, 500), Nodes(15)
    shape = {"shape": [200, 100]}
    made = {"normal": nodes.add("RandomNormalLike", like, mean=1.5, scale=2.0), "other": nodes.add("RandomNormalLike", like, mean=1.5, scale=2.0),
            "seeded": nodes.add("RandomNormal", seed=3.0, **shape), "again": nodes.add("RandomNormal", seed=3.0, **shape),
            "more": nodes.add("RandomNormal", seed=4.0, **shape), "uniform": nodes.add("RandomUniform", low=-1.0, high=3.0, **shape),
            "like": nodes.add("RandomUniformLike", like, dtype=11), "mean": nodes.add("RandomNormalLike", like, mean=0.7, scale=0.0),
            "flat": nodes.add("RandomUniformLike", like, low=2.5, high=2.5), "bits": nodes.add("Bernoulli", np.full((200, 100), 0.3, np.float32)),
            "never": nodes.add("Bernoulli", np.zeros((20, 10), np.float32), dtype=9), "always": nodes.add("Bernoulli", np.ones((20, 10), np.float32)),
            "drawn": nodes.add("Multinomial", np.log(np.float32([[1, 2, 5], [3, 0.001, 3]])), sample_size=5000)}
    got = nodes.run()
    assert all(np.array_equal(x, y) for x, y in zip(got.values(), nodes.run().values())), "two libraries give other numbers"
    got = {k: got[name] for k, name in made.items()}
    for k, mean, deviation in (("normal", 1.5, 2), ("other", 1.5, 2), ("seeded", 0, 1), ("more", 0, 1), ("uniform", 1, 4 / 12**0.5), ("like", 0.5, 12**-0.5),
                               ("bits", 0.3, 0.21**0.5)):
        x = got[k].astype(np.float64)
        standard = (x - mean) / deviation
        assert abs(standard.mean()) < 5 / x.size**0.5 and abs(standard.std() - 1) < 0.03, f"{k}: mean {x.mean()}, deviation {x.std()}"
        for shift in (1, 2, 7, 100, 500):  # neighbours, rows
            r = np.corrcoef(x.ravel()[shift:], x.ravel()[:-shift])[0, 1]
            assert abs(r) < 5 / x.size**0.5, f"{k}: correlation {r} at {shift}"
    for k in ("normal", "seeded"):  # a normal distribution in more than its moments
        x = np.sort((got[k].ravel() - got[k].mean()) / got[k].std())
        assert abs((np.abs(x) < 1).mean() - 0.6827) < 0.02 and abs((x**4).mean() - 3) < 0.3, k
    assert got["like"].dtype == np.float64 and got["like"].min() > 0 and got["like"].max() < 1
    assert -1 <= got["uniform"].min() < -0.99 and 2.99 < got["uniform"].max() <= 3
    assert abs(np.corrcoef(got["normal"].ravel(), got["other"].ravel())[0, 1]) < 0.04, "two nodes have one stream"
    assert np.array_equal(got["seeded"], got["again"]) and not np.array_equal(got["seeded"], got["more"])
    assert (got["mean"] == np.float32(0.7)).all() and (got["flat"] == 2.5).all()
    assert not got["never"].any() and got["never"].dtype == bool and got["always"].all()
    for row, p in zip(got["drawn"], ([1 / 8, 2 / 8, 5 / 8], [0.5, 0, 0.5])):
        assert row.dtype == np.int32 and np.abs(np.bincount(row, minlength=3) / 5000 - p).max() < 0.03, row
    refused("must be a float type", 13, "RandomNormalLike", np.ones((2, 3), np.int32), scale=0.0)
    refused("'shape' must be a list", 13, "RandomNormal", mean=1.0)
    refused("'scale' is no number", 13, "RandomNormalLike", like, scale=float("nan"))
    refused("'sample_size' is 0", 13, "Multinomial", random(2, 3), sample_size=0)


def lp_pool():
    nodes = Nodes(18)
    for x, space in ((random(2, 3, 11), 1), (random(2, 3, 7, 9), 2), (random(1, 2, 5, 4, 6), 3), (random(1, 1, 1), 1)):
        for p in (1, 2, 3, 5):
            nodes.add("GlobalLpPool", x, p=p)
            nodes.add("LpPool", x, p=p, kernel_shape=[1 if x.size == 1 else 3] * space)
            if x.size > 1:
                nodes.add("LpPool", x, p=p, kernel_shape=[2] * space, strides=[2] * space, ceil_mode=1)
                nodes.add("LpPool", x, p=p, kernel_shape=[3] * space, strides=[2] * space, pads=[1] * 2 * space)
                nodes.add("LpPool", x, p=p, kernel_shape=[2] * space, dilations=[2] * space)
                nodes.add("LpPool", x, p=p, kernel_shape=[3] * space, strides=[2] * space, auto_pad="SAME_LOWER")
    nodes.check(rtol=1e-4)
    refused("'p' is 0", 18, "LpPool", random(1, 1, 5), kernel_shape=[2], p=0)
    refused("'p' is -3", 18, "GlobalLpPool", random(1, 1, 5), p=-3)


def det():
    """Small and larger ones, batches, rows to exchange, and none that is left."""
    nodes = Nodes(13)
    for shape in ((1, 1), (2, 2), (3, 3), (2, 3, 4, 4), (5, 7, 7), (16, 16)):
        nodes.add("Det", random(*shape))
    singular = random(3, 5, 5)
    singular[1, 2] = 2 * singular[1, 4]
    singular[2, :, 3] = 0
    nodes.add("Det", singular)
    nodes.add("Det", np.eye(4, dtype=np.float32)[[2, 0, 3, 1]])
    nodes.add("Det", np.zeros((2, 2), np.float32))
    nodes.check(rtol=1e-3, atol=1e-3)
    refused("must be [..., n, n]", 13, "Det", random(2, 3))
    refused("matrices of 49 rows, at most 48", 13, "Det", random(49, 49))


def old_forms():
    """What ended with an old opset, or was an experiment."""
    nodes = Nodes(11)
    x = random(2, 3, 4, 5)
    for axis in (0, 1, 2, 3, -1, -2):
        nodes.add("Hardmax", x, axis=axis)
        nodes.add("Softmax", x, axis=axis)
    nodes.check()
    gone = Nodes(7)
    gone.add("ImageScaler", x, bias=[0.5, -1.0, 2.0], scale=0.25)
    gone.add("Affine", x, alpha=1.5, beta=-0.5)
    gone.add("ParametricSoftplus", x, alpha=1.5, beta=0.5)
    gone.add("ScaledTanh", x, alpha=1.5, beta=0.5)
    gone.add("Crop", x, border=[1, 0, 2, 1])
    gone.add("Crop", x, border=[1, 2, 1, 1], scale=[2, 3])
    gone.add("ThresholdedRelu", x, alpha=0.3)
    gone.check()
    refused("'bias' has entries, 2", 7, "ImageScaler", x, bias=[0.5, -1.0])
    refused("of dimension 2, which has 4", 7, "Crop", x, border=[0, 3, 0, 3])
    # ONNX Runtime has statistics of each element with their definition only
    stats = [rng.random((3, 4, 5)).astype(np.float32) for _ in range(4)]
    scale, bias, mean, var = stats
    nodes = Nodes(7)
    nodes.add("BatchNormalization", x, *stats, constants=(1, 2, 3, 4), spatial=0, want=[(x - mean) / np.sqrt(var + 1e-5) * scale + bias])
    nodes.add("BatchNormalization", x, *stats, spatial=0, want=[(x - mean) / np.sqrt(var + 1e-5) * scale + bias])
    nodes.check()
    refused("must have 3 dimensions, of 3 and those behind", 7, "BatchNormalization", x, *(s[:, 0, 0] for s in stats), spatial=0)


run_tests([("MaxPool indices", max_pool_indices), ("Dropout mask", dropout_mask), ("ignored labels", ignored_labels), ("Reduce integers", reduce_integers),
           ("Reduce bools", reduce_bools), ("MaxUnpool", max_unpool),
           ("EyeLike", eye_like), ("Resize integers", resize_integers), ("Random numbers", random_numbers),
           ("LpPool", lp_pool), ("Det", det), ("old forms", old_forms)])
