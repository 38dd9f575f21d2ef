"""Damaged artefacts: weights.bin and the plan inside model.so, by mutation. Whatever the damage is, `familyseer run` ends
with 0, or with 1 and a message that names the file, within the time and memory of limits.py; a file that is shorter or longer
is always refused, and so is a plan with another byte; other numbers among the weights run, and are found by --verify.

    artifacts.py [--n N] [--seed S] [--first I]        (one case again: --first I --n 1 with the seed that failed)
"""
import argparse
import os
import random
import shutil
import sys
import tempfile

import limits

SOURCE = os.path.abspath(os.environ.get("TEST_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
HEADER = 64  # bytes of weights.bin before the numbers
MAGIC = b"seerplan"
EXTREMES = [0, 1, 0xFF, 0x7F, 0x80, 2**31 - 1, 2**31, 2**32 - 1, 2**46, 2**63 - 1, 2**63, 2**64 - 1]

# name, model, flags: with steps on the host and two sets of shapes; and the smallest of the built-in ones.
LIBRARIES = [
    ("sets", os.path.join(SOURCE, "test", "data", "abi", "model.onnx"), ["--input-shapes", "x:4x20", "--input-shapes", "x:2x20"]),
    ("mlp", "mlp", []),
]


class Case:
    """A damaged copy of a library's folder: what was done, and what has to come of it."""

    def __init__(self, rng, folder):
        self.rng, self.folder, self.expected = rng, folder, {0, 1}
        self.text = ""
        self.what = rng.choice([self.length, self.header, self.numbers, self.numbers, self.plan, self.plan, self.plan])()

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as f:
            return bytearray(f.read())

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)

    def damage(self, data, low, high):
        """One to four changes within data[low:high]; returns what they were, None if all is as it was."""
        before, done = bytes(data), []
        for _ in range(self.rng.randint(1, 4)):
            at, kind = self.rng.randrange(low, high), self.rng.randrange(4)
            n = min(self.rng.choice([1, 2, 4, 8, 64]), high - at)
            if kind == 0:
                data[at] ^= 1 << self.rng.randrange(8)
            elif kind == 1:
                data[at:at + n] = self.rng.randbytes(n)
            elif kind == 2:
                data[at:at + n] = self.rng.choice(EXTREMES).to_bytes(8, "little").ljust(n, b"\0")[:n]
            else:
                other = self.rng.randrange(low, high - n + 1)
                data[at:at + n] = data[other:other + n]
            done.append(f"{('bit', 'random', 'extreme', 'copy')[kind]}@{at}+{n}")
        return " ".join(done) if bytes(data) != before else None

    def length(self):
        data = self.read("weights.bin")
        n = self.rng.choice([0, 1, 31, 32, 63, 64, 65, len(data) - 1, len(data) + 1, len(data) * 2, 1 << 40, self.rng.randrange(len(data))])
        with open(os.path.join(self.folder, "weights.bin"), "r+b") as f:
            f.truncate(n)
        self.expected = {1}
        return f"weights.bin of {n} bytes"

    def header(self):
        data = self.read("weights.bin")
        done = self.damage(data, 0, 32)  # what lies between 32 and HEADER says nothing
        self.write("weights.bin", data)
        self.expected = {1} if done else {0}
        return f"weights.bin {done}"

    def numbers(self):
        data = self.read("weights.bin")
        done = self.damage(data, HEADER, len(data))
        self.write("weights.bin", data)
        self.expected = {0}
        self.text = "damaged" if done else ""
        return f"numbers {done}"

    def plan(self):
        data = self.read("model.so")
        low = high = data.index(MAGIC)  # code that compares with it comes behind
        while data[high:high + 8] == MAGIC:  # a plan for each set of shapes, at multiples of 64
            n = int.from_bytes(data[high + 12:high + 16], "little")  # seer_plan_header.n_bytes
            end, high = high + n, high + (n + 63) // 64 * 64
        high = end
        done = self.damage(data, low, high)
        self.write("model.so", data)
        self.expected = {1} if done else {0}
        return f"plan {done}"


def judge(case, tally, name, sanitized):
    """Runs the damaged library; true if it did as it should."""
    given = sum(os.path.getsize(os.path.join(case.folder, f)) for f in ("model.so", "weights.bin"))
    if given > 1 << 30:  # holes
        given = 0
    outcome = limits.run([limits.FAMILYSEER, "run", case.folder])
    found = limits.faults(outcome, given, sanitized)
    if outcome.status not in case.expected:
        found.append(f"status {outcome.status}, should be {sorted(case.expected)}")
    if outcome.status == 1 and not any(f in outcome.stderr for f in (b"model.so", b"weights.bin")):
        found.append("no file is named")
    if case.text:
        verified = limits.run([limits.FAMILYSEER, "info", "--verify", "1", os.path.join(case.folder, "model.so")])
        found += limits.faults(verified, given, sanitized)
        if verified.status != 1 or case.text not in verified.stderr.decode("utf-8", "replace"):
            found.append("--verify finds nothing")
    tally.add(f"{name}, {case.what}", outcome, found, given)
    return not found


def main(argv=None):
    """The campaign; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args(argv)
    limits.no_core_files()
    sanitized, tally = limits.is_sanitized(), limits.Tally("artifacts")
    with tempfile.TemporaryDirectory() as tmp:
        for name, model, flags in LIBRARIES:
            made = limits.run([limits.FAMILYSEER, "compile", model, "-o", os.path.join(tmp, name), "-O1", *flags])
            assert made.status == 0, made.stderr
        for i in range(args.first, args.first + args.n):
            rng = random.Random(f"{args.seed}/{i}")
            name, folder = rng.choice(LIBRARIES)[0], os.path.join(tmp, "damaged")
            shutil.copytree(os.path.join(tmp, name), folder)
            judge(Case(rng, folder), tally, f"{args.seed}/{i} {name}", sanitized)
            shutil.rmtree(folder)
    return 0 if tally.close() else 1


if __name__ == "__main__":
    sys.exit(main())
