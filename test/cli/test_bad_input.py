"""Damaged and odd files given to the program: exit status 1, one message, little time (limits.py) and
at most 200 MB each, nothing written.

SEER_TEST: timeout=300
"""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
import limits  # noqa: E402
from wire import external, field, ints, model, node, value

SOURCE = os.environ.get("SEER_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))


def odd_files():
    x, y = value("x", [1, 4]), value("y", [1, 4])
    relu = node("Relu", ["x"], ["y"])
    yield "empty", b""
    yield "text", b"this is not a model\n" * 10
    yield "elf", b"\x7fELF" + bytes(100)
    yield "zeros", bytes(1000)
    yield "ones", b"\xff" * 1000
    yield "no nodes", model([], [x], [y])
    yield "no inputs", model([relu], [], [y])
    yield "no outputs", model([relu], [x], [])
    yield "cycle", model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])], [x], [y])
    yield "opset 3", model([relu], [x], [y], opset=3)
    yield "opset 99", model([relu], [x], [y], opset=99)
    yield "unknown operator", model([node("Foo", ["x"], ["y"])], [x], [y])
    yield "huge input", model([relu], [value("x", [1 << 40, 1 << 40])], [y])
    yield "huge weight", model([node("Add", ["x", "w"], ["y"])], [x], [y], [field(1, 1 << 60) + field(2, 1) + field(8, "w")])
    huge = field(1, 2) + field(2, 7) + field(8, "s") + field(9, (1 << 31).to_bytes(8, "little") * 2)
    yield "huge fill", model([node("ConstantOfShape", ["s"], ["w"]), node("Add", ["x", "w"], ["y"])], [x], [y], [huge])
    yield "huge expand", model([node("Expand", ["x", "s"], ["z"]), node("Relu", ["z"], ["y"])], [x], [y], [huge])
    yield "huge pad", model([node("Pad", ["x", "p"], ["y"])], [x], [y],
                            [field(1, 4) + field(2, 7) + field(8, "p") + field(9, b"\x7f" * 32)])
    yield "odd window", model([node("MaxPool", ["x"], ["y"], ints("kernel_shape", -1, 1 << 62))], [value("x", [1, 1, 4, 4])], [y])
    yield "string input", model([relu], [value("x", [4], 8)], [y])
    for place in "../w", "/etc/passwd", "a/../../w", "..", ".", "", "missing":
        yield f"external {place}", model([node("Add", ["x", "w"], ["y"])], [x], [y], [external(place)])
    deep = b""
    for _ in range(3000):
        deep = field(5, field(1, "g") + field(6, field(1, deep)) + field(20, 5))
    yield "deep", field(8, field(2, 13)) + field(7, field(1, deep))
    call = node("F", ["x"], ["y"]) + field(7, "d")
    twice = [node("F", ["a"], ["b"]) + field(7, "d"), node("F", ["b"], ["z"]) + field(7, "d")]
    function = field(1, "F") + field(4, "a") + field(5, "z") + b"".join(field(7, n) for n in twice) + field(10, "d")
    yield "function that calls itself twice", model([call], [x], [y]) + field(25, function)


def truncated(rng):
    for name in sorted(os.listdir(os.path.join(SOURCE, "test", "fuzz", "corpus", "onnx"))):
        with open(os.path.join(SOURCE, "test", "fuzz", "corpus", "onnx", name), "rb") as file:
            whole = file.read()
        for at in sorted(rng.sample(range(len(whole)), 8)):
            yield f"{name} cut at {at}", whole[:at]


def main():
    limits.no_core_files()
    tally, sanitized = limits.Tally("bad files"), limits.is_sanitized()
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "bad.onnx"), os.path.join(folder, "out")
        for name, content in [*odd_files(), *truncated(random.Random(1))]:
            with open(path, "wb") as file:
                file.write(content)
            done = limits.run([limits.FAMILYSEER, "compile", path, "-o", out])
            wrong = limits.faults(done, len(content), sanitized, readings=2, megabytes=200)
            if done.status != 1:
                wrong.append(f"exit status {done.status}")
            if done.stdout:
                wrong.append("something on stdout")
            if sorted(os.listdir(folder)) != ["bad.onnx"]:
                wrong.append(f"left {os.listdir(folder)}")
            tally.add(name, done, wrong, len(content))
    return 0 if tally.close() and tally.n >= 200 else 1


sys.exit(main())
