"""What a command may do when it is given anything: end with status 0 or 1, say in one message why, in printable UTF-8, and
stay within time and memory. `run` runs it, `faults` says what was wrong with that.

Time is the processor's, held against what the same machine takes in the same run for reading one ordinary network: how
fast it is, and what else it does, is no matter of the product. What hangs without using any time is ended by the wall. Memory is
the largest resident set, files that it maps included; it begins with this process's own, so that must be small. Under a sanitizer neither says anything about the product: there
they are not looked at.
"""
import functools
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unicodedata

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
READINGS, MEGABYTES, HANGS_S = 10, 400, 600.0


def is_sanitized(program=FAMILYSEER):
    """By a name that every program built with AddressSanitizer calls. (LLVM, which is linked into the program, holds most of their
    names as text, to write such calls; this one it puts together.)"""
    with open(program, "rb") as file:
        return b"__asan_report_load8" in file.read()


class Outcome:
    def __init__(self, command, status, seconds, peak_bytes, is_killed, stdout, stderr):
        self.command, self.status, self.seconds, self.peak_bytes = command, status, seconds, peak_bytes
        self.is_killed, self.stdout, self.stderr = is_killed, stdout, stderr


def run(command, hangs_s=HANGS_S, cwd=None, env=None):
    """Runs it, alone or beside others in threads of this process; its figures are its own and of the children it waited for."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd, env=env, start_new_session=True)
        is_killed = []

        def kill():
            is_killed.append(True)
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(hangs_s, kill)
        timer.start()
        _, wait_status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(wait_status)  # Popen must not wait for it again
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(1 << 20))
    return Outcome(command, process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, bool(is_killed), *texts)


@functools.cache
def reading_seconds():
    """What reading MobileNetV2 and cutting it into tasks takes: the unit of time."""
    outcome = run([FAMILYSEER, "tasks", "mobilenet_v2"])
    assert outcome.status == 0, outcome.stderr
    return outcome.seconds


def text_faults(data):
    """What a terminal should not be given: invalid UTF-8, control characters, letters that hide or turn the text around."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return [f"invalid UTF-8: {problem}"]
    odd = {c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    return [f"control characters {sorted(map(repr, odd))[:5]}"] if odd else []


def faults(outcome, given_bytes=0, sanitized=False, readings=READINGS, megabytes=MEGABYTES):
    """What it did wrong, a list of texts. `given_bytes`: of the files that it was given; `readings`: time allowed."""
    if outcome.is_killed:
        return ["hangs"]
    found = []
    if outcome.status not in (0, 1):
        found.append(f"status {outcome.status}")
    if b"Sanitizer" in outcome.stderr or b"runtime error:" in outcome.stderr:
        found.append("a sanitizer's report")
    if outcome.status == 1 and not outcome.stderr.strip():
        found.append("no message")
    found += text_faults(outcome.stderr) + text_faults(outcome.stdout)
    if not sanitized and outcome.seconds > readings * reading_seconds():
        found.append(f"{outcome.seconds:.1f} s of processor time, at most {readings} times the {reading_seconds():.1f} s "
                     f"that reading a network takes")
    if not sanitized and outcome.peak_bytes > given_bytes + megabytes * 1e6:
        found.append(f"{outcome.peak_bytes / 1e6:.0f} MB, at most {given_bytes / 1e6:.0f} + {megabytes}")
    return found


class Tally:
    """Counts of a campaign: what ended how, the slowest and the largest; prints faults as they come."""

    def __init__(self, label):
        self.label, self.lock = label, threading.Lock()
        self.n = self.n_refused = self.n_faulty = 0
        self.slowest, self.largest = (0.0, ""), (0, "")

    def add(self, name, outcome, found, given_bytes=0):
        with self.lock:
            self.n += 1
            self.n_refused += outcome.status == 1
            self.slowest = max(self.slowest, (outcome.seconds, name))
            self.largest = max(self.largest, (outcome.peak_bytes - given_bytes, name))
            if found:
                self.n_faulty += 1
                print(f"{self.label}: {name}: {'; '.join(found)}\n  {' '.join(map(str, outcome.command))}", flush=True)
                print("  " + outcome.stderr[-1500:].decode("utf-8", "backslashreplace").replace("\n", "\n  "), flush=True)

    def close(self):
        """Prints the summary; True when nothing was wrong."""
        print(f"{self.label}: {self.n} runs, {self.n_refused} refused, {self.n_faulty} faulty; most processor time {self.slowest[0]:.2f} s "
              f"({self.slowest[1]}), most memory beyond the file {self.largest[0] / 1e6:.0f} MB ({self.largest[1]})", flush=True)
        return self.n_faulty == 0


def no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(__doc__)
