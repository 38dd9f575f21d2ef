#!/usr/bin/env python3
"""The built-in networks after a tuning, against what people get for nothing, with the same threads (bench/peers.py).

    BENCH_BUDGET=300s BENCH_NETWORKS=resnet18,mobilenet_v2 BENCH_PEERS=onnxruntime,ncnn BENCH_KEEP=folder bench/bench_networks.py

BENCH_KEEP keeps records, libraries and reports in a folder. Tunes each one from nothing (records in a folder of its own), compares
the answer with ONNX Runtime's, then interleaves tuned, untuned and peers. A bar is met if the
upper end of the ratio's interval meets it.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import onnx

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SEER = os.path.join(ROOT, "build", "familyseer")
os.environ["FAMILYSEER"] = SEER
sys.path.insert(0, os.path.join(ROOT, "test", "peer"))
import peer as peer_test  # noqa: E402
BUDGET = os.environ.get("BENCH_BUDGET", "300s")
# tuned / ONNX Runtime, untuned / ONNX Runtime
BARS = {"resnet18": (0.8, 2.5), "resnet50_v1": (1.0, 2.5), "mobilenet_v2": (1.15, 2.5), "mobilenet": (None, 2.5)}


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tree(pid):
    """A process and all below it."""
    found = [pid]
    for one in found:
        try:
            with open(f"/proc/{one}/task/{one}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found


def proportional_bytes(pid):
    """Memory of a process tree, shared pages once."""
    total = 0
    for one in tree(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as file:
                total += sum(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return total


def tune(name, folder):
    """The closing event of a tuning, with the peak of its processes' memory (looked at once a second)."""
    done, peak, looked = None, 0, 0
    command = [SEER, "tune", name, "--time-budget", BUDGET, "--records", f"{folder}/records.sqlite", "-o",
               f"{folder}/tuned", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tuner:
        for line in tuner.stdout:
            if time.monotonic() - looked > 1:
                looked = time.monotonic()
                peak = max(peak, proportional_bytes(tuner.pid))
            event = json.loads(line)
            if event["event"] == "done":
                done = event
    if done is None:
        sys.exit(f"{name}: tuning failed")
    done["peak_bytes"] = peak
    return done


def workplace(name):
    """The folder of one network: a new one, kept if BENCH_KEEP says where."""
    keep = os.environ.get("BENCH_KEEP")
    if keep is None:
        return tempfile.TemporaryDirectory()
    os.makedirs(keep, exist_ok=True)
    return contextlib.nullcontext(tempfile.mkdtemp(prefix=f"{name}-", dir=keep))


def check_answer(name, folder):
    """The winners' answer against ONNX Runtime's, with 1 and 2 threads."""
    model = onnx.load(f"{folder}/{name}.onnx")
    feeds = peer_test.random_feeds(model)
    want = peer_test.reference(f"{folder}/{name}.onnx", feeds)
    for threads in (1, 2):
        with tempfile.TemporaryDirectory() as out:
            peer_test.compare(f"{name} tuned, {threads} threads", peer_test.run_ours(f"{folder}/tuned", feeds, out, threads), want)


def verdict(bar, entry):
    if bar is None:
        return ""
    return f"bar {bar}: {'met' if entry['ratio_high'] <= bar else 'MISSED'}"


def main():
    names = os.environ.get("BENCH_NETWORKS", ",".join(BARS)).split(",")
    peers = os.environ.get("BENCH_PEERS", "onnxruntime,openvino,ncnn,mnn,inductor").split(",")
    for name in names:
        with workplace(name) as folder:
            run(SEER, "models", "--export", name, "-o", folder)
            run(SEER, "compile", name, "-O1", "-o", f"{folder}/untuned")
            done = tune(name, folder)
            run(SEER, "verify", f"{folder}/tuned/model.so", name)
            check_answer(name, folder)
            for ours, bar in zip(("tuned", "untuned"), BARS.get(name, (None, None))):
                command = [sys.executable, os.path.join(ROOT, "bench", "peers.py"), "--onnx", f"{folder}/{name}.onnx",
                           "--ours", f"{ours}={folder}/{ours}/model.so", "--json"]
                for peer in peers if ours == "tuned" else peers[:1]:
                    command += ["--peer", peer]
                result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
                table = result["contenders"]
                for peer in [p for p in table if p != ours]:
                    e = table[peer]
                    mark = verdict(bar, e) if peer == "onnxruntime" else ""
                    print(f"{name:14s} {ours:8s} {table[ours]['median_ms']:8.3f} ms  {peer:12s} {e['median_ms']:8.3f} ms  "
                          f"ratio {e['ratio']:.3f} [{e['ratio_low']:.3f}, {e['ratio_high']:.3f}]  {mark}", flush=True)
                for peer, reason in result["left_out"].items():
                    print(f"{name:14s} {ours:8s} {'':11s}  {peer:12s} left out: {reason}", flush=True)
            weights = os.path.getsize(f"{folder}/{name}.onnx")
            print(f"{name:14s} memory   {done['peak_bytes'] / 2**20:.0f} MiB at most, {(done['peak_bytes'] - weights) / 2**20:.0f} MiB above the "
                  f"weights, packed weights {os.path.getsize(f'{folder}/tuned/weights.bin') / weights:.2f} times the model", flush=True)
            print(f"{name:14s} search   {done['trials']} measurements, {done['trials_per_s']:.1f} a second, idle "
                  f"{100 * done['idle_share']:.1f} %, drafted {done['drafted']}, scored {done['scored']}, sum of tasks "
                  f"{done['estimated_ms']:.3f} ms", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:  # --help included: what follows takes half an hour
        sys.exit(__doc__)
    main()
