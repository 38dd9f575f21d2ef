"""Many nodes of one operator, each with other attributes, in one model: every output is compared with ONNX Runtime's, or with
`want`, where NaN and infinities must be equal."""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import familyseer, reference, run_ours, schedules

_TYPE = {np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in
         ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")}


def const(name, value, dtype=None):
    return numpy_helper.from_array(np.asarray(value, dtype), name)


class Nodes:
    """add() gives a node's outputs names of their own; check() runs them all. Operands are NumPy arrays: those in `constants`
    become initialisers."""

    def __init__(self, opset, domains=()):
        self.opset, self.domains = opset, domains
        self.nodes, self.feeds, self.constants, self.label, self.want = [], {}, [], {}, {}

    def feed(self, array):
        """The name of an input with this content: the same for the same array."""
        for name, x in self.feeds.items():
            if x is array:
                return name
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(const(name, array))
        return name

    def add(self, op, *operands, outputs=1, constants=(), domain="", want=None, **attrs):
        """operands: arrays, names of values, or None. outputs: how many, or a list of bools, where an absent one is False."""
        names = ["" if x is None else x if isinstance(x, str) else self.constant(x) if k in constants else self.feed(x)
                 for k, x in enumerate(operands)]
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        outs = [f"y{len(self.nodes)}_{k}" if w else "" for k, w in enumerate(wanted)]
        self.nodes.append(helper.make_node(op, names, outs, domain=domain, **attrs))
        for k, out in enumerate(outs):
            if out:
                self.label[out] = f"{op} output {k} of {[getattr(x, 'shape', x) for x in operands]} {attrs}"
                if want is not None:
                    self.want[out] = want[k]
        return outs[0]

    def run(self, level="-O1"):
        """What familyseer makes of it."""
        with tempfile.TemporaryDirectory() as tmp:
            path, folder, out = (os.path.join(tmp, n) for n in ("m.onnx", "lib", "out"))
            os.mkdir(out)
            onnx.save(self.model(), path)
            familyseer("compile", path, "-o", folder, level)
            return run_ours(folder, self.feeds, out, 2)

    def model(self):
        inputs = [helper.make_tensor_value_info(n, _TYPE[x.dtype], x.shape) for n, x in self.feeds.items()]
        outputs = [onnx.ValueInfoProto(name=n) for n in self.label]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in self.domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def check(self, levels=None, rtol=1e-5, atol=1e-5, off=None):
        """off: the share of elements that may differ at all."""
        model = self.model()
        want = self.want or reference(model, self.feeds)
        assert set(want) == set(self.label), "some outputs have values to compare with, others have none"
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "m.onnx")
            onnx.save(model, path)
            for level in levels or schedules():
                folder, out = os.path.join(tmp, "lib" + level), os.path.join(tmp, "out" + level)
                os.mkdir(out)
                familyseer("compile", path, "-o", folder, level)
                got = run_ours(folder, self.feeds, out, 2)
                for name, w in want.items():
                    g, said = got[name], f"{self.label[name]} {level}"
                    assert g.shape == w.shape and g.dtype == w.dtype, f"{said}: {g.dtype}{g.shape}, must be {w.dtype}{w.shape}"
                    np.testing.assert_allclose(g.astype(np.float64), w.astype(np.float64), err_msg=said,
                                               rtol=rtol, atol=atol)
                    assert off is None or (g != w).mean() <= off, f"{said}: {(g != w).mean():.1%} differ"


def refused(part, opset, op, *operands, constants=(), domain="", outputs=1, **attrs):
    """Compiling one node fails with a message that has `part` in it."""
    nodes = Nodes(opset, [domain] if domain else [])
    nodes.add(op, *operands, constants=constants, domain=domain, outputs=outputs, **attrs)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "m.onnx")
        onnx.save(nodes.model(), path)
        done = familyseer("compile", path, "-o", os.path.join(tmp, "lib"), "-O1", check=False)
        assert done.returncode != 0 and part in done.stderr, f"{op} {attrs}: must be refused with '{part}', got {done.returncode} {done.stderr}"
