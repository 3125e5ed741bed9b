"""Rows of a fleet's tables, from its run files and its index.

A host's facts, its settings and hardware by name, tell why it may be slower than others. A fact
that its run file does not have is absent.
"""

import gzip
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from tierscope.fleet.host import state_of
from tierscope.fleet.index import INDEX, read_index
from tierscope.fleet.tables import COLUMNS, FIGURES, HOSTS, OF_RUN
from tierscope.fleet.together import RepetitionsAtOnce
from tierscope.model.errors import UserError, shown
from tierscope.model.fleet import ClockOffset, FleetHost
from tierscope.model.run import Header, Run
from tierscope.model.topology import Topology
from tierscope.runs.query import figure_rows, run_row
from tierscope.runs.read import read_contents, run_of
from tierscope.runs.store import SUFFIX, is_run_file

_VARYING = ("load", "memory-limit", "hugetlb-")
"""Settings that always differ between hosts."""
_GIB = 1 << 30
_BRIDGE = 0x06
"""Base class of PCI bridges."""
_DISPLAY = 0x03
"""Base class of GPUs, whose links are slow while they idle."""
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
is not a run file at all: then its name may be that of a host or of anything."""
_AT_ONCE = 2048
_AT_ONCE_BYTES = 4 << 20
"""Lines that DuckDB works on at once, and their maximum bytes."""
Told = Callable[[int, int], None]
"""Called with the number of run files that were read, and of all."""
_OF_MACHINE = ("product", "cpu", "architecture", "hypervisor", "packages", "cores", "cpus")
_OF_SETTINGS = ("kernel", "governor", "turbo", "smt", "thp", "numa_balancing")


def model_of(header: Header) -> str:
    """Return the machine model: hosts of one model should be alike.

    Memory and the number of GPUs and cores are left out: a host that lacks some is defective.
    """
    machine = header.machine
    gpus = sorted({gpu["name"] for gpu in machine["gpus"]})
    packages = f"{machine['packages']} x {machine['cpu']}".strip()
    parts = [machine["product"], packages, *gpus, machine["hypervisor"]]
    return ", ".join(part for part in parts if part)


def facts_of(run: Run) -> dict[str, str]:
    """Return settings and hardware by name."""
    header = run.header
    found = {
        name: value for name, value in header.environment.items() if not name.startswith(_VARYING)
    }
    machine = header.machine
    found |= {f"memory of node:{one['node']}": _memory(one) for one in machine["nodes"]}
    found |= {key: str(machine[key]) for key in ("cores", "cpus")}
    gpus = machine["gpus"]
    found |= {"GPUs": str(len(gpus))} if gpus else {}
    if header.topology:
        found |= dict(_hardware(header.topology))
    return found | dict(_of_gpus(run))


def _memory(node: Mapping[str, Any]) -> str:
    """Return a node's memory in whole GiB, since firmware reserves varying amounts."""
    return f"{node['kind']} {round(node['total_bytes'] / _GIB)} GiB"


def _hardware(topology: Topology) -> Iterator[tuple[str, str]]:
    modules = Counter(
        f"{dimm.size_bytes / _GIB:g} GiB {dimm.type}"
        + (f" at {dimm.speed / 1e6:g} MT/s" if dimm.speed else "")
        for dimm in topology.dimms
    )
    if modules:
        yield "DIMMs", ", ".join(f"{count} x {what}" for what, count in sorted(modules.items()))
    for device in topology.pci:
        if device.bridge or device.class_code >> 8 == _BRIDGE or device.link is None:
            continue
        lanes = f"x{device.link.width}"
        if device.class_code >> 8 == _DISPLAY:
            yield f"PCIe lanes of {device.address}", lanes
        else:
            yield f"PCIe link of {device.address}", f"{device.link.speed:g} GT/s {lanes}"
    for gpu in topology.gpus:
        if gpu.power_limit_w is not None:
            yield f"power cap of gpu:{gpu.index}", f"{gpu.power_limit_w:g} W"
        if gpu.mig is not None:
            yield f"MIG of gpu:{gpu.index}", "on" if gpu.mig else "off"
    for port in topology.ports:
        if port.kind != "virtual":
            speed = f"{port.speed / 1e9:g} Gbit/s" if port.speed else "no speed"
            yield f"port {port.name}", f"{speed} {port.state}".strip()


