"""Damages an ONNX file: by bytes, as a bad disk or a fuzzer does, or by its meaning, as somebody does who knows the format.

mutate(data, others, rng) -> (bytes, what was done); the same generator state gives the same damage.
"""
import copy

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, TensorProto

# Where arithmetic breaks.
INTS = [0, 1, -1, 2, 3, 7, -7, 127, 255, 256, 65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 32, 1 << 40, (1 << 62) + 1,
        (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-38, 1e38, float("inf"), float("-inf"), float("nan"), 0.5, 1e9]
TEXTS = ["", "x", "\x1b[31m", "\u202e", "a" * 5000, "NOTSET", "SAME_UPPER", "linear", "../../etc", "%s%n", "\u0000", "reflect", "bilinear"]


# ---- by bytes
def flip_bits(data, others, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def set_bytes(data, others, rng):
    data = bytearray(data)
    at, n = rng.randrange(len(data)), rng.choice([1, 2, 4, 8, 100])
    data[at:at + n] = rng.choice([b"\x00", b"\xff", b"\x7f", b"\x80"]) * len(data[at:at + n])
    return bytes(data)


def cut(data, others, rng):
    return data[:rng.randrange(len(data))]


def remove(data, others, rng):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice([1, 3, 50, 1000]):]


def repeat(data, others, rng):
    at, n = rng.randrange(len(data)), rng.choice([1, 10, 200, 5000])
    return data[:at] + data[at:at + n] * rng.choice([2, 3, 20]) + data[at + n:]


def splice(data, others, rng):
    other = rng.choice(others)
    return data[:rng.randrange(len(data))] + other[rng.randrange(len(other)):]


# ---- by meaning
def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs:
                yield from graphs_of(inner)


def some_graph(model, rng):
    return rng.choice(list(graphs_of(model.graph)) + list(model.functions))


def some_node(model, rng):
    nodes = some_graph(model, rng).node
    return rng.choice(nodes) if nodes else None


def some_name(graph, rng):
    names = [name for node in graph.node for name in [*node.input, *node.output]]
    return rng.choice(names or [""])


def rewire(model, rng):
    graph = some_graph(model, rng)
    node = rng.choice(graph.node)
    side = rng.choice([node.input, node.input, node.output])
    if side:
        side[rng.randrange(len(side))] = rng.choice([some_name(graph, rng), "", "nowhere"] + [rng.choice(TEXTS)])


def more_operands(model, rng):
    graph = some_graph(model, rng)
    node = rng.choice(graph.node)
    side = rng.choice([node.input, node.output])
    if side and rng.random() < 0.5:
        del side[rng.randrange(len(side))]
    else:
        side.extend([some_name(graph, rng) for _ in range(rng.choice([1, 2, 100]))])


def other_operator(model, rng):
    node, other = some_node(model, rng), some_node(model, rng)
    if node and other:
        node.op_type, node.domain = other.op_type, other.domain
        if rng.random() < 0.5:
            del node.attribute[:]
            node.attribute.extend(copy.deepcopy(list(other.attribute)))


def change_attribute(model, rng):
    nodes = [n for g in graphs_of(model.graph) for n in g.node if n.attribute]
    if not nodes:
        return
    attribute = rng.choice(rng.choice(nodes).attribute)
    if attribute.ints and rng.random() < 0.8:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(INTS)
        if rng.random() < 0.2:
            attribute.ints.extend(rng.choice(INTS) for _ in range(rng.choice([1, 3, 1000])))
    elif attribute.type == AttributeProto.INT:
        attribute.i = rng.choice(INTS)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice(TEXTS).encode() if rng.random() < 0.8 else bytes(rng.randrange(256) for _ in range(20))
    elif attribute.type == AttributeProto.TENSOR:
        change_tensor(attribute.t, rng)
    else:
        attribute.type = rng.randrange(16)


def change_tensor(tensor, rng):
    what = rng.randrange(5)
    if what == 0 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTS)
    elif what == 1:
        tensor.dims.extend([rng.choice(INTS) for _ in range(rng.choice([1, 2, 20]))])
    elif what == 2:
        tensor.data_type = rng.randrange(26)
    elif what == 3 and tensor.data_type in (TensorProto.INT64, TensorProto.INT32) and tensor.raw_data:
        size = 8 if tensor.data_type == TensorProto.INT64 else 4  # a shape, an axis, a size
        data, at = bytearray(tensor.raw_data), rng.randrange(max(1, len(tensor.raw_data) // size)) * size
        data[at:at + size] = (rng.choice(INTS) % (1 << (8 * size))).to_bytes(size, "little")
        tensor.raw_data = bytes(data)
    else:
        tensor.raw_data = tensor.raw_data[:rng.randrange(len(tensor.raw_data) + 1)]


def change_weight(model, rng):
    tensors = [t for g in graphs_of(model.graph) for t in g.initializer]
    if tensors:
        change_tensor(rng.choice(tensors), rng)


def change_type(model, rng):
    values = [v for g in graphs_of(model.graph) for v in [*g.input, *g.output, *g.value_info]]
    if not values:
        return
    value = rng.choice(values)
    dims = value.type.tensor_type.shape.dim
    if dims and rng.random() < 0.7:
        dim = rng.choice(dims)
        if rng.random() < 0.8:
            dim.dim_value = rng.choice(INTS)
        else:
            dim.dim_param = rng.choice(TEXTS)
    elif rng.random() < 0.5:
        dims.add().dim_value = rng.choice(INTS)
    else:
        value.type.tensor_type.elem_type = rng.randrange(26)


def move_nodes(model, rng):
    nodes = some_graph(model, rng).node
    if not nodes:
        return
    what = rng.randrange(3)
    if what == 0:
        del nodes[rng.randrange(len(nodes))]
    elif what == 1:
        nodes.extend([copy.deepcopy(rng.choice(nodes)) for _ in range(rng.choice([1, 5, 200]))])
    else:
        a, b = rng.randrange(len(nodes)), rng.randrange(len(nodes))
        kept = copy.deepcopy(nodes[a])
        nodes[a].CopyFrom(nodes[b])
        nodes[b].CopyFrom(kept)


def rename(model, rng):
    """One name, everywhere: the network stays whole."""
    graph, old, new = model.graph, some_name(model.graph, rng), rng.choice(TEXTS)
    for one in graphs_of(graph):
        for node in one.node:
            for side in (node.input, node.output):
                for k, name in enumerate(side):
                    if name == old:
                        side[k] = new
        for value in [*one.input, *one.output, *one.initializer]:
            if value.name == old:
                value.name = new


def nest(model, rng):
    """A network inside itself."""
    node = some_node(model, rng)
    if node and model.ByteSize() < 1 << 18:
        attribute = node.attribute.add()
        attribute.name, attribute.type = rng.choice(["body", "then_branch", "else_branch"]), AttributeProto.GRAPH
        attribute.g.CopyFrom(copy.deepcopy(model.graph))


def change_opset(model, rng):
    if model.opset_import:
        rng.choice(model.opset_import).version = rng.choice([*range(0, 26), -1, 1 << 40])
    model.ir_version = rng.choice([model.ir_version, model.ir_version, *range(14)])


def call_itself(model, rng):
    if model.functions:
        function = rng.choice(model.functions)
        node = rng.choice(function.node)
        node.op_type, node.domain = rng.choice(model.functions).name, function.domain


BY_BYTES = [flip_bits, set_bytes, cut, remove, repeat, splice]
BY_MEANING = [rewire, more_operands, other_operator, change_attribute, change_attribute, change_weight, change_weight, change_type, change_type,
              move_nodes, rename, nest, change_opset, call_itself]


def mutate(data, others, rng):
    if rng.random() < 0.35:
        how = rng.choice(BY_BYTES)
        return how(data, others, rng), how.__name__
    done = []
    model = onnx.ModelProto()
    model.ParseFromString(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        how = rng.choice(BY_MEANING)
        try:
            how(model, rng)
            done.append(how.__name__)
        except (ValueError, IndexError, TypeError, DecodeError):  # protobuf refuses what it cannot write
            pass
    return model.SerializeToString(), " ".join(done) or "nothing"
