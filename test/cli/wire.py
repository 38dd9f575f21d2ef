"""ONNX files byte by byte: what the onnx package would not write. Names may be bytes."""


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(name, dims, elem=1):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, elem) + field(2, shape)))


def node(op, ins, outs, *attributes):
    return b"".join(field(1, i) for i in ins) + b"".join(field(2, o) for o in outs) + field(4, op) + b"".join(
        field(5, a) for a in attributes)


def model(nodes, inputs, outputs, tensors=(), opset=13):
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in tensors)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


def external(location, dims=(4,)):
    entry = field(1, "location") + field(2, location)
    return b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, "w") + field(13, entry) + field(14, 1)


def ints(name, *values):
    return field(1, name) + b"".join(field(8, v & (1 << 64) - 1) for v in values) + field(20, 7)
