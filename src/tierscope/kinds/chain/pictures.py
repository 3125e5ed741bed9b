"""Pictures of chains: times or rates, and the share of chains that take longer (CCDF)."""

from collections.abc import Iterator
from typing import Any

from tierscope.analysis.distribution import MIN_BEYOND, Counts
from tierscope.model.histogram import values_of
from tierscope.model.metric import PERCENTILES
from tierscope.model.run import Measurement, MergedDistribution, is_unreliable
from tierscope.report import figures
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    groups_by,
    slug,
    varying,
    words_of,
)

_METRIC = "chain_latency"
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


PICTURES = (generic.matrices, generic.size_sweeps, generic.bars, ccdf)
