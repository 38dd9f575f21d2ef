#!/usr/bin/env python3
"""What each ingredient of a policy is worth on a table of times: `study regret` with each left out in turn (doc/study.md).

    bench/ablation.py times.gz [--policy seer] [--seeds 3] [--networks a,b] [--ingredients a,b] [--csv out.csv]

Prints one table (markdown): regret after 4 to 256 trials a task, the geometric mean of the networks, as the mean of the seeds and
their standard deviation. The first line is the policy as it is. Ingredients that the policy does not have, or that change nothing
on a table, are named below with the program's reason.
"""
import argparse
import csv
import math
import os
import statistics
import subprocess
import sys
import tempfile

SEER = os.environ.get("FAMILYSEER", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "familyseer"))


def ingredients():
    listed = subprocess.run([SEER, "list", "ingredients"], check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def regret(args, without):
    """Rows of the CSV, or why there are none, in the program's words."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "regret.csv")
        command = [SEER, "study", "regret", args.table, "--policies", args.policy, "--seeds", str(args.seeds), "--csv", out]
        if args.networks:
            command += ["--networks", args.networks]
        if without:
            command += ["--without", without]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip()
        with open(out, encoding="utf-8") as file:
            return list(csv.DictReader(file)), None


def of_seeds(rows):
    """Budget -> regret of each seed in %, the geometric mean of the networks."""
    logs = {}
    for row in rows:
        logs.setdefault(int(row["trials_a_task"]), {}).setdefault(int(row["seed"]), []).append(math.log1p(float(row["regret"])))
    return {budget: [100 * math.expm1(statistics.mean(values)) for values in seeds.values()] for budget, seeds in logs.items()}


def cell(values):
    spread = f" ({statistics.stdev(values):.2f})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("table")
    parser.add_argument("--policy", default="seer")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--networks", default="")
    parser.add_argument("--ingredients", default="", help="only these, each a name or several joined with +; default all")
    parser.add_argument("--csv", default="", help="file that gets the program's lines, with what was left out")
    args = parser.parse_args()
    wanted = args.ingredients.split(",") if args.ingredients else ingredients()
    kept, left_out = [], []
    for without in [""] + wanted:
        without = without.replace("+", ",")
        rows, why = regret(args, without)
        if why is not None and ("would change nothing" in why or "does not have it" in why):
            left_out.append(why.splitlines()[-1])
            continue
        if why is not None:
            sys.exit(why)
        budgets = of_seeds(rows)
        if not kept:
            print(f"| {args.policy}, {args.seeds} seeds | " + " | ".join(f"{b} trials a task" for b in budgets) + " |")
            print("|---|" + "---|" * len(budgets))
        print(f"| {'without ' + without if without else 'whole'} | " + " | ".join(cell(v) for v in budgets.values()) + " |", flush=True)
        kept += [{"without": without, **row} for row in rows]
    for why in left_out:
        print(f"\n{why}")
    if args.csv:
        with open(args.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, kept[0].keys())
            writer.writeheader()
            writer.writerows(kept)


if __name__ == "__main__":
    main()
