# A fleet of three on a redis-server of its own: a tuning gets all its trials, each once, while workers die, the broker
# forgets everything and letters are forged. (Who gets in: test_fleet_doors.py; who is not believed: test_fleet_wrong.py.)
# SEER_TEST: timeout=300 cost=40
import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
from fleet import PROGRAM, Fleet, check_records, check_trials, every, expect  # noqa: E402

fleet = Fleet()
FAKE = ["--measure", "fake"]


def unlike_workers():
    """One takes twice as long for everything: the tuning finds that out, and says so while it goes on and at its end."""
    quick = fleet.start_worker()
    slow = fleet.start_worker("--measure", "fake:slower=2:delay=20ms", "--devices", "fake:0,fake:1")
    fleet.wait_for_workers(2)
    seen, tables = {}, []

    def look(events):
        if len(seen) == 2 or len(events) % 20:
            return
        for worker in fleet.workers():
            for bias in worker["bias"]:
                seen[worker["worker"]] = bias["takes"]
        if len(seen) == 2:
            tables.append(subprocess.run([PROGRAM, "fleet", fleet.url], env=fleet.env, capture_output=True, text=True).stdout)
    events, errors = fleet.tune(*FAKE, "--trials", "200", "--records", os.path.join(fleet.folder, "unlike.sqlite"), on_event=look)
    check_trials(events, 200)
    devices = {device["device"]: device for device in events[-1]["devices"]}
    expect(len(devices) == 2 and len(seen) == 2, f"the fleet knows of {seen}, the tuning of {devices}")
    for name, device in devices.items():
        is_slow = f":{slow.pid}:" in name
        first, = [d["takes"] for n, d in devices.items() if n != name]
        ratio = device["takes"] / first
        expect(abs(ratio / (2 if is_slow else 0.5) - 1) < 0.01, f"{name} takes {ratio} times as long as the other")
        expect(abs(seen[name] / device["takes"] - 1) < 0.01, f"the fleet shows {seen[name]} of {device}")
        expect(device["shared_rounds"] > 0 and device["measurements"] > 0 and not device["gone"], device)
        expect(any(name in line and f"{device['takes']:.2f}" in line for line in errors.splitlines()), f"no line of {name}:\n{errors}")
        expect(any(name in line and f"{device['takes']:.2f}" in line for line in tables[0].splitlines()), tables[0])
    names_of_records(os.path.join(fleet.folder, "unlike.sqlite"), {f":{quick.pid}:": {"fake"}, f":{slow.pid}:": {"fake:0", "fake:1"}})
    fleet.stop(quick, slow)


