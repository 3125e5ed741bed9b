"""The tables of copies: a matrix for each way of copying, a list of the others, sizes, traces."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.half_size import half_size
from tierscope.kinds.gpu_copy.copies import Copy, copies_of, describe, memory_of, rows
from tierscope.kinds.gpu_copy.explain import explain
from tierscope.kinds.gpu_copy.host_rate import node_lines
from tierscope.model.run import Measurement, Run
from tierscope.model.transfers import BOTH_WAYS, between_gpus
from tierscope.report import figures
from tierscope.report.gpu_evidence import show_notes
from tierscope.report.style import new_table, note, title

_FIRST = (
    "first: the first copy in new memory, by the host's clock, before clocks, links and the "
    "driver's own buffers were warm; in no other figure"
)
_MIN_MATRIX = 2
"""Sources and destinations from which on copies form a matrix."""


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print copies as a matrix for each way of copying, or as a list; then sizes and traces."""
    title(console, "Copies, GB/s")
    copies = copies_of(measured, run)
    rest = _show_matrices(console, copies)
    if rest:
        _show_list(console, rest, run)
    _show_half_sizes(console, copies)
    for line in node_lines(copies, run):
        note(console, line)
    show_notes(console, measured)


def _show_list(console: Console, copies: list[Copy], run: Run) -> None:
    calls = {copy.entry.id: _call_text(copy.entry) for copy in copies}
    with_calls = any(calls.values())
    firsts = {copy.entry.id: _first_text(copy.entry) for copy in copies}
    with_firsts = any(firsts.values())
    table = new_table()
    table.add_column("copy", overflow="fold")
    table.add_column("size", justify="right")
    table.add_column("GB/s", justify="right", no_wrap=True)
    if with_firsts:
        table.add_column("first", justify="right", no_wrap=True)
    table.add_column("a copy", justify="right", no_wrap=True)
    if with_calls:
        table.add_column("a call", justify="right", no_wrap=True)
    table.add_column("of limit", justify="right")
    table.add_column("why", overflow="fold")
    last = ""
    for copy in copies:
        entry = copy.entry
        alone = "transfers" not in entry.pattern and "way" not in entry.pattern
        why = explain(copy, run.header.topology)
        table.add_row(
            Text(describe(copy)),
            figures.size_text(copy.size),
            figures.with_interval(entry, 1e9),
            *([firsts[entry.id]] if with_firsts else []),
            _time_text(copy.size / (entry.estimate or 1)) if alone else "",
            *([calls[entry.id]] if with_calls else []),
            figures.of_limit(entry),
            Text("" if why == last else why),
        )
        last = why
    console.print(table)
    if with_firsts:
        note(console, _FIRST)
    if with_calls:
        note(
            console,
            "a copy: one of many queued back to back, timed by the GPU; a call: one copy and the "
            "wait for it, timed by the host",
        )


def _first_text(entry: Measurement) -> str:
    """Return the bandwidth of the first copy in new memory; empty where there was none."""
    found = figures.side_figure(entry, "first_copy_bandwidth")
    return figures.plain(found, 1e9) if found else ""


def _call_text(entry: Measurement) -> str:
    """Return what a program waits for one copy; empty where it was not measured."""
    found = (f.estimate for f in entry.figures if f.metric == "call_latency")
    ns = next(found, None)
    return "" if ns is None else _time_text(ns / 1e9)


Matrix = dict[tuple[str, str], Copy]
"""Copies by source and destination."""


def _show_matrices(console: Console, copies: list[Copy]) -> list[Copy]:
    """Print what forms a matrix of sources and destinations; returns the rest."""
    groups: dict[tuple[Any, ...], list[Copy]] = {}
    for copy in copies:
        pattern = copy.entry.pattern
        if "transfers" not in pattern:
            keys = ("engine", "way", "size", "row_bytes", "pitch", "streams")
            same = (copy.source_writes, *(pattern.get(key) for key in keys))
            groups.setdefault(same, []).append(copy)
    shown: set[str] = set()
    for members in groups.values():
        cells = {(copy.entry.initiator, copy.entry.target): copy for copy in members}
        sources = sorted({source for source, _ in cells}, key=_natural)
        destinations = sorted({destination for _, destination in cells}, key=_natural)
        distinct = len(cells) == len(members)
        if distinct and min(len(sources), len(destinations)) >= _MIN_MATRIX:
            _show_matrix(console, cells, sources, destinations)
            shown |= {copy.entry.id for copy in members}
    return [copy for copy in copies if copy.entry.id not in shown]


def _natural(endpoint: str) -> tuple[str, int]:
    """Order gpu:2 before gpu:10."""
    kind, _, number = endpoint.partition(":")
    return kind, int(number) if number.isdigit() else -1


def _show_matrix(
    console: Console, cells: Matrix, sources: Sequence[str], destinations: Sequence[str]
) -> None:
    note(console, _heading(list(cells.values())))
    table = new_table()
    table.add_column("from \\ to")
    for destination in destinations:
        table.add_column(destination, justify="right")
    for source in sources:
        row = [cells.get((source, destination)) for destination in destinations]
        table.add_row(source, *(figures.with_interval(c.entry, 1e9) if c else "" for c in row))
    console.print(table)
    known = [c.entry.efficiency for c in cells.values() if c.entry.efficiency is not None]
    if known:
        bounds = dict.fromkeys(f"{share:.0%}" for share in (min(known), max(known)))
        note(console, f"{' to '.join(bounds)} of the links' limits")
    firsts = [figures.figure_of(c.entry, "first_copy_bandwidth") for c in cells.values()]
    if rates := sorted(one for one in firsts if one is not None):
        bounds = dict.fromkeys(f"{rate / 1e9:.3g}" for rate in (rates[0], rates[-1]))
        note(console, f"{_FIRST}: {' to '.join(bounds)} GB/s")


def _heading(copies: Sequence[Copy]) -> str:
    first = copies[0]
    pattern: Mapping[str, Any] = first.entry.pattern
    way = "one direction"
    if "way" in pattern:
        both = pattern["way"] == BOTH_WAYS
        way = "both directions at once, their sum" if both else "one direction, the other one busy"
    issued = []
    if any(between_gpus(copy.transfers[0]) for copy in copies if copy.transfers):
        side = "the source writes" if first.source_writes else "the destination reads"
        issued = [f"between GPUs {side}"]
    # Copies between GPUs stand among those with the host, and have no host memory to name.
    memory = dict.fromkeys(kind for copy in copies for kind in memory_of(copy))
    parts = [
        f"engine {pattern.get('engine', '')}",
        *issued,
        way,
        figures.size_text(first.size),
        *rows(first),
        *(f"host memory {kind}" for kind in memory),
    ]
    return ", ".join(parts)


def _show_half_sizes(console: Console, copies: list[Copy]) -> None:
    """Print, for each copy that was measured over sizes, its peak and the size that gives half."""
    sweeps: dict[str, list[tuple[float, float]]] = {}
    for copy in copies:
        point = (float(copy.size), copy.entry.estimate or 0.0)
        sweeps.setdefault(describe(copy), []).append(point)
    for name, points in sweeps.items():
        found = half_size(points)
        if found is not None:
            note(
                console,
                f"{name}: peak {found.peak / 1e9:.1f} GB/s; half of it from "
                f"{figures.size_text(found.size)} on; the smallest copy takes "
                f"{_time_text(found.least_s)}",
            )


def _time_text(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{figures.significant(seconds / factor, 3)} {unit}"
    return f"{figures.significant(seconds / 1e-6, 3)} µs"
