#!/usr/bin/env python3
"""What make check-site runs, after make site: every page in a browser, narrow and wide, light and dark: none may scroll sideways, say
anything on the console, or ask for what is not in its folder.   tool/site/check.py HTML [--shots DIR]"""
import argparse
import base64
import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report_check import BROWSERS, WIDTHS, Browser  # noqa: E402

# What leaves an article, but for what scrolls by itself.
LOOK = """(() => ({width: document.documentElement.scrollWidth,
  out: [...document.querySelectorAll('article *')].filter(e => !e.closest('pre, table') && e.getBoundingClientRect().right
    > document.documentElement.clientWidth + 1).map(e => e.tagName + '.' + e.className).slice(0, 5)}))()"""


def look(browser, page, folder, width, scheme, shots):
    browser.show(page.as_uri(), width, scheme, "screen")
    seen = browser.evaluate(LOOK)
    what = f"{page.relative_to(folder)} at {width} px, {scheme}"
    if seen["width"] > width:
        yield f"{what}: is {seen['width']} px wide"
    if seen["out"]:
        yield f"{what}: {seen['out']} leave the page"
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            yield f"{what}: says {json.dumps(params)[:300]}"
        if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith((folder.as_uri(), "data:")):
            yield f"{what}: asks for {params['request']['url'][:200]}"
    if shots:
        name = str(page.relative_to(folder).with_suffix("")).replace("/", "-")
        picture = browser.ask("Page.captureScreenshot")["data"]
        Path(shots, f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(picture))


def check_itself(browser):
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "wrong.html")
        page.write_text("<!doctype html><article><p style='width:900px'>x</p><img src='file:///none.png'></article><script>console.log(1)</script>")
        found = "\n".join(look(browser, page, Path(folder), 360, "light", None))
    for text in "px wide", "leave the page", "asks for", "says":
        assert text in found, (text, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("html")
    parser.add_argument("--shots", help="folder for pictures of the first screen of each page")
    args = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        sys.exit(f"no browser: one of {', '.join(BROWSERS)} is needed (tool/deps.sh browser)")
    folder = Path(args.html).resolve()
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) > 100, f"{len(pages)} pages: make site"
    if args.shots:
        Path(args.shots).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        browser = Browser(program, home)
        try:
            check_itself(browser)
            problems = [p for page, (width, scheme) in itertools.product(pages, [*((w, "light") for w in WIDTHS), (800, "dark")])
                        for p in look(browser, page, folder, width, scheme, args.shots)]
        finally:
            browser.close()
    print("\n".join(problems + [f"{len(pages)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
