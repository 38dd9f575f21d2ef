#!/usr/bin/env python3
"""Damaged ONNX files: read, cut into tasks, and some of those that are still networks compiled and run.

    FAMILYSEER=build/familyseer test/safety/damaged.py [--n 10000] [--seed 1] [--only K] [--keep FOLDER]

File k of a seed is always the same. None may crash, hang, take more time or memory than limits.py
allows; of what a file that is still a network may ask for when compiled, only crashes and hangs count. Exit status 1
if any did; --keep stores those files.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import limits
from mutate import mutate
from networks import made_elsewhere


def damaged(networks, seed, k):
    rng = random.Random(f"{seed}/{k}")
    name, data = networks[k % len(networks)]
    data, how = mutate(data, [d for _, d in networks], rng)
    return f"{k} {name} ({how})", data, rng


def main(argv=None):
    """The campaign; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="only file K")
    parser.add_argument("--compile", type=float, default=0.1, help="share of the files still whole that is compiled and run")
    parser.add_argument("--keep", help="folder for files at fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args(argv)
    limits.no_core_files()
    networks, sanitized = made_elsewhere(), limits.is_sanitized()
    read, compiled = limits.Tally("read"), limits.Tally("compiled")

    def one(k):
        name, data, rng = damaged(networks, args.seed, k)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(path, "wb") as file:
                file.write(data)
            outcome = limits.run([limits.FAMILYSEER, "tasks", path])
            found = limits.faults(outcome, len(data), sanitized)
            read.add(name, outcome, found, len(data))
            if outcome.status == 0 and rng.random() < args.compile:
                for command in (["compile", path, "-O1", "-o", folder], ["run", os.path.join(folder, "model.so")]):
                    outcome = limits.run([limits.FAMILYSEER, *command])
                    wrong = limits.faults(outcome, len(data), sanitized, readings=1000, megabytes=8000)
                    compiled.add(name, outcome, wrong, len(data))
                    found += wrong
                    if outcome.status != 0:
                        break
            if found and args.keep:
                os.makedirs(args.keep, exist_ok=True)
                shutil.copy(path, os.path.join(args.keep, f"{args.seed}-{k}.onnx"))

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, range(args.n) if args.only is None else [args.only]))
    print(f"{len(networks)} networks, seed {args.seed}, {'sanitized' if sanitized else 'plain'} build")
    return 0 if read.close() & compiled.close() else 1


if __name__ == "__main__":
    sys.exit(main())
