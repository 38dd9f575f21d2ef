"""What the peer tests share: compile and run a model with familyseer, run it with ONNX Runtime, compare.

Answers agree when max |a - b| <= 1e-3 of the largest |b|. A reference must discriminate first: its standard deviation
is at least 1e-2 of its largest magnitude.
"""
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

SKIP = 77
FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
RTOL = 1e-3
FULL = os.environ.get("CHECK_FULL") == "1"  # check-full: every planted fault, three seeds, all of what goes together


def familyseer(*args, check=True):
    done = subprocess.run([FAMILYSEER, *map(str, args)], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"familyseer {' '.join(map(str, args))}: status {done.returncode}\n{done.stderr}")
    return done


def answerer(model, is_literal=False, is_wide=False):
    """A function from inputs to ONNX Runtime's outputs, by name. `model`: a ModelProto, a path, or bytes. is_literal: operators as they
    are written, none made one of several. is_wide: products of unsigned and signed bytes are summed up in 32 bits on all processors
    (without VNNI it adds pairs in 16, and cuts them; asked for the other, it refuses some networks of signed bytes)."""
    options = onnxruntime.SessionOptions()
    if is_literal:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    # Products with weights of 4 bits in f32: by itself it rounds the other operand to 8 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    if is_wide:
        options.add_session_config_entry("session.x64quantprecision", "1")
    data = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(None, feeds)))


def reference(model, feeds, is_literal=False, is_wide=False):
    return answerer(model, is_literal, is_wide)(feeds)


