"""Hosts that are named in fleets without a defect, and defects that are found: figures of which it
is known what hosts differ in.

    python tests/simulation/fleets.py [FLEETS]

prints the tables of docs/fleet.md.
"""

import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

from tests.fleet.figures import Fleet, figure, judged, key  # noqa: E402

_MODES = 0.05


def _student(source: random.Random, freedom: int) -> float:
    return source.gauss(0, 1) / math.sqrt(source.gammavariate(freedom / 2, 2) / freedom)


def _rounded(step: float, deviation: float) -> Callable[[random.Random], float]:
    return lambda source: math.log1p(step * round(source.gauss(0, deviation) / step))


def _capped(share: float) -> Callable[[random.Random], float]:
    return lambda source: 0.0 if source.random() < share else -0.01 * source.expovariate(1)


CLEAN: dict[str, Callable[[random.Random], float]] = {
    "normal, ±1%": lambda source: source.gauss(0, 0.01),
    "Student's t of 3 degrees": lambda source: 0.01 * _student(source, 3),
    "exponential on the slow side": lambda source: -0.01 * source.expovariate(1),
    "lognormal on the slow side": lambda source: -0.01 * math.exp(source.gauss(0, 0.7)),
    "exponential on the fast side": lambda source: 0.01 * source.expovariate(1),
    "±0.5%, rounded to 1%": _rounded(0.01, 0.005),
    "±0.5%, rounded to 1.5%": _rounded(0.015, 0.005),
    "±1%, rounded to 2%": _rounded(0.02, 0.01),
    "60% at a cap": _capped(0.6),
    "90% at a cap": _capped(0.9),
}
"""The logarithm of a host's figure on a path."""
RACKS = {"1 of 10 racks 5% slower": 1, "2 of 10 racks": 2, "4 of 10 racks": 4, "5 of 10 racks": 5}


def clean(name: str, hosts: int, paths: int, source: random.Random) -> Fleet:
    """Return a fleet in which no host is slow for a reason of its own."""
    slow = RACKS.get(name, 0)
    draw = CLEAN.get(name, CLEAN["normal, ±1%"])
    return [
        (
            key(path),
            [
                figure(host, 100 * math.exp(draw(source) - _MODES * (host * 10 // hosts < slow)))
                for host in range(hosts)
            ],
        )
        for path in range(paths)
    ]


@dataclass(frozen=True)
class Defect:
    """What host 0 loses, as a share, on rates and on times; others may be faster."""

    rates: float
    times: float = 0.0
    paths: int = 99
    """It is slow on so many paths of rates."""
    faster: int = 0
    """So many other hosts are 30% faster in everything."""


DEFECTS = {
    "one path at half speed": Defect(0.5, paths=1),
    "one path 30% slower": Defect(0.3, paths=1),
    "rates 20% lower, times 20% better": Defect(0.2, times=-0.2),
    "all 30% slower, two hosts 30% faster": Defect(0.3, times=0.3, faster=2),
}
_RATES, _TIMES = 6, 2


def planted(defect: Defect, hosts: int, between: float, source: random.Random) -> Fleet:
    """Return a fleet of which host 0 has a defect."""
    fleet = []
    for path in range(_RATES + _TIMES):
        times = path >= _RATES
        own = math.log1p(defect.times) if times else math.log1p(-defect.rates)
        own = own if times or path < defect.paths else 0.0
        faster = math.log(0.7) if times else math.log(1.3)
        shifts = [own, *[faster] * defect.faster]
        figures = [
            figure(
                host,
                100 * math.exp(source.gauss(0, between) + (shifts[host : host + 1] or [0.0])[0]),
            )
            for host in range(hosts)
        ]
        fleet.append((key(path, "latency" if times else "bandwidth"), figures))
    return fleet


def false_alarms(name: str, hosts: int, paths: int, fleets: int, seed: str) -> tuple[float, int]:
    """Return the hosts named for each 1,000, and the most in a fleet."""
    named = [
        len(judged(clean(name, hosts, paths, random.Random(f"{seed} {name} {number}"))).outliers)
        for number in range(fleets)
    ]
    return 1000 * sum(named) / (hosts * fleets), max(named)


def recall(defect: Defect, hosts: int, between: float, fleets: int, seed: str) -> float:
    """Return the share of fleets in which host 0, and nobody else, is named."""
    found = 0
    for number in range(fleets):
        verdict = judged(planted(defect, hosts, between, random.Random(f"{seed} {number}")))
        found += [one.host for one in verdict.outliers] == ["n0"]
    return found / fleets


def main(fleets: int) -> None:
    """Print both tables."""
    sizes = (5, 6, 12, 50, 150, 1000)
    print(f"| hosts differ by | {' | '.join(f'{size} hosts' for size in sizes)} |")
    print("|---|" + "---|" * len(sizes))
    for name in (*CLEAN, *RACKS):
        counts = [max(1, min(fleets, fleets * 20 // size)) for size in sizes]
        found = [
            false_alarms(name, size, 8, count, "table")[0]
            for size, count in zip(sizes, counts, strict=True)
        ]
        print(f"| {name} | {' | '.join(f'{one:.1f}' for one in found)} |", flush=True)
    sizes = (6, 8, 12, 20, 50)
    print(f"\n| host with | {' | '.join(f'{size} hosts' for size in sizes)} |")
    print("|---|" + "---|" * len(sizes))
    for name, defect in DEFECTS.items():
        cells = [f"{recall(defect, size, 0.01, fleets // 4, 'table'):.2f}" for size in sizes]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
