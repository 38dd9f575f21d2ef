"""What compile, tune and verify say of --precision: each figure by NumPy in extended precision of the answers of two libraries;
NaN and infinities; --tolerance, which refuses and leaves what was there; `auto` and the line on a slower precision, by the
estimate, on made-up machines only.
SEER_TEST: timeout=300 cost=25"""
import contextlib
import fcntl
import json
import os
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from peer import FAMILYSEER, familyseer, run_ours, run_tests

ROOT = os.environ.get("TEST_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LINE = re.compile(r"^  (\S+?)(?: for (.*?))?: max error (\S+) \((\S+) of the largest, (\S+)\), mean (\S+), cosine ([^\s,;]+)"
                  r"(?:, argmax agrees in (\d+) of (\d+) rows?)?(.*)$", re.M)


def net(path, rows, k=96, columns=80, symbolic=False):
    """y = relu(x w) v and z = x w, the sums of which have all signs."""
    rng = np.random.default_rng(7)
    weights = [numpy_helper.from_array((rng.standard_normal(s) * s[0]**-0.5).astype(np.float32), n)
               for n, s in (("w", (k, columns)), ("v", (columns, 33)))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Relu", ["z"], ["r"]),
             helper.make_node("MatMul", ["r", "v"], ["y"])]
    graph = helper.make_graph(nodes, "report", [helper.make_tensor_value_info("x", T.FLOAT, ["rows" if symbolic else rows, k])],
                              [helper.make_tensor_value_info(n, T.FLOAT, None) for n in ("y", "z")], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def machine(name):
    with open(os.path.join(ROOT, "test", "targets", f"{name}.target"), encoding="ascii") as file:
        return file.read().strip()


@contextlib.contextmanager
def folder_with(rows=9, **more):
    with tempfile.TemporaryDirectory() as folder:
        yield folder, net(os.path.join(folder, "m.onnx"), rows, **more)


def given(folder, x):
    path = os.path.join(folder, "given.npy")
    np.save(path, x)
    return ["-i", f"x={path}"]


def answers(folder, model, x, kinds, *flags):
    """{kind: {output: array}}, and what compile has said of each."""
    found, said = {}, {}
    for kind in kinds:
        at, out = os.path.join(folder, f"own-{kind}"), os.path.join(folder, f"answers-{kind}")
        said[kind] = familyseer("compile", model, "-O1", "--precision", kind, "-o", at, *given(folder, x), *flags).stderr
        os.makedirs(out, exist_ok=True)
        found[kind] = run_ours(at, {"x": x}, out, 2)
    return found, said


def measures(a, b):
    """By definition, in extended precision, of what is finite in both; NaN counts as larger than all."""
    a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    ok = np.isfinite(a) & np.isfinite(b)
    alike = ~ok & ((a == b) | (np.isnan(a) & np.isnan(b)))
    apart = ~ok & ~alike
    error, largest = np.abs(a[ok] - b[ok]), np.abs(b[np.isfinite(b)]).max()
    most = np.inf if apart.any() else error.max()
    cosine = (a[ok] * b[ok]).sum() / np.sqrt((a[ok]**2).sum() * (b[ok]**2).sum())
    agree = (np.argmax(a, -1) == np.argmax(b, -1)).sum()  # NaN first, then the first of the largest
    return most, most / largest, largest, error.mean(), cosine, agree, a.shape[0], apart.sum(), alike.sum()


def near(text, value, digits):
    found = float(text)
    return found == value or abs(found - float(value)) <= 10.0**(1 - digits) * abs(float(value))


def check_line(match, want):
    most, relative, largest, mean, cosine, agree, rows, apart, alike = want
    _, _, *found, rest = match.groups()
    for text, value, digits in zip(found, (most, relative, largest, mean, cosine), (3, 3, 6, 3, 9)):
        assert near(text, value, digits), f"{text} is not {float(value):.12g}: {match[0]}"
    assert (int(found[5]), int(found[6])) == (agree, rows), f"not {agree} of {rows} rows: {match[0]}"
    assert (f"; {apart} of " in rest and "NaN or infinite in one" in rest) == (apart > 0), f"{apart} apart: {match[0]}"
    assert (f"; {alike} of " in rest and "in both" in rest) == (alike > 0), f"{alike} alike: {match[0]}"


def report(x, kind):
    with folder_with(len(x)) as (folder, model):
        found, said = answers(folder, model, x, ("f32", kind))
        assert "against f32" not in said["f32"], said["f32"]
        assert f"{kind} against f32, on the same inputs:\n" in said[kind], said[kind]
        lines = {match[1]: match for match in LINE.finditer(said[kind])}
        assert sorted(lines) == ["y", "z"], said[kind]
        for name, match in lines.items():
            check_line(match, measures(found[kind][name], found["f32"][name]))


def numbers(kind):
    report(np.random.default_rng(1).standard_normal((41, 96)).astype(np.float32), kind)


def no_numbers(kind):
    """NaN and infinities of the input, and numbers that the narrow type has not."""
    x = np.random.default_rng(2).standard_normal((6, 96)).astype(np.float32)
    x[0, 3], x[1, 5], x[2, 7] = np.nan, np.inf, -np.inf
    x[3] *= 0
    x[3, 2] = np.float32(3.4e38 if kind == "bf16" else 65530)
    report(x, kind)


def several_shapes():
    """A line for each set of input shapes; an array is of one of them."""
    with folder_with(symbolic=True) as (folder, model):
        sets = ["--input-shapes", "x:2x96", "--input-shapes", "x:5x96"]
        said = familyseer("compile", model, "-O1", *sets, "--precision", "bf16", "-o", os.path.join(folder, "own")).stderr
        assert [(m[1], m[2]) for m in LINE.finditer(said)] == [(o, f"x[{n},96]") for n in (2, 5) for o in "yz"], said
        x = given(folder, np.ones((5, 96), np.float32))
        said = familyseer("compile", model, "-O1", *sets, "--precision", "bf16", "-o", os.path.join(folder, "own"), *x).stderr
        assert [(m[1], m[2]) for m in LINE.finditer(said)] == [(o, "x[5,96]") for o in "yz"], said
        done = familyseer("tune", model, *sets, "--precision", "bf16", "--measure", "fake", "--ignore-records", "--trials", 2, *x, check=False)
        assert done.returncode == 2 and "-i is for one set of input shapes" in done.stderr, done.stderr


def contents(folder):
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)} if os.path.isdir(folder) else None


