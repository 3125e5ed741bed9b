"""The tables of the GPU kinds: copies, matrices, the GPU's own memory, latency, traces."""

from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.half_size import half_size
from tierscope.model.event import TraceRow
from tierscope.model.run import Measurement, Run
from tierscope.recipes.gpu_sets import SETS
from tierscope.report import figures
from tierscope.report.evidence import warnings
from tierscope.report.gpu_explain import explain
from tierscope.report.style import new_table, note, title

_GPU_KINDS = ("gpu-copy", "gpu-memory", "gpu-latency")
_MOST_TRACE_ROWS = 8
_LEAST_MATRIX = 2


def show_copies(console: Console, measurements: list[Measurement], run: Run) -> None:
    """Print copies as a matrix for each way of copying, or as a list; then sizes and traces."""
    measured = [entry for entry in measurements if entry.status == "measured"]
    if not measured:
        return
    title(console, "Copies, GB/s")
    rest = _show_matrices(console, measured)
    if rest:
        _show_list(console, rest, run)
    _show_half_sizes(console, measured)
    _show_notes(console, measured)


def show_memory(console: Console, measurements: list[Measurement], run: Run) -> None:
    """Print the bandwidth of GPUs' own memory."""
    measured = [entry for entry in measurements if entry.status == "measured"]
    if not measured:
        return
    title(console, "GPU memory, GB/s")
    table = new_table()
    for name in ("GPU", "operation", "each array", "GB/s", "of limit", "why"):
        table.add_column(name, justify="right" if name in ("GB/s", "of limit") else "left")
    for entry in measured:
        operation = entry.pattern["operation"]
        if operation == "random":
            operation += f" {entry.pattern['access_size']} B"
        table.add_row(
            entry.target,
            operation,
            figures.size_text(entry.pattern["size"]),
            figures.with_interval(entry, 1e9),
            efficiency_text(entry),
            Text(explain(entry, run.header.topology)),
        )
    console.print(table)
    _show_notes(console, measured)


def show_latency(console: Console, measurements: list[Measurement], _run: Run) -> None:
    """Print GPUs' latencies, with percentiles over multiprocessors where they were asked for."""
    measured = [entry for entry in measurements if entry.status == "measured"]
    if not measured:
        return
    title(console, "GPU latency, ns a load")
    table = new_table()
    table.add_column("from")
    table.add_column("to")
    table.add_column("working set", justify="right")
    table.add_column("ns", justify="right")
    spread = any(map(_percentiles, measured))
    if spread:
        table.add_column("over the multiprocessors: 5th percentile, median, 95th")
    for entry in measured:
        table.add_row(
            entry.initiator,
            entry.target,
            figures.size_text(entry.pattern["size"]),
            figures.with_interval(entry, 1.0),
            *([_percentiles(entry)] if spread else []),
        )
    console.print(table)
    _show_notes(console, measured)


def efficiency_text(entry: Measurement) -> str:
    """``87%`` of the limit; a dash where no limit is known."""
    return "–" if entry.efficiency is None else f"{entry.efficiency:.0%}"


def show_traces(console: Console, measurements: list[Measurement]) -> None:
    """Print where the time went, for each measurement that was traced."""
    for entry in measurements:
        rows = (entry.evidence and entry.evidence.trace) or []
        if rows:
            title(console, f"Trace of {entry.id}: where the time went")
            for group, what in (
                ("call", "calls of the CUDA runtime, on the host"),
                ("operation", "copies and memsets, on the device"),
                ("kernel", "kernels"),
            ):
                _show_trace(console, what, [row for row in rows if row.group == group])


def _show_trace(console: Console, what: str, rows: list[TraceRow]) -> None:
    if not rows:
        return
    total = sum(row.total_ns for row in rows)
    table = new_table()
    table.add_column("share", justify="right")
    for name in ("total ms", "count", "mean µs", "median µs", "min µs", "max µs", "stddev µs"):
        table.add_column(name, justify="right")
    table.add_column(what)
    for row in rows[:_MOST_TRACE_ROWS]:
        times = (row.mean_ns, row.median_ns, row.min_ns, row.max_ns, row.stddev_ns)
        table.add_row(
            f"{row.total_ns / total:.1%}" if total else "",
            f"{row.total_ns / 1e6:.2f}",
            str(row.count),
            *(f"{value / 1e3:.1f}" for value in times),
            Text(row.name + (f", {row.bytes / 1e6:.0f} MB" if row.bytes else "")),
        )
    console.print(table)


