"""One network of bench_networks.py: tuned from nothing, its answer checked, and everything measured that its row says.

In: a Setting (what is measured) and a network's name with options. Out: a dictionary, which goes into the JSON file as it is
and which table.py turns into a row. What cannot be had (a peer that does not take the network, a network that gap.c does not
replay) is left out of it, with the reason under "left_out"; the rest is still measured.
"""
import contextlib
import dataclasses
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time


import peers as peer_bench

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.path.join(ROOT, "build")
SEER = os.path.join(BUILD, "familyseer")
os.environ["FAMILYSEER"] = SEER
sys.path.insert(0, os.path.join(ROOT, "test", "peer"))
import peer as peer_test  # noqa: E402

BUILT_HERE = {"shufflenet_v2": "shufflenet"}  # networks that are not built in: name -> the module here that writes one
PARTS = {"yolov8": {"output": (1, [4])}}  # boxes, then probabilities: each compared on its own scale
POOL_S = "0.3"  # for each kind of phase
GAP_S = 60  # about as long as gap.c may take


@dataclasses.dataclass
class Setting:
    """What is measured, of all networks alike."""
    budget: str
    threads: int
    peers: list
    before: str  # another familyseer, or None
    also: list  # of "one", "four"
    keep: str  # folder for records, libraries and reports, or None


class Failed(Exception):
    """A program did not do what it was asked for."""


def run(*command, **more):
    """What it prints."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)
    if done.returncode != 0:
        raise Failed(f"{os.path.basename(command[0])} {command[1]}: status {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def from_json(text):
    """Its last line, as an object."""
    return json.loads(text.strip().rsplit("\n", 1)[-1])


# ---- a network's file and folder
def workplace(name, keep):
    """The folder of one network: a new one, kept if `keep` says where."""
    if keep is None:
        return tempfile.TemporaryDirectory()
    os.makedirs(keep, exist_ok=True)
    return contextlib.nullcontext(tempfile.mkdtemp(prefix=re.sub(r"[^\w.-]+", "-", name) + "-", dir=keep))


def export(name, folder):
    """(what familyseer is to read, the same as an ONNX file for the peers, where it comes from)."""
    base, _, options = name.partition(":")
    path = f"{folder}/{base}.onnx"
    if base in BUILT_HERE:
        if options and not re.fullmatch(r"size=\d+", options):
            raise Failed(f"{base}: its only option is size, not '{options}'")
        run(sys.executable, os.path.join(ROOT, "bench", f"{BUILT_HERE[base]}.py"), path, options.partition("=")[2] or "224")
        return path, path, f"bench/{BUILT_HERE[base]}.py"
    run(SEER, "models", "--export", base, "-o", folder, *(["--input-shapes", options] if options else []))
    return name, path, "built in"


# ---- tuning
def tree(pid):
    """A process and all below it."""
    found = [pid]
    for one in found:
        try:
            with open(f"/proc/{one}/task/{one}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found


def proportional_bytes(pid):
    """Memory of a process tree, shared pages once."""
    total = 0
    for one in tree(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as file:
                total += sum(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return total


def tune(seer, model, setting, folder, called):
    """The closing event of a tuning with its verdict and the peak of its processes' memory (looked at once a second)."""
    done, verdict, peak, looked = None, None, 0, 0
    command = [seer, "tune", model, "--threads", str(setting.threads), "--time-budget", setting.budget, "--records",
               f"{folder}/{called}.sqlite", "-o", f"{folder}/{called}", "--json"]
    with open(f"{folder}/{called}.log", "w", encoding="utf-8") as log:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as tuner:
            for line in tuner.stdout:
                if time.monotonic() - looked > 1:
                    looked = time.monotonic()
                    peak = max(peak, proportional_bytes(tuner.pid))
                event = json.loads(line)
                if event["event"] == "done":
                    done = event
                if event["event"] == "verdict":
                    verdict = event
    if done is None or tuner.returncode != 0:
        with open(f"{folder}/{called}.log", encoding="utf-8", errors="replace") as log:
            raise Failed(f"tuning by {seer} failed: {log.read().strip()[-1000:]}")
    return {**done, "verdict": verdict, "peak_bytes": peak}


def check_answer(name, path, folder, threads):
    """The winners' answer against ONNX Runtime's, with one thread and with as many as are measured."""
    feeds = peer_bench.random_feeds(path)
    parts = PARTS.get(name.partition(":")[0][:-1], {})
    want = peer_test.split_parts(peer_test.reference(path, feeds), parts)
    for n in sorted({1, threads}):
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(sys.stderr):
            got = peer_test.split_parts(peer_test.run_ours(f"{folder}/tuned", feeds, out, n), parts)
            peer_test.compare(f"{name} tuned, threads={n}", got, want)


# ---- measuring
def machine_state(threads):
    """Whether threads have cores, and what handing a phase over to them costs: before and after each network."""
    lines = run(os.path.join(BUILD, "bench", "pool"), threads, POOL_S).splitlines()
    gain = float(re.search(r"compute ([\d.]+) times", lines[0])[1])
    hand_over = next(float(line[26:].split()[0]) for line in lines if line[:26].strip() == "empty")
    return {"gain": gain, "hand_over_ns": hand_over, "load": os.getloadavg()[0], "lines": lines}


