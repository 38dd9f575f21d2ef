#!/usr/bin/env python3
"""How well a cost model that knew the true times would be seen to rank at the top, where times are those of one measurement.

    bench/ceiling.py bench/tables/x86_64-512-l2_1024k.gz

Of each task in a table of times (doc/study.md) the schedules that were visited at least three times. The first visit stands
for the one measurement that a search has, the median of the others for the truth, which it only comes near to. For 16 schedules
that are drawn of the truly best 64, 128, ...: the rank correlation of the two. And of the best 1 % by the first visit, how many
are among the truly fastest 16 (`study regret` has the same of cost models: rank, recall).
"""
import argparse
import collections
import gzip
import json
import random
import statistics

PICKS = 16
DRAWS = 50


def schedules(path):
    """{task: [(first visit, median of the others)]}, the truly fastest first"""
    times = collections.defaultdict(list)
    with gzip.open(path, "rt") as file:
        for line in map(json.loads, file):
            visits = line.get("visits", [])
            if "of" in line and len(visits) >= 3:
                times[line["of"]].append((visits[0], statistics.median(visits[1:])))
    return {task: sorted(of, key=lambda time: time[1]) for task, of in times.items()}


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(times):
    first, truth = zip(*times)
    return statistics.correlation(ranks(first), ranks(truth))


def recall(times):
    best = sorted(times)[:max(1, len(times) // 100)]
    picks = times[:PICKS]
    return sum(time in picks for time in best) / min(PICKS, len(best))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("table")
    tasks = [times for times in schedules(parser.parse_args().table).values() if len(times) >= 64]
    if not tasks:
        parser.error("no task has 64 schedules that were visited three times")
    rng = random.Random(1)
    print(f"{len(tasks)} tasks, {sum(map(len, tasks))} schedules that were visited three times or more")
    for n in (64, 128, 256, 512):
        of = [times[:n] for times in tasks if len(times) >= n]
        if of:
            drawn = statistics.mean(correlation(rng.sample(best, PICKS)) for best in of for _ in range(DRAWS))
            print(f"rank correlation, {PICKS} of the best {n:3}: {drawn:.2f} ({len(of)} tasks)")
    print(f"recall of the best 1 % at {PICKS} picks: {statistics.mean(map(recall, tasks)):.2f}")


if __name__ == "__main__":
    main()
