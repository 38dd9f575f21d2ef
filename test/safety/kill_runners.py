#!/usr/bin/env python3
"""kill -9 of the runners of a tuning on a device, at random moments, over one tuning or as many as that takes.

    kill_runners.py [--kills 100] [--target opencl:0] [--network mobilenet_v2] [--devices cuda:0,cuda:1] [--seed S]

Half of the kills come while the runner is at work, the others whenever. What it holds against each tuning: it ends by itself and well; every
trial that was asked for was counted; every measurement that was printed is in the records as it was printed, once, and nothing else is; the
library's answers are right. `mock`, as the target, is CUDA's stand-in, with two devices.
"""
import argparse, collections, json, os, random, signal, sqlite3, subprocess, sys, tempfile, threading, time
from pathlib import Path

from devices import FAMILYSEER, check_records, fail
from kill9 import children, is_alive

PATIENCE_S = 1800  # for one tuning, on whatever machine
MOCK = Path(FAMILYSEER).resolve().parent / "mock"


def is_runner(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] == [b"worker", b"device"]
    except OSError:
        return False


def is_at_work(pid):
    """Does any of its threads run?"""
    try:
        return any(stat.read_text().rsplit(")", 1)[1].split()[0] == "R" for stat in Path(f"/proc/{pid}/task").glob("*/stat"))
    except (OSError, IndexError):
        return False


class Killer(threading.Thread):
    """Kills runners of `tuner`, until it has ended or `wanted` are killed. Moments are counted in measurements, two a kill on average, and random
    fractions of a second, so that a busy machine only takes longer."""

    def __init__(self, tuner, wanted, rng, events):
        super().__init__()
        self.tuner, self.wanted, self.random, self.events = tuner, wanted, rng, events
        self.killed = self.at_work = 0

    def runners(self):
        """Those that are not up yet, too."""
        return [p for p in children(self.tuner.pid) if is_runner(p) and is_alive(p)]

    def run(self):
        due = 1
        while self.tuner.poll() is None and self.killed < self.wanted:
            if self.events.read_bytes().count(b'"event":"measurement"') < due:
                time.sleep(0.05)
                continue
            due += self.random.randint(0, 4)
            wants_work = self.random.random() < 0.5
            time.sleep(self.random.random() * (0.05 if wants_work else 0.8))
            end = time.monotonic() + 20
            found = []
            while not found and self.tuner.poll() is None and time.monotonic() < end:
                found = [p for p in self.runners() if not wants_work or is_at_work(p)]
                time.sleep(0.005)
            if not found:
                continue
            time.sleep(0.03 * self.random.random())
            pid = self.random.choice(found)
            was_at_work = is_at_work(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.killed += 1
            self.at_work += was_at_work


def count(records):
    db = sqlite3.connect(records)
    n = db.execute("SELECT count(*) FROM measurement WHERE round > 0 AND origin NOT IN ('pairs', 'network')").fetchone()[0]
    sound = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    if sound != "ok":
        fail(f"integrity_check: {sound}")
    return n


def tune(folder, args, wanted, rng, env):
    records, out = folder / "records.sqlite", folder / "out"
    records.unlink(missing_ok=True)
    command = [FAMILYSEER, "tune", args.network, "--target", args.target, "--trials", str(args.trials), "--records", str(records), "-o", str(out), "--json"]
    command += ["--devices", args.devices] if args.devices else []
    with open(folder / "events", "w+b") as events, open(folder / "errors", "w+b") as errors:
        tuner = subprocess.Popen(command, stdout=events, stderr=errors, env=env)
        killer = Killer(tuner, wanted, rng, folder / "events")
        killer.start()
        try:
            status = tuner.wait(timeout=PATIENCE_S)
        finally:
            tuner.kill()
            killer.join()
    if status != 0:
        fail(f"the tuning ended with {status} after {killer.killed} killed runners:\n{(folder / 'errors').read_text()[-3000:]}")
    printed = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    runs = [e for e in printed if e["event"] == "measurement"]
    seen = set()
    check_records(records, runs, seen)
    n_stored = count(records)
    if n_stored != len(seen):
        fail(f"{len(seen)} measurements were printed, {n_stored} are in the records")
    last = [e for e in printed if e["event"] == "done"][0]
    new = sum(e["origin"] != "witness" and e["class"] == "ok" and not e["twin"] for e in runs)
    if last["trials"] != new:
        fail(f"{last['trials']} trials were counted, {new} were printed")
    if new < args.trials and "budget of trials" in last["text"]:
        fail(f"{new} of {args.trials} trials were made")
    check = subprocess.run([FAMILYSEER, "verify", str(out / "model.so"), args.network], capture_output=True, text=True, env=env)
    if check.returncode != 0:
        fail(f"verify: {check.stdout}{check.stderr}")
    return runs, killer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--target", default="opencl:0")
    parser.add_argument("--devices", default="")
    parser.add_argument("--network", default="mobilenet_v2")
    parser.add_argument("--trials", type=int, default=200, help="of each tuning")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--if-there", action="store_true", help="no such device: say so, and that is all")
    args = parser.parse_args()
    if args.if_there and subprocess.run([FAMILYSEER, "devices", "--target", args.target], capture_output=True).returncode:
        sys.exit(print(f"no device {args.target}: left out"))
    env, name = dict(os.environ), args.target
    if args.target == "mock":
        args.target, args.devices = "cuda:sm_90", args.devices or "cuda:0,cuda:1"
        env |= {"LD_LIBRARY_PATH": str(MOCK), "SEER_NVRTC": str(MOCK / "libmock_nvrtc.so"), "MOCK_CUDA": "devices=2"}
    rng, start = random.Random(args.seed), time.monotonic()
    killed = at_work = n_tunings = 0
    classes = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        env["XDG_CACHE_HOME"] = folder
        env["SEER_DEVICE_LOCK"] = os.path.join(folder, "lock")
        while killed < args.kills:
            runs, killer = tune(Path(folder), args, args.kills - killed, rng, env)
            killed, at_work, n_tunings = killed + killer.killed, at_work + killer.at_work, n_tunings + 1
            classes.update(e["class"] for e in runs)
    print(f"{name}: {killed} kills of runners, {at_work} of them at work, over {n_tunings} tunings, {time.monotonic() - start:.0f} s: "
          f"{sum(classes.values())} measurements printed, all in the records once, and nothing else is {dict(classes)}; the libraries verified")


if __name__ == "__main__":
    main()
