"""HMSDK's bwprof: memory bandwidth by socket as CSV, in a directory of its own."""

import csv
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import TextIO

from tierscope.counters.reading import Key
from tierscope.model.errors import UserError

_MB = 1e6
CSV, INFO, OLD = "bwprof.csv", "info.txt", ".old"
_TIME = "%Y-%m-%d %H:%M:%S"
COLUMNS = ("RD", "WR", "SUM", "CXLRD", "CXLWR", "CXLSUM")
"""Of each socket, in MB/s: its memory controllers, then the CXL devices at it."""


def header(sockets: Sequence[int]) -> list[str]:
    """Return the first line of the CSV."""
    return ["Timestamp", *(f"SKT{socket}-{name}" for socket in sockets for name in COLUMNS)]


def line(
    now: datetime, values: Mapping[tuple[str, str], float], sockets: Sequence[int]
) -> list[str]:
    """Return a line of the CSV from rates by metric and place; what was not counted is empty."""
    cells = [now.strftime(_TIME)]
    for socket in sockets:
        for suffix in ("", " CXL"):
            places = [
                part
                for _, part in values
                if part == f"socket {socket}" or part.startswith(f"socket {socket} mem")
            ]
            chosen = [part for part in dict.fromkeys(places) if (" mem" in part) == bool(suffix)]
            read = _sum(values, "read_throughput", chosen)
            written = _sum(values, "write_throughput", chosen)
            both = None if read is None or written is None else read + written
            cells += ["" if rate is None else f"{rate / _MB:.2f}" for rate in (read, written, both)]
    return cells


def _sum(
    values: Mapping[tuple[str, str], float], metric: str, places: Iterable[str]
) -> float | None:
    found = [values[key] for place in places if (key := Key(metric, place)) in values]
    return sum(found) if found else None


def begin(directory: Path, info: str) -> TextIO:
    """Make the directory with ``info.txt`` in it, and return the CSV to write to.

    An earlier directory of bwprof's becomes ``.old``. Raises UserError.
    """
    make_directory(directory)
    try:
        (directory / INFO).write_text(info, encoding="utf-8")
        return (directory / CSV).open("w", newline="", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{directory} cannot be written to: {error.strerror}") from None


def write_rows(outputs: Iterable[TextIO], *rows: Sequence[str]) -> None:
    """Write lines of CSV at once, so that whatever ends the program leaves them whole."""
    for output in outputs:
        csv.writer(output, lineterminator="\n").writerows(rows)
        output.flush()


def make_directory(directory: Path) -> None:
    """Make an empty directory; an earlier one of bwprof's becomes ``.old``. Raises UserError."""
    old = directory.with_name(directory.name + OLD)
    try:
        if directory.exists():
            if any(directory.iterdir()) and not (directory / CSV).is_file():
                raise UserError(f"{directory} has no {CSV}: it is not of bwprof's; name another")
            if old.exists():
                if any(old.iterdir()) and not (old / CSV).is_file():
                    raise UserError(f"{old} has no {CSV}: it is not of bwprof's; move it away")
                shutil.rmtree(old)
            directory.rename(old)
        directory.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{directory} cannot be made: {error.strerror}") from None


def read_csv(directory: Path) -> list[list[str]]:
    """Return the lines of a recorded CSV, the header first; raises UserError."""
    path = directory / CSV
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no CSV"
        raise UserError(f"{path} cannot be read: {why}; record one, or name it with -d") from None
    if not rows or rows[0][:1] != ["Timestamp"]:
        raise UserError(f"{path}:1: the header does not begin with Timestamp")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise UserError(f"{path}:{number}: {len(row)} values, not {len(rows[0])}")
        if bad := next((cell for cell in row[1:] if cell and not _is_number(cell)), None):
            raise UserError(f"{path}:{number}: '{bad[:20]}' is no bandwidth in MB/s")
    return rows


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).isdecimal()


def statistics(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, float, float, float]]:
    """Yield each column's name, mean, least and most in MB/s; none that was never counted."""
    for at, name in enumerate(rows[0][1:], start=1):
        values = [float(row[at]) for row in rows[1:] if row[at]]
        if values:
            yield name, fmean(values), min(values), max(values)
