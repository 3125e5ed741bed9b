"""The metrics of curves: what their intervals hold, and where they have none."""

import random
from dataclasses import dataclass
from itertools import pairwise

from curve_simulation import IDLE, PEAK, Shape
from hypothesis import given
from hypothesis import strategies as st

from tierscope.analysis.bandwidth_latency import CurveMetrics, curve_metrics, family_metrics
from tierscope.analysis.curve import Point, summarize
from tierscope.model.run import Figure

SHARES = st.floats(0.0, 1.0)


def figure(estimate: float, low: float | None = None, high: float | None = None) -> Figure:
    return Figure(metric="latency", unit="ns", estimate=estimate, ci_low=low, ci_high=high)


def exact(points: list[tuple[float, float]], idle: float) -> CurveMetrics:
    """The metrics of points without noise."""
    doubled = None
    curve = [(0.0, idle), *points]
    for (before, low), (after, high) in pairwise(curve):
        if low < 2 * idle <= high:
            doubled = before + (after - before) * (2 * idle - low) / (high - low)
        elif high < 2 * idle:
            doubled = None
    pairs = [(figure(bandwidth), figure(latency)) for bandwidth, latency in points]
    return curve_metrics(pairs, [figure(idle)], idle, doubled)


@dataclass(frozen=True)
class Measured:
    """A truth, and figures whose intervals hold it."""

    truth: CurveMetrics
    found: CurveMetrics


def around(value: float, width: float, below: float, at: float) -> Figure:
    """A figure whose interval, so wide, holds a value; where in it both stand is told as shares."""
    low, high = value - below * width, value + (1 - below) * width
    return figure(low + at * (high - low), low, high)


@st.composite
def measured(draw: st.DrawFn) -> Measured:
    steps = draw(st.lists(st.floats(0.1, 10), min_size=1, max_size=8))
    points, bandwidth = [], 0.0
    for step in steps:
        bandwidth += step
        points.append((bandwidth, draw(st.floats(60, 600))))
    idle = draw(st.floats(80, 120))

    def seen(value: float) -> Figure:
        return around(value, draw(st.floats(0, 0.2)) * value, draw(SHARES), draw(SHARES))

    pairs = [(seen(rate), seen(latency)) for rate, latency in points]
    controls = [seen(idle) for _ in range(draw(st.integers(1, 4)))]
    middle = sorted(one.estimate for one in controls)[len(controls) // 2]
    truth = exact(points, idle)
    at = draw(st.sampled_from([rate.estimate for rate, _ in pairs]))
    doubled = None if truth.saturated_from is None else at
    return Measured(truth, curve_metrics(pairs, controls, middle, doubled))


@given(measured())
def test_where_the_points_intervals_hold_the_truth_the_metrics_do(case: Measured) -> None:
    true = case.truth.figures()
    assert len(true) == len(case.found.figures())
    for truth, found in zip(true, case.found.figures(), strict=True):
        assert truth.metric == found.metric
        assert found.ci_low is not None
        assert found.ci_high is not None
        assert found.ci_low <= found.estimate <= found.ci_high
        slack = 1e-9 * truth.estimate
        assert found.ci_low - slack <= truth.estimate <= found.ci_high + slack, truth.metric


def test_saturation_begins_between_the_points_around_twice_the_unloaded_latency() -> None:
    pairs = [(figure(10, 9, 11), figure(100, 95, 105)), (figure(20, 19, 21), figure(300, 280, 320))]
    found = curve_metrics(pairs, [figure(100, 98, 102)], 100.0, 15.0)
    onset = found.saturated_from
    assert onset is not None
    # Through (9, 105) and (19, 320) to 196 ns; through (11, 95) and (21, 280) to 204 ns.
    assert onset.ci_low is not None
    assert onset.ci_high is not None
    assert abs(onset.ci_low - (9 + 10 * 91 / 215)) < 1e-9
    assert abs(onset.ci_high - (11 + 10 * 109 / 185)) < 1e-9
    assert (found.maximum_latency.ci_low, found.maximum_latency.ci_high) == (280, 320)
    assert (found.maximum_bandwidth.ci_low, found.maximum_bandwidth.ci_high) == (19, 21)


def test_a_curve_that_may_not_double_is_open_up_to_its_highest_bandwidth() -> None:
    pairs = [(figure(10, 9, 11), figure(205, 190, 220))]
    onset = curve_metrics(pairs, [figure(100, 98, 102)], 100.0, 9.5).saturated_from
    assert onset is not None
    assert onset.ci_high == 11


def test_controls_that_differ_widen_the_unloaded_latency() -> None:
    controls = [figure(100, 99, 101), figure(110, 108, 112), figure(104, 103, 105)]
    unloaded = curve_metrics([(figure(1), figure(120))], controls, 104.0, None).unloaded
    assert (unloaded.estimate, unloaded.ci_low, unloaded.ci_high) == (104, 99, 112)


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(50, 500)), min_size=1, max_size=6))
def test_points_without_intervals_give_metrics_without(points: list[tuple[float, float]]) -> None:
    pairs = [(figure(rate), figure(latency)) for rate, latency in points]
    for found in curve_metrics(pairs, [], points[0][1], points[0][0]).figures():
        assert found.ci_low is None
        assert found.ci_high is None


