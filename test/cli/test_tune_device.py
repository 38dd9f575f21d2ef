"""Tuning on a device: OpenCL's (PoCL), and CUDA's stand-in with an NVRTC of its own; what is refused; runners that are killed.

SEER_TEST: timeout=600 cost=80
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FAMILYSEER = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
BUILD = os.path.abspath(os.environ.get("TEST_BUILD_DIR", "build"))
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def run(*args, folder, **environment):
    return subprocess.run([FAMILYSEER, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "SEER_RECORDS": os.path.join(folder, "records.db"), "SEER_DEVICE_LOCK": os.path.join(folder, "device.lock"), **environment}, timeout=300)


def refused(folder, why, *args, **environment):
    before = sorted(os.listdir(folder))
    done = run("tune", "mlp", "-o", "out", "--trials", 2, *args, folder=folder, **environment)
    check(done.returncode == 1 and why in done.stderr, f"tune {args}: {done.returncode} {done.stderr[-500:]}")
    check(sorted(os.listdir(folder)) == before, f"tune {args} leaves something behind")


def refusals(folder):
    refused(folder, "device cpu:0 is none for target opencl:generic", "--target", "opencl:generic", "--devices", "cpu:0")
    refused(folder, "device opencl:0 is none for target", "--devices", "opencl:0")
    refused(folder, "device cuda:0 is none for target opencl:generic", "--target", "opencl:generic", "--devices", "cuda:0")
    refused(folder, "'opencl:x'", "--target", "opencl:generic", "--devices", "opencl:x")
    refused(folder, "named twice", "--target", "opencl:generic", "--devices", "opencl:0,opencl:0")
    refused(folder, "there is no device opencl:7 here", "--target", "opencl:generic", "--devices", "opencl:7")
    refused(folder, "--fleet: devices of kind opencl", "--target", "opencl:generic", "--fleet", "redis://127.0.0.1:1")
    refused(folder, "nothing can be timed on cuda here", "--target", "cuda:sm_90", LD_LIBRARY_PATH=os.path.join(BUILD, "mock"), MOCK_CUDA="init=999")


def tuned(folder, target, name, trials, n_least, **environment):
    """A tuning ends with a library that is right, and compile makes the same of its records."""
    out, report = os.path.join(folder, name), os.path.join(folder, name + ".json")
    done = run("tune", "mlp", "--target", target, "--trials", trials, "-o", out, "--json", folder=folder, **environment)
    check(done.returncode == 0, f"tune for {target}: {done.returncode} {done.stderr[-800:]}")
    if done.returncode != 0:
        return
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    check(any("trials" in event or "trial" in json.dumps(event) for event in events), f"{target}: {done.stdout[:300]} {report}")
    done = run("verify", os.path.join(out, "model.so"), "mlp", folder=folder, **environment)
    check(done.returncode == 0, f"verify for {target}: {done.stdout}{done.stderr}")
    done = run("compile", "mlp", "--target", target, "-o", out + "2", folder=folder, **environment)
    n = int(done.stderr.split()[0]) if done.returncode == 0 else -1
    check(n >= n_least, f"compile for {target}: {done.stderr}")


def precise(folder, target, where, **environment):
    """A lower precision is held against f32 by runs, and the library says which one it is of."""
    out = os.path.join(folder, "precise-" + where.split()[-1])
    done = run("compile", "mlp", "--target", target, "--precision", "bf16", "-o", out, folder=folder, **environment)
    check(done.returncode == 0 and f"bf16 against f32, {where}, on the same inputs" in done.stderr, f"{target}: {done.returncode} {done.stderr}")
    check("max error 0 (0 of" not in done.stderr and "max error" in done.stderr, f"{target}: nothing is rounded: {done.stderr}")
    with open(os.path.join(out, "model.json")) as described:
        check(json.load(described).get("precision") == "bf16", f"{target}: the library does not say its precision")
    done = run("compile", "mlp", "--target", target, "--precision", "bf16", "--tolerance", "1e-5", "-o", out + "-fine", folder=folder, **environment)
    check(done.returncode == 1 and "no library is written" in done.stderr and not os.path.exists(out + "-fine"), f"{target} --tolerance: {done.stderr}")


def precise_tuned(folder):
    out = os.path.join(folder, "precise-tuned")
    done = run("tune", "mlp", "--target", "opencl:generic", "--precision", "f16", "--trials", 4, "-o", out, folder=folder)
    check(done.returncode == 0 and "f16 against f32, both untuned, both on this machine's opencl" in done.stderr, f"tune: {done.returncode} {done.stderr[-900:]}")
    done = run("verify", os.path.join(out, "model.so"), "mlp", folder=folder)
    check(done.returncode == 0 and "f16 against f32: max error" in done.stdout, f"verify: {done.stdout}{done.stderr}")


def benched(folder, library, **environment):
    """bench with inputs and outputs on the device, and of a library that has none."""
    def bench(*args):
        return run("bench", *args, "--iterations", 3, "--duration", "0s", folder=folder, **environment)
    for options, where in (((), False), (("--on-device",), True), (("--on-device", "--compare", library), True)):
        done = bench(library, "--json", *options)
        check(done.returncode == 0 and json.loads(done.stdout)["on_device"] is where, f"bench {options}: {done.returncode} {done.stdout}{done.stderr}")
    done = bench(library, "--on-device", "--profile")
    check(done.returncode == 0 and "inputs and outputs on the device" in done.stdout and not done.stderr, f"bench --profile: {done.stdout}{done.stderr}")
    run("compile", "mlp", "-O0", "-o", "processors", folder=folder)
    done = bench("processors/model.so", "--on-device")
    check(done.returncode == 1 and "device" in done.stderr, f"bench of processors: {done.returncode} {done.stderr}")


def parent(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


def device_runners():
    """Processes that are runners on a device and children of a tuning that this process started: other tests' have the same names."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            words = open(path, "rb").read().split(b"\0")
            if words[1:3] == [b"worker", b"device"] and parent(parent(pid)) == os.getpid():
                found.append(pid)
        except OSError:
            continue
    return found


