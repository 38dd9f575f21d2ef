#!/usr/bin/env python3
"""Products on tensor cores, drawn, checked and timed on a CUDA device beside cuBLAS and cuBLASLt: what mma.sync and wgmma reach.

    bench/gpu/tensors.py --out tensors.jsonl [--types f16,bf16,tf32] [--draws 120] [--rounds 2] [--workers 12]

One JSON line each, as products.py's: shape, type, knobs, registers, spills, us; peers with `peer` in place of knobs. f16 and bf16
give C in their type, tf32 in f32. For each shape and type: draws, half of them wgmma's where the device has it, then rounds of 30
changes of one knob of the best of each unit.
"""
import argparse
import multiprocessing
import random
import sys

import matrices
from device import Device, compile_text
from products import Table

SHAPES = {f"{m}x{n}x{k}": {"name": f"{m}x{n}x{k}", "m": m, "n": n, "k": k} for m, n, k in (
    (128, 1024, 1024), (128, 4096, 1024), (128, 1024, 4096), (512, 1024, 1024), (512, 4096, 1024), (512, 1024, 4096),
    (4096, 4096, 4096))}
LEVELS = {"tile_m": (16, 32, 64, 128, 256), "tile_n": (32, 64, 128, 256), "warps_m": (1, 2, 4), "warps_n": (1, 2, 4), "row": (64, 128),
          "stages": (2, 3, 4, 5, 6), "split": (1, 1, 2, 4, 8, 16), "copy": ("async", "bulk", "tensor", "tensor"), "order": ("m", "n"),
          "early": (0, 1)}
KEPT = ("row", "stages", "split", "copy", "order", "early")
TOLERANCE = {"f16": 2e-3, "bf16": 1e-2, "tf32": 4e-3}  # of the largest: C's rounding, or that of tf32's inputs


