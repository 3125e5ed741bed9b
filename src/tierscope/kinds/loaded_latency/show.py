"""Latency under load as it is shown: curves, families of curves, curves over load threads."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rich.console import Console

from tierscope.analysis.bandwidth_latency import (
    CurveMetrics,
    FamilyMetrics,
    curve_metrics,
    family_metrics,
)
from tierscope.analysis.curve import Point, Summary, latency_spans, rising, summarize
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError, counted
from tierscope.model.path import Limit, Traffic, of_operation
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.grammar import parse_mix
from tierscope.report import figures
from tierscope.report.naming import path_name, path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    constants,
    distinct,
    groups_by,
    label_of,
    row_of,
    slug,
    value_of,
    varying,
)
from tierscope.report.style import note, title
from tierscope.report.summary import show_summaries
from tierscope.report.table import properties, show_notes, show_rows
from tierscope.report.view import Column, KeyFigure, Side, View
from tierscope.report.view import Summary as SideSummary

ENOUGH = 3
"""Undisturbed points with which a curve can do without its disturbed ones."""
_MIN_COUNTS = 2
"""Numbers of load threads that make a curve over them, none at all among them."""
_RATE = "bandwidth"
"""What the load moved, as the program counts it."""
_ON_BUS = "bandwidth_with_write_allocate"
"""The same with the lines that ordinary stores fetch, where those differ."""
_DELAYS = ("delay_ns", "inject")
"""What paces a load: our pause in ns, or another program's pause, in a unit of its own."""
_POINT = (*_DELAYS, "load_threads")
"""Properties that points of one curve differ in."""
_OF_LOAD = ("load_from", "load_to", "mix", "load_order", "load_access_size", "load_size", *_POINT)
"""Properties that make no difference while nothing loads."""
_FAMILY_ON_BUS = re.compile(r"(\d{1,3}):(\d{1,3}) bus")
_KIND = "loaded-latency"
_ISSUED = " issued"
"""Another program's mixes that are its own, as ours are."""
MANY = 3
"""Curves from which on a family has a picture of its own."""
_GB = 1e9
_NONE = "–"
_METRICS_OF_LOAD = (
    "load_order",
    "load_access_size",
    "load_size",
    "pages",
    "size",
    "stride",
    "order",
)
_METRICS = ["unloaded, ns", "maximum, ns", "saturated from, GB/s", "to, GB/s"]
_METHOD = (
    "bandwidth on the bus, lines that ordinary stores fetch included; saturated: from where "
    "latency is twice the unloaded one to the highest bandwidth"
)
DRIFT = 0.05
"""Spread of the idle controls from which on the machine has changed during a curve."""
_LOADS = {"100:0": "reads", "0:100": "writes", "0:100nt": "non-temporal writes"}
_KIND_OF_LOAD = ("mix", "load_order", "load_access_size")
ThreadCurve = list[Measurement]
_DOUBTS = {"unsettled": "did not settle", "disturbed": "was disturbed by other programs"}
_LABELLED = 10
"""Curves up to which each has its share of reads at its end."""
_NEAR = 0.01
_ROOM = 0.5
"""Share of the axis that a line of words takes."""
_SAID_APART = (*_POINT, "mix", "load_from", "load_to")
_SMALL = ("load_order", "load_access_size", "load_size", "stride")
_X: Spec = {"field": "x", "type": "quantitative", "title": "bandwidth on the bus, GB/s"}
_Y: Spec = {"field": "value", "type": "quantitative", "title": "latency, ns"}
_MARK: Spec = {"type": "point", "size": 30, "opacity": 1}
_PANEL = {"anchor": "start", "color": "role:ink", "fontSize": 13}
_SAME = ("load_from", "load_to", "load_order", "load_access_size", "load_size", "stride")
"""Said only where curves differ in it."""
_BANDWIDTH: Spec = {
    "field": "x",
    "type": "quantitative",
    "title": "bandwidth measured during the chase, GB/s",
    "scale": {"zero": True},
    "axis": {"tickCount": 6},
}
_LATENCY: Spec = {
    "field": "value",
    "type": "quantitative",
    "title": "latency, ns",
    "scale": {"zero": True},
    "axis": {"tickCount": 6},
}


