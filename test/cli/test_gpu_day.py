"""make gpu-day: children end with all that they have started, a step that fails or hangs costs itself alone, the whole is
bounded; a short day on OpenCL; and the page is what the files say.

SEER_TEST: timeout=180 cost=30
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.abspath(os.environ.get("TEST_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.path.abspath(os.environ.get("TEST_BUILD_DIR", "build"))
GPU = os.path.join(SOURCE, "bench", "gpu")
sys.path[:0] = [os.path.join(GPU, "day"), GPU]
import child  # noqa: E402
import day as days  # noqa: E402
import page  # noqa: E402

failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def steps_fail_alone(folder):
    """Of a list of steps, made for this: what hangs, what fails, what is missing, a mistake, and one that is well."""
    def hangs(day, section):
        section["before"] = 1
        try:
            day.run(["sh", "-c", "sleep 1000 & echo $! > pid; wait"], limit=1)
        finally:
            with open(os.path.join(day.work, "pid")) as stream:
                section["pid"] = int(stream.read())

    def fails(day, _):
        day.run(["sh", "-c", "echo some words; exit 3"])

    def lacks(day, _):
        day.run(["no-such-program-anywhere"])

    def wrong(_, section):
        return section["nothing"]

    def well(day, section):
        section["said"] = day.run(["sh", "-c", "echo $SEER_RECORDS"]).strip()

    path = os.path.join(folder, "day.json")
    arguments, sys.argv = sys.argv, ["day.py", "-o", path, "--seconds", "60"]
    try:
        status = days.main([("hangs", 10, hangs), ("fails", 10, fails), ("lacks", 10, lacks), ("wrong", 10, wrong), ("well", 10, well)])
    finally:
        sys.argv = arguments
    with open(path) as stream:
        made = json.load(stream)
    check(status == 0, f"status {status}")
    check({name: section["state"] for name, section in made.items()} ==
          {"hangs": "failed", "fails": "failed", "lacks": "left out", "wrong": "failed", "well": "done"}, str(made))
    check("not done after 1 s" in made["hangs"]["why"] and made["hangs"]["before"] == 1, str(made["hangs"]))
    check(not is_running(made["hangs"]["pid"]), "what a child had started runs on")
    check("status 3" in made["fails"]["why"] and "KeyError" in made["wrong"]["why"], str(made))
    check(made["well"]["said"].startswith(folder), str(made["well"]))
    with open(os.path.join(folder, "day.logs", "fails.log")) as stream:
        check("some words" in stream.read(), "its words are not in the log")


def time_is_bounded(folder):
    """Steps that would take for ever end with the day, and those in front leave the others their time."""
    def forever(day, _):
        day.run(["sleep", "1000"])

    child.LEAST_SECONDS, least = 0, child.LEAST_SECONDS
    day = child.Day(os.path.join(folder, "bounded.json"), 3, 3 / 30)
    begin = time.monotonic()
    for i in range(3):
        day.step(f"step {i}", forever, 10 * (2 - i))
    child.LEAST_SECONDS = least
    check(time.monotonic() - begin < 30, f"{time.monotonic() - begin:.1f} s for a day of 3")
    check(all(0.3 < section["seconds"] < 20 for section in day.sections.values()), str(day.sections))


def short_day(folder):
    """The real steps, with as little as they do, on OpenCL's first device."""
    made = subprocess.run(["bash", os.path.join(SOURCE, "tool", "gpu_day.sh"), BUILD, "none"], capture_output=True, text=True, timeout=300)
    check(made.returncode == 0, f"tool/gpu_day.sh: {made.stdout}{made.stderr}")
    if made.returncode != 0:
        return
    path = os.path.join(folder, "short.json")
    done = subprocess.run([sys.executable, os.path.join(BUILD, "portable", "gpu-day", "day.py"), "-o", path, "--seconds", "40", "--device", "opencl:0"],
                          capture_output=True, text=True, timeout=200)
    check(done.returncode == 0, done.stdout + done.stderr)
    with open(path) as stream:
        sections = json.load(stream)
    if sections["devices"]["state"] != "done":
        print("no OpenCL device: left out")
        return
    states = {name: section["state"] for name, section in sections.items()}
    check([name for name, state in states.items() if state == "failed"] == [] or "not done after" in str(sections), f"{states} {done.stdout}")
    check(states["here"] == "done" and states["property"] in ("done", "failed") and states["peers"] == "left out", str(states))
    if states["property"] == "done":
        check(sections["property"]["drawn"] >= 12 and sections["property"]["faults_seen"] > 6, str(sections["property"]))
    if states["mobilenet_v2"] == "done":  # on a busy machine the seconds end before it is judged, or measured
        network = sections["mobilenet_v2"]
        check(network["verify"]["ok"] is True or "not done after" in network["verify"]["why"], str(network))
        check(sections["table"].get("rows", 0) > 0 or network["tuning"]["trials"] == 0 or states["table"] != "done", f"{sections['table']} {network['tuning']}")
    text = page.text_of(page.merged([path]))
    check("No GPU has run any of it" in text or sections["devices"]["is_gpu"], text)


def page_follows_the_files(folder):
    check(subprocess.run([sys.executable, os.path.join(GPU, "page.py"), "--check"], check=False).returncode == 0, "doc/gpu.md is stale")
    other = os.path.join(folder, "page.md")
    with open(page.PAGE) as stream, open(other, "w") as out:
        text = stream.read()
        out.write(text.replace(page.END, "one line more\n" + page.END))
    check(subprocess.run([sys.executable, os.path.join(GPU, "page.py"), "--check", "--page", other], stderr=subprocess.DEVNULL, check=False).returncode == 1,
          "a stale page is not seen")
    check("No GPU has run any of it" in page.text_of({}), "without a file")


def main():
    folder = tempfile.mkdtemp(prefix="familyseer-gpu-day-")
    try:
        steps_fail_alone(folder)
        time_is_bounded(folder)
        page_follows_the_files(folder)
        if os.path.exists("/usr/lib/llvm-19/lib/liblldELF.a") and "portable_familyseer" in open(os.path.join(BUILD, "build.ninja")).read():
            short_day(folder)
        else:
            print("no portable program in this build: the short day is left out")
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
