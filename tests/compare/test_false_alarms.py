"""Machines compared with themselves, simulated: at most one comparison in twenty may find a thing.

Rows of a repetition follow each other as on a real machine: an autoregressive series about a level
that differs from run to run. Intervals are those that a run's repetitions get."""

import math
import random

import pytest
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.analysis.estimate import estimate_median
from tierscope.model.run import Measurement, Run

PATHS = ("node:0", "node:1", "node:2")
STEPS = 5
REPETITIONS = 6
ROWS = 5
COMPARISONS = 100
ALARMS = 0.05


def rows(
    chance: random.Random, noise: float, follow: float, level: float, unit: float
) -> list[float]:
    """The rows of a repetition."""
    value, found = chance.gauss(0, noise), []
    for _ in range(ROWS):
        value = follow * value + chance.gauss(0, noise * math.sqrt(1 - follow**2))
        found.append(unit * math.exp(level + value))
    return found


def simulated(
    chance: random.Random, noise: float, variation: float, follow: float, shift: float = 0.0
) -> Run:
    maker = synthetic.Maker()
    found: list[Measurement] = []
    for path in PATHS:
        for step in range(STEPS):
            tail = math.sqrt(2 / chance.gammavariate(2, 1))  # Student's t, 4 degrees
            level = chance.gauss(0, variation) * tail / math.sqrt(2)
            level += math.log1p(shift) if path == "node:1" else 0.0
            repetitions = [
                rows(chance, noise, follow, level, 1e10 * (1 + step)) for _ in range(REPETITIONS)
            ]
            estimate = estimate_median(repetitions, apart=True)
            samples = [row for repetition in repetitions for row in repetition]
            made = maker.make("bandwidth", "node:0", path, {"threads": step}, 1e10)
            found.append(
                synthetic.changed(
                    made, estimate=estimate.value, ci_low=estimate.low, ci_high=estimate.high,
                    samples=samples, n=len(samples),
                )
            )  # fmt: skip
    return synthetic.run(found)


@pytest.mark.parametrize(
    "comparisons", [COMPARISONS, pytest.param(4 * COMPARISONS, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    ("noise", "variation", "follow"),
    [
        (0.01, 0.0, 0.0),  # a quiet machine
        (0.01, 0.0, 0.7),  # samples that depend on each other
        (0.005, 0.005, 0.3),  # medians that vary more than intervals say
        (0.02, 0.05, 0.5),  # a shared machine
        (0.1, 0.2, 0.8),  # a machine under others' load
    ],
)
def test_a_machine_is_the_same_as_itself(
    noise: float, variation: float, follow: float, comparisons: int
) -> None:
    chance = random.Random(20260105)
    alarms = 0
    for _ in range(comparisons):
        runs = [("run", simulated(chance, noise, variation, follow)) for _ in range(2)]
        found = compare(*runs, 0.0)
        alarms += bool(found.count("slower") + found.count("faster"))
    # Two standard deviations above one in twenty would still be chance.
    assert alarms <= comparisons * ALARMS + 2 * math.sqrt(comparisons * ALARMS * (1 - ALARMS))


def test_a_path_that_lost_five_percent_is_found_and_no_other() -> None:
    chance = random.Random(20260106)
    exact = 0
    for _ in range(50):
        base = simulated(chance, 0.005, 0.001, 0.3)
        new = simulated(chance, 0.005, 0.001, 0.3, shift=-0.05)
        found = compare(("base", base), ("new", new), 0.02)
        slower = [d.target for d in found.differences if d.verdict == "slower"]
        exact += slower == ["node:1"] * STEPS and not found.count("faster")
    assert exact >= 45
