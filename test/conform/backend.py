"""familyseer as a backend of ONNX's own tests (onnx.backend.test): compiles without tuning, runs on the CPU.

The shape of everything is known when familyseer compiles, so operands that decide shapes (Reshape's shape, Slice's starts,
ReduceSum's axes, ...) must be constants. Where ONNX's tests feed them as inputs, Compiled() binds them (--bind): the files
are compiled as they are.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.backend.base

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.append(os.path.join(ROOT, "test", "peer"))
import familyseer  # noqa: E402

SEER = os.environ.get("FAMILYSEER", os.path.join(ROOT, "build", "familyseer"))


# A target: libraries are written as C for it, and made by cc (conform.py --emit).
EMIT = ""


class Refused(Exception):
    """What `familyseer compile` says."""


class Compiled(onnx.backend.base.BackendRep):
    """A model compiled with -O1, the inputs `bound` to these values; lives in a folder of its own."""

    def __init__(self, model, shapes, bound=None):
        self._folder = tempfile.mkdtemp(prefix="seer-conform-")
        path = os.path.join(self._folder, "model.onnx")
        onnx.save(model, path)
        sizes = [f"{name}:{'x'.join(map(str, shape))}" for name, shape in shapes.items() if shape]
        flags = ["--input-shapes", ",".join(sizes)] if sizes else []
        for k, (name, x) in enumerate((bound or {}).items()):
            file = os.path.join(self._folder, f"bound{k}.npy")
            np.save(file, x)
            flags.append(f"--bind={name}={file}")
        if EMIT:
            flags += ["--emit", "c", "--target", EMIT]
        out = os.path.join(self._folder, "out")
        done = subprocess.run([SEER, "compile", path, "-O1", "-o", out, *flags],
                              capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise Refused(f"status {done.returncode}: {done.stderr.strip()}")
        if EMIT:
            from peer import make_library  # it needs ONNX Runtime
            make_library(out)
        self._model = familyseer.Model(out, threads=2)

    def __del__(self):
        self._model = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, inputs, **kwargs):
        del kwargs
        return tuple(self._model.run(list(inputs)).values())


class Backend(onnx.backend.base.Backend):
    """prepare() and run_model() as onnx.backend.test calls them."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        del model, kwargs
        return device == "CPU"

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        del device
        return Compiled(model, kwargs.get("shapes", {}))

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
supports_device = Backend.supports_device
