"""Measured copies with their transfers as planned, and what people call them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tierscope.analysis.knee import half_size
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.machine.affinity import home
from tierscope.machine.links import PCIE
from tierscope.machine.paths import MachinePaths
from tierscope.model.errors import UserError
from tierscope.model.gpu import (
    BOTH_WAYS,
    SURELY_IN_MEMORY,
    GpuPlace,
    HostPlace,
    Transfer,
    between_gpus,
    endpoint_of,
    host_places,
    issuer_and_memory,
    reads,
)
from tierscope.model.run import Measurement, Run
from tierscope.model.text import brief
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.report import figures
from tierscope.report.evidence import states_of, throttled
from tierscope.report.figures import size_text
from tierscope.report.pictures.picture import distinct, words_of
from tierscope.report.style import title
from tierscope.report.table import OF_LIMIT, Grid, show_grid, show_notes, show_rows
from tierscope.report.view import Column, View
from tierscope.runs.history import entries
from tierscope.runs.read import parse_run, read_bytes

_ALL_WORDS = ["engine", "memory", "pages", "way", "transfers", "issued", "streams"]
_OPERATIONS = {"read": ("read",), "written": ("write", "write-nt")}
"""By what a copy does to the node: the loops of CPUs that do the same."""
_RUNS = 20
"""Run files that are looked through at most, the newest first."""
_ENOUGH = 0.98
"""Of a link's rate: what its interval may hide."""
_KIND = "bandwidth"
Need = tuple[int, str]
"""A node, and whether a copy reads it or writes to it."""
_GOOD = 0.80
"""Efficiency from which a PCIe copy is as good as packet headers and flow control leave."""
_SMALL = 1 << 20
"""Bytes up to which starting a copy takes a visible share of its time."""
_FIRST = (
    "first: the first copy in new memory, by the host's clock, before clocks, links and the "
    "driver's own buffers were warm; in no other figure"
)
_CALL = (
    "a copy: one of many queued back to back, timed by the GPU; a call: one copy and the wait for "
    "it, timed by the host"
)
_MIN_MATRIX = 2
"""Sources and destinations from which on copies form a matrix."""


@dataclass(frozen=True)
class Copy:
    """One measured copy."""

    entry: Measurement
    transfers: tuple[Transfer, ...]
    """As the plan has them; none in a file of another's making."""
    gpus: int
    """GPUs of the machine."""

    @property
    def counted(self) -> list[Transfer]:
        """The transfers whose bytes the figure counts."""
        return [one for one in self.transfers if one.reported]

    @property
    def both_ways(self) -> bool:
        """Whether two transfers go in opposite directions."""
        return (
            len(self.transfers) == 2 and self.transfers[1].source == self.transfers[0].destination
        )

    @property
    def source_writes(self) -> bool:
        """Whether, between two GPUs, the source issues the copy."""
        one = self.transfers[0] if self.transfers else None
        return one is not None and between_gpus(one) and not reads(one)

    @property
    def size(self) -> int:
        """Bytes of one copy."""
        return int(self.entry.pattern["size"])


def copies_of(measured: Sequence[Measurement], run: Run) -> list[Copy]:
    """Return the copies of a run with their transfers."""
    gpus = len(run.header.machine["gpus"])
    return [Copy(entry, _transfers(run, entry), gpus) for entry in measured]


def _transfers(run: Run, entry: Measurement) -> tuple[Transfer, ...]:
    planned = run.planned(entry.id, GpuCopySpec)
    return tuple(planned.transfers) if planned else ()


def describe(copy: Copy) -> str:
    """Return ``node:0 -> gpu:0, ce, pinned`` or the like: all that tells copies apart."""
    entry, transfers = copy.entry, copy.transfers
    if not transfers:
        said = words_of(entry, [key for key in _ALL_WORDS if key in entry.pattern])
        return ", ".join(filter(None, (f"{entry.initiator} -> {entry.target}", said, *rows(copy))))
    first = transfers[0]
    streams = [f"{first.streams} streams"] if first.streams > 1 else []
    worker = []
    if between_gpus(first) and len(transfers) <= 2:
        worker = [f"gpu:{first.gpu} {'reads' if reads(first) else 'writes'}"]
    parts = [_name(copy), first.engine, *worker, *memory_of(copy), *rows(copy), *streams]
    return ", ".join(parts)


