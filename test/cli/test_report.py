"""The report of a tuning, and the page that compares two: sound HTML and SVG that asks for nothing, says all tasks, with shares
that add up, and names that stay text. What a browser makes of them: tool/report_check.py.
"""
# SEER_TEST: timeout=200 cost=15
import html
import json
import os
import random
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

from test_names import NASTY, check_text, nasty_model

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
VOID = {"meta", "br", "img", "link", "input", "hr"}
SVG = re.compile(r"<svg.*?</svg>", re.S)


class Page(HTMLParser):
    """Tags that are left open, or closed twice; headings, texts of the cells of tables, what is asked for."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.headings, self.rows, self.tags, self.attributes = [], [], [], [], set(), set()
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"left open: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag in ("td", "th"):
            self.end_cell()
            self.rows[-1].append("")
        if tag == "tr":
            self.rows.append([])
        if tag == "th" and dict(attrs).get("scope") not in ("row", "col"):
            self.problems.append("a th without scope")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def end_cell(self):
        if self.open and self.open[-1] in ("td", "th"):
            self.open.pop()

    def handle_endtag(self, tag):
        if tag == "tr":
            self.end_cell()
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if any(tag in self.open for tag in ("td", "th")):
            self.rows[-1][-1] += data


def luminance(colour):
    value = colour.lstrip("#")
    value = value if len(value) == 6 else "".join(c + c for c in value)
    parts = [int(value[k:k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def check_colours(text):
    blocks = re.findall(r":root\{(.*?)\}", text)
    assert len(blocks) == 3, "light, dark and print"
    for block in blocks[:2]:
        colour = dict(re.findall(r"--(\w+):(#\w+)", block))
        for ground in "bg", "card":
            for name, least in [("fg", 4.5), ("soft", 4.5), *((f"k{k}", 3) for k in range(10))]:
                assert contrast(colour[name], colour[ground]) >= least, (name, ground, contrast(colour[name], colour[ground]))
        for name in "k1", "k2":  # of texts of the comparison
            assert contrast(colour[name], colour["bg"]) >= 4.5, (name, contrast(colour[name], colour["bg"]))


def check_page(path):
    with open(path, "rb") as file:
        problems = []
        text = check_text(path, file.read(), problems)
    assert not problems, problems
    page = Page(text)
    assert not page.problems, page.problems
    assert page.headings[0] == 1 and page.headings.count(1) == 1, page.headings
    assert all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:])), page.headings
    asks = page.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "image", "use", "foreignobject"}
    assert not asks, asks
    asks = {name for name in page.attributes if name.startswith("on") or name in ("src", "href", "srcset", "xlink:href", "style")}
    assert not asks, asks
    assert not re.search(r"https?:|javascript:|@import|url\(|[^a-z]nan[^a-z]|[^a-z-]inf[^a-z]", re.sub(r"<template.*?</template>", "", text, flags=re.S), re.I), path
    assert "<meta name='viewport'" in text
    pictures = SVG.findall(text)
    assert len(pictures) == text.count("<svg"), "an <svg> without an end"
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        kinds = [child.tag for child in root]
        assert root.get("role") == "img" and "title" in kinds and "desc" in kinds, picture[:200]
        numbers = re.findall(r"[-\d.]+", " ".join(e.get("d", "") for e in root.iter("path")))
        assert all(-1 <= float(n) <= 100000 for n in numbers), "a curve leaves its picture"
    check_colours(text)
    return text, page


def run(*args, status=0):
    done = subprocess.run([FAMILYSEER, *args], capture_output=True, timeout=150)
    assert done.returncode == status, (args, done.stderr[-600:])
    problems = []
    out = check_text(args[0], done.stdout, problems) + check_text(args[0], done.stderr, problems)
    assert not problems, (args, problems)
    return check_text(args[0], done.stdout, problems) if status == 0 else out


def tune(model, path, *args):
    run("tune", model, "--measure=fake", "--ignore-records", f"--report={path}", *args)


def tenths(cell):
    return round(10 * float(cell.split()[0]))


def check_tasks(model, path):
    """Every task has a row, and what can be opened; shares are those of one whole."""
    text, page = check_page(path)
    tasks = json.loads(run("tasks", model, "--json"))["tasks"]
    at = next(k for k, row in enumerate(page.rows) if row[:1] == ["Task"])
    rows = page.rows[at + 1:]
    rows = rows[:next(k for k, row in enumerate(rows) if row[0] == "all of it")]
    assert "Share" == page.rows[at][2]
    shown = sorted(row[0].strip() for row in rows)
    rest = [name for name in shown if name.startswith("what is no task's")]
    assert shown == sorted([task["name"] for task in tasks] + rest), (shown, tasks)
    assert sum(tenths(row[2]) for row in rows) == 1000, [row[2] for row in rows]
    assert [tenths(row[2]) for row in rows[:len(tasks)]] == sorted((tenths(row[2]) for row in rows[:len(tasks)]), reverse=True)
    assert text.count("<details>") == len(tasks) and text.count("Schedule</p>") == len(tasks)
    legend = re.search(r"<ul class='legend'>.*?</ul>", text, re.S)[0]
    assert sum(tenths(share) for share in re.findall(r"<b>([^<]*)</b>", legend)) == 1000, legend
    # The bar: as long as the picture is, without gaps.
    bar = ElementTree.fromstring(next(p for p in SVG.findall(text) if "class='bar'" in p))
    end = 0
    for part in bar.iter("rect"):
        assert abs(float(part.get("x")) - end) < 0.02
        end = float(part.get("x")) + float(part.get("width"))
    assert abs(end - 1000) < 0.1, end
    return text


def check_data(folder):
    """What a report says to programs, and what is refused of a file that is none."""
    path = os.path.join(folder, "a.html")
    data = json.loads(run("report", path, "--json"))
    assert data["version"] == 1 and data["model"] == "mobilenet_v2_0.25" and len(data["tasks"]) == 32, data
    known = sum(t["weight"] * (t["best_s"] or t["estimate_s"]) for t in data["tasks"])
    assert abs(known - data["sum_s"]) < 1e-6 * known, (known, data["sum_s"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index("<template"), text.index("</template>")

    def broken(content, status=1):
        bad = os.path.join(folder, "bad.html")
        with open(bad, "w", encoding="utf-8") as file:
            file.write(content)
        return run("report", bad, "--json", status=status)

    def with_data(value):
        return "<template id='familyseer-report'>" + html.escape(value if isinstance(value, str) else json.dumps(value), quote=False) + "</template>"

    assert "no report" in broken("") and "no report" in broken(text[:end]) and "no report" in broken(text[:begin] + text[end:])
    assert "must be 1" in broken(with_data({**data, "version": 2})) and "must be 1" in broken(with_data("[" * 5000))
    assert json.loads(broken(with_data({"version": 1}), 0))["tasks"] == []
    odd = {**data, "latency_s": -1, "sum_s": 1e300, "trials": "many", "model": ["x"], "points": [1, [], [0, -4, "x"]], "settings": {"a": 1},
           "tasks": [1, {"name": 7, "weight": 1e29, "best_s": 1e29}, {"name": "<b>\x1b", "key": None, "network_s": -5}]}
    taken = json.loads(broken(with_data(odd), 0))
    assert taken["latency_s"] == taken["sum_s"] == taken["trials"] == 0 and len(taken["tasks"]) == 3, taken
    run("report", os.path.join(folder, "bad.html"))
    out = os.path.join(folder, "odd.html")
    run("report", path, "--compare", os.path.join(folder, "bad.html"), "-o", out)
    assert "&lt;b&gt;" in check_page(out)[0]
    for points in [[0, 0, 1], [1, 1, 1 + 1e-15]], [[0, 0, 1e-29], [1e29, 4e9, 1e29]], [[0, 0, 5e-324], [1e-300, 1, 1]], [[0, 0, 7]]:
        broken(with_data({**data, "points": points}), 0)
        run("report", path, "--compare", os.path.join(folder, "bad.html"), "-o", out)
        check_page(out)
    rng = random.Random(1)
    whole = json.dumps(data)
    for _ in range(20):  # any part of it
        at = rng.randrange(len(whole))
        content = with_data(whole[:at] + chr(rng.randrange(32, 127)) + whole[at + rng.randrange(3):])
        bad = os.path.join(folder, "bad.html")
        with open(bad, "w", encoding="utf-8") as file:
            file.write(content)
        done = subprocess.run([FAMILYSEER, "report", bad], capture_output=True, timeout=60)
        assert done.returncode in (0, 1), (at, done)


def check_comparison(folder):
    a, b, out = (os.path.join(folder, name) for name in ("a.html", "b.html", "two.html"))
    said = run("report", a, "--compare", b, "-o", out)
    assert said.startswith("A: mobilenet_v2_0.25: ") and "\nB: mobilenet_v2_0.25: " in said, said
    text, page = check_page(out)
    names = {task["name"] for task in json.loads(run("tasks", "mobilenet_v2_0.25", "--json"))["tasks"]}
    rows = [row for row in page.rows if len(row) == 7 and row[0].strip() in names]
    assert len(rows) == len(names), (len(rows), len(names))
    assert text.count("class='curve") == 4 and "<th scope='row'>seed<td class='l'>1\n<td class='l'>2" in text
    run("report", a, "--compare", a, "-o", out)
    text, page = check_page(out)
    assert "1.00×" in text and not re.search(r"class='better'>(?!\+0)[^<]*[1-9]", text)
    run("report", a, "--compare", os.path.join(folder, "mlp.html"), "-o", out)
    text, _ = check_page(out)
    assert "A alone" in text and "B alone" in text and "<h1>A: mobilenet_v2_0.25, B: mlp</h1>" in text
    assert "-o is for the page of --compare" in run("report", a, "-o", out, status=2)
    os.mkdir(os.path.join(folder, "lib"))
    os.rename(b, os.path.join(folder, "lib", "report.html"))
    assert "mobilenet_v2_0.25" in run("report", os.path.join(folder, "lib"))


def check_names(folder):
    """Whatever the file, its nodes and its values are called, nothing of it becomes a tag."""
    rng = random.Random(7)
    bits = NASTY[:11] + [b"</title>", b"</style><style>*{}", b"'><b onclick=x>", b"&lt;&#60;", b"]]>", b"</template>", b"<svg/onload=x>", b"</pre>"]
    for k in range(5):
        name = b"".join(rng.sample(bits, 5))
        path = os.path.join(os.fsencode(folder), bytes(c for c in rng.choice(bits) + rng.choice(bits) if c not in b"/\n")[:100] + b".onnx")
        with open(path, "wb") as file:
            file.write(nasty_model(name))
        out = os.path.join(folder, f"nasty{k}.html")
        tune(path, out, "--trials=4")
        text, page = check_page(out)
        assert not page.tags & {"b onclick"} and "onclick" not in page.attributes and "onload" not in page.attributes
        other = os.path.join(folder, "nasty_two.html")
        run("report", out, "--compare", os.path.join(folder, "nasty0.html"), "-o", other)
        check_page(other)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("SEER_DEVICE_LOCK", os.path.join(folder, "lock"))
        for name, model, seed in ("a", "mobilenet_v2_0.25", 1), ("b", "mobilenet_v2_0.25", 2), ("mlp", "mlp", 1):
            path = os.path.join(folder, f"{name}.html")
            tune(model, path, "--trials=200", f"--seed={seed}")
            text = check_tasks(model, path)
            assert text.count("class='curve") == 2 and text.count("id='map-t'") == 1 and "<h2>Roofline</h2>" in text
        check_data(folder)
        check_comparison(folder)
        check_names(folder)


if __name__ == "__main__":
    main()
