"""HMSDK's bwprof: memory bandwidth by socket as CSV, in a directory of its own."""

import contextlib
import csv
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TextIO

import click

from tierscope.cli.output import Output
from tierscope.engine.repetitions import signals_to
from tierscope.machine.counters import Key, Source, traffic_source
from tierscope.machine.discover import discover
from tierscope.machine.sampler import Sampler
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.given_file import open_given
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import errors_at, reason_of
from tierscope.place.launch import cannot_start, end_program, find_program
from tierscope.plans.grammar import parse_duration
from tierscope.runs.record import version

_MB = 1e6
_DAY_S = 86400.0
_POLL_S = 0.1
_MOST_BYTES = 64 << 20
CSV, INFO, OLD = "bwprof.csv", "info.txt", ".old"
COLUMNS = ("RD", "WR", "SUM", "CXLRD", "CXLWR", "CXLSUM")
"""Columns per socket in MB/s: memory controllers, then CXL devices."""
_SOCKET = re.compile(r"SKT(\d{1,4})-")
_CLEAR = "\033[2J\033[H"
_SHOWN = {
    "recorded_time": "recorded on",
    "cmdline": "cmdline",
    "desc": "cpu info",
    "nr_cpus": "number of cpus",
    "meminfo": "memory info",
    "system load": "system load",
    "kernel": "kernel version",
    "hostname": "hostname",
    "distro": "distro",
}
"""Lines of ``info.txt`` that hold a value, and their names in ``bwprof info``, in its order."""
_BESIDE = ("data_version", "start", "cpuinfo", "osinfo")
"""Lines that ``bwprof info`` leaves out."""
Rates = Sequence[float | None]
"""Of one socket, in the order of COLUMNS; None: not counted."""


class Asked(NamedTuple):
    """Options of ``record`` and ``top``."""

    interval: str
    duration: str | None
    socket: int | None
    program: Sequence[str]


def header(sockets: Sequence[int]) -> list[str]:
    """Return the first line of the CSV."""
    return ["Timestamp", *(f"SKT{socket}-{name}" for socket in sockets for name in COLUMNS)]


def rates_of(values: Mapping[tuple[str, str], float], socket: int) -> list[float | None]:
    """Return a socket's rates in MB/s from bytes a second by metric and place."""
    found: list[float | None] = []
    for suffix in ("", " CXL"):
        places = [
            part
            for _, part in values
            if part == f"socket {socket}" or part.startswith(f"socket {socket} mem")
        ]
        chosen = [part for part in dict.fromkeys(places) if (" mem" in part) == bool(suffix)]
        read = _sum(values, "read_throughput", chosen)
        written = _sum(values, "write_throughput", chosen)
        found += [read, written, None if read is None or written is None else read + written]
    return found


def _sum(
    values: Mapping[tuple[str, str], float], metric: str, places: Sequence[str]
) -> float | None:
    found = [values[key] for place in places if (key := Key(metric, place)) in values]
    return sum(found) / _MB if found else None


def line(now: float, rates: Sequence[Rates]) -> list[str]:
    """Return a line of the CSV; cells without counters are empty."""
    return [f"{now:.9f}", *("" if rate is None else f"{rate:.2f}" for one in rates for rate in one)]


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


def write_row(file: TextIO, row: Sequence[str]) -> None:
    """Write and flush a line of CSV, so that it stays whole if the program is killed."""
    csv.writer(file, lineterminator="\n").writerow(row)
    file.flush()


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


class Recording(NamedTuple):
    """A recorded CSV."""

    sockets: list[int]
    times: list[float]
    """Seconds of the monotonic clock."""
    rows: list[list[float | None]]

    @property
    def names(self) -> list[str]:
        """Names of the columns behind the time."""
        return header(self.sockets)[1:]

    def durations(self, start: float | None) -> list[float | None]:
        """Return the seconds that each row is of; ``start`` is when the first one began.

        HMSDK's recordings do not say that; their first row is as long as the second.
        """
        later = [after - before for before, after in pairwise(self.times)]
        first = self.times[0] - start if start is not None else next(iter(later), None)
        return [first, *later]