def _show_list(console: Console, measured: list[Measurement], run: Run) -> None:
    table = new_table()
    table.add_column("copy", overflow="fold")
    table.add_column("size", justify="right")
    table.add_column("GB/s", justify="right", no_wrap=True)
    table.add_column("a copy", justify="right", no_wrap=True)
    calls = {entry.id: _call_text(entry) for entry in measured}
    if any(calls.values()):
        table.add_column("a call", justify="right", no_wrap=True)
    table.add_column("of limit", justify="right")
    table.add_column("why", overflow="fold")
    last = ""
    for entry in measured:
        each = len(entry.pattern["transfers"]) == 1
        why = explain(entry, run.header.topology)
        table.add_row(
            Text(describe(entry)),
            figures.size_text(entry.pattern["size"]),
            figures.with_interval(entry, 1e9),
            _time_text(entry.pattern["size"] / (entry.estimate or 1)) if each else "",
            *([calls[entry.id]] if any(calls.values()) else []),
            efficiency_text(entry),
            Text("" if why == last else why),
        )
        last = why
    console.print(table)
    if any(calls.values()):
        note(
            console,
            "a copy: many queued back to back, by the GPU's clock; a call: one copy and the wait "
            "for it, by the host's",
        )


def _call_text(entry: Measurement) -> str:
    """What a program waits for one copy; empty where it was not measured."""
    found = {figure.metric: figure.estimate for figure in entry.figures}
    ns = found.get("latency of one call")
    return "" if ns is None else _time_text(ns / 1e9)


def describe(entry: Measurement) -> str:
    """``node:0 -> gpu:0, ce, pinned``, or how many go at once; all that tells copies apart."""
    transfers: list[dict[str, Any]] = entry.pattern["transfers"]
    first = transfers[0]
    streams = [f"{first['streams']} streams"] if first["streams"] > 1 else []
    name = first["name"]
    label = next((part for part in entry.id.split(".") if part in SETS), "")
    if len(transfers) == 2 and transfers[1]["source"] == first["destination"]:
        name = name.replace("->", "<->")
    elif len(transfers) > 1:
        name = f"{len(transfers)} transfers{_common_end(transfers)}"
    if label:
        name = f"{label}: {name}"
    peers = first["source"]["where"] == first["destination"]["where"] and len(transfers) <= 2
    reads = first["gpu"] == first["destination"].get("gpu")
    worker = [f"gpu:{first['gpu']} {'reads' if reads else 'writes'}"] if peers else []
    if first["source"] == first["destination"]:
        worker = []
    return ", ".join([name, first["engine"], *worker, *_memory(entry), *_rows(entry), *streams])


def _common_end(transfers: list[dict[str, Any]]) -> str:
    names = [transfer["name"].partition(" -> ") for transfer in transfers]
    start, _, end = names[0]
    if all(name[0] == start for name in names):
        return f" from {start}"
    return f" to {end}" if all(name[2] == end for name in names) else ""


def _memory(entry: Measurement) -> list[str]:
    """The kind of host memory of a copy: ``pinned``, ``registered in 2m pages``."""
    first = entry.pattern["transfers"][0]
    return [
        end["memory"] + ("" if end["pages"] == "base" else f" in {end['pages']} pages")
        for end in (first["source"], first["destination"])
        if "memory" in end
    ]


def _rows(entry: Measurement) -> list[str]:
    """The rows of a strided copy."""
    row, pitch = entry.pattern.get("row_bytes"), entry.pattern.get("pitch")
    return [f"rows of {row} B every {pitch} B"] if row else []


def _show_matrices(console: Console, measured: list[Measurement]) -> list[Measurement]:
    """Print what forms a matrix of sources and destinations; returns the rest."""
    groups: dict[tuple[Any, ...], list[Measurement]] = {}
    for entry in measured:
        transfers = entry.pattern["transfers"]
        first = transfers[0]
        both = len(transfers) == 2 and transfers[1]["source"] == first["destination"]
        if len(transfers) == 1 or both:
            issuer = first["gpu"] == first["destination"].get("gpu")
            peer = first["source"]["where"] == first["destination"]["where"]
            side = ("reads" if issuer else "writes") if peer else "reads"
            way = "one way"
            if both:
                summed = all(one["reported"] for one in transfers)
                way = "both ways at once, their sum" if summed else "one way, beside the way back"
            layout = tuple(_rows(entry))
            key = (first["engine"], side, way, entry.pattern["size"], layout, first["streams"])
            groups.setdefault(key, []).append(entry)
    shown: set[str] = set()
    for key, members in groups.items():
        ends = [_ends(entry) for entry in members]
        sources = sorted({source for source, _ in ends}, key=_natural)
        destinations = sorted({destination for _, destination in ends}, key=_natural)
        distinct = len(set(ends)) == len(ends)
        if min(len(sources), len(destinations)) < _LEAST_MATRIX or not distinct:
            continue
        _show_matrix(console, key, dict(zip(ends, members, strict=True)), sources, destinations)
        shown |= {entry.id for entry in members}
    return [entry for entry in measured if entry.id not in shown]


