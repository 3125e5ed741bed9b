"""What placements do to applications: a table, a sentence for each, and what others published."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from tierscope.analysis.applications import Answer, answers, sites_of
from tierscope.analysis.effect import by_program, metric_of
from tierscope.analysis.offload import Predicted, figures_of, predictions
from tierscope.analysis.tiers import parse_tier
from tierscope.kinds.effect.show import change_text, heading
from tierscope.kinds.effect.spec import EffectSpec
from tierscope.model.application import About
from tierscope.model.errors import UserError
from tierscope.model.evidence import AllocationSite
from tierscope.model.metric import METRICS
from tierscope.model.price import Prices
from tierscope.model.run import Run
from tierscope.model.text import brief
from tierscope.plans import machine
from tierscope.report import figures
from tierscope.report.pictures.picture import Picture, Spec
from tierscope.report.run_view import Beside
from tierscope.report.view import Summary
from tierscope.report.whatif import range_text
from tierscope.suites.whatif import predicted

_STEP = 92
_HEIGHT = 38
_LONGER = 0.5
"""Slowdown from which on a cell's colour is as strong as can be."""
_FREED = 0.01
"""Share of fast memory from which on it is said that a placement frees it."""
_COST = "; {}: price of the memory that is used; cost: of that, for as long as an operation takes"
_TIER = "250ns,30GB/s"
_OPERATIONS = {
    "hash": "a lookup in a hash index",
    "btree": "a lookup in a B+-tree",
    "chain": "a chain of dependent reads",
}
Named = Sequence[tuple[About, list[Answer]]]


def beside(run: Run, prices: Prices | None = None) -> Beside | None:
    """Return the answer of a run of applications; None where none was measured."""
    about = {m.id: spec.about for m in run.measurements
             if (spec := run.planned(m.id, EffectSpec)) and spec.about}  # fmt: skip
    measured = [m for m in run.measurements if m.id in about and m.status == "measured"]
    if not measured:
        return None
    named = [(about[group[0].measurement.id], group) for group in answers(measured, prices)]
    sites = {about[group[0].id].name: sites_of(group) for group in by_program(measured)}
    priced = any(one.price for _, group in named for one in group)
    title = "What placements do to applications"
    columns = ["application", "placement", "median", "slowdown (95%)", "fast memory", "freed"]
    if prices and priced:
        columns += [prices.currency, "cost"]
    found = {app.name: _predicted(group[0], run) for app, group in named if app.predicted_by}
    return Beside(
        title=title,
        method="In each round every application runs once under each placement, in random order. "
        "A slowdown is that of an operation, or of the whole run, against the first placement, by "
        "the pairs of the same round. Fast memory is the node that has most of it under the first.",
        summary=Summary(
            title=title,
            columns=columns,
            rows=[_row(app, group, one, prices if priced else None)
                  for app, group in named for one in group],
            notes=[
                *_notes(named, sites, run, prices.currency if prices and priced else ""),
                *_predictions(found),
            ],
            words=("placement",),
        ),
        pictures=lambda: _pictures(named),
        json={
            "applications": [_in_json(app, one) for app, group in named for one in group],
            "predictions": {
                name: [{"name": one.name, "predicted_s": one.seconds, "within_s": one.within,
                        "measured_s": one.measured, "error": one.error, "from": one.formula}
                       for one in rows]
                for name, rows in found.items() if not isinstance(rows, str)
            },
        },
    )  # fmt: skip


def _predicted(base: Answer, run: Run) -> list[Predicted] | str:
    """Return times of an application with what the run's other figures predict, or why nothing is
    predicted."""
    program = base.measurement.evidence.program if base.measurement.evidence else None
    facts = [one.facts for one in (program.runs if program else []) if one.facts]
    names = dict.fromkeys(name for one in facts for name in one)
    medians = {name: median(one[name] for one in facts if name in one) for name in names}
    try:
        return predictions(figures_of(run), medians)
    except UserError as error:
        return str(error)


