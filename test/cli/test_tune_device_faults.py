"""What goes wrong with a device while candidates are timed on it, on CUDA's stand-in: it hangs, is lost, has no memory, is of another architecture.

The runners' device has the faults, the tuner's own has none: a candidate fails or a runner dies, the tuning ends with a library that is right.

SEER_TEST: timeout=900 cost=90
"""
import collections
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

FAMILYSEER = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
MOCK = os.path.join(os.path.abspath(os.environ.get("TEST_BUILD_DIR", "build")), "mock")
TRIALS = 8
PATIENT = ("--timeout", "300s")  # a runner is lost by its fault alone, however slow the machine is
failures = []

# Runners alone have the faults, of `devices` the first ones that are started; each start is a line.
WORKER = f"""#!/bin/sh
if [ "$2" = device ]; then
  echo "$2" >> "$STARTS"
  [ "$(wc -l < "$STARTS")" -gt "$N_FAULTY" ] || export MOCK_CUDA="$FAULTS"
fi
exec '{FAMILYSEER}' "$@"
"""


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def run(*args, folder, **environment):
    env = {**os.environ, "LD_LIBRARY_PATH": MOCK, "SEER_NVRTC": os.path.join(MOCK, "libmock_nvrtc.so"), "SEER_RECORDS": os.path.join(folder, "records.db"),
           "SEER_DEVICE_LOCK": os.path.join(folder, "device.lock")}
    return subprocess.run([FAMILYSEER, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder,
                          env={**env, **environment}, timeout=500)


def tune(folder, *options, **environment):
    worker = os.path.join(folder, "worker")
    with open(worker, "w") as file:
        file.write(WORKER)
    os.chmod(worker, stat.S_IRWXU)
    return run("tune", "mlp", "--target", "cuda:sm_90", "--trials", TRIALS, "-o", "out", "--json", "--worker-path", worker, *options, folder=folder,
               **{"STARTS": os.path.join(folder, "starts"), "N_FAULTY": "1000", **environment})


def refused(folder, why, **environment):
    own = tempfile.mkdtemp(dir=folder)
    done = tune(own, **environment)
    check(done.returncode == 1 and why in done.stderr, f"{environment}: {done.returncode} {done.stderr[-800:]}")
    check(not os.path.exists(os.path.join(own, "out", "model.so")), f"{environment}: there is a library all the same")


def tuned(folder, faults, *options, devices="cuda:0", n_faulty=1, **environment):
    """(classes of measurements, how often runners were started, what was said) of a tuning whose library is right"""
    own = tempfile.mkdtemp(dir=folder)
    done = tune(own, "--devices", devices, *options, FAULTS=faults, N_FAULTY=str(n_faulty), **environment)
    check(done.returncode == 0, f"{faults}: {done.returncode} {done.stderr[-1500:]}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    runs = [e for e in events if e["event"] == "measurement"]
    new = sum(e["origin"] != "witness" and e["class"] == "ok" and not e["twin"] for e in runs)
    counted = [e["trials"] for e in events if e["event"] == "done"]
    check(counted == [new], f"{faults}: {counted} trials were counted, {new} printed")
    check(len({e["record"] for e in runs}) == len(runs), f"{faults}: a record was printed twice")
    if done.returncode == 0:
        verified = run("verify", os.path.join(own, "out", "model.so"), "mlp", folder=own)
        check(verified.returncode == 0, f"{faults}: {verified.stdout}{verified.stderr}")
    with open(os.path.join(own, "starts")) as file:
        n_starts = len(file.readlines())
    return collections.Counter(e["class"] for e in runs), n_starts, done


def main():
    folder = tempfile.mkdtemp(prefix="familyseer-device-faults-")
    try:
        # The sixth module's kernel never ends: that is what it costs, and a runner. (A slow machine may lose others so, too.)
        classes, n_starts, done = tuned(folder, "stall=6", "--timeout", "5s")
        check(classes["run-timeout"] >= 1 and classes["ok"] >= TRIALS, f"stall: {classes}")
        check(n_starts >= 2, f"stall: {n_starts} runners, {done.stderr[-4000:]}")

        # It leaves its memory: the device is lost and its runner ends; the next one has the candidate once more.
        classes, n_starts, done = tuned(folder, "wild=6", *PATIENT)
        check(set(classes) == {"ok"} and n_starts == 2, f"lost once: {classes}, {n_starts} runners, {done.stderr[-4000:]}")
        check("CUDA_ERROR_LAUNCH_FAILED (719)" in done.stderr, f"lost: {done.stderr[-500:]}")

        # No memory for an answer that is checked: that candidate is told, its runner stays.
        classes, n_starts, done = tuned(folder, "oom=5", *PATIENT)
        check(n_starts == 1 and classes["ok"] >= TRIALS, f"no memory: {classes}, {n_starts} runners, {done.stderr[-4000:]}")
        check("run-crash: CUDA, Mock 0: no memory for" in done.stderr, f"no memory: {done.stderr[-4000:]}")

        # One of two devices is lost over and over.
        classes, n_starts, done = tuned(folder, "devices=2,wild=4", *PATIENT, devices="cuda:0,cuda:1", n_faulty=5, MOCK_CUDA="devices=2")
        check(n_starts > 2 and classes["ok"] >= TRIALS, f"two devices: {classes}, {n_starts} runners")

        # A device on which nothing runs at all ends the tuning with the reason.
        for faults, why in (("lost=1", "cannot be timed: run-crash"), ("architecture=80", "cannot be timed: build-error")):
            refused(folder, why, FAULTS=faults)
        # Where that can be known beforehand nothing is built.
        refused(folder, "is of sm_80, on which code for sm_90 does not run", FAULTS="", MOCK_CUDA="architecture=80")
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