def curves_of(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Group measurements by curve over bandwidth: all of a point but how hard it is loaded.

    Idle controls load nothing, so they belong to each curve that differs from them in nothing but
    its load's threads. Points that ``thread_curves`` has are left out.
    """
    swept = {m.id for members in thread_curves(measurements) for m in members if _is_loaded(m)}
    curves: dict[str, list[Measurement]] = {}
    controls: dict[str, list[Measurement]] = {}
    for m in measurements:
        key = same_but(m, _POINT)
        if not _is_loaded(m):
            controls.setdefault(key, []).append(m)
        elif m.id not in swept:
            curves.setdefault(same_but(m, _DELAYS), []).append(m)
    loaded = {same_but(m, _POINT) for m in measurements if _is_loaded(m)}
    found = [
        [*controls.get(same_but(points[0], _POINT), []), *points] for points in curves.values()
    ]
    return found + [members for key, members in controls.items() if key not in loaded]


def thread_curves(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Group measurements by curve over load threads: the idle ones, then those at full rate.

    Curves without an idle point of their own have that of another load of their chase. Threads that
    load at several rates are points of a curve over bandwidth and not of these.
    """
    groups: dict[str, dict[int, list[Measurement]]] = {}
    idle: dict[str, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(same_but(m, _POINT), {}).setdefault(load_threads(m), []).append(m)
        if not _is_loaded(m):
            idle.setdefault(same_but(m, _OF_LOAD), []).append(m)
    found = []
    for by_threads in groups.values():
        (first, *_) = next(iter(by_threads.values()))
        if shared := idle.get(same_but(first, _OF_LOAD)):
            by_threads.setdefault(0, shared)
        at_full_rate = [
            threads
            for threads, members in sorted(by_threads.items())
            if {delay_of(m) for m in members} == {0}
        ]
        counts = [0] * (0 in by_threads) + at_full_rate
        if at_full_rate and len(counts) >= _MIN_COUNTS:
            found.append([m for threads in counts for m in by_threads[threads]])
    return found


def load_threads(measurement: Measurement) -> int:
    """Return how many threads load at a point; 0 at an idle one, -1 where nobody knows."""
    return int(measurement.pattern.get("load_threads", -1)) if _is_loaded(measurement) else 0


def delay_of(measurement: Measurement) -> int | None:
    """Return how long the load pauses between accesses; None where nothing loads.

    In ns; in figures of other programs in a unit of theirs, or only in its order.
    """
    found = (measurement.pattern.get(key) for key in _DELAYS)
    delay = next((delay for delay in found if delay is not None), None)
    return None if delay is None else int(delay)


def _is_loaded(measurement: Measurement) -> bool:
    return delay_of(measurement) is not None


def by_load(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Order points from the lightest load to the heaviest; idle ones come first."""
    idle = [m for m in measurements if not _is_loaded(m)]
    loaded = [m for m in measurements if _is_loaded(m)]
    return idle + sorted(loaded, key=lambda m: -(delay_of(m) or 0))


def same_but(measurement: Measurement, without: Sequence[str]) -> str:
    """Return what measurements share that differ in nothing but these properties."""
    rest = sorted((key, v) for key, v in measurement.pattern.items() if key not in without)
    return f"{measurement.initiator} {measurement.target} {rest}"


def sound(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the loaded points of one curve that tell something, one for each delay.

    A second try takes the place of a disturbed first one; those that are still disturbed are left
    out where enough others remain.
    """
    chosen: dict[int, Measurement] = {}
    for measurement in measurements:
        delay = delay_of(measurement)
        if delay is None or measurement.estimate is None:
            continue
        if delay not in chosen or not is_disturbed(measurement):
            chosen[delay] = measurement
    undisturbed = [m for m in chosen.values() if not is_disturbed(m)]
    return undisturbed if len(undisturbed) >= ENOUGH else list(chosen.values())


def is_disturbed(measurement: Measurement) -> bool:
    """Return whether a figure comes from disturbed samples, for want of others."""
    return bool(measurement.evidence and measurement.evidence.disturbed)


def loaded_points(measurements: Sequence[Measurement], on_bus: bool = False) -> list[Point]:
    """Return the sound points among measurements of one curve.

    ``on_bus``: over all that the bus carries, and not over what the program counts.
    """
    points = []
    for measurement in sound(measurements):
        rate = bus_rate(measurement) if on_bus else figures.side_figure(measurement, _RATE)
        if rate and measurement.estimate is not None:
            points.append(
                Point(
                    delay_of(measurement) or 0,
                    rate.estimate,
                    measurement.estimate,
                    bandwidth_half=_half(rate),
                    latency_half=_half(measurement),
                    timed="inject" not in measurement.pattern,
                    disturbed=is_disturbed(measurement),
                )
            )
    return points


def summary_of_curve(members: Sequence[Measurement], on_bus: bool = False) -> Summary | None:
    """Return what one curve says; None where nothing of it was measured under load."""
    points = loaded_points(members, on_bus)
    return summarize(points, idle_latencies(members)) if points else None


def bus_rate(measurement: Measurement) -> Figure | None:
    """Return what the bus carried of the load, lines that ordinary stores fetch included."""
    return figures.side_figure(measurement, _ON_BUS) or figures.side_figure(measurement, _RATE)


def _half(figure: Measurement | Figure) -> float | None:
    """Return half of a figure's interval."""
    if figure.ci_low is None or figure.ci_high is None:
        return None
    return (figure.ci_high - figure.ci_low) / 2


def idle_latencies(measurements: Sequence[Measurement]) -> list[float]:
    """Return the latencies of a curve's idle controls, without disturbed ones if others remain."""
    return [m.estimate for m in idle_controls(measurements) if m.estimate is not None]


def idle_controls(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return a curve's idle controls, without disturbed ones if others remain."""
    controls = [m for m in measurements if not _is_loaded(m) and m.estimate is not None]
    return [m for m in controls if not is_disturbed(m)] or controls


def idle_of(measurements: Sequence[Measurement], summary: Summary) -> Measurement:
    """Return the measurement that a curve's idle latency is."""
    members = [*idle_controls(measurements), *sound(measurements)]
    return next(m for m in members if m.estimate == summary.idle)


def measured_at(measurements: Sequence[Measurement], point: Point) -> Measurement:
    """Return the measurement that a point of a curve's summary is."""
    return next(m for m in sound(measurements) if delay_of(m) == point.delay_ns)


@dataclass(frozen=True)
class Curve:
    """One curve of a family."""

    members: list[Measurement]
    """Idle controls and points, disturbed ones too."""
    traffic: Traffic
    """What the bus carries of the load for each byte that the program counts."""
    metrics: CurveMetrics

    @property
    def mix(self) -> str:
        """As the program asks for it: 67:33, 50:50nt."""
        return str(self.members[-1].pattern["mix"])

    @property
    def name(self) -> str:
        """Its reads on the bus: "75% reads"; "25% reads nt" by non-temporal stores."""
        stores = " nt" if self.mix.endswith("nt") else ""
        return f"{100 * self.traffic.read_share:.0f}% reads{stores}"

    @property
    def points(self) -> list[Measurement]:
        """Its sound points, from the lightest load to the heaviest."""
        return by_load(sound(self.members))

    @property
    def clean(self) -> list[Measurement]:
        """The idle controls and sound points that are not in doubt and whose latencies rise
        together, from the lightest load to the heaviest."""
        members = [*idle_controls(self.members), *self.points]
        members = [m for m in members if not figures.is_doubtful(m)]
        loaded = {point.delay_ns for point in rising(loaded_points(members, on_bus=True))}
        return [m for m in members if not _is_loaded(m) or delay_of(m) in loaded]


@dataclass(frozen=True)
class Family:
    """Curves that differ in nothing but the mix of their loads, most reads first."""

    curves: list[Curve]
    topology: Topology | None

    @property
    def first(self) -> Measurement:
        """One of its points, which stands for what all have in common."""
        return self.curves[0].members[-1]

    @property
    def members(self) -> list[Measurement]:
        """The measurements of all curves, each once: idle controls may be of several."""
        return list({m.id: m for curve in self.curves for m in curve.members}.values())

    @cached_property
    def metrics(self) -> FamilyMetrics:
        """Of all curves together."""
        return family_metrics([curve.metrics for curve in self.curves])

    def theoretical(self, curve: Curve) -> float | None:
        """bytes/s on the bus that the loaded path allows of a curve's traffic; None: unknown."""
        limit = self.limit(curve)
        return limit.value * curve.traffic.both if limit else None

    def limit(self, curve: Curve) -> Limit | None:
        """The limit of a curve's traffic on the loaded path, in the program's bytes."""
        if self.topology is None:
            return None
        load = curve.members[-1].pattern
        try:
            return MachinePaths(self.topology).limit(
                str(load["load_from"]), str(load["load_to"]), curve.traffic
            )
        except UserError:  # no endpoint of this machine, in a file of others' making
            return None

    @property
    def bound(self) -> str:
        """What to call the limit: stated where it comes from what the user states."""
        limits = (self.limit(curve) for curve in self.curves)
        return "stated" if any(limit.stated for limit in limits if limit) else "theoretical"


def families_of(measured: Sequence[Measurement], topology: Topology | None) -> list[Family]:
    """Group measurements by family; curves over load threads belong to none."""
    groups: dict[str, list[Curve]] = {}
    for members in curves_of(measured):
        if curve := _curve(members):
            key = same_but(members[-1], ("mix", "load_threads", "delay_ns", "inject"))
            groups.setdefault(key, []).append(curve)
    return [
        Family(sorted(curves, key=lambda one: -one.traffic.read_share), topology)
        for curves in groups.values()
    ]


def families_in(run: Run) -> list[Family]:
    """Return the families of a run."""
    measured = [m for m in run.measurements if m.kind == _KIND and m.estimate is not None]
    return families_of(measured, run.header.topology)


def _curve(members: list[Measurement]) -> Curve | None:
    """Return a curve with its metrics; None where nothing of it was measured under load."""
    summary = summary_of_curve(members, on_bus=True)
    traffic = traffic_of(members[-1])
    if summary is None or traffic is None:
        return None
    pairs = [(rate, m) for m in by_load(sound(members)) if (rate := bus_rate(m))]
    metrics = curve_metrics(pairs, idle_controls(members), summary.idle, summary.doubled)
    return Curve(members, traffic, metrics)


def traffic_of(measurement: Measurement) -> Traffic | None:
    """Return what a load moves; None of a mix that is none.

    All but non-temporal stores fetch their line first. Other programs' mixes may be those of the
    bus: "67:33 bus".
    """
    mix = str(measurement.pattern.get("mix"))
    if found := _FAMILY_ON_BUS.fullmatch(mix):
        reads, writes = int(found[1]), int(found[2])
        return of_operation(mix, reads, writes, fetches=False) if reads + writes else None
    try:
        writes, stores = parse_mix(mix.removesuffix(_ISSUED))
    except UserError:
        return None
    return of_operation(mix, 100 - writes, writes, fetches=stores != "nt")


def summaries(sides: Sequence[Side]) -> list[SideSummary]:
    """Return a table of each family's curves; before them one of all families, where several."""
    found = [(side, family) for side in sides for family in side_families(side)]
    each = [_of_family(side, family, len(sides) > 1) for side, family in found]
    return [_of_all(found, len(sides) > 1), *each] if len(found) > 1 else each


def side_families(side: Side) -> list[Family]:
    """Return the families of a run."""
    return families_of(side.measured, side.run.header.topology)


def family_name(family: Family) -> str:
    """Return a family's path, and what loads what where that is another one."""
    first = family.first
    pattern = first.pattern
    name = path_name(first)
    load = pattern.get("load_from"), pattern.get("load_to")
    if None not in load and load != (first.initiator, first.target):
        name += f", load {load[0]} → {load[1]}"
    return name


def _of_family(side: Side, family: Family, several: bool) -> SideSummary:
    limited = any(family.theoretical(curve) for curve in family.curves)
    rows = [_row(family, curve, limited) for curve in family.curves]
    if len(rows) > 1:
        rows.append(["all", "", *_ranges(family), *([_share_of_all(family)] if limited else [])])
    name = f"{side.name}: {family_name(family)}" if several else family_name(family)
    return SideSummary(
        f"{name}, metrics of the curves",
        ["on the bus", "mix", *_METRICS, *([f"of {family.bound}"] if limited else [])],
        rows,
        [_METHOD, *_missing(family)],
    )


def _row(family: Family, curve: Curve, limited: bool) -> list[str]:
    found = curve.metrics
    cells = [
        curve.name,
        curve.mix,
        _cell(found.unloaded, 1.0),
        _cell(found.maximum_latency, 1.0),
        _cell(found.saturated_from, _GB),
        _cell(found.maximum_bandwidth, _GB),
    ]
    return [*cells, _share(family, curve)] if limited else cells


def _cell(figure: Figure | None, factor: float) -> str:
    if figure is None:
        return _NONE
    known = figures.has_interval(figure)
    return figures.with_interval(figure, factor) if known else figures.plain(figure, factor)


def _ranges(family: Family) -> list[str]:
    """Return the range of each metric over all curves."""
    found = family.metrics
    return [
        _span(found.unloaded, 1.0),
        _span(found.maximum_latency, 1.0),
        _span(found.saturated_from, _GB),
        _span(found.maximum_bandwidth, _GB),
    ]


def _span(ends: tuple[Figure, Figure] | None, factor: float) -> str:
    if ends is None:
        return _NONE
    low, high = (figures.plain(end, factor) for end in ends)
    return low if low == high else f"{low}–{high}"


def _shares(family: Family, curve: Curve) -> tuple[float, float] | None:
    """Return where a curve's saturated range begins and ends, as shares of the theoretical rate."""
    limit = family.theoretical(curve)
    if not limit:
        return None
    last = curve.metrics.maximum_bandwidth
    return (curve.metrics.saturated_from or last).estimate / limit, last.estimate / limit


def _share(family: Family, curve: Curve) -> str:
    found = _shares(family, curve)
    return _percent(*found) if found else _NONE


def _share_of_all(family: Family) -> str:
    found = [shares for curve in family.curves if (shares := _shares(family, curve))]
    return _percent(min(low for low, _ in found), max(high for _, high in found))


def _percent(low: float, high: float) -> str:
    first, last = figures.share_text(low), figures.share_text(high)
    return last if first == last else f"{first.rstrip('%')}–{last}"


def _missing(family: Family) -> Iterator[str]:
    """Yield what a reader has to know of cells that lack something."""
    metrics = [curve.metrics for curve in family.curves]
    if not all(one.saturated_from for one in metrics):
        yield (
            f"{_NONE} latency does not rise from below twice the unloaded one to above it and stay "
            "there, beyond the intervals of a curve that other programs did not disturb"
        )
    disturbed = [one.name for one in family.curves if any(map(is_disturbed, one.points))]
    if disturbed:
        yield f"other programs disturbed points of {', '.join(disturbed)}: measure again"
    causes = [figure.no_interval for one in metrics for figure in one.figures()
              if not figures.has_interval(figure)]  # fmt: skip
    if causes:
        known = ", ".join(dict.fromkeys(cause.replace("-", " ") for cause in causes if cause))
        yield "~: no interval, since what it is made of has none" + (f" ({known})" if known else "")


def _of_all(found: Sequence[tuple[Side, Family]], several: bool) -> SideSummary:
    limited = any(family.theoretical(curve) for _, family in found for curve in family.curves)
    bounds = " or ".join(sorted({family.bound for _, family in found}))
    rows = []
    for side, family in found:
        known = any(family.theoretical(curve) for curve in family.curves)
        share = _share_of_all(family) if known else _NONE
        name = [side.name] if several else []
        rows.append([*name, family_name(family), str(len(family.curves)), *_ranges(family),
                     *([share] if limited else [])])  # fmt: skip
    return SideSummary(
        "Families of curves: the range of each metric over all mixes",
        [*(["run"] if several else []), "path", "curves", *_METRICS,
         *([f"of {bounds}"] if limited else [])],
        rows,
        [],
    )  # fmt: skip


def more(run: Run) -> dict[str, Any]:
    """Return what a run's JSON has of its curves: the metrics of each and of each family."""
    families = families_in(run)
    return {"bandwidth_latency": [_json(family) for family in families]} if families else {}


def _json(family: Family) -> dict[str, Any]:
    first = family.first
    found = family.metrics
    ends = {
        "unloaded_latency": found.unloaded,
        "maximum_latency": found.maximum_latency,
        "saturated_from": found.saturated_from,
        "maximum_bandwidth": found.maximum_bandwidth,
    }
    return {
        "initiator": first.initiator,
        "target": first.target,
        **{key: first.pattern[key] for key in ("load_from", "load_to", *_METRICS_OF_LOAD)
           if key in first.pattern},
        "curves": [
            {
                "mix": curve.mix,
                "bus_read_share": curve.traffic.read_share,
                "theoretical_bandwidth": family.theoretical(curve),
                "theoretical_source": limit.source if (limit := family.limit(curve)) else None,
                "measurements": [m.id for m in curve.members],
                "figures": [figure.model_dump(mode="json") for figure in curve.metrics.figures()],
            }
            for curve in family.curves
        ],
        "range": {name: [end.model_dump(mode="json") for end in pair] if pair else None
                  for name, pair in ends.items()},
    }  # fmt: skip


def rate_text(measurement: Measurement) -> str:
    """Return the bandwidth of a loaded point: "24.4 GB/s"."""
    rate = figures.side_figure(measurement, "bandwidth")
    return f"{figures.plain(rate, _GB)} GB/s" if rate else "idle"


def latency_text(measurement: Measurement) -> str:
    """Return the latency of a point: "145 ns"."""
    return f"{figures.plain(measurement, 1.0)} ns"


def curve_text(members: Sequence[Measurement], summary: Summary) -> str:
    """Return a curve's idle latency, knee and highest bandwidth in a line."""
    peak = measured_at(members, summary.peak)
    parts = [f"idle {latency_text(idle_of(members, summary))}"]
    if summary.knee:
        knee = measured_at(members, summary.knee)
        share = summary.knee.bandwidth / summary.peak.bandwidth
        parts.append(
            f"knee at {rate_text(knee)} ({share:.0%} of the highest), {latency_text(knee)}"
        )
    elif summary.peak.timed:
        why = summary.doubt or "latency does not bend upwards beyond the intervals"
        parts.append(f"no knee: {why}")
    name = "saturation" if summary.saturated else "highest reached"
    parts.append(f"{name} {rate_text(peak)}, {latency_text(peak)}")
    return "; ".join(parts)


def lines_of(members: Sequence[Measurement], summary: Summary) -> list[str]:
    """Return what to say below a curve's table."""
    lines = [curve_text(members, summary)]
    if not summary.saturated and not summary.doubt and summary.peak.timed:
        lines.append(
            "not saturated, as far as the intervals show: no lighter load moved as much with less "
            "latency; add CPUs with --load-from"
        )
    if summary.drift > DRIFT:
        lines.append(
            f"idle controls differ by {summary.drift:.0%}: the machine changed while this curve "
            "was measured"
        )
    return lines


def chase_text(pattern: Mapping[str, Any]) -> str:
    """Return what a chase goes through, as far as that is known: "1 GiB chase, thp pages"."""
    size, pages = pattern.get("size"), pattern.get("pages")
    parts = [f"{figures.size_text(int(size))} chase"] if size else []
    parts += ["within pages"] if pattern.get("order") == "page-random" else []
    return ", ".join([*parts, *([f"{pages} pages"] if pages else [])])


def load_of(measurement: Measurement) -> str:
    """Return the kind of load: "random reads"; the mix where it is one."""
    mix = str(measurement.pattern.get("mix", ""))
    what = _LOADS.get(mix, f"{mix} read:write")
    return f"{measurement.pattern.get('load_order', '')} {what}".strip()


def thread_words(curve: Sequence[Measurement]) -> str:
    """Return a curve's latency when idle and with most threads, and their ratio, in a line."""
    idle = [m for m in curve if load_threads(m) == 0 and m.estimate]
    last = curve[-1]
    end = f"{latency_text(last)} at {rate_text(last)} with {threads_text(load_threads(last))}"
    if not idle or not last.estimate or not idle[0].estimate:
        return end
    ratio = figures.significant(last.estimate / idle[0].estimate, 2)
    return f"{latency_text(idle[0])} idle, {end}: {ratio} times"


def threads_text(count: int) -> str:
    """Return "4 load threads"."""
    return counted(count, "load thread")


def key_figure(measured: list[Measurement]) -> KeyFigure | None:
    """Return the latency at the highest bandwidth of all curves."""
    if (found := _highest(measured)) is None:
        return _thread_figure(measured)
    members, best, _ = found
    peak = measured_at(members, best.peak)
    idle = latency_text(idle_of(members, best))
    return KeyFigure(
        "Loaded latency",
        figures.plain(peak, 1.0),
        "ns",
        f"{path_name(peak)} at {rate_text(peak)}; {idle} idle",
        is_disturbed(peak),
    )


def _highest(measured: list[Measurement]) -> tuple[list[Measurement], Summary, int] | None:
    """Return the curve that reaches the highest bandwidth, what it says, and how many there are."""
    found = [
        (members, summary)
        for members in curves_of(measured)
        if (summary := summary_of_curve(members))
    ]
    if not found:
        return None
    members, best = max(found, key=lambda curve: curve[1].peak.bandwidth)
    return members, best, len(found)


def _thread_figure(measured: list[Measurement]) -> KeyFigure | None:
    """Return the highest latency over load threads; None where none were swept."""
    if (curve := _slowest(measured)) is None:
        return None
    last = curve[-1]
    return KeyFigure(
        "Loaded latency",
        figures.plain(last, 1.0),
        "ns",
        f"{path_name(last)}, {threads_text(load_threads(last))} of {load_of(last)}",
        is_disturbed(last),
    )


def _slowest(measured: Sequence[Measurement]) -> list[Measurement] | None:
    """Return the curve over load threads that ends at the highest latency."""
    curves = thread_curves(measured)
    return max(curves, key=lambda curve: curve[-1].estimate or 0.0, default=None)


def summary_of(measured: list[Measurement]) -> str:
    """Return a clause on the curve that reaches the highest bandwidth."""
    if (found := _highest(measured)) is None and (curve := _slowest(measured)):
        return f"latency of {path_name(curve[-1])} under {load_of(curve[-1])} is " + thread_words(
            curve
        )
    if found is None:
        idle = min(measured, key=lambda m: m.estimate or 0.0)
        return f"latency of {path_name(idle)} is {figures.text(idle, 1.0, 'ns')}, idle"
    members, best, count = found
    idle, peak = idle_of(members, best), measured_at(members, best.peak)
    of = f" of {count} curves" if count > 1 else ""
    disturbed = is_disturbed(idle) or is_disturbed(peak)
    return (
        f"latency of {path_name(peak)} is {figures.text(idle, 1.0, 'ns')} idle and "
        f"{figures.text(peak, 1.0, 'ns')} at {rate_text(peak)}, the "
        f"{'saturation' if best.saturated else 'highest bandwidth reached'}{of}"
        f"{' (disturbed by other programs)' if disturbed else ''}"
    )


def curve_name(curve: ThreadCurve, curves: Sequence[ThreadCurve]) -> str:
    """Return what tells a curve from the others of its table: its load, and more where needed."""
    first = [one[-1] for one in curves]
    keys = varying(first, "path", "mix", "load_order", "load_from", "load_to", *_POINT)
    more = [label_of(key, value_of(curve[-1], key), curve[-1].kind) for key in keys]
    return ", ".join([load_of(curve[-1]), *more])


def show_thread_tables(console: Console, measured: list[Measurement]) -> None:
    """Print a table for each path: latency by load threads, a column for each kind of load."""
    for curves in _by_path(thread_curves(measured)).values():
        _show_table(console, curves)


def _by_path(curves: Sequence[ThreadCurve]) -> dict[tuple[Any, ...], list[ThreadCurve]]:
    found: dict[tuple[Any, ...], list[ThreadCurve]] = {}
    for curve in curves:
        last = curve[-1]
        key = (last.initiator, last.target, last.pattern["load_from"], last.pattern["load_to"])
        found.setdefault(key, []).append(curve)
    return found


def _show_table(console: Console, curves: Sequence[ThreadCurve]) -> None:
    last = curves[0][-1]
    members = [*{m.id: m for curve in curves for m in curve}.values()]
    loads = varying([curve[-1] for curve in curves], "path", "load_threads")
    hidden = [key for key in properties(members, VIEW) if key not in ("load_threads", *loads)]
    parts = [f"{path_of(last)} by load threads", chase_text(last.pattern), _loaded_from(last)]
    caption = ", ".join(filter(None, parts))
    idle = Column("", lambda m: "" if load_threads(m) else "idle", number=False)
    show_rows(console, members, replace(VIEW, hidden=tuple(hidden)), [idle], ["path"], caption)
    for curve in curves:
        note(console, f"{curve_name(curve, curves)}: {thread_words(curve)}")


def _loaded_from(measurement: Measurement) -> str:
    """Say what loads what, where that is not the chase's path."""
    load_from, load_to = (measurement.pattern.get(key) for key in ("load_from", "load_to"))
    return ", ".join([
        *([f"loaded by {load_from}"] if load_from != measurement.initiator else []),
        *([f"load on {load_to}"] if load_to != measurement.target else []),
    ])  # fmt: skip


def over_threads(given: PictureInput) -> list[Picture]:
    """Latency over load threads: for each initiator a picture with a panel for each tier, a line
    for each kind of load; all on one scale."""
    found: dict[str, list[ThreadCurve]] = {}
    for curve in thread_curves(given.measured):
        found.setdefault(curve[-1].initiator, []).append(curve)
    return [_picture(initiator, curves) for initiator, curves in found.items()]


def _picture(initiator: str, curves: Sequence[ThreadCurve]) -> Picture:
    members = [*{m.id: m for curve in curves for m in curve}.values()]
    most = max(m.estimate or 0.0 for m in members)
    counts = [float(load_threads(m)) for m in members]
    names = list(dict.fromkeys(curve_name(curve, curves) for curve in curves))
    y = {**shapes.from_zero("latency, ns"), "scale": {"domain": [0, 1.1 * most], "nice": False}}
    panels: list[Spec] = []
    for path in _by_path(curves).values():
        rows = [row for curve in path for m in curve if (row := _by_threads_row(m, curve, curves))]
        spec = shapes.curves(rows, shapes.count_axis("load threads", counts), y, named=names)
        panels.append({**spec, "title": {"text": _panel_title(path), **_PANEL}})
    said = [f"{_panel_title([curve])}, {curve_name(curve, curves)}: {thread_words(curve)}."
            for curve in curves]  # fmt: skip
    shared = {"color": "shared", "shape": "shared", "strokeDash": "shared"}
    return Picture(
        key=slug(f"load threads {initiator}"),
        title=f"Latency over load threads, {initiator}",
        subtitle="chase: " + constants(members, *_POINT, *_KIND_OF_LOAD, "load_from", "load_to",
                           "load_size", "stride"),
        alt=" ".join(said),
        spec={"concat": panels, "columns": 2, "spacing": 28, "resolve": {"scale": shared}},
        measurements=members,
    )  # fmt: skip


def _by_threads_row(
    m: Measurement, curve: ThreadCurve, curves: Sequence[ThreadCurve]
) -> dict[str, Any] | None:
    if m.estimate is None:
        return None
    name = curve_name(curve, curves)
    what = f"{name}, {threads_text(load_threads(m))}" if load_threads(m) else f"{name}, idle"
    row = row_of(m, 1.0, "ns", x=load_threads(m), series=name, what=what)
    return {**row, "tip": f"{row['tip']} at {rate_text(m)}"} if load_threads(m) else row


def _panel_title(path: Sequence[ThreadCurve]) -> str:
    last = path[0][-1]
    at = str(last.pattern["load_to"])
    return last.target if at == last.target else f"{last.target}, load on {at}"


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print a curve for each path, mix and load."""
    title(console, VIEW.title)
    show_thread_tables(console, measured)
    for members in curves_of(measured):
        _show_curve(console, members)
    timers = [m.evidence.timer_ns or 0.0 for m in measured if m.evidence]
    timer = max(timers, default=0.0)
    own = (
        "bandwidth: bytes that the load moved during the chase, as the program counts them; "
        f"percentiles: loads timed one by one, including the timer's own {timer:.0f} ns"
    )
    show_notes(console, measured, [own] if timers else [])
    show_summaries(console, summaries([Side(run.header.name, run, measured)]))


def _show_curve(console: Console, members: list[Measurement]) -> None:
    first = next((m for m in members if load_threads(m)), members[0])
    summary = summary_of_curve(members)
    kept = {m.id for m in sound(members)}
    marks = Column("", lambda m: _mark(m, summary if m.id in kept else None), number=False,
                   style="bold green")  # fmt: skip
    bus = any(
        figures.figure_of(m, _ON_BUS) not in (None, figures.figure_of(m, _RATE)) for m in members
    )
    hidden = [key for key in properties(members, VIEW) if key not in _DELAYS]
    view = replace(VIEW, hidden=(*VIEW.hidden, *hidden, *([] if bus else [_ON_BUS])))
    show_rows(console, by_load(members), view, [marks], ["path"], _table_caption(first))
    if summary:
        for line in [*lines_of(members, summary), *falls(sound(members), summary.drift)]:
            note(console, line)
        if left_out := _left_out(members):
            note(console, left_out)


def _left_out(members: list[Measurement]) -> str:
    kept = {m.id for m in sound(members)}
    dropped = [m for m in members if delay_of(m) is not None and m.id not in kept]
    return f"{len(dropped)} disturbed points are left out of these lines" if dropped else ""


def _mark(measurement: Measurement, summary: Summary | None) -> str:
    delay = delay_of(measurement)
    marks = ["idle"] if delay is None else []
    if summary and delay is not None:
        if summary.knee and delay == summary.knee.delay_ns:
            marks.append("knee")
        if delay == summary.peak.delay_ns:
            marks.append("saturation" if summary.saturated else "highest")
    return ", ".join([*marks, *_doubts(measurement)])


def _doubts(measurement: Measurement) -> list[str]:
    """Return what a measurement's evidence says against its figure."""
    evidence = measurement.evidence
    found = {
        "unsettled": evidence is not None and evidence.settled is False,
        "disturbed": evidence is not None and bool(evidence.disturbed),
    }
    return [doubt for doubt, applies in found.items() if applies]


def falls(members: list[Measurement], drift: float) -> list[str]:
    """Say where latency falls although the load rises, beyond chance, and why.

    ``members`` are the points of one curve, one for each delay; ``drift`` is the spread of its idle
    controls. A point without an interval shows no fall.
    """
    by_delay = {delay: m for m in members if (delay := delay_of(m)) is not None}
    points = [Point(delay, 0.0, m.estimate or 0.0, latency_half=_half(m))
              for delay, m in by_delay.items()]  # fmt: skip
    lines = []
    highest: Point | None = None
    named: Point | None = None
    floor = -math.inf
    for point, low, high in latency_spans(points):
        if highest is not None and high < floor and highest is not named:
            named = highest
            lines.append(_fall(by_delay[highest.delay_ns], by_delay[point.delay_ns], drift))
        if low > floor:
            highest, floor = point, low
    return lines


def _fall(lighter: Measurement, heavier: Measurement, drift: float) -> str:
    found = [
        f"the point at delay {delay_of(m)} {' and '.join(_DOUBTS[doubt] for doubt in doubts)}"
        for m in (lighter, heavier)
        if (doubts := _doubts(m))
    ]
    if not found and drift > DRIFT:
        found = [f"idle controls differ by {drift:.0%}: the machine changed meanwhile"]
    why = "; ".join(found) or "unexplained, measure again"
    return (
        f"latency falls from {lighter.estimate or 0.0:.0f} to {heavier.estimate or 0.0:.0f} ns "
        f"although the load rises (delays {delay_of(lighter)} and {delay_of(heavier)} ns): {why}"
    )


def _table_caption(measurement: Measurement) -> str:
    """Say what all points of a curve have in common; other programs' figures lack some of it."""
    pattern = measurement.pattern
    threads = pattern.get("load_threads")
    load = str(pattern.get("mix", ""))
    if threads:
        load += f" by {counted(threads, 'thread')}"
    if pattern.get("load_from", measurement.initiator) != measurement.initiator:
        load += f" of {pattern['load_from']}"
    if pattern.get("load_to", measurement.target) != measurement.target:
        load += f" on {pattern['load_to']}"
    if pattern.get("load_order", "sequential") != "sequential":
        load += f", {pattern['load_order']}"
    path = f"{measurement.initiator} → {measurement.target}"
    chase = chase_text(pattern)
    return f"{path}, {chase}; load {load}" if chase else f"{path}, load {load}"


def families(given: PictureInput) -> list[Picture]:
    """Latency over the bandwidth on the bus, a picture for each family of many curves; all on one
    scale."""
    every = families_of(given.measured, given.run.header.topology)
    found = [family for family in every if len(family.curves) >= MANY]
    x, y = _axes(found)
    return [
        Picture(
            key=slug(f"family {family_name(family)}"),
            title=f"Bandwidth-latency curves, {family_name(family)}",
            subtitle=constants(family.members, *_SAID_APART, *_SMALL),
            alt=_said(family),
            spec=_spec(family, x, y),
            measurements=family.members,
        )
        for family in found
    ]


def beside(sides: Sequence[Side]) -> list[Picture]:
    """All families of several runs, a panel for each, on the same axes and colours."""
    found = [(side, family) for side in sides for family in side_families(side)]
    if not found:
        return []
    x, y = _axes([family for _, family in found])
    panels = [
        {**_spec(family, x, y), "title": {"text": f"{side.name}: {family_name(family)}", **_PANEL}}
        for side, family in found
    ]
    alt = [f"{side.name}, {family_name(family)}: {_said(family)}" for side, family in found]
    return [
        Picture(
            key="beside-curves",
            title="Bandwidth-latency curves beside each other",
            subtitle="latency over the bandwidth on the bus, a curve for each share of reads",
            alt=" ".join(alt),
            spec={"concat": panels, "columns": 2, "spacing": 28},
            measurements=[m for _, family in found for m in family.members],
        )
    ]


def _said(family: Family) -> str:
    """Return the ranges of a family's metrics in words."""
    unloaded, highest = family.metrics.unloaded, family.metrics.maximum_latency
    best = family.metrics.maximum_bandwidth
    plain = figures.plain
    return (
        f"{len(family.curves)} curves from {family.curves[0].name} to {family.curves[-1].name}: "
        f"{plain(unloaded[0], 1.0)} to {plain(unloaded[1], 1.0)} ns unloaded, at most "
        f"{plain(highest[0], 1.0)} to {plain(highest[1], 1.0)} ns, up to "
        f"{plain(best[0], _GB)} to {plain(best[1], _GB)} GB/s."
    )


def _axes(found: Sequence[Family]) -> tuple[Spec, Spec]:
    """Return both axes, from zero to what holds the points and limits of all families."""
    rows = [row for family in found for curve in family.curves for row in _rows(curve)]
    across = [row["x"] for row in rows] + [
        limit / _GB for family in found if (limit := _theoretical(family))
    ]
    ends = (1.05 * max(across, default=1.0), 1.1 * max((row["value"] for row in rows), default=1.0))
    return (
        {**_X, "scale": {"domain": [0, ends[0]], "nice": False}, "axis": {"tickCount": 6}},
        {**_Y, "scale": {"domain": [0, ends[1]], "nice": False}, "axis": {"tickCount": 6}},
    )


def _theoretical(family: Family) -> float | None:
    """Return the theoretical rate of the bus where it is the same for all mixes."""
    limits = [family.theoretical(curve) for curve in family.curves]
    known = [limit for limit in limits if limit]
    same = len(known) == len(limits) and max(known) < (1 + _NEAR) * min(known)
    return known[0] if same else None


def _rows(curve: Curve) -> list[dict[str, Any]]:
    return [row for m in curve.points if (row := _family_pictures_row(curve, m))]


def _family_pictures_row(curve: Curve, m: Measurement) -> dict[str, Any] | None:
    rate = bus_rate(m)
    if rate is None:
        return None
    row = row_of(
        m,
        1.0,
        "ns",
        x=rate.estimate / _GB,
        order=-(delay_of(m) or 0),
        series=curve.name,
        reads=100 * curve.traffic.read_share,
        stores="non-temporal" if curve.mix.endswith("nt") else "ordinary",
        what=curve.name,
    )
    return {**row, "tip": f"{row['tip']} at {figures.plain(rate, _GB)} GB/s on the bus"}


def _spec(family: Family, x: Spec, y: Spec) -> Spec:
    rows = [row for curve in family.curves for row in _rows(curve)]
    mixed = len({row["stores"] for row in rows}) > 1
    colour = {
        "field": "reads",
        "type": "quantitative",
        "title": "reads on the bus, %",
        "scale": {
            "scheme": {"name": "viridis", "extent": [0.0, 0.9]},
            "domain": [0, 100],
            "reverse": True,
        },
        "legend": {"orient": "bottom", "gradientLength": 200},
    }
    dash = {
        "field": "stores",
        "type": "nominal",
        "title": "stores",
        "scale": {"domain": ["ordinary", "non-temporal"], "range": [[1, 0], [5, 3]]},
        "legend": {
            "orient": "bottom",
            "symbolType": "stroke",
            "symbolStrokeColor": "role:ink",
            "symbolStrokeWidth": 2,
            "symbolSize": 300,
        },
    }
    marks = {"y": y, "color": colour, "description": {"field": "tip"}}
    lines = {"y": y, "color": colour, "detail": {"field": "series"}, "order": {"field": "order"}}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "aria": False, "clip": True},
            "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {
                "type": "line",
                "strokeWidth": 2 if len(family.curves) <= _LABELLED else 1,
                "aria": False,
            },
            "encoding": {**lines, "strokeDash": dash} if mixed else lines,
        },
        {
            "transform": [{"filter": "!datum.doubtful"}],
            "mark": {**_MARK, "filled": True},
            "encoding": marks,
        },
        *_doubtful(rows, marks),
        *_doublings(family, y, x["scale"]["domain"][1]),
        *_limit(family),
    ]
    if len(family.curves) <= _LABELLED:
        layers.append(_labels(family, y))
    return {
        "width": shapes.WIDTH + 60,
        "height": shapes.HEIGHT + 40,
        "data": {"values": rows},
        "encoding": {"x": x},
        "layer": layers,
    }


