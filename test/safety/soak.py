#!/usr/bin/env python3
"""A long tuning of one network: does the tuner's memory grow?

    soak.py [--minutes 30] [--network mobilenet_v2_0.25] [--settle 5] [--limit-mb 20]

Samples the parent's resident memory (VmRSS of /proc) and prints it once a minute, with the measurements done. Ends with
status 1 if it grew by more than --limit-mb between the end of the first --settle minutes and the highest point after,
or if the tuning did not end well.
"""
import argparse, os, subprocess, sys, tempfile, time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
FAMILYSEER = os.environ.get("FAMILYSEER", str(SOURCE / "build" / "familyseer"))
PERIOD_S = 0.2  # fitting the models takes more for a second


def resident_mb(pid):
    """0 when it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


def measurements(path):
    with open(path, "rb") as file:
        return sum(b'"event":"measurement"' in line for line in file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--network", default="mobilenet_v2_0.25")
    parser.add_argument("--settle", type=float, default=5, help="minutes that do not count")
    parser.add_argument("--limit-mb", type=float, default=20)
    args = parser.parse_args()
    if args.minutes <= args.settle:
        sys.exit("FAILED: nothing is left after --settle")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        events = Path(folder) / "events"
        command = [FAMILYSEER, "tune", args.network, "--json", "--time-budget", f"{args.minutes}m",
                   "--records", f"{folder}/records.sqlite", "-o", f"{folder}/out"]
        with open(events, "wb") as out, open(f"{folder}/errors", "wb") as err:
            tuner = subprocess.Popen(command, stdout=out, stderr=err)
        start = time.monotonic()
        settled = highest = shown = 0
        print("minute  resident MB  measurements")
        while tuner.poll() is None:
            minute = (time.monotonic() - start) / 60
            now = resident_mb(tuner.pid)
            if minute <= args.settle:
                if minute > args.settle / 2:  # set-up takes more for a moment, which is no measure
                    settled = max(settled, now)
            elif minute < args.minutes * 0.97:  # the search; what follows is checked and compiled once
                highest = max(highest, now)
            if minute >= shown and now:
                print(f"{minute:6.1f}  {now:11.1f}  {measurements(events):12}", flush=True)
                shown += 1
            time.sleep(PERIOD_S)
        if tuner.returncode != 0:
            sys.exit(f"FAILED: status {tuner.returncode}\n{Path(folder, 'errors').read_text(errors='replace')}")
        grown = highest - settled
        print(f"{measurements(events)} measurements; highest {highest:.1f} MB, {settled:.1f} MB before minute "
              f"{args.settle:g}: grown by {grown:.1f} MB, {args.limit_mb:g} are allowed")
        sys.exit(grown > args.limit_mb)


if __name__ == "__main__":
    main()
