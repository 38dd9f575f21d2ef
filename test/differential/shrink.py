"""The smallest case that still fails. What a generator decides (extents, attributes, operators of a graph) is a list of draws;
it is run again with draws lowered or left out, so that whatever comes out is a valid case of its own. Values are those of
the case as far as they fit."""
import time

import numpy as np

UNLIKELY = 0.999  # as a draw of chance(): what is optional is left out


class Draws:
    """A random generator that keeps what it gives: decisions (one number each) and data (arrays). Given those of an earlier
    run, it gives them again."""

    def __init__(self, rng, decisions=None, arrays=None):
        self.rng, self.given, self.old = rng, decisions, arrays or []
        self.decisions, self.arrays = [], []  # [(value, lowest)]

    def _decide(self, draw, lowest, fit):
        value, k = None, len(self.decisions)
        if self.given is None:
            value = draw()
        elif k < len(self.given):
            value = fit(self.given[k])
        value = lowest if value is None else value
        self.decisions.append((value, lowest))
        return value

    def _data(self, new, low=None, high=None):
        new, k = np.asarray(new), len(self.arrays)
        old = self.old[k] if k < len(self.old) else None
        if old is not None and old.ndim == new.ndim and all(a <= b for a, b in zip(new.shape, old.shape)):
            new = old[tuple(slice(d) for d in new.shape)].astype(new.dtype)
            if low is not None:
                new = np.clip(new, low, high)
        self.arrays.append(new)
        return new

    def random(self, size=None):
        if size is not None:
            return self._data(self.rng.random(size))
        return self._decide(self.rng.random, UNLIKELY, lambda v: v if isinstance(v, float) else None)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        low, high = (0, low) if high is None else (low, high)
        if size is None:
            last = high if endpoint else high - 1
            return self._decide(lambda: int(self.rng.integers(low, high, endpoint=endpoint)), int(low),
                                lambda v: min(max(v, int(low)), int(last)) if isinstance(v, int) else None)
        return self._data(self.rng.integers(low, high, size, dtype, endpoint), low, high if endpoint else np.asarray(high) - 1)

    def choice(self, among, size=None, p=None):
        if size is not None:
            return self._data(self.rng.choice(among, size, p=p))
        n = among if isinstance(among, int) else len(among)
        at = self._decide(lambda: int(self.rng.choice(n, p=p)), 0, lambda v: min(max(v, 0), n - 1) if isinstance(v, int) else None)
        return at if isinstance(among, int) else among[at]

    def permutation(self, n):
        usual = tuple(range(n))
        return np.array(self._decide(lambda: tuple(int(i) for i in self.rng.permutation(n)), usual,
                                     lambda v: v if isinstance(v, tuple) and len(v) == n else None), int)

    def uniform(self, low=0.0, high=1.0, size=None):
        return self._data(self.rng.uniform(low, high, size), low, high)

    def standard_normal(self, size=None):
        return self._data(self.rng.standard_normal(size))


def cost(case):
    attributes = sum(len(n.attribute) for n in case.nodes)
    tensors = [s for _, _, s in case.inputs] + [a.shape for _, _, a in case.constants]
    return 1000 * len(case.nodes) + 50 * len(tensors) + 20 * attributes + sum(5 * len(s) + int(np.prod(s)) for s in tensors)


def _lower(values, lowest, at):
    """Lists of decisions, the boldest first."""
    for n in (12, 8, 6, 5, 4, 3, 2, 1):  # an operator of a graph is a few draws
        yield values[:at] + values[at + n:]
    if values[at] != lowest[at]:
        yield values[:at] + [lowest[at]] + values[at + 1:]
        if isinstance(values[at], int) and values[at] - lowest[at] > 1:
            yield values[:at] + [(values[at] + lowest[at]) // 2] + values[at + 1:]
            yield values[:at] + [values[at] - 1] + values[at + 1:]


def smallest(make, fails, seconds):
    """make(decisions, arrays) -> (case, Draws), or None where there is none; (None, None) are the case's own. fails(case): whether
    it still does. Returns the smallest case found."""
    best, draws = make(None, None)
    end, improved = time.monotonic() + seconds, True
    while improved:
        improved, at = False, 0
        while at < len(draws.decisions) and time.monotonic() < end:
            values, lowest = [v for v, _ in draws.decisions], [v for _, v in draws.decisions]
            for lower in _lower(values, lowest, at):
                made = make(lower, draws.arrays)
                if made and cost(made[0]) < cost(best) and fails(made[0]):
                    (best, draws), improved = made, True
                    break
            else:
                at += 1
    return best
