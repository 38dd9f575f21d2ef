# A worker of a fleet that dies with a round in hand: when nobody has vouched for that for a while, another one does it.
# SEER_TEST: timeout=120 cost=16
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
from fleet import Fleet, check_records, check_trials, every, expect, name_of  # noqa: E402

fleet = Fleet()
FAKE = ["--measure", "fake"]


def kill_with_a_round(worker):
    """It stands still, so what it has then it has when it dies."""
    session, = fleet.redis("SMEMBERS", "familyseer:tunings").split()
    for _ in range(200):
        worker.send_signal(signal.SIGSTOP)
        if fleet.redis("XPENDING", f"familyseer:jobs:{session}", "workers", "-", "+", "1", name_of(worker)).strip():
            worker.kill()
            return
        worker.send_signal(signal.SIGCONT)
        time.sleep(0.02)
    expect(False, "a worker has nothing in hand")


try:
    # With these limits what a dead one had would soon be due, which would mend it, too, but name the worker.
    two = [fleet.start_worker("--timeout", "1s", "--build-timeout", "1s") for _ in range(2)]
    fleet.wait_for_workers(2)
    on_event, left = every(20, [lambda: kill_with_a_round(two[0])])
    records = os.path.join(fleet.folder, "r.sqlite")
    events, errors = fleet.tune(*FAKE, "--trials", "60", "--records", records, on_event=on_event)
    expect(not left, "no worker was killed")
    check_trials(events, 60)
    check_records(records)
    expect("gets nothing more" not in errors, f"what a dead worker had was nobody's: {errors}")
    fleet.stop(two[1])
finally:
    fleet.close()
