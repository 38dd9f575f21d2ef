"""Cases of operators that sample images and regions, and other rare ones."""
import numpy as np
from onnx import TensorProto as T

import data
from anchors import F, _extents, _window


def grid_sample(m):
    opset = m.choose_opset(16)
    elem = T.FLOAT
    spatial = m.pick([2, 2, 3]) if opset >= 20 else 2
    n, to = m.whole(1, 2), [m.size(9) for _ in range(spatial)]
    bounds = {"lo": -100, "hi": 100, "finite": True}
    x = m.input([n, m.whole(1, 3)] + [min(9, d) for d in _extents(m, spatial)], elem, **bounds)
    modes = ["bilinear", "nearest", "bicubic"] if opset < 20 else ["linear", "nearest"] + (["cubic"] if spatial == 2 else [])
    mode = m.pick(modes)
    grid = m.input([n] + to + [spatial], elem, lo=-1.3, hi=1.3, finite=True)
    m.out(m.node([x, grid], mode=mode, padding_mode=m.pick([None, "zeros", "border", "reflection"]), align_corners=m.pick([None, 0, 1])))
    m.judged("conditioned", 32, 64)


def roi_align(m):
    opset = m.choose_opset(10)
    h, w, n = m.whole(4, 12), m.whole(4, 12), m.size(5)
    x = m.input([m.whole(1, 2), m.whole(1, 3), h, w], T.FLOAT, lo=-10, hi=10, finite=True)
    batch = m.case.inputs[-1][2][0]
    rois = []
    for _ in data.SETS:
        corner = m.rng.uniform(0, 6, (n, 2))
        rois.append(np.concatenate([corner, corner + m.rng.uniform(0.5, 6, (n, 2))], 1).astype(np.float32))
    given = {"coordinate_transformation_mode": m.pick([None, "half_pixel", "output_half_pixel"])} if opset >= 16 else {}
    m.out(m.node([x, m.fed(rois, T.FLOAT), m.fed([m.rng.integers(0, batch, n) for _ in data.SETS], T.INT64)], mode=m.pick([None, "avg", "max"]),
                 output_height=m.whole(1, 3), output_width=m.whole(1, 3), sampling_ratio=m.whole(0, 3), spatial_scale=m.pick([None, 0.5]), **given))
    m.judged("conditioned", 32, 64)


def max_roi_pool(m):
    m.choose_opset(last=21)  # ONNX Runtime lacks 22, which takes more types and is the same else
    n = m.size(5)
    x = m.input([2, m.whole(1, 3), 12, 12], T.FLOAT, finite=True)
    rois = [np.concatenate([m.rng.integers(0, 2, (n, 1)), np.sort(m.rng.integers(0, 12, (n, 2, 2)), axis=1).reshape(n, 4)], 1).astype(np.float32) for _ in data.SETS]
    m.out(m.node([x, m.fed(rois, T.FLOAT)], pooled_shape=[m.whole(1, 4), m.whole(1, 4)], spatial_scale=m.pick([None, 0.5])))


def lp_pool(m):
    opset = m.choose_opset(last=21)  # ONNX Runtime lacks 22, which takes more types and is the same else
    extents = _extents(m, m.pick([1, 2, 2, 3]))
    given = _window(m, len(extents), extents, opset, dilate=opset >= 18, pool=True)
    m.out(m.node([m.input([m.whole(1, 2), m.whole(1, 5)] + extents, T.FLOAT)], p=m.pick([None, 1, 2, 3]), **given))
    m.judged("conditioned", 32)


def global_lp_pool(m):
    m.choose_opset(last=21)  # as LpPool
    m.out(m.node([m.input([m.whole(1, 2), m.size(17)] + _extents(m, 2), T.FLOAT)], p=m.pick([None, 1, 2, 3])))
    m.judged("conditioned", 32)


def deform_conv(m):
    m.choose_opset(19)
    h, w, c, n = m.whole(3, 8), m.whole(3, 8), m.whole(1, 3), m.whole(1, 4)
    kernel = [m.whole(1, 3), m.whole(1, 3)]
    oh, ow = h - kernel[0] + 1, w - kernel[1] + 1
    own = {"lo": -3, "hi": 3, "finite": True}
    inputs = [m.input([1, c, h, w], T.FLOAT, **own), m.weight([n, c] + kernel, T.FLOAT, **own), m.input([1, 2 * kernel[0] * kernel[1], oh, ow], T.FLOAT, **own)]
    if m.chance(0.5):
        inputs += [m.weight([n], T.FLOAT, **own)]
    m.out(m.node(inputs, kernel_shape=kernel))
    m.judged("conditioned", 64, 256)


