"""Operators of users (--operators): between two convolutions, in the body of a Loop and in a side of an If, with attributes of all
kinds, scratch, a constant and absent operands, against a graph of ONNX's operators that says the same, by ONNX Runtime. Then what is
refused: objects that are none, tables, answers of shape rules, faults while running. SEER_TEST: timeout=300"""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE, BUILD = os.environ.get("TEST_SOURCE_DIR", "."), os.environ.get("TEST_BUILD_DIR", "build")
sys.path.insert(0, os.path.join(SOURCE, "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from peer import SKIP, familyseer, reference, run_tests  # noqa: E402

if not shutil.which("cc"):
    sys.exit(SKIP)
F, I64 = TensorProto.FLOAT, TensorProto.INT64
tmp = tempfile.TemporaryDirectory()
rng = np.random.default_rng(3)

OPS = r"""
#include <math.h>
#include <stdlib.h>
#include <seer/operator.h>
static int alike(seer_operator_call *call) { return seer_operator_same(call, 0, 0); }
static int clip(const seer_operator_call *call) {
  const float *x = (const float *)call->input[0].data;
  float *y = (float *)call->output[0].data;
  const float low = seer_operator_float(call, "low", -9), high = seer_operator_float(call, "high", 9);
  const int64_t n = seer_operator_elems(&call->input[0]);
  for (int64_t i = 0; i < n; i++) {
    if (isnan(x[i])) return seer_operator_fail(call, 1, "an element of x is no number");
    y[i] = fminf(fmaxf(x[i], low), high);
  }
  return 0;
}
// Weighted(x [n,m], absent, w [k] constant): y [n,k] of sums of x's rows, times w; numbers i64[2] of attributes.
static int weighted_shape(seer_operator_call *call) {
  if (call->n_input != 3 || call->input[1].type != 0) return seer_operator_fail(call, 1, "three inputs, the second absent");
  if (!call->input[2].data) return seer_operator_fail(call, 1, "w must be a constant");
  const seer_operator_attribute *words = seer_operator_find(call, "words", SEER_OPERATOR_STRINGS);
  if (!words || words->n != 2 || strcmp(words->strings[1], "two") != 0) return seer_operator_fail(call, 1, "words are wrong");
  call->output[0].type = SEER_OPERATOR_F32;
  call->output[0].rank = 2;
  call->output[0].dim[0] = call->input[0].dim[0];
  call->output[0].dim[1] = call->input[2].dim[0];
  if (call->n_output > 1) {
    call->output[1].type = SEER_OPERATOR_I64;
    call->output[1].rank = 1;
    call->output[1].dim[0] = 2;
  }
  return 0;
}
static uint64_t weighted_scratch(const seer_operator_call *call) { return (uint64_t)call->input[0].dim[0] * sizeof(float); }
static int weighted(const seer_operator_call *call) {
  const float *x = (const float *)call->input[0].data, *w = (const float *)call->input[2].data;
  float *y = (float *)call->output[0].data, *sum = (float *)call->scratch;
  const int64_t n = call->input[0].dim[0], m = call->input[0].dim[1], k = call->input[2].dim[0];
  const seer_operator_attribute *scales = seer_operator_find(call, "scales", SEER_OPERATOR_FLOATS);
  const seer_operator_attribute *axes = seer_operator_find(call, "axes", SEER_OPERATOR_INTS);
  const char *mode = seer_operator_string(call, "mode", "");
  if (!scales || scales->n != 2 || !axes || axes->n != 3 || strcmp(mode, "sum") != 0 || !sum) return 99;
  for (int64_t i = 0; i < n; i++) {
    sum[i] = 0;
    for (int64_t j = 0; j < m; j++) sum[i] += x[i * m + j];
    for (int64_t j = 0; j < k; j++) y[i * k + j] = sum[i] * w[j] * scales->floats[1];
  }
  if (call->n_output > 1 && call->output[1].data) {
    ((int64_t *)call->output[1].data)[0] = seer_operator_int(call, "number", 0);
    ((int64_t *)call->output[1].data)[1] = axes->ints[2];
  }
  return 0;
}
SEER_OPERATORS({"com.acme", "Clip3", alike, clip, NULL}, {"com.acme", "Weighted", weighted_shape, weighted, weighted_scratch})
"""

WRONG = r"""
#include <seer/operator.h>
static int run(const seer_operator_call *call) { (void)call; return 42; }
static int shape(seer_operator_call *call) {
  seer_operator_same(call, 0, 0);
%s
  return 0;
}
SEER_OPERATORS({"com.acme", "Clip3", shape, run, NULL})
"""


def at(name):
    return os.path.join(tmp.name, name)


def build(name, text, compiler=("cc",), flags=()):
    with open(at(name + ".c"), "w", encoding="utf-8") as file:
        file.write(text)
    words = [*compiler, "-c", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(SOURCE, "include"), *flags,
             at(name + ".c"), "-o", at(name + ".o")]
    subprocess.run(words, check=True)
    return at(name + ".o")


def some(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def constant(name, x):
    return numpy_helper.from_array(np.asarray(x), name)


def network(nodes, inputs, outputs, constants=()):
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in inputs.items()]
    made = [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()]
    graph = helper.make_graph(nodes, "g", values, made, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)], ir_version=8)


