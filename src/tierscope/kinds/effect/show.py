"""Figures of programs and their changes in words."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.applications import pages_of
from tierscope.analysis.effect import (
    MIN_PAIRS,
    Effect,
    by_program,
    effects,
    figures_of,
    metric_of,
    values_of,
)
from tierscope.kinds.effect.measurer import NOT_HELD
from tierscope.kinds.effect.spec import NOTHING_MOVED
from tierscope.model.errors import counted
from tierscope.model.evidence import ProgramRun
from tierscope.model.metric import METRICS, heading_of
from tierscope.model.run import Measurement, Run
from tierscope.model.text import brief
from tierscope.report import figures
from tierscope.report.evidence import by_node
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import Picture, PictureInput, Spec, slug
from tierscope.report.style import new_table, note, title
from tierscope.report.view import View

_STYLES = {"better": "green", "worse": "red", "undecided": "dim"}
_OTHERS = 0.1
"""CPUs that others used, as a share of the program's, from which on that is said."""
_ROW = 34
_WIDTH = 380


def heading(figure: str, metric: str) -> str:
    """Return how a figure is called: those that programs print have their own names, which may be
    those of metrics."""
    return heading_of(figure) if metric == figure else figure


def change_text(ratio: float | None) -> str:
    """Return a ratio as a change: ``+12.3%``, ``-4.0%``; a large one as ``x2.5``."""
    if ratio is None:
        return "–"
    return f"x{brief(ratio, 3)}" if ratio >= 2 else f"{100 * (ratio - 1):+.1f}%"


def interval_text(low: float, high: float) -> str:
    """Return the interval of a ratio as changes: ``-1.5% to +2.0%``, ``+80% to x2.5``."""
    return f"{change_text(low)} to {change_text(high)}"


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print the measured results of programs."""
    title(console, "Programs under placements")
    for group in by_program(measured):
        console.print(Text(str(group[0].pattern["command"]), style="bold"))
        rounds = max(m.repetitions for m in group)
        console.print(
            f"{counted(rounds, 'round')}, each in random order (seed {run.header.name})",
            soft_wrap=True,
        )
        _show_figures(console, group)
        _show_pages(console, group)
        for line in notes_of(group):
            note(console, line)


def _show_figures(console: Console, group: list[Measurement]) -> None:
    against = {(one.placement, one.figure): one for one in effects(group)}
    names = ("figure", "placement")
    table = new_table(*names, "median", "change", "95%", "verdict", "detectable", words=names)
    for name in figures_of(group[0]):
        shown = [m for m in group if values_of(m, name)]
        unit, factor = _scale(group[0], name, shown)
        for number, m in enumerate(shown):
            effect = against.get((str(m.pattern["placement"]), name))
            style = _STYLES[effect.verdict] if effect else ""
            cells = [
                heading(name, metric_of(group[0], name)) if number == 0 else "",
                str(m.pattern["placement"]),
                _median(m, name, factor, unit),
            ]
            table.add_row(*cells, *(Text(one, style) for one in _compared(effect)))
    console.print(table)


def _scale(base: Measurement, name: str, shown: list[Measurement]) -> tuple[str, float]:
    unit = METRICS[metric_of(base, name)].unit
    found, factor = figures.scale_of(unit, [median(values_of(m, name)) for m in shown])
    return ("" if found == "count" else found), factor


def _median(m: Measurement, name: str, factor: float, unit: str) -> str:
    """Return a figure's median with its interval, where the measurement has it."""
    found = next((one for one in m.figures if (one.part or one.metric) == name), None)
    if found is None and name == figures_of(m)[0]:
        found = m.headline
    if found is None or not figures.has_interval(found):
        return f"{figures.significant(median(values_of(m, name)) / factor, 3)} {unit}"
    return figures.text(found, factor, unit)


def _compared(effect: Effect | None) -> tuple[str, str, str, str]:
    if effect is None:
        return ("", "", "", "")
    if effect.low is None or effect.high is None or effect.detectable is None:
        return (change_text(effect.ratio), "", "undecided", f"{effect.pairs} pairs")
    return (
        change_text(effect.ratio),
        interval_text(effect.low, effect.high),
        effect.verdict,
        _share(effect.detectable),
    )


