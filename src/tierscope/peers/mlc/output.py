"""MLC's text of measurements."""

from collections.abc import Mapping, Sequence
from typing import Any

from tierscope.model.run import Measurement
from tierscope.peers.drop_in import reason_of
from tierscope.peers.mlc import options
from tierscope.peers.mlc.options import PEAK, Line
from tierscope.peers.mlc.plan import Cell, Section
from tierscope.plans.machine import MIB

LIKE = "v3.11b"
"""The version of MLC whose output this is."""
NOTHING = "-"
"""Placeholder of a missing figure."""
Found = Mapping[str, Measurement]
"""Measurements by id."""
_UNITS = "Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)"
_ALL_THREADS = "Using all the threads from each core if Hyper-threading is enabled"
_ONE_THREAD = "Using only one thread from each core if Hyper-threading is enabled"
_READ_ONLY = "Using Read-only traffic type"
_RATIOS = "Using traffic with the following read-write ratios"
_PREFETCHERS = (
    "*** Unable to modify prefetchers (try executing 'modprobe msr')",
    "*** So, enabling random access for latency measurements",
)
_SEVERAL = (
    "Will take several minutes to complete as multiple injection rates will be tried to get the "
    "best bandwidth"
)
_TOTAL = "total_bandwidth"


def value_of(cell: Cell, found: Found) -> tuple[float, float | None, float | None] | None:
    """Return a cell's figure and its interval, in ns or bytes/s on the bus; None: not measured.

    A sum of streams of several mixes has no interval.
    """
    entry = found.get(cell.spec.id)
    if entry is None or entry.status != "measured" or entry.estimate is None:
        return None
    if entry.metric == "bandwidth":
        return _on_bus(cell, entry)
    return entry.estimate, entry.ci_low, entry.ci_high


def bandwidth_beside(cell: Cell, found: Found) -> float | None:
    """Return bytes/s on the bus of the load while latency is measured."""
    entry = found.get(cell.spec.id)
    if entry is None or entry.status != "measured":
        return None
    figures = {figure.metric: figure.estimate for figure in entry.figures}
    rate = figures.get("bandwidth") if entry.metric != "bandwidth" else None
    return None if rate is None else rate * cell.parts[""]


def _on_bus(cell: Cell, entry: Measurement) -> tuple[float, float | None, float | None]:
    by_part = _by_part(cell, entry)
    if len(set(cell.parts.values())) > 1:
        return sum(by_part.values()), None, None
    factor = cell.parts[""]
    whole = next((f for f in entry.figures if f.metric == _TOTAL), entry)
    low, high = (None if end is None else end * factor for end in (whole.ci_low, whole.ci_high))
    return (whole.estimate or 0.0) * factor, low, high


def _by_part(cell: Cell, entry: Measurement) -> dict[str, float]:
    """Return bytes/s on the bus of each stream."""
    figures = {f.part: f.estimate for f in entry.figures if f.metric == "bandwidth" and f.part}
    figures[""] = entry.estimate or 0.0
    return {part: figures[part] * factor for part, factor in cell.parts.items()}


def head(line: Line, measured: Sequence[Section], version: str, switches: bool) -> list[str]:
    """Return the lines before the first section; ``switches``: prefetchers can be switched off."""
    lines = [f"Intel(R) Memory Latency Checker - {LIKE} (measured by tierscope {version})"]
    if line.shown:
        lines += [f"Command line parameters: {line.shown} ", ""]
    if line.mode and measured[0].latency_bytes:
        lines.append(f"Using buffer size of {_mib(measured[0].latency_bytes)}")
    if line.mode and measured[0].thread_bytes:
        size = _mib(measured[0].thread_bytes)
        lines.append(
            f"Using buffer size of {size}/thread for reads and an additional {size}/thread for "
            "writes"
        )
    times = any(one.mode in (options.LATENCY, options.IDLE, options.LOADED) for one in measured)
    if times and not switches and not {"e", "r", "T"} & set(line.given):
        lines += _PREFETCHERS
    if line.mode in (options.PEAK_INJECTION, options.MAX, options.LOADED):
        lines.append("")
    return lines


def _mib(size: int) -> str:
    return f"{size / MIB:.3f}MiB"


def body(section: Section, line: Line, found: Found, hz: float) -> list[str]:
    """Return a section's lines; ``hz``: the clock that idle latency is also given in."""
    threads = _ONE_THREAD if line.of("X") else _ALL_THREADS
    if section.mode == options.LATENCY:
        title = "Measuring idle latencies for random access (in ns)..."
        return [title, *_grid(section, found, 1.0, 6)]
    if section.mode == options.IDLE:
        return [_idle(cell, found, hz) for cell in section.cells]
    if section.mode == options.MATRIX:
        title = "Measuring Memory Bandwidths between nodes within system"
        kind = [] if "W" in line.given else [_READ_ONLY]
        return [title, _UNITS, threads, *kind, *_grid(section, found, 1e6, 7)]
    if section.mode == options.LOADED:
        return _loaded(section, line, found, threads)
    if section.mode == options.C2C:
        return _c2c(section, found)
    last = (
        [""] if line.mode else []
    )  # Scripts count lines from the end, where MLC leaves one empty.
    return [*_peaks(section, found, threads), *last]