def random_feeds(model, seed=1, shapes=None):
    rng = np.random.default_rng(seed)
    initial = {i.name for i in model.graph.initializer}
    feeds = {}
    for i in model.graph.input:
        if i.name in initial:
            continue
        t = i.type.tensor_type
        shape = (shapes or {}).get(i.name) or [d.dim_value or 1 for d in t.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(t.elem_type)
        if np.issubdtype(dtype, np.floating):
            feeds[i.name] = rng.standard_normal(shape).astype(dtype)
        else:
            feeds[i.name] = rng.integers(0, 2 if dtype == bool else 10, shape).astype(dtype)
    return feeds


_runtime = {}  # objects of the runtime by compiler: the same in every folder of C
STRICT = "-O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror"


def make_library(folder, cc="cc", cflags="-O1", more=()):
    """model.so of what compile --emit c wrote. `more`: goals and variables of make."""
    at = os.path.join(folder, "runtime", "runtime")
    if (cc, cflags) in _runtime:
        shutil.copytree(_runtime[cc, cflags].name, at, dirs_exist_ok=True, copy_function=shutil.copy)  # newer than the sources
    outside = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS")}
    done = subprocess.run(["make", "-C", folder, "-j", "2", f"CC={cc}", f"CFLAGS={cflags}", *more], capture_output=True,
                          text=True, check=False, env=outside)
    if done.returncode != 0:
        raise AssertionError(f"make: status {done.returncode}\n{done.stderr}")
    if (cc, cflags) not in _runtime:
        _runtime[cc, cflags] = tempfile.TemporaryDirectory()
        shutil.copytree(at, _runtime[cc, cflags].name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.[ch]", "*.inc"))


def safe(name):
    return "".join(c if c.isalnum() and c.isascii() or c in "-_" or (c == "." and k > 0) else "_" for k, c in enumerate(name))


def run_ours(folder, feeds, out, threads):
    """Runs out of a compiled folder; returns outputs by (safe) name."""
    flags = []
    for k, (name, x) in enumerate(feeds.items()):
        path = os.path.join(out, f"in{k}.npy")
        np.save(path, x)
        flags += ["-i", f"{name}={path}"]
    familyseer("run", os.path.join(folder, "model.so"), *flags, "-o", out, "--threads", threads)
    return {f[:-4]: np.load(os.path.join(out, f)) for f in os.listdir(out) if f.endswith(".npy")}


def split_parts(answers, parts):
    """Answers by name, those that `parts` names as several: {name: (axis, [where to cut])}. Boxes in pixels and
    probabilities in one tensor are compared each on its own scale."""
    out = {}
    for name, value in answers.items():
        axis, cuts = parts.get(name) or parts.get(safe(name)) or (0, [])
        pieces = np.split(value, cuts, axis) if cuts else [value]
        out |= {f"{name}[{k}]" if cuts else name: piece for k, piece in enumerate(pieces)}
    return out


def compare(label, ours, theirs, discriminate=True, rtol=RTOL, atol=0):
    for name, want in theirs.items():
        got = ours[name if name in ours else safe(name)]
        assert got.shape == want.shape, f"{label}: '{name}' has shape {got.shape}, should be {want.shape}"
        want64, got64 = want.astype(np.float64), got.astype(np.float64)
        largest = np.abs(want64).max()
        if discriminate:
            assert largest > 0 and want64.std() >= 1e-2 * largest, f"{label}: '{name}' does not discriminate: std {want64.std():.3g} of {largest:.3g}"
        error = np.abs(got64 - want64).max()
        ok = np.isfinite(got64).all() and error <= atol + rtol * largest
        print(f"{label:42s} {name:24s} max error {error / max(largest, 1e-30):.2e} of {largest:.3g} {'ok' if ok else 'DIFFERS'}",
              flush=True)
        assert ok, f"{label}: '{name}' differs"


def _weights(model):
    """Initialisers that a Conv, Gemm or MatMul multiplies with, and the axis of their output channels."""
    initial = {i.name: i for i in model.graph.initializer}
    found = []
    for node in model.graph.node:
        if node.op_type not in ("Conv", "Gemm", "MatMul") or node.input[1] not in initial:
            continue
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        axis = 0 if node.op_type == "Conv" or transposed else -1
        if initial[node.input[1]].dims[axis] > 1:
            found.append((initial[node.input[1]], axis))
    return found


def assert_discriminates(label, model, feeds, theirs, rtol=RTOL, parts={}):
    """A planted fault must show: with the output channels of any one weight in reverse order, the reference's own answer
    differs by more than the tolerance. In check-full all weights, a few otherwise. Seeded."""
    weights = _weights(model)
    few = len(weights) if FULL else 1 if model.ByteSize() > 1 << 28 else 3
    if len(weights) > few:
        weights = [weights[k] for k in sorted(np.random.default_rng(3).choice(len(weights), few, replace=False))]
    # As inputs, so that one session takes them all: making one is what takes time.
    right = {initial.name: onnx.numpy_helper.to_array(initial) for initial, _ in weights}
    fed = onnx.ModelProto()
    fed.CopyFrom(model)
    known = {i.name for i in fed.graph.input}
    fed.graph.input.extend(onnx.helper.make_tensor_value_info(i.name, i.data_type, i.dims)
                           for i, _ in weights if i.name not in known)
    for k in reversed(range(len(fed.graph.initializer))):
        if fed.graph.initializer[k].name in right:
            del fed.graph.initializer[k]
    answer = answerer(fed)
    for initial, axis in weights:
        faulty = np.ascontiguousarray(np.flip(right[initial.name], axis))
        got = split_parts(answer({**feeds, **right, initial.name: faulty}), parts)
        worst = max(np.abs(got[n].astype(np.float64) - w).max() / max(np.abs(w).max(), 1e-30) for n, w in theirs.items())
        assert worst > rtol, f"{label}: reversing the channels of '{initial.name}' changes the answer by {worst:.1e} only"
    print(f"{label:42s} {len(weights)} planted faults seen", flush=True)


# Random valid schedules are harder on the compiler than winners of a tuning: whatever the space allows is used.
def crossed(*choices):
    """What goes together: in check-full all of their product; else few of it, in which each two choices of different lists
    are seen together at least once."""
    whole = list(itertools.product(*(range(len(c)) for c in choices)))
    pairs = {one: set(itertools.combinations(enumerate(one), 2)) for one in whole}
    left, few = set().union(*pairs.values()), []
    while left and not FULL:
        few.append(max(whole, key=lambda one: len(pairs[one] & left)))
        left -= pairs[few[-1]]
    return [tuple(c[k] for c, k in zip(choices, one)) for one in (whole if FULL else few)]


def schedules(*more):
    """How operators are compiled: as they stand, and by a random schedule, which draws tiles, vectors and fusion. -O1 chooses
    from the same and takes up to ten times as long: here it is part of check-full, and of what asks for it by `more`. The
    differential test's sample and the built-in networks have it always."""
    full = ("-O1", "--random-schedules=2", "--random-schedules=3") if FULL else ()
    return list(dict.fromkeys(("-O0", "--random-schedules=1", *full, *more)))


def check_model(label, model, feeds=None, levels=None, threads=(1, 2), flags=(), discriminate=True, rtol=RTOL, check=True,
                atol=0, parts={}, make=None, run=run_ours, turn=None, is_wide=False):
    """Compiles, runs, compares. `model`: a ModelProto, or a path. `make`: makes a library of what was compiled (--emit c
    among the flags). `run`: runs it. `turn`: the number of a network among several that take long: every other one is run by
    the first level on one thread and by the second on two, the rest the other way round (in check-full each in all ways).
    `is_wide`: as answerer has it."""
    is_huge = isinstance(model, str) and os.path.exists(model + ".data")  # beyond what one message may hold
    if isinstance(model, str):
        path, proto = model, onnx.load(model, load_external_data=not is_huge)
    else:
        path, proto = None, model
        if check:  # the checker knows ONNX's own operators only
            onnx.checker.check_model(proto)
    feeds = feeds or random_feeds(proto)
    theirs = split_parts(reference(path or proto, feeds, is_wide=is_wide), parts)
    if discriminate and not is_huge:
        assert_discriminates(label, proto, feeds, theirs, rtol, parts)
    with tempfile.TemporaryDirectory() as tmp:
        if path is None:
            path = os.path.join(tmp, "model.onnx")
            onnx.save(proto, path)
        for k, level in enumerate(levels or schedules()):
            folder = os.path.join(tmp, "out" + level)
            familyseer("compile", path, "-o", folder, level, *flags)
            if make:
                make(folder)
            for n in threads if FULL or turn is None else threads[(k + turn) % len(threads):][:1]:
                out = os.path.join(tmp, f"run{level}{n}")
                os.mkdir(out)
                ours = split_parts(run(folder, feeds, out, n), parts)
                compare(f"{label} {level.lstrip('-')} threads={n}", ours, theirs, discriminate, rtol, atol)


def on_this_machine(tests, choices):
    """Of a test with the label `target`: all tests on one of the made-up machines (and on a real one); on the others those
    that say what is chosen, whose names are `choices`. The rest is what no machine decides."""
    target = os.environ.get("SEER_TARGET", "")
    if "-model=" not in target or "-model=zen4-avx512" in target:
        return tests
    assert choices <= {name for name, _ in tests}, f"no such tests: {choices - {name for name, _ in tests}}"
    # What is asserted holds for any choice that facts of such a machine lead to, found by many drafts or by few.
    os.environ.setdefault("SEER_UNTUNED_DRAFTS", "1024")
    return [(name, test) for name, test in tests if name in choices]


def run_tests(tests):
    """Runs (name, function) pairs, all of them; exit status 1 if any failed."""
    only = sys.argv[1:]
    failed = []
    for name, test in tests:
        if only and not any(o in name for o in only):
            continue
        try:
            test()
        except Exception as problem:  # one network that fails must not hide the others
            failed.append(name)
            print(f"{name}: FAILED: {problem}", flush=True)
    print(f"{len(failed)} failed" + (": " + " ".join(failed) if failed else ""))
    sys.exit(1 if failed else 0)
