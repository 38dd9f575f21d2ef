"""The steps of day.py: each (name, seconds of a whole day, function of the day and its section)."""
import glob
import gzip
import json
import os
import platform
import re
import shutil
import sqlite3
import sys

from child import Failed, LeftOut

NETWORKS = ("mobilenet_v2", "resnet50_v1", "bert_large", "gpt2_small")


def lines_of(text):
    """The JSON objects of a text, a line each."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def clocks(day):
    """What the driver's own tool says of the device now; None where there is none."""
    fields = ("name", "driver_version", "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu", "memory.used")
    if not shutil.which("nvidia-smi"):
        return None
    try:
        text = day.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"], limit=20)
    except Failed as why:
        return str(why)
    return [dict(zip(fields, (value.strip() for value in line.split(",")))) for line in text.strip().splitlines()]


def nvrtc():
    """Where it may be: the toolkit's, or a package's beside this Python. "" where the loader finds it, or it is nowhere."""
    names = ["/usr/local/cuda*/lib64/libnvrtc.so.1?"]
    names += [os.path.join(root, "nvidia/*/lib/libnvrtc.so.1?") for root in sys.path if root]
    return next((path for name in names for path in sorted(glob.glob(name), reverse=True)), "")


def device_of(day):
    if day.device is None:
        raise LeftOut("no device answers")
    return day.device


def on_cuda(day):
    if not device_of(day).startswith("cuda"):
        raise LeftOut(f"{day.device} is no device of CUDA")


def compiler(day):
    """--nvrtc for a device of CUDA, where it is not where the loader looks."""
    path = os.environ.get("SEER_NVRTC") or nvrtc()
    return {"SEER_NVRTC": path} if path and device_of(day).startswith("cuda") else {}


# ---- what is here

def here(day, section):
    section["machine"] = {"system": platform.system(), "libc": platform.libc_ver()[1], "processors": len(os.sched_getaffinity(0)), "python": platform.python_version()}
    section["version"] = day.run([day.program("familyseer"), "--version"], limit=20).strip()
    section["tools"] = {name: shutil.which(name) is not None for name in ("nvidia-smi", "nvcc", "compute-sanitizer")}
    section["tools"]["nvrtc"] = bool(nvrtc())
    section["clocks"] = clocks(day)


def devices(day, section):
    """Every device answers x + 1, or says why not."""
    found = json.loads(day.run([day.program("familyseer"), "devices", "--json"]))
    section["drivers"] = found.get("drivers", [])
    names = [device["name"] for driver in section["drivers"] for device in driver["devices"] if device.get("answers")]
    if day.device is None:
        day.device = next(iter(sorted(names)), None)  # CUDA's come first
    section["device"] = day.device
    if day.device is None:
        raise LeftOut("no device answers")
    device = next((d for driver in section["drivers"] for d in driver["devices"] if d["name"] == day.device), {})
    section["is_gpu"] = bool(device) and not device.get("is_cpu", False)
    section["model"] = device.get("model", "")


def need_devices(day):
    if day.device is None:
        day.device = day.sections.get("devices", {}).get("device")


# ---- drawn schedules

def property_sample(day, section):
    """Drawn schedules and planted faults, run on the device and held against the interpreter."""
    need_devices(day)
    n = max(12, int((400 if device_of(day).startswith("cuda") else 100) * day.scale))
    program = day.program("items_device")
    try:
        text = day.run([program], SEER_TEST_DEVICE=day.device, SEER_PROPERTY_PAIRS=str(n), **compiler(day))
    finally:
        section["asked"] = n
    section["drawn"] = int(re.search(r"of (\d+) schedules", text).group(1))
    section["kinds"] = re.search(r"of \d+ schedules (.*)", text).group(1)
    seen = re.search(r"(\d+) of (\d+) are seen", text)
    section["faults"], section["faults_seen"] = int(seen.group(2)), int(seen.group(1))


def sanitizer(day, section):
    """The same under NVIDIA's own judges of memory and races, a small sample."""
    need_devices(day)
    on_cuda(day)
    tool = shutil.which("compute-sanitizer")
    if not tool:
        raise LeftOut("compute-sanitizer is not installed")
    program, n = day.program("items_device"), max(12, int(24 * day.scale))
    section["asked"], section["tools"] = n, {}
    for kind in ("memcheck", "racecheck", "initcheck"):
        # The schedules alone: what is planted reads what is nowhere, which is what these tools complain of.
        text = day.run([tool, "--tool", kind, "--error-exitcode", "9", "--report-api-errors", "no", program], ok=(0, 1, 9), limit=max(20, 45 * day.scale),
                       SEER_TEST_DEVICE=day.device, SEER_PROPERTY_PAIRS=str(n), SEER_TEST_NO_FAULTS="1", **compiler(day))
        errors = re.search(r"ERROR SUMMARY: (\d+) error", text)
        hazards = re.search(r"RACECHECK SUMMARY: (\d+) hazard", text)
        said = errors or hazards
        section["tools"][kind] = int(said.group(1)) if said else "no summary: " + text.strip()[-200:]
    if any(value != 0 for value in section["tools"].values()):
        raise Failed(f"complaints: {section['tools']}")


# ---- constants

def facts(day, section):
    """Peaks, bandwidths, latencies, launches (facts.cu): built here, as it asks CUDA's runtime."""
    need_devices(day)
    on_cuda(day)
    if not shutil.which("nvcc"):
        raise LeftOut("nvcc is not installed")
    program = os.path.join(day.work, "facts")
    day.run(["nvcc", "-O3", "-std=c++17", "-arch=native", day.program("facts.cu"), "-o", program, "-lcuda", "-lnvrtc"])
    section["facts"] = json.loads(day.run([program]))


