"""Schedules that tunings on a GPU have timed (bench/gpu/times-h200.jsonl.gz) are schedules still: a few of each task are read,
lowered and estimated again without a device, and one that is none is said to be.

SEER_TEST: timeout=120 cost=15
"""
import gzip
import json
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("TEST_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.path.abspath(os.environ.get("TEST_BUILD_DIR", "build"))
A_TASK = 14


def replay(lines):
    done = subprocess.run([os.path.join(BUILD, "bench", "gpu_times")], input="".join(json.dumps(line) + "\n" for line in lines),
                          capture_output=True, text=True, timeout=300)
    print(done.stdout[-300:], done.stderr[-1000:])
    said = re.search(r"(\d+) tasks, (\d+) measurements, (\d+) refused", done.stdout)
    return done.returncode, [int(word) for word in said.groups()] if said else None


def main():
    with gzip.open(os.path.join(SOURCE, "bench", "gpu", "times-h200.jsonl.gz"), "rt") as stream:
        lines = [json.loads(line) for line in stream]
    tasks = [line for line in lines if "dag" in line]
    rows, n = [], {}
    for line in lines:
        key = line["task"]
        if "dag" in line or line["class"] != "ok" or n.get(key, 0) == A_TASK:
            continue
        n[key] = n.get(key, 0) + 1
        rows.append(line)
    status, counts = replay([*tasks, *rows])
    assert status == 0 and counts == [len(tasks), len(rows), 0], (status, counts, len(tasks), len(rows))
    # A word that no schedule has.
    wrong = {**rows[0], "schedule": "none" + rows[0]["schedule"]}
    status, counts = replay([*[task for task in tasks if task["task"] == wrong["task"]], wrong, rows[0]])
    assert status == 1 and counts[1:] == [2, 1], (status, counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
