"""Tables, titles and notes on a terminal or a pipe, with or without colour and UTF-8."""

import codecs
import contextlib
import io
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tierscope.machine.launcher import has_launchers_terminal
from tierscope.model.text import printable

WIDEST = 100
_PIPED = 100
_PLAIN = {
    "±": "+-", "µ": "u", "×": "x", "†": "*", "–": "-", "≥": ">=", "≤": "<=", "…": "...",
    "→": "->", "←": "<-",
    "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "#", "▍": "-", "▎": "-", "▏": "-", "·": ".",
    "─": "-", "│": "|", "├": "|", "└": "`",
}  # fmt: skip
_ASCII_HEAD = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""SIMPLE_HEAD of ASCII signs; rich itself would frame every cell."""
_IMPORTED: ContextVar[bool] = ContextVar("imported", default=False)
_DETAILED: ContextVar[bool] = ContextVar("detailed", default=False)


def ascii_text(text: Text) -> Text:
    """The text with ASCII likenesses of signs, styles kept.

    Where a likeness is longer than its sign, it has to be there before a table is laid out.
    """
    if text.plain.isascii():
        return text
    places = [place for place, sign in enumerate(text.plain) if sign in _PLAIN]
    offsets = sorted({edge for place in places for edge in (place, place + 1)})
    found = text.blank_copy()
    for part in text.divide(offsets):
        part.plain = _PLAIN.get(part.plain, part.plain)
        found.append_text(part)
    return found


class _SafeConsole(Console):
    """Leaves out signs that would steer the terminal: names in run files and XML are anyone's.

    Where the output takes ASCII only, texts are laid out in it.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        if self.options.ascii_only:
            objects = tuple(ascii_text(o) if isinstance(o, Text) else o for o in objects)
        super().print(*objects, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, "", keep="\n"), segment.style)


def make_console(file: IO[str] | None = None) -> Console:
    """Return a console at most 100 columns wide; rich itself honours NO_COLOR and pipes."""
    target = file or sys.stdout
    _make_safe(target)
    console = _SafeConsole(
        file=target,
        force_terminal=False if has_launchers_terminal() else None,
        highlight=False,
        soft_wrap=False,
        markup=False,
        emoji=False,
    )
    if not console.is_terminal:
        console.width = _PIPED
    console.width = min(console.width, WIDEST)
    return console


def _make_safe(file: IO[str]) -> None:
    """Let signs that the output's encoding lacks come out as their ASCII likeness."""
    codecs.register_error("tierscope", _likeness)
    if isinstance(file, io.TextIOWrapper):
        with contextlib.suppress(ValueError, io.UnsupportedOperation):
            file.reconfigure(errors="tierscope")


def _likeness(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign, "?") for sign in signs), error.end


def bar(value: float, most: float, width: int) -> str:
    """Return a bar of blocks, an eighth of a column fine."""
    if most <= 0:
        return ""
    eighths = round(max(0.0, min(1.0, value / most)) * width * 8)
    rest = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return "█" * (eighths // 8) + rest


class SafeTable(Table):
    """A table that is never cut, and laid out in ASCII where the output takes nothing else.

    It wraps between words. Where its longest words do not fit side by side, each row becomes lines
    of a heading and a value. Strings in its cells are never taken for markup.
    """

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row of cells; options are those of rich."""
        super().add_row(*(Text(one) if isinstance(one, str) else one for one in cells), **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        measured, whole = self._widths(console, options)
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

    def _widths(
        self, console: Console, options: ConsoleOptions
    ) -> tuple[list[Measurement], list[Measurement]]:
        """Return the widths of columns, and the same with columns that are not to be wrapped."""
        self._make_ascii(options)
        boundless = options.update(max_width=10_000)
        measured = [self._measure_column(console, boundless, column) for column in self.columns]
        return measured, [
            Measurement(width.maximum if column.no_wrap else width.minimum, width.maximum)
            for width, column in zip(measured, self.columns, strict=True)
        ]

    def needs(self, console: Console) -> int:
        """Return the columns of the console that it needs to wrap nothing but words."""
        _, whole = self._widths(console, console.options)
        return sum(width.minimum for width in whole) + self._extra_width

    def _stacked(self) -> Iterator[RenderableType]:
        """Yield each row as lines of a heading and a value, without those that are empty."""
        headings = [_text(column.header).replace("\n", " ") for column in self.columns]
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


def new_table(*headings: str, words: Collection[str] = ()) -> SafeTable:
    """Return an empty table in the common style.

    Columns of ``words`` are aligned left and may be wrapped; others are numbers, which are aligned
    right and kept whole.
    """
    table = SafeTable(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False, padding=(0, 1))
    for heading in headings:
        if heading in words:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    return table


def new_grid() -> Table:
    """Return an empty table without lines and heads."""
    return SafeTable(
        box=None, show_header=False, pad_edge=False, padding=(0, 2), collapse_padding=True
    )


def fits(console: Console, table: Table) -> bool:
    """Whether the console is wide enough to print a table without cutting anything."""
    boundless = console.options.update(max_width=10_000)
    return Measurement.get(console, boundless, table).maximum <= console.width


def whole_words(console: Console, table: SafeTable) -> bool:
    """Whether the console is wide enough for a table in which only words are wrapped."""
    return table.needs(console) <= console.width


@contextmanager
def detailed(verbose: bool) -> Iterator[None]:
    """Have tables say all that is known of their figures, where asked for."""
    token = _DETAILED.set(verbose)
    try:
        yield
    finally:
        _DETAILED.reset(token)


def is_detailed() -> bool:
    """Return whether tables say all that is known of their figures."""
    return _DETAILED.get()


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
