"""HMSDK's bwprof: memory bandwidth by socket as CSV, in a directory of its own."""

import contextlib
import csv
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tierscope.cli.output import Output
from tierscope.engine.repetitions import signals_to
from tierscope.machine.counters import Key, Source, traffic_source
from tierscope.machine.discover import discover
from tierscope.machine.sampler import Sampler
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import errors_at, reason_of
from tierscope.plans.grammar import parse_duration
from tierscope.report.style import new_table
from tierscope.runs.record import version

_MB = 1e6
_DAY_S = 86400.0
_POLL_S = 0.1
CSV, INFO, OLD = "bwprof.csv", "info.txt", ".old"
_TIME = "%Y-%m-%d %H:%M:%S"
COLUMNS = ("RD", "WR", "SUM", "CXLRD", "CXLWR", "CXLSUM")
"""Columns per socket in MB/s: memory controllers, then CXL devices."""


def header(sockets: Sequence[int]) -> list[str]:
    """Return the first line of the CSV."""
    return ["Timestamp", *(f"SKT{socket}-{name}" for socket in sockets for name in COLUMNS)]


def line(
    now: datetime, values: Mapping[tuple[str, str], float], sockets: Sequence[int]
) -> list[str]:
    """Return a line of the CSV from rates by metric and place; cells without counters are empty."""
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
    """Write and flush lines of CSV, so that they stay whole if the program is killed."""
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
            raise UserError(f"{path}:{number}: '{bad[:20]}' is not a bandwidth in MB/s")
    return rows


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).isdecimal()


def statistics(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, float, float, float]]:
    """Yield name, mean, minimum and maximum of each counted column in MB/s."""
    for at, name in enumerate(rows[0][1:], start=1):
        values = [float(row[at]) for row in rows[1:] if row[at]]
        if values:
            yield name, fmean(values), min(values), max(values)


class _Watching:
    """Runs until a signal or the end of the time."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._end = time.monotonic() + seconds

    def interrupt(self) -> None:
        """End it; called from the signal's handler."""
        self.over = True

    def ticks(self, interval_s: float) -> Iterator[None]:
        """Yield after each interval, and once more where it is ended."""
        due = time.monotonic()
        while not self.over and due < self._end - interval_s / 2:
            due = max(due + interval_s, time.monotonic())
            while not self.over and (left := due - time.monotonic()) > 0:
                time.sleep(min(left, _POLL_S))
            yield


def record(
    interval_text: str,
    duration: str | None,
    socket: int | None,
    directory: Path | None,
    top: bool,
    output: Output,
) -> int:
    """Record into a directory, where one is given, until Ctrl-C; returns the exit status.

    ``top`` prints each line, too.
    """
    output.check()
    interval = _seconds("--interval", interval_text, 3600)
    seconds = _seconds("--duration", duration, _DAY_S) if duration else _DAY_S
    topology = discover()
    sockets = _sockets(socket, topology)
    source = traffic_source(topology)
    with contextlib.closing(Sampler([_counting(source)])) as sampler, contextlib.ExitStack() as on:
        outputs: list[TextIO] = []
        if directory is not None:
            info = _info(topology, source, interval)
            outputs.append(on.enter_context(begin(directory, info)))
        if top:
            outputs.append(sys.stderr if output.printed != "tables" else sys.stdout)
        write_rows(outputs, header(sockets))
        watching = _Watching(seconds)
        with signals_to(watching):
            for _ in watching.ticks(interval):
                (row,) = sampler.samples()
                write_rows(outputs, line(datetime.now(), row.values, sockets))
    if directory is not None:
        where = {"directory": str(directory)}
        output.emit(where, f"recorded: {directory}")
    return 0


def _counting(source: Source) -> Source:
    """Return a source that counts by socket; raises UserError that says why there is none."""
    places = {key.part for key in source.read().counts} if source.available else set()
    if not any(place.startswith("socket") and "CPUs" not in place for place in places):
        source.close()
        why = [reason_of(one) for one in source.lacking if "resctrl" not in one.what]
        reason = "; ".join(why) or "no socket is counted"
        raise UserError(
            f"memory bandwidth by socket cannot be read: {reason}", ExitCode.NOTHING_MEASURED
        )
    return source


def _seconds(option: str, text: str, most: float) -> float:
    with errors_at(option):
        return parse_duration(text, 0, most)


def _sockets(asked: int | None, topology: Topology) -> list[int]:
    known = [package.number for package in topology.packages]
    if asked is None:
        return known
    if asked not in known:
        raise UserError(f"--socket: there is no socket {asked}; there are {known}")
    return [asked]


def _info(topology: Topology, source: Source, interval: float) -> str:
    lines = {
        "program": f"tierscope {version()}",
        "host": topology.host,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpu": topology.cpu_model,
        "kernel": topology.kernel,
        "interval": f"{interval:g} s",
        **{f"lacking {number}": f"{one.what}: {one.reason}"
           for number, one in enumerate(source.lacking, start=1)},
    }  # fmt: skip
    return "".join(f"{name}: {value}\n" for name, value in lines.items())


def show(what: str, directory: Path, output: Output) -> int:
    """Print a recording: ``dump``, ``report`` or ``info``."""
    if what == "info":
        path = directory / INFO
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(
                f"{path} cannot be read: {error.strerror}; record one, or name it with -d"
            ) from None
        output.emit({"info": text}, text)
        return 0
    rows = read_csv(directory)
    if what == "dump":
        output.emit({"rows": rows}, lambda _: write_rows([sys.stdout], *rows))
        return 0
    found = list(statistics(rows))
    columns = [{"column": n, "mean": mean, "min": low, "max": high} for n, mean, low, high in found]
    output.emit({"columns": columns}, lambda console: _report(console, rows, found))
    return 0


def _report(
    console: Console, rows: list[list[str]], found: list[tuple[str, float, float, float]]
) -> None:
    table = new_table("MB/s", "mean", "min", "max", words=("MB/s",))
    for name, *values in found:
        table.add_row(name, *(f"{value:.1f}" for value in values))
    console.print(table)
    if len(rows) > 1:
        console.print(Text(f"{len(rows) - 1} lines, {rows[1][0]} to {rows[-1][0]}"))