def compiled(model, *flags, objects=(), check=True):
    onnx.save(model, at("m.onnx"))
    shutil.rmtree(at("lib"), ignore_errors=True)
    words = [w for o in objects for w in ("--operators", o)]
    return familyseer("compile", at("m.onnx"), "-o", at("lib"), "--ignore-records", *words, *(flags or ("-O1",)), check=check)


def answers(feeds):
    return fs.Model(at("lib"), threads=2).run(feeds)


def agrees(model, other, feeds, objects, flags=("-O0",), rtol=1e-4):
    """`other`: the same without operators of users."""
    want = reference(other, feeds)
    for level in (("-O1",), flags):
        compiled(model, *level, objects=objects)
        got = answers(feeds)
        for name, w in want.items():
            np.testing.assert_allclose(got[name], w, rtol=rtol, atol=rtol * np.abs(w).max(), err_msg=f"{name} {level}")


def clip(x, y, low=-0.5, high=0.7, own=True):
    if own:
        return [helper.make_node("Clip3", [x], [y], name="clip-" + y, domain="com.acme", low=low, high=high)]
    return [helper.make_node("Clip", [x, "low", "high"], [y])]


BOUNDS = [constant("low", np.float32(-0.5)), constant("high", np.float32(0.7))]
X = some(1, 3, 9, 11)
WEIGHTS = [constant("w1", some(8, 3, 3, 3) * 0.3), constant("w2", some(4, 8, 3, 3) * 0.3)]


def between(own):
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1] * 4), *clip("a", "b", own=own),
             helper.make_node("Conv", ["b", "w2"], ["y"], pads=[1] * 4)]
    return network(nodes, {"x": X}, {"y": F}, WEIGHTS + BOUNDS)


def convolutions():
    agrees(between(True), between(False), {"x": X}, [OBJECT])
    agrees(between(True), between(False), {"x": X}, [OBJECT], ("-O1", "--precision", "bf16"), rtol=3e-2)
    info = fs.Model(at("lib")).info
    assert [s for s in info["steps"] if s["kind"] == "custom"] == [
        {"name": "clip-b", "kind": "custom", "domain": "com.acme", "function": "Clip3"}], info["steps"]
    said = familyseer("verify", at("lib"), at("m.onnx"), "--operators", OBJECT).stdout
    assert "1 are functions of the runtime" in said, said
    assert "clip-b" in familyseer("bench", at("lib"), "--profile", "--duration", "0.1").stdout
    familyseer("explain", at("m.onnx"), "--operators", OBJECT, "--ignore-records")
    assert "Clip3" in familyseer("info", at("m.onnx"), "--operators", OBJECT).stdout


