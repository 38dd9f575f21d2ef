"""Tuning beside a program that runs: an untuned library serves until a process of low priority has made a faster one."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, Sequence

from .. import _runtime
from . import _cache
from ._library import Library

_one = threading.Lock()  # only one tuning measures on a machine, and its time would run while it waits
_running: set = set()
_ended = False

# As tune() itself: options are the same for both.
_CHILD = """
import json, os, sys
os.nice(19)
sys.path.insert(0, sys.argv[1])
import familyseer
file, folder, options = json.loads(sys.argv[2])
try:
    familyseer.tune(file, folder, **options)
except familyseer.Error as error:
    sys.exit(str(error))
"""


class Improving:
    """The library, and later the tuned one in its place: between two calls, which never wait."""

    def __init__(self, library: Callable, file: str, plan: dict, settings: dict, told: Any, options: Any, digest: str):
        self.library = library
        # The files of the untuned one are gone soon, and the network's are wanted until it is tuned.
        work = tempfile.mkdtemp(prefix="familyseer-")
        atexit.register(shutil.rmtree, work, True)
        for name in os.listdir(os.path.dirname(file)):
            if name.startswith(os.path.basename(file)):
                shutil.move(os.path.join(os.path.dirname(file), name), os.path.join(work, name))
        told.tuned = f"is tuned for {options.time_budget} in the background"
        arguments = (os.path.join(work, os.path.basename(file)), work, plan, settings, told, options, digest)
        threading.Thread(target=self._improve, args=arguments, name="familyseer.background", daemon=True).start()

    def __call__(self, args: Sequence) -> list:
        return self.library(args)

    def _improve(self, file: str, work: str, plan: dict, settings: dict, told: Any, options: Any, digest: str) -> None:
        folder = os.path.join(work, "library")
        with _one:
            if _ended:
                return
            fault = _tune(file, folder, {**settings, "time_budget": options.time_budget})
        try:
            if fault:
                told.tuned = f"tuning in the background failed: {fault}"
                return
            _cache.write_plan(folder, plan)
            library = Library(folder, plan, settings["threads"])
            root = _cache.folder(options.cache_dir)
            if root is not None:
                _cache.keep(root, digest, options.time_budget, folder, options.cache_bytes)
        except (OSError, _runtime.Error) as error:
            told.tuned = f"tuning in the background failed: {error}"
            return
        finally:
            shutil.rmtree(work, ignore_errors=True)
        self.library = library
        told.tuned = f"tuned for {options.time_budget} in the background"


def _tune(file: str, folder: str, options: dict) -> str:
    """Returns what went wrong, or nothing."""
    parent = os.path.dirname(os.path.dirname(os.path.abspath(_cache.__file__)))
    command = [sys.executable, "-c", _CHILD, os.path.dirname(parent), json.dumps([file, folder, options])]
    # A session of its own: Ctrl-C is for who runs the network.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
        _running.add(process)
        process.wait()
        _running.discard(process)
        said.seek(0)
        words = said.read().decode(errors="replace").strip().splitlines()
    return "" if process.returncode == 0 else words[-1] if words else f"status {process.returncode}"


@atexit.register
def _end() -> None:
    global _ended
    _ended = True
    for process in list(_running):
        process.terminate()
