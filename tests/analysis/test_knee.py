"""Where more threads stop to help: exactly, and where intervals overlap."""

import random

import pytest
from tests import synthetic

from tierscope.analysis.knee import Knee, half_size, knee, knee_of

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


def test_a_figure_that_should_have_an_interval_and_has_none_may_be_anything() -> None:
    maker = synthetic.Maker(noise=0.001)
    counts = [
        maker.make("bandwidth", "node:0", "node:0", {"threads": threads}, value, "B/s")
        for threads, value in {1: 10e9, 2: 20e9, 4: 30e9, 8: 30e9}.items()
    ]
    assert knee_of(counts) == Knee(4, 4)
    unknown = synthetic.changed(counts[0], ci_low=None, ci_high=None, no_interval="disturbed")
    assert knee_of([unknown, *counts[1:]]) == Knee(1, 8)
    others = [synthetic.changed(m, ci_low=None, ci_high=None, no_interval="imported")
              for m in counts]  # fmt: skip
    assert knee_of(others) == Knee(4, 4)


def test_half_the_rate_is_reached_from_a_size_on_and_not_once_by_chance() -> None:
    steady = [(1024.0, 1.0), (2048.0, 2.0), (4096.0, 6.0), (8192.0, 10.0)]
    found = half_size(steady)
    assert found is not None
    assert 2048 < found.size < 4096
    spiked = half_size([(512.0, 0.5), (768.0, 7.0), *steady])
    assert spiked is not None
    assert spiked.size == found.size


@pytest.mark.parametrize(
    ("rates", "known"),
    [([1, 2, 4, 8], True), ([0, 2, 4, 8], False), ([1, 0, 4, 8], True), ([2, 4, 8], False)],
)
def test_half_a_bandwidth_takes_four_sizes_of_which_the_smallest_moves_something(
    rates: list[float], known: bool
) -> None:
    points = [(float(4096 << step), float(rate)) for step, rate in enumerate(rates)]
    found = half_size(points)
    assert (found is not None) is known
    if found:
        assert (found.peak, found.size, found.least_s) == (8, 4096 << 2, 4096)
