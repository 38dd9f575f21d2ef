"""One library for several sets of input shapes: answers against ONNX Runtime for each set, weights stored once, what is
refused. SEER_TEST: timeout=300 labels=target"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from build_onnx import Net  # noqa: E402
from peer import assert_discriminates, compare, familyseer, on_this_machine, random_feeds, reference, run_ours, run_tests, safe  # noqa: E402

tmp = tempfile.TemporaryDirectory()


def mlp():
    net = Net("mlp", ["n", 100], 1)
    for k, n in ((100, 300), (300, 200), (200, 11)):
        net.gemm(net.top, n, k)
        if n != 11:
            net.op("Relu")
    return net.model()


def convnet():
    net = Net("convnet", ["n", 3, 20, 20], 2)
    x = net.op("Relu", net.norm(net.conv("x", 32, 3, 3, pads=[1, 1, 1, 1]), 32))
    y = net.op("Relu", net.norm(net.conv(x, 32, 32, 3, pads=[1, 1, 1, 1]), 32))
    z = net.conv(net.op("Add", x, y), 64, 32, 1)
    net.gemm(net.op("Flatten", net.op("GlobalAveragePool", z)), 10, 64)
    return net.model()


def transformer():
    """Token and position embeddings, one layer of attention with a mask, GELU, a layer norm; the sequence is symbolic."""
    d, heads, vocabulary, longest = 64, 4, 50, 40
    net = Net("transformer", ["n", "s"], 3, opset=17, input_name="ids", dtype=TensorProto.INT64)
    net.inputs.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", "s"]))

    def ints(*values):
        return net.const(np.array(values, np.int64))

    def dense(x, n, k):
        return net.op("Add", net.op("MatMul", x, net.weight(k, n, fan_in=k)), net.vector(n))

    def split(x, order):
        return net.op("Transpose", net.op("Reshape", x, ints(0, -1, heads, d // heads)), perm=order)

    length = net.op("Gather", net.op("Shape", "ids"), ints(1), axis=0)
    positions = net.op("Slice", net.weight(longest, d, fan_in=2), ints(0), length, ints(0))
    x = net.op("Add", net.op("Gather", net.weight(vocabulary, d, fan_in=2), "ids"), positions)
    q, k, v = (split(dense(x, d, d), p) for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    bias = net.op("Unsqueeze", net.op("Mul", net.op("Sub", net.const(np.float32(1)), "mask"), net.const(np.float32(-0.5))), ints(1, 2))
    scores = net.op("Add", net.op("Mul", net.op("MatMul", q, k), net.const(np.float32(0.25))), bias)
    mixed = net.op("Transpose", net.op("MatMul", net.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = net.op("Add", x, dense(net.op("Reshape", mixed, ints(0, -1, d)), d, d))
    h = dense(x, 4 * d, d)
    h = net.op("Mul", net.op("Mul", h, net.const(np.float32(0.5))),
               net.op("Add", net.op("Erf", net.op("Mul", h, net.const(np.float32(0.70710678)))), net.const(np.float32(1))))
    net.op("LayerNormalization", net.op("Add", x, dense(h, d, 4 * d)), net.vector(d, 0.5, 1.5), net.vector(d), axis=-1)
    return net.model()


def flags(sets):
    texts = [",".join(f"{name}:{'x'.join(map(str, shape))}" for name, shape in s.items()) for s in sets]
    return [f for text in texts for f in ("--input-shapes", text)]


def weight_bytes(folder):
    return os.path.getsize(os.path.join(folder, "weights.bin"))


def check(label, model, sets, level):
    path = os.path.join(tmp.name, f"{label}.onnx")
    onnx.save(model, path)
    folder = os.path.join(tmp.name, f"{label}{level}")
    said = familyseer("compile", path, "-o", folder, level, *flags(sets)).stderr
    ours = fs.Model(folder, threads=2)
    assert [{v.name: list(v.shape) for v in inputs} for inputs, _ in ours.sets] == sets, ours.sets
    feeds = [random_feeds(model, 1 + k, s) for k, s in enumerate(sets)]
    wants = [reference(model, f) for f in feeds]
    for k in [*range(len(sets)), 0]:  # and back again: one session serves all
        compare(f"{label} {level} {list(sets[k].values())}", {safe(n): y for n, y in ours.run(feeds[k]).items()}, wants[k])
    with tempfile.TemporaryDirectory() as out:  # the program chooses by its input files
        compare(f"{label} run", run_ours(folder, feeds[-1], out, 2), wants[-1])
    assert_discriminates(label, model, feeds[-1], wants[-1])
    familyseer("verify", folder, path)
    steps = ours.profile(feeds[-1], runs=2)
    assert steps and all(s[4] > 0 for s in steps if s[1] == "kernel")
    return path, folder, said


def check_once(label, model, sets):
    """All sets take little more in weights.bin than the one that takes most alone (forms of weights differ in size: Winograd's),
    unless a task would lose too much time (it is then said); where any loss is allowed, always."""
    path, folder, said = check(label, model, sets, "-O1")
    apart = "packed for them alone"

    def compiled(kind, *more):
        out = os.path.join(tmp.name, f"{label}_{kind}")
        done = familyseer("compile", path, "-o", out, "-O1", *more)
        return weight_bytes(out), apart in done.stderr

    one = max(compiled("alone", *flags([s]))[0] for s in sets)
    n, is_apart = weight_bytes(folder), apart in said
    least, is_least_apart = compiled("least", "--share-weights", "1000", *flags(sets))
    most, _ = compiled("apart", "--share-weights", "0", *flags(sets))
    print(f"{label}: {n} bytes of weights{', some packed twice' if is_apart else ''}, {one} for one set, {least} to {most} by what sharing may cost", flush=True)
    assert n <= most, "more weights than without sharing"
    assert is_apart or n <= 1.1 * one + 40000, "weights are stored twice"
    assert not is_least_apart and least <= 1.1 * one + 40000, "weights are stored twice at any loss"


def refused():
    path = os.path.join(tmp.name, "mlp.onnx")
    onnx.save(mlp(), path)
    folder = os.path.join(tmp.name, "refused")
    sets = [{"x": [1, 100]}, {"x": [4, 100]}]
    familyseer("compile", path, "-o", folder, "-O1", *flags(sets))
    model = fs.Model(folder, threads=1)
    x = np.ones((3, 100), np.float32)
    try:
        model(x)
        raise AssertionError("an unlisted shape was taken")
    except ValueError as problem:
        assert "x[3, 100]; the model was compiled for x[1, 100]; x[4, 100]" in str(problem), problem
    file = os.path.join(tmp.name, "x.npy")
    np.save(file, x)
    two = os.path.join(tmp.name, "transformer_refused.onnx")
    onnx.save(transformer(), two)
    cases = [
        (["run", folder, "-i", f"x={file}"], 1, "inputs x[3,100]: the model was compiled for x[1,100]; x[4,100]"),
        (["bench", folder, "--input-shapes", "x:2x100"], 1, "the model was compiled for x[1,100]; x[4,100]"),
        (["run", folder, "--input-shapes", "y:2x100"], 1, "has no input 'y'; it has 'x'"),
        (["run", folder, "--input-shapes", "x:2xx"], 2, "no list of sizes"),
        (["compile", path, *flags([*sets, sets[0]])], 1, "sets 1 and 3 are the same: x[1,100]"),
        (["compile", path, *flags([sets[0], {"x": [1, 99]}])], 1, "dimension 1 cannot be 99"),
        (["compile", path, "--input-shapes", "x:1x100", "--input-shapes", ""], 1, "set 2 ('') does not name input 'x', set 1 ('x:1x100') does"),
        (["compile", two, *flags([{"ids": [1, 8], "mask": [1, 8]}, {"ids": [1, 9]}])], 1, "set 2 ('ids:1x9') does not name input 'mask'"),
        (["compile", two, *flags([{"ids": [1, 8]}, {"ids": [1, 9], "mask": [1, 9]}])], 1, "set 1 ('ids:1x8') does not name input 'mask'"),
        (["compile", path, *flags([{"x": [n, 100]} for n in range(1, 66)])], 1, "given 65 times, at most 64"),
        (["info", path, *flags(sets)], 2, "this command takes one set"),
    ]
    for args, status, text in cases:
        if args[0] == "compile":
            args += ["-O1", "-o", os.path.join(tmp.name, "none")]
        done = familyseer(*args, check=False)
        assert done.returncode == status and text in done.stderr, f"{args}: status {done.returncode}\n{done.stderr}"
    assert not os.path.exists(os.path.join(tmp.name, "none")), "something was written"


def described():
    folder = os.path.join(tmp.name, "mlp-O1")
    text = familyseer("info", folder).stdout
    assert all(f"x f32[{n},100]" in text for n in (1, 4, 16)) and "shapes 3" in text, text
    tasks = familyseer("tasks", os.path.join(tmp.name, "mlp.onnx"), *flags([{"x": [1, 100]}, {"x": [4, 100]}])).stdout
    assert "6 tasks in 6 steps" in tasks and "x[4,100]" in tasks, tasks
    bench = familyseer("bench", folder, "--input-shapes", "x:16x100", "--iterations", 5, "--duration", 0).stdout
    assert "x[16,100]" in bench, bench


def shared_task():
    """What is equal for two sets is one task: the second layer's size does not depend on the rows of the first input."""
    net = Net("two", ["n", 30], 7)
    net.inputs.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 30]))
    a, b = net.gemm("x", 20, 30), net.gemm("y", 40, 30)
    sets = [{"x": [2, 30], "y": [5, 30]}, {"x": [3, 30], "y": [5, 30]}]
    _, folder, _ = check("shared", net.model(a, b), sets, "-O1")
    tasks = fs.Model(folder).info["tasks"]
    assert sorted(t["weight"] for t in tasks) == [1, 1, 2], tasks


