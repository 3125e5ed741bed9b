"""The look that all tables share."""

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tierscope.report.console import ascii_text

_ASCII_HEAD = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""SIMPLE_HEAD of ASCII signs; rich itself would frame every cell."""


class SafeTable(Table):
    """A table that is laid out in ASCII where the output takes nothing else."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self._make_ascii(options)
        return super().__rich_console__(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        self._make_ascii(options)
        return super().__rich_measure__(console, options)

    def _make_ascii(self, options: ConsoleOptions) -> None:
        if not options.ascii_only:
            return
        self.box = self.box and _ASCII_HEAD
        for column in self.columns:
            column.header = _in_ascii(column.header)
            column._cells = [_in_ascii(cell) for cell in column._cells]


def _in_ascii(cell: RenderableType) -> RenderableType:
    if isinstance(cell, str):
        return ascii_text(Text(cell))
    return ascii_text(cell) if isinstance(cell, Text) else cell


def new_table() -> Table:
    """Return an empty table in the common style."""
    return SafeTable(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False, padding=(0, 1))


def new_grid() -> Table:
    """Return an empty table without lines and heads."""
    return SafeTable(
        box=None, show_header=False, pad_edge=False, padding=(0, 2), collapse_padding=True
    )


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
