"""The table of latencies from GPUs, with percentiles over multiprocessors where asked for."""

from rich.console import Console

from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.gpu_evidence import show_notes
from tierscope.report.style import new_table, title

_PERCENTILES = ("sm_latency_p5", "sm_latency_p50", "sm_latency_p95")


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the latencies of dependent loads from GPUs."""
    title(console, "GPU latency, ns per load")
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
    show_notes(console, measured)


def _percentiles(entry: Measurement) -> str:
    found = {figure.metric: figure.estimate for figure in entry.figures}
    return ", ".join(f"{found[name]:.0f}" for name in _PERCENTILES if name in found)
