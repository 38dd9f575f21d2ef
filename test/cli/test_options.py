"""Each option is read by the commands that take it, and by no others; each command shows its flags.

The table's column of commands is held against what commands read while they run (--log options:1). Every command is run
with all that makes it read something.

SEER_TEST: timeout=300 cost=30
"""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

FAMILYSEER = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
SOURCE = os.path.abspath(os.environ.get("SEER_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def run(*args, status=0, pass_fds=(), **environment):
    done = subprocess.run([FAMILYSEER, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          pass_fds=pass_fds, env={**os.environ, **environment})
    if status is not None:
        check(done.returncode == status, f"{' '.join(map(str, args))}: status {done.returncode}, not {status}: {done.stderr[-2000:]}")
    return done


def table():
    """Name -> (type, commands) as doc/options.md has them, which lint holds against the program."""
    options = {}
    for line in open(os.path.join(SOURCE, "doc", "options.md")):
        cells = re.split(r"(?<!\\)\|", line)
        if line.startswith("| `--"):
            options[cells[1].strip(" `-")] = (cells[3].strip(), cells[6].strip().replace("\\", "").split())
    return options


def commands():
    return [line.split()[0] for line in run("list", "commands").stdout.splitlines()]


OPTIONS, COMMANDS = table(), commands()


def of_command(command):
    return {name for name, (_, names) in OPTIONS.items() if command in names or names == ["*"]}


def table_is_sound():
    check(len(OPTIONS) > 50, f"{len(OPTIONS)} options in doc/options.md")
    for name, (_, names) in OPTIONS.items():
        check(names, f"no command takes --{name}")
        for command in names:
            check(command in COMMANDS + ["*"], f"--{name} is for '{command}', which is no command")
        check(len(names) == len(set(names)), f"--{name} names a command twice")


def sources_use_each():
    """The plainest check, for options that only a rare path reads."""
    text = ""
    for folder, _, files in os.walk(os.path.join(SOURCE, "src")):
        for file in files:
            if file.endswith((".c", ".h")):
                text += open(os.path.join(folder, file)).read()
    for name in OPTIONS:
        option = "SEER_OPT_" + name.upper().replace("-", "_")
        check(re.search(rf"\b{option}\b", text), f"{option} is used nowhere")


def help_names_all():
    for command in COMMANDS:
        short = run(command, "--help").stdout
        check(short == run("help", command).stdout, f"help {command} is not {command} --help")
        check(len(short.splitlines()) <= 82, f"{command} --help has {len(short.splitlines())} lines, more than a screen or two")
        for out, is_whole in ((short, False), (run(command, "--help-all").stdout, True)):
            shown = set()
            for name in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", out, re.M):
                shown.add(name[3:] if name.startswith("no-") and name[3:] in OPTIONS and name not in OPTIONS else name)
            check(out.startswith(f"usage: familyseer {command} "), f"{command} --help begins {out[:60]!r}")
            check(shown <= of_command(command), f"{command} --help shows {sorted(shown - of_command(command))}")
            more = re.search(rf"^(\d+) more, and more on these: `familyseer {command} --help-all`$", out, re.M)
            hidden = int(more[1]) if more else 0
            check(len(shown) + hidden == len(of_command(command)), f"{command}: {len(shown)} flags and {hidden} more are not {len(of_command(command))}")
            check(not (is_whole and hidden), f"{command} --help-all leaves {hidden} out")
            for example in re.findall(rf"^  familyseer (.*)$", out, re.M):
                check(example.split()[0] == command, f"{command} --help has an example of another: {example}")
                for flag in re.findall(r"--([a-z-]+)", example):
                    check(flag in of_command(command), f"{command} --help has an example with --{flag}")
            for name, (_, names) in OPTIONS.items() if is_whole else ():
                check(f"--{name}" in out or command not in names or f"--no-{name}" in out, f"{command} --help lacks --{name}")


def others_are_refused():
    for command in COMMANDS:
        other = next(name for name in OPTIONS if name not in of_command(command) and OPTIONS[name][0] != "switch")
        done = run(command, f"--{other}", "1", status=2)
        check(f"{command} takes no --{other}; it is a flag of: " in done.stderr, f"{command} --{other}: {done.stderr}")


NO_PYTHON = ["--against", "onnxruntime", "--python", "/nowhere/python"]  # bench ends with it


def reads(command, *args, status=0, **more):
    """What one run reads."""
    done = run(command, *args, "--log", "options:1", status=None if "--strict" in args or NO_PYTHON[-1] in args else status, **more)
    found = re.findall(r"^\[options\] read:(.*)$", done.stderr, re.M)
    check(found, f"{command} {args} says nothing of options: {done.stderr[-1000:]}")
    return set(found[-1].split()) if found else set()


def runs(folder):
    """(command, arguments) that together read all that there is to read."""
    def f(name):
        return os.path.join(folder, name)
    open(f("net.graph"), "w").write(run("opt", "--pass=resolve", f("mlp.onnx")).stdout)
    records = ["--records", f("r.sqlite")]
    tune = ["mlp", *records, "--measure", "fake", "--trials", 24]
    yield "tune", [*tune, "-o", f("out"), "--dump", "task", "--dump-dir", f("dump"), "--report", f("report.html"), "--save-model", f("m"), "--json", "--preset", "quick"]
    yield "tune", [*tune, "--load-model", f("m"), "--no-resume", "--time-budget", "9s", "--target-latency", "1us",
                   "--early-stopping", 1000, "--task-early-stopping", 100, "--round-size", 4, "--tasks", "0-1", "--ops", "Gemm"]
    yield "tune", ["mlp", "--ignore-records", "--time-budget", "1s", "--builders", 1]
    yield "tune", [f("mlp.onnx"), "--ignore-records", "--measure", "fake", "--trials", 4, "--precision", "bf16"]
    yield "tune", ["mlp", "--ignore-records", "--measure", "fake", "--preset", "quick", "--target-latency", "1000s"]
    yield "compile", ["mlp", "-o", f("out"), "--strict", *records]
    yield "compile", [f("mlp.onnx"), "-o", f("other"), "--random-schedules", 3]
    yield "compile", ["mlp", "-o", f("low"), "-O1", "--precision", "bf16"]
    yield "compile", ["mlp", "-o", f("kernels"), "--emit", "kernels", "--target", "opencl:generic"]
    yield "compile", ["mlp", "-o", f("dumped"), "--dump", "all", "--dump-dir", f("dump"), *records]
    yield "run", [f("out/model.so"), "-o", f("y"), "--expect", "output=" + f("y/output.npy"), "--json"]
    yield "bench", [f("out/model.so"), "--compare", f("other/model.so"), "--duration", 0, "--iterations", 2]
    yield "bench", [f("out/model.so"), "--profile", "--json", "--duration", 0, "--iterations", 2]
    yield "bench", [f("other/model.so"), f("mlp.onnx"), *NO_PYTHON]
    yield "tune", ["mlp", "--ignore-records", "--measure", "fake", "--trials", 4, "-o", f("raced"), *NO_PYTHON]
    sets = ["--input-shapes", "input:1x784", "--input-shapes", "input:2x784"]
    yield "compile", ["mlp", "-o", f("sets"), "-O1", *sets]
    yield "run", [f("sets/model.so"), *sets[:2]]
    yield "bench", [f("sets/model.so"), *sets[:2], "--duration", 0, "--iterations", 2]
    yield "verify", [f("out/model.so"), "mlp", "--dump", "asm", "--dump-dir", f("dump")]
    yield "verify", [f("other/model.so"), f("mlp.onnx")]
    yield "info", [f("mlp.onnx"), "--json"]
    yield "info", [f("out/model.so")]
    yield "tasks", [f("mlp.onnx"), "--ops", "Gemm"]
    yield "report", [f("report.html"), "--compare", f("report.html"), "-o", f("compared.html"), "--json"]
    yield "explain", [f("mlp.onnx"), "0", *records]
    yield "diff", [f("out/model.so"), f("other/model.so"), "--profile", "--json"]
    yield "diff", [f("sets/model.so"), f("sets/model.so"), "--profile", *sets[:2]]
    yield "completion", ["all", "-o", f("share")]
    yield "devices", ["--devices", "cpu"]
    yield "doctor", []
    yield "models", []
    yield "models", ["--export", "mlp", "-o", folder]
    yield "list", ["options"]
    yield "opt", ["--pass=resolve,fold,precision,task", f("mlp.onnx")]
    yield "opt", ["--pass=resolve,task", f("net.graph"), "--dump", "task", "--dump-dir", f("dump")]
    target = ["--target", open(os.path.join(SOURCE, "test", "targets", "zen4-avx2.target")).read().strip()]
    yield "study", ["collect", f("mlp.onnx"), "-o", f("times.gz"), "--schedules", 20, "--heaviest", 1, "--measure", "fake", *target]
    yield "tune", ["mlp", "--trials", 4, "--devices", "fake:0,fake:1", "--measure", "fake", "--records", f("fakes.sqlite"), *target]
    yield "study", ["collect", "mlp", "-o", f("own.gz"), "--schedules", 4, "--time-budget", "1s", "--builders", 1]
    yield "study", ["regret", f("times.gz"), "--seeds", 1, "--policies", "round-robin", "--csv", f("regret.csv"), "--without", "random"]
    yield "pretrain", [f("times.gz"), "-o", f("models"), "--leave-out", "nothing", *target]
    yield "study", ["all", f("times.gz"), "-o", f("study"), "--seeds", 1, "--trials-a-task", 8, "--round-size", 4, "--samples", 8]
    yield "pretrain", [f("r.sqlite"), "-o", f("models"), "--measure", "fake"]
    yield "records", ["best", f("mlp.onnx"), *records]
    yield "records", ["export", f("lines"), *records]
    yield "records", ["import", f("lines"), "--records", f("other.sqlite")]


def of_fleet(folder):
    """command -> what is read by a worker, a tuning and `fleet`, with a redis-server of their own."""
    path, key = os.path.join(folder, "redis.sock"), os.path.join(folder, "key")
    url = "unix://" + path
    open(key, "w").write("secret")
    fleet = ["--fleet", url, "--fleet-key", key]
    log = os.path.join(folder, "worker.txt")
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder],
                              stdout=subprocess.DEVNULL)
    while not os.path.exists(path):
        time.sleep(0.05)
    worker = subprocess.Popen([FAMILYSEER, "worker", *fleet, "--devices", f"cpu:{min(os.sched_getaffinity(0))}", "--grace", "10s", "--log", "options:1"], stderr=open(log, "w"),
                              env={**os.environ, "XDG_CACHE_HOME": folder})
    try:
        found = {"tune": reads("tune", "mlp", *fleet, "--threads", 1, "--trials", 4, "--ignore-records", XDG_CACHE_HOME=folder),
                 "fleet": reads("fleet", *fleet, "--json", XDG_CACHE_HOME=folder)}
        worker.terminate()
        check(worker.wait(60) == 0, f"worker --fleet: status {worker.returncode}: {open(log).read()[-2000:]}")
        lines = re.findall(r"^\[options\] read:(.*)$", open(log).read(), re.M)
        found["worker"] = set(lines[-1].split()) if lines else set()
    finally:
        worker.kill()
        server.kill()
        server.wait()
    return found


def of_board(folder):
    """What `devices`, `tune` and the process that speaks for a board read: of one that is there."""
    key = os.path.join(folder, "runner.key")
    open(key, "w").write("a secret of a board")
    board = subprocess.Popen([os.path.join(os.path.dirname(FAMILYSEER), "familyseer-runner"), "--key", key, "--listen", "127.0.0.1:0"],
                             stdout=subprocess.PIPE, text=True)
    try:
        port = board.stdout.readline().split()[-1]
        return {"devices": reads("devices", "--devices", "runner:127.0.0.1:" + port, "--runner-key", key),
                "tune": reads("tune", "mlp", "--devices", "runner:127.0.0.1:" + port, "--runner-key", key, "--trials", 4, "--ignore-records", XDG_CACHE_HOME=folder)}
    finally:
        board.kill()
        board.wait()


def what_is_taken_is_read():
    seen = {command: set() for command in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        run("models", "--export", "mlp", "-o", folder)
        os.makedirs(os.path.join(folder, "y"))
        run("compile", "mlp", "-o", os.path.join(folder, "first"), "-O1")
        run("run", os.path.join(folder, "first", "model.so"), "-o", os.path.join(folder, "y"))
        for command, args in runs(folder):
            seen[command] |= reads(command, *args, XDG_CACHE_HOME=folder)
        for found in (of_fleet(folder), of_board(folder)):
            for command, names in found.items():
                seen[command] |= names
        for job in ("builder", "runner", "caller"):  # whose parent has gone
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            ours.close()
            address = ["127.0.0.1:1"] if job == "caller" else []
            seen["worker"] |= reads("worker", job, theirs.fileno(), *address, status=None, pass_fds=[theirs.fileno()])
            theirs.close()
    for command in COMMANDS:
        for name in sorted(of_command(command) - seen[command]):
            check(False, f"{command} takes --{name} and never reads it")
        for name in sorted(seen[command] - of_command(command)):
            check(False, f"{command} reads --{name}, which it does not take")


table_is_sound()
sources_use_each()
help_names_all()
others_are_refused()
what_is_taken_is_read()
sys.exit(bool(failures))
