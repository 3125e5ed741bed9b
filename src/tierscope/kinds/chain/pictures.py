"""Pictures of chains: times or rates, and the share of chains that take longer (CCDF)."""

from collections.abc import Iterator
from typing import Any

from tierscope.analysis.distribution import MIN_BEYOND, Counts
from tierscope.model.histogram import values_of
from tierscope.model.metric import PERCENTILES
from tierscope.model.run import Measurement, MergedDistribution, is_unreliable
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    distinct,
    groups_by,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)

_METRIC = "chain_latency"
_MIN_COUNTS = 3
"""Thread counts from which on a chain has a line over them."""
_LEAST = 1e-4
"""Share at the axis's end: that beyond p99.99."""
_DRAWN = {name: beyond for name, beyond in PERCENTILES.items() if beyond >= _LEAST}


def ccdf(gathered: Gathered) -> Iterator[Picture]:
    """The share of chains that take longer than a time, a line for each measurement; a picture for
    each path, linked chains apart from others."""
    timed = [m for m in gathered.measured if _distribution(m)]
    for (path, linked), members in groups_by(timed, "path", "linked").items():
        names = varying(members, "path", "linked") or ["chain"]
        how = "linked chains" if linked else "chains that overlap"
        lines: list[dict[str, Any]] = []
        points: list[dict[str, Any]] = []
        for m in members:
            series = words_of(m, names)
            lines += [{**row, "series": series} for row in _line(m)]
            points += [{**row, "series": series} for row in _points(m, series)]
        if not points:
            continue
        yield Picture(
            key=slug(f"chain ccdf {path} {'linked' if linked else 'unlinked'}"),
            title=f"Share of {how} that take longer, {path}",
            subtitle=constants(members, "linked", *names),
            alt=_alt(members[0], names, len(members)),
            spec=shapes.curves(points, _time_axis(lines), _share_axis(), lines=lines),
            measurements=members,
        )


def _distribution(m: Measurement) -> MergedDistribution | None:
    return next((one for one in m.distributions or () if one.metric == _METRIC), None)


def _line(m: Measurement) -> Iterator[dict[str, Any]]:
    """Each bucket's largest time and the share of chains that take longer, as far as ten do."""
    one = _distribution(m)
    assert one
    counts = Counts(one.histogram)
    for bucket, _ in zip(counts.buckets, counts.counts, strict=True):
        beyond = counts.longer(bucket)
        if beyond < max(MIN_BEYOND, _LEAST / 2 * counts.total):
            return
        yield {"x": max(1, values_of(bucket)[1]), "value": beyond / counts.total}


def _points(m: Measurement, series: str) -> Iterator[dict[str, Any]]:
    for name, beyond in _DRAWN.items():
        figure = figures.side_figure(m, f"{_METRIC}_{name}")
        if figure:
            yield {
                "x": figure.estimate,
                "value": beyond,
                "low": beyond,
                "high": beyond,
                "doubtful": is_unreliable(figure),
                "tip": f"{series}, {name}: {figures.with_interval(figure, 1.0)} ns",
            }


def _time_axis(lines: list[dict[str, Any]]) -> Spec:
    times = [row["x"] for row in lines]
    return {
        "field": "x",
        "type": "quantitative",
        "title": "ns, the timer's own included",
        "scale": {"type": "log", "domain": [0.9 * min(times), 1.1 * max(times)], "nice": False},
        "axis": {"labelOverlap": "greedy", "format": "~s"},
    }


def _share_axis() -> Spec:
    return {
        "field": "value",
        "type": "quantitative",
        "title": "share that takes longer",
        "scale": {"type": "log", "domain": [_LEAST / 2, 1], "nice": False, "clamp": True},
        "axis": {"values": [1, *(10.0**-power for power in range(1, 5))], "format": "~%"},
    }


def _alt(first: Measurement, names: list[str], count: int) -> str:
    told = [
        f"{name} {figures.plain(figure, 1.0, 3)} ns"
        for name in _DRAWN
        if (figure := figures.side_figure(first, f"{_METRIC}_{name}"))
    ]
    lines = f"{count} lines" if count > 1 else "One line"
    return f"{lines}; {words_of(first, names)}: {', '.join(told)}."


def over_threads(gathered: Gathered) -> Iterator[Picture]:
    """Chains a second over threads, a line for each place of the regions; a picture a chain."""
    rates = [m for m in gathered.measured if m.metric == "operations"]
    for (chain, size), members in groups_by(rates, "chain", "size").items():
        counts = distinct(members, "threads")
        if len(counts) < _MIN_COUNTS:
            continue
        unit, factor = scale_of(members)
        rows = [
            row_of(m, factor, unit, x=m.pattern["threads"], series=_place(m),
                   what=f"{_place(m)}, {m.pattern['threads']} threads")
            for m in members
        ]  # fmt: skip
        best = max(members, key=lambda m: m.estimate or 0.0)
        yield Picture(
            key=slug(f"chain threads {chain} {size}"),
            title=f"Chains over threads, {chain}",
            subtitle=constants(members, "chain", "threads", "second"),
            alt=f"The most are {figures.with_interval(best, factor)} {unit}, {_place(best)} by "
            f"{best.pattern['threads']} threads.",
            spec=shapes.curves(rows, shapes.count_axis("threads", counts), shapes.from_zero(unit)),
            measurements=members,
        )


def _place(m: Measurement) -> str:
    """Say where both regions are: "node:0 → node:0, m1 on node:1"."""
    second = m.pattern.get("second")
    return f"{path_of(m)}, m1 on {second}" if second else path_of(m)


PICTURES = (over_threads, generic.matrices, generic.size_sweeps, generic.bars, ccdf)
