#!/usr/bin/env python3
"""Networks after a tuning: against the sum of their parts, an earlier familyseer, and what people get for nothing.

    BENCH_BUDGET=300s BENCH_NETWORKS=resnet18,yolov8n:size=320 BENCH_BEFORE=old/build/familyseer bench/bench_networks.py

BENCH_NETWORKS   names, with options behind a colon; further options of one are told from names by their `=`
BENCH_BUDGET     of each tuning, from nothing; 300s
BENCH_THREADS    of one inference; 2
BENCH_PEERS      of onnxruntime, openvino (in f32), openvino-default (in the precision that it chooses), ncnn, mnn, inductor
                 (PyTorch's, with freezing and max-autotune); the first three. The first one's answer is what all others are held
                 against. Each row says what all of them ran in; the fastest peer is of those that ran in what the network did
BENCH_BEFORE     another familyseer: it tunes with the same budget, and both libraries take turns
BENCH_ALSO       one: the same library and the peers with one thread; four: four sessions at once (bench/sessions.c)
BENCH_KEEP       folder for bench.json, bench.md, and records, libraries and reports of each network. Otherwise the first
                 two are in out/bench, and the others are gone

Everything that is compared takes turns in one run (bench/peers.py), with 95 % intervals. A row is written as soon as it is
there. measure.py is what is measured, table.py what is said of it, and the bars. Status 1 if a network failed.
"""
import json
import os
import sys
import time

import measure
import table

NETWORKS = ("resnet18,resnet50_v1,mobilenet_v2,efficientnet_b0,bert_base:sequence=128,vit_base,yolov8n:size=320,"
            "yolov8n:size=640,densenet121,swin_t,shufflenet_v2,mobilenet")


def listed(variable, otherwise, allowed=None):
    """The words of an environment variable."""
    words = [word for word in os.environ.get(variable, otherwise).split(",") if word]
    for word in words:
        if allowed and word not in allowed:
            sys.exit(f"{variable}: '{word}' is not one of {', '.join(allowed)}")
    return words


def networks():
    """Their names: what has an `=` and no colon is one more option of the name before it."""
    names = []
    for word in listed("BENCH_NETWORKS", NETWORKS):
        if names and "=" in word and ":" not in word:
            names[-1] += "," + word
        else:
            names.append(word)
    return names


def setting():
    before = os.environ.get("BENCH_BEFORE") or None
    if before and not (os.path.isfile(before) and os.access(before, os.X_OK)):
        sys.exit(f"BENCH_BEFORE: there is no program {before}")
    known = [kind for kind in measure.peer_bench.MAKERS if kind != "ours"]
    return measure.Setting(budget=os.environ.get("BENCH_BUDGET", "300s"), threads=int(os.environ.get("BENCH_THREADS", "2")),
                           peers=listed("BENCH_PEERS", "onnxruntime,openvino,openvino-default", known),
                           before=before and os.path.abspath(before), also=listed("BENCH_ALSO", "", ["one", "four"]),
                           keep=os.environ.get("BENCH_KEEP") or None)


def write(folder, result):
    for name, text in (("bench.json", json.dumps(result, indent=1)), ("bench.md", table.markdown(result))):
        with open(os.path.join(folder, name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(os.path.join(folder, name + ".new"), os.path.join(folder, name))


def main():
    asked, rows = setting(), []
    folder = asked.keep or os.path.join(measure.ROOT, "out", "bench")
    os.makedirs(folder, exist_ok=True)
    result = {"began": time.strftime("%Y-%m-%d %H:%M:%S"), "machine": measure.machine(), "threads": asked.threads,
              "budget": asked.budget, "before": asked.before, "also": asked.also,
              "peers": {peer: measure.version(peer) for peer in asked.peers}, "bars": table.BARS, "networks": rows}
    for name in networks():
        rows.append(measure.measure(name, asked))
        result["closing"] = table.closing(result)
        write(folder, result)
        print(table.one_line(rows[-1], result), flush=True)
    print("", *result["closing"], f"The tables: {folder}/bench.md, everything: {folder}/bench.json", sep="\n")
    return any("failed" in row for row in rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:  # --help included: what follows takes hours
        sys.exit(__doc__)
    sys.exit(main())
