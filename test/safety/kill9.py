#!/usr/bin/env python3
"""kill -9 of the tuner and of its workers, at random moments, over one tuning that is resumed each time.

    kill9.py [--tuner N] [--workers N] [--network mlp] [--seed S] [--folder F]

What it holds against the tuning:
  - every measurement that was printed (--json) is in the records as it was printed,
  - the database is sound after each kill (PRAGMA integrity_check) and at the end (`records check`),
  - no worker outlives its tuner by 2 s,
  - the next start leaves nothing of the dead one behind in the folders,
  - with workers dying the tuning goes on, and ends with a library that `verify` accepts.
Moments are counted in measurements and random fractions of a second, so a busy machine only takes longer.
"""
import argparse, json, os, random, signal, sqlite3, subprocess, sys, tempfile, time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
FAMILYSEER = os.environ.get("FAMILYSEER", str(SOURCE / "build" / "familyseer"))
PATIENCE_S = 60  # for one measurement, on whatever machine


def fail(text):
    sys.exit(f"FAILED: {text}")


def status_of(pid):
    """Fields of /proc/<pid>/status; empty when there is no such process."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def children(pid):
    found = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]
    return [p for p in found if status_of(p).get("PPid") == str(pid)]


def is_alive(pid):
    return status_of(pid).get("State", "X")[0] not in "ZX"


class Campaign:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.random = random.Random(args.seed)
        self.records = folder / "records.sqlite"
        self.printed = []
        self.offset = 0

    def start(self, *more):
        self.events = open(self.folder / "events", "w+b")
        self.errors = open(self.folder / "errors", "w+b")
        self.offset = 0
        command = [FAMILYSEER, "tune", self.args.network, "--records", str(self.records), "--json",
                   "-o", str(self.folder / "out"), *more]
        return subprocess.Popen(command, stdout=self.events, stderr=self.errors)

    def lines(self):
        """Measurements printed so far; what was cut off by a kill has no end of line, and was not printed."""
        whole = (self.folder / "events").read_bytes().split(b"\n")[:-1]
        return [e for e in map(json.loads, whole) if e["event"] == "measurement"]

    def wait_for(self, tuner, n):
        end = time.monotonic() + PATIENCE_S
        while len(self.lines()) < n and time.monotonic() < end:
            if tuner.poll() is not None:
                return False
            time.sleep(0.02)
        return True

    def said(self):
        return (self.folder / "errors").read_text(errors="replace")

    def check_records(self):
        db = sqlite3.connect(self.records)
        sound = db.execute("PRAGMA integrity_check").fetchone()[0]
        there = {row[0]: row[1:] for row in db.execute("SELECT id, seconds, class FROM measurement")}
        db.close()
        if sound != "ok":
            fail(f"integrity_check: {sound}")
        for line in self.printed:
            if there.get(line["record"]) != (line["seconds"], line["class"]):
                fail(f"record {line['record']} was printed as {line['class']} {line['seconds']}, "
                     f"is stored as {there.get(line['record'])}")

    def kill_tuner(self):
        tuner = self.start("--time-budget", "60s")
        self.wait_for(tuner, self.random.randint(0, 12))
        time.sleep(0.3 * self.random.random())
        workers = children(tuner.pid)
        tuner.kill()
        tuner.wait()
        self.printed += self.lines()
        end = time.monotonic() + 2
        while any(map(is_alive, workers)):
            if time.monotonic() > end:
                fail("a worker is alive 2 s after its tuner was killed")
            time.sleep(0.01)
        self.check_records()

    def kill_workers(self, wanted):
        """Until `wanted` are killed and a tuning with kills has come to its end."""
        killed = 0
        while killed < wanted:
            tuner = self.start("--trials", str(40 + 4 * (wanted - killed)))
            n = 0
            while tuner.poll() is None and killed < wanted:
                n += self.random.randint(0, 6)
                if not self.wait_for(tuner, n):
                    break
                time.sleep(0.1 * self.random.random())
                workers = children(tuner.pid)
                if workers:
                    try:
                        os.kill(self.random.choice(workers), signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass
            if tuner.wait() != 0:
                fail(f"the tuning ended with {tuner.returncode} after {killed} killed workers:\n{self.said()}")
            self.printed += self.lines()
            self.check_records()
        return killed

    def command(self, *args):
        done = subprocess.run([FAMILYSEER, *args], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{' '.join(args)}: status {done.returncode}\n{done.stdout}{done.stderr}")

    def finish(self):
        tuner = self.start("--trials", "20")
        if tuner.wait() != 0:
            fail(f"the last tuning ended with {tuner.returncode}:\n{self.said()}")
        self.printed += self.lines()
        self.check_records()
        left = sorted(p.name for p in (self.folder / "out").iterdir())
        if left != ["model.h", "model.json", "model.so", "report.html", "weights.bin"]:
            fail(f"left in the folder: {left}")
        self.command("records", "check", "--records", str(self.records))
        self.command("verify", str(self.folder / "out" / "model.so"), self.args.network)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tuner", type=int, default=100, help="kills of the tuner")
    parser.add_argument("--workers", type=int, default=100, help="kills of workers")
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(args, Path(folder))
        os.environ["XDG_CACHE_HOME"] = folder
        for _ in range(args.tuner):
            campaign.kill_tuner()
        killed = campaign.kill_workers(args.workers)
        campaign.finish()
        printed = len(campaign.printed)
        lost = sum(line["class"] != "ok" for line in campaign.printed)
        if printed < args.tuner + args.workers:
            fail(f"only {printed} measurements were printed; this shows nothing")
        print(f"{args.tuner} kills of the tuner, {killed} of workers, {time.monotonic() - start:.0f} s: "
              f"{printed} measurements printed, {lost} of them failed, all in the records; "
              f"the database is sound, the library verified")


if __name__ == "__main__":
    main()
