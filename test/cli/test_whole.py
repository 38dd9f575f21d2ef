# A tuned library is held against the untuned one: the verdict is told, a winner of the records that is slow in truth
# does not ship whatever its pairs say, and compile makes the same of the records afterwards.
# SEER_TEST: timeout=240 cost=40
import json
import os
import sqlite3
import subprocess
import tempfile

SEER = os.environ.get("FAMILYSEER", "build/familyseer")
NETWORK = "mobilenet_v2_0.25"
FILES = ["model.so", "model.json", "model.h", "weights.bin"]


def run(*args):
    done = subprocess.run([SEER, *args], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done


def model(folder):
    with open(f"{folder}/model.json") as file:
        return json.load(file)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def tune(out, trials):
    done = run("tune", NETWORK, "-o", out, "--records", "r.sqlite", "--trials", str(trials), "--json",
               "--search-policy", "round-robin")
    assert sorted(os.listdir(out)) == sorted(FILES + ["report.html"]), os.listdir(out)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def expect_compiled_alike(out, again):
    """By default, for the same facts of the machine, which tune has measured."""
    run("compile", NETWORK, "-o", again, "--records", "r.sqlite", "--target", model(out)["target"])
    for name in FILES:
        assert content(f"{out}/{name}") == content(f"{again}/{name}"), f"{out} and {again}: {name} differs"


def expect_told(done, events, out):
    """What is on the terminal, in the events and in the report is one verdict, the last event."""
    is_tuned = any(task["source"] == "tuned" for task in model(out)["tasks"])
    verdicts = [event for event in events if event["event"] == "verdict"]
    assert len(verdicts) <= 1 and (verdicts or not is_tuned), events[-3:]
    assert not verdicts or events[-1] is verdicts[0]
    for verdict in verdicts:
        assert verdict["text"] in done.stderr, done.stderr
        assert verdict["text"] in content(f"{out}/report.html").decode()
        assert (verdict["pairs"] > 0) == is_tuned and verdict["speedup"] > 0, verdict
        for task in verdict["fallen_back"]:
            assert f"task {task}, " in done.stderr or "all tasks are untuned again" in done.stderr


def plant(task, schedule):
    """The only winner of this task is this schedule, and its pairs claim that it is fast."""
    base = sqlite3.connect("r.sqlite")
    workload = base.execute("SELECT id FROM workload WHERE name = ?", (task,)).fetchone()[0]
    base.execute("UPDATE measurement SET state = 'checked' WHERE workload = ? AND state = 'accepted'", (workload,))
    base.execute("UPDATE measurement SET state = 'accepted', schedule = ?, seconds = 1e-3, pairs = 45, speedup = 1.5,"
                 "p_value = 1e-9, baseline_seconds = 1.5e-3, raced = 0, twin = 0, place = 'here' WHERE id ="
                 "(SELECT max(id) FROM measurement WHERE workload = ? AND class = 'ok')", (schedule, workload))
    assert base.total_changes >= 1
    base.commit()
    base.close()


def main():
    # Every task is measured: of one that is not, compile knows no more than of its relatives (-O3).
    done, events = tune("out", 96)
    assert {e["task"] for e in events if e["event"] == "measurement"} == {t["id"] for t in model("out")["tasks"]}
    expect_told(done, events, "out")
    expect_compiled_alike("out", "again")

    measured = {e["task"] for e in events if e["event"] == "measurement" and e["class"] == "ok"}
    run("compile", NETWORK, "-O0", "-o", "plain")
    plain = max((t for t in model("plain")["tasks"] if t["id"] in measured), key=lambda t: t["flops"])
    plant(plain["name"], plain["schedule"])
    run("compile", NETWORK, "-o", "slow", "--records", "r.sqlite", "-O2")
    assert model("slow")["tasks"][plain["id"]]["schedule"] == plain["schedule"], "nothing was planted"

    done, events = tune("out2", 1)
    expect_told(done, events, "out2")
    assert model("out2")["tasks"][plain["id"]]["schedule"] != plain["schedule"], done.stderr
    expect_compiled_alike("out2", "again2")
    print("ok")


with tempfile.TemporaryDirectory() as folder:
    SEER = os.path.abspath(SEER)
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    main()