def refuses():
    """Above --tolerance nothing is written, and what was there stays."""
    with folder_with() as (folder, model):
        at = os.path.join(folder, "own")
        for before in (False, True):
            if before:
                familyseer("compile", model, "-O1", "-o", at)
            kept = contents(at)
            for flags in (["-O1"], ["-O1", "--emit", "obj"], ["-O1", "--target", "aarch64-linux-gnu"]):
                done = familyseer("compile", model, *flags, "--precision", "bf16", "--tolerance", 1e-4, "-o", at, check=False)
                assert done.returncode == 1, done.stderr
                assert re.search(r"--precision bf16 is off by 0\.00\d+ of the largest f32 value in output '[yz]', --tolerance "
                                 r"allows 0\.0001: no library is written", done.stderr), done.stderr
                assert contents(at) == kept, f"{at} has changed"
        familyseer("compile", model, "-O1", "--precision", "bf16", "--tolerance", 0.05, "-o", at)
        done = familyseer("tune", model, "--precision", "bf16", "--tolerance", 1e-4, "--measure", "fake", "--ignore-records",
                          "--trials", 4, "-o", os.path.join(folder, "tuned"), check=False)
        assert done.returncode == 1 and "no library is written" in done.stderr and "measurements" not in done.stderr, done.stderr
        assert not contents(os.path.join(folder, "tuned")), "a refused tuning has left files"
        found = familyseer("info", at).stdout
        assert "precision   bf16" in found, found


