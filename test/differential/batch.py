"""Many cases compiled as one file, run in a child process, and held against the references; what fails is bisected.

A child that crashes or hangs costs a case: whatever runs foreign code (libraries under test, references) is forked, its
results come back through a pipe.
"""
import json
import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
import familyseer  # noqa: E402

import data  # noqa: E402
import judge  # noqa: E402
from case import model_of  # noqa: E402

SEER = os.environ.get("FAMILYSEER", os.path.join(ROOT, "build", "familyseer"))
LEVELS = ("-O0", "-O1", "--random-schedules=1", "--random-schedules=2", "--random-schedules=3")
THREADS = {"-O1": 2, "--random-schedules=2": 2}  # else one
# What may have no step without being part of another one's.
MOVES = ("Reshape", "Transpose", "Slice", "Split", "Concat", "Pad", "Gather", "Identity", "Cast")
RUN_SECONDS, COMPILE_SECONDS = 120, 600


@dataclass
class Finding:
    case: str
    level: str
    kind: str  # "differs", "refused", "crash", "compile", "no reference", "undefined"
    what: str
    about: str = ""


def in_child(work, seconds=RUN_SECONDS):
    """What work() returns, computed in a fork; raises RuntimeError with how the child ended otherwise."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            with os.fdopen(writer, "wb") as pipe:
                try:
                    result = (True, work())
                except Exception as problem:
                    result = (False, f"{type(problem).__name__}: {problem}")
                pickle.dump(result, pipe, protocol=4)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    chunks, end = [], time.monotonic() + seconds
    timed_out = False
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            timed_out = True
            break
        chunk = os.read(reader, 1 << 20)
        if not chunk:
            break
        chunks.append(chunk)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if timed_out:
        raise RuntimeError(f"still running after {seconds} s")
    if os.WIFSIGNALED(status):
        raise RuntimeError(f"ended by {signal.Signals(os.WTERMSIG(status)).name}")
    ok, result = pickle.loads(b"".join(chunks))
    if not ok:
        raise RuntimeError(result)
    return result


def compile_cases(cases, level, folder):
    """None, or what the compiler says."""
    path = os.path.join(folder, "model.onnx")
    onnx.save(model_of(cases), path)
    flags = ["--ignore-records", "--threads", str(THREADS.get(level, 1))]
    try:
        done = subprocess.run([SEER, "compile", path, "-o", os.path.join(folder, "out"), level, *flags],
                              capture_output=True, text=True, check=False, timeout=COMPILE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"the compiler is still running after {COMPILE_SECONDS} s"
    if done.returncode == 0:
        return None
    how = f"ended by {signal.Signals(-done.returncode).name}: " if done.returncode < 0 else ""
    return how + done.stderr.strip().removeprefix("familyseer compile: ")


def run_library(cases, folder, threads):
    """[{output: (elem, array)}] for each set."""
    model = familyseer.Model(os.path.join(folder, "out"), threads=threads)
    elems = {}
    for info in (model._api.set_output(model._shared.model, 0, i).contents for i in range(len(model.outputs))):
        elems[info.name.decode()] = info.onnx_dtype
    answers = []
    for k in range(len(data.SETS)):
        got = model.run({n: x for c in cases for n, x in c.sets[k].items()})
        answers.append({n: (elems[n], x) for n, x in got.items()})
    return answers


def references_of(cases):
    """{case name: [references of each output, for each set] or a sentence why there are none}."""
    found = {}
    for case in cases:
        try:
            both = judge.References(case)
            found[case.name] = [both.of(k) for k in range(len(data.SETS))]
        except judge.NoReference as why:
            found[case.name] = str(why) or "no reference"
    return found


def references_for(cases):
    """As references_of, in a child; a reference that crashes costs the case."""
    try:
        return in_child(lambda: references_of(cases))
    except RuntimeError as why:
        if len(cases) == 1:
            return {cases[0].name: f"the reference {why}"}
        half = len(cases) // 2
        return references_for(cases[:half]) | references_for(cases[half:])


def blame(cases, message):
    """The cases that the compiler's message names."""
    names = set(re.findall(r"[A-Za-z0-9_]+?_\d+__", message))
    return [c for c in cases if c.prefix in names]


def reason(message):
    """A refusal without what is the case's own: names, shapes, numbers."""
    first = [line for line in message.splitlines() if "nodes use operators" not in line][0]
    first = re.sub(r"'?[A-Za-z0-9_]+?_\d+__\w*'?", "NAME", first)
    return re.sub(r"-?\d+(\.\d+)?", "N", first).strip()


