"""--flush-denormals: kernels take denormal numbers for zeros on all threads, what calls them does not; it is in what info says, and verify's reference
does the same. SEER_TEST: timeout=200"""
import os
import tempfile

import numpy as np
import onnx

from control import F, Graph, fs
from peer import familyseer, run_tests

N = 1 << 16  # cut among threads
LEAST = np.float32(np.finfo(np.float32).tiny)


def network():
    """y: products of x and numbers up to 1, many of which are denormal; z: x times 2^100, of operands that are."""
    g = Graph(17)
    x = g.input("x", F, [N])
    factor = np.linspace(0.1, 1, N).astype(np.float32)
    y = g.op("Mul", x, g.const(factor, np.float32))
    z = g.op("Mul", x, g.const([2.0 ** 100], np.float32))
    return g.model((y, F), (z, F)), factor


def numbers():
    return (np.random.default_rng(1).uniform(0.01, 4, N) * LEAST).astype(np.float32)


def flushed(x):
    return np.where(np.abs(x) < LEAST, 0, x)


def keeps_denormals():
    """Whether this thread does: an array's product, by NumPy's loops."""
    return bool(np.all(np.full(64, LEAST) * np.float32(0.5) > 0)) and bool(np.all(np.full(64, LEAST / 4) * np.float32(2.0 ** 100) > 0))


def compiled(folder, name, *flags):
    out = os.path.join(folder, name)
    familyseer("compile", os.path.join(folder, "net.onnx"), "-o", out, "-O0", *flags)
    return out


def said(*args, status=0):
    done = familyseer(*args, check=False)
    assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def denormals():
    model, factor = network()
    x = numbers()
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, os.path.join(folder, "net.onnx"))
        np.save(os.path.join(folder, "x.npy"), x)
        for threads in (1, 3):
            for flushes in (False, True):
                out = compiled(folder, f"out{threads}{flushes}", "--threads", str(threads), *(["--flush-denormals"] if flushes else []))
                loaded = fs.Model(out, threads=threads)
                for _ in range(5):
                    y, z = loaded(x)
                    assert keeps_denormals(), "the caller's mode has changed"
                read = flushed(x) if flushes else x
                want = [read * factor, read * np.float32(2.0 ** 100)]
                want = [flushed(v) if flushes else v for v in want]
                for found, expected in zip((y, z), want):
                    assert np.array_equal(found, expected), (threads, flushes, np.flatnonzero(found != expected)[:5])
                assert (y == 0).any() == flushes and (z == 0).any() == flushes
                assert loaded.info.get("denormals") == ("flushed" if flushes else None)
                assert ("denormals   flushed" in said("info", os.path.join(out, "model.so"))) == flushes
                verify = ["verify", os.path.join(out, "model.so"), os.path.join(folder, "net.onnx"), "-i", f"x={folder}/x.npy"]
                said(*verify, "--threads", str(threads))
                said(*verify, "--layers")
                other = "--no-flush-denormals" if flushes else "--flush-denormals"
                assert f"was made {'with' if flushes else 'without'} --flush-denormals" in said(*verify, other, status=1)
        said_of = said("compile", os.path.join(folder, "net.onnx"), "-o", os.path.join(folder, "none"), "-O0", "--emit", "c", "--target",
                       "riscv64-linux-gnu", "--flush-denormals", status=1)
        assert "--flush-denormals: the runtime knows no such mode of riscv64" in said_of, said_of


run_tests([("denormals", denormals)])
