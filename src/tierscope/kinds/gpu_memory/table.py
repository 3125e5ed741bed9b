"""The table of GPUs' own memory."""

from rich.console import Console
from rich.text import Text

from tierscope.kinds.gpu_memory.explain import explain
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.gpu_evidence import show_notes
from tierscope.report.style import new_table, title


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print the bandwidth of GPUs' own memory."""
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
            figures.of_limit(entry),
            Text(explain(entry, run.header.topology)),
        )
    console.print(table)
    show_notes(console, measured)
