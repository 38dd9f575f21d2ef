#!/usr/bin/env python3
"""Does a tuning tell what its library takes? The last event's estimated_ms, what the library's own description adds up
to, and `familyseer bench` of it in fresh processes.

    bench/agree.py [--networks resnet18,mobilenet_v2,efficientnet_b0,densenet121] [--budget 20s] [--benches 5] [--busy N]

A library's processors are near each other now and far later, and others use the machine: so each figure is set beside
the median of several benches, whose spread is printed, too. --busy: so many processes that do nothing but compute run
beside all of it.
"""
import argparse, json, statistics, subprocess, sys, tempfile
from pathlib import Path

SEER = str(Path(__file__).resolve().parents[1] / "build" / "familyseer")


def tune(network, budget, folder):
    done = subprocess.run([SEER, "tune", network, "--time-budget", budget, "--records", f"{folder}/records.sqlite",
                           "-o", f"{folder}/out", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{network}: {done.stderr[-2000:]}")
    event = next(e for e in map(json.loads, done.stdout.splitlines()) if e["event"] == "done")
    tasks = json.loads(Path(folder, "out", "model.json").read_text())["tasks"]
    described_ms = 1e3 * sum(t["seconds"] * t["weight"] for t in tasks)
    return event["estimated_ms"], described_ms, event["sum_of_tasks_ms"]


def bench_ms(folder):
    done = subprocess.run([SEER, "bench", f"{folder}/out/model.so", "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default="resnet18,mobilenet_v2,efficientnet_b0,densenet121")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--benches", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0)
    args = parser.parse_args()
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        print("| network | bench, median of fresh processes (least to most) | last event | tasks of the library | sum of tasks alone |")
        print("|---|---|---|---|---|")
        for network in args.networks.split(","):
            with tempfile.TemporaryDirectory() as folder:
                told = tune(network, args.budget, folder)
                times = [bench_ms(folder) for _ in range(args.benches)]
            middle = statistics.median(times)
            cells = " | ".join(f"{ms / middle:.3f}" for ms in told)
            print(f"| {network} | {middle:.3f} ms ({min(times) / middle:.2f} to {max(times) / middle:.2f}) | {cells} |", flush=True)
    finally:
        for process in beside:
            process.kill()


if __name__ == "__main__":
    main()
