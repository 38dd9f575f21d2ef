#!/usr/bin/env python3
"""Draws schedules of block programs, compiles, checks and times them on a CUDA device, beside cuBLAS and cuDNN.

    bench/gpu/products.py --out table.jsonl [--shapes bert_qkv,softmax] [--draws 240] [--around 6] [--rounds 1] [--workers 12]
    bench/gpu/products.py --compile-only sm_90 --out registers.jsonl      registers and times of NVRTC, without a device

Three phases for each shape: `draws` random schedules; each knob of the `around` best ones changed alone, which is what a knob
is worth; and `rounds` of 60 changes of two knobs of the best. One JSON line each: shape, knobs, registers and the rule's,
spilled and shared bytes, items, blocks, blocks resident on a multiprocessor, us (with the lowest and the third quartile),
compile_ms; `error` instead, where a kernel does not run or is wrong. Every kernel computes new random inputs into NaNs, with
NaNs in shared memory, and is held against f64 before it is timed. Peers are lines with `peer` in place of knobs.

A table that exists is gone on with: lines that it has are not measured again.
"""
import argparse
import ctypes
import json
import multiprocessing
import os
import random
import statistics
import sys

import shapes
from device import Device, compile_text
from kernels import PRELUDE, Product, print_kernel
from reference import pack
from shapes import SHAPES, draw, label, refused, registers

POISON = PRELUDE + """
KERNEL(1024) poison(int words) {
  SHARED
  for (int i = ITEM; i < words; i += 1024) ((volatile unsigned *)pool)[i] = 0x7fc00000u;
}
"""


def build(job):
    """In a worker: (kernel without text, cubin, facts), or the error's text."""
    shape, knobs, architecture = job
    try:
        kernel = print_kernel(shape, knobs)
        cubin, facts = compile_text(PRELUDE + kernel.pop("text"), architecture)
        return kernel, cubin, facts
    except RuntimeError as error:
        return str(error)


# ---- knobs changed alone