def _doubtful(rows: Sequence[dict[str, Any]], marks: Spec) -> list[Spec]:
    """Return hollow points where figures are in doubt, and what that means."""
    if not any(row["doubtful"] for row in rows):
        return []
    hollow = {"mark": {**_MARK, "fill": "role:paper"}, "encoding": marks}
    remark = shapes.doubtful_remark()
    return [{"transform": [{"filter": "datum.doubtful"}], **hollow}, remark]


def _doublings(family: Family, y: Spec, most: float) -> list[Spec]:
    """Return a ring where each curve's saturated range begins; of many curves, the outermost ones.

    ``most`` is the end of the axis in GB/s.
    """
    rings = [
        {"x": one.saturated_from.estimate / _GB, "value": 2 * one.unloaded.estimate}
        for one in (curve.metrics for curve in family.curves)
        if one.saturated_from
    ]
    if not rings:
        return []
    rings.sort(key=lambda ring: float(ring["x"]))
    # What says so stands where no curve is: left of all rings, or right where there is no room.
    left = rings[0]["x"] > _ROOM * most
    told = [{**rings[0 if left else -1], "text": "twice the unloaded latency"}]
    side = {"align": "right", "dx": -10} if left else {"align": "left", "dx": 10}
    if len(rings) > _LABELLED:
        rings = [rings[0], rings[-1]]
    place = {"x": {"field": "x", "type": "quantitative"}, "y": y}
    text = {"type": "text", "aria": False, **side}
    return [
        {
            "data": {"values": rings},
            "mark": {"type": "point", "size": 120, "color": "role:soft", "aria": False},
            "encoding": place,
        },
        {
            "data": {"values": told},
            "mark": text,
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]


def _limit(family: Family) -> list[Spec]:
    """Return a line at the theoretical rate, where it is known."""
    limit = _theoretical(family)
    if limit is None:
        return []
    values = [{"x": limit / _GB, "text": f"{family.bound} {limit / _GB:.4g} GB/s"}]
    x = {"field": "x", "type": "quantitative"}
    text = {"type": "text", "align": "right", "dx": -4, "y": 8, "aria": False}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "rule", "strokeDash": [2, 3], "color": "role:ink", "aria": False},
            "encoding": {"x": x},
        },
        {
            "data": {"values": values},
            "mark": text,
            "encoding": {"x": x, "text": {"field": "text"}},
        },
    ]


