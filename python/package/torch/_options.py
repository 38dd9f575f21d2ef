"""What may be said of a compilation by torch.compile, and what is told of one."""
import warnings
from typing import Any, Optional

from .. import _tune

MODES = ("untuned", "tune", "background")
OWN = {"mode": "untuned", "time_budget": None, "on_fallback": "warn", "check": True, "cache_dir": None, "cache_bytes": 10 << 30}


class Fallback(UserWarning):
    """A graph runs in eager mode; says why."""


class Options:
    """mode        "untuned": by what is known of the machine and was recorded; "tune": measures when a graph is first run,
                time_budget long; "background": untuned at once, tuned meanwhile by a process of low priority
    time_budget "60s", "2m", ...: of "tune" and "background", a graph; None: a minute
    on_fallback "warn": one warning for each reason; "raise": an Error; "ignore"
    check       a new library's first answer is held against eager mode's
    cache_dir   where libraries stay for later processes; None: $FAMILYSEER_TORCH_CACHE, or torch in the user's cache folder of
                familyseer; "": nowhere
    cache_bytes what they may take; those that were not used for longest go
    Others are those of the program, with underscores (doc/options.md): threads=4, precision="bf16"."""

    def __init__(self, mode: Optional[str], options: Optional[dict]):
        given = dict(options or {})
        if mode is not None and given.setdefault("mode", mode) != mode:
            raise ValueError(f"two modes: {mode!r} and {given['mode']!r}")
        for name, usual in OWN.items():
            setattr(self, name, given.pop(name, usual))
        self.others = given
        if self.mode not in MODES:  # type: ignore[attr-defined]
            raise ValueError(f"mode={self.mode!r}, must be one of {', '.join(MODES)}")  # type: ignore[attr-defined]
        if self.on_fallback not in ("warn", "raise", "ignore"):  # type: ignore[attr-defined]
            raise ValueError(f"on_fallback={self.on_fallback!r}, must be warn, raise or ignore")  # type: ignore[attr-defined]
        _tune.check_options(given)
        if self.mode != "untuned" and self.time_budget is None:  # type: ignore[attr-defined]
            self.time_budget = "1m"

    mode: str
    time_budget: Optional[str]
    on_fallback: str
    check: bool
    cache_dir: Optional[str]
    cache_bytes: int


class Graph:
    """What became of one graph; explain() lists them. state: "waiting" (not run yet), "library", "eager",
    "nothing to compute" (its results are arguments)."""

    def __init__(self, number: int, n_operators: int):
        self.number, self.n_operators = number, n_operators
        self.state, self.reason, self.tuned = "waiting", "", ""
        self.seconds: dict = {}  # of what was done for it
        self.libraries = 0
        self.cached = False

    def __str__(self) -> str:
        times = ", ".join(f"{what} {s:.1f} s" for what, s in self.seconds.items())
        more = [self.reason, self.tuned, "from the cache" if self.cached else "", times,
                f"{self.libraries} libraries" if self.libraries > 1 else ""]
        return f"graph {self.number}, {self.n_operators} operators: " + "; ".join([self.state] + [m for m in more if m])

    __repr__ = __str__


class Graphs(list):
    """Every Graph of this process."""

    def __str__(self) -> str:
        if not self:
            return "no graph was compiled"
        whole = sum(g.state == "library" for g in self)
        return "\n".join([f"{len(self)} graphs, {whole} of them compiled"] + [str(g) for g in self])

    __repr__ = __str__


graphs = Graphs()
_told: set = set()


def fall_back(graph: Graph, options: Options, reason: str) -> None:
    """The graph is eager from here on."""
    from .._runtime import Error

    graph.state, graph.reason = "eager", reason
    if options.on_fallback == "raise":
        raise Error("unsupported", f"graph {graph.number} of torch.compile: {reason}")
    if options.on_fallback == "warn" and reason not in _told:
        _told.add(reason)
        warnings.warn(f"graph {graph.number} of torch.compile runs in eager mode: {reason}", Fallback, stacklevel=2)


def explain() -> Any:
    """What became of the graphs that this process compiled: a list that prints as a table."""
    return Graphs(graphs)