def read_csv(directory: Path) -> Recording:
    """Return what was recorded; raises UserError."""
    path = directory / CSV
    rows = [row.split(",") for row in _recorded(path).splitlines()]
    sockets = (
        [int(one[1]) for name in rows[0][1::6] if (one := _SOCKET.match(name))] if rows else []
    )
    if not sockets or rows[0] != header(sockets):
        expected = ",".join(header([0]))
        raise UserError(f"{path}:1: the header is not that of bwprof, {expected} for each socket")
    numbers: list[list[float | None]] = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise UserError(f"{path}:{number}: {len(row)} values, not {len(rows[0])}")
        if not _is_number(row[0]):
            raise UserError(f"{path}:{number}: '{row[0][:20]}' is not a time in seconds")
        if bad := next((cell for cell in row[1:] if cell and not _is_number(cell)), None):
            raise UserError(f"{path}:{number}: '{bad[:20]}' is not a bandwidth in MB/s")
        numbers.append([float(cell) if cell else None for cell in row])
    times = [row[0] for row in numbers if row[0] is not None]
    return Recording(sockets, times, [row[1:] for row in numbers])


def _recorded(path: Path) -> str:
    try:
        with open_given(path) as file:
            return file.read(_MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"{path} cannot be read: {why}; record one, or name it with -d") from None


def _is_number(cell: str) -> bool:
    return cell.isascii() and len(cell) <= 40 and cell.replace(".", "", 1).isdecimal()


def statistics(recording: Recording) -> Iterator[tuple[str, float, float, float]]:
    """Yield name, mean, minimum and maximum of each counted column in MB/s."""
    for at, name in enumerate(recording.names):
        values = [row[at] for row in recording.rows]
        counted = [value for value in values if value is not None]
        if counted:
            yield name, fmean(counted), min(counted), max(counted)


class _Watching:
    """Runs until a signal, the end of the time, or that of the program."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self.interrupted = False
        self._end = time.monotonic() + seconds

    def interrupt(self) -> None:
        """End it; called from the signal's handler."""
        self.over = self.interrupted = True

    def ticks(self, interval_s: float, ended: Callable[[], bool]) -> Iterator[None]:
        """Yield after each interval, and once more where it, or the program, has ended."""
        due = time.monotonic()
        while not self.over and due < self._end - interval_s / 2:
            due = max(due + interval_s, time.monotonic())
            while not self.over and (left := due - time.monotonic()) > 0:
                time.sleep(min(left, _POLL_S))
                self.over = self.over or ended()
            yield


def record(asked: Asked, directory: Path | None, top: bool, output: Output) -> int:
    """Record into a directory, where one is given, until Ctrl-C or a program's end.

    ``top`` prints each line, too. Returns the exit status.
    """
    output.check()
    interval = _seconds("--interval", asked.interval, 3600)
    seconds = _seconds("--duration", asked.duration, _DAY_S) if asked.duration else _DAY_S
    if asked.program:
        find_program(asked.program[0])
    topology = discover()
    sockets = _sockets(asked.socket, topology)
    source = traffic_source(topology)
    with contextlib.closing(Sampler([_counting(source)])) as sampler, contextlib.ExitStack() as on:
        file = None
        if directory is not None:
            info = _info(asked, topology, source, interval)
            file = on.enter_context(begin(directory, info))
            write_row(file, header(sockets))
        watching = _Watching(seconds)
        shown = _Top(sockets, output) if top else None
        with signals_to(watching):
            child = _started(asked.program, output)
            for _ in watching.ticks(
                interval, lambda: child is not None and child.poll() is not None
            ):
                (row,) = sampler.samples()
                rates = [rates_of(row.values, socket) for socket in sockets]
                if file:
                    write_row(file, line(time.monotonic(), rates))
                if shown:
                    shown.add(rates, row.duration_s)
            if child:
                _end(child, watching.interrupted, output)
    if directory is not None:
        where = {"directory": str(directory)}
        output.emit(where, f"recorded: {directory}")
    return 0


