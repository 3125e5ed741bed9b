"""Metrics of a family of bandwidth-latency curves, as the Mess benchmark defines them.

Esmaili-Dokht et al., "A Mess of Memory System Benchmarking, Simulation and Application Profiling",
MICRO 2024, section II-C. A family has a curve for each share of reads in the traffic. Of each curve
and of all together it names the unloaded latency, the maximum latency, and the saturated range:
from the bandwidth at which latency is twice the unloaded one to the maximum bandwidth.

Intervals are made of the points' own, so that a metric's holds the true metric wherever the points'
hold the true points, of which a curve is straight between neighbours:

- The unloaded latency is that of the idle control in the middle; its interval goes from the lowest
  end of all controls' intervals to the highest, and so holds what changed meanwhile.
- A maximum is the highest figure of any point; its interval goes from the highest lower end to the
  highest upper end.
- The bandwidth from which on latency is at least doubled is interpolated between the points around
  it. Its interval goes from where a curve through the points' upper latencies and lower bandwidths
  reaches twice the lower end of the unloaded latency and stays there, to where the opposite curve
  reaches twice its upper end. Where that curve never does, it goes up to the end of the maximum
  bandwidth's. (Where bandwidth falls before latency doubles, this is not a bound.)

A metric has no interval where the figures that it is made of have none: all controls, the highest
figure, a latency on either side of the doubling. Other points without one count by their estimate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.model.metric import Unit
from tierscope.model.run import Figure, Measurement

Figured = Figure | Measurement
"""A value with an estimate and, mostly, an interval."""
_Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class CurveMetrics:
    """The metrics of one curve."""

    unloaded: Figure
    """ns"""
    maximum_latency: Figure
    """ns"""
    saturated_from: Figure | None
    """bytes/s, from which on latency is at least twice the unloaded one; None where it never is."""
    maximum_bandwidth: Figure
    """bytes/s"""

    def figures(self) -> list[Figure]:
        """All of them, those that there are."""
        found = (self.unloaded, self.maximum_latency, self.saturated_from, self.maximum_bandwidth)
        return [figure for figure in found if figure is not None]


@dataclass(frozen=True)
class FamilyMetrics:
    """The lowest and the highest figure of a family's curves, each with its curve's interval."""

    unloaded: tuple[Figure, Figure]
    maximum_latency: tuple[Figure, Figure]
    saturated_from: tuple[Figure, Figure] | None
    """Range over the curves on which latency doubles; None where there is none."""
    maximum_bandwidth: tuple[Figure, Figure]


@dataclass(frozen=True)
class _Range:
    """A figure's interval; both ends are its estimate where it has none."""

    value: float
    low: float
    high: float
    known: bool
    cause: str | None = None
    """Why it has no interval."""

    @classmethod
    def of(cls, figure: Figured) -> "_Range":
        value = figure.estimate or 0.0
        if figure.ci_low is None or figure.ci_high is None:
            return cls(value, value, value, known=False, cause=figure.no_interval)
        return cls(value, figure.ci_low, figure.ci_high, known=True)


def curve_metrics(
    points: Sequence[tuple[Figured, Figured]],
    controls: Sequence[Figured],
    idle: float,
    doubled: float | None,
) -> CurveMetrics:
    """Return the metrics of a curve.

    ``points`` are bandwidth (bytes/s) and latency (ns) of at least one, from the lightest load to
    the heaviest. ``controls`` are idle latencies, ``idle`` the one that counts, ``doubled`` the
    bandwidth of twice that latency, beyond the points' noise, as ``curve.summarize`` finds them.
    """
    bandwidths = [_Range.of(bandwidth) for bandwidth, _ in points]
    latencies = [_Range.of(latency) for _, latency in points]
    unloaded = _unloaded([_Range.of(c) for c in controls] or latencies[:1], idle)
    return CurveMetrics(
        unloaded=_figure("unloaded_latency", "ns", unloaded),
        maximum_latency=_figure("maximum_latency", "ns", _highest(latencies)),
        saturated_from=None
        if doubled is None
        else _figure("saturated_from", "B/s", _doubled(bandwidths, latencies, unloaded, doubled)),
        maximum_bandwidth=_figure("maximum_bandwidth", "B/s", _highest(bandwidths)),
    )


def family_metrics(curves: Sequence[CurveMetrics]) -> FamilyMetrics:
    """Return the metrics of a family of at least one curve."""
    saturated = [c.saturated_from for c in curves if c.saturated_from]
    return FamilyMetrics(
        unloaded=_span([c.unloaded for c in curves]),
        maximum_latency=_span([c.maximum_latency for c in curves]),
        saturated_from=_span(saturated) if saturated else None,
        maximum_bandwidth=_span([c.maximum_bandwidth for c in curves]),
    )


def _span(found: Sequence[Figure]) -> tuple[Figure, Figure]:
    by_estimate = sorted(found, key=lambda figure: figure.estimate)
    return by_estimate[0], by_estimate[-1]


def _unloaded(controls: Sequence[_Range], idle: float) -> _Range:
    known = [control for control in controls if control.known]
    if not known:
        return _Range(idle, idle, idle, known=False, cause=controls[0].cause)
    low, high = min(one.low for one in known), max(one.high for one in known)
    return _Range(idle, min(low, idle), max(high, idle), known=True)


def _highest(found: Sequence[_Range]) -> _Range:
    best = max(found, key=lambda one: one.value)
    low, high = max(one.low for one in found), max(one.high for one in found)
    return _Range(best.value, min(low, best.value), high, best.known, best.cause)


def _doubled(
    bandwidths: Sequence[_Range], latencies: Sequence[_Range], unloaded: _Range, value: float
) -> _Range:
    above = [(0.0, unloaded.low), *((b.low, one.high) for b, one in _both(bandwidths, latencies))]
    below = [(0.0, unloaded.high), *((b.high, one.low) for b, one in _both(bandwidths, latencies))]
    curve = [
        (0.0, unloaded.value),
        *((b.value, one.value) for b, one in _both(bandwidths, latencies)),
    ]
    low = _crossing(above, 2 * unloaded.low)
    high = _crossing(below, 2 * unloaded.high)
    if high is None:
        high = max(one.high for one in bandwidths)
    at = _segment(curve, 2 * unloaded.value) or 0
    unknown = [one for one in [unloaded, *latencies][at : at + 2] if not one.known]
    cause = unknown[0].cause if unknown else None
    return _Range(
        value, min(value, value if low is None else low), max(value, high), not unknown, cause
    )


def _both(
    bandwidths: Sequence[_Range], latencies: Sequence[_Range]
) -> Iterator[tuple[_Range, _Range]]:
    return zip(bandwidths, latencies, strict=True)


def _segment(curve: _Curve, latency: float) -> int | None:
    """Return the number of the last point below a latency; None: it is the end of the curve."""
    last = max(number for number, (_, value) in enumerate(curve) if value < latency)
    return last if last + 1 < len(curve) else None


def _crossing(curve: _Curve, latency: float) -> float | None:
    """Return the bandwidth from which on a curve stays at a latency or above; None: it ends below.

    ``curve`` begins below it.
    """
    at = _segment(curve, latency)
    if at is None:
        return None
    (bandwidth, before), (further, after) = curve[at], curve[at + 1]
    return bandwidth + (further - bandwidth) * (latency - before) / (after - before)


def _figure(metric: str, unit: Unit, found: _Range) -> Figure:
    return Figure(
        metric=metric,
        unit=unit,
        estimate=found.value,
        ci_low=found.low if found.known else None,
        ci_high=found.high if found.known else None,
        no_interval=found.cause,
    )
