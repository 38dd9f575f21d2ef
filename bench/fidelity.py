#!/usr/bin/env python3
"""The policies `ansor` and `familyseer` as published (doc/fidelity.md), live: Ansor's rules, plain models, no racing.

    tool/python.sh bench/fidelity.py [--networks resnet18,mobilenet_v2,mobilenet_v2:batch=16] [--seeds 2] [--write]

Tunes the --heaviest tasks of each network with both policies from nothing, rounds of --round-size, and so many of them
that the first one of each task, in which both do the same, is a quarter of the budget (--rounds 4 a task). Printed: the
sum of the tasks' best times after the first rounds, after half and after all; how many times fewer trials `familyseer`
took to be where `ansor` of the same seed ended; and how long that took. --write puts it into doc/fidelity.md.
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
POLICIES = ("ansor", "familyseer")


def heaviest(network, n):
    """Its n heaviest tasks: {id: how often it runs}; and their share of its operations."""
    listed = json.loads(subprocess.run([SEER, "tasks", network, "--json"], check=True, capture_output=True, text=True).stdout)
    tasks = sorted(listed["tasks"], key=lambda t: -t["share"])[:n]
    return {t["id"]: t["weight"] for t in tasks}, sum(t["share"] for t in tasks)


def tune(network, tasks, policy, seed, trials, args):
    """[(trials, seconds, sum of the tasks' best times in ms)] at the end of each round that had one."""
    curve = []
    with tempfile.TemporaryDirectory() as folder:
        command = [SEER, "tune", network, "--tasks", ",".join(map(str, tasks)), "--search-policy", policy, "--space", "ansor", "--trials", str(trials),
                   "--round-size", str(args.round_size), "--seed", str(seed), "--records", f"{folder}/r.sqlite", "--json"]
        best = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tuner:
            for line in tuner.stdout:
                event = json.loads(line)
                if event["event"] == "best":
                    best[event["task"]] = event["after_ms"]
                if event["event"] == "round-end" and len(best) == len(tasks):
                    curve.append((event["trials"], event["elapsed_s"], sum(best[t] * tasks[t] for t in best)))
        if tuner.returncode != 0 or not curve:
            sys.exit(f"{network}, {policy}, seed {seed}: tuning failed")
    return curve


def after(curve, trials):
    """The last time that was known when so many trials had been made."""
    known = [ms for n, _, ms in curve if n <= trials]
    return known[-1] if known else curve[0][2]


def trials_until(curve, goal_ms):
    return next((n for n, _, ms in curve if ms <= goal_ms), None)


def cell(values):
    return f"{statistics.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def gains(curves):
    """Of each seed: Ansor's trials over FamilySeer's until Ansor's end; None: it did not get there."""
    found = []
    for of_ansor, of_family in zip(curves["ansor"], curves["familyseer"]):
        goal = of_ansor[-1][2]
        needed = trials_until(of_family, goal)
        found.append(trials_until(of_ansor, goal) / needed if needed else None)
    return ", ".join("not reached" if g is None else f"{g:.2f}" for g in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default="resnet18,mobilenet_v2,mobilenet_v2:batch=16")
    parser.add_argument("--heaviest", type=int, default=4)
    parser.add_argument("--round-size", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=4, help="of each task, on the average")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    rows = ["| network, share of its operations | policy | after the first rounds [ms] | after half | after all | fewer trials to Ansor's end | tuning [s] |",
            "|---|---|---|---|---|---|---|"]
    print("\n".join(rows), flush=True)
    for network in args.networks.split(","):
        tasks, share = heaviest(network, args.heaviest)
        first = len(tasks) * args.round_size
        trials = first * args.rounds
        curves = {p: [tune(network, tasks, p, seed, trials, args) for seed in range(1, args.seeds + 1)] for p in POLICIES}
        for policy, runs in curves.items():
            marks = " | ".join(cell([after(c, n) for c in runs]) for n in (first, trials // 2, trials))
            gain = gains(curves) if policy == "familyseer" else ""
            rows.append(f"| {network}, {share:.0%}, {trials} trials | {policy} | {marks} | {gain} | {cell([c[-1][1] for c in runs])} |")
            print(rows[-1], flush=True)
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
