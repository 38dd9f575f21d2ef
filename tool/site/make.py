#!/usr/bin/env python3
"""What make site runs: README and doc/ as static pages that can be read from a disk, by Sphinx (tool/requirements-site.txt). Pages
keep their places, and links between them; what links to another file of the repository becomes that file's name. A link to
nothing, a heading that is not there and a page without a chapter are errors.   tool/site/make.py OUT"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In the order of the margin: chapter, its pages; a pattern stands for those that no chapter has named before.
CHAPTERS = (
    ("Start", ("doc/using.md", "examples/README.md", "doc/benchmarks.md", "CHANGELOG.md")),
    ("How to", ("doc/verify.md", "doc/gpu.md", "doc/emit-c.md", "doc/boards.md", "doc/fleet.md", "doc/places.md", "doc/study.md", "doc/how-to/*.md",
                "CONTRIBUTING.md")),
    ("Reference", ("doc/options.md", "doc/operators.md", "doc/opsets.md", "doc/networks.md", "doc/safety.md", "SECURITY.md")),
    ("How it works", ("ARCHITECTURE.md", "doc/ir/words.md", "doc/ir/*.md", "doc/fidelity.md", "doc/studies/*.md")),
    ("Decisions", ("doc/why.md", "doc/decisions/README.md")),
)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```|``.*?``|`[^`\n]*`)", re.M | re.S)


def expand(patterns, seen):
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)) or [ROOT / pattern]:
            name = path.relative_to(ROOT).as_posix()
            if name not in seen:
                seen.add(name)
                yield name


def toctree(names, folder, caption=None):
    """A list of pages that stands in the margin alone."""
    head = f":caption: {caption}\n" if caption else ""
    lines = (os.path.relpath(name[:-3], folder or ".") for name in names)
    return "\n```{toctree}\n:hidden:\n" + head + "\n".join(lines) + "\n```\n"


def links(text, name, pages, problems):
    """Those to files that are no pages become their names."""
    def one(match):
        label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(name), target.split("#")[0]))
        if path in pages:
            return match[0]
        if not (ROOT / path).exists():
            problems.append(f"{name}: {target} is not there")
        return f"`{path}`" if label.strip("`") in (path, target) else f"{label} (`{path}`)"

    # Names of links are code often; a link within code is none.
    code = []
    kept = CODE.sub(lambda m: code.append(m[0]) or f"\0{len(code) - 1}\0", text)
    back = re.compile("\0(\\d+)\0")
    kept = LINK.sub(lambda m: one(LINK.match(back.sub(lambda c: code[int(c[1])], m[0])) or m), kept)
    return back.sub(lambda m: code[int(m[1])], kept)


def stage(folder):
    seen, problems, margin = set(), [], ""
    for caption, patterns in CHAPTERS:
        margin += toctree(list(expand(patterns, seen)), "", caption)
    decisions = sorted((p.relative_to(ROOT).as_posix() for p in (ROOT / "doc/decisions").glob("[0-9]*.md")),
                       key=lambda n: int(n.split("/")[-1].split("-")[0]))
    after = {"README.md": margin, "doc/decisions/README.md": toctree(decisions, "doc/decisions")}
    pages = seen | set(decisions) | {"README.md"}
    missing = {p.relative_to(ROOT).as_posix() for p in (ROOT / "doc").rglob("*.md")} - pages
    if missing:
        problems.append(f"in no chapter of tool/site/make.py: {', '.join(sorted(missing))}")
    for name in pages:
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(links((ROOT / name).read_text(encoding="utf-8"), name, pages, problems) + after.get(name, ""), encoding="utf-8")
    (folder / "_static").mkdir()
    shutil.copy(ROOT / "tool/site/site.css", folder / "_static")
    if problems:
        sys.exit("\n".join(problems))


def asks_elsewhere(out):
    """Pages that would fetch something from another place."""
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"|@import|url\(\s*['\"]?(?:https?:)?//")
    return [f"{path.relative_to(out)}: {m[0]}" for path in sorted(out.rglob("*")) if path.suffix in (".html", ".css")
            for m in loads.finditer(path.read_text(encoding="utf-8"))]


def main(out):
    out = Path(out).resolve()
    shutil.rmtree(out, ignore_errors=True)
    pages = out / "pages"
    pages.mkdir(parents=True)
    stage(pages)
    version = re.search(r"project\(familyseer VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-j", "2", "-b", "html", "-c", str(ROOT / "tool/site"), "-d", str(out / "cache"),
                    str(pages), str(out / "html")], check=False, env={**os.environ, "SITE_VERSION": version, "SITE_STATIC": str(pages / "_static")})
    if done.returncode:
        sys.exit("make site: see above")
    shutil.copy(out / "html/README.html", out / "html/index.html")
    problems = asks_elsewhere(out / "html")
    if problems:
        sys.exit("\n".join(problems))
    print(out / "html/index.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
