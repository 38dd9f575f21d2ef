#!/usr/bin/env python3
"""What ways of making a library are worth on this machine: the same networks by each, and the libraries in turns.

    bench/live.py --networks resnet18,mobilenet_v2 --seeds 3 --teach bench/tables/x86_64-512-l2_1024k.gz --teach mobilenet_v2=m.db \\
        'seer=tune --time-budget 10s --pretrained {others}' \\
        'control=tune --time-budget 10s --search-policy round-robin --cost-model random --no-pretrained'

A contender is NAME=COMMAND FLAGS; COMMAND is tune or compile, or a program and one of those (`old=../old/familyseer tune ...`).
{others} is a file of cost models that do not know the network: fitted by `pretrain` to all that --teach names, tables without the
network's tasks, and files of records (NETWORK=FILE) of other networks. {seed} is the seed.

A seed is the contenders one after another, in turn forwards and backwards, each from nothing, and then each one's library against
the first one's in turns (`bench --compare`). Printed as Markdown, a line as soon as it is there: how many times as long as the
first one's library each other takes (below 1: faster), how long making it took, how many schedules were measured, and whether the
tuning called its own library slower than the untuned one; at the end geometric means over networks. --json keeps all of it,
--keep the libraries and records. --verify holds each library's answer against untiled code (`familyseer verify`).
"""
import argparse
import contextlib
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SEER = os.environ.get("FAMILYSEER", os.path.join(HERE, "..", "build", "familyseer"))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def contender(text):
    """(name, program, words of the command with its flags)"""
    name, _, rest = text.partition("=")
    words = shlex.split(rest)
    if len(words) > 1 and words[1] in ("tune", "compile"):
        return name, words[0], words[1:]
    if words and words[0] in ("tune", "compile"):
        return name, SEER, words
    raise argparse.ArgumentTypeError(f"'{text}' is no NAME=tune FLAGS or NAME=compile FLAGS")


def teach(args, network, folder):
    """The file of models of others than `network`."""
    out = os.path.join(folder, "others.bank")
    tables = [source for source in args.teach if "=" not in source]
    records = [source.split("=", 1) for source in args.teach if "=" in source]
    files = tables + [file for of, file in records if of != network]
    if not files:
        sys.exit(f"--teach names nothing for {network}")
    run([SEER, "pretrain", *files, "--leave-out", f"{network},{args.uses.get(network, network)}", "-o", out])
    return out


def make(args, entry, network, seed, others, folder):
    """One contender's library and what its making said."""
    name, program, words = entry
    out = os.path.join(folder, name)
    words = [word.replace("{others}", others or "").replace("{seed}", str(seed)) for word in words]
    is_tuning = words[0] == "tune"
    command = [program, words[0], network, *words[1:], "--threads", str(args.threads), "-o", out,
               "--records", os.path.join(folder, f"{name}.sqlite")]
    if is_tuning:
        command += ["--seed", str(seed), "--json"]
    start = time.monotonic()
    said = run(command)
    row = {"name": name, "wall_s": time.monotonic() - start, "library": os.path.join(out, "model.so")}
    for line in said.splitlines() if is_tuning else []:
        event = json.loads(line)
        if event["event"] == "done":
            row.update({key: event[key] for key in ("trials", "elapsed_s", "search_s", "learn_s", "check_s", "idle_share") if key in event})
        if event["event"] == "verdict":
            row["over_untuned"] = event["speedup"]
    if args.verify:
        command = [SEER, "verify", row["library"], network, "--threads", str(args.threads)]
        row["is_right"] = subprocess.run(command, capture_output=True, check=False).returncode == 0
    return row


def compare(args, row, first):
    """Of several processes, whose pages lie differently, the middle one's."""
    command = [SEER, "bench", row["library"], "--compare", first["library"], "--threads", str(args.threads), "--json"]
    return statistics.median(json.loads(run(command))["ratio"] for _ in range(args.turns))


def one_seed(args, network, seed, others):
    with contextlib.ExitStack() as stack:
        if args.keep:
            folder = os.path.join(args.keep, f"{os.path.basename(network)}-{seed}")
            os.makedirs(folder)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        order = args.contenders if seed % 2 else args.contenders[::-1]
        rows = {row["name"]: row for row in (make(args, entry, network, seed, others, folder) for entry in order)}
        rows = [rows[entry[0]] for entry in args.contenders]
        for row in rows[1:]:
            row["ratio"] = compare(args, row, rows[0])
    return rows


def cells(network, seed, row):
    def number(key, form):
        return format(row[key], form) if key in row else "-"
    return [network, str(seed), row["name"], number("ratio", ".3f"), number("wall_s", ".1f"), number("elapsed_s", ".1f"),
            number("trials", "d"), number("over_untuned", ".2f"), {None: "-", True: "right", False: "WRONG"}[row.get("is_right")]]


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("contenders", nargs="+", type=contender)
    parser.add_argument("--networks", required=True, help="names, or files, with commas between")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3, help="processes in which two libraries take turns, 2 s each")
    parser.add_argument("--teach", action="append", default=[], help="a table of times, or NETWORK=records.sqlite; for {others}")
    parser.add_argument("--uses", type=lambda text: text.split("=", 1), action="append", default=[],
                        help="NETWORK=NAME: what tables call the network, where they call it something else")
    parser.add_argument("--verify", action="store_true", help="hold each library's answer against untiled code's")
    parser.add_argument("--keep", help="folder for the libraries and records, NETWORK-SEED/NAME in it; must not have them yet")
    parser.add_argument("--json", help="file for all of it")
    args = parser.parse_args()
    args.uses = dict(args.uses)
    wants_others = any("{others}" in word for _, _, words in args.contenders for word in words)
    head = ["network", "seed", "contender", f"time / {args.contenders[0][0]}'s", "wall s", "tuning s", "trials", "x untuned", "answer"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    kept = []
    for network in args.networks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            others = teach(args, network, folder) if wants_others else None
            for seed in range(args.first_seed, args.first_seed + args.seeds):
                rows = one_seed(args, network, seed, others)
                kept.append({"network": network, "seed": seed, "contenders": rows})
                for row in rows:
                    print("| " + " | ".join(cells(network, seed, row)) + " |", flush=True)
    print()
    for name, _, _ in args.contenders[1:]:
        by_network = {}
        for one in kept:
            by_network.setdefault(one["network"], []).extend(row["ratio"] for row in one["contenders"] if row["name"] == name)
        means = {network: geometric(values) for network, values in by_network.items()}
        print(f"{name}: {geometric(means.values()):.3f} in the geometric mean of {len(means)} networks ("
              + ", ".join(f"{network} {mean:.3f}" for network, mean in means.items()) + ")")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)


if __name__ == "__main__":
    main()
