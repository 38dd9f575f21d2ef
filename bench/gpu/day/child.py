"""What steps of a day on a GPU are run by: children with limits, logs, sections of one JSON file. See day.py."""
import json
import os
import signal
import subprocess
import time

LEAST_SECONDS = 15  # of a step, where there are as many left
HERE = os.path.dirname(os.path.abspath(__file__))


class LeftOut(Exception):
    """A step has nothing to do here: a tool or a device is not there."""


class Failed(Exception):
    """What a step asked for did not come, or is wrong."""


def end_group(process):
    """The child leads a session, so whatever it has started goes with it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Day:
    """What steps are given: the folder of programs, the device, time, and children with limits."""

    def __init__(self, path, seconds, scale, folder=HERE, device=None):
        self.path, self.scale, self.folder, self.device = path, scale, folder, device
        self.end = time.monotonic() + seconds
        self.logs = os.path.splitext(path)[0] + ".logs"
        self.work = os.path.splitext(path)[0] + ".work"
        self.sections, self.until, self.log = {}, 0.0, None
        os.makedirs(self.logs, exist_ok=True)
        os.makedirs(self.work, exist_ok=True)

    def left(self):
        return min(self.until, self.end) - time.monotonic()

    def program(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            raise LeftOut(f"{name} is not in {self.folder}")
        return path

    def run(self, words, limit=None, ok=(0,), **environment):
        """Its standard output. Both outputs are in the step's log."""
        words = [str(word) for word in words]
        limit = min(limit or self.left(), self.left())
        if limit <= 0:
            raise Failed("no time is left for " + " ".join(words[:3]))
        self.log.write("$ " + " ".join(words) + "\n")
        self.log.flush()
        out_path = os.path.join(self.work, "stdout")
        with open(out_path, "w+") as out:
            try:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=self.log, cwd=self.work,
                                           start_new_session=True, env={**os.environ, **self.environment(), **environment})
            except OSError as error:
                raise LeftOut(f"{words[0]}: {error.strerror}") from error
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                pass
            is_late = process.poll() is None
            end_group(process)
            process.wait()
            out.seek(0)
            text = out.read()
        self.log.write(text if len(text) < 200_000 else text[:200_000] + "\n...\n")
        self.log.flush()
        if is_late:
            raise Failed(f"{os.path.basename(words[0])} {' '.join(words[1:3])}: not done after {limit:.0f} s, and ended")
        if process.returncode not in ok:
            raise Failed(f"{os.path.basename(words[0])} {' '.join(words[1:3])}: status {process.returncode}")
        return text

    def environment(self):
        """Records of this day alone, kept between its steps."""
        return {"SEER_RECORDS": os.path.join(self.work, "records.sqlite"), "XDG_CACHE_HOME": self.work}

    def step(self, name, function, after):
        """`after`: seconds of a whole day that the steps behind this one are to have. What those in front have left is its own."""
        self.until = max(self.end - after * self.scale, time.monotonic() + LEAST_SECONDS)
        section, begin = {}, time.monotonic()
        with open(os.path.join(self.logs, name + ".log"), "w") as self.log:
            try:
                function(self, section)
                section["state"] = "done"
            except LeftOut as why:
                section.update(state="left out", why=str(why))
            except Failed as why:
                section.update(state="failed", why=str(why))
            except Exception as error:  # a mistake in a step costs that step
                section.update(state="failed", why=f"{type(error).__name__}: {error}")
        section["seconds"] = round(time.monotonic() - begin, 1)
        self.sections[name] = section
        print(f"{name}: {section['state']}, {section['seconds']} s" + (f": {section['why']}" if "why" in section else ""), flush=True)
        self.save()

    def save(self):
        temporary = self.path + ".new"
        with open(temporary, "w") as stream:
            json.dump(self.sections, stream, indent=1, sort_keys=True)
            stream.write("\n")
        os.replace(temporary, self.path)
