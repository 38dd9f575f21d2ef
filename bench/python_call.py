#!/usr/bin/env python3
"""What a call of Model costs beyond the library's own: a network of one layer, on one thread, each way in turns.

    bench/python_call.py [FOLDER]      FOLDER: a compiled network; without one a layer of 20 x 6 is compiled here

bare: session_run by ctypes, everything bound before; call: model(x); run: model.run({"x": x}); into: with outputs=.
Medians of rounds, in microseconds; "beyond" is the median of what a round took beyond that round's bare calls."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(root, "python"))
import familyseer as fs  # noqa: E402

ROUNDS, CALLS = 300, 200
NET = """graph "layer" {
  input %x f32[4,20]
  const $w f32[20,6] = splat 0.5
  %y ? = MatMul "m" v13 (%x, $w)
  output %y
}
"""


def compiled(tmp):
    path = os.path.join(tmp, "layer.graph")
    with open(path, "w", encoding="utf-8") as file:
        file.write(NET)
    program = os.environ.get("FAMILYSEER", os.path.join(root, "build", "familyseer"))
    subprocess.run([program, "compile", path, "-o", os.path.join(tmp, "out"), "-O1"], check=True, stderr=subprocess.DEVNULL)
    return os.path.join(tmp, "out")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        model = fs.Model(sys.argv[1] if len(sys.argv) > 1 else compiled(tmp), threads=1)
        x = {v.name: np.ones(v.shape, v.dtype) for v in model.inputs}
        out = {v.name: np.empty(v.shape, v.dtype) for v in model.outputs}
        order = list(x.values())
        session = model.clone()._session
        for i, array in enumerate(order):
            session.bind_input(i, array)
        for i, array in enumerate(out.values()):
            session.bind_output(i, array)
        run, handle, say = session.c_run, session.session, session.say
        ways = {"bare": lambda: run(handle, *say), "call": lambda: model(*order), "run": lambda: model.run(x),
                "into": lambda: model.run(x, out)}
        times = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                start = time.perf_counter()
                for _ in range(CALLS):
                    way()
                times[name].append((time.perf_counter() - start) / CALLS * 1e6)
        for name, taken in times.items():
            beyond = statistics.median(t - b for t, b in zip(taken, times["bare"]))
            print(f"{name:5} {statistics.median(taken):7.2f} us   beyond {beyond:6.2f} us")


main()
