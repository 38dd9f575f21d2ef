#!/usr/bin/env python3
"""Measurements a second of a tuning on two devices that are one processor each, against one such device.

    bench/gpu/pair.py [--network mobilenet_v2] [--budget 30] [--runs 3] [--processors 0,1]

PoCL has two devices of this machine's processors where POCL_DEVICES says "pthread pthread". In turns, each with caches of its own:
  one   --devices opencl:0, all of the tuning on the first processor: builder, runner, search
  two   --devices opencl:0,opencl:1 on both: a builder and a runner for each
  wide  --devices opencl:0 on both: one device of two processors, two builders
What is counted are candidates that a device has timed (no twins), by the seconds until the last round's end: builds and search are in it, the
library's end is not. A line a run, then each run's `two` over the `one` before it, and the median. Status 1: that is less than --least.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "build", "familyseer")
WAYS = {"one": (1, "opencl:0"), "two": (2, "opencl:0,opencl:1"), "wide": (2, "opencl:0")}


def rate(args, way):
    """(measurements a second, by device)"""
    n_processors, devices = WAYS[way]
    own = {int(p) for p in args.processors.split(",")[:n_processors]}
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "POCL_DEVICES": "pthread pthread", "POCL_CACHE_DIR": os.path.join(folder, "pocl"),
               "SEER_DEVICE_LOCK": os.path.join(folder, "lock")}
        command = [PROGRAM, "tune", args.network, "--target", "opencl:0", "--devices", devices, "--time-budget", f"{args.budget}s", "--json",
                   "--records", os.path.join(folder, "records.db"), "-o", os.path.join(folder, "out"), "--seed", "1"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, own))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    timed = [e.get("device", "opencl:0") for e in events if e["event"] == "measurement" and not e["twin"]]
    seconds = [e["elapsed_s"] for e in events if e["event"] == "round-end"][-1]
    return len(timed) / seconds, {d: timed.count(d) for d in sorted(set(timed))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="mobilenet_v2")
    parser.add_argument("--budget", type=int, default=30, help="seconds of each tuning")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--processors", default="0,1")
    parser.add_argument("--least", type=float, default=0)
    args = parser.parse_args()
    ratios = []
    for _ in range(args.runs):
        rates = {}
        for way in args.ways.split(","):
            rates[way], timed = rate(args, way)
            print(f"{way:4} {rates[way]:6.2f} a second  {timed}", flush=True)
        ratios.append(rates["two"] / rates["one"])
        print(", ".join(f"two over {way} {rates['two'] / rates[way]:.2f}" for way in rates if way != "two"), flush=True)
    print(f"median of {args.runs}: two over one {statistics.median(ratios):.2f}")
    sys.exit(statistics.median(ratios) < args.least)


if __name__ == "__main__":
    main()