def test_a_metric_says_why_it_has_no_interval() -> None:
    unknown = figure(300).model_copy(update={"no_interval": "few-repetitions"})
    pairs = [(figure(10, 9, 11), figure(100, 95, 105)), (figure(20, 19, 21), unknown)]
    found = curve_metrics(pairs, [figure(100, 98, 102)], 100.0, 15.0)
    assert found.maximum_latency.no_interval == "few-repetitions"
    assert found.saturated_from is not None
    assert found.saturated_from.no_interval == "few-repetitions"
    assert found.unloaded.ci_low == 98
    assert found.maximum_bandwidth.ci_low == 19


def test_a_family_ranges_from_its_lowest_curve_to_its_highest() -> None:
    curves = [exact([(10, 150), (20, 400)], 100), exact([(12, 120), (18, 150)], 101)]
    found = family_metrics(curves)
    assert [one.estimate for one in found.unloaded] == [100, 101]
    assert [one.estimate for one in found.maximum_latency] == [150, 400]
    assert [one.estimate for one in found.maximum_bandwidth] == [18, 20]
    assert found.saturated_from is not None
    assert found.saturated_from[0] == found.saturated_from[1]
    assert family_metrics(curves[1:]).saturated_from is None


def test_noisy_curves_metrics_cover_the_true_ones() -> None:
    """Gaussian noise with honest 95% intervals: at least 95% of each metric's hold the truth."""
    shape, draw = Shape(slope=0.1, knee=0.7, rise=3.0), random.Random(7)
    uses = [0.1, 0.3, 0.5, 0.65, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]
    truth = exact([(use * PEAK, shape.latency(use)) for use in uses], IDLE)

    def seen(value: float, noise: float) -> Figure:
        estimate = value * (1 + draw.gauss(0, noise))
        return figure(estimate, estimate - 1.96 * noise * value, estimate + 1.96 * noise * value)

    times = 400
    held = dict.fromkeys((one.metric for one in truth.figures()), 0)
    for _ in range(times):
        pairs = [(seen(use * PEAK, 0.01), seen(shape.latency(use), 0.02)) for use in uses]
        controls = [seen(IDLE, 0.02) for _ in range(3)]
        points = [
            Point(
                20 * (9 - number),
                rate.estimate,
                latency.estimate,
                0.0196 * rate.estimate,
                0.0392 * latency.estimate,
            )
            for number, (rate, latency) in enumerate(pairs)
        ]
        summary = summarize(points, [one.estimate for one in controls])
        found = curve_metrics(pairs, controls, summary.idle, summary.doubled)
        for true, one in zip(truth.figures(), found.figures(), strict=True):
            assert one.ci_low is not None
            assert one.ci_high is not None
            held[true.metric] += one.ci_low <= true.estimate <= one.ci_high
    assert min(held.values()) >= 0.95 * times - 3 * (0.95 * 0.05 * times) ** 0.5, held
