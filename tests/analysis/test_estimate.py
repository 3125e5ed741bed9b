"""The estimator: its interval by hand where that can be done, its coverage by simulation."""

import math
import random
from collections.abc import Callable

import pytest

from tierscope.analysis.estimate import MIN_FOR_RANKS, estimate_median

Draw = Callable[[random.Random], float]
SERIES = 1000


def coverage(n: int, true_median: float, draw: Draw, series: int) -> float:
    """Share of intervals, out of many series of n draws, that hold the distribution's median."""
    source = random.Random(20261121)
    holds = 0
    for _ in range(series):
        estimate = estimate_median([draw(source) for _ in range(n)])
        holds += estimate.low <= true_median <= estimate.high
    return holds / series


class Autoregressive:
    """A series of which each sample depends on the one before."""

    def __init__(self, correlation: float) -> None:
        self.correlation = correlation
        self.state = 0.0

    def __call__(self, source: random.Random) -> float:
        self.state = self.correlation * self.state + source.gauss(0, 1)
        return self.state


def cauchy(source: random.Random) -> float:
    return math.tan(math.pi * (source.random() - 0.5))


def two_modes(source: random.Random) -> float:
    """Three quarters near 10, a quarter near 20."""
    return source.gauss(20.0 if source.random() < 0.25 else 10.0, 0.5)


@pytest.mark.parametrize("series", [SERIES, pytest.param(20 * SERIES, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("n", "true_median", "draw"),
    [
        pytest.param(40, 10.0, lambda source: source.gauss(10.0, 1), id="normal"),
        pytest.param(40, 0.0, cauchy, id="heavy tails"),
        # The median is the 2/3 quantile of the lower mode.
        pytest.param(60, 10.0 + 0.5 * 0.4307, two_modes, id="two modes"),
        # Taken as independent, the interval would be three times too narrow.
        pytest.param(200, 0.0, Autoregressive(0.8), id="autocorrelated"),
        pytest.param(85, 0.0, Autoregressive(0.9), id="few effective samples"),
    ],
)
def test_intervals_hold_the_median_as_often_as_they_claim(
    n: int, true_median: float, draw: Draw, series: int
) -> None:
    assert coverage(n, true_median, draw, series) >= 0.94


def test_one_sample_has_no_width() -> None:
    estimate = estimate_median([7.0])
    assert (estimate.value, estimate.low, estimate.high) == (7.0, 7.0, 7.0)


def test_the_median_of_an_even_number_is_halfway_between_the_middle_two() -> None:
    assert estimate_median([1.0, 4.0, 2.0, 3.0]).value == 2.5


def test_few_samples_get_students_t_within_their_range() -> None:
    # Five samples are worth 5 / (1 + 2 * sqrt(2 / 5)), two whole ones; their median deviation is 1,
    # and 12.7 * 1.2533 * 1.4826 / sqrt(2) is far beyond the range.
    estimate = estimate_median([3.0, 1.0, 5.0, 2.0, 4.0])
    assert (estimate.low, estimate.high) == (1.0, 5.0)
    assert estimate.effective_n == pytest.approx(5 / (1 + 2 * math.sqrt(0.4)))


def test_few_effective_samples_are_not_widened_by_a_burst() -> None:
    # A slow wave of 0.1% and a burst to twice the level: some five independent samples.
    samples = [100.0 + 0.1 * math.sin(i / 5.0) for i in range(60)]
    samples[30:33] = [200.0] * 3
    estimate = estimate_median(samples)
    assert 2 <= estimate.effective_n < MIN_FOR_RANKS
    assert estimate.low < 100.0 < estimate.high < 102.0


def test_the_ranks_are_those_of_the_binomial_distribution() -> None:
    # The order alternates around the median, so that nothing looks like drift: 20 samples are worth
    # 20 / (1 + 2 * sqrt(2 / 20)), 12 whole ones. For n = 12 the interval leaves out 2 on each side
    # (Conover, table A3), a sixth of them, so 3 of 20.
    samples = [value for i in range(10) for value in (1.0 + i, 20.0 - i)]
    estimate = estimate_median(samples)
    assert (estimate.low, estimate.high) == (4.0, 17.0)


def test_a_drifting_series_spans_the_drift() -> None:
    source = random.Random(1)
    estimate = estimate_median([100.0 + 0.05 * i + source.gauss(0, 0.1) for i in range(200)])
    assert estimate.effective_n < 10
    assert estimate.low < 102.0
    assert estimate.high > 108.0


def test_a_long_drifting_series_is_estimated_in_reasonable_time() -> None:
    estimate = estimate_median([float(i) for i in range(20_000)])
    assert estimate.effective_n < 10


def test_the_relative_half_width_of_a_median_of_zero_is_infinite() -> None:
    assert math.isinf(estimate_median([0.0, 0.0, 0.0]).relative_half_width)


def test_a_type_b_share_widens_both_sides() -> None:
    widened = estimate_median([7.0]).widened(0.001)
    assert (widened.value, widened.low, widened.high) == pytest.approx((7.0, 6.993, 7.007))