# ---- networks

def figures(said):
    """Of what bench says of two libraries all but where they are."""
    return {key: figures(value) if isinstance(value, dict) else value for key, value in said.items() if key != "model"}


def network(name):
    def step(day, section):
        need_devices(day)
        is_cuda = device_of(day).startswith("cuda")
        what = name
        if day.scale < 0.2:
            if name != NETWORKS[0]:
                raise LeftOut("the time is short: one small network stands for all")
            what = "mlp"
        elif not is_cuda and name != NETWORKS[0]:
            raise LeftOut(f"{day.device} is no GPU: one network is enough")
        section["network"] = what
        program, around = day.program("familyseer"), compiler(day)
        tuned, untuned, budget = name + ".tuned", name + ".untuned", max(3, round(120 * day.scale))
        for folder in (tuned, untuned):
            shutil.rmtree(os.path.join(day.work, folder), ignore_errors=True)
        before = {"clocks": clocks(day)}
        day.run([program, "compile", what, "--target", day.device, "-O1", "-o", untuned],
                SEER_RECORDS=os.path.join(day.work, "none.sqlite"), **around)
        events = lines_of(day.run([program, "tune", what, "--target", day.device, "-o", tuned, "--time-budget", f"{budget}s", "--json"], **around))
        section["budget_s"] = budget
        done = [event for event in events if event.get("event") == "done"]
        section["tuning"] = {key: value for key, value in done[-1].items() if isinstance(value, (int, float))} if done else {}
        section["verdict"] = next((event for event in events if event.get("event") == "verdict"), {})
        section["curve"] = [[round(event["elapsed_s"], 1), event["trials"], event["estimated_ms"]] for event in events
                            if event.get("event") == "round-end"]
        libraries = [os.path.join(day.work, folder, "model.so") for folder in (tuned, untuned)]
        section["bench"] = figures(json.loads(day.run([program, "bench", libraries[0], "--compare", libraries[1], "--json"], limit=60)))
        section["clocks"] = [before["clocks"], clocks(day)]
        try:
            said = json.loads(day.run([program, "verify", libraries[0], what, "--json"], ok=(0, 1)))
            section["verify"] = {"ok": said.get("ok"), "outputs": [output.get("max_error") for one in said.get("sets", [])
                                                                  for output in one.get("outputs", [])]}
        except Failed as why:  # large networks take the reference long; the tuning's figures stand
            section["verify"] = {"ok": None, "why": str(why)}
        finally:
            for folder in (tuned, untuned):
                shutil.rmtree(os.path.join(day.work, folder), ignore_errors=True)
        if section["verify"]["ok"] is False:
            raise Failed("verify says that the tuned library is wrong")
    return step


# ---- what was timed

def table(day, section):
    """Every candidate that the tunings timed, a line each, beside the JSON file: NAME.times.jsonl.gz."""
    path = os.path.join(day.work, "records.sqlite")
    if not os.path.exists(path):
        raise LeftOut("nothing was tuned")
    out = os.path.splitext(day.path)[0] + ".times.jsonl.gz"
    n = rows_into(path, out)
    section.update(file=os.path.basename(out), rows=n)
    if not n:
        raise Failed("the records have no measurement")


TASKS = """SELECT DISTINCT w.id AS task, w.name, w.dag, t.id AS target, t.text AS target_text FROM measurement m
  JOIN workload w ON w.id = m.workload JOIN target t ON t.id = m.target ORDER BY w.id, t.id"""
ROWS = """SELECT workload AS task, target, schedule, class, state, seconds, raced, predicted, origin, round FROM measurement ORDER BY id"""


def rows_into(path, out):
    """A line for each task and target, then one for each measurement; how many of these."""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    base.row_factory = sqlite3.Row
    n = 0
    with gzip.open(out, "wt", compresslevel=9) as stream:
        for query in (TASKS, ROWS):
            n = 0
            for row in base.execute(query):
                stream.write(json.dumps(dict(row), sort_keys=True) + "\n")
                n += 1
    base.close()
    return n


# ---- peers

def peers(day, section):
    """cuBLASLt and cuDNN called from C (peers_cuda.c): products of BERT, layers of ResNet-50."""
    need_devices(day)
    on_cuda(day)
    roots = [os.path.join(root, "nvidia") for root in sys.path if root]
    places = [path for root in roots for path in glob.glob(os.path.join(root, "*/lib"))] + glob.glob("/usr/local/cuda*/lib64")
    text = day.run([day.program("peers_cuda")], ok=(0, 1),
                   LD_LIBRARY_PATH=":".join([*places, os.environ.get("LD_LIBRARY_PATH", "")]).strip(":"))
    section["rows"] = lines_of(text)
    if not section["rows"]:
        raise LeftOut("neither cuBLASLt nor cuDNN is there")


def torch(day, section):
    """Whole networks by PyTorch, captured graphs, where it is installed."""
    need_devices(day)
    on_cuda(day)
    try:
        day.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], limit=90)
    except Failed as why:
        raise LeftOut(f"no PyTorch with CUDA: {why}") from why
    section["rows"] = lines_of(day.run([sys.executable, day.program("networks.py"), "--networks",
                                        "mobilenet_v2,resnet50,bert_large,gpt2_token"]))


STEPS = [("here", 25, here), ("devices", 60, devices), ("property", 160, property_sample), ("sanitizer", 150, sanitizer),
         ("facts", 90, facts), *((name, 200, network(name)) for name in NETWORKS), ("table", 15, table), ("peers", 90, peers),
         ("torch", 110, torch)]
