#!/usr/bin/env python3
"""A worker that stands between the tuner and a real one, and at random moments does to the tuner what devices do.

As --worker-path of a tuning: builders are the real program; a runner's messages pass through here, and about one
answer in FALSE_EVERY is a misfortune:
  killed    it dies, in the middle of its work
  hung      it says nothing more once the work has begun
  nonsense  its answer is bytes of chance, or one that was cut off
  slow      all of this worker's answers take three times as long (from then on)
FALSE_LOG names a file that gets a line for each. FALSE_DEAD names a processor: a runner on it does not start again
once it has died the first time, which is after FALSE_EVERY answers.
"""
import os, random, select, signal, socket, struct, subprocess, sys, time

PROGRAM, LOG = os.environ["FALSE_PROGRAM"], os.environ["FALSE_LOG"]
EVERY, DEAD = int(os.environ["FALSE_EVERY"]), os.environ.get("FALSE_DEAD", "")
FRAME, ANSWERS, BEGUN = 32, (6, 8, 10), 11


def note(what):
    place = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    with open(LOG, "a") as log:
        log.write(f"{what} {place}\n")  # one write: workers do not mix


def receive(end):
    """A frame and its payload; None: the other end is gone."""
    data = b""
    n = FRAME
    while len(data) < n:
        got = end.recv(n - len(data))
        if not got:
            return None
        data += got
        if len(data) == FRAME:
            n += struct.unpack_from("<Q", data, 16)[0]
    return data


def main():
    job, fd = sys.argv[2], int(sys.argv[3])
    if job != "runner":
        os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
    is_dead = DEAD != "" and os.sched_getaffinity(0) == {int(DEAD)}
    if is_dead and f"killed {DEAD}\n" in open(LOG).read():
        note("dead")
        sys.exit(1)
    chance = random.Random(os.getpid() ^ time.monotonic_ns())
    tuner = socket.socket(fileno=fd)
    near, far = socket.socketpair()
    os.set_inheritable(far.fileno(), True)
    real = subprocess.Popen([PROGRAM, "worker", job, str(far.fileno()), *sys.argv[4:]], pass_fds=[far.fileno()])
    far.close()
    is_slow, asked, n_answers = False, 0.0, 0
    while True:
        for end in select.select([tuner, near], [], [])[0]:
            message = receive(end)
            if message is None:
                real.kill()
                sys.exit(0)
            kind = struct.unpack_from("<H", message, 6)[0]
            if end is tuner:
                asked = time.monotonic()
                near.sendall(message)
                continue
            n_answers += kind in ANSWERS
            what = chance.choice(["killed", "hung", "nonsense", "slow"]) if chance.randrange(EVERY) == 0 else ""
            if is_dead:
                what = "killed" if n_answers >= EVERY else ""
            if kind == BEGUN and what == "hung":
                tuner.sendall(message)
                note(what)
                time.sleep(3600)
            if kind not in ANSWERS:
                tuner.sendall(message)
                continue
            if what == "killed":
                note(what)
                real.kill()
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "slow" and not is_slow:
                note(what)
                is_slow = True
            if is_slow:
                time.sleep(2 * (time.monotonic() - asked))
            if what == "nonsense":
                note(what)
                n = len(message) - FRAME
                message = chance.choice([message[:FRAME + n // 2], message[:FRAME] + chance.randbytes(n),
                                         chance.randbytes(FRAME + n)])
                tuner.sendall(message)
                real.kill()
                sys.exit(0)
            tuner.sendall(message)


main()
