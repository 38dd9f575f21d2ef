"""Small files that ask for much (bombs.py): each is compiled, or refused in one clear message, and takes little memory.

SEER_TEST: timeout=600 cost=40
With --table: what each took, slowest first. A name, or several, runs only these.
"""
import os
import subprocess
import sys
import tempfile

import limits


def check(path, command, folder):
    """What was wrong with it, and what it took."""
    args = [limits.FAMILYSEER, *command, path] + (["-o", os.path.join(folder, "out")] if command[0] == "compile" else [])
    outcome, size = limits.run(args), os.path.getsize(path)
    # Many thousands of nodes are more than a network has.
    found = limits.faults(outcome, size, limits.is_sanitized(), readings=60)
    first = outcome.stderr.split(b"\n")[0]
    if outcome.status == 1 and (not first.startswith(b"familyseer " + command[0].encode() + b": ") or len(first) < 30):
        found.append(f"no clear message: {first[:200]}")
    if found:
        found.append(outcome.stderr[-300:].decode(errors="replace"))
    text = outcome.stderr.decode(errors="replace").strip().replace("\n", " | ")
    return found, (outcome.seconds, outcome.peak_bytes / 1e6, outcome.status, text)


def main():
    limits.no_core_files()
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    failed, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        # By a process of its own: a child's peak is at least what its parent holds when it starts.
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bombs.py")
        subprocess.run([sys.executable, script, folder], check=True, stdout=subprocess.DEVNULL)
        paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        for path in paths:
            name, kind = os.path.splitext(os.path.basename(path))
            if wanted and name not in wanted:
                continue
            # `opt` reads whatever has a text form; the others what is a model.
            for command in ["info"], ["compile", "-O1"], *([["opt"]] if kind == ".graph" else []):
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
