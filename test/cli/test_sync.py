# Records shared by a folder: machines that read it in any order, at once, or again have the same; what is damaged, cut,
# foreign or of a later version is refused and leaves nothing behind; what is there is never changed.
# Judged by SQLite's own rows and hashlib's SHA-256, not by familyseer.
# SEER_TEST: timeout=120
import contextlib
import hashlib
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}-v3-([0-9a-f]{64})\.records\.jsonl")
ROWS = ("SELECT w.structure, w.shape, t.key, m.seconds, m.schedule, m.pairs, m.judged FROM measurement m "
        "JOIN workload w ON w.id = m.workload JOIN target t ON t.id = m.target")
folder = tempfile.mkdtemp()


def expect(what, message):
    if not what:
        sys.exit(f"FAILED: {message}")


def path(*names):
    return os.path.join(folder, *names)


def start(*words, **more):
    return subprocess.Popen([PROGRAM, *words], env=dict(os.environ, XDG_CACHE_HOME=folder), cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def run(*words, status=0, **more):
    process = start(*words, **more)
    out, errors = process.communicate(timeout=100)
    expect(process.returncode == status, f"{' '.join(words)}: status {process.returncode}, not {status}\n{out}{errors[-2000:]}")
    return out, errors


def sync(machine, shared, *flags, status=0, **more):
    return run("records", "sync", shared, "--records", path(machine), *flags, status=status, **more)


def known(machine):
    """The records that a machine has, once each; its database is sound."""
    with contextlib.closing(sqlite3.connect(path(machine))) as db:
        expect(db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], f"{machine} is damaged")
        return set(db.execute(ROWS))


def all_rows(machine):
    with contextlib.closing(sqlite3.connect(path(machine))) as db:
        return db.execute("SELECT * FROM measurement ORDER BY id").fetchall()


def contents(shared):
    """name -> bytes, of what syncs have written; each is what its name says, and nothing else is there"""
    found = {}
    for name in os.listdir(path(shared)):
        with open(path(shared, name), "rb") as file:
            found[name] = file.read()
        match = NAME.fullmatch(name)
        expect(match, f"{name} is in the folder")
        expect(hashlib.sha256(found[name]).hexdigest() == match[1], f"{name} has another digest")
    return found


def named(data, k=0, version=3, digest=None):
    """A name that is right for these bytes, and the k-th of that sort."""
    return f"20200101T{k:06d}Z-00000000-v{version}-{digest or hashlib.sha256(data).hexdigest()}.records.jsonl"


def make_lines():
    """Lines of what a tuning has found: measured, failed, accepted with their pairs."""
    run("tune", "mlp", "--measure", "fake", "--trials", "60", "--records", path("base"), "-o", path("library"))
    run("records", "export", path("base.jsonl"), "--records", path("base"))
    with open(path("base.jsonl"), encoding="utf-8") as file:
        return file.read().splitlines(keepends=True)


def two_times(lines):
    """A schedule that was timed twice is two records. (The lines of the others have none: there, a schedule takes one time.)"""
    once = next(line for line in map(json.loads, lines) if line["class"] == "ok" and line["state"] == "measured")
    twice = dict(once, seconds=once["seconds"] * 1.5, samples=[sample * 1.5 for sample in once["samples"]])
    machine_of("timed", [json.dumps(once) + "\n", json.dumps(twice) + "\n"])
    expect(len(known("timed")) == 2, f"a schedule with two times is {len(known('timed'))} records")
    os.mkdir(path("times"))
    sync("timed", "times")
    sync("told", "times")
    expect(known("told") == known("timed"), "of a schedule's two times one was handed on")


