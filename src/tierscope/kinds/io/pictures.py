"""Pictures of storage: rates and latency over depth, bandwidth over block size, maps, time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tierscope.analysis.steady_state import steady_state
from tierscope.kinds.io.across import across
from tierscope.kinds.io.points import (
    LATENCY,
    cached,
    estimate,
    latency,
    operation,
    over_both,
    plural,
    rate,
    row_seconds,
    sweeps,
)
from tierscope.kinds.io.words import (
    block_lines,
    depth_lines,
    idle,
    in_sentences,
    latency_text,
    passes,
    rate_text,
    series_lines,
    steady_text,
    used_bytes,
)
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.figures import Figured
from tierscope.report.naming import path_of
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    groups_by,
    row_of,
    slug,
)

_US = 1e3
_MIN_POINTS = 3
_MAX_LINES = 5
"""Lines up to which all of a path's measurements are in the picture of percentiles."""
Sweep = list[Measurement]


def over_depth(gathered: Gathered) -> Iterator[Picture]:
    """IOPS over queue depth, a curve for each operation, and latency over those IOPS."""
    for group in _by_path(_swept(gathered.measured, "depth")):
        members = [m for sweep in group for m in sweep]
        yield _rates_over_depth(group, members)
        for sweep in group:
            if sum(bool(latency(m)) for m in sweep) >= _MIN_POINTS:
                yield _latency_over_rate(sweep)


def _rates_over_depth(group: list[Sweep], members: Sweep) -> Picture:
    metric = str(members[0].metric)
    unit, factor = _scale(members, metric)
    rows = [
        row_of(m, factor, unit, x=m.pattern["depth"], series=name,
               what=f"{name}, depth {m.pattern['depth']}")
        for sweep, name in _named(group)
        for m in sweep
    ]  # fmt: skip
    return Picture(
        key=slug(f"depth {path_of(members[0])} {members[0].pattern['block_size']}"),
        title=f"{'IOPS' if metric == 'iops' else 'Bandwidth'} over queue depth, "
        f"{path_of(members[0])}",
        subtitle=_common(members),
        alt=in_sentences(depth_lines(members)),
        spec=shapes.curves(rows, _doubling("queue depth", rows), shapes.from_zero(unit)),
        measurements=members,
    )


def _latency_over_rate(sweep: Sweep) -> Picture:
    metric, name = str(sweep[0].metric), operation(sweep[0])
    unit, factor = _scale(sweep, metric)
    rows = []
    for percentile in ("p50", "p99", "p99.9"):
        for m in sweep:
            found = latency(m, percentile)
            if found is not None:
                depth = m.pattern["depth"]
                more = {"x": (m.estimate or 0.0) / factor, "depth": depth, "order": depth}
                rows.append(_side_row(m, found, percentile, more))
    x = {**shapes.from_zero(unit), "field": "x"}
    y = {"field": "value", "type": "quantitative", "title": "latency, µs", "scale": {"type": "log"}}
    spec = shapes.curves(rows, x, y)
    spec["layer"].append(_labels([row for row in rows if row["series"] == "p50"], y))
    best = best_of(sweep)
    return Picture(
        key=slug(f"latency {path_of(best)} {name} {best.pattern['block_size']}"),
        title=f"Latency over {'IOPS' if metric == 'iops' else 'bandwidth'}, {name}, "
        f"{path_of(best)}",
        subtitle=f"{_common(sweep)}; numbers are queue depths",
        alt=f"The most is {rate_text(best)} at depth {best.pattern['depth']}, where half of all "
        f"operations take {latency_text(best) or 'an unknown time'} or less.",
        spec=spec,
        measurements=sweep,
    )


def _labels(rows: list[dict[str, Any]], y: Spec) -> Spec:
    """The depth beside each point."""
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "dy": 12, "dx": 6, "align": "left", "fontSize": 12,
                 "aria": False, "color": "role:soft"},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": y,
                     "text": {"field": "depth"}},
    }  # fmt: skip


def over_blocks(gathered: Gathered) -> Iterator[Picture]:
    """Bandwidth over block size, a curve for each operation."""
    for group in _by_path(_swept(gathered.measured, "block_size")):
        members = [m for sweep in group for m in sweep if rate(m, "bandwidth")]
        if not members:
            continue
        unit, factor = _scale(members, "bandwidth")
        rows = [
            _side_row(m, found, name, {"x": m.pattern["block_size"]}, factor, unit)
            for sweep, name in _named(group)
            for m in sweep
            if (found := rate(m, "bandwidth"))
        ]
        x = shapes.size_axis("block size", [row["x"] for row in rows])
        yield Picture(
            key=slug(f"blocks {path_of(members[0])}"),
            title=f"Bandwidth over block size, {path_of(members[0])}",
            subtitle=_common(members),
            alt=in_sentences(block_lines(members)),
            spec=shapes.curves(rows, x, shapes.from_zero(unit)),
            measurements=members,
        )