def _share(share: float) -> str:
    return f"{brief(100 * share, 2)}%" if share < 1 else f"x{brief(1 + share, 2)}"


def _show_pages(console: Console, group: list[Measurement]) -> None:
    for m in group:
        amounts = pages_of(m)
        size = figures.size_text(sum(amounts.values()))
        seen = f"{size} seen, {by_node(amounts)}" if amounts else "ended before its memory was seen"
        where = f"CPUs {m.initiator.partition(':')[2]}, memory of {m.target}{_placed_by(m)}"
        console.print(
            Text(
                f"{m.pattern['placement']}: {where}; {seen}{_room(m)}{_migrated(m)}{_bandwidth(m)}"
                f"{_collected(m)}"
            )
        )


def _runs(measurement: Measurement) -> list[ProgramRun]:
    program = measurement.evidence.program if measurement.evidence else None
    return program.runs if program else []


def _placed_by(measurement: Measurement) -> str:
    """Say what placed pages by weights, and by which weights; empty for other policies."""
    ways = dict.fromkeys(
        "a preloaded library"
        if run.mechanism == "user"
        else f"the kernel's weights {':'.join(map(str, run.weights))}"
        for run in _runs(measurement)
        if run.weights
    )
    return f" by {' and '.join(ways)}" if ways else ""


def _migrated(measurement: Measurement) -> str:
    """Say what the kernel migrated in a run, on average; empty where that was nothing."""
    found = [run.migrated_bytes for run in _runs(measurement) if run.migrated_bytes is not None]
    return f"; {figures.size_text(fmean(found))} migrated in a run" if any(found) else ""


def _room(measurement: Measurement) -> str:
    """Say what a program found free on a node that was made smaller; empty: as it was."""
    found = [run.room_bytes for run in _runs(measurement) if run.room_bytes is not None]
    return f"; {figures.size_text(fmean(found))} left free on its fast node" if found else ""


def _bandwidth(measurement: Measurement) -> str:
    """Say the bandwidth of memory in a run, on average, by what counters count; empty: none."""
    seen = [run.bandwidth for run in _runs(measurement) if run.bandwidth]
    names = sorted({name for one in seen for name in one})
    said = [f"{name} {fmean(one.get(name, 0.0) for one in seen) / 1e9:.3g} GB/s" for name in names]
    return f"; {', '.join(said)}" if said else ""


def _disturbed(measurement: Measurement) -> str:
    """Say what others used while a program ran, at most; empty where that was little."""
    most = max(_runs(measurement), key=lambda run: run.others_cpus or 0.0, default=None)
    if most is None or (most.others_cpus or 0.0) < _OTHERS * len(measurement.cpus):
        return ""
    return (
        f"{measurement.pattern['placement']}: others used {brief(most.others_cpus or 0.0, 2)} CPUs "
        f"during a run, {most.other or 'unknown'} most of it"
    )


def _collected(measurement: Measurement) -> str:
    """Say which share of the time the garbage collector took; empty without its log."""
    shares = [
        (run.values["gc_time"] / took, run.values.get("gc_concurrent", 0.0) / took)
        for run in _runs(measurement)
        if "gc_time" in run.values and (took := run.values.get("run_time"))
    ]
    if not shares:
        return ""
    stopped, beside = (fmean(each) for each in zip(*shares, strict=True))
    more = f", concurrent GC {figures.share_text(beside)}" if beside else ""
    return f"; GC pauses {figures.share_text(stopped)} of the run time{more}"


def notes_of(group: list[Measurement]) -> list[str]:
    """Return notes on how to read these figures, and on placements that did not hold."""
    lines = []
    if len(group) > 1:
        base = group[0].pattern["placement"]
        lines.append(
            f"change: against {base}, by pairs of the same round; all intervals hold at once with "
            "95%. detectable: the smallest change that would have been found."
        )
    lines += [line for m in group if (line := _disturbed(m))]
    fewest = min(m.repetitions for m in group)
    if fewest < MIN_PAIRS:
        lines.append(f"{counted(fewest, 'run')}: a verdict takes {MIN_PAIRS}; raise --rounds")
    lines += [
        f"{m.pattern['placement']}: {line}"
        for m in group
        for line in (m.evidence.notes if m.evidence else None) or []
        if line.startswith(("a further repetition", NOT_HELD, NOTHING_MOVED))
    ]
    return lines


