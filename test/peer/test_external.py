"""External data wherever a tensor may stand, against ONNX Runtime with the same data inside; and what is said of files that are not as they should be. SEER_TEST: timeout=300"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import compare, familyseer, reference, run_ours, run_tests

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
rng = np.random.default_rng(5)
node = helper.make_node


def info(name, kind=F, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    return numpy_helper.from_array((rng.standard_normal(shape) / 2).astype(np.float32), name)


def constant(name, *shape):
    return node("Constant", [], [name], value=weight(name + ".value", *shape))


def body(nodes, outputs, inputs=(), constants=()):
    return helper.make_graph(nodes, "body", list(inputs), list(outputs), list(constants))


def model(nodes, inputs, outputs, constants=(), functions=()):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10, functions=list(functions))


X = info("x", F, [3, 4])
Y = [info("y", F, [3, 4])]


def initialiser():
    return model([node("MatMul", ["x", "w"], ["y"])], [X], Y, [weight("w", 4, 4)])


def constant_node():
    return model([constant("w", 4, 4), node("MatMul", ["x", "w"], ["y"])], [X], Y)


def sparse():
    made = model([node("MatMul", ["x", "w"], ["y"])], [X], Y)
    indices = numpy_helper.from_array(np.arange(0, 16, 2), "w.indices")
    made.graph.sparse_initializer.append(onnx.SparseTensorProto(values=weight("w", 8), indices=indices, dims=[4, 4]))
    return made


def branches():
    """Each side has a weight as an initialiser, a Constant, and a branch of its own that has one."""
    def side(k):
        deep = body([node("Add", ["p", f"deep{k}"], [f"d{k}"])], [info(f"d{k}")], constants=[weight(f"deep{k}", 4)])
        plain = body([node("Tanh", ["p"], [f"e{k}"])], [info(f"e{k}")])
        return body([constant(f"b{k}", 4), node("MatMul", ["x", f"w{k}"], ["m"]), node("Add", ["m", f"b{k}"], ["p"]),
                     node("If", ["d"], [f"o{k}"], then_branch=deep, else_branch=plain)], [info(f"o{k}")], constants=[weight(f"w{k}", 4, 4)])
    return model([node("If", ["c"], ["y"], then_branch=side(0), else_branch=side(1))], [info("c", BOOL, []), info("d", BOOL, []), X], Y)


def loop():
    turn = body([node("MatMul", ["v", "w"], ["m"]), constant("b", 4), node("Add", ["m", "b"], ["s"]), node("Tanh", ["s"], ["next"]),
                 node("Identity", ["go"], ["on"])], [info("on", BOOL, []), info("next")],
                [info("k", I64, []), info("go", BOOL, []), info("v")], [weight("w", 4, 4)])
    return model([node("Loop", ["n", "", "x"], ["y"], body=turn)], [info("n", I64, []), X], Y)


def scan():
    turn = body([node("MatMul", ["e", "w"], ["m"]), node("Add", ["s", "m"], ["t"]), constant("b", 4), node("Mul", ["t", "b"], ["o"])],
                [info("t"), info("o")], [info("s", F, [4]), info("e", F, [4])], [weight("w", 4, 4)])
    return model([node("Scan", ["s0", "x"], ["last", "y"], body=turn, num_scan_inputs=1)], [info("s0", F, [4]), X], [info("last", F, [4]), *Y])


def functions():
    """One that calls one; a body in a function; a tensor that a call hands over as an attribute."""
    handed = node("Constant", [], ["b"])
    to = handed.attribute.add()
    to.name, to.ref_attr_name, to.type = "value", "bias", onnx.AttributeProto.TENSOR
    inner = helper.make_function("own", "Inner", ["a"], ["z"], [constant("w", 4, 4), handed, node("MatMul", ["a", "w"], ["m"]),
                                                               node("Add", ["m", "b"], ["z"])], OPSETS[:1], ["bias"])
    side = [body([constant(f"s{k}", 4), node("Mul", ["t", f"s{k}"], [f"o{k}"])], [info(f"o{k}")]) for k in range(2)]
    outer = helper.make_function("own", "Outer", ["c", "a"], ["z"], [node("Inner", ["a"], ["t"], domain="own", bias=weight("bias", 4)),
                                                                    node("If", ["c"], ["z"], then_branch=side[0], else_branch=side[1])], OPSETS)
    return model([node("Outer", ["c", "x"], ["y"], domain="own")], [info("c", BOOL, []), X], Y, functions=[inner, outer])


def tensors_of(graph_or_function):
    """Every TensorProto in it, its bodies' too."""
    nodes = graph_or_function.node
    yield from getattr(graph_or_function, "initializer", ())
    for sparse in getattr(graph_or_function, "sparse_initializer", ()):
        yield from (sparse.values, sparse.indices)
    for n in nodes:
        for attribute in n.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from tensors_of(attribute.g)


