"""One library for any batch of a range (--input-shapes x:1..8x100): every size of it against ONNX Runtime, images that know
nothing of each other, what model.json says of it, threads, the commands, what is refused. SEER_TEST: timeout=300"""
import os
import sys
import tempfile
import threading

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from build_onnx import Net  # noqa: E402
from peer import answerer, assert_discriminates, compare, familyseer, random_feeds, run_ours, run_tests, safe  # noqa: E402
from test_shapes import convnet, mlp, transformer  # noqa: E402

tmp = tempfile.TemporaryDirectory()
TOLERANCE = 1e-4
GUARD = 77  # what memory around an output holds
FEW = "list the sizes that are needed: --input-shapes, once for each"


def at(name):
    return os.path.join(tmp.name, name)


def compiled(label, model, shapes, level="-O1", check=True):
    """The folder, and what was said."""
    onnx.save(model, at(f"{label}.onnx"))
    done = familyseer("compile", at(f"{label}.onnx"), "-o", at(label), level, "--input-shapes", shapes, check=check)
    return at(label), done


def check_range(model, first, last, ranged):
    """What model.json says: sets are those that there are, and each other size is a sum of them."""
    said = model.info["range"]
    sizes = said["sets"]
    splits = {int(size): parts for size, parts in said["splits"].items()}
    assert (said["first"], said["last"]) == (first, last), said
    assert sizes == sorted(set(sizes)) and 2 <= len(sizes) <= 6 and {first, last} <= set(sizes), said
    assert set(splits) == set(range(first, last + 1)) - set(sizes), said
    for size, parts in splits.items():
        assert sum(parts) == size and set(parts) <= set(sizes), f"{size} is not {parts}"
    for size, (inputs, _) in zip(sizes, model.sets, strict=True):
        assert all(v.shape[0] == size for v in inputs if v.name in ranged), (size, inputs)
    return splits


def into_memory(model, feeds, wants):
    """Outputs in the middle of the caller's memory, of which the rest stays as it is."""
    memory = {n: np.full((w.shape[0] + 2, *w.shape[1:]), GUARD, w.dtype) for n, w in wants.items()}
    out = model.run(feeds, outputs={n: m[1:-1] for n, m in memory.items()})
    for n, m in memory.items():
        assert out[n].base is m and (m[0] == GUARD).all() and (m[-1] == GUARD).all(), f"'{n}': a run writes beside its output"
    return out


def parts_of(array, n):
    return array.reshape(n, -1)