def loops():
    def body(own):
        nodes = [helper.make_node("Identity", ["go"], ["next"]), helper.make_node("Mul", ["v", "two"], ["d"]), *clip("d", "w", own=own)]
        io = [helper.make_tensor_value_info("i", I64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
              helper.make_tensor_value_info("v", F, [4, 5])]
        out = [helper.make_tensor_value_info("next", TensorProto.BOOL, []), helper.make_tensor_value_info("w", F, [4, 5])]
        return helper.make_graph(nodes, "body", io, out, [constant("two", np.float32(2)), *BOUNDS])

    def side(own):
        return helper.make_graph(clip("z", "t", own=own), "then", [], [helper.make_tensor_value_info("t", F, [4, 5])], BOUNDS)

    def whole(own):
        other = helper.make_graph([helper.make_node("Neg", ["z"], ["e"])], "else", [], [helper.make_tensor_value_info("e", F, [4, 5])])
        nodes = [helper.make_node("Loop", ["n", "", "x"], ["z"], body=body(own)),
                 helper.make_node("If", ["c"], ["y"], then_branch=side(own), else_branch=other)]
        return network(nodes, FEEDS, {"y": F})

    FEEDS = {"x": some(4, 5) * 0.1, "n": np.array(3, np.int64), "c": np.array(True)}
    agrees(whole(True), whole(False), FEEDS, [OBJECT])
    FEEDS["c"] = np.array(False)
    agrees(whole(True), whole(False), FEEDS, [OBJECT])


def weighted():
    x, w = some(6, 7), some(3)
    node = helper.make_node("Weighted", ["x", "", "w"], ["y", "n"], name="sum", domain="com.acme", words=["one", "two"], mode="sum",
                            scales=[7.0, 0.5], axes=[1, -2, 2 ** 40], number=-5)
    model = network([node], {"x": x}, {"y": F, "n": I64}, [constant("w", w)])
    compiled(model, objects=[OBJECT])
    got = answers({"x": x})
    np.testing.assert_allclose(got["y"], x.sum(1, keepdims=True) * w * 0.5, rtol=1e-4, atol=1e-5)
    assert got["n"].tolist() == [-5, 2 ** 40], got["n"]
    # An archive, and several objects in one library.
    subprocess.run(["ar", "rcs", at("ops.a"), OBJECT], check=True)
    second = build("second", OPS.replace("com.acme", "org.other"))
    node.domain = "org.other"
    both = network([node, *clip("y", "z")], {"x": x}, {"z": F, "n": I64}, [constant("w", w)])
    both.opset_import.append(helper.make_opsetid("org.other", 1))
    compiled(both, objects=[at("ops.a"), second])
    np.testing.assert_allclose(answers({"x": x})["z"], np.clip(got["y"], -0.5, 0.7), rtol=1e-4, atol=1e-5)
    # A constant is no reason to compute it now: a call that would fail is one of the run.
    nan = network(clip("k", "y"), {"x": x}, {"y": F}, [constant("k", np.full((2, 2), np.nan, np.float32))])
    compiled(nan, objects=[OBJECT])
    fails({"x": x}, "step 'clip-y': an element of x is no number")


def from_python():
    """The wheel's module, in a process of its own: this one has the runtime's of that name."""
    onnx.save(between(True), at("p.onnx"))
    np.save(at("x.npy"), X)
    code = f"""
import package, numpy as np, familyseer as fs
model = fs.compile({at("p.onnx")!r}, operators=[{OBJECT!r}], untuned_drafts=64, ignore_records=True)
np.save({at("y.npy")!r}, model.run({{"x": np.load({at("x.npy")!r})}})["y"])
try:
    fs.compile({at("p.onnx")!r}, untuned_drafts=64, ignore_records=True)
except fs.Error as problem:
    print([o[0] for o in problem.operators], problem)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['com.acme.Clip3']") and "--operators" in done.stdout, done.stdout
    want = reference(between(False), {"x": X})["y"]
    np.testing.assert_allclose(np.load(at("y.npy")), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def elsewhere():
    """Operators in C++, a relocatable object, a tuning."""
    if shutil.which("c++"):
        again = build("again", OPS, ("c++", "-std=c++17", "-x", "c++", "-fvisibility=hidden"))
        agrees(between(True), between(False), {"x": X}, [again])
    compiled(between(True), "-O1", "--emit", "obj", objects=[OBJECT])
    assert os.path.exists(os.path.join(at("lib"), "model.o"))
    familyseer("tune", at("m.onnx"), "-o", at("lib"), "--operators", OBJECT, "--trials", "8", "--records", at("r.sqlite"))
    np.testing.assert_allclose(answers({"x": X})["y"], reference(between(False), {"x": X})["y"], rtol=1e-3, atol=1e-3)


def fails(feeds, *words):
    try:
        answers(feeds)
    except Exception as problem:
        for word in words:
            assert word in str(problem), f"no '{word}' in: {problem}"
    else:
        raise AssertionError(f"it ran, and was to say {words}")


def faults():
    compiled(between(True), objects=[OBJECT])
    fails({"x": np.full_like(X, np.nan)}, "step 'clip-b'", "an element of x is no number")
    compiled(between(True), objects=[build("number", WRONG % "")])
    fails({"x": X}, "step 'clip-b'", "has returned 42")


def refused(objects, *words, flags=("-O1",), model=None):
    done = compiled(model or between(True), *flags, objects=objects, check=False)
    assert done.returncode == 1, f"status {done.returncode}: {done.stderr}"
    for word in words:
        assert word in done.stderr, f"no '{word}' in: {done.stderr}"
    assert not os.path.exists(os.path.join(at("lib"), "model.so"))


def objects():
    refused([], "com.acme.Clip3", "--operators takes your own C functions")
    refused([at("nothing.o")], "nothing.o")
    refused([at("ops.c")], "ops.c is no ELF file")
    subprocess.run(["cc", "-shared", OBJECT, "-o", at("ops.so")], check=True)
    refused([at("ops.so")], "is a shared library or a program")
    refused([build("plain", "int x;\n")], "does not define seer_operators")
    refused([OBJECT, OBJECT], "operator com.acme.Clip3 is in")
    refused([build("missing", "int acme(void);\n" + WRONG % "  return acme();")], "missing.o cannot be linked", "acme")
    refused([build("version", "#include <seer/operator.h>\nconst seer_operator_table seer_operators = {9, 0, 0};\n")], "version 9")
    refused([build("empty", "#include <seer/operator.h>\nconst seer_operator_table seer_operators = {1, 0, 0};\n")], "0 operators")
    refused([OBJECT], "--emit c writes C", flags=("-O1", "--emit", "c"))
    with open(OBJECT, "rb") as file:
        data = bytearray(file.read())
    for machine, word in ((183 if data[18] != 183 else 62, "must be for"), (2, "ELF's number 2")):
        data[18:20] = machine.to_bytes(2, "little")
        with open(at("other.o"), "wb") as file:
            file.write(data)
        refused([at("other.o")], word)
    with open(at("short.o"), "wb") as file:
        file.write(data[:100])
    refused([at("short.o")], "short.o")


def shapes():
    for k, (line, word) in enumerate({
            "call->output[0].dim[1] = -4;": "size -4 in dimension 1", "call->output[0].type = 8;": "type 8",
            "call->output[0].type = 0;": "does not set output 0", "call->output[0].rank = 13;": "13 dimensions",
            "call->output[1].type = 1;": "sets output 1, and the node has 1",
            "call->output[0].dim[0] = call->output[0].dim[1] = call->output[0].dim[2] = INT64_C(1) << 30;": "elements",
            'return seer_operator_fail(call, 1, "not today");': "refuses it: not today", "return 5;": "returned 5"}.items()):
        refused([build(f"shape{k}", WRONG % line)], word, "clip-b")
    tensor = between(True)
    tensor.graph.node[1].attribute.append(helper.make_attribute("t", constant("t", some(2))))
    refused([OBJECT], "attribute 't' is a tensor", model=tensor)
    many = network([helper.make_node("Clip3", ["x"] * 40, ["y"], domain="com.acme")], {"x": X}, {"y": F})
    refused([OBJECT], "at most 32", model=many)
    sized = network([helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["f"], to=F), *clip("f", "y")],
                    {"x": X}, {"y": F})
    refused([OBJECT], "sizes that are known when compiling", model=sized)


def cross():
    arch = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
    if not shutil.which("clang") or not os.path.exists(f"{BUILD}/{arch}/libseer_rt.a"):
        return print("left out: no compiler or runtime for other processors")
    there = build("there", OPS, ("clang", f"--target={arch}-linux-gnu", "-nostdlibinc", "-isystem", f"/usr/{arch}-linux-gnu/include"))
    target = ("-O1", "--target", f"{arch}-linux-gnu")
    refused([OBJECT], "each object is needed twice", flags=target)
    refused([there], "each object is needed twice", flags=target)
    compiled(between(True), *target, objects=[OBJECT, there])


OBJECT = build("ops", OPS)
run_tests([(f.__name__, f) for f in (convolutions, loops, weighted, from_python, elsewhere, faults, objects, shapes, cross)])
