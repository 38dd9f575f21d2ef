#!/usr/bin/env python3
"""An estimate by waves of printed product kernels, from a device's measured constants (facts.cu), against measured times.

    bench/gpu/estimate.py TABLE FACTS     Spearman's rank correlation and errors, by shape, as parts are added

plain: for each wave the larger of issue, shared memory, L2 and DRAM, and launches. Then what the plain one leaves out, one after
another: `slots` (a block with few warps has few of the four schedulers), `latency` (a step's loads and barriers, as far as other
blocks and buffers do not hide them), `cold` (weights come from DRAM, not L2), `loops` (each turn of a loop that is not written out
waits for its reads of shared memory), `ends` (the first fetch and the last stores).
Nothing is fitted: all constants are the device's.
"""
import argparse
import collections
import json
import math
import statistics

from kernels import Product, ceil_div
from shapes import SHAPES, read_table

PARTS = ("slots", "latency", "cold", "loops", "ends")


def requests(words, width):
    """Cycles of the pipe for a warp's load of `width` words from the word each lane gives: words of one bank come one after another."""
    banks = collections.defaultdict(set)
    for word in words:
        for i in range(width):
            banks[(word + i) % 32].add(word + i)
    return max(max(len(found) for found in banks.values()), 2 if width == 4 else 1)


def contiguous(product, which):
    """Words that one load of an item's operand takes at each depth: what follows one another and begins at a multiple of itself."""
    knobs = product.knobs
    if which == "a" and knobs["a_order"] == "mk":
        length, pitch = knobs["k"][1], product.pitch_a  # along the depth, that is written out
    else:
        factors, pitch = (knobs["m"], product.pitch_a) if which == "a" else (knobs["n"], product.pitch_b)
        length = factors[2] * factors[3]
    return max(v for v in (1, 2, 4) if length % v == 0 and pitch % v == 0)