def _name(copy: Copy) -> str:
    first = copy.transfers[0]
    source, destination = endpoint_of(first.source), endpoint_of(first.destination)
    if len(copy.transfers) == 1:
        return f"{source} -> {destination}"
    if copy.both_ways:
        return f"{source} <-> {destination}"
    label = _set_of(copy)
    name = f"{len(copy.transfers)} transfers{_common_endpoint(copy.transfers)}"
    return f"{label}: {name}" if label else name


def _set_of(copy: Copy) -> str:
    """Return the name of a set of transfers among all GPUs; empty for any other."""
    transfers = copy.transfers
    ends = [(one.source, one.destination) for one in transfers]
    gpus = {end.gpu for pair in ends for end in pair if isinstance(end, GpuPlace)}
    if len(copy.counted) != len(transfers) or len(gpus) != copy.gpus:
        return ""
    from_host = [one for one in transfers if isinstance(one.source, HostPlace)]
    to_host = [one for one in transfers if isinstance(one.destination, HostPlace)]
    if len(from_host) + len(to_host) == len(transfers):
        if from_host and to_host:
            return "all-and-host"
        return "host-to-all" if from_host else "all-to-host"
    if from_host or to_host:
        return ""
    if len({endpoint_of(source) for source, _ in ends}) == 1:
        return "one-to-all"
    if len({endpoint_of(destination) for _, destination in ends}) == 1:
        return "all-to-one"
    return "all-to-all" if len(transfers) == len(gpus) * (len(gpus) - 1) else ""


def _common_endpoint(transfers: Sequence[Transfer]) -> str:
    sources = {endpoint_of(one.source) for one in transfers}
    destinations = {endpoint_of(one.destination) for one in transfers}
    if len(sources) == 1:
        return f" from {sources.pop()}"
    return f" to {destinations.pop()}" if len(destinations) == 1 else ""


def memory_of(copy: Copy) -> list[str]:
    """Return the kinds of host memory of a copy: ``pinned``, ``registered in 2m pages``."""
    return [
        place.memory + ("" if place.pages == "base" else f" in {place.pages} pages")
        for place in host_places(copy.transfers[:1])
    ]


def rows(copy: Copy) -> list[str]:
    """Return the rows of a strided copy."""
    row, pitch = copy.entry.pattern.get("row_bytes"), copy.entry.pattern.get("pitch")
    return [f"rows of {row} B every {pitch} B"] if row else []


@dataclass(frozen=True)
class HostRate:
    """The highest bandwidth that CPUs measured of one node."""

    rate: float
    """Bytes/s."""
    run: str
    """The run file that has it; empty: this one."""


def node_lines(copies: Iterable[Copy], run: Run) -> list[str]:
    """Say of each node that copies used what its memory gives CPUs, where a run knows."""
    carried: dict[tuple[int, str], float] = {}
    """By GPU and direction: what its link carried at most."""
    reached: dict[Need, float] = {}
    links: dict[Need, set[tuple[int, str]]] = {}
    for copy in copies:
        need, rate = _need(copy), copy.entry.estimate or 0.0
        if need is None:
            continue
        link = (copy.transfers[0].gpu, need[1])
        carried[link] = max(carried.get(link, 0.0), rate)
        reached[need] = max(reached.get(need, 0.0), rate)
        links.setdefault(need, set()).add(link)
    rates = _rates(run, set(reached))
    return [
        _line(need, rates[need], reached[need], max(carried[link] for link in links[need]))
        for need in sorted(rates)
    ]


def _need(copy: Copy) -> Need | None:
    """Return what one copy asks of a single node; None of copies among GPUs and of several."""
    if len(copy.transfers) != 1:
        return None
    one = copy.transfers[0]
    for place, what in ((one.source, "read"), (one.destination, "written")):
        if isinstance(place, HostPlace) and len(place.placement.nodes) == 1:
            return place.placement.nodes[0].node, what
    return None


