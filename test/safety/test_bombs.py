"""Small files that ask for much (bombs.py): each is compiled, or refused in one clear message, and takes little memory.

SEER_TEST: timeout=600
With --table: what each took, slowest first. A name, or several, runs only these.
"""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
MEGABYTES = 400  # beyond the file
SECONDS = 60  # then it hangs; a quiet machine needs less than 5


def run(args):
    """Exit status, messages, seconds, megabytes at the peak."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(args, stdout=out, stderr=err)
        timer = threading.Timer(SECONDS, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read(), err.read(), time.monotonic() - start, usage.ru_maxrss / 1024


def is_sanitized():
    """AddressSanitizer keeps what was freed."""
    with open(FAMILYSEER, "rb") as file:
        return b"__asan_init" in file.read()


def check(path, command, folder):
    args = [FAMILYSEER, *command, path]
    if command[0] == "compile":
        args += ["-o", os.path.join(folder, "out")]
    code, out, err, seconds, megabytes = run(args)
    problems = []
    if code not in (0, 1):
        name = signal.Signals(-code).name if code < 0 else ""
        problems.append(f"exit status {code} {name} after {seconds:.1f} s")
    try:
        text = (out + err).decode()
        odd = [c for c in text if ord(c) < 32 and c != "\n"]
        if odd:
            problems.append(f"control characters {odd[:3]}")
    except UnicodeDecodeError as error:
        problems.append(str(error))
    first = err.split(b"\n")[0]
    if code == 1 and (not first.startswith(b"familyseer " + command[0].encode() + b": ") or len(first) < 30):
        problems.append(f"no clear message: {first[:200]}")
    most = MEGABYTES + os.path.getsize(path) / 1e6
    if megabytes > most and not is_sanitized():
        problems.append(f"{megabytes:.0f} MB, allowed are {most:.0f}")
    if problems:
        problems.append(err[-300:].decode(errors="replace"))
    return problems, (seconds, megabytes, code, err.decode(errors="replace").strip().replace("\n", " | "))


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    failed, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        # By a process of its own: a child's peak is at least what its parent holds when it starts.
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bombs.py")
        subprocess.run([sys.executable, script, folder], check=True, stdout=subprocess.DEVNULL)
        paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        for path in paths:
            name = os.path.basename(path)[:-5]
            if wanted and name not in wanted:
                continue
            for command in ["info"], ["compile", "-O1"]:
                problems, row = check(path, command, folder)
                rows.append((row, f"{command[0]} {name}"))
                if problems:
                    print(f"{name}: {' '.join(command)}: {'; '.join(problems)}", flush=True)
                    failed += 1
    if "--table" in sys.argv:
        for (seconds, megabytes, code, text), name in sorted(rows, reverse=True):
            print(f"{seconds:6.2f} s {megabytes:5.0f} MB  {code:2d}  {name:40s} {text[:230]}")
    slowest = max(rows)
    print(f"{len(paths)} files, {failed} failed; slowest {slowest[0][0]:.1f} s ({slowest[1]}), "
          f"at most {max(r[0][1] for r in rows):.0f} MB")
    return 1 if failed or len(paths) < 40 else 0


sys.exit(main())
