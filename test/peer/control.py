"""What the tests of control flow and of sizes that data decides share: models by operators, a library against ONNX Runtime for many inputs."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.environ.get("TEST_SOURCE_DIR", "."), "python"))
sys.dont_write_bytecode = True
import familyseer as fs  # noqa: E402

from peer import FULL, familyseer, reference  # noqa: E402

F, I64, BOOL, I32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32


class Graph:
    """A model under construction: inputs with shapes, constants by value, nodes by operator."""

    def __init__(self, opset=17, first=0):
        self.inputs, self.constants, self.nodes, self.outputs, self.opset, self.n = [], [], [], [], opset, first

    def name(self):
        self.n += 1
        return f"v{self.n}"

    def input(self, name, kind, shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def const(self, value, dtype=np.int64):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def op(self, kind, *operands, outs=1, **attrs):
        made = [self.name() for _ in range(outs)]
        self.nodes.append(helper.make_node(kind, list(operands), made, **attrs))
        return made[0] if outs == 1 else made

    def model(self, *outputs):
        values = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
        graph = helper.make_graph(self.nodes, "g", self.inputs, values, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


HOW = (("-O1", 2), ("--random-schedules=1", 2))[0 if FULL else 1:]


def check(model, many, rtol=1e-5, how=HOW, atol=1e-6, verified=None):
    """Libraries, by options and threads, for all inputs in `many`: shapes and values as ONNX Runtime's. The one with the option
    `verified` is what verify finds right, too. Returns the shapes that came out."""
    shapes = set()
    wanted = [reference(model, feeds) for feeds in many]
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        for k, (option, threads) in enumerate(how):
            familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, f"out{k}"), option)
            ours = fs.Model(os.path.join(tmp, f"out{k}"), threads=threads)
            for feeds, want in zip(many, wanted):
                got = ours.run(feeds)
                for name, x in want.items():
                    assert got[name].shape == x.shape, f"'{name}' has shape {got[name].shape}, should be {x.shape} ({option})"
                    assert got[name].dtype == x.dtype, f"'{name}' is {got[name].dtype}, should be {x.dtype}"
                    np.testing.assert_allclose(got[name], x, rtol=rtol, atol=atol, err_msg=f"{name} ({option})")
                    shapes.add(x.shape)
            if option == verified:
                assert "ok" in familyseer("verify", os.path.join(tmp, f"out{k}"), os.path.join(tmp, "m.onnx")).stdout
    return shapes


def _verified(model, tmp):
    """(file, folder of its library), which verify finds right."""
    path, folder = os.path.join(tmp, "m.onnx"), os.path.join(tmp, "out")
    onnx.save(model, path)
    familyseer("compile", path, "-o", folder, "-O1")
    assert "ok" in familyseer("verify", folder, path).stdout
    return path, folder


def verify(model):
    with tempfile.TemporaryDirectory() as tmp:
        _verified(model, tmp)


def all_commands(model):
    """verify, bench, tune and C sources know such a network; what it answers is another's to check."""
    with tempfile.TemporaryDirectory() as tmp:
        path, folder = _verified(model, tmp)
        familyseer("bench", folder, "--duration", "1s", "--profile")
        familyseer("tune", path, "-o", os.path.join(tmp, "tuned"), "--measure", "fake", "--trials", "32", "--records", os.path.join(tmp, "r.sqlite"))
        familyseer("compile", path, "-o", os.path.join(tmp, "c"), "-O1", "--emit", "c")


def refused(model, text):
    with tempfile.TemporaryDirectory() as tmp:
        onnx.save(model, os.path.join(tmp, "m.onnx"))
        done = familyseer("compile", os.path.join(tmp, "m.onnx"), "-o", os.path.join(tmp, "out"), "-O1", check=False)
    assert done.returncode == 1 and text in done.stderr, f"status {done.returncode}: {done.stderr}"