def _line(need: Need, found: HostRate, reached: float, carried: float) -> str:
    node, what = need
    where = f" (run {found.run})" if found.run else ""
    gives = "gives its CPUs" if what == "read" else "takes from its CPUs"
    start = f"node {node} {gives} {found.rate / 1e9:.1f} GB/s{where}"
    if found.rate >= _ENOUGH * carried:
        return f"{start}: enough for this link, which carried {carried / 1e9:.1f}"
    if reached > found.rate:
        return f"{start}, though copies reach {reached / 1e9:.1f}: the CPUs limit that figure"
    return f"{start}, less than the {carried / 1e9:.1f} that this link carried with another node"


def _rates(run: Run, needs: set[Need]) -> dict[Need, HostRate]:
    """Return rates of this run, else of the newest run of the same machine that has them."""
    found = {
        need: rate for need in needs if (rate := _best(run.measurements, need, "")) is not None
    }
    open_needs = needs - set(found)
    if open_needs:
        for other in _other_runs(run):
            for need in [*open_needs]:
                rate = _best(other.measurements, need, other.header.name)
                if rate is not None:
                    found[need] = rate
                    open_needs.discard(need)
            if not open_needs:
                break
    return found


def _best(measurements: Iterable[Measurement], need: Need, run: str) -> HostRate | None:
    node, what = need
    rates = [
        m.estimate
        for m in measurements
        if m.kind == _KIND
        and m.target == f"node:{node}"
        and m.estimate is not None
        and not m.fits_caches
        and m.pattern.get("operation") in _OPERATIONS[what]
    ]
    return HostRate(max(rates), run) if rates else None


def _other_runs(run: Run) -> Iterator[Run]:
    """Yield the newest kept runs of this host that measured bandwidth, without damaged ones."""
    try:
        kept = [one for one in entries() if one.host == run.header.host]
    except UserError:
        return
    for entry in kept[: -_RUNS - 1 : -1]:
        if entry.name == run.header.name or entry.state == "unreadable":
            continue
        try:
            content = read_bytes(Path(entry.path))
            if f'"kind":"{_KIND}"'.encode() in content:
                yield parse_run(content, entry.path)
        except UserError:
            continue


def explain(copy: Copy, topology: Topology | None) -> str:
    """Return the most telling thing about a measured copy; empty where there is none."""
    if copy.entry.status != "measured" or not copy.transfers:
        return ""
    for reason in (
        _slow_link(copy, topology),
        throttled(copy.entry),
        _by_memory(copy.transfers),
        _by_distance(copy.transfers, topology),
        _by_shape(copy),
    ):
        if reason:
            return reason
    return ""


def _slow_link(copy: Copy, topology: Topology | None) -> str:
    """Say how the PCIe link ran, where GPU and slot support a higher generation or more lanes."""
    if topology is None:
        return ""
    over_pcie = _over_pcie(copy.transfers, topology)
    for state in states_of(copy.entry):
        gpu = topology.gpu(state.gpu)
        best = gpu.link_max if gpu and state.gpu in over_pcie else None
        if best is None or not state.pcie_generation or not state.pcie_width:
            continue
        generation, width = int(state.pcie_generation[-1]), int(state.pcie_width[-1])
        known = PCIE.get(best.speed)
        supported = known.number if known else generation
        if generation < supported or width < best.width:
            return (
                f"the link ran at Gen{generation} x{width}, although GPU and slot support "
                f"Gen{supported} x{best.width}"
            )
    return ""


def _over_pcie(transfers: Sequence[Transfer], topology: Topology) -> set[int]:
    """Return the GPUs whose PCIe link the bytes go over: no NVLink, C2C or memory of their own."""
    paths = MachinePaths(topology)
    found: set[int] = set()
    for one in transfers:
        if any(hop.now or hop.best for hop in paths.path(*issuer_and_memory(one)).hops):
            places = (one.source, one.destination)
            found |= {place.gpu for place in places if isinstance(place, GpuPlace)}
    return found


def _by_memory(transfers: Sequence[Transfer]) -> str:
    kinds = {place.memory for place in host_places(transfers)}
    if "pageable" in kinds:
        return "pageable memory: the driver stages every byte through a pinned buffer of its own"
    if "managed" in kinds:
        return "managed memory: the GPU faults on each page, and pages migrate piece by piece"
    if "managed-prefetch" in kinds:
        return "managed memory, prefetched: the driver moves and remaps pages"
    return ""


