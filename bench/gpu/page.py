#!/usr/bin/env python3
"""The measured part of doc/gpu.md, between its two marker lines, from files of make gpu-day.

    bench/gpu/page.py [FILE.json ...]        writes it; default: bench/gpu/day-*.json, later ones over earlier ones
    bench/gpu/page.py --check                status 1 where the page is not what the files say

With no file of a GPU the page says what has not been seen on one.
"""
import argparse
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "doc", "gpu.md")
BEGIN, END = "<!-- gpu-day: made by bench/gpu/page.py -->", "<!-- gpu-day: end -->"
NETWORKS = {"mobilenet_v2": ("MobileNetV2", "mobilenet_v2"), "resnet50_v1": ("ResNet50_v1", "resnet50"),
            "bert_large": ("BERT-Large, 128", "bert_large"), "gpt2_small": ("GPT2-Small, 128", None)}
STEPS = ("here", "devices", "property", "sanitizer", "facts", *NETWORKS, "table", "peers", "torch")


def merged(paths):
    """Sections of several files: of a step the last one that is done, else the last one."""
    sections, rows = {}, 0
    for path in paths:
        with open(path) as stream:
            for name, section in json.load(stream).items():
                if name == "table":
                    rows += section.get("rows", 0)
                if section["state"] == "done" or sections.get(name, {}).get("state") != "done":
                    sections[name] = section
    if "table" in sections:
        sections["table"]["rows"] = rows
    return sections


def number(value):
    return f"{value:.3g}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def is_done(sections, name):
    return sections.get(name, {}).get("state") == "done"


def judged(sections):
    lines = []
    if is_done(sections, "property"):
        p = sections["property"]
        lines.append(f"- {p['drawn']} drawn schedules, each three times with new numbers, hard ones too: every element is what the DAG's interpreter gives, "
                     f"to the bit (of them {p['kinds']}). Of {p['faults']} planted faults {p['faults_seen']} are seen.")
    if is_done(sections, "sanitizer"):
        s = sections["sanitizer"]
        lines.append(f"- compute-sanitizer over {s['asked']} of them: " + ", ".join(f"{kind} {n}" for kind, n in s["tools"].items()) + " complaints.")
    if is_done(sections, "table"):
        lines.append(f"- {sections['table']['rows']:,} measurements of candidates.")
    return lines


def torch_ms(sections, name, precision):
    """The best of both layouts; None: not measured."""
    found = [row["ms"] for row in sections.get("torch", {}).get("rows", [])
             if row["network"] == name and row["precision"] == precision and "ms" in row]
    return min(found) if found else None


def networks(sections):
    done = [name for name in NETWORKS if is_done(sections, name) and sections[name]["network"] == name]
    if not done:
        return []
    lines = ["", "| network, batch 1, f32 | untuned [ms] | tuned | its kernels | budget [s] | candidates | verify | PyTorch f32 | TF32 | f16 |", "|---|---|---|---|---|---|---|---|---|---|"]
    for name in done:
        section, (title, peer) = sections[name], NETWORKS[name]
        bench, tuning = section["bench"], section["tuning"]
        verdict = {True: "right", False: "WRONG", None: "not done"}[section["verify"]["ok"]]
        peers = [torch_ms(sections, peer, precision) for precision in ("f32", "tf32", "f16")] if peer else [None] * 3
        lines.append(f"| {title} | {number(bench['other']['median_ms'])} | {number(bench['median_ms'])} | {number(tuning['sum_of_tasks_ms'])} | {section['budget_s']} | {tuning['trials']:,.0f} | {verdict} | "
                     + " | ".join(number(ms) if ms else "-" for ms in peers) + " |")
    lines += ["", "Ours: medians of whole runs in turns, the input copied to the device and the outputs back each time, as `bench` without `--on-device` has it (GPT2-Small's are 26 MB); kernels: the sum of their own times in the tuning, weights cold. PyTorch's: a captured "
              "graph with inputs and outputs on the device (`bench/gpu/networks.py`), the better of both layouts."]
    return lines


def rows_of(sections, library):
    return [row for row in sections.get("peers", {}).get("rows", []) if row["library"] == library and "us" in row]


def peers(sections):
    lines = []
    products, layers = rows_of(sections, "cuBLASLt"), rows_of(sections, "cuDNN")
    if products:
        shapes = list(dict.fromkeys(row["shape"] for row in products))
        lines += ["", "| cuBLASLt [us] | " + " | ".join(shapes) + " |", "|---|" + "---|" * len(shapes)]
        for kind in ("f32", "tf32", "f16"):
            found = {row["shape"]: number(row["us"]) for row in products if row["type"] == kind}
            lines.append(f"| {kind} | " + " | ".join(found.get(shape, "-") for shape in shapes) + " |")
    if layers:
        lines += ["", "| cuDNN, f32, the better layout [us] | |", "|---|---|"]
        for shape in dict.fromkeys(row["shape"] for row in layers):
            best = min((row for row in layers if row["shape"] == shape), key=lambda row: row["us"])
            lines.append(f"| {shape} | {number(best['us'])}, {best['layout']} |")
    return lines


def facts(sections):
    if not is_done(sections, "facts"):
        return []
    f = sections["facts"]["facts"]
    return ["", f"Constants (`facts.cu`): DRAM read {f['dram_read_gb_s'] / 1e3:.2f}, write {f['dram_write_gb_s'] / 1e3:.2f}, copy {f['dram_copy_gb_s'] / 1e3:.2f} TB/s; f32 "
            f"{f['fma_tflops']:.1f} TFLOP/s; latency of DRAM {f['latency_cycles']['dram']:.0f}, L2 {f['latency_cycles']['l2']:.0f}, L1 {f['latency_cycles']['l1']:.0f}, shared "
            f"{f['latency_cycles']['shared']:.0f} cycles; a node of a graph {f['launch_us']['node_that_reads_and_writes']:.2f} us; "
            f"{f['clock_mhz_under_load']:,.0f} MHz under load."]


def not_seen(sections):
    is_gpu = sections.get("devices", {}).get("is_gpu", False)
    left = [name for name in STEPS if not is_done(sections, name)] if is_gpu else list(STEPS)
    if not is_gpu:
        return ["No GPU has run any of it yet: `make gpu-day` is what would be asked of one, and nothing of its steps (" + ", ".join(left) + ") has been seen on hardware."]
    if not left:
        return ["", "Every step of `make gpu-day` was done."]
    whys = [f"{name} ({sections[name]['why']})" if name in sections else f"{name} (not run)" for name in left]
    return ["", "Not seen on hardware: " + "; ".join(whys) + "."]


def text_of(sections):
    lines = []
    if sections.get("devices", {}).get("is_gpu"):
        clock = (sections.get("here", {}).get("clocks") or [{}])[0]
        lines.append(f"Device: {sections['devices']['model']}" + (f", driver {clock['driver_version']}" if clock.get("driver_version") else "")
                     + f"; {sections['here']['machine']['processors']} processors beside it.")
        lines += ["", *judged(sections), *networks(sections), *peers(sections), *facts(sections)]
    return "\n".join([*lines, *not_seen(sections)])


def page_with(page, text):
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", default=PAGE)
    options = parser.parse_args()
    with open(options.page) as stream:
        page = stream.read()
    made = page_with(page, text_of(merged(options.files or sorted(glob.glob(os.path.join(HERE, "day-*.json"))))))
    if options.check:
        if made != page:
            print(f"{options.page} is not what the files of make gpu-day say: bench/gpu/page.py writes it", file=sys.stderr)
        return int(made != page)
    with open(options.page, "w") as stream:
        stream.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