def refuses_what_was_tuned():
    """Numbers that are given while a tuning searches lead to infinities in bf16 alone: what it ends with is refused, and the
    library that it was to replace stays, byte for byte."""
    with folder_with() as (folder, model):
        at, x = os.path.join(folder, "own"), np.random.default_rng(3).standard_normal((9, 96)).astype(np.float32)
        familyseer("compile", model, "-O1", "-o", at)
        kept, flags = contents(at), given(folder, x)
        command = [FAMILYSEER, "tune", model, "--precision", "bf16", "--tolerance", "0.05", "--measure", "fake", "--ignore-records",
                   "--trials", "64", "--json", "-o", at, *flags]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tuner:
            # Its events fill the pipe: it cannot have ended before they are read.
            fcntl.fcntl(tuner.stdout, fcntl.F_SETPIPE_SZ, 4096)
            assert any('"event":"measurement"' in line for line in iter(tuner.stdout.readline, ""))
            x[4, 2] = 3.4e38
            np.save(os.path.join(folder, "next.npy"), x)
            os.replace(os.path.join(folder, "next.npy"), os.path.join(folder, "given.npy"))
            _, said = tuner.communicate()
        assert tuner.returncode == 1 and "is off by inf of the largest" in said and "no library is written" in said, said
        assert "bf16 against f32, on the same inputs:" in said and "wrote " not in said, said
        assert contents(at) == kept, f"{at} has changed"


def moves_what_was_judged():
    """What is compiled anew, as it is with dumps, is what was judged, to the byte; nothing else is left of that."""
    with folder_with() as (folder, model):
        files = []
        for name, flags in (("judged", []), ("anew", ["--dump", "task", "--dump-dir", os.path.join(folder, "dumps")])):
            at = os.path.join(folder, name)
            familyseer("compile", model, "-O1", "--precision", "bf16", *flags, "-o", at)
            files.append(contents(at))
        assert files[0] == files[1] and sorted(files[0]) == ["model.h", "model.json", "model.so", "weights.bin"], files[0].keys()


def refuses_the_worst():
    """The output that is furthest off decides, and is named."""
    with folder_with() as (folder, model):
        at = os.path.join(folder, "own")
        said = familyseer("compile", model, "-O1", "--precision", "bf16", "-o", at).stderr
        (least, _), (most, worst) = sorted((float(match[4]), match[1]) for match in LINE.finditer(said))
        assert most > 1.05 * least, said
        done = familyseer("compile", model, "-O1", "--precision", "bf16", "--tolerance", (least + most) / 2, "-o", at, check=False)
        assert done.returncode == 1 and f"in output '{worst}', --tolerance" in done.stderr, done.stderr
        familyseer("compile", model, "-O1", "--precision", "bf16", "--tolerance", 1.01 * most, "-o", at)


def verify_says():
    """verify takes the precision from the library, and says the same figures."""
    with folder_with() as (folder, model):
        at = os.path.join(folder, "own")
        familyseer("compile", model, "-O1", "--precision", "bf16", "-o", at)
        said = familyseer("verify", at, model).stdout
        assert said.count("bf16 against f32: max error ") == 2, said
        outputs = json.loads(familyseer("verify", at, model, "--json").stdout)["sets"][0]["outputs"]
        for output in outputs:
            of = output["against_f32"]
            assert of["precision"] == "bf16" and 0 < of["relative_error"] < 0.02 and of["rows"] == 9, of
            assert of["max_error"] == output["max_error"] and 0.999 < of["cosine"] < 1, of
        done = familyseer("verify", at, model, "--precision", "f16", check=False)
        assert done.returncode == 1 and "was made with --precision bf16, not f16" in done.stderr, done.stderr
        done = familyseer("tasks", model, "--precision", "auto", check=False)
        assert done.returncode == 1 and "only the commands compile and tune can choose" in done.stderr, done.stderr


def precision_of(folder):
    with open(os.path.join(folder, "model.json"), encoding="utf-8") as file:
        return json.load(file).get("precision", "f32")


