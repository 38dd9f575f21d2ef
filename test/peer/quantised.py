"""What the tests of quantised networks share: nodes with inputs and constants of their own in one model, and its answers at several
levels beside ONNX Runtime's."""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peer import familyseer, reference, schedules

MS = "com.microsoft"
BYTES = (np.uint8, np.int8)
ELEM = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8, np.uint16: TensorProto.UINT16, np.int32: TensorProto.INT32,
        np.int64: TensorProto.INT64, np.float32: TensorProto.FLOAT}
PRODUCTS = {"QLinearMatMul": (3, 5), "MatMulInteger": (1, 3)}  # where the second factor and its zero point stand


class Net:
    LEVELS = schedules()

    def __init__(self):
        self.nodes, self.feeds, self.constants, self.outs = [], {}, [], {}

    def constant(self, value, dtype):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def add(self, op, inputs, dtype, domain="", **attrs):
        """A node whose result is an output."""
        name = f"y{len(self.outs)}_{op}"
        while inputs and not inputs[-1]:
            inputs.pop()
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attrs))
        self.outs[name] = dtype

    def model(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "q", [value(n, ELEM[a.dtype.type], a.shape) for n, a in self.feeds.items()],
                                  [value(n, ELEM[k], None) for n, k in self.outs.items()], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=8)

    def answers(self, theirs, folder):
        """(level, name, our answer, ONNX Runtime's), which are alike in type and shape. Leaves the model and its last library there."""
        path, args = os.path.join(folder, "m.onnx"), []
        onnx.save(self.model(), path)
        for name, array in self.feeds.items():
            np.save(os.path.join(folder, name + ".npy"), array)
            args += ["-i", f"{name}={folder}/{name}.npy"]
        for level in self.LEVELS:
            familyseer("compile", path, "-o", folder, level)
            familyseer("run", os.path.join(folder, "model.so"), *args, "-o", os.path.join(folder, "out"))
            for name, want in theirs.items():
                got = np.load(os.path.join(folder, "out", name + ".npy"))
                assert got.dtype == want.dtype and got.shape == want.shape, f"{name}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
                yield level, name, got, want

    def judged(self):
        """The model as ONNX Runtime is asked it: without VNNI it adds up pairs of products of unsigned and signed bytes in 16
        bits, and cuts them. With 128 more in the signed ones and in their zero points they are unsigned, and all sums the same."""
        model = self.model()
        values = {**self.feeds, **{c.name: numpy_helper.to_array(c) for c in self.constants}}
        for node in model.graph.node:
            places = PRODUCTS.get(node.op_type, (len(node.input),))
            if places[-1] >= len(node.input):
                continue
            if values[node.input[0]].dtype != np.uint8 or any(values[node.input[k]].dtype != np.int8 for k in places):
                continue
            for k in places:
                value = (values[node.input[k]].astype(np.int16) + 128).astype(np.uint8)
                node.input[k] = f"unsigned_{len(model.graph.initializer)}"
                model.graph.initializer.append(numpy_helper.from_array(value, node.input[k]))
        return model

    def judge(self, ulps=0):
        """All elements equal; floats within so many units in the last place of the largest."""
        theirs, total = reference(self.judged(), self.feeds), 0
        known = {c.name: numpy_helper.to_array(c) for c in self.constants}
        with tempfile.TemporaryDirectory() as folder:
            for level, name, got, want in self.answers(theirs, folder):
                most = ulps * np.spacing(np.abs(want).max()) if want.dtype == np.float32 else 0
                off = np.argwhere(np.abs(got.astype(np.float64) - want.astype(np.float64)) > most)
                node = next(n for n in self.nodes if n.output[0] == name)
                assert len(off) == 0, (f"{name} {level}: {len(off)} of {want.size} differ, first {got[tuple(off[0])]} for {want[tuple(off[0])]} at {off[0]}; "
                                       f"{[known.get(n, self.feeds.get(n, np.zeros(0))).shape for n in node.input]} {node.attribute}")
                total += want.size
        print(f"{total} elements agree")
