"""What is said of a curve is not its noise: simulated lines, hockey sticks and loads.

Each share has a tolerance of three standard errors of its simulation.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from statistics import median

import pytest
from curve_simulation import (
    COUNTS,
    LINES,
    NOISES,
    PEAK,
    STICKS,
    Load,
    Noise,
    Shape,
    loaded,
    summaries,
)
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.curve import Point, latency_spans, rising, summarize

HONEST = NOISES["honest intervals"]
NONE = NOISES["no intervals"]


def allowed(share: float, times: int) -> float:
    return 3 * (share * (1 - share) / times) ** 0.5


def check_lines(shape: Shape, count: int, noise: Noise, times: int, seed: int) -> None:
    found = summaries(shape, count, noise, times, seed)
    assert sum(s.knee is not None for s in found) / times <= 0.05 + allowed(0.05, times)


def check_sticks(shape: Shape, count: int, noise: Noise, times: int, seed: int) -> None:
    found = summaries(shape, count, noise, times, seed)
    assert sum(s.knee is not None for s in found) / times >= 0.95 - allowed(0.95, times)
    assert all(s.knee is None or s.knee.latency >= s.idle for s in found)


@pytest.mark.parametrize(("shape", "count"), list(product(LINES, COUNTS)))
@pytest.mark.parametrize("noise", [HONEST, NONE], ids=["intervals", "none"])
def test_straight_lines_have_no_knee(shape: Shape, count: int, noise: Noise) -> None:
    check_lines(shape, count, noise, 60, 13)


@pytest.mark.parametrize(("shape", "count"), list(product(STICKS, (8, 20))))
def test_hockey_sticks_have_one(shape: Shape, count: int) -> None:
    check_sticks(shape, count, HONEST, 30, 13)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("noise", [HONEST, NONE], ids=["intervals", "none"])
def test_knees_at_length(noise: Noise, count: int, seed: int) -> None:
    for shape in LINES:
        check_lines(shape, count, noise, 1000, seed)
    for shape in STICKS:
        check_sticks(shape, count, noise, 1000, seed)


def test_controls_that_differ_by_more_than_the_intervals_widen_them() -> None:
    """Intervals of a third of what they should be: a third fewer knees than a single control's."""
    short = NOISES["intervals of a third"]
    blind = Noise(told=short.told, controls=1)

    def found(noise: Noise) -> int:
        return sum(s.knee is not None for s in summaries(Shape(slope=1.0), 12, noise, 150, 13))

    assert 3 * found(short) <= 2 * found(blind)


def test_a_knee_lies_where_the_stick_bends() -> None:
    knees = [s.knee for s in summaries(Shape(knee=0.7, rise=4.0), 20, HONEST, 50, 13)]
    assert 0.65 < median(knee.bandwidth / PEAK for knee in knees if knee) < 0.75


@pytest.mark.parametrize("load", [Load(1), Load(1, hidden=True), Load(4), Load(6, hidden=True)])
def test_threads_at_their_own_end_do_not_saturate_a_path(load: Load) -> None:
    found = loaded(load, HONEST, 100, 13)
    assert sum(s.saturated for s in found) / 100 <= 0.05 + allowed(0.05, 100)
    assert not any(s.doubled for s in found)


@pytest.mark.parametrize("load", [Load(16), Load(16, hidden=True), Load(32), Load(128)])
def test_a_full_path_is_saturated_and_has_doubled(load: Load) -> None:
    found = loaded(load, HONEST, 100, 13)
    assert sum(s.saturated for s in found) / 100 >= 0.95 - allowed(0.95, 100)
    assert sum(s.doubled is not None for s in found) / 100 >= 0.95 - allowed(0.95, 100)


def test_a_load_that_is_hardly_lighter_proves_no_saturation() -> None:
    """Within 1% of the highest bandwidth, since it offered but 1% less."""
    points = [
        Point(8000, 0.1e9, 100.0, 1e5, 0.1),
        Point(1, 9.9e9, 108.0, 1e7, 0.1),
        Point(0, 10e9, 110.0, 1e7, 0.1),
    ]
    assert not summarize(points, [100.0]).saturated


@pytest.mark.parametrize(
    ("slope", "doubles"), [(0.0, False), (0.9, False), (1.0, False), (2.0, True)]
)
def test_latency_doubles_only_beyond_the_intervals(slope: float, doubles: bool) -> None:
    for count in COUNTS:
        found = summaries(Shape(slope=slope), count, HONEST, 100, 13)
        said = sum(s.doubled is not None for s in found) / 100
        assert said >= 0.95 if doubles else said <= 0.05


def test_a_point_without_an_interval_has_the_widest() -> None:
    wide = [Point(9 - i, (i + 1) * 1e9, 100.0 + (i == 8) * 110, 1e7, 40.0) for i in range(9)]
    assert summarize(wide, [100.0]).doubled is None
    open_ended = [*wide[:8], Point(1, 9e9, 210.0)]
    assert summarize(open_ended, [100.0]).doubled is None


def test_a_slow_point_under_a_light_load_is_no_saturation() -> None:
    """What a virtual machine's neighbour does to one point, whose interval does not show it."""
    rates = [(0.09e9, 5700.0), (2e9, 120.0), (10e9, 130.0), (14e9, 180.0), (16e9, 400.0)]
    points = [Point(9 - i, rate, latency, 1e6, 5.0) for i, (rate, latency) in enumerate(rates)]
    found = summarize(points, [100.0])
    assert (found.knee, found.doubled, found.saturated) == (None, None, False)
    assert found.doubt == "latency falls although the load rises"
    assert rising(points) == points[1:]
    clean = summarize(rising(points), [100.0])
    assert clean.doubt == ""
    assert clean.doubled == pytest.approx(14e9 + 2e9 * 20 / 220)


def test_nothing_is_said_of_the_shape_of_a_disturbed_curve() -> None:
    points = [Point(9 - i, (i + 1) * 1e9, 100.0 * 2**i, 1e6, 1.0) for i in range(5)]
    assert summarize(points, [100.0]).doubled is not None
    disturbed = summarize([*points[:4], replace(points[4], disturbed=True)], [100.0])
    assert (disturbed.knee, disturbed.doubled) == (None, None)


def test_twice_the_idle_latency_has_to_be_measured_on_both_sides() -> None:
    points = [Point(9 - i, (i + 1) * 1e9, 300.0 + i, 1e6, 1.0) for i in range(5)]
    assert summarize(points, [100.0]).doubled is None


@given(st.lists(st.tuples(st.floats(1, 1e4), st.none() | st.floats(0, 100)), max_size=6))
def test_points_that_rise_together_are_as_many_as_can(
    raw: list[tuple[float, float | None]],
) -> None:
    points = [Point(99 - i, 1e9, latency, None, half) for i, (latency, half) in enumerate(raw)]
    spans = {point: (low, high) for point, low, high in latency_spans(points)}

    def fits(chosen: Sequence[Point]) -> bool:
        return all(spans[b][1] >= spans[a][0] for a, b in combinations(chosen, 2))

    found = rising(points)
    assert fits(found)
    assert not any(map(fits, combinations(points, len(found) + 1)))


def test_flat_curves_seldom_fall() -> None:
    found = summaries(Shape(slope=0.0), 20, HONEST, 200, 13)
    assert sum(s.doubt != "" for s in found) / 200 <= 0.05 + allowed(0.05, 200)