def tuned():
    """A short tuning of several sets, then from its records: the same answers, weights once."""
    path = os.path.join(tmp.name, "tuned.onnx")
    model = mlp()
    onnx.save(model, path)
    sets = [{"x": [1, 100]}, {"x": [16, 100]}]
    folder, again = os.path.join(tmp.name, "tuned"), os.path.join(tmp.name, "again")
    records = ["--records", os.path.join(tmp.name, "records.db")]
    done = familyseer("tune", path, "-o", folder, "--trials", 48, "--share-weights", 10, *records, *flags(sets))
    assert all(text in done.stderr for text in ("x[1,100]: ", "x[16,100]: ", "mean: ")), done.stderr
    familyseer("compile", path, "-o", again, "--share-weights", 10, *records, *flags(sets))
    for k, s in enumerate(sets):
        feeds = random_feeds(model, 5 + k, s)
        want = reference(model, feeds)
        for out in (folder, again):
            compare(f"tuned {s}", {safe(n): y for n, y in fs.Model(out, threads=2).run(feeds).items()}, want)
    print(f"tuned: {weight_bytes(folder)} bytes of weights, from records {weight_bytes(again)}", flush=True)
    alone = 4 * sum(k * n for k, n in ((100, 300), (300, 200), (200, 11)))
    assert max(weight_bytes(folder), weight_bytes(again)) < 1.4 * alone, "weights are stored twice"


if __name__ == "__main__":
    run_tests(on_this_machine([
        ("mlp", lambda: check_once("mlp", mlp(), [{"x": [n, 100]} for n in (1, 4, 16)])),
        ("plain", lambda: check("mlp", mlp(), [{"x": [n, 100]} for n in (4, 1)], "-O0")),
        ("random", lambda: check("mlp", mlp(), [{"x": [n, 100]} for n in (3, 8)], "--random-schedules=1")),
        ("conv", lambda: check_once("conv", convnet(), [{"x": [n, 3, 20, 20]} for n in (1, 4)])),
        ("transformer", lambda: check_once("transformer", transformer(), [{"ids": [1, s], "mask": [1, s]} for s in (8, 33)])),
        ("shared", shared_task),
        ("described", described),
        ("refused", refused),
        ("tuned", tuned),
    ], {"mlp", "conv", "transformer", "tuned"}))
