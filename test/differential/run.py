#!/usr/bin/env python3
"""A differential test of operators: `make check-operators`.

    run.py [--cases N] [--graphs N] [--seed N] [--case OP:NUMBER] [--only TEXT] [--jobs N] [--keep DIR]

Every operator that `familyseer list operators` shows, with random types, opsets, attributes, shapes and values, at -O0, -O1
and three random schedules, against ONNX Runtime and against the same in f64 (judge.py says what is right). Cases of one
opset are compiled together, forty a file; a finding is reproduced by its case alone (--case Conv:17 --seed 1). A random graph is a
case of the operator "graph". Status 1:
something differs, crashes, is refused without a word of it in doc/operators.md, or an operator has no cases. Of what fails, the smallest
case that does so is looked for (shrink.py) and shown.
"""
import argparse
import collections
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
import traceback

import numpy as np

sys.dont_write_bytecode = True
import batch  # noqa: E402
import case as cases  # noqa: E402
import graphs  # noqa: E402
import operators  # noqa: E402
import known  # noqa: E402
import refusals  # noqa: E402
import shrink  # noqa: E402

BATCH = 40
MAX_TRIES = 50
SHRUNK, SHRINK_SECONDS = 10, 60  # of so many findings the smallest case is looked for, so long each
GRAPH = "graph"  # as the operator of a random graph: --case graph:17


def listed():
    """The operators of the program."""
    done = subprocess.run([batch.SEER, "list", "operators", "--json"], capture_output=True, text=True, check=True)
    return [entry["name"] for entry in json.loads(done.stdout)]


def without_cases(ops):
    return [op for op in ops if op not in operators.MAKERS]


def attempt_case(op, number, seed, max_opset, attempt, draws=None):
    """One draw; None where there is no such case."""
    m = cases.Maker(op, number, seed, max_opset, attempt, draws or (lambda rng: rng))
    try:
        (graphs.make if op == GRAPH else operators.MAKERS[op])(m)
        return m.case
    except cases.NoCase:
        return None
    except (ValueError, IndexError, ZeroDivisionError):
        if m.hollow or draws:  # a generator that takes extents from 1 on, or draws of another case
            return None
        raise


def make_case(op, number, seed, max_opset):
    """The case; None where fifty draws have found none."""
    for attempt in range(MAX_TRIES):
        case = attempt_case(op, number, seed, max_opset, attempt)
        if case:
            case.attempt = attempt
            return case
    return None


def smallest(op, number, seed, max_opset, fails, seconds):
    """The smallest case of which fails(case) is true, made of this one."""
    attempt = make_case(op, number, seed, max_opset).attempt

    def make(decisions, arrays):
        kept = []
        case = attempt_case(op, number, seed, max_opset, attempt, lambda rng: kept.append(shrink.Draws(rng, decisions, arrays)) or kept[0])
        return case and (case, kept[0])
    return shrink.smallest(make, fails, seconds)


def smaller(finding, seed, max_opset):
    """The smallest case that fails as the finding does."""
    def fails(case):
        session = batch.Session()
        session.check([case], [finding.level] if finding.level else batch.LEVELS)
        return any(f.kind == finding.kind for f in session.findings)
    op, _, number = finding.case.rpartition(":")
    return smallest(op, int(number), seed, max_opset, fails, SHRINK_SECONDS)


def draw(ops, count, seed, max_opset):
    """`count` cases, the operators in turn; in batches of one opset."""
    made, number = [], 0
    while len(made) < count and number < count:
        for op in ops:
            if len(made) < count:
                one = make_case(op, number, seed, max_opset)
                if one:
                    made.append(one)
        number += 1
    return made


