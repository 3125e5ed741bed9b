"""From run files and the index of a fleet to rows of its tables, one run file after the other."""

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from tierscope.fleet.at_once import VisitsAtOnce
from tierscope.fleet.facts import facts_of, model_of, neighbours_of
from tierscope.fleet.index_file import INDEX, read_index
from tierscope.fleet.tables import COLUMNS, FIGURES, HOSTS, OF_RUN
from tierscope.model.errors import UserError
from tierscope.model.fleet import ClockOffset, FleetHost
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.runs.query import measurement_rows, run_row
from tierscope.runs.read import parse_contents, read_bytes, run_of
from tierscope.runs.store import SUFFIX, is_run_file

INDEXED = "indexed"
_OF_INDEX = (
    "host", "state", "reason", "rank", "rack", "switch", "clock_offset_ns", "clock_low_ns",
    "clock_high_ns",
)  # fmt: skip
ROWS = {
    HOSTS: {**COLUMNS[HOSTS], "left_out": "BOOLEAN"},
    FIGURES: COLUMNS[FIGURES],
    INDEXED: {name: COLUMNS[HOSTS][name] for name in _OF_INDEX},
}
"""Columns of the rows. ``left_out`` is null where the run file was read, and else whether the file
is no run file at all: then its name may be that of a host or of anything."""
_AT_ONCE = 2048
_AT_ONCE_BYTES = 4 << 20
"""Lines that DuckDB works on at once, and how many bytes they may have."""
Told = Callable[[int, int], None]
"""Called with how many run files were read, and of how many."""


def run_files_below(folder: Path) -> list[str]:
    """Return the run files in a folder and below; raises UserError where it is none."""
    if not folder.is_dir():
        raise UserError(
            f"'{folder}' is no directory; name the folder that a fleet's run files are in"
        )
    found = []
    for place, _, names in os.walk(folder):
        # As text, since paths of thousands of hosts take megabytes.
        found += [f"{place}/{name}" for name in names if name.endswith(SUFFIX)]
    return sorted(path for path in found if os.path.isfile(path))  # noqa: PTH113


class Rows:
    """The rows of a table, as lines of JSON in a compressed file, or in several if they are long.

    DuckDB works on 2048 lines of a file at once, however long they are.
    """

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.files = place / "*.gz"
        self.longest = 0
        """Bytes of the longest line."""
        self._count = 0
        self._lines = 0
        self._bytes = 0
        self._next()

    def add(self, row: dict[str, Any]) -> None:
        """Write a row."""
        line = to_json(row) + b"\n"
        self.longest = max(self.longest, len(line))
        if self._bytes > _AT_ONCE_BYTES:
            self.close()
            self._next()
        elif self._lines == _AT_ONCE:
            self._lines = self._bytes = 0
        self._lines += 1
        self._bytes += len(line)
        self._file.write(line)

    def close(self) -> None:
        """Finish the last file."""
        self._file.close()

    def _next(self) -> None:
        name = f"{self._count:07}.gz"
        self._file = gzip.open(self.files.with_name(name), "wb", compresslevel=1)  # noqa: SIM115
        self._count += 1
        self._lines = self._bytes = 0


def read_rows(
    folder: Path, paths: list[str], told: Told, rows: Mapping[str, Rows], at_once: VisitsAtOnce
) -> list[str]:
    """Write the rows of all run files and of the index, and what hosts visited at once; return why
    some files were left out.

    Raises UserError where there is neither.
    """
    unreadable: list[str] = []
    found = 0
    clocks_after: dict[str, bytes] = {}
    """As JSON: as objects, those of 10,000 hosts take 12 MB."""

    def add_host(host: FleetHost) -> None:
        rows[INDEXED].add(_index_row(host))
        if host.clock_after:
            clocks_after[host.host] = to_json(host.clock_after)

    index = read_index(folder, add_host)
    if not paths and index is None:
        raise UserError(f"'{folder}' has neither run files (*{SUFFIX}) nor {INDEX}")
    for number, path in enumerate(map(Path, paths)):
        told(number, len(paths))
        name = shown(path.relative_to(folder))
        try:
            contents = parse_contents(read_bytes(path), str(path))
            run = run_of(contents)
            after = clocks_after.get(run.header.host)
            clock = ClockOffset.model_validate_json(after) if after else None
            at_once.add(name, run, contents, clock)
        except UserError as error:
            unreadable.append(shown(str(error)))
            found += is_run_file(path)
            rows[HOSTS].add(_damaged_row(name, path, unreadable[-1]))
            continue
        found += 1
        row = run_row(name, path, run)
        rows[HOSTS].add(_host_row(name, row, run))
        beside = {key: row[key] for key in OF_RUN}
        for one in measurement_rows(name, run):
            rows[FIGURES].add({**one, **beside})
    if not found and index is None:
        raise UserError(f"'{folder}' has no run file: {unreadable[0]}")
    told(len(paths), len(paths))
    for table in rows.values():
        table.close()
    return unreadable


def _damaged_row(name: str, path: Path, why: str) -> dict[str, Any]:
    """Return the row of a host whose run file cannot be read; the file has its name."""
    return {
        "host": shown(path.stem), "run": name, "state": "failed", "reason": why,
        "left_out": not is_run_file(path),
    }  # fmt: skip


def _host_row(name: str, row: dict[str, Any], run: Run) -> dict[str, Any]:
    header = run.header
    statuses = [m.status for m in run.measurements]
    state, reason = _state(run)
    settings = header.environment
    topology = header.topology
    return {
        **{key: header.machine.get(key) for key in _OF_MACHINE},
        **{key: row[key] for key in ("started", "finished", "emulated", "tierscope")},
        **neighbours_of(run),
        "host": header.host,
        "state": state,
        "reason": reason,
        "run": name,
        "model": model_of(header),
        "memory_bytes": sum(node["total_bytes"] for node in header.machine.get("nodes", [])),
        "gpus": len(header.machine.get("gpus", [])),
        "measured": sum(m.has_figure for m in run.measurements),
        "skipped": statuses.count("skipped"),
        "failed": statuses.count("failed"),
        **{key: settings.get(key.replace("_", "-")) for key in _OF_SETTINGS},
        "microcode": topology.microcode if topology else None,
        "facts": facts_of(run),
        "environment": settings,
    }


_OF_MACHINE = ("product", "cpu", "architecture", "hypervisor", "packages", "cores", "cpus")
_OF_SETTINGS = ("kernel", "governor", "turbo", "smt", "thp", "numa_balancing")


def _index_row(host: FleetHost) -> dict[str, Any]:
    clock = host.clock
    offset = [clock.offset_ns, clock.low_ns, clock.high_ns] if clock else [None] * 3
    return {
        **host.model_dump(include={"host", "state", "reason", "rank", "rack", "switch"}),
        **dict(zip(_OF_INDEX[-3:], offset, strict=True)),
    }


def _state(run: Run) -> tuple[str, str]:
    """Return a host's state, and why, as its run file shows it."""
    failed = [m for m in run.measurements if m.status == "failed"]
    if not any(m.has_figure for m in run.measurements):
        reasons = [m.reason for m in run.measurements if m.reason]
        return "failed", reasons[0] if reasons else "its run file has no figure"
    if run.footer is None:
        return "partial", "its run file ends before its run did"
    if run.footer.interrupted:
        return "partial", "its run was interrupted"
    if failed:
        return "partial", f"{len(failed)} of {len(run.measurements)} failed: {failed[0].reason}"
    return "measured", ""