def _by_distance(transfers: Sequence[Transfer], topology: Topology | None) -> str:
    if topology is None:
        return ""
    places = host_places(transfers[:1])
    nodes = {share.node for place in places for share in place.placement.nodes}
    gpu = topology.gpu(transfers[0].gpu)
    device = topology.pci_device(gpu.address if gpu else None)
    for number in sorted(nodes):
        node = topology.node(number)
        if node is not None and node.kind is NodeKind.CXL:
            return f"node {number} is CXL memory: its own link and controller are on the path"
        if node is not None and device is not None and device.node is not None:
            return _crossing(topology, node, device.node)
    return ""


def _crossing(topology: Topology, node: Node, own: int) -> str:
    """Say why memory of a node is not as near as that of a GPU's own; empty where it is."""
    near = home(topology, node)
    if near is None or own in (near, node.number):
        return ""
    here, there = topology.node(own), topology.node(near)
    if here and there and here.package is not None and here.package == there.package:
        return f"node {node.number} is not the GPU's: the path crosses their package's mesh"
    return f"node {node.number} is not the GPU's: the path crosses the sockets' interconnect"


def _by_shape(copy: Copy) -> str:
    entry, transfers = copy.entry, copy.transfers
    if entry.evidence and entry.evidence.in_turn:
        return (
            f"{len(transfers)} transfers were queued at once but served in turn: the rate covers "
            "the time until all had finished"
        )
    if len(transfers) > 1 and len(copy.counted) < len(transfers):
        return "the other transfers contend for the same links until the end; only this one counts"
    if len(transfers) > 1:
        return _of_several(copy)
    if transfers[0].source == transfers[0].destination:
        if copy.size < SURELY_IN_MEMORY:
            return "copies this small may stay in the L2, whose rate is not known"
        return "inside one GPU each byte is read and written: at most half of its memory's rate"
    return _of_one(entry, copy.size, transfers[0])


def _of_several(copy: Copy) -> str:
    transfers = copy.transfers
    if copy.both_ways:
        rates = {figure.part: figure.estimate for figure in copy.entry.figures}
        said = [
            f"{endpoint_of(one.source)} -> {endpoint_of(one.destination)} "
            f"{rates[one.name] / 1e9:.1f}"
            for one in transfers
            if one.name in rates
        ]
        if len(said) == len(transfers):
            return (
                f"{' and '.join(said)} GB/s at once: each direction also carries the other's "
                "acknowledgements and read requests"
            )
    return f"{len(transfers)} transfers at once, under contention until the end"


