"""How often intervals of percentiles hold: samples of operations whose distribution is known.

An operation's time is lognormal, and a share of slow ones takes many times as long. What all
operations of a sample share differs from sample to sample (a first-order autoregression) and from
repetition to repetition; slow operations come in bursts or evenly.

    python tests/simulation/tails.py [FIGURES [SEED]]

prints the table of docs/method.md.
"""

import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from tierscope.analysis.distribution import estimates
from tierscope.model.histogram import Histogram, bucket_of
from tierscope.model.metric import PERCENTILES

_FAST, _SLOW = math.log(80e3), math.log(2e6)
"""Logarithms of ns."""
_NARROW, _WIDE = 0.2, 0.5
"""Standard deviations of the logarithm of fast and slow operations."""
_NORMALS = [NormalDist().inv_cdf((i + 0.5) / 2048) for i in range(2048)]


@lru_cache(maxsize=1024)
def _buckets(percent: int, median: float, deviation: float) -> list[int]:
    """Return buckets to draw from, of times that are shifted by so many percent (a logarithm)."""
    middle = median + percent / 100
    return [bucket_of(int(math.exp(middle + deviation * z))) for z in _NORMALS]


@dataclass(frozen=True)
class Device:
    """How its operations' times differ."""

    between: float = 0.0
    """Standard deviation from repetition to repetition, of the logarithm."""
    within: float = 0.0
    """The same from sample to sample."""
    phi: float = 0.0
    """Correlation of a sample with the next one."""
    slow: float = 0.005
    """Share of slow operations."""
    dwell: float = 0.0
    """Samples that a burst lasts on average; 0: slow operations come evenly."""
    bursts: float = 0.1
    """Share of the time that bursts take; all slow operations are in them."""

    def cdf(self, ns: float) -> float:
        """Return the share of operations that take at most so long."""
        shared = self.between**2 + self.within**2
        fast = NormalDist(_FAST, math.sqrt(_NARROW**2 + shared)).cdf(math.log(ns))
        slow = NormalDist(_SLOW, math.sqrt(_WIDE**2 + shared)).cdf(math.log(ns))
        return (1 - self.slow) * fast + self.slow * slow

    def mean(self) -> float:
        """Return the mean time."""
        shared = self.between**2 + self.within**2
        fast = math.exp(_FAST + (_NARROW**2 + shared) / 2)
        slow = math.exp(_SLOW + (_WIDE**2 + shared) / 2)
        return (1 - self.slow) * fast + self.slow * slow

    def percentile(self, beyond: float) -> float:
        """Return the time that a share of operations exceeds."""
        low, high = 1e3, 1e9
        for _ in range(80):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if 1 - self.cdf(middle) > beyond else (low, middle)
        return low

    def levels(self, source: random.Random) -> Iterator[tuple[float, float]]:
        """Yield what samples, one after the other, are shifted by, and their share of slow ones."""
        state = source.gauss(0, self.within)
        burst = source.random() < self.bursts
        while True:
            in_burst = self.slow / self.bursts if burst else 0.0
            yield state, in_burst if self.dwell else self.slow
            state = self.phi * state + source.gauss(0, self.within * math.sqrt(1 - self.phi**2))
            if self.dwell:
                leave = 1 / self.dwell
                enter = leave * self.bursts / (1 - self.bursts)
                burst = source.random() >= leave if burst else source.random() < enter

    def repetitions(
        self, source: random.Random, repetitions: int, samples: int, operations: int, apart: bool
    ) -> list[list[Histogram]]:
        """Return repetitions that lie apart, or follow each other."""
        found = []
        levels = self.levels(source)
        for _ in range(repetitions):
            if apart:
                levels = self.levels(source)
            shift = source.gauss(0, self.between)
            found.append(
                [_sample(source, operations, shift, *next(levels)) for _ in range(samples)]
            )
        return found


def _sample(
    source: random.Random, operations: int, of_repetition: float, of_sample: float, share: float
) -> Histogram:
    percent = round(100 * (of_repetition + of_sample))
    slow = sum(source.random() < share for _ in range(operations)) if share else 0
    found = source.choices(_buckets(percent, _FAST, _NARROW), k=operations - slow)
    found += source.choices(_buckets(percent, _SLOW, _WIDE), k=slow)
    return [number for item in sorted(Counter(found).items()) for number in item]


DEVICES = {
    "independent": Device(),
    "samples, 10%": Device(within=0.1),
    "AR(1) 0.9, 10%": Device(within=0.1, phi=0.9),
    "repetitions, 10%": Device(between=0.1),
    "bursts of 3 samples": Device(dwell=3),
    "bursts of 10 samples": Device(dwell=10, bursts=0.2),
}


@dataclass
class Tally:
    """Of one percentile."""

    given: int = 0
    held: int = 0
    missing: int = 0
    width: float = 0.0

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth."""
        return self.held / max(1, self.given)


def simulate(
    device: Device, figures: int, seed: str, apart: bool = True, repetitions: int = 16,
    samples: int = 12,
    operations: int = 300,
) -> dict[str, Tally]:  # fmt: skip
    """Return how intervals fared, of the mean and by percentile."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    truths = {name: device.percentile(beyond) for name, beyond in PERCENTILES.items()}
    truths["mean"] = device.mean()
    for number in range(figures):
        source = random.Random(f"{seed} {number}")
        sample = device.repetitions(source, repetitions, samples, operations, apart)
        for name, found in estimates(sample, error=0.04, apart=apart):
            if name not in truths:
                continue
            tally = tallies[name]
            if found.low is None or found.high is None:
                tally.missing += 1
                continue
            tally.given += 1
            tally.held += found.low <= truths[name] <= found.high
            tally.width += (found.high - found.low) / 2 / found.value
    return dict(tallies)


def main(figures: int, seed: str) -> None:
    """Print a table for repetitions of a run in rounds, and one for repetitions that follow each
    other."""
    names = ("mean", "p50", "p90", "p99", "p99.9")
    for apart in (True, False):
        print(f"\n**{'In rounds' if apart else 'One figure alone'}**\n")
        print(f"| operations | {' | '.join(names)} |\n|---|" + "---|" * len(names))
        for name, device in DEVICES.items():
            found = simulate(device, figures, f"{seed} {name}", apart)
            cells = [_cell(found[one], figures) for one in names]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _cell(tally: Tally, figures: int) -> str:
    """Return coverage and half-width; of how many figures where some have no interval."""
    if tally.given < 0.05 * figures:  # too few to say how many of them hold
        return f"– of {tally.given / figures:.0%}"
    given = f" of {tally.given / figures:.0%}" if tally.missing else ""
    return f"{tally.coverage:.1%}{given}, ±{tally.width / tally.given:.1%}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, (sys.argv[2:] or ["1"])[0])
