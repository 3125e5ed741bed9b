"""How much of a memory could be on a slow node, and what that costs in latency.

Pieces of memory go to the slow node in the order of their accesses, the least accessed first. If a
share s of the accesses goes there, the mean latency is (1 - s) of the fast node's and s of the slow
one's. That is an upper bound of what a program notices: it does not wait for each access.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.model.run import Run

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class OnSlow:
    """What lives on the slow node if so many accesses may go there."""

    share: float
    """Of accesses, at most."""
    bytes: float
    latency_ns: float | None
    """Mean of an access; None without measured latencies."""
    slowdown: float | None
    """Of that mean, against the fast node alone; 0.1 is 10%."""


def on_slow(
    pieces: Sequence[tuple[float, float]], latencies: tuple[float, float] | None
) -> list[OnSlow]:
    """Return a row for each share, none where nothing was accessed.

    ``pieces`` are (bytes, accesses); latencies are those of the fast and the slow node.
    """
    total = sum(accesses for _, accesses in pieces)
    if not total:
        return []
    ordered = sorted(pieces, key=lambda piece: piece[1] / max(1.0, piece[0]))
    found = []
    for share in SHARES:
        size = spent = 0.0
        for own, accesses in ordered:
            if spent + accesses > share * total:
                break
            size, spent = size + own, spent + accesses
        mean = slowdown = None
        if latencies:
            fast, slow = latencies
            used = spent / total
            mean = (1 - used) * fast + used * slow
            slowdown = mean / fast - 1
        found.append(OnSlow(share, size, mean, slowdown))
    return found


def memory_latency(run: Run, node: int) -> float | None:
    """Return a node's lowest latency (ns) among those with the largest working set."""
    found = [
        (int(m.pattern.get("size") or 0), m.estimate)
        for m in run.measurements
        if m.target == f"node:{node}"
        and m.metric == "latency"
        and m.estimate
        and "writer" not in m.pattern  # lines of another core's caches
    ]
    largest = max((size for size, _ in found), default=0)
    return min((latency for size, latency in found if size == largest), default=None)
