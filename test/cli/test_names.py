"""Names in a file may be any bytes: nothing that familyseer writes for people or programs is anything but sound UTF-8
without control characters, JSON stays JSON, and model.h stays C.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from wire import field, model, node, value

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
SOURCE = os.path.join(os.path.dirname(__file__), "..", "..")
NASTY = [
    b"\x1b[31mred", b"*/ int evil; /*", b"line\nfamilyseer: all is well", b"\xff\xfe\x80", b"\xe2\x80\xaetxt.exe",
    b'"},{"name":"x', b"<script>alert(1)</script>", b"%s%n%d", b"\xc2\x9b2J", b"back\\slash\\", b"\\\nint evil2;", b"n" * 1500,
    b"??/\nint evil3;",
]


def nasty_model(name, op=b"Relu"):
    """One name in each place that has one; the values are told apart by a letter."""
    weight = field(1, 4) + field(2, 1) + field(8, name + b".w") + field(9, bytes(16))
    nodes = [
        node("Add", [name + b".x", name + b".w"], [name + b".t"]) + field(3, name),
        node(op, [name + b".t"], [name + b".y"]) + field(3, name + b"2"),
    ]
    graph = b"".join(field(1, n) for n in nodes) + field(2, name) + field(5, weight)
    graph += field(11, value(name + b".x", [1, 4])) + field(12, value(name + b".y", [1, 4]))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def check_text(what, data, problems):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        problems.append(f"{what}: {error}")
        return ""
    odd = [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or ord(c) in (0x202E, 0x200B)]
    if odd:
        problems.append(f"{what}: has {odd[:3]}")
    forged = [line for line in text.splitlines() if line.startswith("familyseer: all")]
    if forged:
        problems.append(f"{what}: {forged[0]}")
    return text


def parse(problems, text):
    try:
        return json.loads(text)
    except ValueError as error:
        problems.append(f"no JSON: {error}: {text[:100]}")
        return {}


def run(problems, *args, status=0):
    done = subprocess.run([FAMILYSEER, *args], capture_output=True, timeout=120)
    if done.returncode != status:
        problems.append(f"{args[0]}: status {done.returncode}, {done.stderr[-300:]}")
    check_text(f"{args[0]} stderr", done.stderr, problems)
    return check_text(f"{args[0]} stdout", done.stdout, problems)


def check_header(out, problems):
    with open(os.path.join(out, "model.h"), "rb") as file:
        text = check_text("model.h", file.read(), problems)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return
    source = os.path.join(out, "use.c")
    with open(source, "w", encoding="ascii") as file:
        file.write('#include "model.h"\nint evil, evil2, evil3;\n')  # a name that injects one makes it a redefinition
    done = subprocess.run([compiler, "-std=c99", "-trigraphs", "-Wall", "-Werror", "-fsyntax-only", f"-I{SOURCE}/include", source],
                          capture_output=True, text=True)
    if done.returncode or "evil" in text and any(line.startswith(("int evil", "*/")) for line in text.splitlines()):
        problems.append(f"model.h is not C: {done.stderr[:300]}")


def check_model(folder, name, problems):
    path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "out")
    with open(path, "wb") as file:
        file.write(nasty_model(name))
    run(problems, "info", path)
    run(problems, "tasks", path)
    for pass_list in "--pass=resolve", "--pass=resolve,task":
        run(problems, "opt", pass_list, path)
    for document in run(problems, "info", path, "--json"), run(problems, "tasks", path, "--json"):
        parse(problems, document)
    run(problems, "compile", path, "-o", out, "-O0", "--log=all:3")
    if not os.path.exists(os.path.join(out, "model.json")):
        return
    with open(os.path.join(out, "model.json"), "rb") as file:
        parse(problems, check_text("model.json", file.read(), problems))
    check_header(out, problems)
    run(problems, "info", out)
    parse(problems, run(problems, "run", out, "--json"))
    run(problems, "run", out)
    if name in NASTY[:4]:
        run(problems, "verify", out, path)
        run(problems, "bench", out, "--duration=0", "--iterations=1", "--warmup=0", "--profile")
    shutil.rmtree(out)
    with open(path, "wb") as file:
        file.write(nasty_model(name, op=name))  # an operator of that name
    run(problems, "compile", path, "-o", out, status=1)
    parse(problems, run(problems, "info", path, "--json"))


def check_tune(folder, problems):
    """Events, the table and the report."""
    path, report = os.path.join(folder, "m.onnx"), os.path.join(folder, "report.html")
    with open(path, "wb") as file:
        file.write(nasty_model(NASTY[6] + NASTY[0] + NASTY[3]))
    common = ["--trials=4", "--measure=fake", "--records=", f"--report={report}", f"--output={folder}/tuned"]
    for line in run(problems, "tune", path, "--json", *common).splitlines():
        parse(problems, line)
    run(problems, "tune", path, *common)
    with open(report, "rb") as file:
        if "<script>" in check_text("report", file.read(), problems):
            problems.append("report: has a script")


def check_keys(folder, problems):
    """Operators whose names look the same when shown are still counted apart."""
    path = os.path.join(folder, "m.onnx")
    nodes = [node(op, [b"x"], [b"y%d" % i]) for i, op in enumerate((b"O\x01", rb"O\x01", b"O\x01", b"P"))]
    with open(path, "wb") as file:
        file.write(model(nodes, [value("x", [4])], [value("y0", [4])]))
    counts = parse(problems, run(problems, "info", path, "--json")).get("operators", {})
    if sorted(counts.values()) != [1, 1, 2]:
        problems.append(f"operators: {counts}")


def main():
    n_problems = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in NASTY:
            problems = []
            check_model(folder, name, problems)
            for problem in problems:
                print(f"{name[:40]}: {problem}")
            n_problems += len(problems)
        problems = []
        check_keys(folder, problems)
        check_tune(folder, problems)
        for problem in problems:
            print(problem)
        n_problems += len(problems)
    print(f"{len(NASTY)} names, {n_problems} problems")
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
