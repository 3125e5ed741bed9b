"""The five-round rule of steady state."""

import random

from tierscope.analysis.time_series import ROUNDS, is_steady, steady_state


def test_equal_rounds_are_steady() -> None:
    assert is_steady([100.0] * ROUNDS)


def test_the_range_may_be_a_fifth_of_the_mean() -> None:
    assert is_steady([109.0, 91.0, 100.0, 91.0, 109.0])
    assert not is_steady([111.0, 89.0, 100.0, 89.0, 111.0])


def test_the_line_may_rise_by_a_tenth_of_the_mean() -> None:
    assert is_steady([96.0, 98.0, 100.0, 102.0, 104.0])
    assert not is_steady([94.0, 97.0, 100.0, 103.0, 106.0])


def test_a_drive_that_slows_down_is_steady_where_it_ends_to() -> None:
    falling = [1000.0 * 0.8**number for number in range(10)]
    found = steady_state([*falling, *[100.0] * 10], 60.0, 60.0)
    assert found is not None
    assert found.reached
    assert found.first == 5
    assert found.round_s == 120.0
    assert found.rounds == 10


def test_a_drive_that_keeps_slowing_down_is_not() -> None:
    found = steady_state([1000.0 * 0.8**number for number in range(40)], 0.02)
    assert found is not None
    assert not found.reached
    assert abs(found.round_s - 0.08) < 1e-9


def test_noise_of_a_percent_is_steady_from_the_first_round_on() -> None:
    chance = random.Random(1)
    found = steady_state([chance.gauss(100, 1) for _ in range(200)], 0.02)
    assert found is not None
    assert (found.reached, found.first) == (True, 0)


def test_fewer_rounds_than_five_say_nothing() -> None:
    assert steady_state([1.0] * 4, 0.02) is None
    assert steady_state([1.0] * 20, 0.02, round_s=1.0) is None
    assert not is_steady([0.0] * ROUNDS)