def outside(inside, folder, damage=None):
    """The model as a file whose tensors all lie in files beside it, two to a file. damage(name, tensor) changes what it likes."""
    made = onnx.ModelProto()
    made.CopyFrom(inside)
    tensors = [t for part in (made.graph, *made.functions) for t in tensors_of(part)]
    for k, tensor in enumerate(tensors):
        name = f"weights{k // 2}.bin"
        with open(os.path.join(folder, name), "ab") as file:
            file.write(bytes(-file.tell() % 16))
            at = file.tell()
            file.write(tensor.raw_data)
        entries = {"location": name, "offset": str(at), "length": str(len(tensor.raw_data))}
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        if damage:
            damage(tensor.name, entries)
        for key, text in entries.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, text
    path = os.path.join(folder, "net.onnx")
    with open(path, "wb") as file:
        file.write(made.SerializeToString())
    return path, len(tensors)


def feeds_of(inside):
    """For each setting of the conditions."""
    flags = [i.name for i in inside.graph.input if i.type.tensor_type.elem_type == BOOL]
    for bits in range(2 ** len(flags)):
        feeds = {}
        for i in inside.graph.input:
            shape = [d.dim_value for d in i.type.tensor_type.shape.dim]
            kind = i.type.tensor_type.elem_type
            feeds[i.name] = np.array(3) if kind == I64 else rng.standard_normal(shape).astype(np.float32)
        yield {**feeds, **{f: np.array(bool(bits >> k & 1)) for k, f in enumerate(flags)}}


PLACES = {"initialiser": (initialiser, 1), "Constant": (constant_node, 1), "branches": (branches, 6), "Loop": (loop, 2), "Scan": (scan, 2),
          "functions": (functions, 4), "sparse": (sparse, 2)}


def agrees(name, make, n_outside):
    inside = make()
    with tempfile.TemporaryDirectory() as tmp:
        path, n = outside(inside, tmp)
        assert n == n_outside, f"{n} tensors lie outside"
        for level in "-O0", "-O1":
            folder = os.path.join(tmp, "out" + level)
            familyseer("compile", path, "-o", folder, level)
            for k, feeds in enumerate(feeds_of(inside)):
                out = os.path.join(tmp, f"run{level}{k}")
                os.mkdir(out)
                compare(f"{name} {level}", run_ours(folder, feeds, out, 1), reference(inside, feeds))
        familyseer("verify", os.path.join(tmp, "out-O1"), path)


# What is wrong with an entry, and what must be said of it.
WRONG = [({"location": "missing.bin"}, ["missing.bin", "No such file"]),
         ({"location": "../weights0.bin"}, ["'../weights0.bin' leaves the model's folder"]),
         ({"location": "/etc/hostname"}, ["'/etc/hostname' leaves the model's folder"]),
         ({"location": "link.bin"}, ["link.bin", "only files beneath the model's folder"]),
         ({"offset": "4096"}, ["bytes 4096 to", "of a file of"]),
         ({"length": "4"}, ["length 4, the dimensions need"]),
         ({"offset": "x"}, ["offset 'x' is no number"])]


def refused(name, make):
    """The last tensor's entry is wrong: wherever it stands, the tensor is named, and what is wrong with it."""
    inside = make()
    last = [t.name for part in (inside.graph, *inside.functions) for t in tensors_of(part)][-1]
    for changed, said in WRONG:
        with tempfile.TemporaryDirectory() as tmp:
            os.mkdir(os.path.join(tmp, "m"))
            os.symlink("/etc/hostname", os.path.join(tmp, "m", "link.bin"))
            path, _ = outside(inside, os.path.join(tmp, "m"), lambda n, entries, c=changed: entries.update(c if n == last else {}))
            done = familyseer("compile", path, "-o", os.path.join(tmp, "out"), check=False)
            assert done.returncode == 1 and not os.path.exists(os.path.join(tmp, "out")), f"{name}, {changed}: status {done.returncode}"
            for words in [f"tensor '{last}'", *said]:
                assert words in done.stderr, f"{name}, {changed}: '{done.stderr.strip()}' lacks '{words}'"


def too_short():
    """A file that ends before its last tensor does."""
    for name, (make, _) in PLACES.items():
        with tempfile.TemporaryDirectory() as tmp:
            path, n = outside(make(), tmp)
            last = os.path.join(tmp, f"weights{(n - 1) // 2}.bin")
            os.truncate(last, os.path.getsize(last) - 1)
            done = familyseer("compile", path, "-o", os.path.join(tmp, "out"), check=False)
            assert done.returncode == 1 and f"of a file of {os.path.getsize(last)}" in done.stderr, f"{name}: {done.stderr}"


run_tests([(name, lambda name=name, place=place: agrees(name, *place)) for name, place in PLACES.items()]
          + [(name + " refused", lambda name=name, place=place: refused(name, place[0])) for name, place in PLACES.items()]
          + [("too short", too_short)])
