"""Sparse initialisers and sparse Constants, against ONNX Runtime with what numpy makes of them; and files whose indices are not as they should be. SEER_TEST: timeout=300"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import compare, familyseer, random_feeds, reference, run_ours, run_tests

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSETS = [helper.make_opsetid("", 21)]
rng = np.random.default_rng(7)
node = helper.make_node


def raw(name, kind, dims, array):
    tensor = TensorProto(name=name, data_type=kind, dims=dims)
    tensor.raw_data = np.ascontiguousarray(array).tobytes()
    return tensor


def sparse(name, dense, as_coordinates, kind=None):
    """SparseTensorProto of a dense array: what numpy finds in it."""
    found = np.argwhere(dense) if as_coordinates else np.flatnonzero(dense)
    values = numpy_helper.from_array(dense[dense != 0], name)
    made = onnx.SparseTensorProto(values=values, indices=numpy_helper.from_array(found.astype(np.int64), name + ".indices"), dims=dense.shape)
    if kind:
        made.values.data_type = kind
    return made


def few(*shape, dtype=np.float32, share=0.3):
    dense = np.array(rng.standard_normal(shape) * 3)
    dense[rng.random(shape) > share] = 0
    return dense.astype(dtype)


def info(name, kind=F, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, dense=(), sparse_ones=()):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(dense))
    graph.sparse_initializer.extend(sparse_ones)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10)


def check(label, ours, theirs, feeds, levels=("-O0", "-O1"), discriminate=True):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "net.onnx")
        onnx.save(ours, path)
        for level in levels:
            folder, out = os.path.join(tmp, "out" + level), os.path.join(tmp, "run" + level)
            os.mkdir(out)
            familyseer("compile", path, "-o", folder, level)
            compare(f"{label} {level}", run_ours(folder, feeds, out, 1), reference(theirs, feeds), discriminate)


X = info("x", F, [5, 12])


def initialisers():
    """A weight and an addend of every rank, by positions and by coordinates."""
    for shape in ((12,), (5, 12), (2, 1, 12), (2, 2, 5, 12), (1,), ()):
        for as_coordinates in (False, True):
            w, b = few(12, 12), few(*shape, share=0.6)
            nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])]
            ours = model(nodes, [X], [info("y")], sparse_ones=[sparse("w", w, as_coordinates), sparse("b", b, as_coordinates and len(shape) > 0)])
            theirs = model(nodes, [X], [info("y")], [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
            check(f"{list(shape)} {'coordinates' if as_coordinates else 'positions'}", ours, theirs, random_feeds(theirs))


def types():
    """Every type of elements; its zeros are zeros."""
    numbers = [np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool]
    for dtype in numbers:
        w = np.abs(few(5, 12, share=0.5) * 9).astype(dtype) if np.dtype(dtype).kind in "ub" else few(5, 12, dtype=dtype, share=0.5)
        nodes = [node("Cast", ["w"], ["c"], to=F), node("Add", ["x", "c"], ["y"])]
        ours = model(nodes, [X], [info("y")], sparse_ones=[sparse("w", w, True)])
        theirs = model(nodes, [X], [info("y")], [numpy_helper.from_array(w, "w")])
        check(np.dtype(dtype).name, ours, theirs, random_feeds(theirs), ["-O1"])
    # Types that numpy lacks, by their bits: bfloat16, four kinds of float8, and 4-bit integers, two to a byte.
    bits = {TensorProto.BFLOAT16: np.uint16([0x3FC0, 0xC020, 0x4110]), TensorProto.FLOAT8E4M3FN: np.uint8([0x39, 0xC1, 0x51]),
            TensorProto.FLOAT8E4M3FNUZ: np.uint8([0x39, 0xC1, 0x51]), TensorProto.FLOAT8E5M2: np.uint8([0x39, 0xC1, 0x51]),
            TensorProto.FLOAT8E5M2FNUZ: np.uint8([0x39, 0xC1, 0x51]), TensorProto.INT4: np.uint8([0x9A, 0x07]), TensorProto.UINT4: np.uint8([0x9A, 0x07])}
    for kind, values in bits.items():
        places, is_packed = [1, 4, 11], kind in (TensorProto.INT4, TensorProto.UINT4)
        dense = np.zeros(12, values.dtype)
        dense[places] = [10, 9, 7] if is_packed else values
        nodes = [node("Cast", ["w"], ["c"], to=F), node("Add", ["x", "c"], ["y"])]
        one = onnx.SparseTensorProto(values=raw("w", kind, [3], values), indices=numpy_helper.from_array(np.int64(places), "i"), dims=[12])
        whole = raw("w", kind, [12], dense[::2] | dense[1::2] << 4 if is_packed else dense)
        ours, theirs = model(nodes, [X], [info("y")], sparse_ones=[one]), model(nodes, [X], [info("y")], [whole])
        check(TensorProto.DataType.Name(kind), ours, theirs, random_feeds(theirs), ["-O1"])


def places():
    """In a branch, in a loop's body, in a function, in Constant nodes, and in lists that are not raw; elements that are explicit zeros; none at all."""
    w, b = few(12, 12), few(12)
    two = [node("MatMul", ["x", "w"], ["m"]), node("Constant", [], ["b"], sparse_value=sparse("", b, False)), node("Add", ["m", "b"], ["y"])]
    side = helper.make_graph(two, "side", [], [info("y")])
    side.sparse_initializer.append(sparse("w", w, True))
    other = helper.make_graph([node("Tanh", ["x"], ["z"])], "other", [], [info("z")])
    ours = model([node("If", ["c"], ["out"], then_branch=side, else_branch=other)], [info("c", BOOL, []), X], [info("out")])
    plain = [two[0], node("Add", ["m", "b"], ["y"])]
    same = helper.make_graph(plain, "side", [], [info("y")], [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
    theirs = model([node("If", ["c"], ["out"], then_branch=same, else_branch=other)], [info("c", BOOL, []), X], [info("out")])
    for c in (True, False):
        check("a branch", ours, theirs, {**random_feeds(theirs), "c": np.array(c)})

    function = helper.make_function("own", "F", ["a"], ["z"], [node("Constant", [], ["w"], sparse_value=sparse("", w, True)),
                                                              node("MatMul", ["a", "w"], ["z"])], OPSETS)
    ours, theirs = model([node("F", ["x"], ["y"], domain="own")], [X], [info("y")]), model([node("MatMul", ["x", "w"], ["y"])], [X], [info("y")], [numpy_helper.from_array(w, "w")])
    ours.functions.append(function)
    ours.opset_import.append(helper.make_opsetid("own", 1))
    check("a function", ours, theirs, random_feeds(theirs))

    listed = onnx.SparseTensorProto(values=helper.make_tensor("w", F, [3], [2.5, 0, -1]), indices=helper.make_tensor("i", I64, [3], [0, 13, 143]), dims=[12, 12])
    dense = np.zeros(144, np.float32)
    dense[[0, 143]] = 2.5, -1
    nothing = onnx.SparseTensorProto(values=helper.make_tensor("b", F, [0], []), indices=helper.make_tensor("i", I64, [0, 2], []), dims=[5, 12])
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])]
    ours = model(nodes, [X], [info("y")], sparse_ones=[listed, nothing])
    theirs = model(nodes, [X], [info("y")], [numpy_helper.from_array(dense.reshape(12, 12), "w"), numpy_helper.from_array(np.zeros((5, 12), np.float32), "b")])
    check("lists", ours, theirs, random_feeds(theirs))


