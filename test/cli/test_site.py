"""The pages of make site, as they are before they are set: each page of doc/ has a chapter, and what a page links to is there;
what is not is an error. SEER_TEST: timeout=30"""
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
SOURCE = Path(os.environ["TEST_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tool/site"))
import make  # noqa: E402  (tool/site/make.py)


def stage():
    with tempfile.TemporaryDirectory() as folder:
        make.stage(Path(folder))
        return {p.relative_to(folder).as_posix(): p.read_text() for p in Path(folder).rglob("*.md")}


def refused():
    try:
        stage()
    except SystemExit as e:
        return str(e)
    return "nothing"


pages = stage()
assert len(pages) > 130 and "README.md" in pages, len(pages)
assert "](doc/using.md)" in pages["README.md"] and "](LICENSE)" not in pages["README.md"] and "(`LICENSE`)" in pages["README.md"]
assert ":caption: Decisions" in pages["README.md"] and "\n100-kernels-as-files\n" in pages["doc/decisions/README.md"]
with tempfile.TemporaryDirectory() as copy:
    make.ROOT = Path(copy)
    for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CMakeLists.txt", "Makefile", "LICENSE"):
        shutil.copy(SOURCE / name, copy)
    for name in ("doc", "examples", "include", "src", "python", "tool", "test"):
        shutil.copytree(SOURCE / name, Path(copy, name), ignore=shutil.ignore_patterns("data", "corpus"))
    assert refused() == "nothing", refused()
    Path(copy, "doc/x.md").write_text("# New\nSee [more](no_x.md), `[no](link.md)` and [the code](../src/base/status.h).\n")
    assert "in no chapter" in refused() and "doc/x.md" in refused(), refused()
    make.CHAPTERS += (("New", ("doc/x.md",)),)
    assert refused() == "doc/x.md: no_x.md is not there", refused()
    Path(copy, "doc/no_x.md").write_text("# Nowhere\n")
    make.CHAPTERS += (("Nowhere", ("doc/no_x.md",)),)
    assert "See [more](no_x.md), `[no](link.md)` and the code (`src/base/status.h`)." in stage()["doc/x.md"], stage()["doc/x.md"]