def _of_gpus(run: Run) -> Iterator[tuple[str, str]]:
    """Yield facts about GPUs while they were measured."""
    links: dict[int, tuple[float, float]] = {}
    throttled: dict[int, set[str]] = {}
    replays: Counter[int] = Counter()
    for m in run.measurements:
        for state in (m.evidence.gpus if m.evidence else None) or ():
            if state.pcie_generation and state.pcie_width:
                seen = max(state.pcie_generation), max(state.pcie_width)
                links[state.gpu] = max(seen, links.get(state.gpu, seen))
            throttled.setdefault(state.gpu, set()).update(state.throttle or ())
            replays[state.gpu] += state.pcie_replays or 0
    for gpu, (generation, width) in links.items():
        yield f"PCIe link of gpu:{gpu} in use", f"generation {generation:g} x{width:g}"
    for gpu, reasons in throttled.items():
        yield f"throttling of gpu:{gpu}", ", ".join(sorted(reasons)) or "none"
        yield f"PCIe replays of gpu:{gpu}", "some" if replays[gpu] else "none"


def neighbours_of(run: Run) -> dict[str, float | None]:
    """Return the host's disturbance by others: shares of rows and time, 0..1, and load per CPU."""
    rows = disturbed = 0
    stolen: list[float] = []
    for m in run.measurements:
        if m.evidence is None:
            continue
        if m.evidence.disturbed is not None:
            replaced = m.evidence.replaced or 0
            disturbed += m.evidence.disturbed + replaced
            rows += m.n + replaced
        if m.evidence.steal_share is not None:
            stolen.append(m.evidence.steal_share)
    load = run.header.environment.get("load", "")
    cpus = run.header.machine["cpus"]
    try:
        known = float(load) / cpus if cpus else None
    except ValueError:
        known = None
    return {
        "disturbed": disturbed / rows if rows else None,
        "stolen": sum(stolen) / len(stolen) if stolen else None,
        "load": known,
    }


def run_files_below(folder: Path) -> list[str]:
    """Return the run files in a folder and below; raises UserError if it is not a folder."""
    if not folder.is_dir():
        raise UserError(
            f"'{folder}' is not a directory; name the folder that a fleet's run files are in"
        )
    found = []
    for place, _, names in os.walk(folder):
        # As text, since paths of thousands of hosts take megabytes.
        found += [f"{place}/{name}" for name in names if name.endswith(SUFFIX)]
    return sorted(path for path in found if os.path.isfile(path))  # noqa: PTH113


class Rows:
    """Rows of a table as lines of JSON in a compressed file, or in several if they are long.

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
        self._file = self._next()

    def add(self, row: dict[str, Any]) -> None:
        """Write a row."""
        line = to_json(row) + b"\n"
        self.longest = max(self.longest, len(line))
        many = self._bytes > _AT_ONCE_BYTES
        if many:
            self.close()
            self._file = self._next()
        if many or self._lines == _AT_ONCE:
            self._lines = self._bytes = 0
        self._lines += 1
        self._bytes += len(line)
        self._file.write(line)

    def close(self) -> None:
        """Finish the last file."""
        self._file.close()

    def _next(self) -> gzip.GzipFile:
        name = f"{self._count:07}.gz"
        self._count += 1
        return gzip.open(self.files.with_name(name), "wb", compresslevel=1)


def read_rows(
    folder: Path, paths: list[str], told: Told, rows: Mapping[str, Rows], at_once: RepetitionsAtOnce
) -> list[str]:
    """Write the rows of all run files and of the index, and the repetitions of hosts in step;
    return reasons for files that were left out.

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
            contents = read_contents(path)
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
        for one in figure_rows(name, run):
            rows[FIGURES].add({**one, **beside})
    if not found and index is None:
        raise UserError(f"'{folder}' has no run file: {unreadable[0]}")
    told(len(paths), len(paths))
    for table in rows.values():
        table.close()
    return unreadable


def _damaged_row(name: str, path: Path, why: str) -> dict[str, Any]:
    """Return the row of a host whose run file cannot be read; the file's name is the host's."""
    return {
        "host": shown(path.stem), "run": name, "state": "failed", "reason": why,
        "left_out": not is_run_file(path),
    }  # fmt: skip


def _host_row(name: str, row: dict[str, Any], run: Run) -> dict[str, Any]:
    header = run.header
    statuses = [m.status for m in run.measurements]
    state, reason = state_of(run)
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
        "memory_bytes": sum(node["total_bytes"] for node in header.machine["nodes"]),
        "gpus": len(header.machine["gpus"]),
        "measured": sum(m.has_figure for m in run.measurements),
        "skipped": statuses.count("skipped"),
        "failed": statuses.count("failed"),
        **{key: settings.get(key.replace("_", "-")) for key in _OF_SETTINGS},
        "microcode": topology.microcode if topology else None,
        "facts": facts_of(run),
        "environment": settings,
    }


def _index_row(host: FleetHost) -> dict[str, Any]:
    clock = host.clock
    offset = [clock.offset_ns, clock.low_ns, clock.high_ns] if clock else [None] * 3
    return {
        **host.model_dump(include={"host", "state", "reason", "rank", "rack", "switch"}),
        **dict(zip(_OF_INDEX[-3:], offset, strict=True)),
    }
