#!/usr/bin/env python3
"""The policies `ansor` and `familyseer` as published (doc/fidelity.md): plain models, no racing, exact divisors, Ansor's rules.

    tool/python.sh bench/fidelity.py [--trials 1000] [--seeds 3] [--networks resnet18,mobilenet_v2] [--write]

Tunes every network with both policies and several seeds from nothing and prints a table: the sum of the tasks' best times after
a quarter, half and all of the trials (mean over the seeds, and the range), and the time that the tuning took. --write puts it
into doc/fidelity.md.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SEER = os.path.join(ROOT, "build", "familyseer")


def tune(network, policy, seed, trials):
    """Latency estimate [ms] after a quarter, half, all of the trials; seconds; before tuning [ms]; compiled [ms]."""
    marks = [trials // 4, trials // 2, trials]
    at, seconds, before = [None] * 3, 0, None
    with tempfile.TemporaryDirectory() as folder:
        command = [SEER, "tune", network, "--search-policy", policy, "--space", "ansor", "--trials", str(trials), "--seed", str(seed),
                   "--records", f"{folder}/r.sqlite", "-o", f"{folder}/out", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tuner:
            for line in tuner.stdout:
                event = json.loads(line)
                if event["event"] == "round-end":
                    for k, mark in enumerate(marks):
                        if event["trials"] <= mark or at[k] is None:
                            at[k] = event["estimated_ms"]
                if event["event"] == "done":
                    seconds, before = event["elapsed_s"], event["untuned_ms"]
        if tuner.returncode != 0:
            sys.exit(f"{network}, {policy}, seed {seed}: tuning failed")
        bench = subprocess.run([SEER, "bench", f"{folder}/out/model.so", "--json"], check=True, capture_output=True, text=True)
        compiled = json.loads(bench.stdout)["median_ms"]
    return at, seconds, before, compiled


def cell(values):
    return f"{statistics.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--networks", default="resnet18,mobilenet_v2")
    parser.add_argument("--policies", default="ansor,familyseer")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    rows = [f"| network | policy | untuned [ms] | after {args.trials // 4} trials | after {args.trials // 2} | after {args.trials} | compiled | tuning [s] |",
            "|---|---|---|---|---|---|---|---|"]
    print("\n".join(rows), flush=True)
    for network in args.networks.split(","):
        for policy in args.policies.split(","):
            runs = [tune(network, policy, seed, args.trials) for seed in range(1, args.seeds + 1)]
            row = (f"| {network} | {policy} | {statistics.mean(r[2] for r in runs):.2f} | "
                   + " | ".join(cell([r[0][k] for r in runs]) for k in range(3))
                   + f" | {cell([r[3] for r in runs])} | {cell([r[1] for r in runs])} |")
            rows.append(row)
            print(row, flush=True)
    if args.write:
        path = os.path.join(ROOT, "doc", "fidelity.md")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        head, rest = text.split("<!-- table -->\n", 1)
        _, tail = rest.split("<!-- end of table -->", 1)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(head + "<!-- table -->\n" + "\n".join(rows) + "\n<!-- end of table -->" + tail)
        os.rename(path + ".new", path)


if __name__ == "__main__":
    main()