def in_turns(peers, path, libraries, threads, *more):
    """bench/peers.py, with `more` options, of these libraries ({name: file}) and the peers. Added for each: how many times as
    fast the first one is."""
    command = [sys.executable, os.path.join(ROOT, "bench", "peers.py"), "--onnx", path, "--threads", threads, "--json", *more]
    for name, library in libraries.items():
        command += ["--ours", f"{name}={library}"]
    for peer in peers:
        command += ["--peer", peer]
    result = from_json(run(*command))
    for entry in result["contenders"].values():
        if "ratio" in entry:
            entry["times"] = {"median": 1 / entry["ratio"], "low": 1 / entry["ratio_high"], "high": 1 / entry["ratio_low"]}
    return result


def account(folder, setting, latency_ms):
    """What gap.c says, all of it, and the network over the sum of its steps alone."""
    rounds = int(min(60, max(8, GAP_S * 1e3 / (55 * latency_ms))))  # a round runs the network about so often
    gap = from_json(run(os.path.join(BUILD, "bench", "gap"), folder, "--threads", setting.threads, "--rounds", rounds, "--pin", "--json"))
    ratios = [r["latency_us"] / r["alone_us"] for r in gap["rounds"]]
    low, high = peer_bench.interval(ratios, random.Random(1))
    return {**gap, "over_sum": {"median": statistics.median(ratios), "low": low, "high": high}}


def stored_estimate(folder, gap):
    """What tune stored: seconds of tasks by how often they occur, and the copies, which have no task, as gap.c found them."""
    with open(f"{folder}/model.json", encoding="utf-8") as file:
        tasks = json.load(file)["tasks"]
    copies_us = sum(step["alone_us"] for step in gap["steps"] if step["kind"] == "copy") if gap else 0
    tasks_ms = 1e3 * sum(task["weight"] * task.get("seconds", 0) for task in tasks)
    return {"ms": tasks_ms + 1e-3 * copies_us, "tasks_ms": tasks_ms, "copies_ms": 1e-3 * copies_us, "tasks": len(tasks),
            "tasks_without": sum("seconds" not in task for task in tasks)}


def sessions(library):
    """How many times as often four sessions at once run it as one does."""
    lines = run(os.path.join(BUILD, "bench", "sessions"), library, 4).splitlines()
    found = [re.match(r"\s*(\d+) threads:\s+([\d.]+) runs a second, ([\d.]+) times", line) for line in lines]
    last = next(f for f in found if f and f[1] == "4")
    return {"runs_per_s": float(last[2]), "times_one": float(last[3]), "lines": lines}


def fill(row, name, setting, folder):
    """Puts into the row what it says, in the order in which it is measured."""
    def attempt(what, function, *args):
        try:
            return function(*args)
        except Failed as reason:
            row["left_out"][what] = str(reason)
            return None

    library = f"{folder}/tuned/model.so"
    model, path, row["source"] = export(name, folder)
    run(SEER, "compile", model, "-O1", "--threads", setting.threads, "-o", f"{folder}/untuned")
    row["tune"] = tune(SEER, model, setting, folder, "tuned")
    run(SEER, "verify", library, model)
    check_answer(name, path, folder, setting.threads)
    row["bytes"] = {"model": os.path.getsize(path), "packed": os.path.getsize(f"{folder}/tuned/weights.bin")}
    row["latency"] = from_json(run(SEER, "bench", library, "--threads", setting.threads, "--json"))
    row["gap"] = attempt("gap", account, f"{folder}/tuned", setting, row["latency"]["median_ms"])
    row["estimate"] = stored_estimate(f"{folder}/tuned", row["gap"])
    ours = {"tuned": library, "untuned": f"{folder}/untuned/model.so"}
    if setting.before:
        row["tune_before"] = attempt("before", tune, setting.before, model, setting, folder, "before")
    if row.get("tune_before"):
        ours["before"] = f"{folder}/before/model.so"
        row["compare_before"] = from_json(run(SEER, "bench", library, "--compare", ours["before"], "--threads", setting.threads, "--json"))
    row["turns"] = attempt("turns", in_turns, setting.peers, path, ours, setting.threads)
    if "one" in setting.also:
        row["one"] = attempt("one", in_turns, setting.peers, path, {"tuned": library}, 1)
    if "four" in setting.also:
        row["four"] = attempt("four", sessions, library)
    for turns in (row["turns"], row.get("one")):
        row["left_out"].update(turns["left_out"] if turns else {})


def measure(name, setting):
    """All that a row says, with "failed" where the network could not be tuned or is wrong."""
    row = {"network": name, "left_out": {}, "state": {"before": machine_state(setting.threads)}}
    with workplace(name, setting.keep) as folder:
        try:
            fill(row, name, setting, folder)
        except Exception as problem:  # whatever it is, the other networks are still measured
            row["failed"] = f"{type(problem).__name__}: {problem}"
    row["state"]["after"] = machine_state(setting.threads)
    return row


# ---- the machine and what else takes part
def version(peer):
    """The package's, in the environment that it runs in; None if it is not there."""
    package = {"inductor": "torch", "openvino-default": "openvino"}.get(peer, peer)
    python = peer_bench.PYTHON.get(peer, sys.executable)
    try:
        return run(python, "-c", f"from importlib.metadata import version; print(version({package!r}))").strip()
    except (Failed, OSError):
        return None


def machine():
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=False)
    return {"device": from_json(run(SEER, "devices", "--json")), "processors": len(os.sched_getaffinity(0)),
            "kernel": os.uname().release, "commit": commit.stdout.strip()}
