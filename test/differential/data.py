"""Types and values: real-valued data of every magnitude, and what breaks kernels (NaN, infinities, zeros of both signs,
denormals, limits of integers, ties).

A tensor of a case has several *sets* of values: the first is mild (rounding is all that may go wrong), the second wild.
bfloat16 travels as its bits in uint16, as in python/familyseer.py.
"""
import numpy as np
from onnx import TensorProto as T

NAMES = {"float": T.FLOAT, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16, "double": T.DOUBLE, "bool": T.BOOL,
         "int8": T.INT8, "int16": T.INT16, "int32": T.INT32, "int64": T.INT64,
         "uint8": T.UINT8, "uint16": T.UINT16, "uint32": T.UINT32, "uint64": T.UINT64}
CARRIER = {T.FLOAT: np.float32, T.FLOAT16: np.float16, T.BFLOAT16: np.uint16, T.DOUBLE: np.float64, T.BOOL: np.bool_,
           T.INT8: np.int8, T.INT16: np.int16, T.INT32: np.int32, T.INT64: np.int64,
           T.UINT8: np.uint8, T.UINT16: np.uint16, T.UINT32: np.uint32, T.UINT64: np.uint64}
CARRIER = {k: np.dtype(v) for k, v in CARRIER.items()}
USUAL = tuple(CARRIER)
FLOATS = (T.FLOAT, T.FLOAT16, T.BFLOAT16, T.DOUBLE)
INTEGERS = tuple(t for t, d in CARRIER.items() if d.kind in "iu" and t != T.BFLOAT16)
# Those that are stored and converted only: bits of float8, and 4-bit integers, an element a byte until they are written.
CARRIER |= {t: np.dtype(np.uint8) for t in (T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ, T.UINT4)}
CARRIER[T.INT4] = np.dtype(np.int8)
# Half of the distance between neighbours, relative: what one rounding may cost.
ROUNDOFF = {T.FLOAT: 2.0**-24, T.FLOAT16: 2.0**-11, T.BFLOAT16: 2.0**-8, T.DOUBLE: 2.0**-53}
LARGEST = {T.FLOAT: 3.4028234663852886e38, T.FLOAT16: 65504.0, T.BFLOAT16: 3.3895313892515355e38, T.DOUBLE: 1.7976931348623157e308}
SMALLEST = {T.FLOAT: 2.0**-126, T.FLOAT16: 2.0**-14, T.BFLOAT16: 2.0**-126, T.DOUBLE: 2.0**-1022}  # normal
STEP = {T.FLOAT: 2.0**-149, T.FLOAT16: 2.0**-24, T.BFLOAT16: 2.0**-133, T.DOUBLE: 2.0**-1074}  # denormal
SETS = ("mild", "wild")


def is_float(elem):
    return elem in FLOATS


def narrow(values, elem):
    """f64 values in the type that carries `elem`: rounded to nearest, ties to even."""
    values = np.asarray(values)
    with np.errstate(all="ignore"):
        if elem != T.BFLOAT16:
            return values.astype(CARRIER[elem])
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).reshape(values.shape)
        bits = bits.astype(np.int64)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).astype(np.uint16)


def widen(array, elem):
    """The f64 values of an array of a float type; integers and truth values as they are."""
    array = np.asarray(array)
    if elem == T.BFLOAT16:
        bits = np.ascontiguousarray(array, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).reshape(array.shape).astype(np.float64)
    return array.astype(np.float64) if is_float(elem) else array


def _mild_floats(rng, shape, lo, hi):
    if lo is not None and hi is not None:
        return rng.uniform(lo, hi, shape)
    x = rng.standard_normal(shape) * rng.choice([0.3, 1.0, 3.0])
    if lo is not None:
        x = np.abs(x) + lo
    if hi is not None:
        x = np.minimum(x, hi)
    return x


def _specials(elem, moderate):
    if moderate:
        return [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 100.0]
    big, tiny, step = LARGEST[elem], SMALLEST[elem], STEP[elem]
    return [0.0, -0.0, np.inf, -np.inf, np.nan, big, -big, tiny, -tiny, step, -3 * step, tiny / 2, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5]


def _wild_floats(rng, elem, shape, specials, moderate):
    """One flavour a tensor, so that what each brings out is not drowned by the others."""
    flavour = rng.integers(0, 7)
    x = rng.standard_normal(shape)
    room = min(np.log2(LARGEST[elem]), 40 if moderate else 2000)
    least = max(SMALLEST[elem], 2.0**-40 if moderate else 0)
    if flavour == 0:  # every exponent
        x = x * np.exp2(rng.uniform(-room, room - 3, shape))
    elif flavour == 1:  # large
        x = x * np.exp2(rng.uniform(0, room / 2, shape))
    elif flavour == 2:  # small, down to denormals
        x = x * least * np.exp2(rng.uniform(-4, 8, shape))
    elif flavour == 3:  # ties and equal elements
        x = rng.integers(-4, 5, shape) * 0.5
    elif flavour == 4:  # far from zero: what is left of a difference
        x = x + 100 * rng.choice([-1, 1])
    if flavour >= 4 and x.size:  # a few specials, in one tensor of three many
        n = rng.integers(1, 4) if rng.integers(0, 3) else max(1, x.size // 4)
        at = rng.integers(0, x.size, n)
        x = x.copy().reshape(-1)
        x[at] = rng.choice(specials, n)
        x = x.reshape(shape)
    return x


def _integers(rng, elem, shape, lo, hi, wild):
    info = np.iinfo(CARRIER[elem])
    low, high = max(info.min, -9 if lo is None else lo), min(info.max, 9 if hi is None else hi)
    if wild and lo is None and hi is None:
        low, high = info.min, info.max
    x = rng.integers(low, high, shape, CARRIER[elem], endpoint=True)
    if wild and x.size:
        at = rng.integers(0, x.size, max(1, x.size // 8))
        edge = [v for v in (low, high, 0, 1, -1, low + 1, high - 1) if low <= v <= high]
        flat = x.reshape(-1)
        flat[at] = np.array(edge, x.dtype)[rng.integers(0, len(edge), at.size)]
        x = flat.reshape(shape)
    return x


def values(rng, elem, shape, wild, lo=None, hi=None, nonzero=False, finite=False, positive=False, moderate=False, nan=True):
    """An array in the type that carries `elem`. lo, hi: closed bounds, of wild values too; nonzero, finite, positive, moderate, nan: what
    the operator's definition leaves open otherwise."""
    shape = tuple(int(d) for d in shape)
    if elem == T.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if not is_float(elem):
        x = _integers(rng, elem, shape, max(lo or 0, 1) if positive else lo, hi, wild)
        if nonzero:  # and not -1: the smallest integer divided by it has no quotient
            x = np.where((x == 0) | ((x == -1) if x.dtype.kind == "i" else False), x.dtype.type(3), x).astype(x.dtype)
        return x
    if not wild:
        x = _mild_floats(rng, shape, lo, hi)
    else:
        x = _wild_floats(rng, elem, shape, [s for s in _specials(elem, moderate) if np.isfinite(s) or not finite and (nan or s == s)], moderate)
        if finite:
            x = np.clip(x, -LARGEST[elem], LARGEST[elem])
        if lo is not None or hi is not None:
            with np.errstate(all="ignore"):
                x = np.where(np.isnan(x), x, np.clip(x, lo, hi))
    if positive:
        x = np.abs(x) + (0 if wild else 0.1)
    if nonzero:
        x = np.where(np.abs(x) < 0.1, 0.7, x)
    return narrow(x, elem)
