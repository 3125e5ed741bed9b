"""A whole run in the terminal: the machine, a table for each kind, what was not measured, why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import counted
from tierscope.model.run import Run
from tierscope.model.topology import emulated_parts
from tierscope.report.energy import show_energy
from tierscope.report.figures import size_text
from tierscope.report.naming import missing_by_cause
from tierscope.report.run_view import Beside
from tierscope.report.style import new_table, note, title, titled_as_imported
from tierscope.report.summary import conclusions, show_summaries, verdict_of
from tierscope.report.table import show_table
from tierscope.report.tiers import tier_rows, tiers_of
from tierscope.report.view import Views, kinds_in, view_of

_MAX_CAUSES = 12
_LATE_S = 0.1
"""Seconds after its planned start from which on a run is reported as late."""
_MAX_OF_CAUSE = 4
_VERDICT_STYLES = {
    "usable": "bold green",
    "usable with care": "bold yellow",
    "measure again": "bold red",
}
_SETTINGS = ("governor", "turbo", "prefetchers", "thp", "numa-balancing", "load", "cpu-limit")


def show_run(
    console: Console, run: Run, path: Path, views: Views, beside: Beside | None = None
) -> None:
    """Print everything about a run that fits a terminal; published figures before its tables."""

    def show() -> None:
        if beside:
            show_summaries(console, [beside.summary])
        _show_kinds(console, run, views)

    with titled_as_imported(run.header.imported is not None):
        show_between(console, run, path, show, views, concludes=True)


def show_between(
    console: Console,
    run: Run,
    path: Path,
    show: Callable[[], None],
    views: Views,
    concludes: bool = False,
) -> None:
    """Print the verdict on a run, what ``show`` prints, then what was not measured, the machine and
    where the run file is.

    Where it ``concludes``, what a reader concludes and the tiers follow the verdict; else ``show``
    says that."""
    console.print()
    verdict = verdict_of(run, views)
    console.print(Text(verdict.sentence, style=_VERDICT_STYLES[verdict.word]))
    if concludes:
        for sentence in conclusions(run, views):
            note(console, sentence, style="")
        show_tiers(console, run, views)
    show()
    show_missing(console, run)
    show_machine(console, run)
    show_end(console, run, path)


def _show_kinds(console: Console, run: Run, views: Views) -> None:
    for kind in kinds_in(run, views):
        measured = [m for m in run.measurements if m.kind == kind and m.has_figure]
        if measured:
            view = view_of(views, kind)
            if view.table:
                view.table(console, measured, run)
            else:
                show_table(console, measured, run, view)
    show_energy(console, run)


def show_machine(console: Console, run: Run) -> None:
    """Print what was measured on: the machine and the settings that figures depend on."""
    header, machine = run.header, run.header.machine
    title(console, f"{header.host}: {machine['cpu']}")
    if header.imported:
        console.print(Text(f"{header.imported.said}.", style="bold yellow"))
        note(console, f"imported {header.started} by tierscope {header.tierscope}")
        return
    if header.emulated:
        console.print(
            Text(
                f"This machine's {emulated_parts(machine['hypervisor'])} are emulated in software: "
                "its figures show that measuring works, not how fast anything is.",
                style="bold red",
            )
        )
    for line in _machine_lines(machine):
        console.print(Text(line))
    settings = ", ".join(
        f"{name} {header.environment[name]}" for name in _SETTINGS if name in header.environment
    )
    note(console, f"{header.environment.get('kernel', '')}; {settings}")
    note(console, f"measured {header.started} by tierscope {header.tierscope}")


def _machine_lines(machine: dict[str, Any]) -> list[str]:
    usable = format_ranges(tuple(machine["usable_cpus"]))
    hypervisor = f", virtual ({machine['hypervisor']})" if machine["hypervisor"] else ""
    first = (
        f"{counted(machine['packages'], 'socket')}, {counted(machine['cores'], 'core')}, "
        f"{counted(machine['cpus'], 'CPU')} (usable: {usable}){hypervisor}"
    )
    caches = ", ".join(
        f"{cache['count']} x L{cache['level']} {size_text(cache['size_bytes'])}"
        for cache in machine["caches"]
    )
    lines = [first, f"caches reported by the system: {caches}"] if caches else [first]
    for node in machine["nodes"]:
        cpus = f"CPUs {format_ranges(tuple(node['cpus']))}" if node["cpus"] else "no CPUs"
        free = f", {size_text(node['free_bytes'])} free" if node["free_bytes"] is not None else ""
        behind = "".join(
            f", behind a memory-side cache of {size_text(cache['size_bytes'])}"
            for cache in node.get("memory_side_caches", [])
        )
        lines.append(
            f"node {node['node']}: {node['kind']}, {size_text(node['total_bytes'])}{free}, {cpus}"
            f"{behind}"
        )
    return lines + [f"gpu {gpu['index']}: {gpu['name']}" for gpu in machine["gpus"]]


def show_tiers(console: Console, run: Run, views: Views) -> None:
    """Print the tiers of each initiator that has several, nearest first."""
    groups = tiers_of(run, views)
    if not groups:
        return
    title(console, "Tiers")
    for initiator, tiers in groups.items():
        console.print(Text(f"from {initiator}", style="bold"))
        table = new_table(
            "target", "capacity", "idle latency", "bandwidth", "of limit", words=("target",)
        )
        for row in tier_rows(tiers):
            cells = (row.latency.text, row.bandwidth.text)
            share = row.limit.partition(" ")[0]
            table.add_row(row.tier.name, row.capacity, *cells, share)
        console.print(table)


def show_missing(console: Console, run: Run) -> None:
    """Print what was skipped or failed, why, and what to do."""
    groups = missing_by_cause(run.measurements)
    if not groups:
        return
    title(console, "Not measured")
    headings = ("", "measurement", "why, and what to do")
    table = new_table(*headings, words=headings)
    for group in groups[:_MAX_CAUSES]:
        style = "bold red" if group.status == "failed" else "yellow"
        table.add_row(Text(f"{len(group.members)} {group.status}", style=style), "", group.why)
        for measurement in group.members[:_MAX_OF_CAUSE]:
            reason = "; ".join(filter(None, (measurement.reason, measurement.remedy)))
            table.add_row("", measurement.id, Text(reason, style="dim"))
        if len(group.members) > _MAX_OF_CAUSE:
            more = f"and {len(group.members) - _MAX_OF_CAUSE} more in the run file"
            table.add_row("", Text(more, style="dim"), "")
    console.print(table)


def show_end(console: Console, run: Run, path: Path) -> None:
    """Print how the run ended and where its file is."""
    console.print()
    if run.header.start_at is not None:
        style = "bold yellow" if (_late(run) or 0) > _LATE_S else ""
        console.print(Text(start_text(run), style=style))
    counts = [
        sum(m.status == s for m in run.measurements) for s in ("measured", "skipped", "failed")
    ]
    text = "{} measured, {} skipped, {} failed".format(*counts)
    if run.header.imported:
        text = f"{sum(m.status == 'imported' for m in run.measurements)} imported, {text}"
    console.print(Text(f"{text}; run file: {path}"), soft_wrap=True)


def start_text(run: Run) -> str:
    """Say when a run that was to begin at a given time did so, and how good the clock was."""
    late = _late(run)
    told = "" if late is None else f", {late:.3g} s late" if late > _LATE_S else ", in time"
    clock = run.header.clock
    if clock is None:
        state = "the kernel does not report the state of the clock"
    elif not clock.synchronized:
        state = "the clock is not synchronized and may differ from other hosts' by seconds"
    else:
        state = f"the clock is synchronized, off by at most {clock.max_error_s or 0:.2g} s"
    return f"Start at {run.header.start_at}{told}; {state}."


def _late(run: Run) -> float | None:
    return run.footer.late_s if run.footer else None