def maps(gathered: Gathered) -> Iterator[Picture]:
    """Bandwidth by block size and depth."""
    for members in over_both(gathered.measured, "block_size", "depth"):
        unit, factor = _scale(members, "bandwidth")
        rows = []
        for m in members:
            found = rate(m, "bandwidth")
            if found is None:
                continue
            size, depth = figures.size_text(m.pattern["block_size"]), str(m.pattern["depth"])
            more = {"row": size, "column": depth, "text": figures.plain(found, factor, 3)}
            rows.append(_side_row(m, found, f"{size}, depth {depth}", more, factor, unit))
        columns = list(dict.fromkeys(str(d) for d in sorted(m.pattern["depth"] for m in members)))
        best = max(members, key=lambda m: estimate(m, "bandwidth"))
        yield Picture(
            key=slug(f"map {path_of(best)} {operation(best)}"),
            title=f"Block size by queue depth, {operation(best)}, {path_of(best)}",
            subtitle=f"{unit}, lighter is better; {_common(members)}",
            alt=f"The best is {figures.size_text(best.pattern['block_size'])} at depth "
            f"{best.pattern['depth']}.",
            spec=shapes.heatmap(rows, "queue depth", "block size", unit, "high", columns),
            measurements=members,
        )


def over_time(gathered: Gathered) -> Iterator[Picture]:
    """The rows of the best measurement of each operation, in the order in which they were taken."""
    short = [m for m in gathered.measured if not m.rounds]
    direct = [m for m in short if not cached(m)] or short
    for (_, metric), group in groups_by(direct, "path", "metric").items():
        best = [best_of(alike) for alike in groups_by(group, "operation").values()]
        shown = [m for m in best if len(m.samples) >= 2 * _MIN_POINTS]
        if shown:
            yield _over_time(shown, str(metric))


def _over_time(shown: Sweep, metric: str) -> Picture:
    unit, factor = _scale(shown, metric)
    rows = []
    for m in shown:
        row_s = row_seconds(m)
        for number, sample in enumerate(m.samples):
            value = sample / factor
            tip = f"{_name(m)}, row {number + 1}: {value:.4g} {unit}"
            rows.append({"x": number * row_s, "value": value, "low": value, "high": value,
                         "series": _name(m), "tip": tip, "doubtful": False})  # fmt: skip
    x = {"field": "x", "type": "quantitative", "title": "seconds of measuring, visits joined"}
    spec = shapes.curves(rows, x, shapes.from_zero(unit))
    said = [f"{_name(m)}: {steady_text(steady_state(m.samples, row_seconds(m)))}" for m in shown]
    return Picture(
        key=slug(f"time {path_of(shown[0])} {metric}"),
        title=f"{'IOPS' if metric == 'iops' else 'Bandwidth'} over time, {path_of(shown[0])}",
        subtitle="the best of each operation",
        alt=in_sentences(said),
        spec=spec,
        measurements=shown,
    )


def over_written(gathered: Gathered) -> Iterator[Picture]:
    """Time series over what was written: preconditioning and write-saturation curves."""
    for m in gathered.measured:
        if not m.rounds or len(m.rounds) < _MIN_POINTS or not used_bytes(m):
            continue
        metric, what = str(m.metric), _series_name(m)
        unit, factor = _scale([m], metric)
        rows = []
        for number, one in enumerate(m.rounds):
            value, x = one.value / factor, passes(m, one)
            tip = f"round {number + 1}, {x:.3g} times written: {value:.4g} {unit}"
            rows.append({"x": x, "value": value, "low": value, "high": value,
                         "series": what, "tip": tip, "doubtful": False})  # fmt: skip
        size = figures.size_text(used_bytes(m))
        x_axis = {"field": "x", "type": "quantitative", "title": f"bytes written / {size}"}
        yield Picture(
            key=slug(f"{what} {path_of(m)}"),
            title=f"{what}: {'IOPS' if metric == 'iops' else 'bandwidth'}, {path_of(m)}",
            subtitle=f"{plural(m)}, {_common([m])}",
            alt=in_sentences(series_lines([m])),
            spec=shapes.curves(rows, x_axis, shapes.from_zero(unit)),
            measurements=[m],
        )


