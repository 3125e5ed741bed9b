"""How chains are shown: time or rate of each, percentiles of chains timed by themselves."""

from collections.abc import Iterator
from typing import Any

from tierscope.analysis.distribution import MIN_BEYOND, Counts
from tierscope.model.histogram import values_of
from tierscope.model.metric import PERCENTILES
from tierscope.model.run import Measurement, MergedDistribution
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.generic import curves_over
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    constants,
    distinct,
    groups_by,
    slug,
    varying,
    words_of,
)
from tierscope.report.view import View

_METRIC = "chain_latency"
_MIN_COUNTS = 3
"""Thread counts from which on a chain has a line over them."""
_LEAST = 1e-4
"""Share at the axis's end: that beyond p99.99."""
_DRAWN = {name: beyond for name, beyond in PERCENTILES.items() if beyond >= _LEAST}


def _said(measured: list[Measurement]) -> list[str]:
    """Say what the columns stand for, and what is inside the figures."""
    found = [m.evidence for m in measured if m.evidence]
    timers = [one.timer_ns for one in found if one.timer_ns]
    timer = f"; {figures.significant(max(timers), 2)} ns of each is the timer" if timers else ""
    some = any(figures.side_figure(m, "chain_latency_p50") for m in measured)
    lines = [f"p50 and so on: ns of chains timed one by one{timer}"] if some else []
    addresses = [
        m.evidence.address_ns
        for m in measured
        if m.evidence
        and m.evidence.address_ns
        and m.pattern["linked"]
        and "timed_from" not in m.pattern
    ]
    if addresses:
        lines.append(
            f"inside the time of linked chains: {figures.significant(max(addresses), 2)} ns that "
            "making each address takes; the rest compares with tierscope latency"
        )
    return lines


def ccdf(given: PictureInput) -> Iterator[Picture]:
    """The share of chains that take longer than a time, a line for each measurement; a picture for
    each path, linked chains apart from others."""
    timed = [m for m in given.measured if _distribution(m)]
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
                "doubtful": figures.is_vague(figure),
                "tip": f"{series}, {name}: {figures.text(figure, 1.0, 'ns')}",
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


def over_threads(given: PictureInput) -> Iterator[Picture]:
    """Chains a second over threads, a line for each place of the regions; a picture a chain."""
    rates = [m for m in given.measured if m.metric == "operations"]
    for (chain, size), members in groups_by(rates, "chain", "size").items():
        if len(distinct(members, "threads")) >= _MIN_COUNTS:
            yield curves_over(
                members,
                "threads",
                ["path", "second"],
                key=f"chain threads {chain} {size}",
                title=f"Chains over threads, {chain}",
                subtitle=constants(members, "chain", "threads", "second"),
            )


PICTURES = (over_threads, generic.matrices, generic.size_sweeps, generic.bars, ccdf)


def summary_of(measured: list[Measurement]) -> str:
    """Return the first chain's time, or its rate."""
    first = measured[0]
    unit, factor = figures.scale_of(first.unit or "ns", [first.estimate or 0.0])
    each = "takes" if first.pattern["linked"] else "ends"
    return (
        f"chains: {path_of(first)}, {first.pattern['chain']} {each} "
        f"{figures.text(first, factor, unit)}"
    )


VIEW = View(
    title="Chains",
    method="Pinned threads make one chain of reads, writes and fences after the other, each read "
    "at an address that the data read before decides; percentiles of chains timed one by one; "
    "every walk is made again over the known contents. Medians and their 95% intervals.",
    separate=("linked",),
    hidden=("timed",),
    percentiles=("p50", "p99", "p99.9", "p99.99"),
    notes=lambda measured, _run: _said(measured),
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)
