"""Hostile attributes: every integer attribute of every operator, and every constant operand of integers (axes, shapes, pads), set
to what no node may have: negative, zero, huge, too few, too many, the same twice, of another kind. Each such model goes all the
way to tasks in one process (fuzz_onnx, sanitized where the build is); it is refused, or it is a network, and nothing else.

The nodes are those of the ONNX project's tests, where the onnx package brings them, at most four of an operator; of those that
are not among them, com.microsoft's all, two that the differential test draws (test/differential/). SEER_TEST: timeout=600
"""
import collections
import copy
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "differential"))
import case as cases  # noqa: E402
import operators as generators  # noqa: E402
import refusals  # noqa: E402
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
FUZZER = os.path.join(os.path.dirname(FAMILYSEER), "test", "fuzz_onnx")
NODES = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "node")
BIG, FIXED = 1 << 40, {TensorProto.INT64, TensorProto.INT32}
SINGLE = [-1, 0, 1, 7, -7, 65536, (1 << 31) - 1, BIG, (1 << 63) - 1, -(1 << 63)]
N_MODELS, N_DRAWN = 4, 2  # of an operator
MOST = 64  # elements of an operand that is changed
SEED, TRIES = 1, 50
TRANSFORMED = "Transpose"


def lists(values):
    """Hostile forms of a list."""
    n = len(values)
    for k in {0, n - 1} if n else ():
        for bad in (-1, -n - 1, 0, n, 9, BIG, -(1 << 63), (1 << 31) - 1):
            yield [*values[:k], bad, *values[k + 1:]]
    if n > 1:
        yield [values[0]] * n
        yield [-v for v in values]
    yield []
    yield values[:-1]
    yield [*values, 1]
    yield [*values] * 3
    yield [0] * n
    yield [-1] * n
    yield [BIG] * n
    yield [(1 << 62) + 1] * n


def with_constants(model, folder):
    """Inputs of integers become initialisers, as a file has them: shapes, axes, sizes."""
    for k, value in enumerate(list(model.graph.input)):
        path = os.path.join(folder, "test_data_set_0", f"input_{k}.pb")
        if value.type.tensor_type.elem_type not in FIXED or not os.path.exists(path):
            continue
        tensor = TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        if 0 < k and np.prod(tensor.dims) <= MOST:
            tensor.name = value.name
            model.graph.initializer.append(tensor)
            model.graph.input.remove(value)
    return model


def hostile(model):
    """Copies of the model, one change in each."""
    for i, node in enumerate(model.graph.node):
        for a, attribute in enumerate(node.attribute):
            if attribute.type == AttributeProto.INTS:
                forms = [helper.make_attribute(attribute.name, v, attr_type=AttributeProto.INTS) for v in lists(list(attribute.ints))]
                forms.append(helper.make_attribute(attribute.name, 5))
            elif attribute.type == AttributeProto.INT:
                forms = [helper.make_attribute(attribute.name, v) for v in SINGLE if v != attribute.i]
                forms.append(helper.make_attribute(attribute.name, [5, -1]))
            elif attribute.type == AttributeProto.FLOAT:
                forms = [helper.make_attribute(attribute.name, v) for v in (float("nan"), float("inf"), -1e38)]
            elif attribute.type == AttributeProto.STRING:
                forms = [helper.make_attribute(attribute.name, v) for v in ("", "nonsense", "ii->i", "...->ijk...", "a" * 300)]
            else:
                continue
            for form in forms:
                changed = copy.deepcopy(model)
                changed.graph.node[i].attribute[a].CopyFrom(form)
                yield f"{attribute.name}", changed
    for t, tensor in enumerate(model.graph.initializer):
        if tensor.data_type not in FIXED or np.prod(tensor.dims) > MOST:
            continue
        data = numpy_helper.to_array(tensor)
        forms = lists(list(data.ravel().tolist())) if data.ndim else ([v] for v in SINGLE)
        for form in forms:
            values = np.array(form, np.int64).astype(data.dtype)
            changed = copy.deepcopy(model)
            shape = data.shape if values.size == data.size else [values.size]
            changed.graph.initializer[t].CopyFrom(numpy_helper.from_array(values.reshape(shape), tensor.name))
            yield tensor.name, changed