def _predictions(found: Mapping[str, list[Predicted] | str]) -> Iterator[str]:
    for name, rows in found.items():
        if isinstance(rows, str):
            yield f"{name}: nothing is predicted: {rows}"
            continue
        for one in rows:
            ends = " ({} to {})".format(*map(_time, one.within)) if one.within else ""
            yield (
                f"{name}, {one.name}: predicted {_time(one.seconds)}{ends}, measured "
                f"{_time(one.measured)}, error {100 * one.error:+.1f}%: {one.formula}"
            )


def _time(seconds: float) -> str:
    return _scaled(1e9 * seconds, "ns")


def _row(app: About, group: list[Answer], one: Answer, prices: Prices | None) -> list[str]:
    slow = one.slowdown
    first = one is group[0]
    cells = [
        app.name if first else "",
        one.placement,
        _value(one),
        f"{change_text(slow.ratio)} {_interval(one)}".strip() if slow else "",
        figures.size_text(one.fast) if one.pages else "",
        "" if one.freed is None else f"{100 * max(0.0, one.freed):.0f}%",
    ]
    if prices:
        cells.append("" if one.price is None else brief(one.price, 3))
        cells.append("" if one.cost is None or first else change_text(one.cost))
    return cells


def _value(one: Answer) -> str:
    return _scaled(one.value, METRICS[metric_of(one.measurement, one.figure)].unit)


def _scaled(value: float, unit: str) -> str:
    scaled, factor = figures.scale_of(unit, [value])
    return f"{figures.significant(value / factor, 3)} {'' if scaled == 'count' else scaled}"


def _interval(one: Answer) -> str:
    slow = one.slowdown
    if slow is None or slow.low is None or slow.high is None:
        return ""
    return f"({100 * (slow.low - 1):+.0f} to {100 * (slow.high - 1):+.0f}%)"


def _notes(
    named: Named, sites: Mapping[str, list[AllocationSite]], run: Run, currency: str
) -> Iterator[str]:
    for app, group in named:
        yield _sentence(app, group)
        if found := sites[app.name]:
            said = ", ".join(f"{one.name} {figures.size_text(one.bytes)}" for one in found)
            yield f"{app.name} allocates most in {said}: rules of the allocator place these apart"
    yield (
        "slowdown: of an operation, or of the whole run, against the first placement; intervals of "
        "an application hold at once with 95%" + (_COST.format(currency) if currency else "")
    )
    alone = all(len(group) == 1 for _, group in named)
    if alone and (why := machine.one_node(run.header.topology)):
        most = max((sum(group[0].pages.values()) for _, group in named), default=0.0)
        room = f" with room for {figures.size_text(most)}" if most else ""
        yield f"local alone was measured: {why}. A second node needs memory{room}"
        yield from _expected([app for app, _ in named], run)
    for app, _ in named:
        for one in app.published:
            yield f"published of {app.name}: {one.text} ({one.source}, {one.date})"


def _expected(apps: Sequence[About], run: Run) -> Iterator[str]:
    """Say what slow memory would do to operations like those of applications."""
    tier = parse_tier(_TIER)
    try:
        said = predicted([run], [tier])
    except UserError:
        return
    slowdowns = {}
    for one in said.answers:
        of = one.work.measurement
        *_, whole = one.predictions[0][1]
        slowdowns[of.pattern.get("structure") or of.kind] = range_text(whole.slowdown)
    for app in apps:
        if app.resembles in slowdowns:
            yield (
                f"{app.name} reads memory like {_OPERATIONS[app.resembles]}, which would take "
                f"{slowdowns[app.resembles]} times as long on memory of {_TIER} ('tierscope "
                f"whatif'); {app.name} does more than that, so that it slows down less"
            )


