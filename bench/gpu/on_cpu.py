#!/usr/bin/env python3
"""Runs printed kernels on this processor (block.h in place of CUDA's prelude) against numpy in f64, on small shapes.

    bench/gpu/on_cpu.py [--count 12] [--seed 1]      a line for each shape; status 1 if an answer is wrong

No GPU, no CUDA: index faults, guards, barriers, waits and the packing of weights are judged before a device is asked.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np

from kernels import Product, print_kernel
from reference import answer, inputs, pack
from shapes import conv, draw, label, product

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = (product("small", 28, 48, 40), product("odd", 29, 45, 37), product("row", 1, 96, 64),
         conv("conv_3x3", 7, 8, 24, 3), conv("conv_strided", 8, 12, 16, 3, 2), conv("conv_three", 6, 3, 32, 3),
         {"kind": "depthwise", "name": "depthwise", "c": 40, "h": 9, "w": 9, "oh": 9, "ow": 9, "kh": 3, "kw": 3, "stride": 1,
          "pad": 1},
         {"kind": "softmax", "name": "softmax", "rows": 13, "columns": 128})


def build(kernels, folder):
    """A library of the kernels."""
    source, library = os.path.join(folder, "kernels.cc"), os.path.join(folder, "kernels.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(f'#include "{HERE}/block.h"\n')
        for kernel in kernels:
            # Each in a namespace: they declare the type of their indices.
            file.write(f"namespace {kernel['name']}_space {{\n{kernel['text']}}}\n")
    subprocess.run(["g++", "-std=c++17", "-O0", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(library)


def run(library, kernel, a, b, c, seed):
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, c)]
    library.run_grid.restype = ctypes.c_bool
    return library.run_grid(ctypes.cast(getattr(library, kernel["name"]), ctypes.c_void_p), kernel["grid"], kernel["block"],
                            kernel["shared"], *pointers, seed)


def is_right(library, shape, knobs, kernel, seed):
    a, b = inputs(shape, np.random.default_rng(seed))
    expected = answer(shape, a, b)
    c = np.full(expected.size, np.nan, np.float32)
    if shape["kind"] == "product":
        b = np.ascontiguousarray(pack(Product(shape, knobs), b))
    target = c
    if kernel["second"]:
        target = np.full(knobs["split"] * c.size, np.nan, np.float32)
    ok = run(library, kernel, a, b, target, seed)
    if kernel["second"]:
        ok = run(library, kernel["second"], target, b, c, seed) and ok
    error = np.max(np.abs(c - expected.ravel())) / np.max(np.abs(expected))
    return ok and error < 1e-5


def wrong(shape, schedules):
    """Those whose answers are; some are run with indices of 64 bits, some with weights that are not packed."""
    for i, knobs in enumerate(schedules):
        knobs["wide"] = int(i % 4 == 3)
        if shape["kind"] == "product" and i % 3 == 2 and shape["n"] % knobs["vec_b"] == 0:
            knobs["packed"] = 0
    kernels = [print_kernel(shape, knobs, f"kernel_{i}") for i, knobs in enumerate(schedules)]
    with tempfile.TemporaryDirectory() as folder:
        library = build(kernels, folder)
        return [label(knobs) for i, (knobs, kernel) in enumerate(zip(schedules, kernels))
                if not is_right(library, shape, knobs, kernel, i + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12, help="schedules of each shape")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    any_wrong = False
    for shape in SMALL:
        schedules = draw(shape, options.count, options.seed)
        bad = wrong(shape, schedules)
        print(f"{shape['name']}: {len(schedules) - len(bad)} of {len(schedules)} right")
        for knobs in bad:
            print(f"  wrong: {knobs}")
        any_wrong = any_wrong or bool(bad)
    return int(any_wrong)


if __name__ == "__main__":
    sys.exit(main())