def others(shape, knobs):
    """(what was changed, knobs) for each change of one knob."""
    found = []

    def change(name, **values):
        found.append((name, {**knobs, **values}))
    if shape["kind"] == "softmax":
        for reduce in ("tree", "shuffle"):
            change("reduce", reduce=reduce)
        for vec in (1, 2, 4):
            change("vec", vec=vec)
        change("wide", wide=1)
    elif shape["kind"] == "depthwise":
        change("staged", staged=1 - knobs["staged"])
        change("wide", wide=1)
    else:
        m, n, k = knobs["m"], knobs["n"], knobs["k"]
        for pad in (0, 1, 4):
            change("pad_a", pad_a=pad)
        for pad in (0, 4):
            change("pad_b", pad_b=pad)
        for vec in (1, 2, 4):
            change("vec_a", vec_a=vec)
            change("vec_b", vec_b=vec)
        for buffers in ("one", "regs", "async2", "async3", "async4"):
            change("buffers", buffers=buffers)
        for split in (1, 2, 3, 4, 6, 8, 16):
            change("split", split=split)
        for parts in (1, 2, 4, 8):
            change("parts", parts=parts, k=[max(k[0], parts), k[1]])
        for unroll in (0, 16, 64, 512, 1024):
            change("unroll", unroll=unroll)
        change("swizzle", swizzle=1, pad_a=0, a_order="km")
        change("swizzle off", swizzle=0)
        change("a_order", a_order="mk", swizzle=0, pad_a=4)
        change("a_order", a_order="km", pad_a=4)
        change("order", order="n" if knobs["order"] == "m" else "m")
        change("packed", packed=0)
        for early in (0, 1, 2):
            change("early", early=early)
        change("wide", wide=1)
        # Copies of an item apart (virtual threads, S1) or side by side (S3): the same tile.
        change("vthread off", m=[1, m[1], m[2] * m[0], m[3]], n=[1, n[1], n[2] * n[0], n[3]])
        change("vthread", m=[m[0] * m[2], m[1], 1, m[3]], n=[n[0] * n[2], n[1], 1, n[3]])
        if n[3] == 8:
            change("vthread 2x4", n=[n[0] * 2, n[1], n[2], 4])
        if m[3] == 8:
            change("vthread 2x4", m=[m[0] * 2, m[1], m[2], 4])
        for factor in (2, 4):
            change("depth", k=[k[0] * factor, k[1]])
            change("depth", k=[max(1, k[0] // factor), k[1]])
            change("r2", k=[k[0] * factor, max(1, k[1] // factor)])
            change("r2", k=[max(1, k[0] // factor), k[1] * factor])
    own = label(knobs)
    return [(name, changed) for name, changed in found if label(changed) != own and
            (shape["kind"] != "product" or refused(shape, changed) is None)]


TILES = [(axis, level) for axis in "mn" for level in range(4)]


def mutated(shape, knobs, rng):
    """Two changes at random: a knob of `others`, or a factor of a tile doubled or halved."""
    for _ in range(100):
        changed = knobs
        for _ in range(2):
            pairs = others(shape, changed)
            if shape["kind"] == "product" and rng.random() < 0.6:
                axis, level = rng.choice(TILES)
                parts = list(changed[axis])
                parts[level] = parts[level] * 2 if rng.random() < 0.5 else max(1, parts[level] // 2)
                tiled = {**changed, axis: parts}
                if refused(shape, tiled) is None:
                    changed = tiled
            elif pairs:
                changed = rng.choice(pairs)[1]
        if changed is not knobs and not changed.get("wide"):
            return changed
    return knobs


# ---- a shape on the device

class Bench:
    """Inputs, answers and times of one shape."""

    def __init__(self, device, shape):
        self.device, self.shape, self.torch = device, shape, device.torch
        self.best, self.generator = 1e9, self.torch.Generator("cuda").manual_seed(12345)
        weights = 4 * shape.get("k", 1) * shape.get("n", 1) if shape["kind"] == "product" else 4
        self.count = 24 if weights > 4 << 20 else 40  # calls in a graph, each with weights of its own
        if not hasattr(device, "poison"):
            kernel = {"name": "poison", "grid": device.facts.multi_processor_count, "block": 1024,
                      "shared": device.facts.shared_memory_per_block_optin, "second": None}
            module = device.load(compile_text(POISON, device.architecture)[0])
            device.poison = (device.function(module, kernel)[0], kernel)

    def inputs(self):
        s, random_of = self.shape, lambda *size: self.torch.randn(*size, device="cuda", generator=self.generator)
        if s["kind"] == "softmax":
            return random_of(s["rows"], s["columns"]), random_of(1)
        if s["kind"] == "depthwise":
            return random_of(s["h"], s["w"], s["c"]), random_of(s["kh"], s["kw"], s["c"])
        conv = s.get("conv")
        a = random_of(conv["h"], conv["w"], conv["c"]) if conv else random_of(s["m"], s["k"])
        return a, random_of(s["k"], s["n"])

    def answer(self, a, b):
        s, torch, a, b = self.shape, self.torch, a.double(), b.double()
        if s["kind"] == "softmax":
            return torch.softmax(a, 1)
        if s["kind"] == "product" and "conv" not in s:
            return a @ b
        conv = s.get("conv", s)
        groups = s["c"] if s["kind"] == "depthwise" else 1
        weights = b.reshape(conv["kh"], conv["kw"], conv["c"] // groups, -1).permute(3, 2, 0, 1)
        result = torch.nn.functional.conv2d(a.permute(2, 0, 1)[None], weights, stride=conv["stride"], padding=conv["pad"],
                                            groups=groups)
        return result[0].permute(1, 2, 0)

    def measure(self, knobs, built):
        """Checks and times: what the line of this schedule has beside its knobs."""
        if isinstance(built, str):
            return {"error": built[:300]}
        kernel, cubin, facts = built
        torch, device, shape = self.torch, self.device, self.shape
        module = device.load(cubin)
        function, resident = device.function(module, kernel)
        line = {"registers": facts[kernel["name"]]["registers"], "rule": registers(shape, knobs),
                "spills": facts[kernel["name"]]["spills"], "shared": kernel["shared"], "items": kernel["block"],
                "blocks": kernel["grid"], "resident": resident, "compile_ms": round(facts["ms"], 1)}
        a, b = self.inputs()
        expected = self.answer(a, b)
        if shape["kind"] == "product":
            b = pack(Product(shape, knobs), b, lambda size: torch.zeros(size, device="cuda")).contiguous()
        b = b.reshape(-1).expand(self.count, -1).contiguous()
        c = torch.full((expected.numel(),), float("nan"), device="cuda")
        second, parts = kernel["second"], c
        if second:
            parts = torch.full((knobs["split"] * c.numel(),), float("nan"), device="cuda")
            second_function = device.function(module, second)[0]

        def enqueue(i):
            device.launch(function, kernel, a, b[i], parts)
            if second:
                device.launch(second_function, second, parts, parts, c)
        poison, poison_kernel = device.poison
        device.launch(poison, poison_kernel, ctypes.c_int(poison_kernel["shared"] // 4))
        enqueue(0)
        error = float((c - expected.reshape(-1)).abs().max() / expected.abs().max())
        if not error < 1e-5:
            line["error"] = f"wrong by {error:.2g}"
            return line
        times = device.time_us(enqueue, self.count, [a], stop_us=6 * self.best)
        self.best = min(self.best, times["us"])
        device.unload(module)
        return {**line, **{name: round(value, 3) for name, value in times.items()}}

    def peers(self):
        """(name, times) of what PyTorch calls for the shape, in each layout that it takes."""
        torch, shape = self.torch, self.shape
        a, b = self.inputs()
        functional = torch.nn.functional
        if shape["kind"] == "softmax":
            yield "softmax", self.time(lambda i: torch.softmax(a, 1), a)
        if shape["kind"] == "product":
            wide = a if "conv" not in shape else torch.randn(shape["m"], shape["k"], device="cuda")
            copies = b.expand(self.count, -1, -1).contiguous()
            turned = copies.transpose(1, 2).contiguous()
            out = torch.empty(shape["m"], shape["n"], device="cuda")
            note = " (its product alone)" if "conv" in shape else ""
            yield "cublas" + note, self.time(lambda i: torch.mm(wide, copies[i], out=out), wide)
            yield "cublas transposed" + note, self.time(lambda i: torch.mm(wide, turned[i].T, out=out), wide)
        if shape["kind"] == "depthwise" or shape["name"].startswith(("r50", "mbv2")):
            conv = shape.get("conv", shape if shape["kind"] == "depthwise" else None)
            if conv is None:
                side = int(shape["m"] ** 0.5)
                conv = {"h": side, "w": side, "c": shape["k"], "kh": 1, "kw": 1, "stride": 1, "pad": 0}
            groups = conv["c"] if shape["kind"] == "depthwise" else 1
            out = shape.get("n", conv["c"])
            for form in (torch.channels_last, torch.contiguous_format):
                image = torch.randn(1, conv["c"], conv["h"], conv["w"], device="cuda").to(memory_format=form)
                weights = [torch.randn(out, conv["c"] // groups, conv["kh"], conv["kw"], device="cuda").to(memory_format=form)
                           for _ in range(self.count)]
                name = "cudnn " + ("channels last" if form == torch.channels_last else "planes")
                yield name, self.time(lambda i: functional.conv2d(image, weights[i], stride=conv["stride"], padding=conv["pad"],
                                                                  groups=groups), image)

    def time(self, enqueue, a):
        times = self.device.time_us(enqueue, self.count, [a])
        return {name: round(value, 3) for name, value in times.items()}


class Table:
    def __init__(self, path):
        self.lines, self.path = [], path
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.lines = [json.loads(line) for line in file]
        self.known = {(line["shape"], label(line["knobs"])) for line in self.lines if "knobs" in line}

    def add(self, line):
        self.lines.append(line)
        if "knobs" in line:
            self.known.add((line["shape"], label(line["knobs"])))
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def best(self, name, count):
        good = [line for line in self.lines if line["shape"] == name and "us" in line and "knobs" in line]
        return sorted(good, key=lambda line: line["us"])[:count]


def run_phase(pool, device, benches, table, phase, jobs):
    """Measures jobs (shape, knobs, what else the line has), in order, while workers compile what comes."""
    jobs = [job for job in jobs if (job[0]["name"], label(job[1])) not in table.known]
    built = pool.imap(build, [(shape, knobs, device.architecture) for shape, knobs, _ in jobs], chunksize=4)
    for (shape, knobs, more), result in zip(jobs, built):
        if (shape["name"], label(knobs)) in table.known:
            continue
        head = {"shape": shape["name"], "phase": phase, **more, "knobs": knobs}
        try:
            line = benches[shape["name"]].measure(knobs, result)
        except RuntimeError as error:  # the context may be lost: the table has the line, the next process goes on behind it
            table.add({**head, "error": str(error)[:300]})
            print(f"{shape['name']} {label(knobs)}: {error}", file=sys.stderr)
            sys.exit(3)
        table.add({**head, **line})


def study(options, chosen):
    pool = multiprocessing.get_context("spawn").Pool(options.workers)
    table, device = Table(options.out), Device()
    benches = {shape["name"]: Bench(device, shape) for shape in chosen}
    if not any("peer" in line for line in table.lines):
        for shape in chosen:
            for name, times in benches[shape["name"]].peers():
                table.add({"shape": shape["name"], "peer": name, **times})
    run_phase(pool, device, benches, table, "drawn",
              [(shape, knobs, {}) for shape in chosen for knobs in draw(shape, options.draws, options.seed)])
    for bench in benches.values():
        bench.best = 1e9
    run_phase(pool, device, benches, table, "changed", [
        (shape, knobs, {"changed": name, "of": label(line["knobs"])}) for shape in chosen
        for line in table.best(shape["name"], options.around) for name, knobs in others(shape, line["knobs"])])
    for turn in range(options.rounds):
        rng = random.Random(turn)
        run_phase(pool, device, benches, table, f"round {turn}", [
            (shape, mutated(shape, rng.choice(best)["knobs"], rng), {}) for shape in chosen if shape["kind"] == "product"
            for best in [table.best(shape["name"], 12)] for _ in range(60)])
    pool.terminate()
    summary(table, chosen)


def summary(table, chosen):
    print(f"{'shape':16} {'kernels':>7} {'wrong':>5} {'drawn best':>10} {'best':>8} {'median':>8} {'peer':>8} {'ratio':>6}  of the best")
    for shape in chosen:
        lines = [line for line in table.lines if line["shape"] == shape["name"]]
        times = [line for line in lines if "us" in line and "knobs" in line]
        peers = [line for line in lines if "peer" in line and "alone" not in line["peer"]]
        if not times or not peers:
            continue
        best, peer = min(times, key=lambda line: line["us"]), min(peers, key=lambda line: line["us"])
        drawn = [line["us"] for line in times if line["phase"] == "drawn"]
        print(f"{shape['name']:16} {len(lines):7} {sum('error' in line for line in lines):5} {min(drawn):10.2f} {best['us']:8.2f} "
              f"{statistics.median(drawn):8.2f} {peer['us']:8.2f} {best['us'] / peer['us']:6.2f}  "
              f"{shapes.flops(shape) / best['us'] * 1e-6:.1f} TFLOP/s; {peer['peer']}; {label(best['knobs'])}")


def compile_only(options, chosen):
    jobs = [(shape, knobs, options.compile_only) for shape in chosen for knobs in draw(shape, options.draws, options.seed)]
    with multiprocessing.Pool(options.workers) as pool, open(options.out, "w", encoding="utf-8") as file:
        for (shape, knobs, _), built in zip(jobs, pool.imap(build, jobs, chunksize=4)):
            line = {"shape": shape["name"], "knobs": knobs, "rule": registers(shape, knobs)}
            line.update({"error": built[:300]} if isinstance(built, str) else
                        {**built[2][built[0]["name"]], "ms": round(built[2]["ms"], 1)})
            file.write(json.dumps(line) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="table, JSON lines")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="of shapes.py")
    parser.add_argument("--draws", type=int, default=240, help="random schedules of a shape")
    parser.add_argument("--around", type=int, default=6, help="best schedules whose knobs are changed one by one")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of 60 changes of the best")
    parser.add_argument("--workers", type=int, default=12, help="processes that compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile-only", metavar="sm_NN", help="no device: registers and times of NVRTC")
    options = parser.parse_args()
    chosen = [SHAPES[name] for name in options.shapes.split(",")]
    if options.compile_only:
        compile_only(options, chosen)
    else:
        study(options, chosen)


if __name__ == "__main__":
    main()
