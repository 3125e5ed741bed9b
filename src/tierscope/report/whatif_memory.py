"""Limits of nodes with other memory modules, in the terminal."""

from collections.abc import Sequence

from rich.console import Console

from tierscope.analysis.whatif_memory import MemoryLimit
from tierscope.report.figures import limit_text
from tierscope.report.style import new_table, note, title


def show_memory_limits(console: Console, found: Sequence[MemoryLimit]) -> None:
    """Print a row for each node and memory, and what the limits are."""
    title(console, "Limits of reads by the nearest CPUs")
    table = new_table()
    for name in ("node", "memory"):
        table.add_column(name)
    for name in ("limit", "× now"):
        table.add_column(name, justify="right")
    table.add_column("set by")
    for one in found:
        table.add_row(
            str(one.node),
            one.memory,
            limit_text(one.limit) if one.limit else "not known",
            f"{one.ratio:.2f}" if one.ratio else "-",
            one.limit.link if one.limit else "-",
        )
    console.print(table)
    for line in dict.fromkeys(
        f"{one.limit.link}: {one.limit.formula}" for one in found if one.limit
    ):
        note(console, line)
    note(console, "Theoretical limits; nothing was measured, and nothing is kept.")
