"""A small builder of ONNX models with seeded, He-scaled weights."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    def __init__(self, name, shape, seed=1, opset=13, input_name="x", dtype=TensorProto.FLOAT):
        self.rng = np.random.default_rng(seed)
        self.name, self.opset = name, opset
        self.nodes, self.initial = [], []
        self.inputs = [helper.make_tensor_value_info(input_name, dtype, shape)]
        self.shape = {input_name: list(shape)}
        self.top = input_name
        self.count = 0

    def const(self, array, hint="c"):
        self.count += 1
        name = f"{hint}{self.count}"
        self.initial.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, *shape, fan_in=None):
        fan_in = fan_in or int(np.prod(shape[1:]))
        return self.const((self.rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32), "w")

    def vector(self, n, low=-0.5, high=0.5):
        return self.const(self.rng.uniform(low, high, n).astype(np.float32), "v")

    def op(self, kind, *inputs, n_out=1, name=None, **attrs):
        self.count += 1
        outs = [f"t{self.count}" + (f"_{k}" if k else "") for k in range(n_out)]
        self.nodes.append(helper.make_node(kind, list(inputs) or [self.top], outs, name=name or f"{kind}_{self.count}", **attrs))
        self.top = outs[0]
        return self.top if n_out == 1 else outs

    def conv(self, x, k, c, size, group=1, bias=True, **attrs):
        size = (size, size) if isinstance(size, int) else size
        ins = [x, self.weight(k, c // group, *size)] + ([self.vector(k)] if bias else [])
        return self.op("Conv", *ins, kernel_shape=list(size), group=group, **attrs)

    def norm(self, x, c):
        return self.op("BatchNormalization", x, self.vector(c, 0.5, 1.5), self.vector(c), self.vector(c), self.vector(c, 0.5, 1.5))

    def gemm(self, x, n, k, **attrs):
        return self.op("Gemm", x, self.weight(n, k), self.vector(n), transB=1, **attrs)

    def model(self, *outputs):
        outputs = outputs or (self.top,)
        infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.initial)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8
        model = onnx.shape_inference.infer_shapes(model)
        return model
