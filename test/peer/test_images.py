"""Batches that run image by image: random small networks, with batches of 2 to 7 and one to three threads. Each image is, to the bit, what the
library for a batch of 1 computes of it; all of it is ONNX Runtime's. SEER_TEST: timeout=400"""
import json
import os
import tempfile

import numpy as np
import onnx

from control import F, Graph, fs
from peer import FULL, familyseer, reference, run_tests


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


class Network:
    """Operators drawn by chance over values [n, c, h, w], then [n, s, k] and [n * s, k]. What the batch is, a network is built for: all
    else, weights too, follows from the seed."""

    def __init__(self, seed, n):
        self.rng, self.n = np.random.default_rng(seed), n
        self.g = Graph(17)
        self.c, self.h = int(self.rng.integers(2, 6)), int(self.rng.integers(4, 8))
        self.made = [self.g.input("x", F, [n, self.c, self.h, self.h])]
        for _ in range(int(self.rng.integers(2, 6))):
            self.made.append(getattr(self, self.rng.choice(["conv", "depthwise", "add", "concat", "pool", "squeeze", "scale"]))())
        outputs = [(self.tail(self.made[-1]), F)]
        if self.rng.integers(2):  # what others read too, and the caller
            outputs.append((self.made[len(self.made) // 2], F))
        self.model = self.g.model(*{name: (name, kind) for name, kind in outputs}.values())

    def const(self, *shape):
        return self.g.const(normal(self.rng, *shape) * 0.4, np.float32)

    def last(self):
        return self.made[-1]

    def conv(self):
        return self.g.op("Relu", self.g.op("Conv", self.last(), self.const(self.c, self.c, 3, 3), self.const(self.c), pads=[1] * 4))

    def depthwise(self):
        return self.g.op("Conv", self.last(), self.const(self.c, 1, 3, 3), group=self.c, pads=[1] * 4)

    def add(self):
        return self.g.op("Add", self.last(), self.made[int(self.rng.integers(len(self.made)))])

    def concat(self):
        both = self.g.op("Concat", self.g.op("Sigmoid", self.last()), self.last(), axis=1)
        return self.g.op("Conv", both, self.const(self.c, 2 * self.c, 1, 1))

    def pool(self):
        return self.g.op("AveragePool", self.last(), kernel_shape=[3, 3], pads=[1] * 4)

    def squeeze(self):
        return self.g.op("Mul", self.last(), self.g.op("Sigmoid", self.g.op("GlobalAveragePool", self.last())))

    def scale(self):
        return self.g.op("Mul", self.last(), self.const(self.c, 1, 1))

    def tail(self, x):
        s, k = self.h * self.h, self.c
        rows = self.g.op("Transpose", self.g.op("Reshape", x, self.g.const([self.n, k, s])), perm=[0, 2, 1])
        tokens = self.g.op("MatMul", self.g.op("Reshape", rows, self.g.const([self.n * s, k])), self.const(k, 5))
        back = self.g.op("Reshape", tokens, self.g.const([self.n, s, 5]))
        scores = self.g.op("Softmax", self.g.op("MatMul", back, self.g.op("Transpose", back, perm=[0, 2, 1])), axis=-1)
        return self.g.op("ReduceMean", self.g.op("MatMul", scores, back), axes=[1], keepdims=0)


def compiled(folder, model, name, how, *more):
    path = os.path.join(folder, name + ".onnx")
    onnx.save(model, path)
    out = os.path.join(folder, f"{name}_{how}")
    familyseer("compile", path, "-o", out, "-O1", "--ignore-records", "--images", how, *more)
    with open(os.path.join(out, "model.json"), encoding="utf-8") as f:
        stretches = json.load(f).get("stretches", [])
    return out, path, stretches


def same(label, got, want):
    for name, x in want.items():
        assert np.array_equal(got[name], x, equal_nan=True), f"{label}: {name} differs, at most by {np.abs(got[name] - x).max()}"


def one_network(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    network, single = Network(seed, n), Network(seed, 1)
    x = normal(rng, n, network.c, network.h, network.h)
    x[rng.integers(n), 0, 0, 0] = rng.choice([np.nan, np.inf, 3e38, 1.0])  # stays in its image
    want = reference(network.model, {"x": x})
    schedules = ("--random-schedules", seed) if seed % 2 else ()
    with tempfile.TemporaryDirectory() as tmp:
        one, _, _ = compiled(tmp, single.model, "one", "whole", *schedules)
        alone = fs.Model(one, threads=1)
        images = [alone.run({"x": x[i:i + 1]}) for i in range(n)]
        names = dict(zip((o.name for o in network.model.graph.output), (o.name for o in single.model.graph.output)))
        by_image = {a: np.concatenate([i[b] for i in images]) for a, b in names.items()}
        for how in ("whole", "each", "apart"):
            out, path, stretches = compiled(tmp, network.model, "all", how, *schedules)
            kernels = sum(s["steps"] for s in stretches)
            assert (kernels > 0) == (how != "whole"), f"{how}: {stretches}"
            assert all(s["images"] == n for s in stretches)
            for threads in (1, 2, 3):
                ours = fs.Model(out, threads=threads)
                for again in range(2):
                    got = ours.run({"x": x})
                    for name, w in want.items():
                        np.testing.assert_allclose(got[name], w, rtol=2e-4, atol=2e-4, err_msg=f"{how}, {threads} threads, {name}")
                    if how != "whole":
                        same(f"seed {seed}, {n} images, {how}, {threads} threads, run {again}", got, by_image)
            if seed % 5 == 0:
                familyseer("verify", os.path.join(out, "model.so"), path, "--threads", 2)


def agrees(label, model, shape, rng, least, tolerance):
    """Run either way, with `least` stretches or more, it gives ONNX Runtime's answer."""
    feeds = {"x": normal(rng, *shape)}
    want, = reference(model, feeds).values()
    with tempfile.TemporaryDirectory() as tmp:
        for how in ("each", "apart"):
            out, _, stretches = compiled(tmp, model, "m", how)
            assert len(stretches) >= least, stretches
            for threads in (1, 2):
                got, = fs.Model(out, threads=threads).run(feeds).values()
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"{label}, {how}, {threads} threads")


def no_images():
    """What looks across a batch runs whole, in the middle of what does not; what is made before and behind is right all the same."""
    rng = np.random.default_rng(5)
    n = 4
    cases = {"softmax": lambda g, x: g.op("Softmax", x, axis=0), "mean": lambda g, x: g.op("Sub", x, g.op("ReduceMean", x, axes=[0])),
             "moved": lambda g, x: g.op("Transpose", g.op("Transpose", x, perm=[1, 0, 2, 3]), perm=[1, 0, 2, 3]),
             "joined": lambda g, x: g.op("Slice", g.op("Concat", x, g.op("Neg", x), axis=0), g.const([2]), g.const([2 + n]), g.const([0])),
             "turned": lambda g, x: g.op("Gather", x, g.const([3, 2, 1, 0]), axis=0),
             "reversed": lambda g, x: g.op("Slice", x, g.const([n - 1]), g.const([-n - 1]), g.const([0]), g.const([-1]))}
    for label, middle in cases.items():
        g = Graph(17)
        x = g.op("Conv", g.input("x", F, [n, 3, 6, 6]), g.const(normal(rng, 3, 3, 3, 3), np.float32), pads=[1] * 4)
        y = g.op("Relu", g.op("Conv", middle(g, g.op("Relu", x)), g.const(normal(rng, 3, 3, 3, 3), np.float32), pads=[1] * 4))
        agrees(label, g.model((y, F)), [n, 3, 6, 6], rng, 0, 2e-4)


def between():
    """Whole steps between stretches of several kernels: what stands before a stretch is there for its last image, too, and what it makes stays
    while others are made; two values one behind the other are no images."""
    rng = np.random.default_rng(11)
    n = 4

    def convs(g, x, k):
        """Values in between take more memory for one image than those at the ends for all: they are placed first."""
        wide = [8] + [64] * (k - 1) + [8]
        for a, b in zip(wide, wide[1:]):
            x = g.op("Relu", g.op("Conv", x, g.const(normal(rng, b, a, 3, 3) / (3 * a) ** 0.5, np.float32), pads=[1] * 4))
        return x

    cases = {"softmax": lambda g, x: g.op("Softmax", x, axis=0),
             "joined": lambda g, x: g.op("Concat", convs(g, x, 1), x, axis=0)}
    for label, middle in cases.items():
        g = Graph(17)
        y = convs(g, middle(g, convs(g, g.input("x", F, [n, 8, 9, 9]), 3)), 4)
        agrees(label, g.model((y, F)), [n, 8, 9, 9], rng, 2 if label == "softmax" else 1, 1e-3)


def profile():
    """Steps of a stretch have times of their own; the stretch is a step."""
    with tempfile.TemporaryDirectory() as tmp:
        out, _, stretches = compiled(tmp, Network(3, 3).model, "m", "apart")
        done = familyseer("bench", os.path.join(out, "model.so"), "--profile", "--json", "--iterations", 8, "--duration", "0")
        steps = json.loads(done.stdout)["profile"]
        kinds = [s["kind"] for s in steps]
        assert kinds.count("images") == len(stretches) > 0, kinds
        assert all(s["ms"] > 0 for s in steps if s["kind"] == "kernel"), steps


SEEDS = range(1, 31 if FULL else 9)
run_tests([(f"network {seed}", lambda seed=seed: one_network(seed)) for seed in SEEDS] +
          [("across images", no_images), ("between stretches", between), ("profile", profile)])