def det(m):
    m.choose_opset(11)
    n = m.whole(1, 4)
    m.out(m.node([m.input(m.shape(0, 2, 20) + [n, n], T.FLOAT, lo=-3, hi=3, finite=True)]))
    m.judged("conditioned", 64, 64)


def eye_like(m):
    m.choose_opset()
    types = (T.FLOAT, T.DOUBLE, T.INT32, T.INT64)
    m.out(m.node([m.input([m.size(17), m.size(17)], m.pick(types))], k=m.pick([None, -1, 2]), dtype=m.pick([None, int(T.FLOAT), int(T.INT64)])))


def max_unpool(m):
    m.choose_opset(9)
    c, h, w = m.whole(1, 3), m.size(9), m.size(9)
    index = [(np.arange(c)[:, None, None] * 4 * h * w + (2 * np.arange(h)[:, None]) * 2 * w + 2 * np.arange(w)).reshape(1, c, h, w) + m.whole(0, 1)] * 2
    m.out(m.node([m.input([1, c, h, w], T.FLOAT), m.fed(index, T.INT64)], kernel_shape=[2, 2], strides=[2, 2]))


def random(m):
    """What leaves nothing to chance: a scale of 0, ends that are one, probabilities of 0 and 1, a class that has all."""
    m.choose_opset(15 if m.op_type == "Bernoulli" else 7)
    shape = m.shape(1, 3)
    if m.op_type == "Bernoulli":
        m.out(m.node([m.fed([m.rng.integers(0, 2, shape).astype(np.float32) for _ in data.SETS], T.FLOAT)]))
        return
    if m.op_type == "Multinomial":
        n, c = m.size(9), m.size(17)
        logits = [np.where(np.arange(c) == m.rng.integers(0, c, (n, 1)), 0, -1e4).astype(np.float32) for _ in data.SETS]
        m.out(m.node([m.fed(logits, T.FLOAT)], sample_size=m.whole(1, 5)))
        return
    given = {"mean": 1.5, "scale": 0.0} if "Normal" in m.op_type else {"low": 0.25, "high": 0.25}
    if m.op_type.endswith("Like"):
        m.out(m.node([m.input(shape, T.FLOAT)], **given))
    else:
        y = m.node([], shape=shape, **given)
        m.out(m.node([m.input(shape, T.FLOAT), y], op="Add"))
    m.judged("close", 2)


def experimental(**attributes):
    """What ONNX Runtime has up to opset 9."""
    def make(m):
        m.case.opset = m.whole(7, 9)
        m.out(m.node([m.input([m.whole(1, 2), m.size(9), m.size(17), m.size(17)], T.FLOAT, finite=True, lo=-30, hi=30)],
                     **{n: f(m) for n, f in attributes.items()}))
        m.judged("conditioned", 16, 16)
    return make


def image_scaler(m):
    m.case.opset = m.whole(7, 9)
    c = m.size(9)
    m.out(m.node([m.input([m.whole(1, 2), c, m.size(17), m.size(17)], T.FLOAT)], scale=1.5, bias=[0.25 * k - 1 for k in range(c)]))
    m.judged("conditioned", 4, 8)


def crop(m):
    m.case.opset = m.whole(7, 9)
    m.out(m.node([m.input([1, 2, m.whole(6, 17), m.whole(6, 17)], T.FLOAT)], border=[m.whole(0, 2) for _ in range(4)]))


def _of(lo, hi):
    return lambda m: float(np.float32(m.rng.uniform(lo, hi)))


MAKERS = {
    "Affine": experimental(alpha=_of(0.5, 2), beta=_of(-1, 1)), "ScaledTanh": experimental(alpha=_of(0.5, 2), beta=_of(0.1, 1)),
    "ParametricSoftplus": experimental(alpha=_of(0.5, 2), beta=_of(0.1, 1)), "ImageScaler": image_scaler, "Crop": crop,
    "GridSample": grid_sample, "RoiAlign": roi_align, "MaxRoiPool": max_roi_pool, "LpPool": lp_pool, "GlobalLpPool": global_lp_pool,
    "DeformConv": deform_conv, "Det": det, "EyeLike": eye_like, "MaxUnpool": max_unpool, **{op: random for op in ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")},
}