def _started(program: Sequence[str], output: Output) -> "subprocess.Popen[bytes] | None":
    if not program:
        output.say("memory bandwidth of the whole machine, until Ctrl-C")
        return None
    sys.stdout.flush()
    try:
        child = subprocess.Popen(program)
    except OSError as error:
        raise cannot_start(program[0], error) from None
    output.say(f"Started command with PID {child.pid}")
    return child


def _end(child: "subprocess.Popen[bytes]", interrupted: bool, output: Output) -> None:
    """Wait for the program, or end it where the recording was interrupted; say how it ended."""
    status = end_program(child) if interrupted else child.wait()
    how = f"exited with status {status}" if status >= 0 else f"terminated by signal {-status}"
    output.say(f"Command {how}")


class _Top:
    """Prints rates as they come, and what has been moved so far."""

    def __init__(self, sockets: Sequence[int], output: Output) -> None:
        self._sockets = sockets
        self._output = output
        self._moved: list[list[float | None]] = [[None] * len(COLUMNS) for _ in sockets]
        self._clear = _CLEAR if sys.stdout.isatty() and output.printed == "tables" else ""

    def add(self, rates: Sequence[Rates], seconds: float) -> None:
        """Print the rates of the last seconds."""
        for moved, now in zip(self._moved, rates, strict=True):
            moved[:] = _added(moved, now, seconds)
        texts = [
            socket_text(socket, now, moved)
            for socket, now, moved in zip(self._sockets, rates, self._moved, strict=True)
        ]
        beside = self._output.printed != "tables"
        click.echo(self._clear + "".join(texts), nl=False, err=beside)


def _added(moved: Rates, rates: Rates, seconds: float | None) -> list[float | None]:
    """Return GB that have been moved, with those of further seconds; None stays uncounted."""
    return [
        before if rate is None or seconds is None else (before or 0.0) + rate * seconds / 1e3
        for before, rate in zip(moved, rates, strict=True)
    ]


def socket_text(socket: int, rates: Rates, moved: Rates) -> str:
    """Return MB/s and GB of a socket, as HMSDK's bwprof lays them out; - is what is not counted."""
    lines = [
        f"    Socket{socket}        Throughput   AccessTotal    MemAccess  MediaAccess",
        "                         MB/s            GB        Ratio        Ratio",
    ]
    every = _whole([moved[2], moved[5]])
    for name, at in (("DRAM", 0), ("CXL", 3)):
        for label, column, of in (
            ("Read", at, moved[at + 2]),
            ("Write", at + 1, moved[at + 2]),
            ("Total", at + 2, every),
        ):
            ratio = _cell(_percent(moved[column], of), 6, "{:.1f}%")
            none = _cell(None, 13)
            ratios = f"{none}       {ratio}" if label == "Total" else f"       {ratio}{none}"
            shown = name if label == "Read" else ""
            values = f"{_cell(rates[column], 11)}  {_cell(moved[column], 12)}"
            lines.append(f"    {shown:<7}{label:<7}{values}{ratios}")
    return "\n".join([*lines, "", ""])


def _cell(value: float | None, width: int, form: str = "{:.2f}") -> str:
    return ("-" if value is None else form.format(value)).rjust(width)


def _whole(parts: Rates) -> float | None:
    counted = [part for part in parts if part is not None]
    return sum(counted) if counted else None


def _percent(part: float | None, of: float | None) -> float | None:
    if part is None or of is None:
        return None
    return part / of * 100 if of else 0.0


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


