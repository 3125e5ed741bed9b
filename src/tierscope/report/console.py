"""Where tables go: a terminal, a pipe, with or without colour and UTF-8."""

import codecs
import contextlib
import io
import sys
import unicodedata
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tierscope.mpi.launcher import has_launchers_terminal

WIDEST = 100
_PIPED = 100
_PLAIN = {
    "±": "+-", "µ": "u", "×": "x", "†": "*", "–": "-", "≥": ">=", "≤": "<=", "…": "...",
    "→": "->", "←": "<-",
    "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "#", "▍": "-", "▎": "-", "▏": "-", "·": ".",
    "─": "-", "│": "|", "├": "|", "└": "`",
}  # fmt: skip


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
                yield Segment("".join(filter(_harmless, segment.text)), segment.style)


def _harmless(sign: str) -> bool:
    return sign == "\n" or not unicodedata.category(sign).startswith("C")


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