def _labels(family: Family, y: Spec) -> Spec:
    """Return the share of reads at each curve's heaviest point."""
    ends = [
        {**rows[-1], "text": f"{rows[-1]['reads']:.0f}"}
        for curve in family.curves
        if (rows := _rows(curve))
    ]
    return {
        "data": {"values": ends},
        "mark": {"type": "text", "dx": 5, "align": "left", "fontSize": 11, "aria": False},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": y,
            "text": {"field": "text"},
        },
    }


def curves(given: PictureInput) -> list[Picture]:
    """Latency over measured bandwidth, a curve for each target and mix of load of an initiator,
    from light load to heavy; all initiators on one scale. Families of many curves have pictures
    of their own."""
    every = families_of(given.measured, None)
    many = {m.id for family in every if len(family.curves) >= MANY for m in family.members}
    rest = [m for m in given.measured if m.id not in many]
    drawn = [
        _Drawn(str(initiator), group)
        for (initiator,), group in groups_by(rest, "initiator").items()
    ]
    rows = [row for one in drawn for row in one.rows]
    if not rows:
        return []
    across = max(row["x"] for row in rows)
    bandwidth = {**_BANDWIDTH, "scale": {"domain": [0, 1.05 * across], "nice": False}}
    return [one.picture(bandwidth, _latency(rows)) for one in drawn if one.rows]