def machine_of(name, lines):
    """A machine that has these records."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path(name + suffix))
    with open(path("some.jsonl"), "w", encoding="utf-8") as file:
        file.write("".join(lines))
    run("records", "import", path("some.jsonl"), "--records", path(name), "--trust-records")


def carry(rng, source, sink):
    """Some of the files of one copy of the folder arrive at another, as by rsync; those that are there stay."""
    for name in os.listdir(path(source)):
        if rng.random() < 0.6 and not os.path.exists(path(sink, name)):
            shutil.copy(path(source, name), path(sink, name))


def converge(lines, seed):
    """Machines with copies of a folder each, which files reach in any order: in the end all have the same, and
    whoever syncs again changes nothing."""
    rng = random.Random(seed)
    n = rng.choice([2, 3])
    machines, shares = [f"m{i}" for i in range(n)], [f"share{i}" for i in range(n)]
    for machine, share in zip(machines, shares):
        machine_of(machine, rng.sample(lines, rng.randrange(len(lines))))
        shutil.rmtree(path(share), ignore_errors=True)
        os.mkdir(path(share))
    everything = set().union(*(known(machine) for machine in machines))
    before = {}
    for _ in range(rng.randrange(8)):
        i, j = rng.randrange(n), rng.randrange(n)
        sync(machines[i], path(shares[i]))
        expect(all(contents(shares[i]).get(name) == data for name, data in before.get(i, {}).items()), "a file was changed")
        before[i] = contents(shares[i])
        carry(rng, shares[i], shares[j])
    for machine, share in zip(machines, shares):
        sync(machine, path(share))
    for share in shares:  # all files are everywhere
        for other in shares:
            for name in os.listdir(path(share)):
                if not os.path.exists(path(other, name)):
                    shutil.copy(path(share, name), path(other, name))
    for machine, share in zip(machines, shares):
        sync(machine, path(share))
        expect(known(machine) == everything, f"seed {seed}: {machine} has {len(known(machine))} of {len(everything)} records")
    for machine, share in zip(machines, shares):
        rows, files = all_rows(machine), contents(share)
        out, _ = sync(machine, path(share))
        expect(all_rows(machine) == rows and contents(share) == files, f"seed {seed}: a second sync changes something: {out}")
        run("records", "check", "--records", path(machine))


def damage(lines):
    """One record, with damage at each byte, cut at each byte, with a byte more, and under names that are damaged."""
    os.mkdir(path("damaged"))
    machine_of("victim", lines[:1])
    line = min(lines[1:], key=len).encode()
    right = hashlib.sha256(line).hexdigest()
    rng = random.Random(1)
    damaged = [line[:i] + bytes([line[i] ^ 1 << rng.randrange(8)]) + line[i + 1:] for i in range(len(line))]
    damaged += [line[:i] for i in range(len(line))] + [line + b"x", line + line, b""]
    for k, data in enumerate(damaged):
        with open(path("damaged", named(line, k, digest=right)), "wb") as file:
            file.write(data)
    n = len(damaged)
    name = named(line, 999999)
    for i in range(len(name) - len(".records.jsonl")):  # of the time and the machine nothing depends on each digit
        other = name[:i] + ("x" if name[i] != "x" else "y") + name[i + 1:]
        with open(path("damaged", other), "wb") as file:
            file.write(line)
        n += 1
    rows = all_rows("victim")
    out, errors = sync("victim", path("damaged"), status=1)
    expect(all_rows("victim") == rows, f"something was taken of damaged files: {out}")
    expect(errors.count("nothing of it is taken") == n, f"{n} damaged files, and this was said of them:\n{errors[-2000:]}")
    expect(f"{n} of {n} files are refused" in errors, errors[-300:])
    with open(path("damaged", name), "wb") as file:  # and undamaged
        file.write(line)
    out, _ = sync("victim", path("damaged"), status=1)
    expect("1 records added" in out and len(all_rows("victim")) == len(rows) + 1, out)


def foreign(lines):
    """What nobody's sync has written: each is refused by itself, with its reason, and the rest is taken."""
    os.mkdir(path("foreign"))
    machine_of("host", lines[:1])
    whole = lines[1].encode()
    no_lines = b"hello\n"
    odd = whole + b'{"v": 2}\n' + lines[2].encode()
    other = json.loads(lines[3])
    other["schedule"] = "sched nothing of ours"
    strange = (json.dumps(other) + "\n").encode()
    written = {named(whole): whole, named(no_lines): no_lines, named(odd): odd, named(whole, version=4): whole,
               named(strange): strange, "README.md": b"#", ".hidden.records.jsonl": b"x",
               named(whole, 7) + ".12.0.tmp": whole[:100], "my.records.jsonl": whole}
    for name, data in written.items():
        with open(path("foreign", name), "wb") as file:
            file.write(data)
    os.mkdir(path("foreign", named(b"folder")))
    os.mkfifo(path("foreign", named(b"fifo")))
    os.symlink("/nowhere", path("foreign", named(b"link")))  # as a file that has gone again
    os.symlink("/dev/zero", path("foreign", named(b"zero")))
    with open(path("foreign", named(b"large")), "wb") as file:
        file.truncate(65 << 20)
    rows = len(all_rows("host"))
    out, errors = sync("host", path("foreign"), status=1)
    for name, why in ((named(no_lines), "record 1 is no record"), (named(odd), "record 2 is no record"),
                      (named(whole, version=4), "is of version 4, this program reads 1 to 3"), ("my.records.jsonl", "its name"),
                      (named(b"folder"), "a folder"), (named(b"fifo"), "special file"), (named(b"zero"), "special file"),
                      (named(b"large"), "is longer than")):
        expect(any(name in line and why in line for line in errors.splitlines()), f"{name}: {why}:\n{errors}")
    expect(errors.count("nothing of it is taken") == 8 and "8 of 10 files" in errors, errors)
    expect(len(all_rows("host")) == rows + 1 and "1 records added" in out and "other rules" in out, out + errors)
    _, errors = run("records", "sync", path("no such folder"), "--records", path("host"), status=1)
    expect("No such file" in errors and not os.path.exists(path("no such folder")), errors)


