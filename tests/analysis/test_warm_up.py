"""Warm-up is found by what all repetitions have in common."""

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.warm_up import WarmUp, warm_up
from tierscope.model.event import Column, Series

PRECISION = 0.01


def series(values: Sequence[float | None], disturbed: Sequence[int] = ()) -> Series:
    return Series(
        name="windows",
        starts=[0.01 * number for number in range(len(values))],
        durations=[0.01] * len(values),
        lost=[0.5 * (number in disturbed) for number in range(len(values))],
        columns=[Column(metric="bandwidth", values=list(values))],
    )


def made(
    level: Callable[[int], float], repetitions: int = 8, samples: int = 20, deviation: float = 0.2
) -> list[Series]:
    source = random.Random(5)
    return [
        series([level(number) + source.gauss(0, deviation) for number in range(samples)])
        for _ in range(repetitions)
    ]


@pytest.mark.parametrize(("cold", "samples"), [(0, 0), (1, 2), (3, 4), (7, 10)])
def test_what_a_step_shows_and_a_third_more_is_the_warm_up(cold: int, samples: int) -> None:
    found = warm_up(made(lambda number: 90.0 if number < cold else 100.0), PRECISION)
    assert (found.samples, found.settled, found.too_short) == (samples, True, False)
    assert found.trend < PRECISION
    assert found.drift == 0


def test_a_ramp_that_one_repetition_hides_is_found_by_many() -> None:
    ramp = made(lambda number: 98.0 + 0.4 * min(number, 5), repetitions=40, deviation=1.0)
    assert warm_up(ramp, PRECISION).samples in (6, 7)


def test_repetitions_that_warm_up_until_their_end_are_too_short_and_never_settle() -> None:
    found = warm_up(made(lambda number: 90.0 + number), PRECISION)
    assert (found.samples, found.settled, found.too_short) == (13, False, True)


def test_longer_repetitions_of_the_same_ramp_are_not() -> None:
    found = warm_up(made(lambda number: 90.0 + min(number, 10), samples=40), PRECISION)
    assert (found.samples, found.settled, found.too_short) == (13, True, False)


def test_a_small_change_is_told_in_its_direction() -> None:
    found = warm_up(made(lambda number: 100 + 0.1 * number), PRECISION)
    assert found.settled
    assert found.drift == pytest.approx(0.005, abs=0.003)
    falling = warm_up(made(lambda number: 100 - 0.1 * number), PRECISION)
    assert falling.drift == pytest.approx(-0.005, abs=0.003)


def test_what_differs_between_repetitions_is_no_change() -> None:
    source = random.Random(6)
    slopes = [source.gauss(0, 0.2) for _ in range(8)]
    found = warm_up([series([100 + slope * n for n in range(20)]) for slope in slopes], PRECISION)
    assert found.drift == 0


def test_of_few_repetitions_a_fifth_is_warm_up_at_most() -> None:
    assert warm_up(made(lambda number: 90.0 + number, repetitions=3), PRECISION).samples == 6


def test_disturbed_samples_are_no_warm_up() -> None:
    beside = [
        series([50.0, 60.0, *one.columns[0].values[2:]], disturbed=[0, 1])
        for one in made(lambda _: 100.0)
    ]
    assert warm_up(beside, PRECISION).samples <= 2, "at most those that are left out anyhow"


@given(
    st.lists(
        st.lists(st.none() | st.floats(0, 1e12), min_size=1, max_size=9), min_size=1, max_size=9
    ),
    st.floats(0.001, 0.5),
)
def test_any_samples_have_a_warm_up_of_two_thirds_of_them_at_most(
    values: list[list[float | None]], precision: float
) -> None:
    found = warm_up([series(one) for one in values], precision)
    assert isinstance(found, WarmUp)
    assert 0 <= found.samples <= max(map(len, values)) * 2 / 3 + 1