def assembled(unit, kind, values):
    knobs = {"unit": unit, "type": kind, "tile": [values["tile_m"], values["tile_n"]], "warps": [values["warps_m"], values["warps_n"]],
             **{name: values[name] for name in KEPT}}
    if unit == "wgmma":
        knobs["warps"], knobs["row"] = [max(1, knobs["tile"][0] // 64), 1], 128
    else:
        knobs["copy"] = "async"
    return knobs


def taken_apart(knobs):
    return {**{name: knobs[name] for name in KEPT}, "tile_m": knobs["tile"][0],
            "tile_n": knobs["tile"][1], "warps_m": knobs["warps"][0], "warps_n": knobs["warps"][1]}


def label(knobs):
    return str(sorted(knobs.items()))


def draw(shape, unit, kind, count, rng):
    found = {}
    for _ in range(20000):
        knobs = assembled(unit, kind, {name: rng.choice(values) for name, values in LEVELS.items()})
        if len(found) < count and not matrices.refused(shape, knobs):
            found[label(knobs)] = knobs
    return list(found.values())


def mutated(shape, knobs, rng):
    for _ in range(200):
        values = taken_apart(knobs)
        for name in rng.sample(sorted(LEVELS), rng.choice((1, 2))):
            values[name] = rng.choice(LEVELS[name])
        changed = assembled(knobs["unit"], knobs["type"], values)
        if changed != knobs and not matrices.refused(shape, changed):
            return changed
    return knobs


def build(job):
    shape, knobs, architecture = job
    kernel = matrices.print_kernel(shape, knobs)
    try:
        cubin, facts = compile_text(kernel.pop("text"), architecture + ("a" if knobs["unit"] == "wgmma" else ""))
        return kernel, cubin, facts
    except RuntimeError as error:
        return str(error)


class Bench:
    def __init__(self, device, shape, kind):
        self.device, self.shape, self.kind, self.torch, self.best = device, shape, kind, device.torch, 1e9
        self.dtype = {"f16": self.torch.float16, "bf16": self.torch.bfloat16, "tf32": self.torch.float32}[kind]
        self.count = 4 if shape["m"] >= 4096 else 24

    def inputs(self):
        s = self.shape
        return [self.torch.randn(rows, s["k"], device="cuda").to(self.dtype) for rows in (s["m"], s["n"])]

    def measure(self, knobs, built):
        if isinstance(built, str):
            return {"error": built[:300]}
        kernel, cubin, facts = built
        torch, device, shape = self.torch, self.device, self.shape
        module = device.load(cubin)
        function, resident = device.function(module, kernel)
        line = {"registers": facts["seer_kernel"]["registers"], "spills": facts["seer_kernel"]["spills"], "shared": kernel["shared"],
                "items": kernel["block"], "blocks": kernel["grid"], "resident": resident, "compile_ms": round(facts["ms"], 1)}
        a, b = self.inputs()
        expected = a.double() @ b.double().T
        packed = matrices.pack(shape, knobs, b).reshape(-1).expand(self.count, -1).contiguous()
        c = torch.full(expected.shape, float("nan"), device="cuda", dtype=self.dtype)
        second, parts = kernel["second"], c
        if second:
            parts = torch.full((knobs["split"] * c.numel(),), float("nan"), device="cuda")
            second_function = device.function(module, second)[0]

        more = [device.tensor_map(a, *kernel["map"])] if kernel["map"] else []

        def enqueue(i):
            device.launch(function, kernel, a, packed[i], parts, *more)
            if second:
                device.launch(second_function, second, parts, parts, c)
        enqueue(0)
        error = float((c - expected).abs().max() / expected.abs().max())
        if not error < TOLERANCE[self.kind]:
            return {**line, "error": f"wrong by {error:.2g}"}
        times = device.time_us(enqueue, self.count, [a], stop_us=4 * self.best)
        self.best = min(self.best, times["us"])
        device.unload(module)
        return {**line, **{name: round(value, 3) for name, value in times.items()}}

    def peers(self):
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = self.kind == "tf32"
        a, b = self.inputs()
        turned = b.expand(self.count, -1, -1).contiguous()
        straight = turned.transpose(1, 2).contiguous()
        out = torch.empty(self.shape["m"], self.shape["n"], device="cuda", dtype=self.dtype)
        for library in ("cublas", "cublaslt"):
            torch.backends.cuda.preferred_blas_library(library)
            for name, weights in (("", [w for w in straight]), (" transposed", [w.T for w in turned])):
                times = self.device.time_us(lambda i, weights=weights: torch.mm(a, weights[i], out=out), self.count, [a])
                yield library + name, {key: round(value, 3) for key, value in times.items()}
        torch.backends.cuda.matmul.allow_tf32 = False


def run(pool, bench, table, jobs):
    known = {label(line["knobs"]) for line in table.lines if line["shape"] == bench.shape["name"] and "knobs" in line}
    jobs = [knobs for i, knobs in enumerate(jobs) if label(knobs) not in known and label(knobs) not in map(label, jobs[:i])]
    built = pool.imap(build, [(bench.shape, knobs, bench.device.architecture) for knobs in jobs], chunksize=2)
    for knobs, result in zip(jobs, built):
        head = {"shape": bench.shape["name"], "type": bench.kind, "knobs": knobs}
        try:
            line = bench.measure(knobs, result)
        except RuntimeError as error:  # the context may be lost: another process goes on behind this line
            table.add({**head, "error": str(error)[:300]})
            print(f"{bench.shape['name']} {knobs}: {error}", file=sys.stderr)
            sys.exit(3)
        table.add({**head, **line})


def best(table, shape, kind, unit, count=1):
    lines = [line for line in table.lines if line["shape"] == shape["name"] and line["type"] == kind and "us" in line and
             line.get("knobs", {}).get("unit") == unit]
    return sorted(lines, key=lambda line: line["us"])[:count]


def summary(table, shape, kind):
    peers = [line for line in table.lines if line["shape"] == shape["name"] and line["type"] == kind and "peer" in line]
    peer = min(peers, key=lambda line: line["us"])
    rate = 2e-6 * shape["m"] * shape["n"] * shape["k"]
    text = f"{shape['name']:15} {kind:5} {peer['us']:8.2f} us {rate / peer['us']:6.1f} TFLOP/s {peer['peer']:20}"
    for unit in ("mma", "wgmma"):
        for line in best(table, shape, kind, unit):
            knobs = {name: value for name, value in line["knobs"].items() if name not in ("unit", "type")}
            text += f" | {unit} {line['us']:8.2f} {rate / line['us']:6.1f} {peer['us'] / line['us']:5.2f} of the peer {knobs}"
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--types", default="f16,bf16,tf32")
    parser.add_argument("--draws", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=12)
    options = parser.parse_args()
    pool = multiprocessing.get_context("spawn").Pool(options.workers)
    table, device = Table(options.out), Device()
    units = ("mma", "wgmma") if device.facts.major == 9 else ("mma",)
    for kind in options.types.split(","):
        for shape in (SHAPES[name] for name in options.shapes.split(",")):
            bench, rng = Bench(device, shape, kind), random.Random(shape["name"])
            if not any(line["shape"] == shape["name"] and line["type"] == kind and "peer" in line for line in table.lines):
                for name, times in bench.peers():
                    table.add({"shape": shape["name"], "type": kind, "peer": name, **times})
            run(pool, bench, table, [knobs for unit in units for knobs in draw(shape, unit, kind, options.draws // len(units), rng)])
            for _ in range(options.rounds):
                run(pool, bench, table, [mutated(shape, rng.choice(found)["knobs"], rng) for unit in units
                                         for found in [best(table, shape, kind, unit, 6)] if found for _ in range(30)])
            summary(table, shape, kind)
    pool.terminate()


if __name__ == "__main__":
    main()
