#!/usr/bin/env python3
"""Files that need each other in a circle: none in these layers. Reads the objects of a build (nm), so it sees
what is called, not what is included.   tool/circles.py [BUILD]"""
import os
import subprocess
import sys

LAYERS = ["space", "code", "measure", "record", "search", "choose", "library", "tune", "study"]


def symbols(path):
    defined, used = set(), set()
    for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
        part = line.split()
        if len(part) == 2 and part[0] == "U":
            used.add(part[1])
        elif len(part) == 3 and part[1] in "TDRBC":
            defined.add(part[2])
    return defined, used


def graph(build, layer):
    """file -> {file that it needs: a symbol}; a file without an object is left out (the build makes one)."""
    owner, used = {}, {}
    for folder, _, names in os.walk(f"src/{layer}"):
        for name in sorted(n for n in names if n.endswith(".c") and n != "main.c"):  # main.c is a program of its own
            file = f"{folder}/{name}"
            path = f"{build}/CMakeFiles/seer_{layer}.dir/{file}.o"
            if not os.path.exists(path):
                sys.exit(f"circles: {path} is not there: make all first")
            defined, used[file] = symbols(path)
            owner.update((s, file) for s in defined)
    return {f: {owner[s]: s for s in sorted(u) if owner.get(s, f) != f} for f, u in used.items()}


def find_circle(needs):
    """One circle as a list of files, or None: depth first."""
    done, path = set(), []

    def visit(file):
        if file in path:
            return path[path.index(file):] + [file]
        if file in done:
            return None
        path.append(file)
        for other in sorted(needs[file]):
            circle = visit(other)
            if circle:
                return circle
        path.pop()
        done.add(file)
        return None

    for file in sorted(needs):
        circle = visit(file)
        if circle:
            return circle
    return None


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    failed = False
    for layer in LAYERS:
        needs = graph(build, layer)
        circle = find_circle(needs)
        if circle:
            failed = True
            print(f"{layer}: a circle of files:", file=sys.stderr)
            for file, other in zip(circle, circle[1:]):
                print(f"  {file} needs {needs[file][other]} of {other}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
