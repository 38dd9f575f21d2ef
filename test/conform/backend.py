"""familyseer as a backend of ONNX's own tests (onnx.backend.test): compiles without tuning, runs on the CPU.

The shape of everything is known when familyseer compiles, so operands that decide shapes (Reshape's shape, Slice's starts,
ReduceSum's axes, ...) must be constants. Where ONNX's tests feed them as inputs, compile() is given their values.
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
import familyseer  # noqa: E402

SEER = os.environ.get("FAMILYSEER", os.path.join(ROOT, "build", "familyseer"))


class Refused(Exception):
    """What `familyseer compile` says."""


def bind(model, values):
    """A copy of the model in which the inputs of these names are constants."""
    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    kept = [i for i in bound.graph.input if i.name not in values]
    del bound.graph.input[:]
    bound.graph.input.extend(kept)
    bound.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(x), name) for name, x in values.items())
    return bound


class Compiled(onnx.backend.base.BackendRep):
    """A model compiled with -O1; lives in a folder of its own."""

    def __init__(self, model, shapes):
        self._folder = tempfile.mkdtemp(prefix="seer-conform-")
        path = os.path.join(self._folder, "model.onnx")
        onnx.save(model, path)
        known = ",".join(f"{name}:{'x'.join(map(str, shape))}" for name, shape in shapes.items()
                         if shape and 0 not in shape)
        flags = ["--input-shapes", known] if known else []
        done = subprocess.run([SEER, "compile", path, "-O1", "-o", os.path.join(self._folder, "out"), *flags],
                              capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise Refused(f"status {done.returncode}: {done.stderr.strip()}")
        self._model = familyseer.Model(os.path.join(self._folder, "out"), threads=2)

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
