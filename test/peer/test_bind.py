"""--bind: what operators need to be constant is given when compiling, by files and by values; against ONNX Runtime, which is fed the same."""
import json
import os
import subprocess
import tempfile

import numpy as np
import onnx

from control import BOOL, F, I64, Graph, fs
from peer import familyseer, reference, run_tests

rng = np.random.default_rng(5)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def resized():
    """A network whose sizes, axes and scales are inputs."""
    g = Graph()
    x, shape, axes, scales = g.input("x", F, ["n", 3, 4, 4]), g.input("shape", I64, ["rank"]), g.input("axes", I64, [1]), g.input("scales", F, [4])
    y = g.op("Resize", g.op("Relu", x), "", scales, mode="nearest")
    return g.model((g.op("ReduceSum", g.op("Reshape", y, shape), axes, keepdims=0), F))


def sized():
    """Two inputs of one batch size."""
    g = Graph()
    x, y = g.input("x", F, ["n", 3]), g.input("y", F, ["n", 3])
    return g.model((g.op("Concat", x, y, axis=1), F))


def save(model, tmp, **arrays):
    for name, x in arrays.items():
        np.save(os.path.join(tmp, name + ".npy"), x)
    onnx.save(model, os.path.join(tmp, "m.onnx"))
    return os.path.join(tmp, "m.onnx"), {name: os.path.join(tmp, name + ".npy") for name in arrays}


def read(folder):
    with open(os.path.join(folder, "model.json")) as file:
        return json.load(file)


def says(status, text, *args):
    done = familyseer(*args, check=False)
    assert done.returncode == status and text in done.stderr + done.stdout, f"{args}: status {done.returncode}, not '{text}': {done.stderr}{done.stdout}"


def files_and_values():
    model, x = resized(), floats(2, 3, 4, 4)
    fixed = {"shape": np.array([2, 3, -1]), "axes": np.array([1]), "scales": np.array([1, 1, 1.5, 2], np.float32)}
    want = list(reference(model, {"x": x, **fixed}).values())[0]
    with tempfile.TemporaryDirectory() as tmp:
        path, files = save(model, tmp, x=x, **fixed)
        by_file = [f"--bind={name}={files[name]}" for name in fixed]
        by_value = ["--bind", "shape=[2,3,-1]", "--bind", "axes=1", "--bind=scales=[1, 1, 1.5, 2]"]
        texts = []
        for k, flags in enumerate((by_file, by_value)):
            out = os.path.join(tmp, f"out{k}")
            familyseer("compile", path, "-o", out, "-O1", "--input-shapes", "x:2x3x4x4,axes:1", *flags)
            ours = fs.Model(out)
            assert [v.name for v in ours.inputs] == ["x"], ours.inputs
            np.testing.assert_allclose(ours(x), want, rtol=1e-5, atol=1e-6)
            texts.append(read(out)["bound"])
        assert texts[0] == texts[1], texts
        assert {b["name"]: (b["dtype"], b["shape"], b["value"]) for b in texts[0]} == {
            "shape": ("i64", [3], "[2, 3, -1]"), "axes": ("i64", [1], "[1]"), "scales": ("f32", [4], "[1, 1, 1.5, 2]")}
        out = os.path.join(tmp, "out0")
        # What knows the library knows what it was bound to; no other value passes for it.
        says(0, "shape i64[3] = [2, 3, -1]", "info", out)
        says(1, "input 'axes' was bound to [1] when the library was compiled", "run", out, "-i", f"axes={files['axes']}")
        says(0, "ok", "verify", out, path, "--input-shapes", "x:2x3x4x4")
        says(0, "ok", "verify", out, path, "--input-shapes", "x:2x3x4x4", "--bind", "axes=1")
        says(1, "input 'axes' was not bound to this value", "verify", out, path, "--input-shapes", "x:2x3x4x4", "--bind", "axes=2")
        try:
            ours.run({"x": x, "axes": fixed["axes"]})
        except ValueError as problem:
            assert "['axes'] had values when the model was compiled" in str(problem), problem
        else:
            raise AssertionError("a bound input was taken")


def every_command():
    model = resized()
    with tempfile.TemporaryDirectory() as tmp:
        path, _ = save(model, tmp)
        flags = ["--input-shapes", "x:1x3x4x4", "--bind", "shape=[3,-1]", "--bind", "axes=0", "--bind", "scales=[1,1,1,1]"]
        says(0, "scales f32[4] = [1, 1, 1, 1]", "info", path, *flags)
        says(0, '"axes i64[1] = [0]"', "info", path, *flags, "--json")
        says(0, "3 tasks in 4 steps", "tasks", path, *flags)
        says(0, "input %x f32[1,3,4,4]", "opt", "--pass=resolve", path, *flags)
        out = os.path.join(tmp, "out")
        says(0, "model.so", "tune", path, "-o", out, "--measure", "fake", "--trials", "2", "--ignore-records", *flags)
        assert [i["name"] for i in read(out)["inputs"]] == ["x"]
        assert [b["name"] for b in read(out)["bound"]] == ["shape", "axes", "scales"]
        os.environ["SEER_BIND"] = "axes=0"  # the environment's, when flags of the same name come on top
        try:
            says(0, "ok", "verify", out, path, "--input-shapes", "x:1x3x4x4")
        finally:
            del os.environ["SEER_BIND"]