def _info(asked: Asked, topology: Topology, source: Source, interval: float) -> str:
    """Return info.txt: HMSDK's lines, then ours, which HMSDK's bwprof leaves out."""
    free, total = (
        os.sysconf(name) * os.sysconf("SC_PAGE_SIZE") / (1 << 40)
        for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES")
    )
    program = f" -- {shlex.join(asked.program)}" if asked.program else ""
    cpus = f"{os.sysconf('SC_NPROCESSORS_ONLN')} / {os.sysconf('SC_NPROCESSORS_CONF')}"
    try:
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        distribution = ""
    lines = {
        "data_version": "1",
        "cmdline": f"bwprof record{program}",
        "recorded_time": time.ctime(),
        "cpuinfo": "lines=2",
        "nr_cpus": f"{cpus} (online/possible)",
        "desc": topology.cpu_model,
        "meminfo": f"{free:.1f} / {total:.1f} TB (free / total)",
        "osinfo": "lines=3",
        "kernel": f"{platform.system()} {platform.release()}",
        "hostname": topology.host,
        "distro": distribution or "Unknown distribution",
        "program": f"tierscope {version()}",
        "interval": f"{interval:g} s",
        "start": f"{time.monotonic():.9f}",
        **{f"lacking {number}": f"{one.what}: {one.reason}"
           for number, one in enumerate(source.lacking, start=1)},
    }  # fmt: skip
    return "".join(f"{name}:{value}\n" for name, value in lines.items())


def _read_info(directory: Path) -> dict[str, str]:
    """Return the lines of info.txt by their names; none where the file cannot be read."""
    try:
        text = (directory / INFO).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    parts = [line.partition(":") for line in text.splitlines()]
    return {name: value for name, colon, value in parts if colon}


def show(what: str, directory: Path, output: Output) -> int:
    """Print a recording: ``dump``, ``report`` or ``info``."""
    info = _read_info(directory)
    if what == "info":
        if not info:
            path = directory / INFO
            raise UserError(f"{path} cannot be read; record one, or name it with -d")
        output.emit({"info": info}, _info_text(info))
        return 0
    recording = read_csv(directory)
    if what == "dump":
        rows = [[at, *row] for at, row in zip(recording.times, recording.rows, strict=True)]
        found = {"columns": ["Timestamp", *recording.names], "rows": rows}
        output.emit(found, _dump_text(recording))
        return 0
    columns = [
        {"column": name, "mean": mean, "min": low, "max": high}
        for name, mean, low, high in statistics(recording)
    ]
    output.emit({"columns": columns}, _report_text(recording, info.get("start", "")))
    return 0


def _info_text(info: Mapping[str, str]) -> str:
    load = " / ".join(f"{value:.2f}" for value in os.getloadavg())
    shown = {**info, "system load": f"{load} (1 / 5 / 15 min)"}
    lines = [(label, shown[name]) for name, label in _SHOWN.items() if name in shown]
    lines += [(name, value) for name, value in info.items() if name not in {*_SHOWN, *_BESIDE}]
    text = "".join(f"# {label:<19} : {value}\n" for label, value in lines)
    return f"# system information\n# ==================\n{text}"


def _dump_text(recording: Recording) -> str:
    """Return the rows in columns of 11 signs, by seconds since the first one."""
    lines = ["  ".join(name.rjust(11) for name in ("Time(s)", *recording.names))]
    for seconds, row in zip(recording.times, recording.rows, strict=True):
        values = (seconds - recording.times[0], *row)
        lines.append("  ".join(_cell(value, 11) for value in values))
    return "\n".join(lines)


def _report_text(recording: Recording, start: str) -> str:
    """Return mean rates and sums by socket."""
    if not recording.rows:
        return "nothing was recorded before the first interval was over"
    durations = recording.durations(float(start) if _is_number(start) else None)
    moved: list[float | None] = [None] * len(recording.names)
    for row, seconds in zip(recording.rows, durations, strict=True):
        moved = _added(moved, row, seconds)
    means = {name: mean for name, mean, _, _ in statistics(recording)}
    rates = [means.get(name) for name in recording.names]
    texts = []
    for number, socket in enumerate(recording.sockets):
        columns = slice(number * len(COLUMNS), (number + 1) * len(COLUMNS))
        texts.append(socket_text(socket, rates[columns], moved[columns]))
    return "".join(texts)