def names_of_records(path, devices):
    """Each measurement says which worker has made it, and on which of its devices; lines that travel have no host in them."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT DISTINCT worker, device, origin = 'pairs' FROM measurement").fetchall()
    for mark, own in devices.items():
        expect({device for worker, device, pairs in rows if mark in worker and not pairs} == own, f"{mark}: {rows}")
    expect(all(any(mark in worker for mark in devices) for worker, _, _ in rows), f"a record without its worker: {rows}")

    def records(*words, file=path):
        out = subprocess.run([PROGRAM, "records", *words, "--records", file], env=fleet.env, capture_output=True, text=True)
        expect(out.returncode == 0, f"records {words}: {out.stderr}")
        return out.stdout
    lines = records("export")
    expect(socket.gethostname() + ":" not in lines, "a host's name is in lines that are handed on")
    told = {(line["worker"], line["device"]) for line in map(json.loads, lines.splitlines())}
    expect(len({worker for worker, _ in told}) == 2 and all(re.fullmatch("#[0-9a-f]{8}", worker) for worker, _ in told), told)
    exported, other = os.path.join(fleet.folder, "lines.jsonl"), os.path.join(fleet.folder, "other.sqlite")
    records("export", exported)
    records("import", exported, file=other)
    again = {(line["worker"], line["device"]) for line in map(json.loads, records("export", file=other).splitlines())}
    expect(again == told, f"{again}, not {told}")
    best = subprocess.run([PROGRAM, "records", "best", "squeezenet1_1", *FAKE, "--json", "--records", path], env=fleet.env,
                          capture_output=True, text=True)
    shown = [json.loads(line) for line in best.stdout.splitlines()]
    expect(any(any(mark in line.get("worker", "") for mark in devices) for line in shown), f"{best.stdout}{best.stderr}")


def misfortunes():
    """One dies, letters are forged, the broker forgets everything and is restarted; then it is gone for good."""
    records = os.path.join(fleet.folder, "r.sqlite")
    three = [fleet.start_worker() for _ in range(3)]
    fleet.wait_for_workers(3)
    on_event, left = every(60, [three[0].kill, fleet.forge, lambda: fleet.redis("FLUSHALL"), three[1].terminate])
    events, errors = fleet.tune(*FAKE, "--trials", "360", "--records", records, on_event=on_event)
    expect(not left, f"{len(left)} faults were not made")
    check_trials(events, 360)
    expect(three[1].wait(30) == 0, "a worker that was told to end did not end well")
    expect("by the broker" in errors, errors)
    three[0], three[1] = fleet.start_worker(), fleet.start_worker()
    fleet.wait_for_workers(3)
    on_event, left = every(60, [lambda: fleet.restart_server(with_data=False), fleet.turn_clock])
    events, _ = fleet.tune(*FAKE, "--trials", "200", "--records", records, on_event=on_event)
    expect(not left, "the server was not restarted")
    check_trials(events, 200)
    on_event, left = every(40, [fleet.server.kill])
    _, errors = fleet.tune(*FAKE, "--trials", "5000", "--records", records, "--fleet-wait", "2s", on_event=on_event, status=1)
    expect("--fleet-wait" in errors, errors)
    fleet.server.wait()
    fleet.stop(*three)
    check_records(records)


def connections_that_break():
    """All of them, all the time: what a worker was given over one that is lost is done all the same."""
    fleet.restart_server(with_data=False)
    two = [fleet.start_worker() for _ in range(2)]
    fleet.wait_for_workers(2)
    is_over = threading.Event()

    def cut():
        while not is_over.wait(0.1):
            fleet.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        for _ in range(2):
            events, _ = fleet.tune(*FAKE, "--trials", "60", "--records", os.path.join(fleet.folder, "cut.sqlite"))
            check_trials(events, 60)
    finally:
        is_over.set()
        cutter.join()
    fleet.stop(*two)


def a_library():
    """Of workers that measure. The first one and the tuning are there before the broker is. It is told to end when its
    device stands still, and gives the round back that it has in hand; another worker does what is left."""
    freeze, frozen = os.path.join(fleet.folder, "freeze"), os.path.join(fleet.folder, "frozen_worker")
    with open(frozen, "w") as script:
        script.write(f'#!/bin/sh\n[ "$2" = runner ] && (while [ ! -e {freeze} ]; do sleep 0.1; done; kill -STOP $$) &\n'
                     f'exec {PROGRAM} "$@"\n')
    os.chmod(frozen, 0o755)
    real = ["--measure", "local", "--device-lock", os.path.join(fleet.folder, "lock")]
    first = fleet.start_worker(*real, "--worker-path", frozen, "--timeout", "600s", "--grace", "1s")
    threading.Timer(1.5, fleet.restart_server, [False]).start()

    def replace_first():
        open(freeze, "w").close()
        time.sleep(2.5)
        while not any(worker["doing"] for worker in fleet.workers()):
            time.sleep(0.1)
        first.terminate()
        expect(first.wait(30) == 0, "a worker did not end within the notice that it gets")
        with open(first.log.name) as log:
            expect("is given back" in log.read(), "a round without end was not given back")
        fleet.start_worker(*real, is_service=True)
    on_event, left = every(1, [replace_first])
    library = os.path.join(fleet.folder, "library")
    events, _ = fleet.tune("--trials", "24", "--records", os.path.join(fleet.folder, "real.sqlite"), "-o", library, model="mlp",
                           on_event=on_event)
    expect(not left, "nothing was given back")
    check_trials(events, 24)
    out = subprocess.run([PROGRAM, "verify", os.path.join(library, "model.so"), "mlp"], env=fleet.env, capture_output=True, text=True)
    expect(out.returncode == 0, f"verify: {out.stdout}{out.stderr}")


try:
    unlike_workers()
    misfortunes()
    connections_that_break()
    a_library()
finally:
    fleet.close()