def transposed(perm):
    """Transposes where passes read them: two in a row, before arithmetic, of a constant, and behind a convolution."""
    value, node = helper.make_tensor_value_info, helper.make_node
    n = len(perm)
    shape, out = [2] * n, [None] * n
    # Whoever makes a model cannot have `perm` checked: the checker is not asked.
    graph = helper.make_graph(
        [node("Relu", ["x"], ["r"]), node(TRANSFORMED, ["r"], ["t"], perm=perm), node("Add", ["t", "c"], ["a"]),
         node(TRANSFORMED, ["a"], ["u"], perm=perm), node(TRANSFORMED, ["u"], ["v"]), node("Reshape", ["v", "s"], ["y"]),
         node(TRANSFORMED, ["w"], ["z"], perm=perm)],
        "g", [value("x", TensorProto.FLOAT, shape)], [value("y", TensorProto.FLOAT, [None]), value("z", TensorProto.FLOAT, out)],
        [numpy_helper.from_array(np.ones(1, np.float32), "c"), numpy_helper.from_array(np.array([-1], np.int64), "s"),
         numpy_helper.from_array(np.ones(shape, np.float32), "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def drawn(operator, number):
    """A case of the differential test, its operands of integers as initialisers; None where the installed package is too old for one."""
    for attempt in range(TRIES):
        maker = cases.Maker(operator, number, SEED, refusals.newest_opset(), attempt)
        try:
            generators.MAKERS[operator](maker)
        except cases.NoCase:
            continue
        model = cases.model_of([maker.case])
        known = {value.name: value for value in model.graph.input}
        for k, (name, elem, shape) in enumerate(maker.case.inputs):
            if k > 0 and elem in FIXED and np.prod(shape) <= MOST:
                model.graph.initializer.append(cases.tensor(name, elem, maker.case.sets[0][name]))
                model.graph.input.remove(known[name])
        return model
    return None


def write(folder, name, model):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(model.SerializeToString())


def main():
    known = {row["name"] for row in json.loads(subprocess.run([FAMILYSEER, "list", "operators", "--json"], check=True,
                                                               capture_output=True, text=True).stdout)}
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        n = 0
        for perm in ([-1, 0, 1], [0, 0, 1], [0, 1], [0, 1, 2, 3, 0], [3, 1, 2], [1 << 32, 1, 2], [-3, -2, -1], [0, 1, -(1 << 63)]):
            write(folder, f"perm_{n}", transposed(perm))
            n += 1
        for case in sorted(os.listdir(NODES)) if os.path.isdir(NODES) else ():
            path = os.path.join(NODES, case, "model.onnx")
            if not os.path.exists(path) or os.path.getsize(path) > 30000:
                continue
            model = onnx.load(path)
            # An operator's own test names it first; expanded functions are made of others.
            operators = {x.op_type for x in model.graph.node} & known
            if not operators or all(seen[x] >= N_MODELS for x in operators):
                continue
            seen.update(operators)
            for what, changed in hostile(with_constants(model, os.path.join(NODES, case))):
                write(folder, f"{case}_{what.replace('/', '_')[:40]}_{n}", changed)
                n += 1
        for operator in sorted(known - set(seen)):
            for number in range(N_DRAWN):
                model = drawn(operator, number)
                seen[operator] += model is not None
                for what, changed in hostile(model) if model else ():
                    write(folder, f"{operator}_{what.replace('/', '_')[-40:]}_{n}", changed)
                    n += 1
        unseen = sorted(known - set(seen))
        found = subprocess.run([FUZZER, "--files", folder], capture_output=True, text=True, errors="replace")
        print(f"{n} models of {len(seen)} operators; newer than the onnx package: {' '.join(unseen)}")
        if found.returncode != 0:
            last = (found.stdout.splitlines() or ["nothing"])[-1]
            print(f"{last}: status {found.returncode}\n{found.stderr[-4000:]}")
            if os.environ.get("KEEP"):
                os.system(f"cp {folder}/{last} {os.environ['KEEP']}")
            return 1
    return 0


sys.exit(main())
