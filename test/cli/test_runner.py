# A runner on another machine: what is built here is timed and checked by familyseer-runner, a small static program,
# which has its caller's secret or runs nothing. Runners that die, boards that go away and come back, callers that are
# none; and one for another processor, in an emulator, as the only worker of a fleet.
# SEER_TEST: timeout=200
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
from fleet import PROGRAM, Fleet, check_trials, every, expect

BUILD = os.environ["TEST_BUILD_DIR"]
MOST_BYTES = 2 << 20
folder = tempfile.mkdtemp(prefix="familyseer-runner")
KEY, OTHER_KEY = os.path.join(folder, "key"), os.path.join(folder, "other")
for path, secret in ((KEY, "what both of them know"), (OTHER_KEY, "what only one of them knows")):
    with open(path, "w") as f:
        f.write(secret)
env = dict(os.environ, SEER_DEVICE_LOCK=os.path.join(folder, "lock"))
boards = []


class Board:
    def __init__(self, command=(os.path.join(BUILD, "familyseer-runner"),), port=0, key=KEY, more=()):
        self.process = subprocess.Popen([*command, "--key", key, "--listen", f"127.0.0.1:{port}", *more], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        boards.append(self)
        line = self.process.stdout.readline()
        found = re.search(r"listens at port (\d+)", line)
        expect(found, f"a runner that does not start: {line}")
        self.port = int(found.group(1))
        self.device = f"runner:127.0.0.1:{self.port}"

    def runners(self):
        pids = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        return [int(pid) for pid in pids]

    def kill_runner(self, number=signal.SIGSEGV):
        for pid in self.runners():
            os.kill(pid, number)

    def end(self):
        self.process.kill()
        self.process.communicate()


def run(*args, key=KEY):
    with_key = ["--runner-key", key] if key else []
    return subprocess.run([PROGRAM, *args, *with_key], env=env, capture_output=True, text=True, timeout=120)


def tune(devices, *args, on_event=lambda events: None, model="mlp"):
    command = [PROGRAM, "tune", model, "--json", "--devices", devices, "--runner-key", KEY, *args]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        on_event(events)
    errors = process.stderr.read()
    expect(process.wait() == 0, f"tune {devices}: {errors}")
    return events, errors


def is_static(path):
    """Little-endian ELF of 64 bits without a program header of type 3: nothing loads it but the system."""
    with open(path, "rb") as f:
        head = f.read(4096)
    offset, size, n = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    return head[:4] == b"\x7fELF" and all(struct.unpack_from("<I", head, offset + k * size)[0] != 3 for k in range(n))


def small_and_static():
    paths = [os.path.join(BUILD, "familyseer-runner")] + [p for p in (os.path.join(BUILD, "aarch64", "familyseer-runner"),) if os.path.exists(p)]
    for path in paths:
        expect(is_static(path), f"{path} is not static")
        expect(os.path.getsize(path) < MOST_BYTES, f"{path} has {os.path.getsize(path)} bytes")


def refusals():
    board = Board()
    out = run("devices", "--devices", board.device, key=None)
    expect(out.returncode == 1 and "--runner-key FILE" in out.stderr, out.stderr)
    out = run("devices", "--devices", board.device, key=OTHER_KEY)
    expect(out.returncode == 1 and "another secret" in out.stderr, out.stderr)
    out = run("tune", "mlp", "--devices", board.device, "--trials", "8", "--target", "x86_64-linux-gnu" if os.uname().machine == "aarch64" else "aarch64-linux-gnu")
    expect(out.returncode == 1 and "can't run code for" in out.stderr, out.stderr)
    out = run("tune", "mlp", "--devices", f"{board.device},cpu:0", "--trials", "8")
    expect(out.returncode == 1 and "must be alike" in out.stderr, out.stderr)
    for address in ("", "host:0", "host:65536", "host:port", "[::1", "-host", "host:1:2", "ho st"):
        out = run("devices", "--devices", f"runner:{address}")
        expect(out.returncode == 1 and "no address of a runner" in out.stderr, f"{address}: {out.stderr}")
    # Whoever is no caller gets nothing and disturbs nobody: nonsense, nothing at all, half of a beginning.
    for data in (b"GET / HTTP/1.1\r\n\r\n" * 8, b"", b"x" * 32, os.urandom(4096)):
        with socket.create_connection(("127.0.0.1", board.port), timeout=10) as s:
            expect(s.recv(8) == b"SEERLINK", "no greeting")
            s.sendall(data)
    silent = socket.create_connection(("127.0.0.1", board.port))
    out = run("devices", "--devices", board.device)
    expect(out.returncode == 1 and "does not greet" in out.stderr, f"beside one who says nothing: {out.stderr}")
    silent.close()
    out = run("devices", "--devices", board.device)
    expect(out.returncode == 0 and board.device in out.stdout, out.stderr)
    port = board.port
    board.end()
    out = run("devices", "--devices", f"runner:127.0.0.1:{port}")
    expect(out.returncode == 1 and "Connection refused" in out.stderr, out.stderr)


def misfortunes():
    """A runner that crashes costs what it did; a board that is started again is called again; of two, one is enough."""
    board, other = Board(), Board()
    port = board.port

    def start_again():
        board.end()
        boards.append(Board(port=port))
    on_event, left = every(8, [board.kill_runner, board.kill_runner, start_again, other.end])
    events, errors = tune(f"{board.device},{other.device}", "--trials", "64", "--records", os.path.join(folder, "two.sqlite"), on_event=on_event)
    expect(not left, f"{len(left)} faults were not made")
    check_trials(events, 64)
    expect("is lost; the tuning goes on with 1 of 2" in errors, errors)


def a_library():
    board = Board()
    library = os.path.join(folder, "library")
    events, errors = tune(board.device, "--trials", "24", "--records", os.path.join(folder, "one.sqlite"), "-o", library)
    check_trials(events, 24)
    out = run("verify", os.path.join(library, "model.so"), "mlp", key=None)
    expect(out.returncode == 0, f"verify: {out.stdout}{out.stderr}")
    # One at a time: who comes second waits some seconds, and is told. The tuning takes longer on any machine.
    silent = subprocess.Popen([PROGRAM, "tune", "mlp", "--devices", board.device, "--runner-key", KEY, "--measure", "local:delay=500ms", "--trials", "400", "--records", os.path.join(folder, "busy.sqlite")], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # It asks what the board is first, and has it only then: a runner there is no sign of that.
    for _ in range(200):
        out = run("devices", "--devices", board.device)
        if out.returncode != 0 or silent.poll() is not None:
            break
        time.sleep(0.05)
    expect(out.returncode == 1 and "in use by another tuning" in out.stderr, out.stderr)
    silent.kill()
    silent.wait()


def another_processor():
    """In an emulator, which has no filter of system calls and no way to start itself again but by name."""
    program, emulator = os.path.join(BUILD, "aarch64", "familyseer-runner"), shutil.which("qemu-aarch64")
    if not emulator or not os.path.exists(program):
        print("no emulator, or no familyseer-runner for aarch64: not tried")
        return
    board = Board([emulator, program], more=["--through", emulator])
    out = run("devices", "--devices", board.device, "--json")
    expect(out.returncode == 0, out.stderr)
    target = json.loads(out.stdout)["target"]
    expect("aarch64" in target, target)
    fleet = Fleet()
    try:
        fleet.start_worker("--measure", "local", "--devices", board.device, "--runner-key", KEY)
        fleet.wait_for_workers(1)
        library = os.path.join(folder, "aarch64")
        events, _ = fleet.tune("--target", target, "--trials", "16", "--records", os.path.join(folder, "arm.sqlite"), "-o", library, model="mlp")
        check_trials(events, 16)
        with open(os.path.join(library, "model.so"), "rb") as f:
            expect(struct.unpack_from("<H", f.read(20), 18)[0] == 183, "the library is not for aarch64")
    finally:
        fleet.close()


try:
    small_and_static()
    refusals()
    misfortunes()
    a_library()
    another_processor()
finally:
    for board in boards:
        board.end()
    shutil.rmtree(folder, ignore_errors=True)
