"""Bounds of the estimator: how few samples are too few, and what equals the median."""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist

import pytest

from tierscope.analysis.estimate import (
    Estimate,
    autocorrelation_time,
    estimate_median,
    joined,
    parts_of,
    scatter,
    student_quantile,
    student_within,
    too_few,
)


@pytest.mark.parametrize(
    ("sizes", "few"),
    [([3, 2], True), ([3, 3], False), ([1] * 5, True), ([1] * 6, False), ([11], True),
     ([12], False), ([6], True), ([5, 1], False)],
)  # fmt: skip
def test_six_samples_are_enough_and_twice_as_many_of_one_repetition(
    sizes: Sequence[int], few: bool
) -> None:
    source = random.Random(1)
    repetitions = [[source.gauss(100, 1) for _ in range(size)] for size in sizes]
    assert too_few(repetitions) is few
    found = estimate_median(repetitions, apart=True)
    assert (found.no_interval == "few-samples") is few


def test_samples_that_equal_the_median_are_on_neither_side() -> None:
    """Three of four samples are the median, in each repetition alike: repetitions differ in
    nothing, so that they are not correlated, though all of them lie on one side."""
    for values in ([1.0, 1.0, 1.0, 2.0], [2.0, 2.0, 2.0, 1.0]):
        found = estimate_median([values] * 8, apart=True)
        assert found.correlation == 0
        assert found.no_interval is None
        assert found.value == values[0]


@pytest.mark.parametrize("error", [0.05, 0.001])
def test_the_interval_is_never_narrower_than_that_of_independent_samples(error: float) -> None:
    """100 repetitions of the same ten samples scatter in nothing: 1.96 / sqrt(4 x 1000) = 0.031 of
    the ranks on either side, so the 470th of 1000 from either end."""
    repetitions = [[sample / 100 for sample in range(10)]] * 100
    found = estimate_median(repetitions, error, apart=True)
    ordered = sorted(sample for own in repetitions for sample in own)
    cut = int(1000 * (0.5 - NormalDist().inv_cdf(1 - error / 2) / math.sqrt(4 * 1000)))
    assert (found.low, found.high) == (ordered[cut], ordered[-1 - cut])


def test_one_repetition_is_cut_into_eight_parts_of_two_samples_at_least() -> None:
    assert [len(part) for part in parts_of([[*range(80)]])] == [10] * 8
    assert [len(part) for part in parts_of([[*range(12)]])] == [2] * 6
    assert [len(part) for part in parts_of([[*range(13)]])] == [2, 2, 2, 2, 2, 3]
    assert [*parts_of([[1], [2, 3]])] == [[1], [2, 3]]
    assert [one for part in parts_of([[*range(19)]]) for one in part] == [*range(19)]


def test_parts_on_the_same_pages_are_joined_where_there_are_several_and_fewer() -> None:
    parts = [[1], [2], [3], [4]]
    assert joined(parts, [0, 1, 0, 1]) == [[1, 3], [2, 4]]
    for sets in ([0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 0], []):
        assert joined(parts, sets) == parts


def test_the_variance_of_a_sum_is_that_of_its_repetitions() -> None:
    """Four scores of the same size, by hand: their squares about the mean, over three, four times;
    Student's t of three degrees."""
    scores = [1.0, -2.0, 3.0, -2.0]
    found = scatter(scores, [10.0] * 4, [[0.0, 1.0, 0.5]] * 4, True, [])
    assert found.correlation == 0
    assert found.ways == [(pytest.approx(4 * 18 / 3), 3)]
    assert found.bound(0.05) == pytest.approx(3.1824 * math.sqrt(24), rel=1e-4)
    assert found.units == pytest.approx(4)


def test_a_mean_for_so_many_samples_is_taken_out() -> None:
    """Of 6 samples the mean is 4 / 6: what is left is 7/3, -10/3 and 1."""
    found = scatter([3.0, -2.0, 3.0], [1.0, 2.0, 3.0], [[0.0]] * 3, True, [])
    squares = (7 / 3) ** 2 + (10 / 3) ** 2 + 1
    assert found.ways == [(pytest.approx(3 * squares / 2), 2)]
    assert found.units == pytest.approx(36 / 14), "Kish: (1 + 2 + 3)^2 / (1 + 4 + 9)"


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30])
def test_quantile_and_probability_are_each_others_inverse(freedom: int) -> None:
    for error in (0.5, 0.05, 1e-3):
        t = student_quantile(freedom, error)
        assert 1 - student_within(t, freedom) == pytest.approx(error, rel=1e-9)
    assert student_within(0.0, freedom) == pytest.approx(0, abs=1e-12)
    assert student_within(1.0, 1) == pytest.approx(0.5)


def test_the_time_of_autocorrelation_by_hand() -> None:
    """Above, above, below, below, ...: covariances of 1, 0, -1, 0, ...: the first pair is 1, the
    next one -1, so the time is 2 x 1 - 1."""
    series = [1.0, 1.0, -1.0, -1.0] * 50
    assert autocorrelation_time([series], 0.0) == pytest.approx(1, abs=0.05)
    assert autocorrelation_time([[1.0] * 8], 1.0) == 1
    slow = [1.0] * 20 + [-1.0] * 20
    assert 10 < autocorrelation_time([slow * 3], 0.0) <= 120
    assert autocorrelation_time([[1.0, -1.0] * 50], 0.0) == 1, "never less than one sample"


def test_an_interval_grows_and_never_shrinks() -> None:
    one = Estimate(10.0, 9.0, 12.0, 30.0, 0.25)
    assert one.covering(9.5, 11.0) == one
    assert one.covering(8.0, 13.0) == Estimate(10.0, 8.0, 13.0, 30.0, 0.25)
    assert one.widened(0.1) == Estimate(10.0, pytest.approx(8.1), pytest.approx(13.2), 30.0, 0.25)
    assert one.scaled(0.5, 2.0).low == 4.5
    assert one.scaled(0.5, 2.0).high == 24
    assert one.relative_half_width == pytest.approx(0.15)
    none = one.without("disturbed")
    assert none.low is None
    assert none.high is None
    assert (none.value, none.effective_n, none.correlation) == (10.0, 30.0, 0.25)
    assert none.covering(1.0, 2.0) == none
    assert math.isinf(none.relative_half_width)