def _natural(end: str) -> tuple[str, int]:
    """Order gpu:2 before gpu:10."""
    kind, _, number = end.partition(":")
    return kind, int(number) if number.isdigit() else -1


def _ends(entry: Measurement) -> tuple[str, str]:
    source, _, destination = entry.pattern["transfers"][0]["name"].partition(" -> ")
    return source, destination


def _show_matrix(
    console: Console,
    key: tuple[Any, ...],
    cells: dict[tuple[str, str], Measurement],
    sources: list[str],
    destinations: list[str],
) -> None:
    engine, side, way, size, layout, _streams = key
    # Copies between GPUs stand among those with the host, and have no host memory to name.
    memory = dict.fromkeys(kind for entry in cells.values() for kind in _memory(entry))
    more = [figures.size_text(size), *layout, *(f"host memory {kind}" for kind in memory)]
    note(console, f"engine {engine}, {side} by the GPU that works, {way}, {', '.join(more)}")
    table = new_table()
    table.add_column("from \\ to")
    for destination in destinations:
        table.add_column(destination, justify="right")
    for source in sources:
        row = [cells.get((source, destination)) for destination in destinations]
        table.add_row(source, *(figures.with_interval(e, 1e9) if e else "" for e in row))
    console.print(table)
    known = [entry.efficiency for entry in cells.values() if entry.efficiency is not None]
    if known:
        ends = dict.fromkeys(f"{share:.0%}" for share in (min(known), max(known)))
        note(console, f"{' to '.join(ends)} of the links' limits")


def _show_half_sizes(console: Console, measured: list[Measurement]) -> None:
    """For each copy that was measured over sizes: its peak, and the size that gives half of it."""
    sweeps: dict[str, list[tuple[float, float]]] = {}
    for entry in measured:
        point = (float(entry.pattern["size"]), entry.estimate or 0.0)
        sweeps.setdefault(describe(entry), []).append(point)
    for name, points in sweeps.items():
        found = half_size(points)
        if found is not None:
            note(
                console,
                f"{name}: peak {found.peak / 1e9:.1f} GB/s; half of it from "
                f"{figures.size_text(found.size)} on; the smallest copy takes "
                f"{_time_text(found.least_s)}",
            )


def _show_notes(console: Console, measured: list[Measurement]) -> None:
    for line in warnings(measured):
        if not line.startswith("grid of"):
            note(console, line)
    verified = sum(bool(entry.evidence and entry.evidence.verified) for entry in measured)
    note(
        console,
        f"data verified on the GPU in {verified} of {len(measured)}; {_link_text(measured)}",
    )
    show_traces(console, measured)


def _link_text(measured: list[Measurement]) -> str:
    """What NVML saw of each GPU while the measurements ran."""
    seen: dict[int, str] = {}
    for entry in measured:
        for state in (entry.evidence and entry.evidence.gpus) or []:
            parts = [f"gpu:{state.gpu}"]
            if state.pcie_generation and state.pcie_width:
                parts.append(f"PCIe Gen{state.pcie_generation[-1]:g} x{state.pcie_width[-1]:g}")
            if state.sm_clock_hz and state.memory_clock_hz:
                parts.append(
                    f"{state.sm_clock_hz[-1] / 1e6:.0f} MHz, memory "
                    f"{state.memory_clock_hz[-1] / 1e6:.0f} MHz"
                )
            parts.append(", ".join(state.throttle) if state.throttle else "not throttled")
            seen[state.gpu] = " ".join(parts[:2]) + "".join(f", {part}" for part in parts[2:])
    return "; ".join(seen.values()) or "clocks and link unknown (no NVML)"


def _percentiles(entry: Measurement) -> str:
    found = {figure.metric: figure.estimate for figure in entry.figures}
    names = ("5th percentile", "median", "95th percentile")
    values = [found.get(f"latency of SMs, {name}") for name in names]
    return ", ".join(f"{value:.0f}" for value in values if value is not None)


def _time_text(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
