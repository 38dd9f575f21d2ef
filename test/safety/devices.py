#!/usr/bin/env python3
"""Tunings on devices that die, hang, answer nonsense or are slow by three times, at random moments.

    devices.py [--each N] [--network mlp]

Until each misfortune has happened N times (false_worker.py makes them), over as many tunings as that takes; then one
of two devices does not come up any more. What it holds against each tuning: it ends, by itself and well; every trial
that was asked for was counted, no measurement twice and none lost between what was printed and the records; the
library's answers are right.
"""
import argparse, collections, json, os, sqlite3, subprocess, sys, tempfile, time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
FAMILYSEER = os.environ.get("FAMILYSEER", str(SOURCE / "build" / "familyseer"))
KINDS = ("killed", "hung", "nonsense", "slow")
TRIALS = 60
PATIENCE_S = 600  # for one tuning, on whatever machine


def fail(text):
    sys.exit(f"FAILED: {text}")


def check_records(path, events, seen):
    """What was printed is in the records as it was printed, once; nothing else is there."""
    db = sqlite3.connect(path)
    there = {row[0]: row[1:] for row in db.execute("SELECT id, seconds, class FROM measurement WHERE round > 0")}
    db.close()
    for e in events:
        if e["record"] in seen:
            fail(f"record {e['record']} was printed twice")
        seen.add(e["record"])
        if there.get(e["record"]) != (e["seconds"], e["class"]):
            fail(f"record {e['record']} was printed as {e['class']} {e['seconds']}, is {there.get(e['record'])}")


def tune(folder, network, devices, every, dead=""):
    records, out = folder / "records.sqlite", folder / "out"
    env = {**os.environ, "FALSE_PROGRAM": FAMILYSEER, "FALSE_LOG": str(folder / "log"), "FALSE_EVERY": str(every),
           "FALSE_DEAD": dead}
    command = [FAMILYSEER, "tune", network, "--devices", ",".join(f"cpu:{d}" for d in devices), "--trials", str(TRIALS),
               "--records", str(records), "-o", str(out), "--json", "--timeout", "1s",
               "--worker-path", str(SOURCE / "test" / "safety" / "false_worker.py")]
    records.unlink(missing_ok=True)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        fail(f"the tuning ended with {done.returncode}:\n{done.stderr[-3000:]}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    runs = [e for e in events if e["event"] == "measurement"]
    check_records(records, runs, set())
    last = [e for e in events if e["event"] == "done"][0]
    # of the trials those that are twins or failed by policy count as the campaign says
    new = sum(e["origin"] != "witness" and e["class"] == "ok" and not e["twin"] for e in runs)
    if last["trials"] != new:
        fail(f"{last['trials']} trials were counted, {new} were printed")
    if new < TRIALS and "budget of trials" in last["text"]:
        fail(f"{new} of {TRIALS} trials were made")
    check = subprocess.run([FAMILYSEER, "verify", str(out / "model.so"), network], capture_output=True, text=True)
    if check.returncode != 0:
        fail(f"verify: {check.stdout}{check.stderr}")
    return runs, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=20, help="times that each misfortune happens")
    parser.add_argument("--network", default="mlp")
    args = parser.parse_args()
    devices = sorted(os.sched_getaffinity(0))[:2]
    start, n_tunings, classes = time.monotonic(), 0, collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").touch()
        counts = collections.Counter()
        while min(counts[k] for k in KINDS) < args.each:
            runs, _ = tune(folder, args.network, devices, 12)
            n_tunings += 1
            classes.update(e["class"] for e in runs)
            counts = collections.Counter(line.split()[0] for line in (folder / "log").read_text().splitlines())
        if len(devices) > 1:
            (folder / "log").write_text("")
            runs, said = tune(folder, args.network, devices, 12, str(devices[1]))
            lost = f"cpu:{devices[1]}"
            if f"device {lost} is lost; the tuning goes on with 1 of 2" not in said:
                fail(f"nobody said that {lost} is lost")
            if not any(e["device"] == lost for e in runs) or runs[-1]["device"] == lost:
                fail(f"{lost} was lost, the last measurement is of {runs[-1]['device']}")
    print(f"{n_tunings} tunings on {len(devices)} devices, {time.monotonic() - start:.0f} s: "
          f"{', '.join(f'{counts[k]} {k}' for k in KINDS)}; measurements {dict(classes)}; "
          f"{'one of two devices was lost, and the other one ended it' if len(devices) > 1 else 'only one device'}")


if __name__ == "__main__":
    main()
