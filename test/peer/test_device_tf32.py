"""--precision tf32 on CUDA without a device (as test_device_cuda): answers against ONNX Runtime in f32 within what roundings may make
(test_precision), and against products of operands that are rounded here, in f64, within what sums of f32 may make; kernels have products of
warps; targets without them are refused. SEER_TEST: timeout=600 cost=25"""
import os
import re
import sys
import tempfile

MOCK = os.path.join(os.path.abspath(os.environ.get("TEST_BUILD_DIR", "build")), "mock")
if os.environ.get("LD_LIBRARY_PATH", "").split(":")[0] != MOCK:  # the loader reads it once
    os.environ["LD_LIBRARY_PATH"] = MOCK
    os.execv(sys.executable, [sys.executable, *sys.argv])

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import test_precision  # noqa: E402
from peer import FULL, familyseer, run_ours, run_tests  # noqa: E402
from test_precision import Net, magnitudes  # noqa: E402

os.environ["SEER_NVRTC"] = os.path.join(MOCK, "libmock_nvrtc.so")
TARGET = ("--target", "cuda:sm_90")
LEVELS = test_precision.LEVELS if FULL else ["-O1"]


def rounded(x):
    """To 11 bits, ties away from 0, in f64."""
    step = np.exp2(np.floor(np.log2(np.abs(x.astype(np.float64)) + 2.0**-149)) - 10)
    return np.copysign(np.floor(np.abs(x.astype(np.float64)) / step + 0.5) * step, x)


def matrices():
    net = Net(11)
    net.output(net.add("MatMul", net.input("x", 40, 72), net.weight(72, 48)))
    return net


def batches():
    net = Net(12)
    net.output(net.add("MatMul", net.input("x", 3, 32, 40), net.input("v", 3, 40, 24)))
    return net


def turned():
    net = Net(13)
    net.output(net.add("Gemm", net.input("x", 64, 24), net.weight(56, 64), transA=1, transB=1))
    return net


def windows():
    net = Net(14)
    net.output(net.add("Conv", net.input("x", 2, 16, 9, 11), net.weight(24, 16, 3, 3), pads=[1] * 4, strides=[2, 1]))
    return net


def groups():
    net = Net(15)
    net.output(net.add("Conv", net.input("x", 1, 32, 7, 7), net.weight(48, 16, 1, 1), group=2))
    return net


def is_exact(build):
    """Of one product: what is rounded is known to the bit."""
    net = build()
    node, values = net.nodes[0], {**net.feeds, **{w.name: onnx.numpy_helper.to_array(w) for w in net.weights}}
    a, b = (values[name] for name in node.input[:2])
    want, f32 = magnitudes(node, rounded(a), rounded(b)), magnitudes(node, a.astype(np.float64), b.astype(np.float64))
    may = 2.0**-20 * magnitudes(node, np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert (np.abs(want - f32) > may).any(), "the bound is no judge"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(net.model(), path)
        for level in LEVELS:
            at = os.path.join(folder, "out" + level)
            said = familyseer("compile", path, "-o", at, level, "--precision", "tf32", *TARGET).stderr
            assert "tf32 against f32, both on this machine's cuda" in said, said
            answers = os.path.join(at, "answers")
            os.mkdir(answers)
            got = run_ours(at, net.feeds, answers, 2)[net.outputs[0]].reshape(want.shape)
            worst = (np.abs(got - want) / may).max()
            assert worst <= 1, f"{build.__name__} {level}: off by {worst:.2f} of what sums may make"
            assert '"precision": "tf32"' in open(os.path.join(at, "model.json"), encoding="utf-8").read()
            print(f"{build.__name__} {level}: {worst:.3f} of the bound", flush=True)


def warps_multiply():
    """Kernels of the network's products have them, and those of a product of vectors have not."""
    net = Net(16)
    x = net.add("Relu", net.add("MatMul", net.input("x", 64, 64), net.weight(64, 64)))
    net.output(x, net.add("MatMul", net.input("y", 1, 64), net.weight(64, 64)))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(net.model(), path)
        for kind, n in (("tf32", 1), ("f32", 0)):
            at = os.path.join(folder, kind)
            familyseer("compile", path, "-o", at, "-O1", "--emit", "kernels", "--precision", kind, *TARGET)
            texts = [open(os.path.join(at, f), encoding="utf-8").read() for f in sorted(os.listdir(at)) if f.endswith(".cu")]
            got = sum(bool(re.search(r"= mma_tf32\(", text)) for text in texts)
            assert len(texts) == 2 and got == n, f"{kind}: {got} of {len(texts)} kernels have products of warps of tf32"


def is_refused():
    """Before a network is read: there is none."""
    for target, name in (("native", "x86_64|aarch64"), ("cuda:sm_75", "cuda:sm_75"), ("opencl:generic", "opencl")):
        for command in ("compile", "tune") if target == "native" else ("compile",):  # a GPU's tuning looks for a device first
            done = familyseer(command, "no_such_network", "-o", os.devnull, "--precision", "tf32", "--target", target, check=False)
            assert done.returncode == 1 and re.search(f"the target is ({name})", done.stderr), done.stderr
            assert "--target cuda:sm_80 or a newer one, or --precision f32, bf16 or f16" in done.stderr, done.stderr


if __name__ == "__main__":
    tests = [(f"{b.__name__}.exact", lambda b=b: is_exact(b)) for b in (matrices, batches, turned, windows, groups)]
    tests += [(b.__name__, lambda b=b: test_precision.check(b, "tf32", LEVELS, TARGET))
              for b in (test_precision.convolutions, test_precision.attention)]
    run_tests(tests + [(f.__name__, f) for f in (warps_multiply, is_refused)])
