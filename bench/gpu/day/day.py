#!/usr/bin/env python3
"""A day on a GPU in 25 minutes: what of familyseer only a device can judge, asked of the one that is here. make gpu-day.

    day.py [-o day.json] [--seconds 1500] [--steps here,property,...] [--device cuda:0]

A list of steps (steps.py), each with its share of the time, a log of its own beside the JSON file (day.logs/) and a section
in it. A step that fails, or lacks a tool, says so in its section, and the run goes on; every child has a limit and is ended
with all that it has started. A file that is there is gone on with: its sections stay, those of the steps that run are new.
Python's standard library alone. Status 0, whatever was found: the file says it.
"""
import argparse
import json
import os
import sys
import time

from child import Day
from steps import STEPS


def main(steps=STEPS):
    begin = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="day.json")
    parser.add_argument("--seconds", type=float, default=1500)
    parser.add_argument("--steps", help="those alone, with commas between: " + ",".join(name for name, _, _ in steps))
    parser.add_argument("--device", help="as familyseer devices lists it; default: the first of CUDA's that answers, else OpenCL's")
    options = parser.parse_args()
    wanted = options.steps.split(",") if options.steps else [name for name, _, _ in steps]
    for name in wanted:
        if name not in [known for known, _, _ in steps]:
            parser.error(f"no step '{name}'")
    steps = [step for step in steps if step[0] in wanted]
    # What steps do is made smaller by it: of what they do on a whole day, or on that of a few.
    scale = min(1, options.seconds / sum(share for _, share, _ in steps))
    day = Day(os.path.abspath(options.output), options.seconds, scale, device=options.device)
    if os.path.exists(day.path):
        with open(day.path) as stream:
            day.sections = json.load(stream)
    for i, (name, _, function) in enumerate(steps):
        day.step(name, function, sum(share for _, share, _ in steps[i + 1:]))
    left = [name for name, _, _ in steps if day.sections.get(name, {}).get("state") != "done"]
    print(f"{time.monotonic() - begin:.0f} s; " + (f"not done: {', '.join(left)}" if left else "all is done"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
