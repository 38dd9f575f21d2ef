"""What pages say in numbers is what the program has: options, operators, opsets, passes, policies, networks, columns of features
where a page counts them; files that pages and comments name are there; and doc/decisions/README.md has every decision once, and
only later ones replace it.
With a page as argument only its numbers are looked at.
"""
import json
import os
import re
import subprocess
import sys

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOP = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Decisions and studies are of their day, and keep their numbers.
OF_A_DAY = re.compile(r"doc/(decisions/\d|studies/)")
# "N things" that the program counts: the table of `familyseer list` each stands for.
COUNTED = {
    "options": "options",
    "operators": "operators",
    "commands": "commands",
    "policies": "policies",
    "search policies": "policies",
    "ingredients": "ingredients",
    "passes": "passes",
    "graph passes": "passes",
    "built-in networks": "models",
    "sets of features": "features",
}


def entries(table):
    out = subprocess.run([FAMILYSEER, "list", table, "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def pages():
    names = list(TOP)
    for folder, _, files in os.walk(os.path.join(SOURCE, "doc")):
        names += [os.path.relpath(os.path.join(folder, f), SOURCE) for f in files if f.endswith(".md")]
    return sorted(n for n in names if not OF_A_DAY.match(n))


def opset_limits():
    with open(os.path.join(SOURCE, "src/front/op.h"), encoding="utf-8") as file:
        text = file.read()
    return tuple(int(re.search(rf"#define SEER_OPSET_{end} (\d+)", text)[1]) for end in ("OLDEST", "NEWEST"))


# Everything that counts all of something: "80 options", "the 80 options", not "8 operators that are elementwise".
def check_counts(page, text, counts, problems):
    for m in re.finditer(r"(?<![\w.,$-])(\d[\d,]*) (" + "|".join(COUNTED) + r")\b(?! (?:that|which|of|at|in)\b)", text):
        said, has = int(m[1].replace(",", "")), counts[COUNTED[m[2]]]
        if said != has:
            problems.append(f"{page}: '{m[0]}', there are {has}: see `familyseer list {COUNTED[m[2]]}`")


def check_opsets(page, text, limits, problems):
    for m in re.finditer(r"opsets? (\d+) (?:to|through|up to|-) (\d+)", text):
        if (int(m[1]), int(m[2])) != limits:
            problems.append(f"{page}: '{m[0]}', read are {limits[0]} to {limits[1]} (src/front/op.h)")


# Where a line names sets of features (`program`), the columns that it counts are those of one of them.
def check_columns(page, text, columns, problems):
    for line in text.splitlines():
        if "feature" not in line:
            continue
        named = [n for n in columns if f"`{n}`" in line]
        for m in re.finditer(r"(\d+) columns", line):
            if named and int(m[1]) not in [columns[n] for n in named]:
                problems.append(f"{page}: '{m[0]}' beside {', '.join(named)}: " + ", ".join(f"{n} has {columns[n]}" for n in named))


def default_features():
    """As policies name them: the page that says what the default policy has cannot be wrong about which."""
    with open(os.path.join(SOURCE, "src/tune/scheduler/traits.c"), encoding="utf-8") as file:
        return re.search(r"#define OWN \\\n\s*\.features = &seer_feature_(\w+),", file.read())[1].replace("_", "-")


def check_default(text, columns, problems):
    name = default_features()
    m = re.search(r"default policy has the features `([\w-]+)`, (\d+) columns", text)
    if not m or (m[1], int(m[2])) != (name, columns[name]):
        problems.append(f"doc/fidelity.md: the default policy has the features `{name}`, {columns[name]} columns; the page says '{m[0] if m else 'nothing'}'")


# Whole paths (doc/study.md) and those that begin within src (record/record.h); places of examples (test/peer/test_x.py) and of other
# projects (TVM's python/tvm/...) are none of ours.
FOLDERS = ("src", "doc", "test", "tool", "bench", "include", "examples", "python")
READ = (".md", ".c", ".h", ".inc", ".py", ".sh")
NOT_OURS = re.compile(r"(?:.*[/_])?x\.\w+$|python/tvm/|runtime/runtime/")


def sources():
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(SOURCE, top)):
            yield from (os.path.relpath(os.path.join(folder, f), SOURCE) for f in files)


def check_paths(problems):
    have = set(sources())
    within = sorted({f.split("/")[1] for f in have if f.startswith("src/") and f.count("/") > 1})
    path = re.compile(r"(?<![\w./$}-])((?:" + "|".join(list(FOLDERS) + within) + r")/[\w./-]+\.(?:md|c|h|inc|py|sh|txt|patch))\b")
    for name in list(TOP) + sorted(f for f in have if f.endswith(READ)):
        if OF_A_DAY.match(name) or name.startswith("test/data/"):
            continue
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            text = file.read()
        for m in path.finditer(text):
            places = (m[1], "src/" + m[1], "include/" + m[1], "test/unit/" + m[1], os.path.normpath(os.path.join(os.path.dirname(name), m[1])))
            if not NOT_OURS.match(m[1]) and not have.intersection(places):
                problems.append(f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m[1]} is not there")


# Lines "function  file  what it does" of ARCHITECTURE: the file has the function, and the folder of the one that it
# stands under calls it, or hands it on.
def check_calls(problems):
    with open(os.path.join(SOURCE, "ARCHITECTURE.md"), encoding="utf-8") as file:
        lines = re.findall(r"^( *)(seer_\w+) +([\w/]+\.c)\b", file.read(), re.M)
    if len(lines) < 30:
        problems.append(f"ARCHITECTURE.md: {len(lines)} calls, there were more")

    def text_of(path):
        with open(os.path.join(SOURCE, "src", path), encoding="utf-8") as file:
            return file.read()

    above = []
    for indent, name, path in lines:
        depth = len(indent) // 2
        above[depth:] = [path]
        head = re.compile(r"^[a-z][\w *]*\b" + name + r"\([^;{}]*\{", re.M)
        if not head.search(text_of(path)):
            problems.append(f"ARCHITECTURE.md: src/{path} has no {name}")
        if depth == 0:
            continue
        folder = os.path.dirname(above[depth - 1])
        callers = [f"{folder}/{f}" for f in os.listdir(os.path.join(SOURCE, "src", folder)) if f.endswith(".c")]
        if not any(re.search(r"\b" + name + r"\b", head.sub("", text_of(f))) for f in callers):
            problems.append(f"ARCHITECTURE.md: nothing in src/{folder} calls {name}")


def check_decisions(problems):
    folder = os.path.join(SOURCE, "doc/decisions")
    files = {int(f.split("-")[0]): f for f in os.listdir(folder) if re.match(r"\d\d+-", f)}
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (\d+) \| \[(.*)\]\((.*?)\) \| ([\d-]+) \| ([^|]*?) \|(.*)\|$", file.read(), re.M)
    listed = [int(row[0]) for row in rows]
    if listed != sorted(files):
        problems.append(f"doc/decisions/README.md: {sorted(set(listed) ^ set(files)) or 'the order'}: in the folder or in the table only")
    for number, title, path, date, state, today in rows:
        n = int(number)
        if files.get(n) != path:
            problems.append(f"doc/decisions/README.md: {n} is {path}, there is {files.get(n)}")
            continue
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            first = file.readline().strip()
        if first != f"# {n}. {title} ({date})":
            problems.append(f"doc/decisions/README.md: {n} '{title}' ({date}), {path} begins with '{first}'")
        if not re.fullmatch(r"stands|in part|replaced by \d+", state):
            problems.append(f"doc/decisions/README.md: {n}: '{state}' is none of stands, in part, replaced by N")
        if state == "in part" and not today.strip():
            problems.append(f"doc/decisions/README.md: {n} stands in part, and the table does not say which")
        for other in re.findall(r"(?<![\w.,`/-])(\d\d|1\d\d)(?![\w.,/-]*\d)(?= and|[,;:. |]|$)", f"{state}; {today}"):
            if int(other) not in files or int(other) <= n:
                problems.append(f"doc/decisions/README.md: {n} cannot be replaced by {other}")


def main():
    tables = {table: entries(table) for table in sorted(set(COUNTED.values()))}
    counts = {table: len(rows) for table, rows in tables.items()}
    columns = {row["name"]: int(re.match(r"(\d+) columns", row["doc"])[1]) for row in tables["features"]}
    limits = opset_limits()
    problems = []
    for page in sys.argv[1:] or pages():
        with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
            text = file.read()
        check_counts(page, text, counts, problems)
        check_opsets(page, text, limits, problems)
        check_columns(page, text, columns, problems)
        if page == "doc/fidelity.md":
            check_default(text, columns, problems)
    if not sys.argv[1:]:
        check_paths(problems)
        check_calls(problems)
        check_decisions(problems)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
