"""Every definition of an operator of ai.onnx, as PyPI's onnx lists them, is read, or stands in definitions.txt as one that is
not, with the reason; what is neither has not been looked at. Files of an opset beyond them are refused.

definitions.txt: `Operator VERSION...` are read, with all attributes, inputs and outputs that they have; `- Operator VERSION...:
reason` are not; `- Operator.attribute VERSION...: reason` are, but without that attribute, `- Operator(n)` and `- Operator[n]`
without more than n inputs and outputs. A node that says more is refused by name.
"""
import os
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

from peer import FAMILYSEER, compare, familyseer, reference, run_ours, run_tests

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "definitions.txt")
ENTRIES = os.path.join(os.path.dirname(FAMILYSEER), "test", "test_front_operators_doc")
ANY = 255  # of inputs or outputs: SEER_OP_ANY


def entries():
    """Oldest and newest opset, and {operator: [(from, to, inputs, outputs, attributes)]}."""
    lines = subprocess.run([ENTRIES, "--versions"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines[1:]:
        name, *numbers = line.split(" ", 5)
        found.setdefault(name, []).append((*map(int, numbers[:4]), set(numbers[4].split())))
    return *map(int, lines[0].split()), found


def definitions(newest):
    """{operator: [(version, last opset that has it, schema)]} of the package, to `newest`."""
    versions = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= newest:
            versions.setdefault(schema.name, []).append(schema)
    for name, schemas in versions.items():
        schemas.sort(key=lambda s: s.since_version)
        ends = [s.since_version - 1 for s in schemas[1:]] + [newest]
        # An operator whose last definition says only that it is gone is gone.
        versions[name] = [(s.since_version, end, s) for s, end in zip(schemas, ends) if not (s.deprecated and s is schemas[-1])]
    return versions


def shortfalls(name, version, last, schema, table):
    """What the entries lack of one definition: "Name" alone when there is none for an opset that has it."""
    attributes, inputs, outputs = set(schema.attributes), schema.max_input, schema.max_output
    lacks = set()
    for opset in range(version, last + 1):
        entry = next((e for e in table.get(name, []) if e[0] <= opset <= e[1]), None)
        if not entry:
            return {name}
        lacks |= {f"{name}.{a}" for a in attributes - entry[4]}
        lacks |= {f"{name}({entry[2]})"} if entry[2] not in (ANY, *range(inputs, ANY)) else set()
        lacks |= {f"{name}[{entry[3]}]"} if entry[3] not in (ANY, *range(outputs, ANY)) else set()
    return lacks


def stated():
    """({what: versions that are read}, {what: versions that are not}) of definitions.txt."""
    read, unread = {}, {}
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            found = re.fullmatch(r"(- )?(\S+?)((?: \d+)+)(?:: (\S.*))?\n", line)
            if line.startswith("#") or line == "\n":
                continue
            assert found and bool(found[1]) == bool(found[4]), f"definitions.txt: {line.strip()}: a reason is for what is not read"
            (unread if found[1] else read).setdefault(found[2], set()).update(map(int, found[3].split()))
    return read, unread


def every_definition():
    oldest, newest, table = entries()
    assert oldest == 1
    assert defs.onnx_opset_version() <= newest, f"onnx {onnx.__version__} has opset {defs.onnx_opset_version()}, {newest} is read"
    read, unread = stated()
    known = min(newest, defs.onnx_opset_version())
    found = definitions(known)
    wrong, lacking = [], {}
    for name, versions in sorted(found.items()):
        for version, last, schema in versions:
            lacks = shortfalls(name, version, last, schema, table)
            for what in lacks:
                lacking.setdefault(what, set()).add(version)
            if (version in read.get(name, ())) != (name not in lacks):
                wrong.append(f"{name} {version} is {'not ' if name in lacks else ''}read, and definitions.txt says otherwise")
    for what in sorted(set(lacking) | set(unread)):
        said = {v for v in unread.get(what, ()) if v <= known}
        for version in sorted(said ^ lacking.get(what, set())):
            wrong.append(f"{what} {version}: {'definitions.txt says that it is not read' if version in said else 'not read, and no reason given'}")
    if known == newest:
        gone = {(n, v) for n in read for v in read[n]} - {(n, v) for n in found for v, *_ in found[n]}
        wrong += [f"{n} {v}: definitions.txt has it, onnx does not" for n, v in sorted(gone)]
    print(f"{sum(map(len, found.values()))} definitions of {len(found)} operators to opset {known}, "
          f"{sum(len(v & set(range(known + 1))) for n, v in read.items())} of them read")
    assert not wrong, "\n  ".join(["what is read and what is said:", *wrong])


def identity(opset):
    io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", io[:1], io[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def beyond():
    oldest, newest, _ = entries()
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "m.onnx")
        for opset in (newest, newest + 1):
            onnx.save(identity(opset), path)
            done = familyseer("compile", path, "-o", os.path.join(tmp, "out"), "-O0", check=False)
            if opset == newest:
                assert done.returncode == 0, done.stderr
        want = f"opset {newest + 1}, supported are {oldest} to {newest}"
        assert done.returncode != 0 and want in done.stderr, f"status {done.returncode}: {done.stderr}"


def answers():
    """Operators that many opsets define anew are right in each: the same network by all versions since 21."""
    _, newest, _ = entries()
    rng = np.random.default_rng(3)
    w = numpy_helper.from_array((rng.standard_normal((6, 4, 3, 3)) / 6).astype(np.float32), "w")
    constants = [w, *(numpy_helper.from_array(np.array(v, t), n) for n, v, t in (
        ("scales", [1, 1, 2, 1.5], np.float32), ("low", -0.5, np.float32), ("from", [0], np.int64), ("minus", [-1], np.int64),
        ("pads", [0, 1, 0, 2], np.int64), ("k", [5], np.int64), ("y_scale", 0.02, np.float32), ("zero", 3, np.int8)))]
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["conv"], pads=[1, 1, 1, 1]), node("AveragePool", ["conv"], ["pool"], kernel_shape=[3, 3], dilations=[1, 2]),
        node("Resize", ["pool", "", "scales"], ["large"], mode="linear"), node("Identity", ["large"], ["same"]),
        node("Clip", ["same", "low"], ["clipped"]), node("Softplus", ["clipped"], ["soft"]), node("Transpose", ["soft"], ["turned"], perm=[0, 2, 3, 1]),
        node("Shape", ["turned"], ["shape"], end=1),
        node("Squeeze", ["shape"], ["one"]), node("Unsqueeze", ["one", "from"], ["again"]), node("Concat", ["again", "minus"], ["flat"], axis=0),
        node("Reshape", ["turned", "flat"], ["rows_of"]), node("Pad", ["rows_of", "pads"], ["padded"]), node("Softmax", ["padded"], ["p"]),
        node("QuantizeLinear", ["padded", "y_scale", "zero"], ["q"]), node("DequantizeLinear", ["q", "y_scale", "zero"], ["back"]),
        node("Add", ["p", "back"], ["sum"]), node("TopK", ["sum", "k"], ["y", "at"]), node("Cast", ["y"], ["half"], to=TensorProto.FLOAT16),
        node("Round", ["half"], ["whole"]), node("Flatten", ["whole"], ["z"])]
    feeds = {"x": rng.standard_normal((2, 4, 9, 11)).astype(np.float32)}
    outputs = {"y": TensorProto.FLOAT, "at": TensorProto.INT64, "z": TensorProto.FLOAT16, "flat": TensorProto.INT64}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 9, 11])],
                              [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()], constants)

    def of_opset(opset):
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)

    theirs = reference(of_opset(21), feeds)  # ONNX Runtime lacks some of the newest definitions
    with tempfile.TemporaryDirectory() as tmp:
        for opset in range(21, newest + 1):
            path, folder, out = (os.path.join(tmp, f"{opset}{n}") for n in (".onnx", "lib", "out"))
            os.mkdir(out)
            onnx.save(of_opset(opset), path)
            familyseer("compile", path, "-o", folder, "-O1")
            compare(f"opset {opset}", run_ours(folder, feeds, out, 2), theirs, discriminate=False)


def no_entry_beyond():
    """Entries end with an opset that is read: a number that was right once is not in the table."""
    _, newest, table = entries()
    late = [f"{n} {e[1]}" for n, e_list in table.items() for e in e_list if e[1] > newest]
    assert not late, late
    last = max(e[1] for e_list in table.values() for e in e_list)
    assert last == newest, f"the newest entry is for opset {last}, {newest} is read"


if __name__ == "__main__":
    run_tests([("every_definition", every_definition), ("no_entry_beyond", no_entry_beyond), ("answers", answers), ("beyond", beyond)])
