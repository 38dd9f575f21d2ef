"""Elementwise operators behind a reshape of a product, which are done in front of it where one result is read; and such as are not.
SEER_TEST: timeout=300"""
import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from peer import check_model, run_tests


class Net:
    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def number(self, value, rank=0):
        return self.constant(np.full([1] * rank, value, np.float32))

    def weights(self, *shape):
        return self.constant(self.rng.normal(size=shape).astype(np.float32))

    def given(self, *shape):
        self.inputs.append(helper.make_tensor_value_info(f"x{len(self.inputs)}", T.FLOAT, shape))
        return self.inputs[-1].name

    def node(self, op, *inputs, **attrs):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attrs))
        return self.nodes[-1].output[0]

    def end(self, value):
        self.outputs.append(helper.make_tensor_value_info(value, T.FLOAT, None))

    def product(self, rows, columns):
        """[rows, columns] by Gemm, of an input of its own."""
        return self.node("Gemm", self.given(rows, 24), self.weights(24, columns), self.weights(columns))

    def reshaped(self, value, *shape):
        return self.node("Reshape", value, self.constant(np.array(shape, np.int64)))

    def gelu(self, v, rank=0):
        erf = self.node("Erf", self.node("Div", v, self.number(1.4142135, rank)))
        return self.node("Mul", self.node("Mul", v, self.node("Add", erf, self.number(1, rank))), self.number(0.5))

    def check(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        check_model(name, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), check=False)


def one_result():
    net = Net()
    net.end(net.gelu(net.reshaped(net.product(12, 40), 3, 4, 40)))
    net.end(net.gelu(net.reshaped(net.product(12, 40), 4, 3, 5, 8), rank=1))
    net.end(net.gelu(net.reshaped(net.product(6, 20), 6, 20, 1), rank=3))  # numbers of more dimensions than the product has
    again = net.reshaped(net.node("Relu", net.reshaped(net.product(6, 20), 2, 3, 20)), 120)
    net.end(net.node("Tanh", again))
    image = net.node("Conv", net.given(2, 3, 6, 6), net.weights(8, 3, 3, 3))
    net.end(net.node("Sigmoid", net.reshaped(image, 2, 8, 16)))
    net.check("one_result")


def several_results():
    net = Net()
    a = net.reshaped(net.product(12, 40), 3, 4, 40)
    net.end(net.gelu(a))
    net.end(a)  # the reshape's result itself
    b = net.node("Relu", net.reshaped(net.product(12, 40), 3, 4, 40))
    net.end(net.node("Exp", net.node("Neg", b)))
    net.end(b)
    c = net.reshaped(net.product(12, 40), 3, 4, 40)
    net.end(net.node("Mul", net.node("Sigmoid", c), net.weights(4, 1)))  # by rows of the reshape
    d = net.reshaped(net.product(12, 40), 3, 4, 40)
    net.end(net.node("Add", net.node("Tanh", d), net.reshaped(net.product(12, 40), 3, 4, 40)))  # of two
    e = net.reshaped(net.product(12, 40), 3, 4, 40)
    net.end(net.node("ReduceMax", net.node("Abs", e), axes=[1]))
    net.check("several_results")


run_tests([("one result", one_result), ("several results", several_results)])
