"""Cases of operators with windows, products, normalisations, recurrences, quantisation, and of networks within networks."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper

import data
from case import NoCase

F = data.FLOATS


# ---- windows
def _window(m, spatial, extents, opset, dilate=True, pool=False):
    """Attributes of a window that fits. Of a pool with SAME strides are not above the kernel: where the padding would be less
    than none, ONNX's shape inference, TensorFlow and ONNX Runtime's Conv have none, and its pools begin inside or fail."""
    kernel = [m.whole(1, min(5, d)) for d in extents]
    strides = [m.whole(1, 3) for _ in extents]
    dilations = [m.pick([1, 1, 2, 3]) if dilate else 1 for _ in extents]
    dilations = [e if (k - 1) * e + 1 <= d else 1 for k, e, d in zip(kernel, dilations, extents)]
    given = {"kernel_shape": kernel, "strides": strides if m.chance(0.7) else None}
    if dilate:
        given["dilations"] = dilations if max(dilations) > 1 or m.chance(0.2) else None
    how = m.pick(["none", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if how == "pads":
        most = [min(k - 1, (k - 1) * e // 2) for k, e in zip(kernel, dilations)]  # ONNX Runtime pads less than a window
        given["pads"] = [m.whole(0, p) for p in most] + [m.whole(0, p) for p in most]
    elif how != "none":
        given["auto_pad"] = how
        if how != "VALID" and max(dilations) > 1:
            given.pop("dilations", None)
        if how != "VALID" and pool and given["strides"]:
            given["strides"] = [min(s, k) for s, k in zip(strides, kernel)]
    return given


def _extents(m, spatial):
    return [m.size({1: 129, 2: 17, 3: 9}[spatial]) for _ in range(spatial)]


def conv(m):
    opset = m.choose_opset()
    elem = m.type("T", F)
    spatial = m.pick([1, 2, 2, 2, 3])
    extents = _extents(m, spatial)
    given = _window(m, spatial, extents, opset)
    group = m.pick([1, 1, 1, 2, 3])
    per = m.pick([1, 2, 3, 4, 8])
    cin, cout = group * per, group * m.pick([1, 2, 3, 5, 8, 16, 17])
    if m.chance(0.25):
        group = cin = m.pick([1, 3, 8, 17])
        cout, per = cin * m.pick([1, 1, 2]), 1
    x = m.input([m.whole(1, 2), cin] + extents, elem)
    w = m.weight([cout, per] + given["kernel_shape"], elem)
    inputs = [x, w] + ([m.weight([cout], elem)] if m.chance(0.5) else [])
    if m.chance(0.2):
        given["kernel_shape"] = None
    m.out(m.node(inputs, group=group if group > 1 or m.chance(0.3) else None, **given))
    m.judged("conditioned")


def conv_transpose(m):
    opset = m.choose_opset()
    elem = m.type("T", F)
    spatial = m.pick([1, 2, 2, 3])
    extents = [min(d, 9) for d in _extents(m, spatial)]
    group, per = m.pick([1, 1, 2]), m.pick([1, 2, 3, 8])
    kernel = [m.whole(1, 4) for _ in extents]
    strides = [m.whole(1, 3) for _ in extents]
    given = {"kernel_shape": kernel, "strides": strides, "group": group}
    if m.chance(0.3):
        given["dilations"] = [m.whole(1, 2) for _ in extents]
    if m.chance(0.4):
        given["pads"] = [m.whole(0, max(0, k // 2)) for k in kernel] * 2
    if m.chance(0.3):
        given["output_padding"] = [m.whole(0, s - 1) for s in strides]
    reach = [s * (d - 1) + (k - 1) * e + 1 - 2 * p for s, d, k, e, p in
             zip(strides, extents, kernel, given.get("dilations", [1] * spatial), given.get("pads", [0] * spatial))]
    if min(reach) < 1:
        raise NoCase("padding takes all of it")
    x = m.input([m.whole(1, 2), group * m.pick([1, 2, 5])] + extents, elem)
    cin = m.case.inputs[-1][2][1]
    w = m.weight([cin, per] + kernel, elem, finite=True)  # (a stride of zeros between times infinity is NaN)
    m.out(m.node([x, w] + ([m.weight([group * per], elem)] if m.chance(0.5) else []), **given))
    m.judged("conditioned")


def pool(average):
    def make(m):
        opset = m.choose_opset()
        elem = m.type("T", (T.FLOAT, T.FLOAT16, T.BFLOAT16) if average else None)
        spatial = m.pick([1, 2, 2, 3])
        extents = _extents(m, spatial)
        given = _window(m, spatial, extents, opset, dilate=opset >= (19 if average else 10), pool=True)
        if opset >= 10 and m.chance(0.4) and "auto_pad" not in given:
            given["ceil_mode"] = 1
        if average and m.chance(0.5):
            given["count_include_pad"] = m.whole(0, 1)
        # (Of NaN a maximum may keep any: ONNX Runtime's windows with dilations lose it, others do not.)
        m.out(m.node([m.input([m.whole(1, 2), m.size(17)] + extents, elem, nan=average)], **given))
        m.judged("conditioned" if average else "exact")
    return make


def global_pool(average):
    def make(m):
        m.choose_opset()
        elem = m.type("T", F)
        m.out(m.node([m.input([m.whole(1, 2), m.size(33)] + _extents(m, m.pick([1, 2, 2, 3])), elem)]))
        m.judged("conditioned" if average else "exact")
    return make


# ---- products
def matmul(m):
    m.choose_opset()
    elem = m.type("T")
    i, j, k = m.size(65), m.size(65), m.size(129)
    own = {} if data.is_float(elem) else {"lo": -9, "hi": 9}
    lead = m.shape(0, 2, 6)
    a, b = m.broadcastable(lead) + [i, k], m.broadcastable(lead) + [k, j]
    if m.chance(0.1):
        a = [k]
    elif m.chance(0.1):
        b = [k]
    m.out(m.node([m.input(a, elem, **own), m.weight(b, elem, **own)]))
    m.judged("conditioned" if data.is_float(elem) else "exact")


def gemm(m):
    opset = m.choose_opset()
    elem = m.type("T")
    i, j, k = m.size(65), m.size(65), m.size(129)
    ta, tb = m.whole(0, 1), m.whole(0, 1)
    own = {} if data.is_float(elem) else {"lo": -9, "hi": 9}
    inputs = [m.input([k, i] if ta else [i, k], elem, **own), m.weight([j, k] if tb else [k, j], elem, **own)]
    if opset < 11 or m.chance(0.6):
        inputs.append(m.weight(m.pick([[i, j], [1, j], [j], [i, 1], [1], []]), elem, **own))
    factor = (lambda: m.pick([None, 0.5, 1.0, 2.0, -1.25])) if data.is_float(elem) else (lambda: m.pick([None, 1.0, 2.0]))
    m.out(m.node(inputs, transA=ta if ta or m.chance(0.3) else None, transB=tb if tb or m.chance(0.3) else None, alpha=factor(), beta=factor()))
    m.judged("conditioned" if data.is_float(elem) else "exact")


EQUATIONS = ["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "ij->ji", "ij->", "ij->i", "ii->i", "ii->", "i,j->ij", "bhid,bhjd->bhij",
             "...ij,...jk->...ik", "ij,jk", "ij,j->i", "i,i->", "ij,jk,kl->il", "abc,cd->abd", "ij,ij->ij", "bi,ijk,bk->bj", "ijk->kji"]


def einsum(m):
    m.choose_opset()
    elem = m.type("T", F + (T.INT32, T.INT64))
    equation = m.pick(EQUATIONS)
    size = {c: m.size(17) for c in "abcdefghijkl"}
    shapes = [[size[c] for c in term.replace("...", "")] for term in equation.split("->")[0].split(",")]
    if "..." in equation:
        shapes = [[3] + s for s in shapes]
    # (Of three operands, what infinity becomes depends on which two meet first.)
    own = {"finite": len(shapes) > 2} if data.is_float(elem) else {"lo": -5, "hi": 5}
    m.out(m.node([m.input(s, elem, **own) for s in shapes], equation=equation))
    m.judged("conditioned" if data.is_float(elem) else "exact")


# ---- normalisations
def batch_norm(m):
    opset = m.choose_opset(7)
    elem = m.type("T", F)
    c = m.size(33)
    shape = [m.whole(1, 3), c] + m.shape(0, 3, 200)
    x = m.input(shape, elem)
    scale, moment = (m.type("T1", F), m.type("T2", F)) if opset >= 15 else (elem, elem)
    p = [m.weight([c], scale, lo=0.2, hi=2), m.weight([c], scale, lo=-1, hi=1), m.weight([c], moment, lo=-1, hi=1), m.weight([c], moment, lo=0.3, hi=2)]
    m.out(m.node([x] + p, epsilon=m.pick([None, 1e-3])))
    m.judged("conditioned", 8, 24)


def lrn(m):
    m.choose_opset()
    elem = m.type("T", F)
    m.out(m.node([m.input([m.whole(1, 2), m.size(33)] + _extents(m, 2), elem, finite=True)], size=m.pick([1, 3, 5]),
                 alpha=m.pick([None, 0.01, 0.5]), beta=m.pick([None, 0.5]), bias=m.pick([None, 2.0])))
    m.judged("conditioned", 12)


def layer_norm(m):
    m.choose_opset(17)
    elem = m.type("T", F)
    shape = m.shape(1, 4)
    axis = m.axis(len(shape))
    own = shape[axis:] if axis < 0 else shape[axis:]
    inputs = [m.input(shape, elem), m.weight(own, elem)] + ([m.weight(own, elem)] if m.chance(0.6) else [])
    m.out(m.node(inputs, axis=axis, epsilon=m.pick([None, 1e-3])))
    m.judged("conditioned", 8, 24)


def instance_norm(m):
    m.choose_opset()
    elem = m.type("T", F)
    c = m.size(17)
    x = m.input([m.whole(1, 2), c] + _extents(m, m.pick([1, 2, 3])), elem)
    scale = m.weight([c], elem, finite=True)  # (ONNX Runtime multiplies x and the mean by it, then subtracts)
    m.out(m.node([x, scale, m.weight([c], elem)], epsilon=m.pick([None, 1e-2])))
    m.judged("conditioned", 8, 24)


def group_norm(m):
    opset = m.choose_opset(18)
    elem = m.type("T", F)
    g, per = m.whole(1, 4), m.whole(1, 5)
    n = g * per if opset >= 21 else g
    stash = {"stash_type": int(T.DOUBLE)} if elem == T.DOUBLE and opset >= 21 else {}
    if elem == T.DOUBLE and not stash:
        raise NoCase("in f32")
    m.out(m.node([m.input([m.whole(1, 2), g * per] + _extents(m, 2), elem), m.weight([n], elem), m.weight([n], elem)], num_groups=g, **stash))
    m.judged("conditioned", 8, 24)


def mvn(m):
    m.choose_opset()
    elem = m.type("T", F)
    shape = [m.whole(1, 3), m.size(9)] + _extents(m, 2)
    x = m.fed([data.values(m.rng, elem, shape, False) for _ in data.SETS], elem)  # equal elements: 0 / 0
    m.out(m.node([x], axes=m.pick([None, [0, 2, 3], [2, 3], [1, 2, 3]])))
    m.judged("conditioned", 16, 8)


def simplified_layer_norm(m):
    m.choose_opset(17)
    elem = m.pick([T.FLOAT, T.FLOAT16, T.DOUBLE])
    shape = m.shape(1, 3)
    m.out(m.node([m.input(shape, elem), m.weight(shape[-1:], elem)], axis=-1, epsilon=m.pick([None, 1e-3])))
    m.judged("conditioned", 8)


def rms_norm(m):
    m.case.opset = 23  # newer than what the installed package may know
    elem = m.pick([T.FLOAT, T.FLOAT16])
    shape = m.shape(1, 3)
    axis = m.axis(len(shape))
    scale = m.weight([d if m.chance(0.8) else 1 for d in shape[axis:]], elem)
    m.out(m.node([m.input(shape, elem), scale], axis=axis, epsilon=m.pick([None, 1e-3])))
    m.judged("conditioned", 8)


def swish(m):
    m.case.opset = 24
    m.out(m.node([m.input(m.shape(1, 3), m.pick([T.FLOAT, T.FLOAT16]))], alpha=m.pick([None, 1.5, -0.5])))
    m.judged("conditioned", 16, 16)


def swiglu(m):
    m.case.opset = 28
    shape, elem = m.shape(1, 3), m.pick([T.FLOAT, T.FLOAT16])
    # (finite: infinity times what a sigmoid leaves at its far end, which may be 0)
    m.out(m.node([m.input(shape, elem), m.input(shape, elem, finite=True)], alpha=m.pick([None, 1.5, -0.5])))
    m.judged("conditioned", 16, 16)


# ---- recurrences
def recurrent(gates, states, activations):
    def make(m):
        opset = m.choose_opset(7)
        elem = m.pick([T.FLOAT, T.FLOAT, T.FLOAT, T.FLOAT16])
        steps, batch, inner, hidden = m.whole(1, 6), m.whole(1, 3), m.size(9), m.size(17)
        direction = m.pick([None, "forward", "reverse", "bidirectional"])
        d = 2 if direction == "bidirectional" else 1
        own = {"lo": -1, "hi": 1, "finite": True}
        given = {"hidden_size": hidden, "direction": direction}
        if m.op_type == "GRU":
            given["linear_before_reset"] = m.pick([None, 0, 1])
        if m.chance(0.2):
            given["clip"] = 0.5
        if m.chance(0.3):
            given["activations"] = [m.pick(activations) for _ in range(d * {"RNN": 1, "GRU": 2, "LSTM": 3}[m.op_type])]
        if m.op_type == "LSTM" and m.chance(0.1):
            given["input_forget"] = 1
        inputs = [m.input([steps, batch, inner], elem, **own), m.weight([d, gates * hidden, inner], elem, **own), m.weight([d, gates * hidden, hidden], elem, **own)]
        inputs.append(m.weight([d, 2 * gates * hidden], elem, **own) if m.chance(0.5) else "")
        lens = [m.rng.integers(1, steps, batch, endpoint=True) for _ in data.SETS]
        inputs.append(m.fed(lens, T.INT32) if m.chance(0.3) else "")
        for _ in range(states):
            inputs.append(m.input([d, batch, hidden], elem, **own) if m.chance(0.4) else "")
        if m.op_type == "LSTM" and m.chance(0.3):
            inputs.append(m.weight([d, 3 * hidden], elem, **own))
        while not inputs[-1]:
            inputs.pop()
        m.out(*m.node(inputs, outputs=1 + states, **given))
        m.judged("conditioned", 32, 32)
    return make


# ---- sampling
def resize(m):
    opset = m.choose_opset(10)
    elem = m.type("T1", (T.FLOAT, T.FLOAT, T.FLOAT16, T.UINT8, T.INT8))
    shape = [m.whole(1, 2), m.whole(1, 4), m.size(17), m.size(17)]
    mode = m.pick(["nearest", "linear", "cubic"] if opset >= 11 else ["nearest", "linear"])
    if mode == "cubic" and not data.is_float(elem):
        raise NoCase("cubic of integers")
    x = m.input(shape, elem, finite=True, lo=-10 if data.is_float(elem) else None, hi=10 if data.is_float(elem) else None)
    to, antialias = [m.size(33), m.size(33)], False
    if opset < 11:
        scales = [1.0, 1.0, float(m.pick([0.5, 1, 2, 3])), float(m.pick([1, 1.5, 2]))]
        if int(shape[2] * scales[2]) < 1:
            raise NoCase("nothing left")
        m.out(m.node([x, m.constant(np.array(scales, np.float32))], mode=mode))
    else:
        given = {"mode": mode, "coordinate_transformation_mode": m.pick([None, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])}
        if mode == "nearest":
            given["nearest_mode"] = m.pick([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        if mode == "cubic":
            given |= {"cubic_coeff_a": m.pick([None, -0.5]), "exclude_outside": m.pick([None, 0, 1])}
        if opset >= 18 and mode != "nearest" and m.chance(0.2):
            given["antialias"] = antialias = 1
        none = m.constant(np.zeros(0, np.float32)) if opset < 13 else ""
        if m.chance(0.5):
            m.out(m.node([x, none, none, m.ints(shape[:2] + to)], **given))
        else:
            scales = [1.0, 1.0, m.pick([0.5, 2.0, 1.5, 3.0, 0.75]), m.pick([0.5, 2.0, 1.5, 1.0])]
            if int(shape[2] * scales[2]) < 1 or int(shape[3] * scales[3]) < 1:
                raise NoCase("nothing left")
            m.out(m.node([x, none, m.constant(np.array(scales, np.float32))], **given))
    kind = "exact" if mode == "nearest" else "conditioned" if data.is_float(elem) else "rounded" if antialias else "cut off"
    m.judged(kind, 16, 640)  # coordinates in f32, times up to 10


def upsample(m):
    opset = m.choose_opset(7, 9)
    x = m.input([m.whole(1, 2), m.whole(1, 4), m.size(17), m.size(17)], T.FLOAT, finite=True, lo=-10, hi=10)
    scales = [1.0, 1.0, m.pick([1.0, 2.0, 3.0, 1.5]), m.pick([1.0, 2.0, 1.5])]
    mode = m.pick(["nearest", "linear"])
    m.out(m.node([x], scales=scales, mode=mode) if opset < 9 else m.node([x, m.constant(np.array(scales, np.float32))], mode=mode))
    m.judged("exact" if mode == "nearest" else "conditioned", 16, 640)  # coordinates in f32, times up to 10


def affine_grid(m):
    m.choose_opset(20)
    elem, n = m.pick([T.FLOAT, T.DOUBLE]), m.whole(1, 2)
    size = [n, 3] + [m.size(9) for _ in range(m.pick([2, 3]))]
    m.out(m.node([m.input([n, len(size) - 2, len(size) - 1], elem, finite=True, lo=-2, hi=2), m.ints(size)], align_corners=m.pick([None, 0, 1])))
    m.judged("conditioned", 8, 16)


def col2im(m):
    m.choose_opset(18)
    elem = m.pick([T.FLOAT, T.DOUBLE])
    image, block = [m.whole(4, 9), m.whole(4, 9)], [m.whole(1, 3), m.whole(1, 3)]
    strides = [m.whole(1, 2), m.whole(1, 2)]
    columns = int(np.prod([(i - b) // s + 1 for i, b, s in zip(image, block, strides)]))
    m.out(m.node([m.input([m.whole(1, 2), m.whole(1, 3) * block[0] * block[1], columns], elem), m.ints(image), m.ints(block)], strides=strides))
    m.judged("conditioned")


# ---- quantisation
BYTES = (T.UINT8, T.INT8)


def _scale(m, shape=()):
    return m.constant(np.asarray(m.rng.uniform(0.01, 0.2, shape), np.float32))


def _zero(m, elem, shape=()):
    info = np.iinfo(data.CARRIER[elem])
    return m.constant(np.asarray(m.rng.integers(info.min, info.max, shape, endpoint=True), data.CARRIER[elem]), elem)


def quantize(m):
    opset = m.choose_opset()
    to = m.pick(BYTES + ((T.UINT16, T.INT16) if opset >= 21 else ()))
    shape = m.shape(1, 4)
    x = m.input(shape, T.FLOAT, lo=-1e4, hi=1e4, finite=True)
    if opset >= 13 and m.chance(0.5):
        axis = m.whole(0, len(shape) - 1)
        own, given = [shape[axis]], {"axis": axis - (len(shape) if m.chance(0.4) else 0)}
    else:
        own, given = [], {}
    inputs = [x, _scale(m, own)] + ([_zero(m, to, own)] if to != T.UINT8 or m.chance(0.7) else [])
    m.out(m.node(inputs, **given))


def dequantize(m):
    opset = m.choose_opset()
    source = m.pick(BYTES + (T.INT32,) + ((T.UINT16, T.INT16) if opset >= 21 else ()))
    shape = m.shape(1, 4)
    if opset >= 13 and m.chance(0.5):
        axis = m.whole(0, len(shape) - 1)
        own, given = [shape[axis]], {"axis": axis - (len(shape) if m.chance(0.4) else 0)}
    else:
        own, given = [], {}
    bounds = {"lo": -2**20, "hi": 2**20} if source == T.INT32 else {}
    inputs = [m.input(shape, source, **bounds), _scale(m, own)]
    if source != T.INT32 and m.chance(0.7):
        inputs.append(_zero(m, source, own))
    m.out(m.node(inputs, **given))
    m.judged("close", 2)


def dynamic_quantize(m):
    m.choose_opset(11)
    m.out(*m.node([m.input(m.shape(1, 4), T.FLOAT, lo=-1e4, hi=1e4, finite=True)], outputs=3))
    m.judged("close", 2)


def _seven_bits(m, shape, elem):
    """Without VNNI, ONNX Runtime adds pairs of 8-bit products in 16 bits: weights have 7."""
    return m.weight(shape, elem, lo=-64 if elem == T.INT8 else 0, hi=63 if elem == T.INT8 else 127)


def matmul_integer(m):
    m.choose_opset()
    a, b = m.pick(BYTES), m.pick(BYTES)
    i, j, k = m.size(33), m.size(33), m.size(65)
    inputs = [m.input([i, k], a), _seven_bits(m, [k, j], b)]
    if m.chance(0.6):
        inputs.append(_zero(m, a))
        if m.chance(0.6):
            inputs.append(m.constant(np.asarray(m.rng.integers(0, 60, [j] if m.chance(0.5) else ()), data.CARRIER[b]), b))
    m.out(m.node(inputs))


def conv_integer(m):
    opset = m.choose_opset()
    extents = _extents(m, 2)
    given = _window(m, 2, extents, opset)
    cin, cout = m.pick([1, 3, 4]), m.pick([1, 2, 8])
    inputs = [m.input([1, cin] + extents, T.UINT8), _seven_bits(m, [cout, cin] + given["kernel_shape"], T.UINT8)]
    if m.chance(0.6):
        inputs.append(_zero(m, T.UINT8))
    m.out(m.node(inputs, **given))


def qlinear_matmul(m):
    m.choose_opset(10, 20)
    a = m.pick(BYTES)
    b = T.INT8 if a == T.INT8 else m.pick(BYTES)
    i, j, k = m.size(33), m.size(33), m.size(65)
    m.out(m.node([m.input([i, k], a), _scale(m), _zero(m, a), _seven_bits(m, [k, j], b), _scale(m),
                  m.constant(np.array(m.whole(0, 60), data.CARRIER[b]), b), m.constant(np.array(m.rng.uniform(0.5, 5), np.float32)), _zero(m, a)]))


def qlinear_conv(m):
    opset = m.choose_opset()
    extents = _extents(m, 2)
    given = _window(m, 2, extents, opset)
    group = m.pick([1, 1, 2])
    cin, cout = group * m.pick([1, 3, 4]), group * m.pick([1, 2, 8])
    inputs = [m.input([1, cin] + extents, T.UINT8), _scale(m), _zero(m, T.UINT8), _seven_bits(m, [cout, cin // group] + given["kernel_shape"], T.INT8),
              _scale(m, [cout] if m.chance(0.5) else ()), m.constant(np.array(0, np.int8)), m.constant(np.array(m.rng.uniform(0.5, 3), np.float32)), _zero(m, T.UINT8)]
    if m.chance(0.5):
        inputs.append(m.constant(m.rng.integers(-1000, 1000, cout).astype(np.int32)))
    m.out(m.node(inputs, group=group, **given))


# ---- losses
def loss(cross):
    def make(m):
        m.choose_opset(12)
        elem = m.pick([T.FLOAT, T.DOUBLE])
        n, c = m.size(17), m.size(33)
        more = m.shape(0, 2, 30)
        target = [m.rng.integers(0, c, [n] + more) for _ in data.SETS]
        given = {"reduction": m.pick([None, "none", "sum", "mean"])}
        # (Of rows with NaN or +infinity ONNX Runtime says infinity.)
        inputs = [m.input([n, c] + more, elem, nan=False, hi=2.0**40), m.fed(target, m.pick([T.INT32, T.INT64]))]
        if m.chance(0.4):
            inputs.append(m.weight([c], elem, positive=True))
        if m.chance(0.3):
            given["ignore_index"] = m.whole(0, c - 1)
        m.out(m.node(inputs, **given))
        m.judged("conditioned", 8, 2)
    return make


# ---- signals
def window(m):
    m.choose_opset(17)
    w = m.node([m.constant(np.array(m.whole(2, 129), m.pick([np.int32, np.int64])))], periodic=m.pick([None, 0, 1]))
    m.out(m.node([w], op="Identity"))
    m.judged("close", 8, 8)


def dft(m):
    opset = m.choose_opset(17)
    elem = m.pick([T.FLOAT, T.DOUBLE])
    shape = [m.whole(1, 3), m.size(33), m.whole(1, 2)]
    inverse = m.whole(0, 1) if shape[-1] == 2 else 0
    # (of both ONNX Runtime and the reference want two bins or more)
    can_be_onesided = shape[1] > 1 if inverse else shape[-1] == 1
    given = {"inverse": inverse, "onesided": 1 if can_be_onesided and m.chance(0.5) else None}
    inputs = [m.input(shape, elem, finite=True, lo=-10, hi=10)]
    if m.chance(0.3):
        inputs.append(m.constant(np.array(m.size(33), np.int64)))
    if opset < 20:
        given["axis"] = 1
    else:
        inputs += [""] * (2 - len(inputs)) + [m.constant(np.array(1, np.int64))]
    m.out(m.node(inputs, **given))
    m.judged("conditioned", 32, 2000)  # sums of up to 33 terms of up to 10


def stft(m):
    m.choose_opset(17)
    length, step = m.whole(2, 16), m.whole(1, 5)
    n = length + m.whole(0, 30)
    elem = T.FLOAT
    inputs = [m.input([m.whole(1, 2), n, 1], elem, finite=True, lo=-1e4, hi=1e4), m.constant(np.array(step, np.int64))]
    inputs += [m.weight([length], elem, lo=0, hi=1), m.constant(np.array(length, np.int64))]
    m.out(m.node(inputs, onesided=m.pick([0, 1])))
    m.judged("conditioned", 32, 32)


def mel_weights(m):
    m.choose_opset(17)
    w = m.node([m.constant(np.array(m.whole(2, 8), np.int64)), m.constant(np.array(m.pick([16, 32, 64]), np.int64)), m.constant(np.array(8192, np.int64)),
                m.constant(np.array(m.pick([0.0, 100.0]), np.float32)), m.constant(np.array(4096.0, np.float32))])
    m.out(m.node([w], op="Identity"))
    m.judged("close", 32, 32)


def tf_idf(m):
    m.choose_opset()
    n = m.size(17)
    elem = m.pick([T.INT32, T.INT64])
    x = m.input([n] if m.chance(0.5) else [m.whole(1, 3), n], elem, lo=0, hi=6)
    m.out(m.node([x], mode=m.pick(["TF", "IDF", "TFIDF"]), min_gram_length=1, max_gram_length=2, max_skip_count=m.whole(0, 2), ngram_counts=[0, 4],
                 ngram_indexes=list(range(7)), pool_int64s=[2, 3, 5, 4, 5, 6, 1, 1, 2, 3], weights=[1.0, 0.5, 2.0, 1.5, 0.25, 3.0, 1.0] if m.chance(0.5) else None))
    m.judged("close", 4)


def nms(m):
    m.choose_opset()
    n, classes = m.size(33), m.whole(1, 3)
    boxes = []
    for _ in data.SETS:
        corner = m.rng.uniform(0, 1, (1, n, 2))
        boxes.append(np.concatenate([corner, corner + m.rng.uniform(0.05, 0.5, (1, n, 2))], -1).astype(np.float32))
    inputs = [m.fed(boxes, T.FLOAT), m.input([1, classes, n], T.FLOAT, lo=0, hi=1, finite=True), m.constant(np.array([m.whole(1, 10)], np.int64)),
              m.constant(np.array([0.5], np.float32))]
    if m.chance(0.5):
        inputs.append(m.constant(np.array([0.3], np.float32)))
    m.out(m.node(inputs, center_point_box=m.pick([None, 0, 1])))


# ---- networks within networks
def _graph(m, nodes, inputs, outputs):
    info = helper.make_tensor_value_info
    return helper.make_graph(nodes, m.name("g"), [info(n, e, s) for n, e, s in inputs], [info(n, e, s) for n, e, s in outputs])


def if_(m):
    m.choose_opset()
    elem, shape = m.pick([T.FLOAT, T.INT32, T.FLOAT16]), m.shape(1, 3)
    x = m.input(shape, elem)
    condition = m.fed([np.array(True), np.array(False)], T.BOOL) if m.chance(0.7) else m.constant(np.array(m.chance(0.5)))

    def branch(op):
        y = m.name("b")
        return _graph(m, [helper.make_node(op, [x], [y], name=m.name("n"))], [], [(y, elem, shape)])
    m.out(m.node([condition], then_branch=branch("Neg"), else_branch=branch(m.pick(["Abs", "Identity"]))))


def loop(m):
    opset = m.choose_opset()
    elem, shape = m.pick([T.FLOAT, T.DOUBLE]), m.shape(1, 2, 200)
    x, step = m.input(shape, elem), m.input(shape, elem)
    i, c, v, w, d, s = (m.name(n) for n in "icvwds")
    nodes = [helper.make_node("Add", [v, step], [w], name=m.name("n")), helper.make_node("Identity", [c], [d], name=m.name("n")),
             helper.make_node("Identity", [w], [s], name=m.name("n"))]
    body = _graph(m, nodes, [(i, T.INT64, []), (c, T.BOOL, []), (v, elem, shape)], [(d, T.BOOL, []), (w, elem, shape), (s, elem, shape)])
    m.out(*m.node([m.constant(np.array(m.whole(1, 5), np.int64)), m.constant(np.array(True)), x], outputs=2, body=body))
    m.judged("conditioned", 8)


def scan(m):
    m.choose_opset(9)
    elem, n, d = m.pick([T.FLOAT, T.DOUBLE]), m.whole(1, 5), m.size(17)
    v, x, w, s = (m.name(k) for k in "vxws")
    nodes = [helper.make_node("Add", [v, x], [w], name=m.name("n")), helper.make_node("Mul", [w, x], [s], name=m.name("n"))]
    body = _graph(m, nodes, [(v, elem, [d]), (x, elem, [d])], [(w, elem, [d]), (s, elem, [d])])
    given = {"scan_input_directions": [m.whole(0, 1)], "scan_output_directions": [m.whole(0, 1)]}
    m.out(*m.node([m.input([d], elem), m.input([n, d], elem)], outputs=2, body=body, num_scan_inputs=1, **given))
    m.judged("conditioned", 8)
