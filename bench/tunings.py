#!/usr/bin/env python3
"""The fastest time of each task of tunings that BENCH_KEEP kept, as lines for the test that holds them against bounds:

    bench/tunings.py build/familyseer KEPT/resnet18-* KEPT/bert_base-* > test/data/tunings.jsonl

A line has what a bound follows from (DAG, how often the network runs the task and, by all lines of a network, its weights) and
the shortest time in seconds that was measured whole, not cut short by racing. A line of the target stands before those of a
network.
"""
import json
import pathlib
import subprocess
import sys


def ask(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def shortest(records):
    """{key of a task: its line of the shortest time}"""
    best = {}
    for line in map(json.loads, records.splitlines()):
        if line["class"] != "ok" or line["raced"] or line["twin"] or not line["samples"]:
            continue
        key = f"{int(line['workload']['structure'], 16):016x}-{int(line['workload']['shape'], 16):016x}"
        if key not in best or line["seconds"] < best[key]["seconds"]:
            best[key] = line
    return best


def lines_of(program, folder):
    (model,) = folder.glob("*.onnx")
    best = shortest(ask(program, "records", "export", "--records", str(folder / "tuned.sqlite")))
    yield {"network": model.stem, "target": next(iter(best.values()))["target"]["text"]}
    for task in json.loads(ask(program, "tasks", str(model), "--json"))["tasks"]:
        record = best[task["key"]]
        yield {"task": task["name"], "times": task["weight"], "weight_bytes": task["weight_bytes"],
               "seconds": record["seconds"], "dag": record["workload"]["dag"]}


for name in sys.argv[2:]:
    for line in lines_of(sys.argv[1], pathlib.Path(name)):
        print(json.dumps(line))
