"""CUDA kernels as bench/gpu prints them, compiled as C++ and run on this processor against numpy; planted faults are seen. The estimate
by waves ranks the times that an H200 took, and each of its parts adds to that."""
import json
import os
import shutil
import sys
import tempfile

from peer import run_tests

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/gpu"))
import estimate  # noqa: E402
import on_cpu  # noqa: E402
from kernels import print_kernel  # noqa: E402
from shapes import conv, draw, product, read_table  # noqa: E402

SHAPE = product("small", 30, 48, 40)
KNOBS = {"m": [1, 8, 1, 2], "n": [2, 4, 1, 4], "k": [4, 2], "a_order": "km", "vec_a": 2, "vec_b": 4, "pad_a": 4, "pad_b": 0,
         "swizzle": 0, "buffers": "one", "split": 1, "parts": 1, "unroll": 16, "order": "m", "packed": 1, "wide": 0, "early": 0}
# What is planted: knobs that differ from KNOBS, a line of the kernel, what stands in its place.
FAULTS = {"a barrier left out": ({}, "BARRIER();\n    const float *a_tile", "const float *a_tile"),
          "a wait left out": ({"buffers": "async3"}, "COPY_WAIT(1);", "COPY_WAIT(2);"),
          "a fetch one short": ({}, "flat = trip * 32 + ITEM;", "flat = trip * 31 + ITEM;"),
          "a guard left out": ({}, "w >= 0 && w < 7", "true"),  # of the convolution
          "a stale buffer": ({"buffers": "regs"}, "from = at % 2", "from = 0"),
          "a wrong coefficient": ({}, "m2) * 2 + m3", "m2) * 3 + m3"),
          "parts not summed": ({"parts": 2, "n": [2, 8, 1, 2]}, "sum[i][j] += handed", "sum[i][j] = handed"),
          "half of a split": ({"split": 2}, "begin_step = part * 3", "begin_step = part * 2")}


def drawn_schedules():
    for shape in on_cpu.SMALL:
        bad = on_cpu.wrong(shape, draw(shape, 4, 7))
        assert not bad, f"{shape['name']}: {bad}"


def faults_are_seen():
    cases, kernels = [], []
    for i, (name, (changed, line, other)) in enumerate(FAULTS.items()):
        shape = conv("small", 7, 8, 24, 3) if name == "a guard left out" else SHAPE
        knobs = {**KNOBS, **changed}
        right, wrong = (print_kernel(shape, knobs, f"{kind}_{i}") for kind in ("right", "wrong"))
        assert line in wrong["text"], wrong["text"]
        wrong["text"] = wrong["text"].replace(line, other, 1)
        cases.append((name, shape, knobs, right, wrong))
        kernels += [right, wrong]
    with tempfile.TemporaryDirectory() as folder:
        library = on_cpu.build(kernels, folder)
        for name, shape, knobs, right, wrong in cases:
            assert on_cpu.is_right(library, shape, knobs, right, 1), name
            assert not on_cpu.is_right(library, shape, knobs, wrong, 1), f"{name}: not seen"


def estimate_ranks_a_table():
    folder = os.path.dirname(estimate.__file__)
    with open(os.path.join(folder, "facts-h200.json"), encoding="utf-8") as file:
        device = estimate.Device(json.load(file))
    ranks = estimate.study(read_table(os.path.join(folder, "products-h200.jsonl.gz")), device)
    assert ranks[0] < ranks[1] < ranks[2] < ranks[3] and ranks[3] > 0.9, ranks


if not shutil.which("g++"):
    sys.exit(77)
run_tests([("drawn schedules", drawn_schedules), ("planted faults", faults_are_seen), ("estimate", estimate_ranks_a_table)])
