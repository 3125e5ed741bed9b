"""Where more threads stop to help: exactly, and where intervals overlap."""

import random

import pytest

from tierscope.analysis.knee import Knee, knee

BANDWIDTHS = {1: 10.0, 2: 19.0, 4: 30.0, 8: 30.5, 16: 29.0}


def within(share: float, bandwidths: dict[int, float]) -> dict[int, tuple[float, float]]:
    return {
        threads: (value * (1 - share), value * (1 + share)) for threads, value in bandwidths.items()
    }


def test_the_knee_is_the_least_thread_count_near_the_best() -> None:
    assert knee(within(0.001, BANDWIDTHS)) == Knee(4, 4)
    assert str(knee(within(0.001, BANDWIDTHS))) == "4 thr."


def test_a_path_that_still_scales_has_its_knee_at_the_end() -> None:
    assert knee(within(0.01, {1: 10.0, 2: 20.0, 4: 40.0})) == Knee(4, 4)


def test_one_thread_count_is_its_own_knee() -> None:
    assert knee(within(0.2, {3: 7.0})) == Knee(3, 3)


def test_overlapping_intervals_leave_a_range() -> None:
    bandwidths = {1: 10.0, 2: 19.0, 4: 27.0, 8: 29.0, 16: 30.0}
    found = knee(within(0.03, bandwidths))
    assert found == Knee(4, 16)
    assert str(found) == "4–16 thr."


@pytest.mark.parametrize("level", [0.93, 0.95, 0.97, 0.99])
@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_the_range_holds_the_true_knee(level: float, noise: float) -> None:
    """Saturated paths whose fourth count is just below or above 95% of the best."""
    true = {1: 25.0, 2: 50.0, 4: 100 * level, 8: 100.0, 16: 100.0, 32: 99.0}
    wanted = knee(within(0.0, true)).first
    draw = random.Random(f"{level} {noise}")
    holds = 0
    for _ in range(500):
        seen = {t: value * (1 + draw.gauss(0, noise)) for t, value in true.items()}
        found = knee(within(1.96 * noise, seen))
        holds += found.first <= wanted <= found.last
    assert holds >= 0.95 * 500
