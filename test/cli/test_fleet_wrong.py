# Workers of a fleet that are not to be believed: what they say counts nowhere, and the others do their work.
# SEER_TEST: timeout=200 cost=40
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
from fleet import (PASSWORD, PROGRAM, Fleet, check_own_times, check_records, check_trials, expect, name_of,  # noqa: E402
                   other_program)
from nonsense import Nonsense, Silent, Way  # noqa: E402

fleet = Fleet()
FAKE = ["--measure", "fake"]


def a_worker_gone_wrong():
    """Two that are well, one that answers nonsense and nothing else, and one of other sources, which gets nothing."""
    two = [fleet.start_worker() for _ in range(2)]
    fleet.wait_for_workers(2)
    other = fleet.start_worker(program=other_program(fleet.folder, fleet.workers()[0]["sources"]))
    nonsense = Nonsense(PASSWORD, random.Random(1))
    path = os.path.join(fleet.folder, "wrong.sock")
    Way(path, fleet.socket, nonsense.change)
    wrong = fleet.start_worker(url=f"unix://{path}")
    fleet.wait_for_workers(4)
    records = os.path.join(fleet.folder, "wrong.sqlite")
    events, errors = fleet.tune(*FAKE, "--trials", "120", "--records", records)
    check_trials(events, 120)
    check_records(records)
    check_own_times(records, [nonsense])
    expect(sum(nonsense.count.values()) >= 3, f"too little nonsense was told: {nonsense.count}")
    expect(errors.count(f"worker {name_of(wrong)} gets nothing more: it has answered nonsense 3 times") == 1, errors)
    expect(errors.count(f"worker {name_of(other)} gets nothing: it is of version") == 1, errors)
    expect([w["rounds"] for w in fleet.workers() if w["worker"] == name_of(other)] == [0], "another version has done something")
    shown = subprocess.run([PROGRAM, "fleet", fleet.url], env=fleet.env, capture_output=True, text=True).stdout
    expect(shown.count("its sources are") == 1, f"fleet does not say what does not fit: {shown}")
    fleet.stop(*two, other, wrong)


def a_silent_worker():
    """It is there, takes rounds and vouches for them, and no answer comes: they are done by others when it has had its time."""
    two = [fleet.start_worker() for _ in range(2)]
    fleet.wait_for_workers(2)
    silent = Silent(fleet.redis, PASSWORD, fleet.workers()[0]["worker"])
    records = os.path.join(fleet.folder, "silent.sqlite")
    events, errors = fleet.tune(*FAKE, "--trials", "60", "--records", records)
    check_trials(events, 60)
    check_records(records)
    check_own_times(records, [])
    silent.is_over.set()
    expect(silent.n_taken > 0, "a silent worker has taken nothing")
    expect(errors.count(f"worker {silent.name} gets nothing more: it has jobs in hand, and no answer came within") == 1, errors)
    expect(errors.count("gets nothing more") == 1, errors)
    fleet.stop(*two)


try:
    a_worker_gone_wrong()
    a_silent_worker()
finally:
    fleet.close()