def interrupted(lines):
    """A disk that is full, or a process that is killed, leaves nothing under a name that is read."""
    os.mkdir(path("full"))
    machine_of("writer", lines)
    everything = known("writer")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))
    run("records", "sync", path("full"), "--records", path("writer"), status=1, preexec_fn=limit, restore_signals=False)
    expect(os.listdir(path("full")) == [], f"{os.listdir(path('full'))} is left")
    for k in range(12):
        process = start("records", "sync", path("full"), "--records", path("writer"))
        time.sleep(0.004 * k)
        process.kill()
        process.communicate()
        for name in os.listdir(path("full")):
            expect(NAME.fullmatch(name) or name.endswith(".tmp"), f"{name} is left")
    sync("writer", path("full"))
    machine_of("reader", [])
    sync("reader", path("full"))
    expect(known("writer") == everything == known("reader"), "something is lost by kills")


def at_once(lines):
    """Six machines, and two of them twice, begin at one moment."""
    rng = random.Random(2)
    os.mkdir(path("busy"))
    machines = [f"b{i}" for i in range(6)]
    for machine in machines:
        machine_of(machine, rng.sample(lines, len(lines) // 2))
    everything = set().union(*map(known, machines))
    running = [start("records", "sync", path("busy"), "--records", path(m)) for m in machines + machines[:2]]
    for process in running:
        out, errors = process.communicate(timeout=100)
        expect(process.returncode == 0, f"two at once: {out}{errors}")
    contents("busy")
    for machine in machines:
        sync(machine, path("busy"))
        expect(known(machine) == everything, f"{machine} has {len(known(machine))} of {len(everything)} records")
    expect("0 records written" in sync(machines[0], path("busy"))[0], "something is written twice")


def trusted(lines):
    """Winners of who is trusted win; of others they are from elsewhere, as by import."""
    os.mkdir(path("team"))
    sync("base", path("team"))
    places = {}
    for machine, flags in (("wary", []), ("trusting", ["--trust-records"])):
        machine_of(machine, [])
        sync(machine, path("team"), *flags)
        with contextlib.closing(sqlite3.connect(path(machine))) as db:
            places[machine] = dict(db.execute("SELECT place || ' ' || state, count(*) FROM measurement GROUP BY 1"))
    expect(set(places["wary"]) <= {f"elsewhere {s}" for s in ("measured", "checked", "accepted", "refused")}, places)
    expect(places["trusting"].get("trusted accepted", 0) > 0, places)


try:
    all_lines = make_lines()
    expect(any(json.loads(line)["pairs"]["n"] for line in all_lines), "no winner among the records")
    two_times(all_lines)
    for seed in range(6):
        converge(all_lines, seed)
    damage(all_lines)
    foreign(all_lines)
    interrupted(all_lines)
    at_once(all_lines)
    trusted(all_lines)
finally:
    shutil.rmtree(folder, ignore_errors=True)
