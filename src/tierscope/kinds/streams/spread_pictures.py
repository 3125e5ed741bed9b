"""Pictures of spread pages: the gain over the ratio, a line a pattern."""

from collections.abc import Iterator
from typing import Any

from tierscope.kinds.streams.spread_table import gain_text
from tierscope.kinds.streams.spreads import Study, gain, studies
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    slug,
    varying,
    words_of,
)

_UNSAID = ("writes", "stores", "zipf_alpha", "prefetch", "delay_ns", "policy", "mechanism")
_TICKS = (80, 20, 8, 4, 2, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 20, 1 / 80)
_LABEL = (
    "datum.value >= 1 ? format(datum.value, '.3~g') + ':1' : '1:' + format(1 / datum.value, '.3~g')"
)
_MOST = 80.0
"""Pages on one node for each on the other, at either end of the axis."""
_STEPS = 60
_ROOM = 1.08


def gains(gathered: Gathered) -> Iterator[Picture]:
    """Draw, of each pair of nodes, the gain over the own node only against the ratio of pages."""
    found = studies(gathered.measured, gathered.run.header.topology)
    drawn: dict[tuple[str, int, int, int], list[Study]] = {}
    for study in found:
        for threads in study.threads:
            for other in study.nodes:
                if study.local not in (None, other) and _points(study, threads, other):
                    key = (study.initiator, threads, int(study.local or 0), other)
                    drawn.setdefault(key, []).append(study)
    for (initiator, threads, local, other), group in drawn.items():
        yield _picture(f"{initiator}", threads, (local, other), group)


def _points(study: Study, threads: int, other: int) -> list[tuple[float, Measurement]]:
    """Return the ratio, own node to the other, of pages spread over just these two."""
    found = []
    for weights, m in study.at(threads).items():
        shares = dict(weights)
        if shares.keys() == {study.local, other} and study.local is not None:
            found.append((shares[study.local] / shares[other], m))
    found.sort(key=lambda point: point[0])
    return found if len(found) > 1 and study.local_at(threads) else []


def _picture(initiator: str, threads: int, nodes: tuple[int, int], group: list[Study]) -> Picture:
    local, other = nodes
    points = {id(study): _points(study, threads, other) for study in group}
    members = [m for found in points.values() for _, m in found]
    names = varying(members, *_UNSAID, "path")
    rows: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for study in group:
        base = study.local_at(threads)
        assert base is not None
        series = words_of(base, names) or f"node {other} beside node {local}"
        rows += [_row(ratio, m, base, series) for ratio, m in points[id(study)]]
        lines += _predicted(study, threads, other, base, series)
    best = best_of(members)
    top = max(row["high"] for row in rows)
    axis = {"title": f"bandwidth / that of node {local} only", "scale": {"domain": [0, _ROOM * top],
            "nice": False}}  # fmt: skip
    predicted = "; lines: predicted" if lines else ""
    return Picture(
        key=slug(f"expansion {initiator} {threads} {local} {other}"),
        title=f"Gain of pages spread over nodes {local} and {other}, {initiator}",
        subtitle=f"{constants(members, *_UNSAID)}; points: measured{predicted}",
        alt=f"The best ratio is {best.target} with {figures.with_interval(best, 1e9)} GB/s.",
        spec=shapes.curves(
            rows,
            _ratio_axis(rows, nodes),
            {**shapes.from_zero(""), **axis},
            more=[_baseline()],
            lines=lines or None,
        ),
        measurements=members,
    )


def _row(ratio: float, m: Measurement, base: Measurement, series: str) -> dict[str, Any]:
    found = gain(m, base)
    return {
        "x": ratio,
        "value": found.value,
        "low": found.value if found.low is None else found.low,
        "high": found.value if found.high is None else found.high,
        "series": series,
        "doubtful": figures.is_doubtful(m) or figures.is_doubtful(base),
        "tip": f"{series}, {m.target}: {gain_text(found)} times",
    }


def _predicted(
    study: Study, threads: int, other: int, base: Measurement, series: str
) -> list[dict[str, Any]]:
    """Return the predicted gain over the ratio, from the most to the fewest pages on the own
    node."""
    if study.local is None or not base.estimate:
        return []
    ratios = [_MOST ** (1 - 2 * step / _STEPS) for step in range(_STEPS + 1)]
    found = study.bandwidths(threads, [{study.local: ratio, other: 1.0} for ratio in ratios])
    return [
        {"x": ratio, "value": bandwidth / base.estimate, "series": series}
        for ratio, bandwidth in zip(ratios, found, strict=bool(found))
    ]


def _ratio_axis(rows: list[dict[str, Any]], nodes: tuple[int, int]) -> Spec:
    low, high = min(row["x"] for row in rows), max(row["x"] for row in rows)
    return {
        "field": "x",
        "type": "quantitative",
        "title": f"pages on node {nodes[0]} : pages on node {nodes[1]}",
        "scale": {"type": "log", "reverse": True, "nice": False,
                  "domain": [min(low, 1 / _MOST), max(high, _MOST)]},
        "axis": {"values": list(_TICKS), "labelExpr": _LABEL, "labelOverlap": "greedy"},
    }  # fmt: skip


def _baseline() -> Spec:
    """The own node only."""
    return {
        "data": {"values": [{"one": 1}]},
        "mark": {"type": "rule", "color": "role:soft", "strokeDash": [2, 3], "aria": False},
        "encoding": {"y": {"field": "one", "type": "quantitative"}, "x": None},
    }
