"""Libraries that outlive a process: a folder for each digest of a graph, with a folder for each way it was made."""
import contextlib
import json
import os
import shutil
import tempfile
from typing import Iterator, Optional

PLAN = "torch.json"  # beside model.so: what is bound to what


def folder(wish: Optional[str]) -> Optional[str]:
    """Where they are; None: nowhere."""
    if wish is None:
        wish = os.environ.get("FAMILYSEER_TORCH_CACHE")
    if wish is None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        wish = os.path.join(cache, "familyseer", "torch")
    return wish or None


def _seconds(budget: str) -> float:
    unit = {"s": 1, "m": 60, "h": 3600}.get(budget[-1:], 0)
    try:
        return float(budget[:-1]) * unit if unit else float(budget)
    except ValueError:
        return 0.0


def find(root: Optional[str], digest: str, budget: Optional[str]) -> Optional[str]:
    """The folder of the library that was tuned for longest, at least `budget` (None: an untuned one will do)."""
    if root is None:
        return None
    best: tuple = (-1.0, None)
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(root, digest)):
            path = os.path.join(root, digest, name)
            time = 0.0 if name == "untuned" else _seconds(name)
            if time >= (0.0 if budget is None else _seconds(budget)) and (name == "untuned") <= (budget is None) \
                    and os.path.exists(os.path.join(path, PLAN)):
                best = max(best, (time, path))
    if best[1] is not None:
        with contextlib.suppress(OSError):
            os.utime(os.path.dirname(best[1]))
    return best[1]


@contextlib.contextmanager
def place(root: Optional[str]) -> Iterator[str]:
    """A folder to make a library in, which is gone afterwards; where rename can take it from into the cache."""
    if root is not None:
        os.makedirs(root, exist_ok=True)
    path = tempfile.mkdtemp(prefix=".making-" if root else "familyseer-", dir=root)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def keep(root: str, digest: str, budget: Optional[str], made: str, limit: int) -> str:
    """Moves what was made into the cache, in place of what is there (another process's, or a damaged one), and returns
    where it is now."""
    path = os.path.join(root, digest, budget or "untuned")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(OSError):
        os.rename(path, made + ".before")
        shutil.rmtree(made + ".before", ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rename(made, path)
    _shrink(root, limit, digest)
    return path


def _bytes(path: str) -> int:
    total = 0
    for where, _, files in os.walk(path):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_size
    return total


def _shrink(root: str, limit: int, spared: str) -> None:
    """Removes those that were not used for longest, until the rest takes at most `limit` bytes. A library that a process
    has open keeps its memory."""
    every = []
    for name in os.listdir(root):
        path = os.path.join(root, name)
        with contextlib.suppress(OSError):
            if not name.startswith("."):
                every.append((name == spared, os.stat(path).st_mtime, _bytes(path), path))
    every.sort(reverse=True)
    used = 0
    for is_spared, _, size, path in every:
        used += size
        if used > limit and not is_spared:
            shutil.rmtree(path, ignore_errors=True)


def write_plan(path: str, plan: dict) -> None:
    with open(os.path.join(path, PLAN), "w", encoding="utf-8") as file:
        json.dump(plan, file)


def read_plan(path: str) -> dict:
    with open(os.path.join(path, PLAN), encoding="utf-8") as file:
        return json.load(file)
