"""The end of each line of a run file: the line's number and the CRC-32 of the bytes before.

The checksum shows bytes that have changed, the number lines that are missing, doubled or moved.
Each line proves itself, so that damage in one leaves the others readable.
"""

import re
import zlib
from typing import NamedTuple

KEYS = ("line", "crc32")
"""The keys that a record ends with in a run file; no record has them of its own."""
_END = re.compile(
    rb'(,\s*"line"\s*:\s*(\d{1,18}))\s*,\s*"crc32"\s*:\s*"([0-9a-f]{8})"\s*\}\s*\Z', re.ASCII
)
_END_BYTES = 100
"""More than these keys take, with blanks where another program wrote some."""
_REWRITTEN = 'a program that rewrites run files has to leave "line" and "crc32" out of every line'


class Line(NamedTuple):
    """A line of a run file, without the keys that check it."""

    record: bytes
    number: int | None = None
    """The number that it says it has; None where it has no checksum."""
    intact: bool = True
    """Its bytes match its checksum, if it has one."""


def sealed(record: bytes, number: int) -> bytes:
    """Return a record, a JSON object on one line, with its number and checksum."""
    checked = b'%s,"line":%d' % (record[:-1], number)
    return b'%s,"crc32":"%08x"}' % (checked, zlib.crc32(checked))


def opened(line: bytes) -> Line:
    """Return a line's record, and whether it is as it was written."""
    end = _END.search(line, max(0, len(line) - _END_BYTES))
    if end is None:
        return Line(line)
    intact = b"%08x" % zlib.crc32(memoryview(line)[: end.end(1)]) == end[3]
    return Line(line[: end.start()] + b"}", int(end[2]), intact)


def is_whole(line: Line, last: int | None) -> bool:
    """Return whether a line is as it was written and not yet read, whatever is missing before it;
    ``last`` as of ``damage_of``."""
    if line.number is None or last is None:
        return line.number is None and last is None
    return line.intact and line.number > last


def damage_of(line: Line, last: int | None) -> str:
    """Return what is wrong with a line by its number and checksum; empty: nothing is.

    ``last`` is the number of the line before it, 0 before the first one, None in a file without
    checksums.
    """
    if not line.intact:
        return f"its bytes do not match its checksum; {_REWRITTEN}"
    if line.number is None:
        return "" if last is None else f"it has no checksum, and other lines have one; {_REWRITTEN}"
    if last is None:
        return f"it has a checksum, and the header has none; {_REWRITTEN}"
    if line.number <= last:
        return f"line {line.number} stands here, after line {last}: it was doubled or moved"
    if line.number == last + 2:
        return f"line {last + 1} is missing before it"
    if line.number > last + 2:
        return f"lines {last + 1} to {line.number - 1} are missing before it"
    return ""
