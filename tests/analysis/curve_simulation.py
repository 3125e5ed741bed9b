"""Simulated bandwidth-latency curves whose truth is known: straight lines and hockey sticks.

`python tests/analysis/curve_simulation.py` prints the table in docs/memory-tiers.md.
"""

import random
from dataclasses import dataclass
from itertools import product

from tierscope.analysis.curve import Point, Summary, summarize

IDLE = 100.0
PEAK = 100e9
_HALF_WIDTH = 1.96


@dataclass(frozen=True)
class Shape:
    """Latency over use, both as shares of the idle latency and of the highest bandwidth."""

    slope: float = 0.0
    """What latency gains from no load to full, without the bend."""
    knee: float = 1.0
    rise: float = 0.0
    """What it gains on top from the knee to the end."""

    def latency(self, use: float) -> float:
        bent = max(0.0, use - self.knee) / (1 - self.knee) if self.rise else 0.0
        return IDLE * (1 + self.slope * use + self.rise * bent)


@dataclass(frozen=True)
class Noise:
    """How figures scatter, and what their intervals say of it."""

    latency: float = 0.02
    """Standard deviation as a share."""
    bandwidth: float = 0.01
    told: float | None = 1.0
    """Intervals as a share of honest ones; None: there are none."""
    controls: int = 3


def curve(
    shape: Shape, count: int, noise: Noise, draw: random.Random
) -> tuple[list[Point], list[float]]:
    """Loaded points and idle latencies; half of the curves have their points evenly spread."""
    uses = [(number + 1) / count for number in range(count)]
    if draw.random() < 0.5:
        uses = sorted([*(draw.uniform(0.02, 1) for _ in range(count - 1)), 1.0])
    points = []
    for number, use in enumerate(uses):
        latency = shape.latency(use)
        halves = None
        if noise.told is not None:
            halves = (
                noise.told * _HALF_WIDTH * noise.bandwidth,
                noise.told * _HALF_WIDTH * noise.latency,
            )
        points.append(
            Point(
                delay_ns=20 * (count - 1 - number),
                bandwidth=use * PEAK * (1 + draw.gauss(0, noise.bandwidth)),
                latency=latency * (1 + draw.gauss(0, noise.latency)),
                bandwidth_half=halves and halves[0] * use * PEAK,
                latency_half=halves and halves[1] * latency,
            )
        )
    return points, [IDLE * (1 + draw.gauss(0, noise.latency)) for _ in range(noise.controls)]


def summaries(shape: Shape, count: int, noise: Noise, times: int, seed: int) -> list[Summary]:
    draw = random.Random(f"{seed} {shape} {count} {noise}")
    return [summarize(*curve(shape, count, noise, draw)) for _ in range(times)]


def share_with_knee(shape: Shape, count: int, noise: Noise, times: int, seed: int) -> float:
    found = summaries(shape, count, noise, times, seed)
    return sum(summary.knee is not None for summary in found) / times


@dataclass(frozen=True)
class Load:
    """Threads that pause between accesses of 1 KiB, on a path that may fill."""

    threads: int
    hidden: bool = False
    """An access overlaps with the pause before it, as in an out-of-order core."""
    access_ns: float = 80.0

    def point(self, delay: int, noise: Noise, draw: random.Random) -> Point:
        own = max(delay, self.access_ns) if self.hidden else delay + self.access_ns
        asked = self.threads * 1024 / own * 1e9
        use = asked / PEAK
        # An open queue until it is long, then what the threads cannot do other than wait for.
        waiting = IDLE * 0.1 * min(use, 0.95) / (1 - min(use, 0.95)) + IDLE * max(0.0, use - 0.95)
        bandwidth, latency = min(asked, PEAK), IDLE + waiting
        told = noise.told and noise.told * _HALF_WIDTH
        return Point(
            delay_ns=delay,
            bandwidth=bandwidth * (1 + draw.gauss(0, noise.bandwidth)),
            latency=latency * (1 + draw.gauss(0, noise.latency)),
            bandwidth_half=told and told * noise.bandwidth * bandwidth,
            latency_half=told and told * noise.latency * latency,
        )


DELAYS = (8000, 2400, 1000, 400, 280, 160, 120, 80, 40, 20, 10, 5, 2, 0)


def loaded(load: Load, noise: Noise, times: int, seed: int) -> list[Summary]:
    draw = random.Random(f"{seed} {load} {noise}")
    found = []
    for _ in range(times):
        idle = [IDLE * (1 + draw.gauss(0, noise.latency)) for _ in range(noise.controls)]
        found.append(summarize([load.point(delay, noise, draw) for delay in DELAYS], idle))
    return found


LINES = [Shape(slope=slope) for slope in (-0.3, 0.0, 0.2, 1.0, 5.0)]
STICKS = [
    Shape(slope=slope, knee=knee, rise=rise)
    for slope, knee, rise in product((0.0, 0.2), (0.3, 0.5, 0.7, 0.85), (0.5, 1.0, 4.0))
]
COUNTS = (8, 12, 20)
NOISES = {
    "honest intervals": Noise(),
    "intervals of a third": Noise(told=1 / 3),
    "no intervals": Noise(told=None),
}


def main() -> None:
    """Print the table."""
    times = 1000
    print("| intervals | points | false knees, mean (most) | true knees, mean (fewest) |")
    print("|---|---|---|---|")
    for (name, noise), count in product(NOISES.items(), COUNTS):
        false = [share_with_knee(shape, count, noise, times, 1) for shape in LINES]
        true = [share_with_knee(shape, count, noise, times, 1) for shape in STICKS]
        print(
            f"| {name} | {count} | {sum(false) / len(false):.1%} ({max(false):.1%}) "
            f"| {sum(true) / len(true):.1%} ({min(true):.1%}) |"
        )


if __name__ == "__main__":
    main()
