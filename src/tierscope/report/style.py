"""The look that all tables share."""

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


def new_table() -> Table:
    """Return an empty table in the common style."""
    return Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False, padding=(0, 1))


def fits(console: Console, table: Table) -> bool:
    """Whether the console is wide enough to print a table without cutting anything."""
    boundless = console.options.update(max_width=10_000)
    return Measurement.get(console, boundless, table).maximum <= console.width


def title(console: Console, text: str) -> None:
    """Print a section's title."""
    console.print()
    console.print(Text(text, style="bold reverse" if console.is_terminal else "bold"))


def note(console: Console, text: str, style: str = "dim") -> None:
    """Print a line below a table, wrapped and indented."""
    for line in Text(text, style=style).wrap(console, max(1, console.width - 2)):
        line.rstrip()
        console.print(Text("  ").append_text(line), no_wrap=True)
