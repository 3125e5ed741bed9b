"""The table of programs: each figure under each placement, beside the first one."""

import math
from statistics import median

from rich.console import Console
from rich.text import Text

from tierscope.analysis.effect import (
    MIN_PAIRS,
    Effect,
    by_program,
    effects,
    figures_of,
    metric_of,
    values_of,
)
from tierscope.kinds.effect.placing import NOT_HELD
from tierscope.kinds.effect.tiers import NOTHING_MOVED
from tierscope.kinds.effect.words import called, change_text, interval_text
from tierscope.model.errors import counted
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import by_node
from tierscope.report.style import new_table, note, title

_STYLES = {"better": "green", "worse": "red", "undecided": "dim"}


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print the measured results of programs."""
    title(console, "Programs under placements")
    for group in by_program(measured):
        console.print(Text(str(group[0].pattern["command"]), style="bold"))
        rounds = max(m.visits for m in group)
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
    table = new_table()
    table.add_column("figure", no_wrap=True)
    table.add_column("placement", overflow="fold")
    table.add_column("median", justify="right", no_wrap=True)
    for heading in ("change", "95%", "verdict", "detectable"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in figures_of(group[0]):
        shown = [m for m in group if values_of(m, name)]
        unit, factor = _scale(group[0], name, shown)
        for number, m in enumerate(shown):
            effect = against.get((str(m.pattern["placement"]), name))
            style = _STYLES[effect.verdict] if effect else ""
            cells = [
                called(name) if number == 0 else "",
                str(m.pattern["placement"]),
                f"{_median(m, name, factor)} {unit}",
            ]
            table.add_row(*map(Text, cells), *(Text(one, style) for one in _compared(effect)))
    console.print(table)


def _scale(base: Measurement, name: str, shown: list[Measurement]) -> tuple[str, float]:
    unit = METRICS[metric_of(base, name)].unit
    found, factor = figures.scale_of(unit, [median(values_of(m, name)) for m in shown])
    return ("" if found == "count" else found), factor


def _median(m: Measurement, name: str, factor: float) -> str:
    """Return a figure's median with its interval, where the measurement has it."""
    found: Measurement | Figure | None = next(
        (one for one in m.figures if (one.part or one.metric) == name), None
    )
    if found is None and name == figures_of(m)[0]:
        found = m
    if found is None or not figures.has_interval(found):
        return figures.significant(median(values_of(m, name)) / factor, 3)
    return figures.with_interval(found, factor)


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
    return f"{100 * share:.2g}%" if share < 1 else f"x{1 + share:.2g}"


def _show_pages(console: Console, group: list[Measurement]) -> None:
    for m in group:
        amounts = pages_of(m)
        size = figures.size_text(sum(amounts.values()))
        seen = f"{size} seen, {by_node(amounts)}" if amounts else "ended before its memory was seen"
        where = f"CPUs {m.initiator.partition(':')[2]}, memory of {m.target}{_placed_by(m)}"
        console.print(Text(f"{m.pattern['placement']}: {where}; {seen}{_migrated(m)}"))


def _placed_by(measurement: Measurement) -> str:
    """Say what placed by weights, and by which; empty of other policies."""
    program = measurement.evidence.program if measurement.evidence else None
    ways = dict.fromkeys(
        "a preloaded library"
        if run.mechanism == "user"
        else f"the kernel's weights {':'.join(map(str, run.weights))}"
        for run in (program.runs if program else [])
        if run.weights
    )
    return f" by {' and '.join(ways)}" if ways else ""


def _migrated(measurement: Measurement) -> str:
    """Say what the kernel migrated in a run, on average; empty without tiering."""
    program = measurement.evidence.program if measurement.evidence else None
    found = [
        run.migrated_bytes
        for run in (program.runs if program else [])
        if run.migrated_bytes is not None
    ]
    if not found:
        return ""
    return f"; {figures.size_text(math.fsum(found) / len(found))} migrated in a run"


def pages_of(measurement: Measurement) -> dict[str, float]:
    """Return the bytes by node of all runs, on average over those in which they were seen."""
    program = measurement.evidence.program if measurement.evidence else None
    seen = [run.bytes_by_node for run in program.runs if run.bytes_by_node] if program else []
    nodes = sorted({node for one in seen for node in one}, key=int)
    return {node: math.fsum(one.get(node, 0) for one in seen) / len(seen) for node in nodes}


def notes_of(group: list[Measurement]) -> list[str]:
    """Return what a reader of these figures has to know."""
    lines = []
    if len(group) > 1:
        base = group[0].pattern["placement"]
        lines.append(
            f"change: against {base}, by pairs of the same round; all intervals hold at once with "
            "95%. detectable: the smallest change that would have been found."
        )
    fewest = min(m.visits for m in group)
    if fewest < MIN_PAIRS:
        lines.append(f"{counted(fewest, 'run')}: a verdict takes {MIN_PAIRS}; raise --rounds")
    lines += [
        f"{m.pattern['placement']}: {line}"
        for m in group
        for line in (m.evidence.notes if m.evidence else None) or []
        if line.startswith(("a further visit", NOT_HELD, NOTHING_MOVED))
    ]
    return lines
