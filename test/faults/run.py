#!/usr/bin/env python3
"""Planted faults: `make check-faults`. Which of our tests sees which wrong line, and whether any does.

    run.py [--only TEXT] [--ladder | --near] [--list-only] [--work DIR] [--jobs N] [--out FILE]

The table (table_*.py) names a file, a text that it has once, what is to stand there, and what kind of fault that is. Each is
planted alone into a copy of the tree with a build folder of its own, built, and looked for: first where it is likely to be
seen (its line `near`, tests of ctest by a regular expression, and the differential test's cases of the operators concerned),
then down the ladder - the quick tests, the differential test's cases and its sample, the peer tests, `verify` of built-in
networks - until something fails. `--ladder` leaves out the first look, so that the table says which rung of the ladder sees a
fault; `--near` is content with it.

A test that fails without any fault proves nothing: all that are asked first run on the tree as it is, before. A fault
whose text is gone, or that the compiler refuses, fails by name. Status 1: fewer than MIN_SHARE are seen, or the table is stale.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from table import AREAS, FAULTS  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIN_FAULTS, MIN_SHARE = 50, 0.96
CASES = 8  # of an operator that a fault concerns, in the differential test
TIMEOUT = 3600  # of one rung: a fault may make a loop without end
VERIFIED = ("mlp", "squeezenet1_1", "mobilenet_0.25", "distilbert:sequence=16")


def run(command, cwd, timeout=TIMEOUT, env=None):
    """(status, what it said); a command without end has status 124."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=timeout,
                              env={**os.environ, **(env or {})}, check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as e:
        return 124, f"no end within {timeout} s: {e.cmd}"


# ---- the table against the tree

def stale(fault, root):
    """Why the fault cannot be planted; None if it can."""
    path = os.path.join(root, fault.file)
    if not os.path.exists(path):
        return f"there is no {fault.file}"
    with open(path, encoding="utf-8") as f:
        n = f.read().count(fault.old)
    if n != 1:
        return f"{fault.file} has the text {n} times, must have it once: {fault.old.strip().splitlines()[0]!r}"
    return "the new text is the old one" if fault.new == fault.old else None


def complaints(root):
    names = [f.name for f in FAULTS]
    out = [f"{n}: is there twice" for n in sorted({n for n in names if names.count(n) > 1})]
    out += [f"{f.name}: {why}" for f in FAULTS if (why := stale(f, root))]
    out += [f"no fault in {area}" for area in AREAS if not any(f.file.startswith(area) for f in FAULTS)]
    if len(FAULTS) < MIN_FAULTS:
        out.append(f"{len(FAULTS)} faults, must be at least {MIN_FAULTS}")
    return out


# ---- the copy