def changes(given: PictureInput) -> Iterator[Picture]:
    """Changes against the first placement; bars of the figures where there is one placement."""
    alone: list[Measurement] = []
    for group in by_program(given.measured):
        known = [one for one in effects(group) if one.ratio and one.low and one.high]
        if known:
            yield _changes(group, known)
        else:
            alone += group
    if alone:
        yield from generic.bars(replace(given, measured=alone))


def _changes(group: list[Measurement], known: list[Effect]) -> Picture:
    base = known[0].base
    rows = [_row(one) for one in known]
    return Picture(
        key=slug(f"effect changes {known[0].command}"),
        title=f"Change against {base}",
        subtitle=f"{known[0].command}; all intervals hold at once with 95%, pale: undecided",
        alt=" ".join(
            f"{heading(one.figure, one.metric)} under {one.placement}: "
            f"{change_text(one.ratio)}, {one.verdict}."
            for one in known
        ),
        spec=_spec(rows),
        measurements=group,
    )


def _row(one: Effect) -> dict[str, Any]:
    low, middle, high = (100 * ((value or 1) - 1) for value in (one.low, one.ratio, one.high))
    name = f"{heading(one.figure, one.metric)}, {one.placement}"
    text = f"{change_text(one.ratio)} {one.verdict}"
    tip = f"{name}: {interval_text(one.low or 1, one.high or 1)}, {one.verdict}"
    return {
        "name": name, "value": middle, "low": low, "high": high, "text": text, "tip": tip,
        "verdict": one.verdict,
    }  # fmt: skip


def _spec(rows: list[dict[str, Any]]) -> Spec:
    x = shapes.axis("value", "change in %", tickCount=6)
    pale: Spec = {"condition": {"test": "datum.verdict == 'undecided'", "value": 0.4}, "value": 1}
    return {
        "data": {"values": rows},
        "width": _WIDTH,
        "height": {"step": _ROW},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": None, "title": None},
        },
        "layer": [
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": "role:ink", "aria": False},
                "encoding": {"x": {"field": "zero", "type": "quantitative"}, "y": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2, "color": "role:series-1", "aria": False},
                "encoding": {
                    "x": {**x, "field": "low"},
                    "x2": {"field": "high"},
                    "opacity": pale,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": "role:series-1"},
                "encoding": {"x": x, "opacity": pale, "description": {"field": "tip"}},
            },
            {
                "mark": {"type": "text", "dy": -9, "color": "role:ink", "fontSize": 11},
                "encoding": {"x": x, "text": {"field": "text"}},
            },
        ],
    }


def summary_of(measured: list[Measurement]) -> str:
    """Return the largest effect on a headline that was found, or that there was none."""
    groups = by_program(measured)
    firsts = {f.figure for group in groups for f in effects(group)[:1]}
    found = [one for group in groups for one in effects(group) if one.figure in firsts]
    decided = [one for one in found if one.verdict != "undecided" and one.ratio]
    if not found:
        return "programs: one placement, so nothing to compare"
    if not decided:
        return "programs: no difference between placements was found"
    most = max(decided, key=lambda one: abs((one.ratio or 1) - 1))
    return (
        f"programs: {heading(most.figure, most.metric)} {change_text(most.ratio)} "
        f"under {most.placement}, which is {most.verdict} than {most.base}"
    )


def more_of(run: Run) -> dict[str, Any]:
    """Return ``effects``: what each placement does to each figure."""
    measured = [m for m in run.measurements if m.kind == "effect" and m.status == "measured"]
    return {"effects": [one.model_dump(mode="json") for one in effects(measured)]}


VIEW = View(
    title="Programs under placements",
    method="In each round the program runs once under each placement, in random order; its time is "
    "from its start to its end. Medians and their 95% intervals; placements are compared by the "
    "ratios of the same round.",
    table=show_table,
    pictures=(changes,),
    represents_path=False,
    summary=summary_of,
    more=more_of,
    more_by="--rounds",
)
