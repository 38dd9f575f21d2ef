"""Gives the graphs of onnx/backend/test/data/light (whose weights are constants, so that every answer is one) weights that
prove something: each ConstantOfShape weight and each constant initialiser becomes seeded and He-scaled by what reads it,
BatchNormalization gets sane statistics, a last Softmax is taken off. Hidden layers of classifiers (three quarters of such
files' bytes) may be made narrower: what is random anyway says the same with 512 of 4096 channels.

    randomise.py light_resnet50.onnx out.onnx [seed]
"""
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


def light_models():
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    return {f[6:-5]: os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".onnx")}


def _attribute(node, name, otherwise):
    for a in node.attribute:
        if a.name == name:
            return helper.get_attribute_value(a)
    return otherwise


def _values(rng, shape, node, position):
    """New content of a constant that is input `position` of `node`; None: keep it."""
    uniform = rng.uniform

    def normal(shape):
        return rng.standard_normal(shape, np.float32)

    if node.op_type == "Conv":
        if position == 1:
            return normal(shape) * np.float32(np.sqrt(2.0 / np.prod(shape[1:])))
        return normal(shape) * 0.1
    if node.op_type in ("Gemm", "MatMul"):
        if position == 1:
            fan_in = shape[1] if _attribute(node, "transB", 0) else shape[0]
            return normal(shape) * np.float32(np.sqrt(2.0 / fan_in))
        return normal(shape) * 0.1
    if node.op_type == "BatchNormalization":
        return {1: lambda: uniform(0.5, 1.0, shape), 2: lambda: normal(shape) * 0.2, 3: lambda: normal(shape) * 0.2,
                4: lambda: uniform(0.7, 1.5, shape)}[position]()
    if node.op_type == "Mul":  # behind a BatchNormalization: together they keep the scale over many layers
        return uniform(0.8, 1.8, shape)
    if node.op_type in ("Add", "Sum"):
        return normal(shape) * 0.2
    return None


def _narrowed(nodes, shape_of, hidden):
    """Shapes of the operands of a row of Gemms, by name: all but the last give at most `hidden` channels."""
    gemms = [n for n in nodes if n.op_type == "Gemm" and all(shape_of(name) for name in n.input[1:])]
    narrowed, narrow_in = {}, None
    for node in gemms:
        weight = list(shape_of(node.input[1]))
        to, of = (0, 1) if _attribute(node, "transB", 0) else (1, 0)
        weight[of] = narrow_in or weight[of]
        narrow_in = min(weight[to], hidden) if node is not gemms[-1] else weight[to]
        weight[to] = narrow_in
        narrowed[node.input[1]] = weight
        if len(node.input) > 2:
            narrowed[node.input[2]] = [narrow_in]
    return narrowed


def randomise(model, seed=1, hidden=None):
    rng = np.random.default_rng(seed)
    graph = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    made = {n.output[0]: [int(d) for d in shapes[n.input[0]]] for n in graph.node if n.op_type == "ConstantOfShape"}
    if hidden:
        made |= _narrowed(graph.node, made.get, hidden)
    users = {}
    for node in graph.node:
        for k, name in enumerate(node.input):
            users.setdefault(name, []).append((node, k))

    def reader(name):
        """The node that computes with it, seen through Unsqueeze and Reshape."""
        for node, k in users.get(name, []):
            if node.op_type in ("Unsqueeze", "Reshape") and k == 0:
                return reader(node.output[0])
            return node, k
        return None, 0

    replaced, kept = {}, []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = made[node.output[0]]
        user, position = reader(node.output[0])
        new = _values(rng, shape, user, position) if user else None
        if new is None:
            kept.append(node)
        else:
            replaced[node.output[0]] = new
    for i in graph.initializer:
        if i.data_type != onnx.TensorProto.FLOAT:
            continue
        user, position = reader(i.name)
        new = _values(rng, list(i.dims), user, position) if user else None
        if new is not None:
            i.CopyFrom(numpy_helper.from_array(new.astype(np.float32, copy=False), i.name))
    for name, new in replaced.items():
        graph.initializer.append(numpy_helper.from_array(new.astype(np.float32, copy=False), name))
    last = kept[-1]
    if last.op_type == "Softmax":
        kept.pop()
        graph.output[0].name = last.input[0]  # of the same shape
    used = {name for node in kept for name in node.input}
    initial = [i for i in graph.initializer if i.name in used]
    inputs = [i for i in graph.input if i.name in used]  # constants that are listed as inputs stay so
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(kept)
    graph.initializer.extend(initial)
    graph.input.extend(inputs)
    model.ir_version = 8
    return model


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    onnx.save(randomise(onnx.load(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 1), sys.argv[2])