def long_values():
    """A value that model.json has by its hash only: verify asks for it."""
    g = Graph()
    x, w = g.input("x", F, [2, 40]), g.input("w", F, [40, 5])
    model, feeds = g.model((g.op("MatMul", x, w), F)), {"x": floats(2, 40), "w": floats(40, 5)}
    want = list(reference(model, feeds).values())[0]
    with tempfile.TemporaryDirectory() as tmp:
        path, files = save(model, tmp, **feeds)
        out = os.path.join(tmp, "out")
        familyseer("compile", path, "-o", out, "-O1", "--bind", f"w={files['w']}")
        np.testing.assert_allclose(fs.Model(out)(feeds["x"]), want, rtol=1e-4, atol=1e-5)
        assert "value" not in read(out)["bound"][0]
        says(1, "--bind w=x.npy must give the same", "verify", out, path)
        says(0, "ok", "verify", out, path, "--bind", f"w={files['w']}")
        np.save(files["w"], feeds["w"] + 1)
        says(1, "input 'w' was not bound to this value", "verify", out, path, "--bind", f"w={files['w']}")


def outputs_and_sets():
    """A bound input that is an output as well; several sets of shapes; the size that a bound input gives another one."""
    g = Graph()
    x, s = g.input("x", F, ["n", 2]), g.input("s", F, [])
    model = g.model((g.op("Mul", x, s), F), (s, F))
    with tempfile.TemporaryDirectory() as tmp:
        path, _ = save(model, tmp)
        out = os.path.join(tmp, "out")
        familyseer("compile", path, "-o", out, "-O1", "--bind", "s=-2.5", "--input-shapes", "x:1x2", "--input-shapes", "x:3x2")
        ours = fs.Model(out)
        for n in (1, 3):
            x = floats(n, 2)
            y, s = ours(x)
            np.testing.assert_array_equal(y, x * np.float32(-2.5))
            assert s == -2.5
        says(0, "ok", "verify", out, path)
        path, files = save(sized(), tmp, y=floats(4, 3))
        out = os.path.join(tmp, "out2")
        done = familyseer("compile", path, "-o", out, "-O1", "--bind", f"y={files['y']}")
        assert "taken as 1" not in done.stderr, done.stderr
        assert fs.Model(out).inputs[0].shape == (4, 3)


def without_inputs():
    """All of them bound: the answer is known when compiling."""
    g = Graph()
    c, x = g.input("c", BOOL, [2]), g.input("x", F, [2])
    model = g.model((g.op("Where", c, x, g.op("Neg", x)), F))
    with tempfile.TemporaryDirectory() as tmp:
        path, _ = save(model, tmp)
        out = os.path.join(tmp, "out")
        familyseer("compile", path, "-o", out, "-O1", "--bind", "c=[true,false]", "--bind", "x=[1,2]")
        np.testing.assert_array_equal(list(fs.Model(out).run({}).values())[0], [1, -2])


def library():
    """The same from a program: options of the C library."""
    model, x = resized(), floats(1, 3, 4, 4)
    fixed = {"shape": np.array([3, -1]), "axes": np.array([0]), "scales": np.ones(4, np.float32)}
    with tempfile.TemporaryDirectory() as tmp:
        path, files = save(model, tmp, **fixed)
        build, root = os.path.dirname(os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))), os.environ.get("TEST_SOURCE_DIR", ".")
        with open(os.path.join(tmp, "bind.c"), "w") as file:
            file.write("""#include <seer/familyseer.h>
#include <stdio.h>
int main(int argc, char **argv) {
  seer_tuner *t;
  int failed = seer_tuner_create(&t) || seer_tuner_set(t, "ignore-records", "1");
  for (int k = 3; k < argc && !failed; k++) failed = seer_tuner_set(t, "bind", argv[k]);
  failed = failed || seer_tuner_load(t, argv[1]) || seer_tuner_compile(t, argv[2]);
  if (failed) printf("%s", seer_tuner_message(t));
  seer_tuner_destroy(t);
  return failed;
}
""")
        program, out = os.path.join(tmp, "bind"), os.path.join(tmp, "out")
        subprocess.run(["cc", os.path.join(tmp, "bind.c"), "-o", program, f"-I{root}/include", f"-L{build}", "-lfamilyseer", f"-Wl,-rpath,{build}"], check=True)

        def run(*bound):
            return subprocess.run([program, path, out, *bound], capture_output=True, text=True)

        done = run("shape=[3,-1]", f"axes={files['axes']}", "scales=[1,1,1,1]")
        assert done.returncode == 0, done.stdout
        want = list(reference(model, {"x": x, **fixed}).values())[0]
        np.testing.assert_allclose(fs.Model(out)(x), want, rtol=1e-5, atol=1e-6)
        done = run("shape=[3,-1]", "axis=0")
        assert done.returncode == 1 and "no input is named 'axis', did you mean 'axes'?" in done.stdout, done.stdout


run_tests([("files and values", files_and_values), ("every command", every_command), ("long values", long_values),
           ("outputs and sets", outputs_and_sets), ("without inputs", without_inputs), ("library", library)])