def _sentence(app: About, group: list[Answer]) -> str:
    """Say what the placements do to one application."""
    base = group[0]
    used = figures.size_text(sum(base.pages.values())) if base.pages else "memory that was not seen"
    what = heading(base.figure, metric_of(base.measurement, base.figure))
    said = [f"{app.name}: {what} {_value(base).strip()} with {used} ({base.placement})"]
    said += [_clause(one) for one in group[1:] if one.slowdown]
    return "; ".join(said)


def _clause(one: Answer) -> str:
    slow = one.slowdown
    assert slow
    freed = one.freed or 0.0
    frees = f", with {100 * freed:.0f}% of its fast memory free" if freed >= _FREED else ""
    if slow.verdict == "undecided":
        least = slow.detectable
        size = "" if least is None else f" ({brief(100 * least, 2)}% would have been)"
        return f"{one.placement}: no difference was found{size}{frees}"
    how = "longer" if slow.ratio > 1 else "shorter"
    low, high = sorted(abs(edge - 1) for edge in (slow.low or 1.0, slow.high or 1.0))
    what = "the run takes" if one.figure == "run_time" else "an operation takes"
    return (
        f"{one.placement}: {what} {brief(100 * abs(slow.ratio - 1), 2)}% {how} "
        f"({brief(100 * low, 2)} to {brief(100 * high, 2)}){frees}"
    )


def _in_json(app: About, one: Answer) -> dict[str, Any]:
    slow = one.slowdown
    return {
        "application": app.name,
        "placement": one.placement,
        "id": one.measurement.id,
        "figure": one.figure,
        "value": one.value,
        "slowdown": slow and slow.ratio,
        "low": slow and slow.low,
        "high": slow and slow.high,
        "verdict": slow and slow.verdict,
        "bytes_by_node": one.pages,
        "freed": one.freed,
        "price": one.price,
        "cost": one.cost,
    }


def _pictures(named: Named) -> Iterator[Picture]:
    """Draw the slowdowns of all applications, coloured by how large they are."""
    rows: list[Spec] = []
    for app, group in named:
        for one in group[1:]:
            if one.slowdown:
                text = change_text(one.slowdown.ratio)
                rows.append({
                    "row": app.name, "column": one.placement, "text": text,
                    "change": one.slowdown.ratio - 1,
                    "interval": "" if one.slowdown.verdict != "undecided" else "undecided",
                    "tip": f"{app.name}, {one.placement}: {text} {_interval(one)}",
                })  # fmt: skip
    if not rows:
        return
    yield Picture(
        key="applications",
        title="Slowdown of applications",
        subtitle=f"against {named[0][1][0].placement}; orange: longer",
        alt=" ".join(f"{row['tip']}." for row in rows),
        spec=_spec(rows),
        measurements=[one.measurement for _, group in named for one in group],
    )


def _spec(rows: list[Spec]) -> Spec:
    axis = {"labelColor": "role:ink", "domain": False, "grid": False, "labelAngle": 0}
    names = {"type": "nominal", "title": None, "sort": None, "scale": {"paddingInner": 0.04}}
    colour = {
        "field": "change",
        "type": "quantitative",
        "legend": None,
        "scale": {"scheme": "blueorange", "domain": [-_LONGER, _LONGER], "clamp": True},
    }
    ink = {"expr": f"abs(datum.change) > {_LONGER / 2} ? '#ffffff' : '#111111'"}
    text = {"type": "text", "aria": False, "fill": ink}
    return {
        "width": {"step": _STEP},
        "height": {"step": _HEIGHT},
        "data": {"values": rows},
        "encoding": {
            "x": {"field": "column", **names, "axis": {**axis, "orient": "top"}},
            "y": {"field": "row", **names, "axis": axis},
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": colour, "description": {"field": "tip"}}},
            {
                "mark": {**text, "dy": -4, "fontSize": 12, "fontWeight": "bold"},
                "encoding": {"text": {"field": "text"}},
            },
            {"mark": {**text, "dy": 9, "fontSize": 9}, "encoding": {"text": {"field": "interval"}}},
        ],
    }
