"""Machines compared with themselves, simulated: at most one comparison in twenty may find a thing.

Samples follow each other as on a real machine: an autoregressive series about a level that differs
from run to run. Intervals are the engine's: from order statistics, for as many independent samples
as the series is worth.
"""

import math
import random
from statistics import median

import pytest
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.model.run import Measurement, Run

PATHS = ("node:0", "node:1", "node:2")
COMPARISONS = 200
ALARMS = 0.05


def interval(samples: list[float]) -> tuple[float, float, float]:
    """Median and 95% interval as engine/sampling/estimate.cpp makes them."""
    ordered, n = sorted(samples), len(samples)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    signs = [(sample > middle) - (sample < middle) for sample in samples]
    variance = sum(sign * sign for sign in signs) / n
    tau = -1.0
    for lag in range(0, n - 1, 2):
        pair = sum(sum(signs[i] * signs[i + k] for i in range(n - k)) for k in (lag, lag + 1)) / (
            n * variance
        )
        if pair <= 0:
            break
        tau += 2 * pair
    whole = max(1, int(n / min(max(tau, 1.0), n)))
    if whole < 6:
        apart = 1.4826 * median(abs(sample - middle) for sample in ordered)
        quantile = (math.inf, 12.706, 4.303, 3.182, 2.776)[whole - 1]
        half = quantile * 1.2533 * apart / math.sqrt(whole)
        return middle, max(ordered[0], middle - half), min(ordered[-1], middle + half)
    cumulative, rank = 0.0, 0
    for heads in range(whole + 1):
        cumulative += math.comb(whole, heads) / 2**whole
        if cumulative > 0.025:
            break
        rank = heads
    cut = n * rank // whole
    return middle, ordered[cut], ordered[-1 - cut]


def simulated(
    chance: random.Random, noise: float, variation: float, follow: float, shift: float = 0.0
) -> Run:
    maker = synthetic.Maker()
    found: list[Measurement] = []
    for path in PATHS:
        for step in range(10):
            tail = math.sqrt(2 / chance.gammavariate(2, 1))  # Student's t, 4 degrees
            level = chance.gauss(0, variation) * tail / math.sqrt(2)
            level += math.log1p(shift) if path == "node:1" else 0.0
            value, samples = chance.gauss(0, noise), []
            for _ in range(30):
                value = follow * value + chance.gauss(0, noise * math.sqrt(1 - follow**2))
                samples.append(1e10 * (1 + step) * math.exp(level + value))
            middle, low, high = interval(samples)
            made = maker.make("bandwidth", "node:0", path, {"threads": step}, 1e10)
            found.append(
                made.model_copy(
                    update={"estimate": middle, "ci_low": low, "ci_high": high,
                            "samples": samples, "n": len(samples)}
                )
            )  # fmt: skip
    return synthetic.run(found)


@pytest.mark.parametrize(
    "comparisons", [COMPARISONS, pytest.param(10 * COMPARISONS, marks=pytest.mark.soak)]
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
        exact += slower == ["node:1"] * 10 and not found.count("faster")
    assert exact >= 45
