"""Find cache levels in a latency curve over working-set sizes.

A plateau is a run of successive sizes whose latencies differ by at most a quarter. Of all ways to
cover the curve with such runs, the one is taken that leaves the fewest sizes uncovered with the
fewest runs (dynamic programming, exact for the costs below). What lies between two plateaus is
the transition in which a working set fits a level only in part.
"""

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

SPREAD = 1.25
"""Highest latency of a plateau over its lowest."""
_SHORTEST = 2
_RUN_COST = 1.5
"""Cost of one more plateau, where an uncovered size costs 1: two sizes make none of their own
when they can join a neighbour, three do."""
_SAME = 1.2
"""Neighbouring plateaus nearer than this are one level that drifts."""
_NEAR = 1.5
"""Factor by which a level's end may miss the size that the system names and still agree."""


@dataclass(frozen=True)
class Plateau:
    """Successive working sets of about the same latency."""

    first_size: int
    last_size: int
    """Bytes; the next size measured is no longer on it."""
    next_size: int | None
    """The next size measured; None where the curve ends on this plateau."""
    latency: float
    """Median of its sizes' latencies, ns."""


def plateaus(curve: list[tuple[int, float]]) -> list[Plateau]:
    """Return the plateaus of a curve of (bytes, ns), sizes ascending and latencies positive."""
    return [_plateau(curve, *run) for run in _joined(curve, _best_runs(curve))]


def _best_runs(curve: list[tuple[int, float]]) -> list[tuple[int, int]]:
    """Return runs [begin, end) that cover the curve at the least cost."""
    cost = [0.0]
    choice: list[tuple[int, int] | None] = [None]
    for end in range(1, len(curve) + 1):
        best, chosen = cost[end - 1] + 1, None
        for begin in range(end - 1, -1, -1):
            values = [latency for _, latency in curve[begin:end]]
            if max(values) > SPREAD * min(values):
                break
            if end - begin >= _SHORTEST and cost[begin] + _RUN_COST <= best:
                best, chosen = cost[begin] + _RUN_COST, (begin, end)
        cost.append(best)
        choice.append(chosen)
    runs = []
    end = len(curve)
    while end > 0:
        run = choice[end]
        if run is not None:
            runs.append(run)
        end = run[0] if run else end - 1
    return runs[::-1]


def _joined(curve: list[tuple[int, float]], runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbouring runs whose latencies are nearly the same."""
    joined: list[tuple[int, int]] = []
    for run in runs:
        if joined and joined[-1][1] == run[0]:
            before = _plateau(curve, *joined[-1]).latency
            if _plateau(curve, *run).latency < _SAME * before:
                joined[-1] = (joined[-1][0], run[1])
                continue
        joined.append(run)
    return joined


def _plateau(curve: list[tuple[int, float]], begin: int, end: int) -> Plateau:
    return Plateau(
        first_size=curve[begin][0],
        last_size=curve[end - 1][0],
        next_size=curve[end][0] if end < len(curve) else None,
        latency=median(latency for _, latency in curve[begin:end]),
    )


@dataclass(frozen=True)
class LevelCheck:
    """A cache that the system names, beside what was measured."""

    level: int
    size_bytes: int
    verdict: str
    """seen: a plateau ends about there; unseen: none does; beyond: the curve does not reach it."""
    plateau: Plateau | None
    """The plateau that ends there, where one does."""


def check_levels(
    found: list[Plateau], largest_size: int, caches: list[tuple[int, int]]
) -> list[LevelCheck]:
    """Hold the caches that the system names, (level, bytes), against the plateaus found.

    A plateau belongs to a cache if the cache's size lies between the last size on the plateau and
    the next plateau's first size, give or take half as much again.
    """
    checks: list[LevelCheck] = []
    for level, size in caches:
        match = None
        for plateau, after in pairwise(found):
            if plateau.last_size / _NEAR <= size <= after.first_size * _NEAR and not any(
                check.plateau == plateau for check in checks
            ):
                match = plateau
                break
        missed = "unseen" if largest_size >= 2 * size else "beyond"
        verdict = "seen" if match else missed
        checks.append(LevelCheck(level, size, verdict, match))
    return checks
