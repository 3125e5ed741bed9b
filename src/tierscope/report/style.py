"""The look that all tables share."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tierscope.report.console import ascii_text

_ASCII_HEAD = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""SIMPLE_HEAD of ASCII signs; rich itself would frame every cell."""


class SafeTable(Table):
    """A table that is never cut, and laid out in ASCII where the output takes nothing else.

    It wraps between words. Where its longest words do not fit side by side, each row becomes lines
    of a heading and a value.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self._make_ascii(options)
        boundless = options.update(max_width=10_000)
        measured = [self._measure_column(console, boundless, column) for column in self.columns]
        whole = [
            Measurement(width.maximum if column.no_wrap else width.minimum, width.maximum)
            for width, column in zip(measured, self.columns, strict=True)
        ]
        room = options.max_width - self._extra_width
        if sum(width.minimum for width in whole) <= room:
            measured = whole
        if sum(width.minimum for width in measured) > room and self.show_header:
            yield from self._stacked()
            return
        for number, width in enumerate(_shared(measured, room)):
            self.columns[number].overflow = "fold"
            self.columns[number].no_wrap = False
            self.columns[number].width = width - self._get_padding_width(number)
        yield from super().__rich_console__(console, options)

    def _stacked(self) -> Iterator[RenderableType]:
        """Yield each row as lines of a heading and a value, without those that are empty."""
        headings = [_text(column.header) for column in self.columns]
        widest = max(map(cell_len, headings))
        for row in zip(*(column.cells for column in self.columns), strict=True):
            lines = Table.grid(padding=(0, 2))
            lines.add_column(width=widest, justify="right", style=self.header_style)
            lines.add_column(overflow="fold")
            for heading, cell in zip(headings, row, strict=True):
                if _text(cell).strip():
                    lines.add_row(Text(heading), cell)
            yield Text()
            yield lines

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


def _text(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _shared(measured: list[Measurement], room: int) -> list[int]:
    """Return widths of columns: at least their longest words, the rest shared evenly."""
    widths = [width.minimum for width in measured]
    spare = max(0, room - sum(widths))
    wanting = sorted(range(len(measured)), key=lambda at: measured[at].span)
    for left, at in zip(range(len(wanting), 0, -1), wanting, strict=True):
        given = min(measured[at].span, spare // left)
        widths[at] += given
        spare -= given
    return widths


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


_IMPORTED: ContextVar[bool] = ContextVar("imported", default=False)


@contextmanager
def titled_as_imported(imported: bool) -> Iterator[None]:
    """Have titles of tables say that another program measured what they show."""
    token = _IMPORTED.set(imported)
    try:
        yield
    finally:
        _IMPORTED.reset(token)


def title(console: Console, text: str) -> None:
    """Print a section's title."""
    console.print()
    said = f"{text} (imported, not measured by tierscope)" if _IMPORTED.get() else text
    console.print(Text(said, style="bold reverse" if console.is_terminal else "bold"))


def note(console: Console, text: str, style: str = "dim") -> None:
    """Print a line below a table, wrapped and indented."""
    for line in Text(text, style=style).wrap(console, max(1, console.width - 2)):
        line.rstrip()
        console.print(Text("  ").append_text(line), no_wrap=True)
