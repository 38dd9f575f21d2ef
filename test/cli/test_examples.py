"""examples/README.md is followed word by word in a copy of the folder, with what is installed; what the examples compute is what
`familyseer run` says. Then what the page does not show: the server's refusals, clients at once, its end; a batch that goes on
where it stopped. SEER_TEST: timeout=150 cost=30"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

SOURCE, BUILD = os.environ["TEST_SOURCE_DIR"], os.environ["TEST_BUILD_DIR"]
FLAGS = os.environ.get("TEST_CFLAGS", "") + " -Wall -Wextra -Werror"
CROSS = [f"{BUILD}/aarch64/libseer_rt.a", "/usr/aarch64-linux-gnu/lib/libc.so.6"]
if not all(map(shutil.which, ("cc", "c++", "bash", "pkg-config"))):
    sys.exit(77)
can_cross = all(map(os.path.exists, CROSS)) and all(map(shutil.which, ("clang", "qemu-aarch64", "ld.lld")))

tmp = tempfile.TemporaryDirectory()
prefix, here, tools = (os.path.join(tmp.name, n) for n in ("prefix", "examples", "tools"))


def put(name, text):
    path = os.path.join(tools, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


os.mkdir(tools)
for compiler in ("cc", "c++"):  # with warnings, and as this build is sanitized
    put(compiler, f'#!/bin/sh\nexec {shutil.which(compiler)} {FLAGS} "$@"\n')
put("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
shutil.copytree(os.path.join(SOURCE, "examples"), here)
env = {**os.environ, "PATH": f"{tools}:{prefix}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig",
       "LD_LIBRARY_PATH": f"{prefix}/lib", "PYTHONPATH": f"{prefix}/share/familyseer", "PYTHONDONTWRITEBYTECODE": "1",
       "SEER_TRIALS": "24"}


def say(commands, status=0):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=here, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {commands}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def load(name):
    return np.load(os.path.join(here, name))


def same(name, want):
    got = load(name)
    assert got.dtype == np.float32 and np.array_equal(got.ravel(), want.ravel()), f"{name}: {got}, `familyseer run` says {want}"


def follow_page():
    with open(os.path.join(here, "README.md"), encoding="utf-8") as file:
        page = file.read()
    for folder, _, files in os.walk(here):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), here)
            assert path == "README.md" or f"]({path})" in page, f"the page does not name {path}"
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == 6, f"{len(blocks)} blocks of commands"
    for block in blocks:
        if "qemu-aarch64" in block and not can_cross:
            print("no compiler, libc or qemu for aarch64: that example is left out")
            continue
        out = say(block)
        if "./app" in block:
            assert "'output' begins with" in out and "measurements" in out, out


def compare():
    want = {}
    for name in ("plain", "half"):
        say(f"familyseer run {name}/model.so -i input=x.npy -o want_{name}")
        want[name] = load(f"want_{name}/output.npy")
        same(f"{name}.npy", want[name])
    assert not np.array_equal(want["plain"], want["half"]), "the two networks say the same"
    same("answers/first.output.npy", want["plain"])
    same("answers/second.output.npy", want["plain"])
    say("familyseer verify tuned/model.so mlp")
    if can_cross:
        got = np.fromfile(os.path.join(here, "y.bin"), np.float32)
        assert np.allclose(got, want["plain"].ravel(), rtol=1e-4, atol=1e-5), f"aarch64: {got}, here {want['plain']}"
    return want


def ask(lines):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.path.join(here, "my.sock"))
        stream = client.makefile("rw")
        for line in lines:
            stream.write(line + "\n")
        stream.flush()
        return [stream.readline().rstrip("\n") for _ in lines]


def server(want):
    """Four clients at once, whose lines take turns between the networks and what is refused."""
    x = " ".join(f"{v:.9g}" for v in load("x.npy").ravel())
    lines = [f"plain {x}", "plain 1 2 3", f"half {x}", f"none {x}", f"half {x} more", "", f"plain {x}"]
    ok = {k: "ok " + " ".join(f"{v:.9g}" for v in want[k].ravel()) for k in want}
    expected = [ok["plain"], "error 3 numbers, must be 784", ok["half"], "error no network 'none'", "error 'more' is no number",
                "error no network ''", ok["plain"]]
    running = subprocess.Popen(["./server", "my.sock", "plain=plain", "half=half"], cwd=here, env=env)
    while not os.path.exists(os.path.join(here, "my.sock")):
        assert running.poll() is None, "the server has ended"
        time.sleep(0.05)
    answers = {}
    threads = [threading.Thread(target=lambda k=k: answers.update({k: ask(lines * 5)})) for k in range(4)]
    idle = socket.socket(socket.AF_UNIX)
    idle.connect(os.path.join(here, "my.sock"))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        assert answers.get(k) == expected * 5, f"client {k} hears {answers.get(k)}"
    running.send_signal(signal.SIGTERM)  # with a client that says nothing
    assert running.wait(60) == 0 and not os.path.exists(os.path.join(here, "my.sock")), "the server's end"
    idle.close()
    done = subprocess.run(["./server", "-", "plain=plain", "half=half"], cwd=here, env=env, input="\n".join(lines) + "\n",
                          capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == expected, done.stdout
    assert "usage" in say("./server - plain", 2) and "nowhere" in say("./server - a=nowhere", 1)


def batch(want):
    say("cp plain.npy answers/first.output.npy && touch -d 2001-01-01 answers/first.output.npy && rm answers/second.output.npy")
    np.save(os.path.join(here, "images", "wide.npy"), np.zeros((1, 785), np.float32))
    out = say("python3 batch.py plain/model.so images answers", 1)
    assert "2 of 3 files" in out and "wide.npy" in out and "785" in out, out
    same("answers/second.output.npy", want["plain"])
    assert os.path.getmtime(os.path.join(here, "answers/first.output.npy")) < 1e9, "what was there was written again"
    assert sorted(os.listdir(os.path.join(here, "answers"))) == ["first.output.npy", "second.output.npy"]


follow_page()
wanted = compare()
server(wanted)
batch(wanted)