class _Drawn:
    """The curves of one initiator, before their picture is drawn."""

    def __init__(self, initiator: str, group: list[Measurement]) -> None:
        self.group = group
        loaded = [m for m in group if delay_of(m) is not None]
        several = len(distinct(loaded, "target")) > 1
        names = (["target"] if several else []) + varying(loaded, "path", *_POINT)
        self.where = initiator if several or not loaded else path_of(loaded[0])
        self.rows: list[dict[str, Any]] = []
        self.knees: list[dict[str, Any]] = []
        self.said: list[str] = []
        for (_,), path in groups_by(group, "path").items():
            for members in curves_of(path):
                self._add(members, names)

    def _add(self, members: list[Measurement], names: list[str]) -> None:
        summary = summary_of_curve(members)
        if summary is None:
            return
        words = [label_of(key, value_of(members[-1], key), members[-1].kind) for key in names]
        series = ", ".join(words) or "latency"
        self.rows += [row for m in sound(members) if (row := _pictures_row(m, series))]
        self.knees += _knee(summary)
        text = curve_text(members, summary)
        self.said.append(f"{series}: {text}." if words else f"{text[0].upper()}{text[1:]}.")

    def picture(self, x: Spec, y: Spec) -> Picture:
        return Picture(
            key=slug(f"loaded {self.where}"),
            title=f"Latency under load, {self.where}",
            subtitle=constants(self.group, *_POINT, *_SAME),
            alt=" ".join(self.said),
            spec=shapes.curves(self.rows, x, y, _knee_marks(self.knees)),
            measurements=self.group,
        )