def _series_name(m: Measurement) -> str:
    return "Write saturation" if m.pattern.get("write_saturation") else "Preconditioning"


def tails(gathered: Gathered) -> Iterator[Picture]:
    """Latency over percentile: one read at a time, and the best of each operation."""
    for group in groups_by(gathered.measured, "path").values():
        direct = [m for m in group if not cached(m) and m.metric == "iops"]
        best = [best_of(alike) for alike in groups_by(direct, "operation").values()]
        one = idle(direct)
        lines = [d for m in group for d in m.distributions or () if d.metric == LATENCY]
        few = group if len(lines) <= _MAX_LINES else [*([one] if one else []), *best]
        shown = list({m.id: m for m in few}.values())
        yield from percentiles(replace(gathered, measured=shown))


def otherwise(gathered: Gathered) -> list[Picture]:
    """Bars, where nothing was swept and nothing is a time series."""
    drawn = any(m.rounds for m in gathered.measured) or any(
        _swept(gathered.measured, key) for key in ("depth", "block_size")
    )
    return [] if drawn else generic.bars(gathered)


def _swept(measured: Sweep, key: str) -> list[Sweep]:
    """Return sweeps over a key that no map shows whole."""
    mapped = {m.id for group in over_both(measured, "block_size", "depth") for m in group}
    return [
        sweep
        for sweep in sweeps(measured, key)
        if len(sweep) >= _MIN_POINTS and not all(m.id in mapped for m in sweep)
    ]


def _by_path(found: list[Sweep]) -> list[list[Sweep]]:
    """Return sweeps that one picture shows: of one path, order, metric at first, and cache."""
    groups: dict[tuple[str, ...], list[Sweep]] = {}
    for sweep in found:
        first = sweep[0]
        key = (path_of(first), str(first.pattern.get("order")), str(cached(first)))
        groups.setdefault((*key, str(first.metric)), []).append(sweep)
    return list(groups.values())


def _named(group: list[Sweep]) -> Iterator[tuple[Sweep, str]]:
    """Yield sweeps with what tells one from the others."""
    for sweep in group:
        yield sweep, _name(sweep[0])


def _name(measurement: Measurement) -> str:
    return operation(measurement)


def _common(members: Sweep) -> str:
    """Say what all of these have in common."""
    said: dict[str, Callable[[Measurement], str]] = {
        "block": lambda m: f"{figures.size_text(m.pattern['block_size'])} blocks",
        "backend": lambda m: str(m.pattern.get("backend", "")),
        "cache": lambda m: "through the page cache" if cached(m) else "direct",
        "depth": lambda m: f"depth {m.pattern.get('depth', 1)}",
        "threads": lambda m: (
            f"{m.pattern.get('threads', 1)} thread"
            + ("s" if m.pattern.get("threads", 1) != 1 else "")
        ),
    }
    words = (cell(members[0]) for cell in said.values() if len({cell(m) for m in members}) == 1)
    return ", ".join(words)


def _scale(members: Sweep, metric: str) -> tuple[str, float]:
    if metric == "iops":
        most = max(estimate(m, "iops") for m in members)
        return ("thousand IOPS", 1e3) if most >= 1e4 else ("IOPS", 1.0)
    return figures.scale_of("B/s", [estimate(m, "bandwidth") for m in members])


def _side_row(
    m: Measurement, found: Figured, name: str, more: dict[str, Any],
    factor: float = _US, unit: str = "µs",
) -> dict[str, Any]:  # fmt: skip
    """Return a row of a figure that need not be the headline."""
    low = found.estimate if found.ci_low is None else found.ci_low
    high = found.estimate if found.ci_high is None else found.ci_high
    return {
        "value": (found.estimate or 0.0) / factor,
        "low": (low or 0.0) / factor,
        "high": (high or 0.0) / factor,
        "doubtful": figures.is_doubtful(m),
        "series": name,
        "tip": f"{name}: {figures.with_interval(found, factor)} {unit}",
        **more,
    }


def _doubling(title: str, rows: list[dict[str, Any]]) -> Spec:
    """An axis of counts that doubles."""
    counts = sorted({row["x"] for row in rows})
    return {
        "field": "x",
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, "nice": False, "domain": [counts[0], counts[-1]]},
        "axis": {"values": counts, "format": "d"},
    }


PICTURES = (across, over_written, over_depth, over_blocks, maps, tails, over_time, otherwise)
