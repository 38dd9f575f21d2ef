#!/usr/bin/env python3
"""Reports in a browser (make check-report): at several widths, light, dark and on paper, closed and opened, none may scroll
sideways, say anything on the console, or ask for anything but itself; texts of pictures stay readable.
   tool/report_check.py [--shots DIR] [PAGE...]     without pages: some are made, of built-in networks with made-up times
"""
import argparse
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FAMILYSEER = os.environ.get("FAMILYSEER", str(Path(__file__).resolve().parents[1] / "build" / "familyseer"))
WIDTHS = 360, 800, 1400
SMALLEST = 7.5  # px of a letter in a picture
BROWSERS = "chromium", "chromium-browser", "google-chrome"
LOOK = """(() => {
  const narrow = [...document.querySelectorAll('svg text')].map(t => t.getBBox().height && t.ownerSVGElement.clientWidth
    / t.ownerSVGElement.viewBox.baseVal.width * parseFloat(getComputedStyle(t).fontSize)).filter(x => x > 0);
  const out = [...document.querySelectorAll('main *')].filter(e => !e.closest('.box, pre, svg, template')
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.tagName + '.' + e.className);
  return {width: document.documentElement.scrollWidth, least: Math.min(...narrow), out: out.slice(0, 5)};
})()"""


class Browser:
    """Chromium over a pipe: messages are JSON, and end in a zero."""

    def __init__(self, program, folder):
        here, theirs = os.pipe(), os.pipe()

        def set_up():
            os.dup2(here[0], 3)
            os.dup2(theirs[1], 4)

        flags = ["--headless=new", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}", "--remote-debugging-pipe"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # which root cannot have
        # Both ends are above 4, or dup2 would take one for the other.
        high = [os.dup(fd) for fd in (*here, *theirs) for _ in range(1)]
        self.process = subprocess.Popen([program, *flags, "about:blank"], pass_fds=(3, 4), preexec_fn=set_up, stderr=subprocess.DEVNULL)
        for fd in (*high, here[0], theirs[1]):
            os.close(fd)
        self.to, self.back, self.buffer = os.fdopen(here[1], "wb", 0), theirs[0], b""
        self.n, self.session, self.events = 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.ask(f"{domain}.enable")

    def next(self):
        while b"\0" not in self.buffer:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.next())

    def evaluate(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def show(self, url, width, scheme, media):
        self.events.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def close(self):
        self.process.terminate()
        self.process.wait()


def complaints(events, url):
    for event in events:
        method, params = event.get("method"), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            yield f"says {json.dumps(params)[:300]}"
        if method == "Network.requestWillBeSent" and params["request"]["url"] != url:
            yield f"asks for {params['request']['url'][:200]}"


def check(browser, page, shots):
    problems, url = [], Path(page).resolve().as_uri()
    ways = [(w, s, "screen", o) for w, s, o in itertools.product(WIDTHS, ("light", "dark"), (False, True))]
    for width, scheme, media, is_open in [*ways, (800, "dark", "print", False)]:
        browser.show(url, width, scheme, media)
        if is_open:
            browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        what = f"{os.path.basename(page)} at {width} px, {scheme}, {media}{', opened' if is_open else ''}"
        seen = browser.evaluate(LOOK)
        if seen["width"] > width:
            problems.append(f"{what}: is {seen['width']} px wide")
        if seen["out"] and media == "screen":
            problems.append(f"{what}: {seen['out']} leave the page")
        if seen["least"] is not None and seen["least"] < SMALLEST:
            problems.append(f"{what}: letters of {seen['least']:.1f} px in a picture")
        problems += [f"{what}: {text}" for text in complaints(browser.events, url)]
        if shots and not is_open:
            shot = browser.ask("Page.captureScreenshot", captureBeyondViewport=True)
            with open(os.path.join(shots, f"{Path(page).stem}-{width}-{scheme}-{media}.png"), "wb") as file:
                file.write(base64.b64decode(shot["data"]))
    return problems


def make_pages(folder):
    """Of a chain, of many steps, of two tunings compared; and names that are as long as they get."""
    pages = []
    for model, *more in ("mlp",), ("mobilenet_v2_0.25",), ("resnet18", "--precision=bf16"):
        pages.append(os.path.join(folder, f"{model}.html"))
        subprocess.run([FAMILYSEER, "tune", model, "--measure=fake", "--ignore-records", "--trials=300", f"--report={pages[-1]}", *more],
                       check=True, capture_output=True, cwd=folder)
    pages.append(os.path.join(folder, "compared.html"))
    subprocess.run([FAMILYSEER, "report", pages[1], "--compare", pages[2], "-o", pages[-1]], check=True, capture_output=True, cwd=folder)
    with open(pages[1], encoding="utf-8") as file:
        text = file.read()
    pages.append(os.path.join(folder, "long.html"))
    with open(pages[-1], "w", encoding="utf-8") as file:
        file.write(text.replace("conv 1x1", "a_name_without_any_blank_in_it" * 8).replace("mobilenet_v2_0.25", "n" * 250)
                   .replace("untuned is kept", "slower in the network"))
    return pages


def check_itself(browser, folder):
    """What is wrong is found: a page that is too wide, one that has a script, one that asks for a picture."""
    page = os.path.join(folder, "wrong.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write("<!doctype html><main><p style='width:500px'>x</p><img src='none.png'><script>console.log(1)</script></main>")
    found = "\n".join(check(browser, page, None))
    for text in "is 500 px wide", "leave the page", "asks for", "says":
        assert text in found or text == "is 500 px wide" and " px wide" in found, (text, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shots", help="folder for pictures of all that was seen")
    parser.add_argument("pages", nargs="*")
    args = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        sys.exit(f"no browser: one of {', '.join(BROWSERS)} is needed (apt-get install chromium)")
    if args.shots:
        os.makedirs(args.shots, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("SEER_DEVICE_LOCK", os.path.join(folder, "lock"))
        browser = Browser(program, os.path.join(folder, "browser"))
        try:
            check_itself(browser, folder)
            pages = args.pages or make_pages(folder)
            assert all(map(os.path.isfile, pages)), pages
            problems = [problem for page in pages for problem in check(browser, page, args.shots)]
        finally:
            browser.close()
    print("\n".join(problems + [f"{len(pages)} reports, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
