"""What was observed of GPUs while they were measured: clocks, links, traces, verification."""

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.event import GpuState
from tierscope.model.gpu_state import CopiesOverlap, TraceRow
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.evidence import warnings
from tierscope.report.style import new_table, note, title

_MAX_TRACE_ROWS = 8
_TRACE_GROUPS = (
    ("call", "calls of the CUDA runtime, on the host"),
    ("operation", "copies and memsets, on the device"),
    ("kernel", "kernels"),
)


def states_of(measurement: Measurement) -> list[GpuState]:
    """Return what NVML saw of each GPU that took part."""
    return (measurement.evidence and measurement.evidence.gpus) or []


def throttled(measurement: Measurement) -> str:
    """Say what throttled a GPU's clocks while it was measured; empty where nothing did."""
    reasons = {reason for state in states_of(measurement) for reason in state.throttle or []}
    return f"the GPU's clocks were throttled: {', '.join(sorted(reasons))}" if reasons else ""


def show_notes(console: Console, measured: list[Measurement]) -> None:
    """Print what a reader must know of figures of GPUs, and what was observed."""
    for line in warnings(measured):
        note(console, line)
    verified = sum(bool(entry.evidence and entry.evidence.verified) for entry in measured)
    count = f"{verified} of {counted(len(measured), 'measurement')}"
    note(console, f"data verified on the GPU in {count}; {_links(measured)}")
    show_traces(console, measured)


def _links(measured: list[Measurement]) -> str:
    """Say what NVML saw of each GPU while the measurements ran."""
    seen: dict[int, str] = {}
    for entry in measured:
        for state in states_of(entry):
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


def show_traces(console: Console, measurements: list[Measurement]) -> None:
    """Print where the time went, for each measurement that was traced."""
    for entry in measurements:
        rows = (entry.evidence and entry.evidence.trace) or []
        if rows:
            title(console, f"Trace of {entry.id}: where the time went")
            for group, heading in _TRACE_GROUPS:
                _show_trace(console, heading, [row for row in rows if row.group == group])
            if entry.evidence and entry.evidence.copies_overlap:
                note(console, overlap_text(entry.evidence.copies_overlap))


def overlap_text(found: CopiesOverlap) -> str:
    """Say whether copies were under way at the same time."""
    if found.copies < 2 or not found.busy_ns:
        return "Fewer than two copies were traced, so none could overlap."
    if found.most < 2:
        return (
            f"No two of {found.copies} copies overlapped: one engine made them one after the "
            "other, and more streams would not change that."
        )
    share = figures.share_text(found.overlapped_ns / found.busy_ns)
    return (
        f"{found.copies} copies overlapped for {share} of the time in which any was under way, "
        f"up to {found.most} at once."
    )


def _show_trace(console: Console, heading: str, rows: list[TraceRow]) -> None:
    if not rows:
        return
    total = sum(row.total_ns for row in rows)
    table = new_table()
    table.add_column("share", justify="right")
    for name in ("total ms", "count", "mean µs", "median µs", "min µs", "max µs", "stddev µs"):
        table.add_column(name, justify="right")
    table.add_column(heading)
    for row in rows[:_MAX_TRACE_ROWS]:
        times = (row.mean_ns, row.median_ns, row.min_ns, row.max_ns, row.stddev_ns)
        table.add_row(
            f"{row.total_ns / total:.1%}" if total else "",
            f"{row.total_ns / 1e6:.2f}",
            str(row.count),
            *(f"{value / 1e3:.1f}" for value in times),
            Text(_moved(row)),
        )
    console.print(table)


def _moved(row: TraceRow) -> str:
    """``memcpy host to GPU, 48 x 64 MiB, 3221 MB``."""
    each = f", {row.count} x {figures.size_text(row.each_bytes)}" if row.each_bytes else ""
    return row.name + each + (f", {row.bytes / 1e6:.0f} MB" if row.bytes else "")
