"""Cases of operators that move elements, pick them, or say what shapes are."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper

import data
from case import NoCase

ANY = None


def _any(m, variable="T"):
    return m.type(variable, ANY)


def _negative(m, axis, rank):
    return axis - rank if m.chance(0.4) else axis


def reshape(m):
    m.choose_opset()
    elem, shape = _any(m), m.shape(0, 4)
    flat = list(shape) or [1]
    order = [int(i) for i in m.rng.permutation(len(flat))]
    to = [flat[i] for i in order]
    if m.chance(0.5) and len(to) > 1:
        to = [to[0] * to[1]] + to[2:]
    if m.chance(0.4) and 0 not in to:
        to[m.whole(0, len(to) - 1)] = -1
    elif m.chance(0.3) and shape and to[0] == shape[0]:
        to[0] = 0
    m.out(m.node([m.input(shape, elem), m.ints(to)]))


def flatten(m):
    opset = m.choose_opset()
    shape = m.shape(1, 4)
    axis = m.pick([None, m.whole(0 if opset < 11 else -len(shape), len(shape))])
    m.out(m.node([m.input(shape, _any(m))], axis=axis))


def squeeze(m):
    opset = m.choose_opset()
    shape = m.shape(0, 3)
    for _ in range(m.whole(1, 2)):
        shape.insert(m.whole(0, len(shape)), 1)
    axes = [i for i, d in enumerate(shape) if d == 1]
    axes = axes[: m.whole(1, len(axes))]
    if opset >= 11:
        axes = [_negative(m, a, len(shape)) for a in axes]
    x = m.input(shape, _any(m))
    if m.chance(0.2):
        m.out(m.node([x]))
    elif opset < 13:
        m.out(m.node([x], axes=axes))
    else:
        m.out(m.node([x, m.ints(axes)]))


def unsqueeze(m):
    opset = m.choose_opset()
    shape = m.shape(0, 3)
    rank = len(shape) + m.whole(1, 2)
    axes = [int(a) for a in sorted(m.rng.permutation(rank)[: rank - len(shape)])]
    if opset >= 11:
        axes = [_negative(m, a, rank) for a in axes]
    x = m.input(shape, _any(m))
    m.out(m.node([x], axes=axes) if opset < 13 else m.node([x, m.ints(axes)]))


def identity(m):
    m.choose_opset()
    m.out(m.node([m.input(m.shape(), m.type(m.schema.inputs[0].type_str))]))


def dropout(m):
    opset = m.choose_opset()
    x = m.input(m.shape(), _any(m))
    if opset >= 12:
        inputs = [x] + ([m.scalar(0.3, T.FLOAT)] if m.chance(0.5) else [])
        m.out(m.node(inputs))
    else:
        m.out(m.node([x], ratio=0.3))


def transpose(m):
    m.choose_opset()
    shape = m.shape(0, 5)
    perm = [int(i) for i in m.rng.permutation(len(shape))]
    m.out(m.node([m.input(shape, _any(m))], perm=perm if shape and m.chance(0.8) else None))


def concat(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 3000)
    axis = m.whole(0, len(shape) - 1)
    parts = []
    for k in range(m.whole(1, 5)):
        own = list(shape)
        own[axis] = m.size(17)
        parts.append(m.weight(own, elem) if k and m.chance(0.3) else m.input(own, elem))
    m.out(m.node(parts, axis=_negative(m, axis, len(shape)) if opset >= 11 else axis))


def split(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 3000)
    axis, count = m.whole(0, len(shape) - 1), m.whole(1, 4)
    how = m.pick(["equal", "sizes"])
    if how == "equal" or (opset < 13 and m.chance(0.3)):
        shape[axis] = count * m.size(17)
        sizes = None
    else:
        sizes = [m.size(17) for _ in range(count)]
        shape[axis] = sum(sizes)
    given = {"axis": _negative(m, axis, len(shape)) if opset >= 11 else axis}
    x = m.input(shape, elem)
    inputs = [x]
    if sizes is not None:
        if opset < 13:
            given["split"] = sizes
        else:
            inputs.append(m.ints(sizes))
    elif opset >= 18:
        given["num_outputs"] = count
        if m.chance(0.5) and shape[axis] > count * count:  # the last is smaller
            m.case.sets, m.case.inputs = [{} for _ in data.SETS], []
            shape[axis] -= 1
            inputs = [m.input(shape, elem)]
    outputs = m.node(inputs, outputs=count, **given)
    m.out(*([outputs] if count == 1 else outputs))


def slice_(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4)
    axes = [int(a) for a in sorted(m.rng.permutation(len(shape))[: m.whole(1, len(shape))])]
    starts, ends, steps = [], [], []
    for a in axes:
        d = shape[a]
        step = m.pick([1, 1, 2, 3, -1, -2]) if opset >= 10 else 1
        start = m.whole(0, d - 1)
        stop = m.whole(start + 1, d) if step > 0 else m.whole(-1, start - 1) if start else -1
        if step > 0:
            end = m.pick([stop, stop - d if stop < d else 2**31 - 1])
            begin = m.pick([start, start - d])
        else:
            end = stop if stop >= 0 else m.pick([-d - 1, -2**31])
            begin = m.pick([start, start - d] + ([2**31 - 1] if start == d - 1 else []))
        starts.append(begin), ends.append(end), steps.append(step)
    x = m.input(shape, elem)
    named = [_negative(m, a, len(shape)) for a in axes] if opset >= 11 else axes
    if opset < 10:
        m.out(m.node([x], starts=starts, ends=ends, axes=axes))
        return
    kind = m.pick([np.int32, np.int64])
    inputs = [x] + [m.constant(np.array(v, kind)) for v in (starts, ends, named)]
    if any(s != 1 for s in steps) or m.chance(0.3):
        inputs.append(m.constant(np.array(steps, kind)))
    m.out(m.node(inputs))


def expand(m):
    m.choose_opset()
    shape = m.shape(0, 4)
    own = m.broadcastable(shape)
    m.out(m.node([m.input(own, _any(m)), m.ints(shape) if shape else m.constant(np.zeros(0, np.int64))]))


def tile(m):
    m.choose_opset()
    shape = m.shape(1, 4, 600)
    m.out(m.node([m.input(shape, _any(m)), m.ints([m.pick([1, 1, 2, 3]) for _ in shape])]))


def pad(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 2000)
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if opset >= 19 else [])
    mode = m.pick(modes)
    rank = len(shape)

    def amount(d):
        if mode == "reflect":
            return m.whole(0, min(3, d - 1))
        if mode == "wrap":
            return m.whole(0, min(3, d))
        return m.pick([0, 0, 1, 2, 5])
    low, high = [amount(d) for d in shape], [amount(d) for d in shape]
    if mode == "constant" and m.chance(0.2):
        for i, d in enumerate(shape):
            if d > 3:
                low[i] = -1
    value = m.pick([None, 0, 1, 3])
    x = m.input(shape, elem)
    given = {"mode": mode if mode != "constant" or m.chance(0.5) else None}
    if opset < 11:
        m.out(m.node([x], pads=low + high, value=None if value is None else float(value), **given))
        return
    inputs = [x, m.ints(low + high)]
    if mode == "constant" and value is not None:
        inputs.append(m.scalar(value, elem))
    if opset >= 18 and m.chance(0.3):
        axes = [int(a) for a in sorted(m.rng.permutation(rank)[: m.whole(1, rank)])]
        inputs[1] = m.ints([low[a] for a in axes] + [high[a] for a in axes])
        inputs += [""] * (3 - len(inputs)) + [m.ints([_negative(m, a, rank) for a in axes])]
    m.out(m.node(inputs, **given))


def _indices(m, shape, extent, elem, negative=True):
    """Indices below `extent`, the same in all sets or not."""
    arrays = []
    for _ in data.SETS:
        x = m.rng.integers(0, extent, shape)
        if negative:
            x = np.where(m.rng.random(shape) < 0.3, x - extent, x)
        arrays.append(np.asarray(x).reshape(shape))
    if m.chance(0.3):
        return m.constant(arrays[0].astype(data.CARRIER[elem]), elem)
    return m.fed(arrays, elem)


def gather(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 3000)
    axis = m.whole(0, len(shape) - 1)
    index = m.pick([T.INT32, T.INT64])
    x = m.weight(shape, elem)
    i = _indices(m, m.shape(0, 2, 40), shape[axis], index, opset >= 11)
    m.out(m.node([x, i], axis=_negative(m, axis, len(shape)) if opset >= 11 else axis))


def gather_elements(m):
    m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 3000)
    axis = m.whole(0, len(shape) - 1)
    own = [m.whole(min(1, d), d) for d in shape]
    own[axis] = m.size(33)
    i = _indices(m, own, shape[axis], m.pick([T.INT32, T.INT64]))
    m.out(m.node([m.input(shape, elem), i], axis=_negative(m, axis, len(shape))))


def gather_nd(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 2000)
    batch = m.whole(0, min(2, len(shape) - 1)) if opset >= 12 else 0
    depth = m.whole(1, len(shape) - batch)
    lead = m.shape(0, 2, 30)
    own = shape[:batch] + lead + [depth]
    arrays = []
    for _ in data.SETS:
        x = np.stack([m.rng.integers(0, shape[batch + k], own[:-1]) - (shape[batch + k] if m.chance(0.3) else 0) for k in range(depth)], -1)
        arrays.append(x.reshape(own))
    m.out(m.node([m.input(shape, elem), m.fed(arrays, T.INT64)], batch_dims=batch if batch or m.chance(0.3) else None))


def _update_domain(m, elem, reduction):
    """Sums and products that the type holds; extremes of numbers (of NaN nothing is said)."""
    if reduction in (None, "none"):
        return {}
    return {"finite": True, "moderate": True} if data.is_float(elem) else {"lo": -3, "hi": 3}


def _reductions(opset):
    return [None, "none"] + (["add", "mul"] if opset >= 16 else []) + (["max", "min"] if opset >= 18 else [])


def scatter_elements(m, last=None):
    """Indices may meet; with reduction none the last update of a place stays, as in ONNX Runtime."""
    opset = m.choose_opset(last=last)
    elem, shape = _any(m), m.shape(1, 3, 1500)
    axis = m.whole(0, len(shape) - 1)
    reduction = m.pick(_reductions(opset)) if "reduction" in m.schema.attributes else None
    if reduction not in (None, "none") and elem == T.BOOL:
        raise NoCase("sums of truth values")
    own = [m.whole(min(1, d), d) for d in shape]
    own[axis] = m.size(33)
    i = _indices(m, own, shape[axis], m.pick([T.INT32, T.INT64]))
    d = _update_domain(m, elem, reduction)
    m.out(m.node([m.input(shape, elem, **d), i, m.input(own, elem, **d)], axis=_negative(m, axis, len(shape)), reduction=reduction))
    m.judged("conditioned" if data.is_float(elem) and reduction in ("add", "mul") else "exact")


def scatter(m):
    scatter_elements(m, 10)


def scatter_nd(m):
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 4, 1500)
    reduction = m.pick(_reductions(opset))
    if reduction not in (None, "none") and elem == T.BOOL:
        raise NoCase("sums of truth values")
    depth = m.whole(1, len(shape))
    places, count = int(np.prod(shape[:depth])), m.size(17)
    arrays = []
    for _ in data.SETS:
        flat = m.rng.integers(0, places, count)
        arrays.append(np.stack(np.unravel_index(flat, shape[:depth]), -1))
    d = _update_domain(m, elem, reduction)
    m.out(m.node([m.input(shape, elem, **d), m.fed(arrays, T.INT64), m.input([count] + shape[depth:], elem, **d)], reduction=reduction))
    m.judged("conditioned" if data.is_float(elem) and reduction in ("add", "mul") else "exact")


def _blocks(m, space_to_depth):
    m.choose_opset()
    b, c = m.whole(1, 3), m.whole(1, 4)
    n, h, w = m.whole(1, 2), m.size(17), m.size(17)
    shape = [n, c, h * b, w * b] if space_to_depth else [n, c * b * b, h, w]
    given = {"mode": m.pick([None, "DCR", "CRD"])} if "mode" in m.schema.attributes else {}
    m.out(m.node([m.input(shape, _any(m))], blocksize=b, **given))


def depth_to_space(m):
    _blocks(m, False)


def space_to_depth(m):
    _blocks(m, True)


def trilu(m):
    m.choose_opset()
    shape = m.shape(2, 4)
    inputs = [m.input(shape, _any(m))]
    if m.chance(0.6):
        inputs.append(m.constant(np.array(m.whole(-shape[-2] - 1, shape[-1] + 1), np.int64)))
    m.out(m.node(inputs, upper=m.pick([None, 0, 1])))


def one_hot(m):
    m.choose_opset()
    depth = m.size(33)
    index = m.type("T1")
    if index not in (T.INT32, T.INT64, T.FLOAT, T.UINT8):
        raise NoCase("indices")
    shape = m.shape(0, 3, 200)
    arrays = [m.rng.integers(0 if index == T.UINT8 else -depth, min(depth, 127), shape) for _ in data.SETS]
    values = m.type("T3")
    axis = m.pick([None, m.axis(len(shape) + 1)])
    m.out(m.node([m.fed([np.asarray(a) for a in arrays], index), m.constant(np.array([depth] if m.chance(0.5) else depth, np.int64)),
                  m.input([2], values)], axis=axis))


def top_k(m):
    """Sorted: order and ties are defined then (the lower index)."""
    opset = m.choose_opset()
    elem, shape = _any(m), m.shape(1, 3, 4000)
    if elem in (T.UINT16, T.UINT32, T.UINT64):  # test/peer/test_ordered.py has them
        raise NoCase("ONNX Runtime lacks the type, and onnx.reference puts the higher index of equals first")
    axis = m.whole(0, len(shape) - 1)
    k = m.whole(1, shape[axis])
    given = {"axis": _negative(m, axis, len(shape)) if opset >= 11 else axis}
    if opset >= 11:
        given |= {"largest": m.pick([None, 0, 1]), "sorted": m.pick([None, 1])}
    x = m.input(shape, elem)
    m.out(*(m.node([x, m.ints([k])], outputs=2, **given) if opset >= 10 else m.node([x], outputs=2, k=k, **given)))


def reverse_sequence(m):
    m.choose_opset()
    shape = m.shape(2, 4)
    time = m.whole(0, 1)
    lens = [m.rng.integers(1, shape[time], shape[1 - time], endpoint=True) for _ in data.SETS]
    m.out(m.node([m.input(shape, _any(m)), m.fed(lens, T.INT64)], batch_axis=1 - time, time_axis=time))


def shape_(m):
    opset = m.choose_opset()
    own = m.shape()
    given = {"start": m.pick([None, m.whole(-3, 3)]), "end": m.pick([None, m.whole(-3, 3)])} if opset >= 15 else {}
    x = m.input(own, _any(m))
    m.out(m.node([x], **given))


def size(m):
    m.choose_opset()
    m.out(m.node([m.input(m.shape(), _any(m))]))


def _beside(m, value, elem):
    """What folds, used by something that runs."""
    if elem == T.BOOL:
        return m.node([value, m.input([1], T.BOOL)], op="And")
    return m.node([value], op="Identity")


def constant(m):
    opset = m.choose_opset()
    elem = m.type("T")
    array = data.values(m.rng, elem, m.shape(0, 3, 300), m.chance(0.5))
    given = {"value": helper.make_tensor("t", elem, array.shape, np.ascontiguousarray(array).tobytes(), raw=True)}
    if opset >= 12 and m.chance(0.4):
        elem, given = m.pick([(T.FLOAT, {"value_float": 1.5}), (T.FLOAT, {"value_floats": [1.5, -2.0]}), (T.INT64, {"value_int": -7}),
                              (T.INT64, {"value_ints": [1, 2**40]})])
    m.out(_beside(m, m.node([], **given), elem))


def constant_of_shape(m):
    m.choose_opset()
    elem = m.type("T2")
    given = {}
    if m.chance(0.7):
        value = data.values(m.rng, elem, [1], m.chance(0.5))
        given["value"] = helper.make_tensor("t", elem, [1], value.tobytes(), raw=True)
    else:
        elem = T.FLOAT
    m.out(_beside(m, m.node([m.ints(m.shape(1, 3))], **given), elem))


def range_(m):
    m.choose_opset()
    elem = m.type("T")
    start, delta, n = m.whole(-5, 5), m.pick([1, 2, -1, 3]), m.whole(1, 40)
    m.out(_beside(m, m.node([m.scalar(start, elem), m.scalar(start + n * delta, elem), m.scalar(delta, elem)]), elem))


def non_zero(m):
    m.choose_opset()
    m.out(m.node([m.input(m.shape(1, 3, 300), _any(m), lo=-1, hi=1)]))


def unique(m):
    m.choose_opset()
    elem, shape = _any(m), m.shape(1, 3, 300)
    own = {"lo": -4, "hi": 4, "finite": True}
    axis = m.pick([None, m.axis(len(shape))])
    present = [True] + [m.chance(0.6) for _ in range(3)]
    while not present[-1]:
        present.pop()
    given = {"axis": axis, "sorted": m.pick([None, 0, 1])}
    names = m.node([m.input(shape, elem, **own)], outputs=present, **given)
    m.out(*([names] if isinstance(names, str) else names))


def compress(m):
    m.choose_opset()
    shape = m.shape(1, 3, 300)
    axis = m.pick([None, m.whole(0, len(shape) - 1)])
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    condition = data.values(m.rng, T.BOOL, [m.whole(1, extent)], False)
    condition[0] = True
    m.out(m.node([m.input(shape, _any(m)), m.constant(condition) if m.chance(0.5) else m.fed([condition] * 2, T.BOOL)], axis=axis))


def center_crop_pad(m):
    m.choose_opset(18)
    shape = m.shape(1, 4, 2000)
    axes = [int(a) for a in sorted(m.rng.permutation(len(shape))[: m.whole(1, len(shape))])] if m.chance(0.5) else None
    to = [m.size(33) for _ in (axes or shape)]
    elem = m.type("T", (T.FLOAT, T.DOUBLE, T.INT32, T.INT64, T.UINT8, T.INT8, T.BOOL))
    m.out(m.node([m.input(shape, elem), m.ints(to)], axes=axes))


# ---- sequences and optional values: what goes in comes out as tensors
def sequence(what):
    def make(m):
        first = {"SequenceMap": 17, "Optional": 15, "OptionalHasElement": 15, "OptionalGetElement": 15}.get(what, 11)
        # In 28 ONNX Runtime lacks Optional, and onnx.reference gives a list of the tensor that it holds.
        m.choose_opset(first, last=27 if what.startswith("Optional") else None)
        elem, shape = m.pick([T.FLOAT, T.INT64, T.FLOAT16]), m.shape(1, 3, 500)
        parts = [m.input(shape, elem) for _ in range(m.whole(1, 4))]
        seq = m.node(parts, op="SequenceConstruct")
        n = len(parts)
        at = m.constant(np.array(m.whole(-n, n - 1), np.int64))
        if what == "SequenceEmpty":
            seq = m.node([m.node([], op="SequenceEmpty", dtype=int(elem)), parts[0]], op="SequenceInsert")
        elif what == "SequenceInsert":
            seq = m.node([seq, m.input(shape, elem)] + ([at] if m.chance(0.6) else []))
        elif what == "SequenceErase" and n > 1:
            seq = m.node([seq] + ([at] if m.chance(0.6) else []))
        elif what == "SequenceLength":
            m.out(m.node([seq]))
        elif what == "SequenceAt":
            m.out(m.node([seq, at]))
        elif what == "SequenceMap":
            a, b = m.name("e"), m.name("f")
            body = helper.make_graph([helper.make_node("Neg", [a], [b], name=m.name("n"))], m.name("g"),
                                     [helper.make_tensor_value_info(a, elem, None)], [helper.make_tensor_value_info(b, elem, None)])
            seq = m.node([seq], body=body)
        elif what.startswith("Optional"):
            some = m.node([parts[0]], op="Optional")
            m.out(m.node([some], op="OptionalHasElement"), m.node([some], op="OptionalGetElement"))
        new = m.pick([0, 1])
        m.out(m.node([seq], op="ConcatFromSequence", axis=m.axis(len(shape)), new_axis=new))
    return make


def split_to_sequence(m):
    m.choose_opset(11)
    elem, shape = m.pick([T.FLOAT, T.INT64]), m.shape(1, 3, 500)
    axis = m.whole(0, len(shape) - 1)
    sizes = [m.size(9) for _ in range(m.whole(1, 4))]
    shape[axis] = sum(sizes)
    how = m.pick(["ones", "equal", "sizes"])
    inputs = [m.input(shape, elem)]
    keep = m.pick([None, 0, 1]) if how == "ones" else None
    if how != "ones":
        inputs.append(m.constant(np.array(sizes if how == "sizes" else m.whole(1, shape[axis]), np.int64)))
    seq = m.node(inputs, axis=_negative(m, axis, len(shape)), keepdims=keep)
    m.out(m.node([seq, m.constant(np.array(0, np.int64))], op="SequenceAt"), m.node([seq], op="SequenceLength"))
