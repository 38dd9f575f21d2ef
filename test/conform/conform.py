#!/usr/bin/env python3
"""ONNX's own tests (PyPI onnx) through backend.py: which pass, and of the others which stand on the list.

    conform.py [--kind node,simple,pytorch-operator,pytorch-converted] [--only TEXT] [--jobs N] [--write] [--emit TARGET]

Tests with strings, sequences, maps or optional values at their ends are not counted. known.txt lists the tests that do not
pass, by reason; --write writes it anew, where a test keeps the reason that it has there. Status 1: a test fails that is not
on the list, or one passes that is. --emit: libraries are written as C for the target (native, c, c-vectors) and made by cc.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import backend  # noqa: E402
import cases  # noqa: E402

KNOWN = os.path.join(HERE, "known.txt")
HEADER = """# Tests of the ONNX project that do not pass, by reason: a line of "= reason", then their names.
# Written by conform.py --write, which leaves the reason of a test as it stands here.
"""
MAX_BOUND = 64  # elements of an operand that is tried as a constant
CASES = []  # of the kind at hand; the pool's processes are forked with it


def newest_opset():
    """SEER_OPSET_NEWEST of src/front/op.h."""
    with open(os.path.join(backend.ROOT, "src", "front", "op.h"), encoding="utf-8") as file:
        return int(re.search(r"#define SEER_OPSET_NEWEST (\d+)", file.read())[1])


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


def check(case, want, got):
    if len(want) != len(got):
        raise AssertionError(f"{len(got)} outputs, must be {len(want)}")
    for w, g in zip(want, got):
        g = cases.decoded(g, w.dtype)
        if w.dtype != g.dtype:
            raise AssertionError(f"type {g.dtype}, must be {w.dtype}")
        if w.shape != g.shape:
            raise AssertionError(f"shape {g.shape}, must be {w.shape}")
        # two steps of bfloat16, as in onnx.backend.test
        rtol = max(case.rtol, 2**-6) if w.dtype.name == "bfloat16" else case.rtol
        exact = w.dtype.kind in "iub"
        np.testing.assert_allclose(g if exact else g.astype(np.float64), w if exact else w.astype(np.float64), rtol=rtol, atol=case.atol)


def try_one(index):
    """None, or why the case does not pass."""
    case = CASES[index]
    names = cases.input_names(case.model)
    try:
        for inputs, want in case.sets:
            rep, left = compiled(case.model, names, [cases.carried(x) for x in inputs])
            check(case, want, rep.run(left))
    except Exception as error:  # whatever it is, the test did not pass
        text = " ".join(str(error).split())
        return f"{type(error).__name__}: {text[:300]}"
    return None


def known():
    """name -> reason"""
    listed, reason = {}, ""
    if os.path.exists(KNOWN):
        with open(KNOWN, encoding="utf-8") as file:
            for line in file:
                if line.startswith("= "):
                    reason = line[2:].strip()
                elif line.strip() and not line.startswith("#"):
                    listed[line.strip()] = reason
    return listed


def reason(why):
    """The part of an error that says what is missing, without paths and names of nodes."""
    why = re.sub(r"\S*/seer-conform-\S*?/", "", why)
    why = re.sub(r"^Refused: status \d+: (familyseer( compile)?: )?(error: )?", "", why)
    return re.sub(r" while loading model.onnx|^Error: ", "", why)[:160]


def write(found, listed):
    groups = {}
    for name, why in found.items():
        groups.setdefault(listed.get(name) or reason(why), []).append(name)
    with open(KNOWN, "w", encoding="utf-8") as file:
        file.write(HEADER)
        for why, names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0])):
            file.write("\n= " + why + "\n" + "".join(f"{n}\n" for n in sorted(names)))
    print(f"wrote {KNOWN}: {len(found)} tests, {len(groups)} reasons")


def try_all(jobs):
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        try:
            return list(pool.map(try_one, range(len(CASES)), chunksize=4))
        except BaseException:  # interrupted, too: what has not begun does not begin
            pool.shutdown(cancel_futures=True)
            raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default=",".join(cases.KINDS))
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--emit", default="")
    args = parser.parse_args()
    backend.EMIT = args.emit  # processes of the pool are forked
    listed, found, unexpected = known(), {}, []
    for kind in args.kind.split(","):
        CASES[:] = cases.load(kind, newest_opset(), args.only)
        failed = {c.name: why for c, why in zip(CASES, try_all(args.jobs)) if why}
        found.update(failed)
        unexpected += [f"{name}: {why}" for name, why in failed.items() if name not in listed]
        unexpected += [f"{c.name}: passes, and is on the list" for c in CASES if c.name in listed and c.name not in failed]
        n_passed = len(CASES) - len(failed)
        print(f"{kind}: {n_passed} of {len(CASES)} pass ({100 * n_passed / max(1, len(CASES)):.1f} %)", flush=True)
    if args.write:
        write(found, listed)
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
