"""Figures of a fleet's hosts from a formula, and what judging them finds."""

import math
import random
from collections.abc import Iterator

from tierscope.analysis.outliers import MOST, HostFigure, PathKey, find_outliers
from tierscope.model.outlier import Verdict

Fleet = list[tuple[PathKey, list[HostFigure]]]


def key(number: int, metric: str = "bandwidth") -> PathKey:
    unit = "ns" if metric == "latency" else "B/s"
    return PathKey("a kind", f"node:{number}", "node:0", "{}", metric, unit)


def figure(host: object, value: float, error: float = 0.0, group: str = "g") -> HostFigure:
    """A figure with its 95% interval; none where it has no error."""
    half = 1.96 * error
    low, high = (value * math.exp(-half), value * math.exp(half)) if error else (None, None)
    return HostFigure(f"n{host}", group, "m", value, low, high)


def made(
    hosts: int, paths: int = 8, slow: frozenset[int] = frozenset(), by: float = 0.03,
    between: float = 0.01, error: float = 0.0, metric: str = "bandwidth", seed: int = 1,
    shared: float = 0.0, on: int = 99, groups: int = 1, tail: int = 0,
) -> Fleet:  # fmt: skip
    """``slow`` hosts are slower on the first ``on`` paths; ``shared`` of hosts' variance is common
    to all paths of a host; ``tail`` are the degrees of freedom of what hosts differ in, 0: normal.
    """
    source = random.Random(seed)
    common = [source.gauss(0, 1) for _ in range(hosts)]
    worse = -math.log(1 - by) if metric == "latency" else math.log(1 - by)
    found = []
    for path in range(paths):
        figures = []
        for host in range(hosts):
            own = math.sqrt(shared) * common[host] + math.sqrt(1 - shared) * source.gauss(0, 1)
            if tail:  # Student's t, of standard deviation 1
                squares = source.gammavariate(tail / 2, 2)
                own *= math.sqrt((tail - 2) / squares)
            apart = between * own + (error * source.gauss(0, 1) if error else 0.0)
            apart += worse if host in slow and path < on else 0.0
            figures.append(figure(host, 100 * math.exp(apart), error, f"g{host % groups}"))
        found.append((key(path, metric), figures))
    return found


def judged(fleet: Fleet, minimum: float = 0.01, most: float = MOST) -> Verdict:
    def read(hosts: frozenset[str] | None) -> Iterator[tuple[PathKey, list[HostFigure]]]:
        for path, figures in fleet:
            yield path, [one for one in figures if hosts is None or one.host in hosts]

    return find_outliers(read, minimum, most=most)
