"""Whole networks on CUDA without a device: compiled for cuda:sm_90 by an NVRTC that makes C++ of kernels, run by a libcuda that computes what
is queued when somebody waits for it (test/support/nvrtc, cuda), against ONNX Runtime and the interpreter. What is asked of the driver keeps
to its rules, and nothing is left behind. Failures of devices reach whoever runs a library. SEER_TEST: timeout=600 cost=45"""
import ctypes
import os
import sys
import tempfile

MOCK = os.path.join(os.path.abspath(os.environ.get("TEST_BUILD_DIR", "build")), "mock")
if os.environ.get("LD_LIBRARY_PATH", "").split(":")[0] != MOCK:  # the loader reads it once
    os.environ["LD_LIBRARY_PATH"] = MOCK
    os.execv(sys.executable, [sys.executable, *sys.argv])

import gc  # noqa: E402

import test_branch  # noqa: E402
import test_device  # noqa: E402
import test_recurrent  # noqa: E402
import test_sized  # noqa: E402
from control import fs  # noqa: E402
from peer import FULL, familyseer, run_tests  # noqa: E402

os.environ["SEER_TARGET"] = "cuda:sm_90"
os.environ["SEER_NVRTC"] = os.path.join(MOCK, "libmock_nvrtc.so")
BROKEN_RULES, LEAKS, PUSHED, LAUNCHES, CONTEXTS = range(5)  # test/support/mock_cuda.h


def on_device(*args, fault=""):
    """A command on a library, whose target is this machine's processor besides."""
    target = os.environ.pop("SEER_TARGET")
    os.environ["MOCK_CUDA"] = fault
    try:
        done = familyseer(*args, check=not fault)
    finally:
        os.environ["SEER_TARGET"] = target
        del os.environ["MOCK_CUDA"]
    assert "mock libcuda" not in done.stderr, done.stderr
    return done


def networks():
    """Every node's answer as the interpreter's, and times."""
    for name in ("mlp", "squeezenet1_1"):
        with tempfile.TemporaryDirectory() as tmp:
            familyseer("compile", name, "-o", tmp)
            assert "agree with the interpreter" in on_device("verify", tmp, name).stdout
            if name == "mlp":
                done = on_device("bench", os.path.join(tmp, "model.so"), "--duration", 0, "--iterations", 2, "--profile", "--json")
                assert '"upload"' in done.stdout and '"download"' in done.stdout, done.stdout


# What the libcuda is to do, and what is said of it.
FAULTS = {"init=803": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "devices=0": "no device number 0: CUDA has 0", "oom=1": "Mock 0: no memory for",
          "oom=3": "Mock 0: no memory for", "lost=1": "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)",
          "lost=3": "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)", "refuse=200": "cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (200)",
          "architecture=80": "sm_80: there is code for sm_90; PTX for sm_90 and later"}


def failures():
    """What is wrong with a device is said, in the driver's words; PTX runs on devices that came later."""
    with tempfile.TemporaryDirectory() as tmp:
        os.environ["MOCK_NVRTC_PTX"] = tmp
        familyseer("compile", "mlp", "-o", tmp)
        del os.environ["MOCK_NVRTC_PTX"]
        for fault, says in FAULTS.items():
            done = on_device("verify", tmp, "mlp", fault=fault)
            assert done.returncode == 1 and says in done.stderr, f"{fault}: {done.returncode}: {done.stderr}"
        for architecture in (90, 100):
            assert on_device("verify", tmp, "mlp", fault=f"architecture={architecture}").returncode == 0


def nothing_is_left():
    gc.collect()
    ask = ctypes.CDLL("libcuda.so.1").mockCudaAsk
    assert ask(LAUNCHES) > 0, "nothing ran in this process"
    assert [ask(what) for what in (BROKEN_RULES, LEAKS, PUSHED, CONTEXTS)] == [0, 0, 0, 0], [ask(what) for what in range(5)]


LAST = (networks, failures, nothing_is_left)
if __name__ == "__main__":
    cases = tuple(dict.fromkeys(test_device.FEW + test_device.ALL)) if FULL else test_device.FEW
    run_tests([(f.__name__.replace("_", " "), f) for f in cases + LAST])