class Session:
    """Judges batches; gathers findings."""

    def __init__(self, keep=None):
        self.keep = keep  # folder for files of cases that fail
        self.findings = []
        self.judged = 0
        self.fused, self.tiled = set(), set()  # names of cases, under random schedules

    def check(self, cases, levels=None):
        """All levels (or those) of cases of one opset."""
        references = references_for(cases)
        rest = []
        for case in cases:
            if isinstance(references[case.name], str):
                kind = "undefined" if case.hollow else "no reference"  # of no elements often nobody says what is right
                self.add(case, "", kind, references[case.name])
            else:
                rest.append(case)
        for level in levels or LEVELS:
            rest = self.at_level(rest, level, references)
        self.judged += len(rest)

    def add(self, case, level, kind, what):
        self.findings.append(Finding(case.name, level, kind, what, case.describe()))

    def at_level(self, cases, level, references):
        """Compiles, runs and judges; returns the cases that go on to the next level."""
        if not cases:
            return []
        with tempfile.TemporaryDirectory(prefix="seer-differential-") as folder:
            refused = compile_cases(cases, level, folder)
            if refused is not None:
                return self.without(cases, level, references, refused)
            try:
                answers = in_child(lambda: run_library(cases, folder, THREADS.get(level, 1)))
            except RuntimeError as why:
                if len(cases) == 1:
                    self.add(cases[0], level, "crash", str(why))
                    return []
                half = len(cases) // 2
                parts = self.at_level(cases[:half], level, references) + self.at_level(cases[half:], level, references)
                if len(parts) == len(cases):  # together only
                    self.add(cases[0], level, "crash", f"with {len(cases) - 1} others only: {why}")
                    self.store(cases, folder, f"{cases[0].prefix}batch")
                return parts
            if level.startswith("--random"):
                self.see_schedules(cases, os.path.join(folder, "out"))
            good = []
            for case in cases:
                wrong = self.compare(case, answers, references[case.name])
                if wrong:
                    self.add(case, level, "differs", wrong)
                    self.store([case], None, f"{case.prefix}{level.strip('-').replace('=', '')}")
                else:
                    good.append(case)
            return good

    def without(self, cases, level, references, message):
        """The batch less what the message names; halves where it names nothing."""
        named = blame(cases, message)
        crashed = message.startswith(("ended by", "the compiler is"))
        if len(cases) == 1 or (named and not crashed):
            named = named or cases
            for case in named:
                kind = "crash" if crashed else "refused" if level == LEVELS[0] else "compile"
                self.add(case, level, kind, message if crashed else reason(message))
            return self.at_level([c for c in cases if c not in named], level, references)
        half = len(cases) // 2
        parts = self.at_level(cases[:half], level, references) + self.at_level(cases[half:], level, references)
        if len(parts) == len(cases):
            self.add(cases[0], level, "compile", f"with {len(cases) - 1} others only: {message[:300]}")
        return parts

    def see_schedules(self, cases, library):
        """Which cases have operators in the step of another one, and loops whose inner part is no extent of theirs: split ones."""
        with open(os.path.join(library, "model.json"), encoding="utf-8") as file:
            made = json.load(file)
        factors = {t["id"]: {int(f) for line in re.findall(r"split \S+((?: \d:\d+)+)", t["schedule"]) for f in re.findall(r":(\d+)", line)}
                   for t in made["tasks"]}
        for case in cases:
            steps = [s for s in made["steps"] if s["name"].startswith(case.prefix)]
            first = {s["name"].partition(".")[0] for s in steps}
            if any(n.name not in first for n in case.nodes if n.op_type not in MOVES):
                self.fused.add(case.name)
            shapes = [s for _, _, s in case.inputs] + [a.shape for _, _, a in case.constants] + [s for s, _ in case.shapes.values()]
            whole = {int(np.prod(s[a:b])) for s in shapes for a in range(len(s)) for b in range(a + 1, len(s) + 1)} | {1}
            if any(factors.get(s.get("task"), set()) - whole for s in steps):
                self.tiled.add(case.name)

    @staticmethod
    def compare(case, answers, references):
        for k, answer in enumerate(answers):
            for i, name in enumerate(case.outputs):
                elem, got = answer[name]
                wrong = judge.difference(case, k, got, elem, references[k][i])
                if wrong:
                    return f"output {i}: {wrong}"
        return None

    def store(self, cases, folder, name):
        if not self.keep:
            return
        os.makedirs(self.keep, exist_ok=True)
        if folder:
            shutil.copy(os.path.join(folder, "model.onnx"), os.path.join(self.keep, f"{name}.onnx"))
        else:
            onnx.save(model_of(cases), os.path.join(self.keep, f"{name}.onnx"))
        arrays = {f"{s}/{n}": x for c in cases for k, s in enumerate(data.SETS) for n, x in c.sets[k].items()}
        np.savez(os.path.join(self.keep, f"{name}.npz"), **arrays)
