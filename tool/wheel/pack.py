#!/usr/bin/env python3
"""Writes the wheel: the Python module with libfamilyseer.so, the program, its linker (the program under another name) and
what goes into libraries beside it, a script that starts the program, and the licences of all that is inside. The same
files give the same bytes.   tool/wheel/pack.py BUILD XGBOOST_LICENCE OUT"""
import base64
import hashlib
import os
import re
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TAG = "py3-none-manylinux_2_28_x86_64"

# What is linked into which files, and where Debian says under which terms.
PARTS = [
    ("LLVM", "libfamilyseer.so", "Apache-2.0 WITH LLVM-exception", "llvm-19-dev"),
    ("LLD", "libfamilyseer.so", "Apache-2.0 WITH LLVM-exception", "liblld-19-dev"),
    ("libstdc++ and libgcc", "libfamilyseer.so, familyseer-runner", "GPL-3.0-or-later WITH GCC-exception-3.1", "gcc-12-base"),
    ("SQLite", "libfamilyseer.so", "public domain", "libsqlite3-dev"),
    ("jansson", "libfamilyseer.so", "MIT", "libjansson-dev"),
    ("hiredis", "libfamilyseer.so", "BSD-3-Clause", "libhiredis-dev"),
    ("protobuf-c", "libfamilyseer.so", "BSD-2-Clause", "libprotobuf-c-dev"),
    ("ONNX (its messages)", "libfamilyseer.so", "Apache-2.0", "libonnx-dev"),
    ("xxHash", "libfamilyseer.so, libseer_rt.a, familyseer-runner", "BSD-2-Clause", "libxxhash-dev"),
    ("zstd", "libfamilyseer.so", "BSD-3-Clause", "libzstd-dev"),
    ("zlib", "libfamilyseer.so", "Zlib", "zlib1g-dev"),
    ("glibc", "familyseer-runner", "LGPL-2.1-or-later", "libc6-dev"),
]

SCRIPT = """#!python
import importlib.util
import os
import sys

program = os.path.join(os.path.dirname(importlib.util.find_spec("familyseer").origin), "familyseer")
os.execv(program, [program, *sys.argv[1:]])
"""

# How torch.compile(..., backend="familyseer") finds it.
ENTRY_POINTS = "[torch_dynamo_backends]\nfamilyseer = familyseer.torch:backend\n"


def read(path):
    with open(path, "rb") as f:
        return f.read()


def metadata(version):
    readme = read(os.path.join(ROOT, "README.md")).decode()
    return f"""Metadata-Version: 2.1
Name: familyseer
Version: {version}
Summary: Finds fast code for a trained network (ONNX) by measuring on your machine, and compiles it to one library
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: torch
Requires-Dist: torch>=2.6; extra == "torch"
Requires-Dist: onnx; extra == "torch"
Requires-Dist: onnxscript; extra == "torch"
Classifier: Programming Language :: Python :: 3
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{readme}"""


def notices(licence_of_xgboost):
    """{name: bytes}: one list, and the terms in full."""
    rows = [("XGBoost (with dmlc-core and rabit)", "libfamilyseer.so", "Apache-2.0", "XGBoost")]
    texts = {"XGBoost": read(licence_of_xgboost)}
    for name, where, terms, package in PARTS:
        rows.append((name, where, terms, package))
        texts[package] = read(f"/usr/share/doc/{package}/copyright")
    lines = ["familyseer is licensed under the Apache License 2.0 (LICENSE). Files of this wheel have other works inside;",
             "the terms of each stand in full in the file that is named last.", ""]
    lines += [f"- {name}, in {where}: {terms}; {file}.txt" for name, where, terms, file in rows]
    lines += ["", "familyseer-runner is linked with glibc statically; the sources of familyseer make it anew with another.", ""]
    return {"NOTICE": "\n".join(lines).encode(), **{name + ".txt": text for name, text in texts.items()}}


def contents(build, licence_of_xgboost, version):
    """[(name in the wheel, bytes, whether it is a program)]"""
    package, info = "familyseer", f"familyseer-{version}.dist-info"
    program = read(os.path.join(build, "wheel", "familyseer"))
    yield f"{package}/libfamilyseer.so", read(os.path.join(build, "wheel", "libfamilyseer.so")), True
    yield f"{package}/familyseer", program, True
    yield f"{package}/ld.lld", program, True
    yield f"{package}/familyseer-runner", read(os.path.join(build, "familyseer-runner")), True
    for folder, into in ((build, package), (os.path.join(build, "aarch64"), f"{package}/aarch64")):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if re.fullmatch(r"libseer_rt(_device)?\.a|libseer_stub_\w+\.so", name):
                yield f"{into}/{name}", read(os.path.join(folder, name)), False
    for name in ("familyseer.h", "familyseer.hpp", "operator.h", "runtime.h"):
        yield f"{package}/include/seer/{name}", read(os.path.join(ROOT, "include", "seer", name)), False
    yield f"{package}/_runtime.py", read(os.path.join(ROOT, "python", "familyseer.py")), False
    modules = os.path.join(ROOT, "python", "package")
    for where, folders, names in os.walk(modules):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(n for n in names if n.endswith(".py")):
            path = os.path.join(where, name)
            yield f"{package}/{os.path.relpath(path, modules)}", read(path), False
    yield f"{package}/py.typed", b"", False
    yield f"familyseer-{version}.data/scripts/familyseer", SCRIPT.encode(), True
    yield f"{info}/licenses/LICENSE", read(os.path.join(ROOT, "LICENSE")), False
    for name, text in notices(licence_of_xgboost).items():
        yield f"{info}/licenses/{name}", text, False
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode(), False
    yield f"{info}/METADATA", metadata(version).encode(), False
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: familyseer\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode(), False


def main(build, licence_of_xgboost, out):
    version = re.search(r"project\(familyseer VERSION ([0-9.]+)", read(os.path.join(ROOT, "CMakeLists.txt")).decode())[1]
    path = os.path.join(out, f"familyseer-{version}-{TAG}.whl")
    record = f"familyseer-{version}.dist-info/RECORD"
    lines = []

    def add(wheel, name, data, is_program):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if is_program else 0o100644) << 16
        wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)

    with zipfile.ZipFile(path + ".part", "w") as wheel:
        for name, data, is_program in contents(build, licence_of_xgboost, version):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
            add(wheel, name, data, is_program)
        add(wheel, record, "".join(lines + [f"{record},,\n"]).encode(), False)
    os.replace(path + ".part", path)
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
