"""GPUs as targets: shown, and refused by every command that cannot serve them (all but compile, devices, tune and worker), with one message, before anything is done.

Which commands there are to refuse them says the table of options: one that takes --target from now on needs a line here.

SEER_TEST: timeout=120
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from files import state_of

FAMILYSEER = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
SOURCE = os.path.abspath(os.environ.get("SEER_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def run(*args, folder=None, program=FAMILYSEER, **environment):
    env = {name: value for name, value in os.environ.items() if not name.startswith("SEER_TARGET")}
    return subprocess.run([program, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder,
                          env={**env, **environment}, timeout=60)


def commands_with_target():
    for line in open(os.path.join(SOURCE, "doc", "options.md")):
        if line.startswith("| `--target` "):
            return re.split(r"(?<!\\)\|", line)[6].split()
    return []


def printed(name):
    return json.loads(run("devices", "--target", name, "--json").stdout)["target"]


# What each would do something with, if it were let.
INVOCATIONS = {
    "verify": [["library", "mlp"], ["library", "mlp", "--against", "onnxruntime"]],
    "tasks": [["mlp"], ["mlp", "--json"]],
    "explain": [["mlp"], ["mlp", "0", "--json"]],
    "doctor": [[]],
    "records": [["best", "mlp"], ["check"], ["export", "lines"]],
    "opt": [["--pass=resolve,task", "mlp.onnx"], ["--pass=resolve,task", "mlp.onnx", "--dump", "all", "--dump-dir", "dump"]],
    "study": [["collect", "mlp", "-o", "times.gz", "--measure", "fake"], ["gather", "mlp=records.db", "-o", "times.gz"],
              ["regret", os.path.join(SOURCE, "test/data/times.gz")]],
    "pretrain": [[os.path.join(SOURCE, "test/data/times.gz"), "-o", "models"]],
}


def refuses(folder, command, args, target, name, by_environment=False):
    before = state_of(folder)
    given = [] if by_environment else ["--target", target]
    environment = {"SEER_TARGET": target} if by_environment else {}
    done = run(command, *args, *given, folder=folder, SEER_RECORDS=os.path.join(folder, "records.db"),
               SEER_DEVICE_LOCK=os.path.join(folder, "device.lock"), **environment)
    what = f"{command} {' '.join(map(str, args))} for {target}"
    check(done.returncode == 1, f"{what}: status {done.returncode}: {done.stderr[-500:]}")
    check(done.stderr == f"familyseer {command}: target {name}: GPUs are served by compile and tune, and by run, bench and verify of what these make\n", f"{what}: {done.stderr[-500:]}")
    check(done.stdout == "", f"{what} says {done.stdout[:200]}")
    check(state_of(folder) == before, f"{what} leaves something behind")


def every_command_refuses(folder):
    commands = commands_with_target()
    check(sorted(commands) == sorted([*INVOCATIONS, "compile", "devices", "tune", "worker"]), f"commands that take --target are {commands}, tried are {sorted(INVOCATIONS)}")
    targets = [("cuda:sm_90", "cuda:sm_90"), ("opencl:generic", "opencl:generic"), ("opencl", "opencl"), (printed("cuda:h100"), "cuda:h100")]
    for command, all_args in INVOCATIONS.items():
        for args in all_args:
            refuses(folder, command, args, *targets[0])
        for target, name in targets[1:]:
            refuses(folder, command, all_args[0], target, name)
        refuses(folder, command, all_args[0], "cuda:t4", "cuda:t4", by_environment=True)


def compile_refuses(folder):
    """What there is no library of for a GPU."""
    for args, why in ((["--emit", "c"], "libraries for GPUs are not written as C yet: --emit so, obj or kernels"),
                      (["--emit", "kernels", "--precision", "auto"], "--precision auto: what a precision changes in the outputs is judged of libraries (--emit so or obj), not of kernels"),
                      (["--flush-denormals"], "--flush-denormals: kernels of GPUs keep denormal numbers"),
                      (["--strict"], "3 of 3 tasks have no accepted record (--strict)")):
        before = state_of(folder)
        done = run("compile", "mlp", "-o", "out", "--target", "opencl:generic", *args, folder=folder)
        check(done.returncode == 1 and done.stderr.endswith(f"{why}\n"), f"compile {args}: {done.returncode} {done.stderr[-500:]}")
        check(state_of(folder) == before or args == ["--flush-denormals"], f"compile {args} leaves something behind")


def others_take_none(folder):
    """Commands without a target do not read the variable, and have no such flag."""
    for command, args in (("info", ["library"]), ("bench", ["library", "--duration", 0, "--iterations", 1]), ("run", ["library"])):
        done = run(command, *args, folder=folder, SEER_TARGET="cuda:h100")
        check(done.returncode == 0, f"{command} with SEER_TARGET: {done.stderr[-500:]}")
        done = run(command, *args, "--target", "cuda:h100", folder=folder)
        check(done.returncode == 2 and "takes no --target" in done.stderr, f"{command} --target: {done.stderr[-500:]}")


def devices_are_told_apart():
    """A name among --devices is no target."""
    for name in ("cuda:0", "opencl:0"):
        done = run("tune", "mlp", "--devices", name)
        check(done.returncode == 1 and f"device {name} is none for target" in done.stderr, f"--devices {name}: {done.stderr[-500:]}")


def a_fleet_has_none(folder):
    """Workers of a fleet are processors."""
    done = run("worker", "--fleet", "redis://127.0.0.1:1", "--target", "cuda:h100", folder=folder)
    check(done.returncode == 1 and "target cuda:h100: " in done.stderr, f"worker: {done.returncode} {done.stderr[-500:]}")


def runner_refuses():
    runner = os.path.join(os.path.dirname(FAMILYSEER), "familyseer-runner")
    if not os.path.exists(runner):
        return
    done = run("--runner", 0, "--target=cuda:h100", "--threads=1", "--pin=0", "--confine=0", program=runner)
    check(done.returncode != 0 and "target cuda:h100: GPUs are served by compile and tune, and by run, bench and verify of what these make" in done.stderr, f"runner: {done.returncode} {done.stderr[-500:]}")


def all_are_shown():
    names = [line.split()[0] for line in run("list", "targets").stdout.splitlines()]
    gpus = [name for name in names if ":" in name]
    for wanted in ("native", "c", "c-vectors", "cuda:v100", "cuda:a100", "cuda:h100", "cuda:h200", "cuda:t4", "cuda:rtx4090", "opencl:generic"):
        check(wanted in names, f"list targets has no {wanted}")
    here = json.loads(run("devices", "--json").stdout)
    check(here["kind"] == "cpu" and [gpu["name"] for gpu in here["gpus"]] == gpus, f"devices --json has {here.get('gpus')}")
    text = run("devices").stdout
    for name in gpus:
        check(re.search(rf"^  {name} ", text, re.M), f"devices does not show {name}")
        one = json.loads(run("devices", "--target", name, "--json").stdout)
        check(one == next(gpu for gpu in here["gpus"] if gpu["name"] == name), f"{name} is shown in two ways")
        shown = run("devices", "--target", one["target"])
        check(shown.returncode == 0 and f"target      {one['target']}\n" in shown.stdout, f"{name}: {shown.stdout}{shown.stderr}")
        check(f"device      {name}: " in shown.stdout and "compile and tune make libraries for it" in shown.stdout, f"{name}: {shown.stdout}")
    done = run("devices", "--target", "cuda:h1000")
    check(done.returncode == 1 and "did you mean 'cuda:h100'" in done.stderr and "cuda:sm_90" in done.stderr, f"cuda:h1000: {done.stderr}")
    done = run("tasks", "mlp", "--target", "cuda:h100 -processors=0")
    check(done.returncode == 1 and "from 1 to 4096" in done.stderr, f"no processors: {done.stderr}")


def main():
    folder = tempfile.mkdtemp(prefix="familyseer-gpus-")
    try:
        done = run("compile", "mlp", "-O0", "-o", "library", folder=folder)
        check(done.returncode == 0, f"compile: {done.stderr}")
        done = run("models", "--export", "mlp", "-o", folder)
        check(done.returncode == 0, f"models: {done.stderr}")
        all_are_shown()
        every_command_refuses(folder)
        compile_refuses(folder)
        a_fleet_has_none(folder)
        others_take_none(folder)
        devices_are_told_apart()
        runner_refuses()
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
