"""Text of others' making, such as names in a run file, made fit to be shown and kept."""

import csv
import io
import unicodedata
from collections.abc import Iterable
from typing import Any

_UNSEEN = ("C", "Zl", "Zp")
"""Categories of Unicode: control characters, marks of the direction of writing and other formats,
what has no character, and separators of lines and paragraphs."""


def printable(text: str, instead: str = "\N{REPLACEMENT CHARACTER}", keep: str = "") -> str:
    """Return text in which no character steers a terminal or changes the order of what is read.

    Each of those becomes ``instead``, except the ones in ``keep``.
    """
    unseen = {sign for sign in set(text) - set(keep) if _is_unseen(sign)}
    return text.translate(dict.fromkeys(map(ord, unseen), instead)) if unseen else text


def brief(value: float, digits: int) -> str:
    """Return a number with so many significant digits at most; a large one without an exponent."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text else text


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV, with cells that no spreadsheet takes for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return _no_formula(value) if isinstance(value, str) else value


def _no_formula(text: str) -> str:
    """Put an apostrophe before text that would be one; numbers stay numbers."""
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return printable(text)
    try:
        float(text)
    except ValueError:
        return f"'{printable(text)}"
    return text


def _is_unseen(sign: str) -> bool:
    return not sign.isprintable() and unicodedata.category(sign).startswith(_UNSEEN)
