#!/usr/bin/env python3
"""Latency of a tuned network against its peers, as ratios of things interleaved in one run.

    bench/peers.py --onnx net.onnx --ours tuned=out/model.so --ours untuned=out1/model.so --peer onnxruntime --threads 2

Each contender is a process of its own, stopped (SIGSTOP) while another one runs. Blocks of at least --block ms alternate
in random order, at least --blocks of them; the ratio of two contenders is the median of the ratios of their blocks of the
same round, with a 95 % bootstrap interval. Prints a table, or one JSON object with --json.
"""
import argparse
import atexit
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- a contender: reads "<milliseconds>" lines, runs that long, answers the median latency [ms] of its runs
KINDS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool, "tensor(double)": np.float64}


def values(rng, shape, dtype):
    """Random numbers; 0 and 1 for integers, which may be indices or flags."""
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def make_ours(path, threads):
    sys.path.insert(0, os.path.join(HERE, "..", "python"))
    import familyseer
    model = familyseer.Model(path, threads=threads, pin=True)
    rng = np.random.default_rng(1)
    feeds = {v.name: values(rng, v.shape, v.dtype) for v in model.inputs}
    return lambda: model.run(feeds)


def make_onnxruntime(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    feeds = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        feeds[value.name] = values(rng, shape, KINDS.get(value.type, np.float32))
    return lambda: session.run(None, feeds)


def make_openvino(path, threads):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": str(threads), "NUM_STREAMS": "1",
                                                "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    rng = np.random.default_rng(1)
    feeds = {p.any_name: values(rng, list(p.shape), p.element_type.to_dtype()) for p in compiled.inputs}
    return lambda: request.infer(feeds)


MAKERS = {"ours": make_ours, "onnxruntime": make_onnxruntime, "openvino": make_openvino}


def contend(kind, path, threads):
    run = MAKERS[kind](path, threads)
    for _ in range(5):
        run()
    print("ready", flush=True)
    for line in sys.stdin:
        budget, times = float(line) * 1e-3, []
        start = time.perf_counter()
        while len(times) < 3 or time.perf_counter() - start < budget:
            before = time.perf_counter()
            run()
            times.append(time.perf_counter() - before)
        print(repr(statistics.median(times) * 1e3), flush=True)


# ---- the parent
class Contender:
    def __init__(self, name, kind, path, threads):
        self.name = name
        command = [sys.executable, os.path.abspath(__file__), "--contend", kind, path, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.end)  # one that is stopped would outlive us
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"{name}: does not start")
        self.stop()

    def stop(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def block(self, milliseconds):
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(f"{milliseconds}\n")
        self.process.stdin.flush()
        latency = float(self.process.stdout.readline())
        self.stop()
        return latency

    def end(self):
        self.process.kill()
        self.process.wait()


def interval(ratios, rng):
    """95 % bootstrap interval of the median."""
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(1000))
    return medians[25], medians[974]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--onnx", help="the network, for the peers")
    parser.add_argument("--ours", action="append", default=[], help="name=model.so; the first one is compared")
    parser.add_argument("--peer", action="append", default=[], choices=["onnxruntime", "openvino"])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--block", type=float, default=300, help="ms")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.contend:
        contend(args.contend[0], args.contend[1], args.threads)
        return
    contenders = []
    for text in args.ours:
        name, _, path = text.rpartition("=")
        contenders.append(Contender(name or "familyseer", "ours", path, args.threads))
    contenders += [Contender(peer, peer, args.onnx, args.threads) for peer in args.peer]
    rng = random.Random(args.seed)
    latency = {c.name: [] for c in contenders}
    for _ in range(args.blocks):
        for c in rng.sample(contenders, len(contenders)):
            latency[c.name].append(c.block(args.block))
    for c in contenders:
        c.end()
    first = contenders[0].name
    result = {"threads": args.threads, "blocks": args.blocks, "block_ms": args.block, "contenders": {}}
    for name, values in latency.items():
        entry = {"median_ms": statistics.median(values), "min_ms": min(values)}
        if name != first:
            ratios = [a / b for a, b in zip(latency[first], values)]
            entry["ratio"] = statistics.median(ratios)
            entry["ratio_low"], entry["ratio_high"] = interval(ratios, rng)
        result["contenders"][name] = entry
    if args.json:
        print(json.dumps(result))
        return
    print(f"{'':16s} {'median':>10s} {'min':>10s}   {first} / this")
    for name, entry in result["contenders"].items():
        ratio = f"{entry['ratio']:.3f} [{entry['ratio_low']:.3f}, {entry['ratio_high']:.3f}]" if "ratio" in entry else ""
        print(f"{name:16s} {entry['median_ms']:7.3f} ms {entry['min_ms']:7.3f} ms   {ratio}")


if __name__ == "__main__":
    main()