def _text(value: float | None, width: int, decimals: int = 1) -> str:
    shown = NOTHING if value is None else f"{value:.{decimals}f}"
    return f"{shown:>{width}}"


def _estimate(cell: Cell, found: Found, scale: float) -> float | None:
    value = value_of(cell, found)
    return None if value is None else value[0] / scale


def _grid(section: Section, found: Found, scale: float, width: int) -> list[str]:
    """Rows are nodes with CPUs, columns all nodes with memory."""
    lines = ["\t\tNuma node", "Numa node" + "".join(f"\t{to:>6}" for to in section.columns)]
    for row in dict.fromkeys(cell.row for cell in section.cells):
        values = {c.column: _estimate(c, found, scale) for c in section.cells if c.row == row}
        cells = (_text(values[to], width) for to in section.columns)
        lines.append("\t".join([f"{row:>8}", *cells]))
    return lines


def _idle(cell: Cell, found: Found, hz: float) -> str:
    ns = _estimate(cell, found, 1.0)
    clocks = None if ns is None else ns * hz / 1e9
    shown = f"{_text(clocks, 1)} base frequency clocks (\t{_text(ns, 1)}\tns)"
    return f"Each iteration took {shown}"


def _peaks(section: Section, found: Found, threads: str) -> list[str]:
    best = section.mode == options.MAX
    lines = [
        f"Measuring {'Maximum' if best else 'Peak Injection'} Memory Bandwidths for the system",
        *[_SEVERAL] * best,
        _UNITS,
        threads,
        _RATIOS,
    ]
    for label in PEAK:
        cells = [cell for cell in section.cells if cell.row == label]
        values = [value for c in cells if (value := _estimate(c, found, 1e6)) is not None]
        shown = _text(max(values, default=None), 1, 2 if best else 1)
        lines.append(f"{label}\t{shown}")
        lines += [one for cell in cells for one in _threads(cell, found)]
    return lines


def _threads(cell: Cell, found: Found) -> list[str]:
    """Return a line for each thread, where threads are told apart."""
    entry = found.get(cell.spec.id)
    if not cell.threads or entry is None or entry.status != "measured":
        return []
    rates = _by_part(cell, entry)
    return [f"  CPU {cpu}:\t{rates[part] / 1e6:.1f}" for part, cpu in cell.threads.items()]


def _loaded(section: Section, line: Line, found: Found, threads: str) -> list[str]:
    kind = [] if {"W", "o"} & set(line.given) else [_READ_ONLY]
    lines = [
        "Measuring Loaded Latencies for the system",
        threads,
        *kind,
        "Inject\tLatency\tBandwidth",
        "Delay\t(ns)\tMB/sec",
        "=" * 26,
    ]
    for cell in section.cells:
        ns, rate = _estimate(cell, found, 1.0), bandwidth_beside(cell, found)
        if line.of("T"):  # MLC prints 0.00 where it measures no latency.
            ns, rate = 0.0, ns
        shown = None if rate is None else rate / 1e6
        lines.append(f" {cell.row:05d}\t{_text(ns, 6, 2)}\t{_text(shown, 9)}")
        lines += _threads(cell, found)
    return lines


def _c2c(section: Section, found: Found) -> list[str]:
    values = {(cell.row, cell.column): _estimate(cell, found, 1.0) for cell in section.cells}
    lines = ["Measuring cache-to-cache transfer latency (in ns)..."]
    for column, name in enumerate(("HIT ", "HITM")):
        shown = _text(values.get(("local", column)), 1)
        lines.append(f"Local Socket L2->L2 {name} latency\t{shown}")
    for home in ("writer", "reader") if section.columns else ():
        lines += [
            f"Remote Socket L2->L2 HITM latency (data address homed in {home} socket)",
            "\t\t\tReader Numa Node",
            "Writer Numa Node" + "\t".join(f"{node:>6}" for node in section.columns),
        ]
        for write in section.columns:
            row = (_text(values.get((f"{home}:{write}", to)), 6) for to in section.columns)
            lines.append("\t".join([f"{write:>13}", *row]))
    return lines


def section_json(section: Section, found: Found) -> dict[str, Any]:
    """Return a section for ``--json``: every figure with its interval, or why there is none."""
    cells = [_cell_json(cell, found) for cell in section.cells]
    missing = {"missing": section.missing} if section.missing else {}
    return {"mode": section.mode, "cells": cells, **missing}


def _cell_json(cell: Cell, found: Found) -> dict[str, Any]:
    entry = found.get(cell.spec.id)
    row = cell.row.strip(" :") if isinstance(cell.row, str) else cell.row
    place: dict[str, Any] = {"id": cell.spec.id, "row": row, "column": cell.column}
    value = value_of(cell, found)
    if entry is None or value is None:
        why = reason_of(entry) if entry else "interrupted"
        return {**place, "status": entry.status if entry else "skipped", "reason": why}
    names = ("estimate", "ci_low", "ci_high")
    result = {**place, "status": "measured", **dict(zip(names, value, strict=True))}
    result["unit"] = "B/s on the bus" if entry.metric == "bandwidth" else entry.unit
    beside = bandwidth_beside(cell, found)
    return result if beside is None else {**result, "load_bus_bytes_per_s": beside}