def killed(folder):
    """A runner that dies costs what it was doing."""
    stop, n_killed = threading.Event(), [0]

    def kill():
        while not stop.is_set():
            for pid in device_runners():
                try:
                    os.kill(pid, signal.SIGKILL)
                    n_killed[0] += 1
                except OSError:
                    pass
            # The first one as soon as it is there, however short the tuning is.
            stop.wait(1.5 if n_killed[0] else 0.02)

    thread = threading.Thread(target=kill)
    started = time.monotonic()
    thread.start()
    try:
        tuned(folder, "opencl:generic", "killed", 16, 0)
    finally:
        stop.set()
        thread.join()
    check(n_killed[0] > 0, f"no runner was there to be killed in {time.monotonic() - started:.0f} s")


def two(folder):
    """Two devices of OpenCL that are this machine's processors: each has its own, and both are timed on."""
    pair = {"POCL_DEVICES": "pthread pthread"}
    allowed = len(os.sched_getaffinity(0))
    options = ("mlp", "--target", "opencl:generic", "--devices", "opencl:0,opencl:1", "--trials", 16, "--json", "--no-confine", "-o", "pair")
    done = run("tune", *options, folder=folder, **pair)
    if allowed < 2:
        check(done.returncode == 1 and "2 devices run on processors of this machine" in done.stderr, f"one processor: {done.returncode} {done.stderr[-500:]}")
        return
    check(done.returncode == 0, f"two devices: {done.returncode} {done.stderr[-800:]}")
    used = {event["device"] for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "measurement"}
    check(used == {"opencl:0", "opencl:1"}, f"timed on {used}")
    check("opencl:1 is timed on" in done.stderr, done.stderr[:500])
    one = run("tune", *(o.replace(",opencl:1", "") if isinstance(o, str) else o for o in options), folder=folder, **pair)
    check(one.returncode == 0 and "is timed on" not in one.stderr, f"one device: {one.returncode} {one.stderr[-500:]}")


def has_opencl(folder):
    done = run("compile", "mlp", "--target", "opencl:generic", "-O0", "-o", os.path.join(folder, "probe"), folder=folder)
    return done.returncode == 0 and run("run", os.path.join(folder, "probe", "model.so"), folder=folder).returncode == 0


def main():
    folder = tempfile.mkdtemp(prefix="familyseer-tune-device-")
    try:
        mock = {"LD_LIBRARY_PATH": os.path.join(BUILD, "mock"), "SEER_NVRTC": os.path.join(BUILD, "mock", "libmock_nvrtc.so")}
        tuned(folder, "cuda:sm_90", "cuda", 4, 0, **mock)
        benched(folder, "cuda/model.so", **mock)
        precise(folder, "cuda:sm_90", "both on this machine's cuda", **mock)
        precise(folder, "cuda:sm_90", "code for processors in place of the target's", LD_LIBRARY_PATH=mock["LD_LIBRARY_PATH"], MOCK_CUDA="init=999")
        if has_opencl(folder):
            precise(folder, "opencl:generic", "both on this machine's opencl")
            precise_tuned(folder)
            refusals(folder)
            tuned(folder, "opencl:generic", "opencl", 12, 1)
            killed(folder)
            two(folder)
        else:
            print("no OpenCL device: left out")
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
