"""Find cache levels in a latency curve over working-set sizes.

A plateau is a run of successive sizes whose latencies differ by at most a quarter. Of all ways to
cover the curve with such runs, the one is taken that leaves the fewest sizes uncovered with the
fewest runs (dynamic programming, exact for the costs below). What lies between two plateaus is
the transition in which a working set fits a level only in part; the level's end is put where the
latency crosses the geometric mean of the two plateaus.

A larger working set is never faster, and disturbances only ever add time, so each size counts
with the least latency of itself and all larger ones.
"""

from dataclasses import dataclass
from math import sqrt
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
"""Factor by which a level's end may miss the size that the system reports and still agree."""


@dataclass(frozen=True)
class Plateau:
    """Successive working sets of about the same latency."""

    first_size: int
    last_size: int
    """Bytes; the next size measured is no longer on it."""
    ends_by: int | None
    """First size whose latency is nearer to the next plateau's; None on the last plateau."""
    latency: float
    """Median of its sizes' latencies, ns."""


def plateaus(curve: list[tuple[int, float]]) -> list[Plateau]:
    """Return the plateaus of a curve of (bytes, ns), sizes ascending and latencies positive."""
    envelope = _lower_envelope(curve)
    runs = _joined(envelope, _best_runs(envelope))
    levels = [_latency(envelope, run) for run in runs]
    found = []
    for index, (begin, end) in enumerate(runs):
        ends_by = None
        if index + 1 < len(runs):
            middle = sqrt(levels[index] * levels[index + 1])
            ends_by = next(size for size, latency in envelope[end:] if latency > middle)
        found.append(Plateau(envelope[begin][0], envelope[end - 1][0], ends_by, levels[index]))
    return found


def _lower_envelope(curve: list[tuple[int, float]]) -> list[tuple[int, float]]:
    least = float("inf")
    envelope = []
    for size, latency in reversed(curve):
        least = min(least, latency)
        envelope.append((size, least))
    return envelope[::-1]


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
        before = joined[-1] if joined else None
        if (
            before
            and before[1] == run[0]
            and _latency(curve, run) < _SAME * _latency(curve, before)
        ):
            joined[-1] = (before[0], run[1])
        else:
            joined.append(run)
    return joined


def _latency(curve: list[tuple[int, float]], run: tuple[int, int]) -> float:
    return median(latency for _, latency in curve[slice(*run)])


@dataclass(frozen=True)
class LevelCheck:
    """A cache that the system reports, compared with what was measured."""

    name: str
    """L2, or what else the cache is called."""
    size_bytes: int
    verdict: str
    """seen: a plateau ends about there; unseen: none does; beyond: the curve does not reach it."""
    plateau: Plateau | None
    """The plateau that ends there, where one does."""


def check_levels(
    found: list[Plateau], largest_size: int, caches: list[tuple[str, int]]
) -> list[LevelCheck]:
    """Compare the caches that the system reports, (name, bytes), with the plateaus found.

    A plateau belongs to a cache if the cache's size lies between the last size on the plateau and
    the size that it ends by, give or take half as much again.
    """
    checks: list[LevelCheck] = []
    for name, size in caches:
        taken = {check.plateau for check in checks}
        match = next((p for p in found if p not in taken and _ends_near(p, size)), None)
        missed = "unseen" if largest_size >= 2 * size else "beyond"
        verdict = "seen" if match else missed
        checks.append(LevelCheck(name, size, verdict, match))
    return checks


def _ends_near(plateau: Plateau, size: int) -> bool:
    if plateau.ends_by is None:
        return False
    return plateau.last_size / _NEAR <= size <= plateau.ends_by * _NEAR