def batches(made):
    by_opset = collections.defaultdict(list)
    for one in made:
        by_opset[one.opset].append(one)
    out = []
    for _, group in sorted(by_opset.items()):
        parts = -(-len(group) // BATCH)
        out += [group[i::parts] for i in range(parts)]
    return out


def work(todo, results, keep):
    """A process that judges batches until there are none."""
    while True:
        group = todo.get()
        if group is None:
            return
        session = batch.Session(keep)
        try:
            session.check(group)
        except Exception:
            session.findings.append(batch.Finding(group[0].name, "", "broken", traceback.format_exc(), ""))
        results.put((len(group), session.judged, session.findings, session.fused, session.tiled))


class Report:
    """Says what is found as it comes; counts."""

    def __init__(self, seed):
        self.undefined, self.found, self.fused, self.tiled = 0, [], set(), set()
        self.seed, self.failures, self.stated, self.open = seed, 0, collections.Counter(), collections.Counter()

    def add(self, f):
        op = f.case.rpartition(":")[0]
        if f.kind == "undefined":
            self.undefined += 1
            return
        if f.kind == "refused" and refusals.stated(op, f.what):
            self.stated[op, f.what] += 1
            return
        why = next((w for o, pattern, w in known.OPEN if re.fullmatch(o, op) and re.search(pattern, f.what)), None)
        if why:
            self.open[op, why] += 1
            return
        self.failures += 1
        self.found.append(f)
        print(f"{f.kind}: --seed {self.seed} --case {f.case} {f.level}: {f.what}\n    {f.about}", flush=True)

    def end(self):
        if self.undefined:
            print(f"tensors without elements of which no reference says what is right: {self.undefined:4d}")
        for (op, what), n in sorted(self.stated.items()):
            print(f"refused as stated: {n:4d}  {op}: {what}")
        for (op, why), n in sorted(self.open.items()):
            print(f"known and open: {n:4d}  {op}: {why}")


def count(names):
    return sum(name.startswith(GRAPH + ":") for name in names)


def judge_all(groups, jobs, keep, report):
    """The number of cases that are right at all levels."""
    todo, results = multiprocessing.Queue(), multiprocessing.Queue()
    for group in groups:
        todo.put(group)
    workers = [multiprocessing.Process(target=work, args=(todo, results, keep), daemon=True) for _ in range(jobs)]
    for _ in workers:
        todo.put(None)
    for w in workers:
        w.start()
    judged, seen, total, begin = 0, 0, sum(map(len, groups)), time.monotonic()
    for k in range(len(groups)):
        n, good, found, fused, tiled = results.get()
        judged, seen = judged + good, seen + n
        report.fused |= fused
        report.tiled |= tiled
        for f in found:
            report.add(f)
        if k % 10 == 9 or k == len(groups) - 1:
            print(f"  {seen} of {total} cases, {report.failures} failures, {time.monotonic() - begin:.0f} s", flush=True)
    for w in workers:
        w.join()
    return judged


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--cases", type=int, default=400)
    flags.add_argument("--graphs", type=int, default=0)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--case", action="append", default=[])
    flags.add_argument("--only", default="")
    flags.add_argument("--jobs", type=int, default=os.cpu_count())
    flags.add_argument("--keep", default="")
    flags.add_argument("--max-opset", type=int, default=refusals.newest_opset())
    args = flags.parse_args()
    ops, failures = listed(), 0
    for op in without_cases(ops):
        print(f"{op}: no cases: test/differential/operators.py needs a line that says how they are made")
        failures += 1
    if args.case:
        made = [make_case(c.rpartition(":")[0], int(c.rpartition(":")[2]), args.seed, args.max_opset) for c in args.case]
    else:
        made = draw([op for op in ops if op in operators.MAKERS and args.only in op], args.cases, args.seed, args.max_opset)
        made += draw([GRAPH], args.graphs, args.seed, args.max_opset)
    groups = batches(made)
    np.random.default_rng(args.seed).shuffle(groups)  # a run that is cut short has seen a bit of everything
    report = Report(args.seed)
    judged = judge_all(groups, args.jobs, args.keep, report)
    report.end()
    for f in report.found[:SHRUNK]:
        if f.kind in ("differs", "refused", "compile", "crash"):
            small = smaller(f, args.seed, args.max_opset)
            print(f"{f.kind}: {f.case} {f.level}: the smallest that does so: {small.describe()}", flush=True)
    failures += report.failures
    n = sum(c.op == GRAPH for c in made)
    if n:
        print(f"of {n} graphs {count(report.fused)} have operators that are one step, {count(report.tiled)} have tiled loops, under random schedules")
    print(f"{judged} of {len(made)} cases agree at all levels; {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