def _of_one(entry: Measurement, size: int, one: Transfer) -> str:
    efficiency = entry.efficiency or 0.0
    if size <= _SMALL and 0.0 < efficiency < 0.95 * _GOOD:
        return f"for {size_text(size)}, starting the copy takes a large share of the time"
    if one.engine != "ce":
        return "moved by a kernel's loads and stores: smaller packets than a copy engine's"
    if efficiency >= _GOOD:
        return "near the link's maximum: packet headers and flow control take the rest"
    if entry.limit is not None:
        return f"below what the smallest link, {entry.limit.link}, should give"
    return ""


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print copies as a matrix for each way of copying, or as a list; then sizes and traces."""
    title(console, VIEW.title)
    copies = copies_of(measured, run)
    if rest := _show_matrices(console, copies):
        by_id = {copy.entry.id: copy for copy in rest}
        columns = [
            Column("a copy", lambda m: _each_text(by_id[m.id])),
            Column("why", lambda m: explain(by_id[m.id], run.header.topology), number=False),
        ]
        show_rows(console, [copy.entry for copy in rest], VIEW, columns)
    show_notes(console, measured, [
        *_first_copies(measured),
        *([_CALL] if any(figures.side_figure(m, "call_latency") for m in measured) else []),
        *_half_sizes(copies),
        *node_lines(copies, run),
    ])  # fmt: skip


def _first_copies(measured: Sequence[Measurement]) -> Iterator[str]:
    found = (figures.figure_of(m, "first_copy_bandwidth") for m in measured)
    if rates := sorted(rate for rate in found if rate is not None):
        ends = dict.fromkeys(brief(rate / 1e9, 3) for rate in (rates[0], rates[-1]))
        yield f"{_FIRST}: {' to '.join(ends)} GB/s"


def _each_text(copy: Copy) -> str:
    """Return the time of one copy; empty where others ran beside it."""
    alone = "transfers" not in copy.entry.pattern and "way" not in copy.entry.pattern
    return _time_text(copy.size / (copy.entry.estimate or 1)) if alone else ""


def _show_matrices(console: Console, copies: list[Copy]) -> list[Copy]:
    """Print what forms a matrix of sources and destinations; returns the rest."""
    groups: dict[tuple[Any, ...], list[Copy]] = {}
    for copy in copies:
        pattern = copy.entry.pattern
        if "transfers" not in pattern:
            keys = ("engine", "way", "size", "row_bytes", "pitch", "streams")
            same = (copy.source_writes, *(pattern.get(key) for key in keys))
            groups.setdefault(same, []).append(copy)
    shown: set[str] = set()
    for members in groups.values():
        measured = [copy.entry for copy in members]
        cells = {(m.initiator, m.target): m for m in measured}
        sources = sorted(distinct(measured, "initiator"), key=_natural)
        destinations = sorted(distinct(measured, "target"), key=_natural)
        if len(cells) == len(members) and min(len(sources), len(destinations)) >= _MIN_MATRIX:
            grid = Grid("initiator", "target", sources, destinations, cells, {})
            show_grid(console, grid, f"{_heading(members)}, GB/s", 1e9, [OF_LIMIT])
            shown |= {m.id for m in measured}
    return [copy for copy in copies if copy.entry.id not in shown]


def _natural(endpoint: str) -> tuple[str, int]:
    """Order gpu:2 before gpu:10."""
    kind, _, number = endpoint.partition(":")
    return kind, int(number) if number.isdigit() else -1


def _heading(copies: Sequence[Copy]) -> str:
    first = copies[0]
    pattern: Mapping[str, Any] = first.entry.pattern
    way = "one direction"
    if "way" in pattern:
        both = pattern["way"] == BOTH_WAYS
        way = "both directions at once, their sum" if both else "one direction, the other one busy"
    issued = []
    if any(between_gpus(copy.transfers[0]) for copy in copies if copy.transfers):
        side = "the source writes" if first.source_writes else "the destination reads"
        issued = [f"between GPUs {side}"]
    # Copies between GPUs stand among those with the host, and have no host memory to name.
    memory = dict.fromkeys(kind for copy in copies for kind in memory_of(copy))
    parts = [
        f"engine {pattern.get('engine', '')}",
        *issued,
        way,
        figures.size_text(first.size),
        *rows(first),
        *(f"host memory {kind}" for kind in memory),
    ]
    return ", ".join(parts)


def _half_sizes(copies: list[Copy]) -> Iterator[str]:
    """Say, of each copy that was measured over sizes, its peak and the size that gives half."""
    sweeps: dict[str, list[tuple[float, float]]] = {}
    for copy in copies:
        point = (float(copy.size), copy.entry.estimate or 0.0)
        sweeps.setdefault(describe(copy), []).append(point)
    for name, points in sweeps.items():
        if found := half_size(points):
            yield (
                f"{name}: peak {found.peak / 1e9:.1f} GB/s; half of it from "
                f"{figures.size_text(found.size)} on; the smallest copy takes "
                f"{_time_text(found.least_s)}"
            )


def _time_text(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{figures.significant(seconds / factor, 3)} {unit}"
    return f"{figures.significant(seconds / 1e-6, 3)} µs"


def _access(measurement: Measurement) -> tuple[str, str]:
    """A GPU's engine makes the copy: between host and GPU it accesses the host's memory."""
    source, destination = measurement.initiator, measurement.target
    return (source, destination) if source.startswith("gpu:") else (destination, source)


VIEW = View(
    title="GPU copies",
    method="Copies queued behind a gate on the device and timed by its events, data verified "
    "afterwards; n bytes copied count n; n½ is the size that reaches half the peak.",
    endpoints=("source", "destination"),
    table=show_table,
    access=_access,
)