def auto(name, flags, want, *words):
    with folder_with(128, k=512, columns=512) as (folder, model):
        at = os.path.join(folder, "own")
        said = familyseer("compile", model, "-O1", "--target", machine(name), "--precision", "auto", *flags, "-o", at).stderr
        line = next(line for line in said.splitlines() if line.startswith("--precision auto takes "))
        assert line.startswith(f"--precision auto takes {want}: "), line
        for word in words:
            assert word in line, f"'{word}' is not in: {line}"
        assert precision_of(at) == want, precision_of(at)
        assert (f"{want} against f32, on the same inputs" in said) == (want != "f32"), said


def same_as_asked():
    """What auto takes is what asking for it gives, to the byte."""
    with folder_with(128, k=512, columns=512) as (folder, model):
        files = []
        for word in ("auto", "bf16"):
            at = os.path.join(folder, word)
            familyseer("compile", model, "-O1", "--target", machine("zen4-avx512"), "--tolerance", 0.05, "--precision", word, "-o", at)
            files.append(contents(at))
        assert files[0] == files[1]


def slower():
    """The line on what is expected to be slower, where it is and nowhere else."""
    with folder_with(128, k=512, columns=512) as (folder, model):
        for name, is_slower in (("server", True), ("zen4-avx512", False)):
            said = familyseer("compile", model, "-O1", "--target", machine(name), "--precision", "bf16", "-o", os.path.join(folder, name)).stderr
            lines = [line for line in said.splitlines() if "slower" in line]
            assert len(lines) == is_slower, said
            assert not is_slower or re.fullmatch(r"bf16 is expected to be slower than f32 on this target: \S+ ms, f32 \S+ ms by the estimate",
                                                 lines[0]), lines


def tunes():
    """A tuning by a formula decides by the estimate; what it has written is held against f32, in the events and the report too."""
    with folder_with() as (folder, model):
        at = os.path.join(folder, "own")
        done = familyseer("tune", model, "--precision", "bf16", "--measure", "fake", "--ignore-records", "--trials", 8, "-o", at, "--json")
        event = [json.loads(line) for line in done.stdout.splitlines() if '"event":"precision"' in line]
        assert len(event) == 1 and event[0]["precision"] == "bf16" and not event[0]["auto"], event
        assert [o["name"] for o in event[0]["outputs"]] == ["y", "z"], event
        assert all(0 < o["relative_error"] < 0.02 and o["rows"] == 9 for o in event[0]["outputs"]), event
        assert "bf16 against f32, both untuned, on the same inputs:" in done.stderr, done.stderr
        assert "bf16 against f32, on the same inputs:" in done.stderr, done.stderr
        assert precision_of(at) == "bf16"
        with open(os.path.join(at, "report.html"), encoding="utf-8") as file:
            assert "<h2>Precision</h2>" in file.read()
        done = familyseer("tune", model, "--precision", "auto", "--strict-math", "--measure", "fake", "--ignore-records", "--trials", 8,
                          "-o", at, "--json")
        assert "--precision auto takes f32: --strict-math allows no other" in done.stderr, done.stderr
        assert '"precision":"f32"' in done.stdout and precision_of(at) == "f32"


run_tests([("numbers.bf16", lambda: numbers("bf16")), ("numbers.f16", lambda: numbers("f16")),
           ("no_numbers.bf16", lambda: no_numbers("bf16")), ("no_numbers.f16", lambda: no_numbers("f16")),
           ("several_shapes", several_shapes), ("refuses", refuses),
           ("refuses_what_was_tuned", refuses_what_was_tuned), ("moves_what_was_judged", moves_what_was_judged),
           ("refuses_the_worst", refuses_the_worst), ("verify_says", verify_says),
           ("auto.fast", lambda: auto("zen4-avx512", ["--tolerance", 0.05], "bf16", "by the estimate) is the fastest within --tolerance")),
           ("auto.default", lambda: auto("zen4-avx512", [], "f32", "bf16 (", "--tolerance allows 0.002", "in output '")),
           ("auto.slow", lambda: auto("server", ["--tolerance", 0.05], "f32", "bf16 (", "f16 (", "is not 5 % faster")),
           ("auto.strict", lambda: auto("zen4-avx512", ["--tolerance", 0.05, "--strict-math"], "f32", "--strict-math")),
           ("same_as_asked", same_as_asked), ("slower", slower), ("tunes", tunes)])