def check_images(label, model, feeds, clean, n, poisoned):
    """A NaN in one image: the answer of that image is another one, those of all others the same to the bit."""
    for k in {0, n // 2, n - 1}:
        x = feeds[poisoned].copy()
        parts_of(x, n)[k, 1::3] = np.nan
        out = model.run({**feeds, poisoned: x})
        has_changed = False
        for name, y in out.items():
            same = [np.array_equal(a, b) for a, b in zip(parts_of(y, n), parts_of(clean[name], n))]
            has_changed |= not same[k]
            assert all(same[:k] + same[k + 1:]), f"{label}: image {k} of {n} is seen in others of '{name}'"
        assert has_changed, f"{label}: image {k} of {n} is not read"


def check(label, network, shapes, first, last, sizes_of, poisoned=None, level="-O1"):
    """sizes_of(n): shapes of the inputs for a batch of n."""
    folder, _ = compiled(label, network, shapes, level)
    model, answer = fs.Model(folder, threads=2), answerer(network)
    ranged = [v.name for v in model.inputs if sizes_of(2)[v.name] != sizes_of(3)[v.name]]
    splits = check_range(model, first, last, ranged)
    order = [*range(first, last + 1), first]  # and back again
    for n in order:
        feeds = random_feeds(network, n, sizes_of(n))
        wants = answer(feeds)
        ours = model.run(feeds)
        what = f"{label} {n}" + (f" = {' + '.join(map(str, splits[n]))}" if n in splits else "")
        compare(what, {safe(k): y for k, y in ours.items()}, wants, n > 1, TOLERANCE, TOLERANCE)
        for name, y in into_memory(model, feeds, wants).items():
            assert np.array_equal(y, ours[name]), f"{what}: '{name}' is another one in memory of the caller's"
        if poisoned:
            check_images(what, model, feeds, ours, n, poisoned)
        if n == max(splits):
            assert_discriminates(label, network, feeds, wants, TOLERANCE)
            faulty = {name: np.roll(y, y.shape[0] // n, 0) for name, y in ours.items()}  # as if a part began an image too early
            try:
                compare(f"{what}, a planted fault", faulty, wants, False, TOLERANCE, TOLERANCE)
            except AssertionError:
                continue
            raise RuntimeError(f"{what}: images in the wrong place are not seen")
    beyond = random_feeds(network, 1, sizes_of(last + 1))
    try:
        model.run(beyond)
        raise RuntimeError(f"{label}: a batch of {last + 1} was taken")
    except ValueError as problem:
        assert f"any batch from {first} to {last}" in str(problem), problem
    return folder, model


def conv():
    check("conv", convnet(), "x:1..9x3x20x20", 1, 9, lambda n: {"x": [n, 3, 20, 20]}, "x")


def attention():
    check("attention", transformer(), "ids:1..6x8,mask:1..6x8", 1, 6, lambda n: {"ids": [n, 8], "mask": [n, 8]}, "mask")
    check("one mask", transformer(), "ids:1..5x8,mask:1x8", 1, 5, lambda n: {"ids": [n, 8], "mask": [1, 8]}, None, "-O0")


def mixed():
    """Two inputs with the batch, one without, bytes whose images lie at odd addresses, an output with three rows for an image."""
    net = Net("mixed", ["n", 3, 6], 5)
    net.inputs += [helper.make_tensor_value_info("b", TensorProto.UINT8, ["n", 5]), helper.make_tensor_value_info("w", TensorProto.FLOAT, [6, 7])]
    rows = net.op("Reshape", net.op("Tanh", net.op("MatMul", "x", "w")), net.const(np.array([-1, 7], np.int64)))
    floats = net.op("Cast", "b", to=TensorProto.FLOAT)
    sums = net.op("Add", net.gemm(floats, 11, 5), net.gemm(net.op("Flatten", "x"), 11, 18))
    low = net.op("Cast", net.op("Clip", net.op("Mul", floats, net.const(np.float32(3))), net.const(np.float32(0)), net.const(np.float32(20))),
                 to=TensorProto.UINT8)
    model = net.model(rows, sums, low)
    model.graph.output[2].type.tensor_type.elem_type = TensorProto.UINT8
    return model


def mixed_sizes(n):
    return {"x": [n, 3, 6], "b": [n, 5], "w": [6, 7]}


def others():
    _, model = check("others", mixed(), "x:3..8x3x6,b:3..8x5,w:6x7", 3, 8, mixed_sizes, "x")
    feeds = {k: v for k, v in random_feeds(mixed(), 1, mixed_sizes(5)).items()}
    feeds["b"] = feeds["b"][:4]
    try:
        model.run(feeds)
        raise RuntimeError("inputs of two batches were taken")
    except ValueError as problem:
        assert "x[5, 3, 6] b[4, 5]" in str(problem), problem


def plain():
    """Operators as they stand, and a random schedule; up to the end of what a range may be."""
    check("plain", mlp(), "x:1..13x100", 1, 13, lambda n: {"x": [n, 100]}, "x", "-O0")
    check("random", mixed(), "x:2..7x3x6,b:2..7x5,w:6x7", 2, 7, mixed_sizes, "x", "--random-schedules=1")
    folder, _ = compiled("long", mlp(), "x:1..256x100", "-O0")
    model = fs.Model(folder, threads=1)
    splits, x = check_range(model, 1, 256, ["x"]), random_feeds(mlp(), 1, {"x": [256, 100]})["x"]
    want = model(x)
    for n in (*list(splits)[::29], 255):
        np.testing.assert_allclose(model(x[:n]), want[:n], TOLERANCE, TOLERANCE)


def threads():
    """Sessions of one model run different sizes at once; each has its own memory between the steps."""
    folder, _ = compiled("threads", convnet(), "x:1..7x3x20x20")
    model = fs.Model(folder, threads=1)
    feeds = {n: random_feeds(convnet(), n, {"x": [n, 3, 20, 20]}) for n in range(1, 8)}
    wants = {n: model.run(f) for n, f in feeds.items()}
    wrong = []

    def work(own, sizes):
        try:
            for n in sizes * 15:
                for name, y in own.run(feeds[n]).items():
                    assert np.array_equal(y, wants[n][name]), f"a batch of {n} beside another thread"
        except Exception as problem:
            wrong.append(problem)

    workers = [threading.Thread(target=work, args=(own, sizes)) for own, sizes in ((model, [7, 1, 3]), (model.clone(), [5, 7, 6, 2]))]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong, wrong


def commands():
    model = mlp()
    folder, done = compiled("mlp", model, "x:1..6x100")
    assert "3 sets" in done.stderr or "4 sets" in done.stderr, done.stderr
    feeds = random_feeds(model, 4, {"x": [5, 100]})
    with tempfile.TemporaryDirectory() as out:  # the program chooses by its input files
        compare("run", run_ours(folder, feeds, out, 2), answerer(model)(feeds), True, TOLERANCE, TOLERANCE)
    assert "any from 1 to 6, as sets of 1 2 4 6" in familyseer("info", folder).stdout
    np.save(at("x5.npy"), np.ones((5, 100), np.float32))
    for size in [], ["--input-shapes", "x:5x100"], ["-i", f"x={at('x5.npy')}"], ["--input-shapes", "x:5x100", "--against", "onnxruntime", "--python", sys.executable]:
        familyseer("verify", folder, at("mlp.onnx"), *size)
    assert "12 tasks" in familyseer("tasks", at("mlp.onnx"), "--input-shapes", "x:1..6x100").stdout
    few = ["--iterations", 5, "--duration", 0]
    assert "x[5,100]" in familyseer("bench", folder, "--input-shapes", "x:5x100", *few).stdout
    np.save(at("x7.npy"), np.ones((7, 100), np.float32))
    assert "x[5,100]" in familyseer("bench", folder, "-i", f"x={at('x5.npy')}", *few).stdout
    allowed = "the model was compiled for x[1,100]; x[2,100]; x[4,100]; x[6,100]; and any batch from 1 to 6"
    cases = [
        (["run", folder, "-i", f"x={at('x7.npy')}"], 1, f"inputs x[7,100]: {allowed}"),
        (["bench", folder, "--input-shapes", "x:7x100", *few], 1, allowed),
        (["bench", folder, "--input-shapes", "x:1..6x100", *few], 2, "'1..6x100' is a range; here it must be one size"),
        (["verify", folder, at("mlp.onnx"), "--input-shapes", "x:7x100"], 1, "with other --input-shapes"),
        (["bench", folder, "--input-shapes", "x:5x100", "--profile", *few], 1, "a batch of 5 is run as several smaller ones"),
    ]
    refuse(cases)
    session = fs.Model(folder, threads=1)
    try:
        session.profile(feeds)
        raise RuntimeError("steps of a batch that has none were timed")
    except fs.Error as problem:
        assert problem.code == "unsupported" and "a batch of 5 is run as several" in str(problem), problem
    np.testing.assert_allclose(session.run(feeds)["t11"], answerer(model)(feeds)["t11"], TOLERANCE, TOLERANCE)  # the session goes on
    folder, _ = compiled("one", model, "x:4..4x100", "-O0")
    alone = fs.Model(folder)
    assert len(alone.sets) == 1 and "range" not in alone.info, alone.info


def refuse(cases):
    for args, status, text in cases:
        done = familyseer(*args, check=False)
        assert done.returncode == status and text in done.stderr, f"{args}: status {done.returncode}, not '{text}'\n{done.stderr}"


def tiny(build, shape=("n", 4, 6)):
    net = Net("tiny", list(shape), 9, opset=17)
    build(net)
    return net.model()


def ints(net, *values):
    return net.const(np.array(values, np.int64))


def swap(net, *perm):
    return net.op("Transpose", net.top, perm=list(perm))


def times_batch(net):
    first = net.op("Gather", net.op("Shape", "x"), ints(net, 0), axis=0)
    net.op("Mul", "x", net.op("Cast", first, to=TensorProto.FLOAT))


def counted(net):
    """The number of its image is added to each."""
    n = net.op("Squeeze", net.op("Gather", net.op("Shape", "x"), ints(net, 0), axis=0))
    numbers = net.op("Cast", net.op("Range", net.const(np.int64(0)), n, net.const(np.int64(1))), to=TensorProto.FLOAT)
    net.op("Add", net.op("Flatten", "x"), net.op("Unsqueeze", numbers, ints(net, 1)))


# Images of a batch go into one another, or lie in each other in an output: what is in the message. The shape of x is [n,4,6].
AWAY, OTHERS, NUMBER = "has no first axis of as many images", "reads more than its own image", "is a number that follows from the batch"
MIXING = {
    "mean": (lambda net: net.op("ReduceMean", "x", axes=[0], keepdims=1), AWAY),
    "mean away": (lambda net: net.op("Sub", "x", net.op("ReduceMean", "x", axes=[0], keepdims=1)), AWAY),
    "largest": (lambda net: net.op("ReduceMax", "x", keepdims=0), AWAY),
    "inside": (lambda net: swap(net, 1, 0, 2), OTHERS),
    "times batch": (times_batch, NUMBER),
    "counted": (counted, NUMBER),
    "softmax": (lambda net: net.op("Softmax", "x", axis=0), OTHERS),
    "reverse": (lambda net: net.op("Slice", "x", ints(net, -1), ints(net, -100), ints(net, 0), ints(net, -1)), OTHERS),
    "first": (lambda net: net.op("Add", "x", net.op("Slice", "x", ints(net, 0), ints(net, 1), ints(net, 0))), AWAY),
    "last": (lambda net: net.op("Add", "x", net.op("Gather", "x", ints(net, -1), axis=0)), AWAY),
    "twice": (lambda net: net.op("Concat", "x", "x", axis=0), OTHERS),
    "shifted": (lambda net: net.op("Concat", net.op("Slice", "x", ints(net, 1), ints(net, 99), ints(net, 0)),
                                   net.op("Slice", "x", ints(net, 0), ints(net, 1), ints(net, 0)), axis=0), NUMBER),
    "sums": (lambda net: net.op("CumSum", "x", net.const(np.int64(0))), OTHERS),
    "product": (lambda net: net.op("MatMul", net.op("Flatten", "x"), net.op("Transpose", net.op("Flatten", "x"), perm=[1, 0])), "do not grow with it"),
    "rows": (lambda net: net.op("Reshape", "x", ints(net, 4, -1)), AWAY),
    "rows and back": (lambda net: net.op("Reshape", net.op("Softmax", net.op("Reshape", "x", ints(net, 4, -1)), axis=0), ints(net, -1, 4, 6)), OTHERS),
    "pad": (lambda net: net.op("Pad", "x", ints(net, 1, 0, 0, 0, 0, 0)), "do not grow with it"),
    "constant": (lambda net: net.op("Expand", net.const(np.ones((1, 6), np.float32)), net.op("Shape", "x")), "has no part for each image of the batch"),
    "found": (lambda net: net.op("Cast", net.op("NonZero", "x"), to=TensorProto.FLOAT), "(NonZero) is not known to keep the images of a batch apart"),
}
# What keeps them apart, for all that it looks like.
APART = {
    "transposed": lambda net: swap(net, 0, 2, 1),
    "rows": lambda net: net.op("Reshape", net.op("Softmax", net.op("Reshape", "x", ints(net, -1, 6)), axis=1), ints(net, -1, 4, 6)),
    "concatenated": lambda net: net.op("Concat", "x", net.op("Neg", "x"), axis=1),
    "cut": lambda net: net.op("Slice", "x", ints(net, 1), ints(net, 3), ints(net, 1)),
    "gathered": lambda net: net.op("Gather", "x", ints(net, 3, 0, 0), axis=1),
    "normalised": lambda net: net.op("LayerNormalization", "x", net.vector(6), net.vector(6), axis=-1),
    "zeros": lambda net: net.op("Add", "x", net.op("Expand", net.vector(6), net.op("Shape", "x"))),
    "sums": lambda net: net.op("CumSum", "x", net.const(np.int64(1))),
    "product": lambda net: net.op("MatMul", "x", net.op("Transpose", "x", perm=[0, 2, 1])),
    "instances": lambda net: net.op("InstanceNormalization", "x", net.vector(4), net.vector(4)),
    "chosen": lambda net: net.op("Where", net.op("Greater", "x", net.const(np.float32(0))), "x", net.op("Mul", "x", "x")),
    "largest": lambda net: net.op("TopK", "x", ints(net, 2), n_out=2, axis=1)[0],
}


def mixing():
    """Nothing that mixes images is taken."""
    taken = []
    for name, (build, text) in MIXING.items():
        folder, done = compiled("mixing", tiny(build), "x:2..5x4x6", "-O0", check=False)
        assert done.returncode in (0, 1), f"{name}: {done.stderr}"
        if done.returncode == 0:
            taken.append(name)
        else:
            assert text in done.stderr and FEW in done.stderr, f"{name}: not '{text}'\n{done.stderr}"
            assert not os.path.exists(folder), f"{name}: something was written"
    assert not taken, f"taken, though images are mixed: {taken}"


def apart():
    for name, build in APART.items():
        check(f"apart_{name}", tiny(build), "x:2..5x4x6", 2, 5, lambda n: {"x": [n, 4, 6]}, "x", "-O0")


def refused():
    onnx.save(mlp(), at("refused.onnx"))
    onnx.save(transformer(), at("two.onnx"))
    cases = [
        (["x:4x1..100"], 1, "only the batch, an input's first dimension, can be a range"),
        (["x:5..4x100"], 1, "a range of batches is LO..HI with 1 <= LO <= HI <= 256"),
        (["x:0..4x100"], 1, "a range of batches is LO..HI with 1 <= LO <= HI <= 256"),
        (["x:1..257x100"], 1, "a range of batches is LO..HI with 1 <= LO <= HI <= 256"),
        (["x:1..x100"], 1, "no list of sizes"),
        (["x:1..4..8x100"], 1, "no list of sizes"),
        (["x:1..4x100", "x:8x100"], 1, "is a range, and 2 sets are given; a range stands alone"),
        (["x:1..4x100", "x:5..8x100"], 1, "is a range, and 2 sets are given; a range stands alone"),
        (["x:1..4x100", "--target", "opencl:generic"], 1, "a range of batches is for processors; for a GPU, list the sizes"),
        (["x:1..4x100", "--target", "cuda:sm_80"], 1, "a range of batches is for processors; for a GPU, list the sizes"),
    ]
    two = [
        ("ids:1..4x8,mask:1..5x8", 1, "inputs 'ids' and 'mask' have different ranges, 1..4x8 and 1..5x8"),
        ("ids:1..4x8,mask:4x8", 1, "must be 1 or 2 to broadcast"),
    ]

    def args(file, given):
        flags = [f for g in given for f in (("--input-shapes", g) if ":" in g and ".." in g or g[:2] == "x:" else (g,))]
        return ["compile", at(file), "-o", at("none"), "-O0", *flags]

    refuse([(args("refused.onnx", given), status, text) for given, status, text in cases])
    refuse([(args("two.onnx", [given]), status, text) for given, status, text in two])
    assert not os.path.exists(at("none")), "something was written"


if __name__ == "__main__":
    run_tests([
        ("conv", conv),
        ("attention", attention),
        ("others", others),
        ("plain", plain),
        ("threads", threads),
        ("commands", commands),
        ("mixing", mixing),
        ("apart", apart),
        ("refused", refused),
    ])
