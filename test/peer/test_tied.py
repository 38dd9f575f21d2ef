"""A head whose weights are its embedding's, in every form in which exporters write it: answers against ONNX Runtime, and
the table once in weights.bin. SEER_TEST: timeout=300 labels=target"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto

from build_onnx import Net
from peer import check_model, familyseer, on_this_machine, random_feeds, reference, run_ours, compare, run_tests

WORDS, WIDTH = 50021, 24
TABLE = WORDS * WIDTH * 4
tmp = tempfile.TemporaryDirectory()


def language_model(form, tokens=6):
    net = Net("tied", [1, tokens], 3, opset=17, input_name="ids", dtype=TensorProto.INT64)
    values = net.rng.standard_normal((WORDS, WIDTH)).astype(np.float32) / 7
    table = net.const(values, "wte")
    x = net.op("Gather", table, "ids", axis=0)
    x = net.op("LayerNormalization", x, net.vector(WIDTH, 0.5, 1.5), net.vector(WIDTH), axis=-1)
    if form == "node":
        net.op("MatMul", x, net.op("Transpose", table, perm=[1, 0]))
    elif form == "transposed":  # PyTorch's exporter folds the node
        net.op("MatMul", x, net.const(values.T, "folded"))
    elif form == "equal":
        net.op("MatMul", x, net.op("Transpose", net.const(values, "again"), perm=[1, 0]))
    elif form == "gemm":
        flat = net.op("Reshape", x, net.const(np.array([-1, WIDTH], np.int64)))
        net.op("Gemm", flat, table, net.vector(WORDS), transB=1)
    elif form == "alike":  # but for one number: two tables
        other = values.T.copy()
        other[WIDTH // 2, WORDS // 2] += 1
        net.op("MatMul", x, net.const(other, "other"))
    return net.model()


def weight_bytes(path, *flags):
    folder = os.path.join(tmp.name, "size")
    familyseer("compile", path, "-o", folder, *flags)
    return os.path.getsize(os.path.join(folder, "weights.bin")), folder


def check(form):
    model = language_model(form)
    check_model(f"tied {form}", model)
    path = os.path.join(tmp.name, f"{form}.onnx")
    onnx.save(model, path)
    n = {flag: weight_bytes(path, flag)[0] for flag in ("-O0", "-O2", "--random-schedules=2")}
    apart, _ = weight_bytes(path, "-O1", "--share-weights", "0")
    n["-O1"], folder = weight_bytes(path, "-O1")
    print(f"tied {form}: {n}, {apart} apart, a table has {TABLE}", flush=True)
    copies = 2 if form == "alike" else 1
    assert all(copies * TABLE <= b < (copies + 0.2) * TABLE for b in n.values()), f"{form}: the table is not there {copies} times"
    assert apart >= 2 * TABLE
    familyseer("verify", folder, path)
    first = [open(os.path.join(folder, f), "rb").read() for f in ("weights.bin", "model.so")]
    _, folder = weight_bytes(path, "-O1")
    assert first == [open(os.path.join(folder, f), "rb").read() for f in ("weights.bin", "model.so")], "not reproducible"


def several_sets():
    model = language_model("node", "n")
    path = os.path.join(tmp.name, "sets.onnx")
    onnx.save(model, path)
    n, folder = weight_bytes(path, "-O1", "--share-weights", "1000", "--input-shapes", "ids:1x2", "--input-shapes", "ids:1x7")
    assert n < 1.2 * TABLE, f"{n} bytes"
    for tokens in (2, 7):
        feeds = random_feeds(model, tokens, {"ids": [1, tokens]})
        with tempfile.TemporaryDirectory() as out:
            compare(f"tied, {tokens} tokens", run_ours(folder, feeds, out, 2), reference(model, feeds))


forms = ("node", "transposed", "equal", "gemm", "alike")
# What a machine decides is how each reader would have the table: the ways of writing it come to the same.
run_tests(on_this_machine([(form, lambda form=form: check(form)) for form in forms] + [("sets", several_sets)], {"node", "alike"}))
