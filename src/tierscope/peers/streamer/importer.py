"""Results of the STREAMer study and of tierscope's own CSV, read into configurations.

STREAMer keeps a folder for each configuration, whose name says what it is:
``GROUP/HT_SOCKETS_MEMORY_AFFINITY_FT_PATH_ArraysN_CoresN/`` with ``output_data.csv`` and
``output.THREADS.txt`` (STREAM's text). A single CSV file has one row for each number of threads,
with the columns ``group,sockets,memory,affinity,threads`` and one of each operation in MB/s.
"""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tierscope.model.endpoint import whole_number
from tierscope.model.errors import UserError
from tierscope.model.given_file import open_given
from tierscope.model.persistent import Backing
from tierscope.peers.streamer.study import (
    CLOSE,
    GROUPS,
    OPERATIONS,
    SPREAD,
    Configuration,
    Memory,
    Point,
    Study,
)
from tierscope.plans.grammar import as_float

_T = TypeVar("_T")
_FOLDERS = {
    "local_PMDK": "1a",
    "remote_PMDK": "1b",
    "remote_PMDK_affinity": "1c",
    "remote_NUMA": "2a",
    "remote_NUMA_allcores": "2b",
}
"""Groups by the names of their folders."""
_NAME = re.compile(
    r"(?:noHT|HT)_(?P<sockets>(?:Socket\d)+)_(?P<memory>[A-Za-z0-9]+)_(?P<affinity>Close|Spread)_"
    r"(?:noFT|FT)_.*_Arrays\d+_Cores\d+"
)
_MEMORY = re.compile(r"(?:Socket(?P<socket>\d+)|(?P<cxl>CXL))(?P<kind>DDR\d|Optane)?(?P<dax>DAX)?")
_TEXT = re.compile(r"output\.(\d+)\.txt")
_RATE = re.compile(r"(Copy|Scale|Add|Triad):\s+(\S+)")
_CSV = "output_data.csv"
_HEADING = ["Number of Threads", *(f"{name.title()} Rate (MB/s)" for name in OPERATIONS)]
_COLUMNS = ["group", "sockets", "memory", "affinity", "threads"]
_MB = 1e6
_LARGEST = 4 << 20
"""Most bytes of a table of this study."""
_MAX_THREADS = 65536

Rates = dict[int, dict[str, Point]]
"""By number of threads and operation."""
_OWN = re.compile(r"(?:pmem|numa)#\d{1,4}(?:,\d{1,4})* [\w ]+?(?: of socket \d{1,4})?")


@dataclass(frozen=True)
class _Key:
    """The configuration of a figure, from the name of a folder or a row."""

    group: str
    sockets: str
    memory: str
    affinity: str
    machine: str = ""
    backing: str = ""


def read_results(path: Path, name: str) -> list[Study]:
    """Read results of other machines; raises UserError that names the file and what is wrong.

    ``name`` is the machine's. Memory of two generations on sockets, DDR4 beside DDR5, is that of
    two machines: CXL memory and the newer one are the first machine's.
    """
    if path.is_dir():
        found = dict(_folders(path))
        if not found:
            raise UserError(
                f"{path}: no folder of STREAMer's results is below it, such as "
                "remote_PMDK/noHT_Socket0_CXLDAX_Close_noFT_@mnt_Arrays100000000_Cores10"
            )
    else:
        found = _as_csv(_table, path)
    return _by_machine(found, name)


def _by_machine(found: dict[_Key, Rates], name: str) -> list[Study]:
    named: dict[str, list[Configuration]] = defaultdict(list)
    generations = sorted({_generation(key) for key in found} - {""})
    cores = max(
        (max(rates) for key, rates in found.items() if key.sockets.count("Socket") == 1), default=0
    )
    # CXLDAX and CXLDDR4 name the same memory, as persistent memory and as a NUMA node.
    cxl = next((key.memory for key in found if re.fullmatch(r"CXLDDR\d", key.memory)), "CXL")
    cxl = cxl.replace("CXL", "CXL ").strip()
    for key, rates in found.items():
        older = len(generations) > 1 and _generation(key) not in ("", generations[-1])
        machine = key.machine or (f"{name} {_generation(key)}" if older else name)
        named[machine].append(_configuration(key, rates, machine, cores, cxl))
    return [Study(machine, members) for machine, members in named.items()]


def _generation(key: _Key) -> str:
    match = _MEMORY.fullmatch(key.memory)
    kind = match["kind"] if match and match["socket"] else ""
    return kind if kind and kind.startswith("DDR") else ""


