#!/usr/bin/env python3
"""Functions that a header of src/ declares and nobody calls but the file that defines them: they should be static, or
go. Those that only tests and benches call say so: a comment in their paragraph has the word "tests" or "benches".
   tool/exports.py [ROOT]
"""
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[1]
NAME = re.compile(r"\bseer_[a-z0-9_]+\b")
# A declaration at the left margin (or behind attributes), up to its semicolon.
DECLARATION = re.compile(r"^(?!typedef|static|#|\s)[^;{}=]*?\b(seer_[a-z0-9_]+)\s*\([^;{}]*\)\s*;", re.M)


def without_comments(text):
    """Of the same length."""
    return re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), text)


def paragraph_above(text, at):
    """The comments between the last blank line and the declaration at `at`, its own line included."""
    lines = text[:at].split("\n")[:-1]
    above = []
    while lines and lines[-1].strip():
        above.append(lines.pop())
    above += text[at:].split("\n")[:1]
    return " ".join(line[line.index("//"):] for line in above if "//" in line)


def main():
    code = {p: without_comments(p.read_text()) for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h", ".inc")}
    users = {}
    for path, text in code.items():
        for name in set(NAME.findall(text)):
            users.setdefault(name, set()).add(path)
    others = set()
    for folder in "test", "bench", "tool", "examples":
        for path in (ROOT / folder).rglob("*.[ch]"):
            others |= set(NAME.findall(path.read_text()))
    bad = 0
    for header in sorted(p for p in code if p.suffix == ".h"):
        text = header.read_text()
        for found in DECLARATION.finditer(code[header]):
            name = found[1]
            definition = re.compile(r"^[A-Za-z_][^;{}=]*\b" + name + r"\s*\([^;{}]*\)\s*\{", re.M)
            callers = {p for p in users[name] if p != header and not definition.search(code[p])}
            if callers or len(re.findall(r"\b" + name + r"\b", code[header])) > 1:
                continue
            is_for_tests = re.search(r"\b(tests|benches)\b", paragraph_above(text, found.start()), re.I)
            if name in others and is_for_tests:
                continue
            what = "is called by tests or benches alone; its comment should say so" if name in others else \
                "is called by nobody outside of its file"
            print(f"{header.relative_to(ROOT)}: {name} {what}")
            bad += 1
    return bad > 0


sys.exit(main())