def _latency(rows: list[dict[str, Any]]) -> Spec:
    """From zero to the highest point; intervals of disturbed points are clipped there."""
    most = max(row["value"] for row in rows)
    return {**_LATENCY, "scale": {"domain": [0, 1.15 * most], "nice": False}}


def _pictures_row(measurement: Measurement, series: str) -> dict[str, Any] | None:
    rate = figures.figure_of(measurement, "bandwidth")
    delay = delay_of(measurement)
    value = measurement.estimate
    if value is None or rate is None or delay is None:
        return None
    row = row_of(measurement, 1.0, "ns", x=rate / _GB, order=-delay, series=series, what=series)
    return {**row, "tip": f"{row['tip']} at {rate_text(measurement)}"}


def _knee(summary: Summary) -> list[dict[str, Any]]:
    if summary.knee is None:
        return []
    return [{"x": summary.knee.bandwidth / _GB, "value": summary.knee.latency, "text": "knee"}]


def _knee_marks(knees: list[dict[str, Any]]) -> list[Spec]:
    if not knees:
        return []
    place = {"x": {"field": "x", "type": "quantitative"}, "y": _LATENCY}
    return [
        {
            "data": {"values": knees},
            "mark": {"type": "point", "size": 220, "color": "role:soft", "aria": False},
            "encoding": place,
        },
        {
            "data": {"values": sorted(knees, key=lambda knee: knee["x"])[:1]},
            "mark": {"type": "text", "dy": -16, "dx": -6, "align": "right", "aria": False},
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]


VIEW = View(
    title="Latency under load",
    method="A pointer chase on its own CPU while other threads load the memory at a set rate; "
    "bandwidth is what ran during the chase; medians with 95% intervals.",
    table=show_table,
    pictures=(families, curves, over_threads),
    more=more,
    summaries=summaries,
    beside=beside,
    represents_path=False,
    summary=summary_of,
    key_figure=key_figure,
    hidden=("timed",),
    percentiles=("p50", "p90", "p99", "p99.9"),
)
