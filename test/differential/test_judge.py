"""The judge of the differential test, against planted faults: an answer that is off by more than it may, NaN for a number,
infinity of the wrong sign, swapped outputs, another shape or type, an operator without cases; and how cases that fail are made
smaller. SEER_TEST: timeout=300"""
import sys

import numpy as np
from onnx import TensorProto as T

sys.dont_write_bytecode = True
import data
import judge
import operators
import refusals
import run

SEED = 3


def answers(case, k):
    """What a perfect library would give: the f64 reference, rounded, or the other."""
    references = judge.References(case).of(k)
    out = []
    for own, elem, wide, _ in references:
        elem = elem or (T.FLOAT if (own if own is not None else wide).dtype.kind == "f" else None)
        value = own if own is not None else data.narrow(wide, elem)
        out.append((elem, value))
    return references, out


def objects(case, k, elem, value, reference, what):
    assert judge.difference(case, k, value, elem, reference), f"{case.name} ({case.describe()}): {what} was not seen"


def off(value, elem, how_much):
    """The element that is largest, moved by so many times itself."""
    bad = value.copy()
    at = np.unravel_index(np.argmax(np.where(np.isfinite(data.widen(value, elem)), np.abs(data.widen(value, elem)), 0)), value.shape)
    bad[at] = data.narrow(data.widen(bad, elem)[at] * (1 + max(how_much, 6 * data.ROUNDOFF[elem])), elem)
    return bad


def check(op, number, how_much):
    """A right answer passes, planted ones do not; returns whether there was something to plant."""
    case = run.make_case(op, number, SEED, refusals.newest_opset())
    for k in range(len(data.SETS)):
        references, found = answers(case, k)
        for (elem, value), reference in zip(found, references):
            if elem is None or value.size == 0:
                continue
            wrong = judge.difference(case, k, value, elem, reference)
            assert wrong is None, f"{case.name} ({case.describe()}): the reference itself is refused: {wrong}"
            objects(case, k, elem, value.reshape(value.shape + (1,)), reference, "another shape")
            if data.is_float(elem) and k == 0 and np.isfinite(data.widen(value, elem)).all() and np.abs(data.widen(value, elem)).max() > 1e-3:
                objects(case, k, elem, off(value, elem, how_much), reference, f"an element off by {how_much}")
                bad = value.astype(data.CARRIER[elem], copy=True)
                bad.reshape(-1)[0] = 0x7FC0 if elem == T.BFLOAT16 else np.nan
                objects(case, k, elem, bad, reference, "NaN")
                largest = np.full(value.shape, 0x7F80 if elem == T.BFLOAT16 else np.inf).astype(value.dtype)
                objects(case, k, elem, largest, reference, "infinity")
            elif not data.is_float(elem) and value.dtype.kind in "iu":
                bad = value.copy()
                bad.reshape(-1)[-1] ^= 1
                objects(case, k, elem, bad, reference, "an integer off by one")


def infinities():
    case = run.make_case("Relu", 0, SEED, 21)
    want = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)
    reference = (want, T.FLOAT, None, None)
    assert judge.difference(case, 1, want, T.FLOAT, reference) is None
    for k, x in ((0, -np.inf), (1, np.inf), (2, 0.0), (2, np.inf), (0, data.LARGEST[T.FLOAT]), (3, np.nan), (3, np.float32(1 + 2**-22))):
        bad = want.copy()
        bad[k] = x
        objects(case, 1, T.FLOAT, bad, reference, f"{x} for {want[k]}")
    objects(case, 1, T.DOUBLE, want.astype(np.float64), reference, "another type")


def swapped():
    """Both outputs of TopK have one shape; values for indices, and rows in another order."""
    case = run.make_case("MatMul", 2, SEED, 21)
    references, found = answers(case, 0)
    elem, value = found[0]
    if value.size > 1 and value.ndim:
        bad = np.ascontiguousarray(value.reshape(-1)[::-1]).reshape(value.shape)
        if (bad != value).any():
            objects(case, 0, elem, bad, references[0], "elements in reverse order")


def half_accumulator():
    """A sum in half precision, where f32 is what the tolerance is for."""
    for number in range(40):
        case = run.make_case("ReduceSum", number, SEED, 21)
        if case.inputs[0][1] == T.FLOAT16 and case.inputs[0][2] and max(case.inputs[0][2]) >= 64:
            references, found = answers(case, 0)
            _, value = found[0]
            x = case.sets[0][case.inputs[0][0]]
            if value.size == 1 and x.size > 200:
                total = np.float16(0)
                for e in x.reshape(-1):
                    total = np.float16(total + e)
                if total != value.reshape(-1)[0]:
                    objects(case, 0, T.FLOAT16, np.full(value.shape, total), references[0], "a sum in half precision")


def shrinks():
    """Of a case that is said to fail for one of its attributes, what is left is that attribute and a tensor of one element; of a
    graph that fails for its Softmax, that and what it cannot be without."""
    opset = refusals.newest_opset()
    number = next(n for n in range(200) if any(a.name == "perm" for a in run.make_case("Transpose", n, SEED, opset).nodes[0].attribute))

    def has(word):
        return lambda case: any(word == node.op_type or any(word == a.name for a in node.attribute) for node in case.nodes)
    small = run.smallest("Transpose", number, SEED, opset, has("perm"), 60)
    assert has("perm")(small) and sum(int(np.prod(s)) for _, _, s in small.inputs) == 1, small.describe()
    number = next(n for n in range(200) if len(run.make_case(run.GRAPH, n, SEED, opset).nodes) > 6 and has("Softmax")(run.make_case(run.GRAPH, n, SEED, opset)))
    small = run.smallest(run.GRAPH, number, SEED, opset, has("Softmax"), 60)
    assert has("Softmax")(small) and len(small.nodes) <= 3, small.describe()


def main():
    listed = run.listed()
    assert not run.without_cases(listed), f"no cases: {run.without_cases(listed)}"
    assert run.without_cases(["Relu", "NoSuchOperator"]) == ["NoSuchOperator"]
    infinities()
    swapped()
    half_accumulator()
    shrinks()
    for op, how_much in (("Exp", 1e-3), ("Add", 1e-2), ("Conv", 2e-2), ("MatMul", 2e-2), ("Softmax", 2e-2), ("ReduceSum", 2e-2), ("LayerNormalization", 2e-2),
                         ("ArgMax", 0), ("Transpose", 1e-2), ("Concat", 1e-2), ("QuantizeLinear", 0), (run.GRAPH, 5e-2)):
        for number in range(4):
            check(op, number, how_much)
    print(f"{len(operators.MAKERS)} operators have cases; planted faults were seen")


if __name__ == "__main__":
    main()