def tile_reads(product):
    """(instructions, cycles of shared memory) of one warp, for one depth of a step."""
    knobs, m, n = product.knobs, product.knobs["m"], product.knobs["n"]
    instructions = cycles = 0
    rows = [((item // n[1]) % m[1]) * m[2] * m[3] for item in range(32)]
    columns = [item % n[1] * n[2] * n[3] for item in range(32)]
    wide = contiguous(product, "a")
    if knobs["a_order"] == "mk":
        each = requests([row * product.pitch_a for row in rows], wide)
        instructions, cycles = product.own_m / wide, product.own_m * each / wide
    else:
        each = requests(rows, wide)
        instructions, cycles = product.own_m / wide, product.own_m * each / wide
    wide = contiguous(product, "b")
    return instructions + product.own_n / wide, cycles + product.own_n * requests(columns, wide) / wide


def fetch_writes(product):
    """(instructions, cycles of shared memory) of the block for a step's fetches."""
    instructions = cycles = 0
    for name, _, total, vec in product.fetches():
        trips = ceil_div(total, product.items) * ceil_div(product.items, 32)
        if name == "b" or product.knobs["a_order"] == "mk":
            across, pitch = (product.tile_n, product.pitch_b) if name == "b" else (product.depth, product.pitch_a)
            words = [item * vec // across * pitch + item * vec % across for item in range(32)]
            instructions, cycles = instructions + 2 * trips, cycles + trips * max(requests(words, vec), vec)
        else:  # each of its words to a line of its own
            per_line = product.depth // vec
            groups = product.swizzle_groups() if product.knobs["swizzle"] else 1
            words = [item % per_line * vec * product.pitch_a + (item // per_line ^ item % per_line % groups * 4) for item in range(32)]
            instructions, cycles = instructions + (1 + vec) * trips, cycles + trips * vec * requests(words, 1)
    return instructions, cycles


class Device:
    def __init__(self, facts):
        self.processors = facts["processors"]
        self.mhz = facts["clock_mhz_under_load"]
        self.l2_bytes_cycle = facts["l2_read_gb_s"]["8"] * 1e3 / self.mhz / self.processors  # of one multiprocessor
        self.dram_bytes_cycle = facts["dram_read_gb_s"] * 1e3 / self.mhz  # of all
        self.latency = facts["latency_cycles"]
        self.barriers = {int(items): cycles for items, cycles in facts["barrier_cycles"].items()}
        self.launch_us = facts["launch_us"]["node_that_reads_and_writes"]

    def barrier(self, items):
        return self.barriers[min(size for size in self.barriers if size >= items)]


def turns(product):
    """Of the loop over R1, that are not written out."""
    knobs = product.knobs
    r1 = knobs["k"][0] // product.parts
    copies = product.own_m * product.own_n * knobs["k"][1]
    return ceil_div(r1, max(1, min(r1, knobs["unroll"] // copies)))


def block_step(product, device, blocks, parts):
    """(throughput cycles of one block's step on its multiprocessor with `blocks` of them there, cycles that are exposed)."""
    warps = ceil_div(product.items, 32)
    reads, read_cycles = tile_reads(product)
    writes, write_cycles = fetch_writes(product)
    own_depth = product.depth / product.parts
    fma = warps * product.own_m * product.own_n * own_depth
    slots = min(4, warps * blocks) if "slots" in parts else 4
    issue = (fma + warps * reads * own_depth + 2 * writes) / slots
    shared = warps * read_cycles * own_depth + write_cycles
    moved = 4 * product.depth * (product.tile_m + product.tile_n) / device.l2_bytes_cycle
    busy = max(issue, shared, moved)
    if "latency" not in parts:
        return busy, 0
    far = device.latency["dram" if "cold" in parts else "l2"]
    fixed = device.barrier(product.items) + device.latency["shared"] * (turns(product) if "loops" in parts else 1)
    ahead = {"one": 0, "regs": 1}.get(product.knobs["buffers"], product.stages - 1)
    if ahead == 0:
        return busy, fixed + device.barrier(product.items) + far
    return busy, fixed + max(0, far / ahead - busy - fixed)


def estimate_us(shape, knobs, resident, device, parts):
    product = Product(shape, knobs)
    blocks = product.blocks_m * product.blocks_n * product.split
    at_once = max(1, resident) * device.processors
    cycles, left = 0, blocks
    dram = 4 * shape["n"] * shape["k"] / device.dram_bytes_cycle
    while left > 0:
        wave = min(left, at_once)
        a_processor = ceil_div(wave, device.processors)
        busy, exposed = block_step(product, device, a_processor, parts)
        step = max(a_processor * busy, busy + exposed)
        cycles += max(product.split_steps * step, dram * wave / blocks)
        left -= wave
    ends = device.latency["dram"] + device.latency["l2"] if "ends" in parts else 0
    us = (cycles + ends) / device.mhz + device.launch_us
    if knobs["split"] > 1:
        moved = 4 * (knobs["split"] + 1) * shape["m"] * shape["n"] / device.l2_bytes_cycle / device.processors
        us += (moved + ends) / device.mhz + device.launch_us
    return us


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0] * len(values)
    for rank, i in enumerate(order):
        found[i] = rank
    return found


def spearman(x, y):
    x, y = ranks(x), ranks(y)
    return statistics.correlation(x, y)


def report(name, lines, device, parts):
    """Prints one line, and returns its (rank correlation, ln of estimate over time of each schedule)."""
    guesses = [estimate_us(SHAPES[line["shape"]], line["knobs"], line["resident"], device, parts) for line in lines]
    times = [line["us"] for line in lines]
    logs = [math.log(guess / us) for guess, us in zip(guesses, times)]
    rank, first, best = spearman(guesses, times), sorted(range(len(lines)), key=guesses.__getitem__), min(times)
    print(f"{name:16} n {len(lines):4} rank {rank:.3f} error {error(logs):.3f} estimate over time {math.exp(statistics.median(logs)):.2f} "
          f"best of the first: {times[first[0]] / best:.2f}, of 10: {min(times[i] for i in first[:10]) / best:.2f}")
    return rank, logs


def error(logs):
    return math.exp(statistics.median(map(abs, logs))) - 1


def study(lines, device, phase="drawn"):
    """Prints the report of each set of parts; the medians over shapes of the rank correlation with each."""
    by_shape, found = collections.defaultdict(list), []
    for line in lines:
        if "us" in line and line.get("phase") == phase and SHAPES[line["shape"]]["kind"] == "product":
            by_shape[line["shape"]].append(line)
    for count in range(len(PARTS) + 1):
        print("plain" + "".join(f" + {part}" for part in PARTS[:count]))
        reports = [report(name, of_shape, device, PARTS[:count]) for name, of_shape in by_shape.items()]
        logs = [value for _, of_shape in reports for value in of_shape]
        factor = statistics.median(logs)
        found.append(statistics.median(rank for rank, _ in reports))
        print(f"  median rank {found[-1]:.3f}, error {error(logs):.3f}; estimates times {math.exp(-factor):.2f}: "
              f"error {error([value - factor for value in logs]):.3f}\n")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("facts")
    parser.add_argument("--phase", default="drawn", help="lines of this phase")
    options = parser.parse_args()
    with open(options.facts, encoding="utf-8") as file:
        study(read_table(options.table), Device(json.load(file)), options.phase)


if __name__ == "__main__":
    main()
