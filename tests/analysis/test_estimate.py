"""The estimator, by hand where that can be done; tests/simulation has its coverage."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.estimate import Estimate, estimate_median, student_quantile


def normal(source: random.Random, n: int, middle: float = 100.0, sd: float = 1.0) -> list[float]:
    return [source.gauss(middle, sd) for _ in range(n)]


def repetitions_of(values: list[float], repetitions: int) -> list[list[float]]:
    samples = len(values) // repetitions
    return [values[i * samples : (i + 1) * samples] for i in range(repetitions)]


def autoregressive(source: random.Random, n: int, phi: float, sd: float) -> list[float]:
    state, values = source.gauss(0, sd), []
    for _ in range(n):
        values.append(100.0 + state)
        state = phi * state + source.gauss(0, sd * math.sqrt(1 - phi * phi))
    return values


def interval(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


@pytest.mark.parametrize(
    ("freedom", "error", "quantile"),
    # Abramowitz and Stegun, table 26.10.
    [(1, 0.05, 12.706), (2, 0.05, 4.303), (5, 0.01, 4.032), (15, 0.05, 2.131), (30, 0.02, 2.457)],
)
def test_students_quantiles(freedom: int, error: float, quantile: float) -> None:
    assert student_quantile(freedom, error) == pytest.approx(quantile, abs=5e-4)


def test_the_median_is_that_of_all_samples() -> None:
    assert estimate_median([[1.0, 4.0], [2.0, 3.0]]).value == 2.5
    assert estimate_median([[1.0], [], [5.0, 2.0]]).value == 2.0


@given(
    st.lists(st.lists(st.floats(1, 1e12), max_size=12), min_size=1, max_size=9).filter(any),
    st.booleans(),
    st.integers(1, 9),
)
def test_the_median_is_among_the_samples(
    repetitions: list[list[float]], apart: bool, on_each_set: int
) -> None:
    values = [value for one in repetitions for value in one]
    pages = [number // on_each_set for number in range(len(repetitions))]
    estimate = estimate_median(repetitions, apart=apart, pages=pages)
    assert min(values) * (1 - 1e-9) <= estimate.value <= max(values) * (1 + 1e-9)
    assert (estimate.low is None) == (estimate.no_interval is not None)


def test_samples_that_scatter_alike_everywhere_get_the_interval_of_independent_samples() -> None:
    # Eight repetitions of the same ten samples: nothing lies between repetitions, so that the share
    # of samples above the median scatters as that of 80 independent ones, by 1 / sqrt(4 * 80).
    # Student's t of seven degrees of freedom is 2.365: 0.5 -+ 0.1322, the samples number 29 and 50
    # of 0..79.
    repetitions = [[float(sample) for sample in (3, 8, 1, 6, 10, 5, 2, 9, 4, 7)]] * 8
    estimate = estimate_median(repetitions, apart=True)
    assert interval(estimate) == (4.0, 7.0)
    assert estimate.value == 5.5


def test_repetitions_that_differ_widen_the_interval() -> None:
    source = random.Random(6)
    alike = [normal(source, 20) for _ in range(8)]
    differing = [[sample + 5 * (i % 3) for sample in samples] for i, samples in enumerate(alike)]
    assert estimate_median(differing, apart=True).relative_half_width > 4 * (
        estimate_median(alike, apart=True).relative_half_width
    )


def test_a_positive_quantity_has_a_positive_interval() -> None:
    source = random.Random(3)
    repetitions = [[math.exp(source.gauss(2, 1.0)) for _ in range(6)] for _ in range(6)]
    estimate = estimate_median(repetitions)
    low, high = interval(estimate)
    assert 0 < low < estimate.value < high
    assert high - estimate.value > 2 * (estimate.value - low)


def test_few_samples_have_no_interval() -> None:
    estimate = estimate_median([[1.0, 2.0, 3.0]])
    assert (estimate.low, estimate.high, estimate.no_interval) == (None, None, "few-samples")
    assert math.isinf(estimate.relative_half_width)
    assert estimate.widened(0.001) == estimate


def test_one_repetition_is_cut_into_parts() -> None:
    low, high = interval(estimate_median([normal(random.Random(2), 200)]))
    assert 99 < low < 100 < high < 101


def test_adjacent_repetitions_of_a_slow_series_have_no_interval() -> None:
    values = autoregressive(random.Random(2), 160, 0.99, 2.0)
    assert estimate_median(repetitions_of(values, 16)).no_interval == "autocorrelated"
    assert estimate_median([values]).no_interval == "autocorrelated"


def test_the_same_repetitions_far_apart_have_one() -> None:
    source = random.Random(2)
    repetitions = [autoregressive(source, 10, 0.99, 2.0) for _ in range(16)]
    estimate = estimate_median(repetitions, apart=True)
    low, high = interval(estimate)
    assert low < 100 < high
    assert estimate.effective_n < 50


def test_a_drifting_series_spans_the_drift() -> None:
    source = random.Random(1)
    repetitions = repetitions_of([100 + 0.05 * i + source.gauss(0, 0.1) for i in range(160)], 16)
    low, high = interval(estimate_median(repetitions, apart=True))
    assert low < 101
    assert high > 107


def test_equal_samples_have_an_interval_without_width() -> None:
    estimate = estimate_median([[7.0] * 5] * 6)
    assert (estimate.value, *interval(estimate), estimate.correlation) == (7.0, 7.0, 7.0, 0.0)
    assert estimate.effective_n == 30


def test_a_smaller_error_widens_the_interval() -> None:
    repetitions = repetitions_of(normal(random.Random(4), 160), 16)
    look, report = estimate_median(repetitions, 0.01), estimate_median(repetitions, 0.05)
    assert look.relative_half_width > report.relative_half_width


def test_a_long_drifting_series_is_estimated_in_reasonable_time() -> None:
    assert estimate_median([[float(i) for i in range(20_000)]]).no_interval == "autocorrelated"


def test_the_relative_half_width_of_a_median_of_zero_is_infinite() -> None:
    assert math.isinf(estimate_median([[0.0] * 3] * 6).relative_half_width)


def test_a_type_b_share_widens_both_sides() -> None:
    widened = estimate_median([[7.0] * 3] * 6).widened(0.001)
    assert (widened.value, widened.low, widened.high) == pytest.approx((7.0, 6.993, 7.007))


def test_repetitions_on_the_same_pages_are_one_for_the_scatter_between_pages() -> None:
    source = random.Random(8)
    levels = [source.gauss(100, 1) for _ in range(6)]
    pages = source.sample([*range(6)] * 4, 24)
    repetitions = [normal(source, 20, levels[one]) for one in pages]
    alone = estimate_median(repetitions, apart=True)
    shared = estimate_median(repetitions, apart=True, pages=pages)
    assert alone.value == shared.value
    assert shared.relative_half_width > 1.3 * alone.relative_half_width
    assert estimate_median(repetitions, apart=True, pages=[7] * 24) == alone, "one set says nothing"


def test_two_repetitions_that_differ_have_a_wide_interval_and_one_does_not_count() -> None:
    alike = [[99.0 + 0.01 * number for number in range(10)], [101.0] * 10]
    low, high = interval(estimate_median(alike, apart=True))
    # The medians' logarithms differ by 0.0195; Student's t of one degree of freedom is 12.7.
    assert math.log(high / low) / 2 == pytest.approx(12.706 * 0.0195 / 2, rel=0.02)
    short = [[100.0] * 50, [101.0]]
    assert estimate_median(short, apart=True).no_interval == "few-repetitions"


def test_quantised_samples_have_neighbouring_steps_as_their_interval() -> None:
    source = random.Random(9)
    repetitions = [[float(round(source.gauss(100.3, 0.7))) for _ in range(10)] for _ in range(8)]
    low, high = interval(estimate_median(repetitions, apart=True))
    assert low <= 100 <= high <= 101


def test_a_correlation_that_is_likely_widens_the_interval() -> None:
    source = random.Random(10)
    slow = autoregressive(source, 16, 0.8, 2.0)
    repetitions = [[source.gauss(level, 0.1) for _ in range(10)] for level in slow]
    low, high = sorted(repetitions)[:8], sorted(repetitions)[8:]
    alternating = [one for pair in zip(low, high, strict=True) for one in pair]
    found, other = (estimate_median(one, apart=True) for one in (repetitions, alternating))
    assert found.correlation > 0.7
    assert other.correlation == 0
    assert found.relative_half_width > 1.2 * other.relative_half_width
