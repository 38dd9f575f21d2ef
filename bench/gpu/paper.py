#!/usr/bin/env python3
"""The networks of FamilySeer's evaluation compiled for GPUs that are not here: a table of what their kernels take by the estimate by waves.

    bench/gpu/paper.py [--targets cuda:v100,cuda:t4,cuda:a100,cuda:h100] [--networks NAME,...] [--nvrtc LIBRARY] [--keep FOLDER]

`compile --emit kernels -O1` of each (batch 1, f32, untuned); for each target the kernels and what they spill, the share of items in hand
(of kernels, the median), the sum of the estimates and of the bounds over the steps of the network, and beside them what others have
published for the same network on that device. Status 1 where a kernel does not compile or spills. KEEP has kernels.txt of each: the same
for each kernel.

CUDA 13's NVRTC does not know V100 (sm_70): `pip install nvidia-cuda-nvrtc-cu12` brings one that does (tool/deps.sh gpu does so).
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NETWORKS = ("resnet50_v1", "resnet152_v2", "mobilenet", "mobilenet_v2", "vit_huge", "bert_large", "roberta_large", "gpt2_small")
# Latencies [ms] at batch 1 in f32, and where they stand. FamilySeer's own are ratios alone.
PUBLISHED = {
    ("cuda:v100", "resnet50_v1"): (2.68, "TensorRT 4 (gist of 1duo, 2018)"),
    ("cuda:t4", "resnet50_v1"): (2.90, "Ansor (TLCBench); AutoTVM 3.54"),
    ("cuda:t4", "mobilenet_v2"): (0.57, "Ansor (TLCBench); AutoTVM 0.74"),
}
AGES = {"cuda:v100": 12}  # needs an NVRTC of CUDA 12


def old_nvrtc():
    found = glob.glob(os.path.join(ROOT, ".venv", "lib", "python3*", "site-packages", "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.12"))
    return found[0] if found else None


def tables(network, target, nvrtc, folder):
    command = [os.path.join(ROOT, "build", "familyseer"), "compile", network, "--target", target, "--emit", "kernels", "-O1", "-o", folder]
    if nvrtc:
        command += ["--nvrtc", nvrtc]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    with open(os.path.join(folder, "kernels.json"), encoding="utf-8") as file:
        return json.load(file)


def summary(table):
    kernels = [kernel for task in table["tasks"] for kernel in task["kernels"]]
    return {
        "tasks": len(table["tasks"]),
        "kernels": len(kernels),
        "spill": sum(kernel["spilled_bytes"] > 0 for kernel in kernels),
        "occupancy": statistics.median(kernel["occupancy"]["share"] for kernel in kernels),
        "estimate_ms": sum(task["steps"] * task["estimate_us"] for task in table["tasks"]) * 1e-3,
        "bound_ms": sum(task["steps"] * task["bound"]["us"] for task in table["tasks"]) * 1e-3,
        "host": len(table["host"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cuda:v100,cuda:t4,cuda:a100,cuda:h100")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--nvrtc", help="for devices that the toolkit's does not know")
    parser.add_argument("--keep", help="a new folder for all tables and kernels")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        print("| device | network | tasks | kernels | spill | items in hand | estimate [ms] | bound [ms] | published [ms] |")
        print("|---|---|---|---|---|---|---|---|---|")
        for target in args.targets.split(","):
            nvrtc = (args.nvrtc or old_nvrtc()) if target in AGES or target == "cuda:sm_70" else None
            for network in args.networks.split(","):
                folder = os.path.join(args.keep or scratch, f"{network}-{target.replace(':', '-')}")
                os.makedirs(os.path.dirname(folder), exist_ok=True)
                row = summary(tables(network, target, nvrtc, folder))
                bad += row["spill"]
                published = PUBLISHED.get((target, network))
                print(f"| {target} | {network} | {row['tasks']} | {row['kernels']} | {row['spill']} | {row['occupancy']:.0%} "
                      f"| {row['estimate_ms']:.2f} | {row['bound_ms']:.2f} "
                      f"| {f'{published[0]:.2f}, {published[1]}' if published else ''} |", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