def _configuration(key: _Key, rates: Rates, machine: str, cores: int, cxl: str) -> Configuration:
    sockets = tuple(int(number) for number in re.findall(r"Socket(\d+)", key.sockets))
    first = cores or max(1, max(rates) // len(sockets))
    points: dict[str, dict[int, Point]] = {}
    for threads, row in sorted(rates.items()):
        for operation, point in row.items():
            points.setdefault(operation, {})[threads] = point
    return Configuration(
        group=key.group,
        machine=machine,
        sockets=sockets,
        cores=(first,) * len(sockets),
        memory=_memory(key, cxl),
        affinity=CLOSE if key.affinity.lower() == CLOSE else SPREAD,
        points=points,
    )


def _memory(key: _Key, cxl: str) -> Memory:
    """Return the memory of STREAMer's name, or of tierscope's own, ``pmem#2 CXL``."""
    if match := _MEMORY.fullmatch(key.memory):
        socket = int(match["socket"]) if match["socket"] else None
        kind = cxl if match["cxl"] else match["kind"] or "DRAM"
        persistent = key.group.startswith("1")
        return Memory((2 if socket is None else socket,), kind, socket, persistent, key.backing)
    name, _, kind = key.memory.partition(" ")
    numbers = tuple(int(number) for number in name.partition("#")[2].split(","))
    kind, _, socket_text = kind.partition(" of socket ")
    socket = int(socket_text) if socket_text else None
    return Memory(numbers, kind, socket, name.startswith("pmem"), key.backing)


def memory_text(memory: Memory) -> str:
    """Return a memory as the CSV has it: ``pmem#0 DDR5 of socket 0``."""
    owner = "" if memory.socket is None else f" of socket {memory.socket}"
    return f"{memory.name} {memory.kind}{owner}"


def _folders(root: Path) -> Iterator[tuple[_Key, Rates]]:
    for folder in sorted(path for path in root.rglob("*_Arrays*") if path.is_dir()):
        match = _NAME.fullmatch(folder.name)
        if match is None:
            raise UserError(
                f"{folder}: the name is not HT_SOCKETS_MEMORY_AFFINITY_FT_PATH_ArraysN_CoresN"
            )
        key = _Key(_group(folder, match), match["sockets"], match["memory"], match["affinity"])
        _check(key, str(folder))
        yield key, _of_folder(folder)


def _group(folder: Path, match: re.Match[str]) -> str:
    """Return the group of a folder; outside of all, the group that its name fits."""
    if folder.parent.name in _FOLDERS:
        return _FOLDERS[folder.parent.name]
    both = match["sockets"].count("Socket") > 1
    if match["memory"].endswith("DAX"):
        local = match["memory"].startswith(match["sockets"])
        return "1c" if both else "1a" if local else "1b"
    return "2b" if both else "2a"


def _of_folder(folder: Path) -> Rates:
    table = folder / _CSV
    if table.is_file():
        return _as_csv(_output_data, table)
    found = {}
    for path in sorted(folder.iterdir()):
        if match := _TEXT.fullmatch(path.name):
            found[int(match[1])] = _stream_text(path)
    if not found:
        raise UserError(f"{folder}: it has neither {_CSV} nor output.THREADS.txt")
    return found


def _stream_text(path: Path) -> dict[str, Point]:
    rates = {name.lower(): _point(rate, path) for name, rate in _RATE.findall(_content(path))}
    if set(rates) != set(OPERATIONS):
        raise UserError(f"{path}: it is not STREAM's output; rates of {sorted(rates)} only")
    return rates


def _as_csv(read: Callable[[Path], _T], path: Path) -> _T:
    try:
        return read(path)
    except csv.Error as error:
        raise UserError(f"{path}: it is not CSV: {error}") from None


def _output_data(path: Path) -> Rates:
    rows = list(csv.reader(io.StringIO(_content(path))))
    if not rows or [cell.strip() for cell in rows[0]] != _HEADING:
        raise UserError(f"{path}, line 1: the columns are not {','.join(_HEADING)}")
    found: Rates = {}
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        where = f"{path}, line {number}"
        if len(row) != len(_HEADING):
            raise UserError(f"{where}: {len(row)} columns in place of {len(_HEADING)}")
        cells = zip(OPERATIONS, row[1:], strict=True)
        found[_threads(row[0], where)] = {name: _point(cell, where) for name, cell in cells}
    if not found:
        raise UserError(f"{path}: it has no rows")
    return found


def _table(path: Path) -> dict[_Key, Rates]:
    reader = csv.DictReader(io.StringIO(_content(path)))
    heading = reader.fieldnames or []
    missing = [name for name in (*_COLUMNS, *(f"{name}_MBps" for name in OPERATIONS))
               if name not in heading]  # fmt: skip
    if missing:
        raise UserError(f"{path}, line 1: column {missing[0]} is missing")
    found: dict[_Key, Rates] = defaultdict(dict)
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        if None in row or None in row.values():
            raise UserError(f"{where}: it has not as many columns as the first line")
        names = (*_COLUMNS[:4], "machine", "backing")
        key = _Key(**{name: row.get(name) or "" for name in names})
        _check(key, where)
        points = {name: point for name in OPERATIONS if (point := _interval(row, name, where))}
        found[key][_threads(row["threads"], where)] = points
    if not found:
        raise UserError(f"{path}: it has no rows")
    return dict(found)


def _interval(row: dict[str, str], name: str, where: str) -> Point | None:
    """Return a row's figure of an operation; None where the cell is empty."""
    if not row[f"{name}_MBps"]:
        return None
    point = _point(row[f"{name}_MBps"], where)
    ends = [row.get(f"{name}_{end}_MBps") or "" for end in ("low", "high")]
    if not all(ends):
        return point
    low, high = (_point(end, where).value for end in ends)
    if not low <= point.value <= high:
        raise UserError(f"{where}: {name} is not between the ends of its interval")
    return Point(point.value, low, high)


def _check(key: _Key, where: str) -> None:
    """Raise UserError unless a configuration's words are known."""
    if key.group not in GROUPS:
        raise UserError(f"{where}: group '{key.group}' is not one of {', '.join(GROUPS)}")
    if not re.fullmatch(r"(Socket\d{1,4})+", key.sockets):
        raise UserError(f"{where}: sockets '{key.sockets}' are not as in Socket0Socket1")
    if not (_MEMORY.fullmatch(key.memory) or _OWN.fullmatch(key.memory)):
        raise UserError(
            f"{where}: memory '{key.memory}' is not as in Socket0DDR5DAX, CXLDDR4 or pmem#2 CXL"
        )
    if not key.machine.isprintable() or key.backing not in ("", *Backing.__args__):  # type: ignore[attr-defined]
        raise UserError(f"{where}: machine or backing is not as tierscope writes it")
    if key.affinity.lower() not in (CLOSE, SPREAD):
        raise UserError(f"{where}: affinity '{key.affinity}' is neither Close nor Spread")


def _threads(text: str, where: str) -> int:
    threads = whole_number(text)
    if threads is None or not 1 <= threads <= _MAX_THREADS:
        raise UserError(f"{where}: '{text}' is not a number of threads")
    return threads


def _point(text: str, where: Path | str) -> Point:
    rate = round(as_float(text) * _MB, 3)
    if not 0 < rate < math.inf:
        raise UserError(f"{where}: '{text}' is not a rate in MB/s")
    return Point(rate, rate, rate)


def _content(path: Path) -> str:
    try:
        with open_given(path) as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise UserError(f"{path}: it cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise UserError(f"{path}: it is larger than {_LARGEST >> 20} MiB, so it is no such table")
    try:
        # The csv module of Python 3.10 takes no NUL.
        return content.decode().replace("\0", "\ufffd")
    except UnicodeDecodeError:
        raise UserError(f"{path}: it is not UTF-8 text") from None


def as_csv(studies: Iterable[Study]) -> str:
    """Return configurations as the CSV that ``read_results`` takes."""
    columns = [*_COLUMNS, *(f"{name}_MBps" for name in OPERATIONS), "machine", "backing"]
    columns += [f"{name}_{end}_MBps" for name in OPERATIONS for end in ("low", "high")]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for one in (configuration for study in studies for configuration in study):
        for threads in one.threads():
            row = {
                "group": one.group,
                "sockets": "".join(f"Socket{number}" for number in one.sockets),
                "memory": memory_text(one.memory),
                "affinity": one.affinity.title(),
                "threads": threads,
                "machine": one.machine,
                "backing": one.memory.backing,
            }
            for name, points in one.points.items():
                if point := points.get(threads):
                    row[f"{name}_MBps"] = f"{point.value / _MB:.1f}"
                    row[f"{name}_low_MBps"] = f"{point.low / _MB:.1f}"
                    row[f"{name}_high_MBps"] = f"{point.high / _MB:.1f}"
            writer.writerow(row)
    return text.getvalue()