class Tree:
    """A copy of the working tree, with its own build folder."""

    def __init__(self, work, jobs):
        self.root, self.build, self.jobs = os.path.join(work, "tree"), os.path.join(work, "tree", "build"), str(jobs)
        os.makedirs(self.root, exist_ok=True)
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True,
                                check=True).stdout.split("\0")
        wanted = {n for n in listed if n and os.path.isfile(os.path.join(ROOT, n))}
        for name in wanted:
            with open(os.path.join(ROOT, name), "rb") as f:
                self.put(name, f.read(), os.stat(os.path.join(ROOT, name)).st_mode)
        for folder, folders, files in os.walk(self.root):  # what was there in an earlier run
            folders[:] = [d for d in folders if os.path.join(folder, d) != self.build and d not in (".venv", ".git")]
            for name in files:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.root) not in wanted and not os.path.islink(path):
                    os.remove(path)
        venv = os.path.join(self.root, ".venv")
        if not os.path.lexists(venv):
            os.symlink(os.path.realpath(os.path.join(ROOT, ".venv")), venv)
        # Of a copy that was there, too: it may lack tests that are new.
        status, said = run(["cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], self.root)
        if status:
            sys.exit(f"the copy cannot be configured:\n{said}")
        self.tests = self.list_tests()

    def put(self, name, data, mode=None):
        """Only what is another one is written, so that no more is built than must be."""
        path = os.path.join(self.root, name)
        if os.path.exists(path):
            with open(path, "rb") as f:
                if f.read() == data:
                    return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        if mode is not None:
            os.chmod(path, mode & 0o777)

    def restore(self, name):
        with open(os.path.join(ROOT, name), "rb") as f:
            self.put(name, f.read())

    def list_tests(self):
        """Name -> program of the build folder that it runs (None: it runs familyseer). They need not be built."""
        with open(os.path.join(self.build, "CTestTestfile.cmake"), encoding="utf-8") as f:
            found = re.findall(r'^add_test\(\[=*\[(.*?)\]=*\] "(.*?)"', f.read(), re.M)
        return {name: os.path.relpath(p, self.build) if p.startswith(self.build) else None for name, p in found}

    def make(self, targets=()):
        return run(["ninja", "-C", "build", "-j", self.jobs, *targets], self.root)

    def make_for(self, pattern):
        """What the tests of that name need, and no more."""
        programs = [p for n, p in self.tests.items() if re.search(pattern, n)]
        targets = sorted({p for p in programs if p})
        # Shell and Python tests run the program, its libraries and what examples are made of.
        return self.make(targets if all(programs) else [*targets, "familyseer", "seer_rt"])

    def ctest(self, *flags, jobs=None):
        """The first tests that failed, "" if none did."""
        status, said = run(["ctest", "--test-dir", "build", "-j", jobs or self.jobs, "--stop-on-failure", *flags], self.root)
        failed = re.findall(r"^\s*\d+ - (\S+) \((?!Not Run)[^)]*\)", said, re.M)
        if status == 0:
            return ""
        return failed[0] if failed else f"ctest: status {status}"


# ---- rungs: each gives what saw the fault, or ""

def near(tree, fault):
    """One after another: the first is the likeliest, and what is built for the others may not be needed. The second value: why
    the fault does not compile."""
    for test in fault.near.split("|"):
        status, said = tree.make_for(test)
        if status:
            return "", said
        seen = tree.ctest("-R", test)
        if seen:
            return seen, ""
    return "", ""


def quick(tree, _):
    return tree.ctest("-L", "quick", "-LE", "full")


def cases(tree, fault):
    env = {"FAMILYSEER": os.path.join(tree.build, "familyseer")}
    asked = [f"--case={op}:{k}" for op in fault.ops for k in range(CASES)]
    status, _ = run([".venv/bin/python", "test/differential/run.py", *asked], tree.root, env=env) if asked else (0, "")
    return f"cases of {', '.join(fault.ops)}" if status else ""


def differential(tree, fault):
    return cases(tree, fault) or tree.ctest("-L", "differential")


def peer(tree, _):
    return tree.ctest("-L", "peer", "-LE", "full")


def verify(tree, _):
    seer, out = os.path.join(tree.build, "familyseer"), os.path.join(tree.build, "verified")
    for network in VERIFIED:
        for flags in (["-O1"], ["--random-schedules=3"]):
            status, _ = run([seer, "compile", network, "-o", out, *flags], tree.root)
            if not status:
                status, _ = run([seer, "verify", out, network, "--layers", "--against", "onnxruntime", "--python",
                                 ".venv/bin/python"], tree.root)
            if status:
                return f"verify {network} {flags[0]}"
    return ""


def rung_of(test):
    kind = test.split("_")[0]
    return kind if kind in ("peer", "differential") else "quick"


def look(tree, fault, how):
    """(rung, what saw it); rung None: nothing did; "refused": it is no fault, as it does not compile."""
    if fault.near and how != "ladder":
        seen, refusal = near(tree, fault)
        if refusal:
            return "refused", refusal[-1500:]
        if seen:
            return rung_of(seen), seen
    if fault.near and how != "ladder" and fault.ops:
        status, said = tree.make(["familyseer", "seer_rt"])
        seen = "" if status else cases(tree, fault)
        if seen:
            return "differential", seen
    if how == "near":
        return None, ""
    status, said = tree.make()
    if status:
        # what is made with the program, or a check of the compiler's own tables, may see it as well
        return ("refused", said[-1500:]) if " error: " in said else ("build", "the build")
    for rung in (quick, differential, peer, verify):
        seen = rung(tree, fault)
        if seen:
            return rung.__name__, seen
    return None, ""


# ---- all of it

def check_baseline(tree, faults):
    """Tests that are asked first fail without a fault: nothing may be concluded from them."""
    pattern = "|".join(sorted({f"({f.near})" for f in faults if f.near}))
    if not pattern:
        return
    status, said = tree.make_for(pattern)
    if status:
        sys.exit(f"the copy does not build:\n{said[-3000:]}")
    status, said = run(["ctest", "--test-dir", "build", "-j", tree.jobs, "-R", pattern], tree.root)
    if status:
        sys.exit("tests fail without a fault:\n" + said[said.find("The following tests FAILED"):])
    unknown = [f.name for f in faults if f.near and not any(re.search(f.near, n) for n in tree.tests)]
    if unknown:
        sys.exit(f"no test has the name that these look near: {', '.join(unknown)}")


def plant(tree, fault, how):
    with open(os.path.join(ROOT, fault.file), encoding="utf-8") as f:
        text = f.read()
    begin = time.time()
    tree.put(fault.file, text.replace(fault.old, fault.new).encode())
    try:
        rung, seen = look(tree, fault, how)
    finally:
        tree.restore(fault.file)
    return {"name": fault.name, "kind": fault.kind, "file": fault.file, "rung": rung, "seen_by": seen,
            "seconds": round(time.time() - begin, 1)}


def row(r):
    seen = "NOTHING" if r["rung"] is None else r["seen_by"] if r["rung"] != "refused" else "does not compile"
    return f"{r['name']:34s} {r['kind']:12s} {r['file']:34s} {r['rung'] or '-':12s} {seen:34s} {r['seconds']:6.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="faults whose name or file has this text")
    parser.add_argument("--ladder", dest="how", action="store_const", const="ladder", default="")
    parser.add_argument("--near", dest="how", action="store_const", const="near")
    parser.add_argument("--list-only", action="store_true")
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "faults"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default="")
    args = parser.parse_args()
    wrong = complaints(ROOT)
    for line in wrong:
        print(f"test/faults: {line}", file=sys.stderr)
    if wrong or args.list_only:
        if not wrong:
            print(f"{len(FAULTS)} faults can be planted")
        return 1 if wrong else 0
    faults = [f for f in FAULTS if args.only in f.name or args.only in f.file]
    tree = Tree(os.path.abspath(args.work), args.jobs)
    if args.how != "ladder":
        check_baseline(tree, faults)
    rows = []
    for fault in faults:
        rows.append(plant(tree, fault, args.how))
        print(row(rows[-1]), flush=True)
        if rows[-1]["rung"] == "refused":
            print(rows[-1]["seen_by"], flush=True)
        if args.out:
            with open(args.out, "w", encoding="utf-8") as f:
                json.dump(rows, f, indent=1)
    seen = [r for r in rows if r["rung"] not in (None, "refused")]
    print(f"{len(seen)} of {len(rows)} planted faults are seen")
    return 0 if len(seen) >= MIN_SHARE * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