def refusals():
    """Whatever a file says is checked: nothing is read or written outside, nothing is guessed."""
    def one(values, indices, dims, kind=F, index_kind=I64, value_dims=None, index_dims=None):
        values, indices = np.array(values, np.float32), np.array(indices, np.int64 if index_kind == I64 else np.int32)
        return onnx.SparseTensorProto(values=raw("w", kind, values.shape if value_dims is None else value_dims, values),
                                      indices=raw("i", index_kind, indices.shape if index_dims is None else index_dims, indices), dims=dims)

    huge, last = 1 << 62, (1 << 63) - 1
    cases = [(one([1, 2], [0, 60], [5, 12]), "index 1 is 60, must be 0 to 59"), (one([1], [-1], [5, 12]), "index 0 is -1, must be 0 to 59"),
             (one([1], [last], [5, 12]), f"index 0 is {last}"), (one([1], [-last - 1], [5, 12]), f"index 0 is {-last - 1}"),
             (one([1], [[0, 12]], [5, 12]), "index 0 is 12 in dimension 1, must be 0 to 11"), (one([1], [[5, 0]], [5, 12]), "index 0 is 5 in dimension 0"),
             (one([1], [[-1, 0]], [5, 12]), "index 0 is -1 in dimension 0"), (one([1, 2], [[0, 1], [last, last]], [5, 12]), f"index 1 is {last}"),
             (one([1, 2], [3, 3], [5, 12]), "position 3 after 3, they must ascend"), (one([1, 2], [[1, 0], [0, 5]], [5, 12]), "position 5 after 12, they must ascend"),
             (one([1, 2], [3], [5, 12]), "must be [2] or [2,2]"), (one([1], [[1, 2, 3]], [5, 12]), "must be [1] or [1,2]"),
             (one([1], [[[1, 2]]], [5, 12]), "must be [1] or [1,2]"), (one([1], 3, [5, 12]), "must be [1] or [1,2]"),
             (one([[1]], [3], [5, 12]), "its values have 2 dimensions, must have 1"), (one([1], [3], [5, 12], index_kind=TensorProto.INT32), "its indices are i32, must be i64"),
             (one([1], [0], [5, -12]), "dimension 1 is -12"), (one([1], [0], [huge, 4]), "more than 2^63 bytes"), (one([1], [0], [huge]), "more than 2^63 bytes"),
             (one([1], [0], [1 << 40]), "--model-memory"), (one([1], [0], [1] * 20), "20 dimensions, at most"), (one([1], [0], [0, 12]), "index 0 is 0"),
             (one([1], [0], [5, 12], kind=TensorProto.STRING), "(string) is not supported"), (one([1], [3], [5, 12], value_dims=[2]), "bytes of data"),
             (one([1], [3], [5, 12], index_dims=[2]), "its indices")]
    no_values, no_indices = one([1], [3], [5, 12]), one([1], [3], [5, 12])
    no_values.ClearField("values")
    no_indices.ClearField("indices")
    cases += [(no_indices, "it has no indices")]
    for wrong, said in [*cases, (no_values, "it has no values")]:
        models = [model([node("Constant", [], ["w"], sparse_value=wrong), node("Add", ["x", "w"], ["y"])], [X], [info("y")])]
        if wrong is not no_values:  # whose name a sparse initialiser has
            models.append(model([node("Add", ["x", "w"], ["y"])], [X], [info("y")], sparse_ones=[wrong]))
        for bad in models:
            refused(bad, said)
    good = one([1], [3], [5, 12])
    add = node("Add", ["x", "w"], ["y"])
    refused(model([add], [X], [info("y")], sparse_ones=[good, good]), "two initialisers are named 'w'")
    refused(model([add], [X], [info("y")], [numpy_helper.from_array(few(5, 12), "w")], [good]), "two initialisers are named 'w'")
    refused(model([add], [X], [info("y")], sparse_ones=[no_values]), "initialiser 0 has no name")
    refused(model([node("ConstantOfShape", ["s"], ["w"], value=good), add], [X], [info("y")], [numpy_helper.from_array(np.int64([5, 12]), "s")]), "not supported")


def refused(bad, said):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "net.onnx")
        with open(path, "wb") as file:
            file.write(bad.SerializeToString())
        done = familyseer("compile", path, "-o", os.path.join(tmp, "out"), check=False)
        assert done.returncode == 1 and said in done.stderr, f"'{done.stderr.strip()}' (status {done.returncode}) lacks '{said}'"


run_tests([("initialisers", initialisers), ("types", types), ("places", places), ("refusals", refusals)])
