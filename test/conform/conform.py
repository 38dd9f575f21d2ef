#!/usr/bin/env python3
"""ONNX's own tests (PyPI onnx, backend/test/data) through backend.py: which pass, and of the others which stand on the list.

    conform.py [--kind node,simple,pytorch-operator,pytorch-converted] [--only TEXT] [--jobs N] [--write] [--emit TARGET]

Tests with strings, sequences, maps or optional values are not counted, nor are those above opset 21. known.txt lists the
tests that do not pass with the reason that was given; --write writes it anew. Status 1: a test fails that is not on the
list, or one passes that is. --emit: libraries are written as C for the target (native, c, c-vectors) and made by cc.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import signal
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import backend  # noqa: E402

DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
KNOWN = os.path.join(HERE, "known.txt")
MAX_OPSET = 21
RTOL, ATOL = 1e-3, 1e-7  # those of onnx.backend.test
MAX_BOUND = 64  # elements of an operand that is tried as a constant


def is_plain(model):
    """Tensors of numbers only, at an opset that familyseer reads."""
    if any(o.domain in ("", "ai.onnx") and o.version > MAX_OPSET for o in model.opset_import):
        return False
    if any(o.domain not in ("", "ai.onnx") for o in model.opset_import):
        return False  # training, ai.onnx.ml
    values = list(model.graph.input) + list(model.graph.output)
    return all(v.type.HasField("tensor_type") and v.type.tensor_type.elem_type != onnx.TensorProto.STRING for v in values)


def read(folder, what, values):
    """The arrays of one data set, in the order of the graph's inputs or outputs."""
    files = sorted(glob.glob(os.path.join(folder, f"{what}_*.pb")), key=lambda f: int(re.findall(r"_(\d+)\.pb", f)[0]))
    arrays = []
    for path in files[: len(values)]:
        tensor = onnx.TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        arrays.append(plain(numpy_helper.to_array(tensor)))
    return arrays


def plain(array):
    """The array in the NumPy type that carries it: onnx marks float8 and 4-bit arrays by types of its own."""
    return array if array.dtype.names is None else array.view(array.dtype[0])


def compiled(model, names, inputs):
    """Compiles without further ado; if an operand must be constant, with the small ones bound. Returns the compiled model and
    the inputs that are left."""
    shapes = {n: x.shape for n, x in zip(names, inputs)}
    try:
        return backend.Compiled(model, shapes), inputs
    except backend.Refused as refused:
        why = refused
    # Which operands must be constant only the operator knows: small ones are tried, the first only if it is whole numbers or
    # one number.
    small = {n: x for k, (n, x) in enumerate(zip(names, inputs)) if x.size <= MAX_BOUND and (k > 0 or x.dtype.kind == "i" or x.ndim == 0)}
    if "constant" not in str(why) or not small:
        raise why
    return backend.Compiled(model, shapes, small), [x for n, x in zip(names, inputs) if n not in small]


def check(want, got):
    if len(want) != len(got):
        raise AssertionError(f"{len(got)} outputs, must be {len(want)}")
    for w, g in zip(want, got):
        if w.dtype != g.dtype and not (w.dtype.itemsize == 2 and g.dtype.itemsize == 2):
            raise AssertionError(f"type {g.dtype}, must be {w.dtype}")
        if w.shape != g.shape:
            raise AssertionError(f"shape {g.shape}, must be {w.shape}")
        np.testing.assert_allclose(g.astype(np.float64), w.astype(np.float64), rtol=RTOL, atol=ATOL)


def try_one(folder):
    """(name, None) or (name, why not); None if the test is not counted."""
    name = os.path.basename(folder)
    model = onnx.load(os.path.join(folder, "model.onnx"))
    if not is_plain(model):
        return None
    constants = {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in constants]
    try:
        for data in sorted(glob.glob(os.path.join(folder, "test_data_set_*"))):
            inputs, want = read(data, "input", names), read(data, "output", model.graph.output)
            rep, left = compiled(model, names, inputs)
            check(want, rep.run(left))
    except Exception as error:  # whatever it is, the test did not pass
        text = " ".join(str(error).split())
        return name, f"{type(error).__name__}: {text[:300]}"
    return name, None


def known():
    if not os.path.exists(KNOWN):
        return {}
    with open(KNOWN, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(None, 1) for line in file if line.strip() and not line.startswith("#")]
    return {line[0]: line[1] if len(line) > 1 else "" for line in lines}


def reason(why):
    """The part of an error that says what is missing, without paths."""
    why = re.sub(r"\S*/seer-conform-\S*?/", "", why)
    return re.sub(r"^Refused: status \d+: (familyseer: )?(error: )?", "", why)[:160]


def try_all(folders, jobs):
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        try:
            return [r for r in pool.map(try_one, folders, chunksize=4) if r]
        except BaseException:  # interrupted, too: what has not begun does not begin
            pool.shutdown(cancel_futures=True)
            raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="node,simple,pytorch-operator,pytorch-converted")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--emit", default="")
    args = parser.parse_args()
    backend.EMIT = args.emit  # processes of the pool are forked
    listed, found, unexpected = known(), {}, []
    for kind in args.kind.split(","):
        folders = [f for f in sorted(glob.glob(os.path.join(DATA, kind, "*"))) if args.only in os.path.basename(f)]
        results = try_all(folders, args.jobs)
        failed = {f"{kind}/{name}": why for name, why in results if why}
        found.update(failed)
        passed = {f"{kind}/{name}" for name, why in results if not why}
        unexpected += [f"{name}: {why}" for name, why in failed.items() if name not in listed]
        unexpected += [f"{name}: passes, and is on the list" for name in passed if name in listed]
        print(f"{kind}: {len(passed)} of {len(results)} pass ({100 * len(passed) / max(1, len(results)):.1f} %)", flush=True)
    if args.write:
        with open(KNOWN, "w", encoding="utf-8") as file:
            file.write("# Tests of the ONNX project that do not pass, and why. Written by conform.py --write.\n")
            for name, why in sorted(found.items()):
                file.write(f"{name} {reason(why)}\n")
        print(f"wrote {KNOWN}")
        common = collections.Counter(re.sub(r"'[^']*'|\d+", "_", reason(w))[:70] for w in found.values())
        for what, n in common.most_common(40):
            print(f"{n:5d}  {what}")
        return 0
    for line in unexpected:
        print(line)
    return 1 if unexpected else 0


def stop(number, frame):
    del frame
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)  # so that folders are removed
    with tempfile.TemporaryDirectory(prefix="seer-conform-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder  # of the workers and of what they run
        sys.exit(main())
