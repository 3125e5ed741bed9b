"""Specs of MLC's modes: a section for each mode, with a cell for each figure."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.core_latency.spec import CoreLatencySpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.model.errors import UserError
from tierscope.model.spec import Placement
from tierscope.model.topology import Topology
from tierscope.model.where import where_of
from tierscope.peers.drop_in import errors_at, read_job_text, whole
from tierscope.peers.mlc import options
from tierscope.peers.mlc.options import PEAK, READS, Mix
from tierscope.peers.mlc.settings import Settings, bound, shared_by
from tierscope.peers.mlc.threads_file import read_threads
from tierscope.plans.axes import reason
from tierscope.plans.fit import check_memory
from tierscope.plans.pinning import by_rank_in_core
from tierscope.suites.suite import Prepared

_CPUINFO = "proc/cpuinfo"
_BASE = "sys/devices/system/cpu/cpu0/cpufreq/base_frequency"
MAX_STREAMS = 16
_ACCESS = 1024
"""Bytes that a sequential stream touches without a pause."""
_RANDOM_ACCESS = 64
_CLOCKED = 128
"""Bytes that MLC's threads move in as many clocks as the delay says. No document has it: published
tables of machines whose CPUs are known do (8269CY: 2911 MB/s by 104 threads at 20000)."""
DELAYS = (
    0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000,
)  # fmt: skip
"""Delays of ``--loaded_latency`` in clocks."""
_SECONDS = 1.0
"""Most seconds of a transfer: there are four times as many as pairs of nodes."""

At = tuple[int | str, int]
"""Row and column of a cell."""
Ways = list[tuple[list[int], int]]
"""CPUs, and the node that they access."""


def base_hz(root: Path = Path("/")) -> float:
    """Return the base frequency in Hz.

    It is what cpufreq says, else what the CPU's name says (``@ 2.10GHz``), else the frequency that
    /proc/cpuinfo shows, which virtual machines never change. UserError where none is known.
    """
    base = _text(root / _BASE).strip()
    if base.isdecimal() and int(base):
        return int(base) * 1e3
    cpuinfo = _text(root / _CPUINFO)
    named = re.search(r"^model name.*@\s*([0-9.]+)GHz", cpuinfo, re.MULTILINE)
    if named:
        return float(named[1]) * 1e9
    shown = re.search(r"^cpu MHz\s*:\s*([0-9.]+)", cpuinfo, re.MULTILINE)
    if shown and float(shown[1]):
        return float(shown[1]) * 1e6
    raise UserError("the CPU's base frequency, in which MLC counts, is not known here")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@dataclass(frozen=True)
class Group:
    """Threads that do the same: one stream."""

    cpus: tuple[int, ...]
    placement: Placement
    mix: Mix
    size: int
    """Bytes of each thread's buffer of reads, and of that of writes."""
    order: str

    @property
    def array_bytes(self) -> int:
        """Bytes of all threads' buffers, of reads and of writes."""
        return self.size * len(self.cpus) * (2 if self.mix.both else 1)


@dataclass(frozen=True)
class Cell:
    """One figure of a section."""

    row: int | str
    column: int
    spec: Spec
    parts: dict[str, float] = field(default_factory=dict)
    """Bus bytes per byte of a bandwidth, by its part; the headline's part is ""."""
    threads: dict[str, int] = field(default_factory=dict)
    """The CPU of each part, where threads are told apart (-B)."""


def _spec(kind: type[Any], settings: Settings, name: str, **fields: Any) -> Any:
    try:
        return kind.model_validate({"id": name, "sampling": settings.sampling(), **fields})
    except ValidationError as error:
        raise UserError(f"{name}: {reason(error)}") from None


def latency_cell(settings: Settings, at: At, name: str, cpu: int, nodes: list[int]) -> Cell:
    """Return idle latency from a CPU to the column's node; all ``nodes`` have equal buffers."""
    spec = _spec(
        LatencySpec,
        settings,
        name,
        initiator=_initiator(settings, cpu),
        target=f"node:{at[1]}",
        cpu=cpu,
        placement=bound(at[1]),
        prefetchers=settings.prefetchers,
        pattern=settings.chase(cpu, nodes),
    )
    return Cell(*at, spec)


def _initiator(settings: Settings, cpu: int) -> str:
    """Name a CPU: as its node where it is the first one there."""
    node = settings.node_of(cpu)
    first = min(one for one in node.cpus if one in settings.topology.cpus)
    return f"node:{node.number}" if cpu == first else f"cpus:{cpu}"


def streams_cell(
    settings: Settings, at: At, name: str, groups: Sequence[Group], delay_ns: int, apart: bool
) -> Cell:
    """Return streams that run together, ``apart`` one of each thread.

    Raises UserError where there are too many.
    """
    if apart:
        groups = [replace(group, cpus=(cpu,)) for group in groups for cpu in group.cpus]
    if len(groups) > MAX_STREAMS:
        raise UserError(
            f"{len(groups)} different streams are to run together; at most {MAX_STREAMS} can"
        )
    main, *others = (_stream(settings, group, delay_ns) for group in groups)
    names = ["", *(f"stream{number}" for number in range(2, len(groups) + 1))]
    beside = [{"name": name, **one} for name, one in zip(names[1:], others, strict=True)]
    spec = _spec(TrafficSpec, settings, name, **main, beside=beside)
    named = list(zip(names, groups, strict=True))
    threads = {part: group.cpus[0] for part, group in named} if apart else {}
    return Cell(*at, spec, {part: group.mix.bus_bytes for part, group in named}, threads)


def _stream(settings: Settings, group: Group, delay_ns: int) -> dict[str, Any]:
    return {
        "initiator": settings.endpoint(list(group.cpus)),
        "target": where_of(group.placement),
        "cpus": list(group.cpus),
        "placement": group.placement,
        "pattern": {
            "writes": group.mix.percent,
            "stores": group.mix.stores,
            "order": group.order,
            "access_size": _RANDOM_ACCESS if group.order == "random" else _ACCESS,
            "delay_ns": delay_ns,
            "size": group.array_bytes,
            "pages": settings.pages_of(group.placement, group.size),
            "isa": settings.isa,
        },
    }


def can_triad(settings: Settings, groups: Sequence[Group]) -> bool:
    """Whether Triad can have its buffers where the groups have theirs: on one node, or each on the
    node of its thread."""
    if len(groups) == 1:
        return len(groups[0].placement.nodes) == 1
    return all(
        settings.node_of(cpu).number == group.placement.nodes[0].node
        for group in groups
        for cpu in group.cpus
    )


def triad_cell(settings: Settings, at: At, name: str, groups: Sequence[Group], mix: Mix) -> Cell:
    """Return STREAM's Triad: two read buffers and a written one per thread.

    On several nodes, each thread's buffers are on its own.
    """
    cpus = [cpu for group in groups for cpu in group.cpus]
    placement = groups[0].placement
    if len(groups) > 1:
        counts = {g.placement.nodes[0].node: len(g.cpus) for g in groups}
        placement = shared_by("first-touch", counts)
    spec = _spec(
        BandwidthSpec,
        settings,
        name,
        initiator=settings.endpoint(cpus),
        target=where_of(placement),
        cpus=cpus,
        placement=placement,
        pattern={
            "operation": "triad-nt" if mix.stores == "nt" else "triad",
            "order": settings.order,
            "size": groups[0].size * len(cpus),
            "pages": settings.pages_of(placement, groups[0].size),
            "isa": settings.isa,
        },
    )
    return Cell(*at, spec, {"": spec.traffic().both})


def loaded_cell(settings: Settings, at: At, name: str, group: Group, delay_ns: int) -> Cell:
    """Return latency from the CPU of -c while a group of others loads the memory."""
    cpu = settings.cpu("c")
    node = settings.latency_memory(cpu)
    spec = _spec(
        LoadedLatencySpec,
        settings,
        name,
        initiator=_initiator(settings, cpu),
        target=f"node:{node}",
        cpu=cpu,
        placement=bound(node),
        pattern=settings.chase(cpu, [node]),
        load=_stream(settings, group, delay_ns),
        sampling=settings.sampling(0.02),
    )
    return Cell(*at, spec, {"": group.mix.bus_bytes})


def local_to_each(found: Ways) -> tuple[list[int], Placement]:
    """Return the CPUs of several nodes, and one region of which each thread's share is on its node.

    Threads have equal shares of a region, in their order, and a partition has one range a node.
    """
    cpus = [cpu for own, _ in found for cpu in own]
    counts: Counter[int] = Counter()
    for own, node in found:
        counts[node] += len(own)
    if len(counts) == 1:
        return cpus, bound(found[0][1])
    return cpus, shared_by("partition", counts)


def clocked_ns(delay: int, hz: float) -> int:
    """Return the time from one access of a stream to its next for a delay of MLC's, in ns."""
    return round(delay * _ACCESS / _CLOCKED / hz * 1e9)


@dataclass(frozen=True)
class Section:
    """One mode: its cells, and the facts of its head."""

    mode: str
    cells: tuple[Cell, ...]
    columns: tuple[int, ...] = ()
    """Nodes of a grid's columns."""
    latency_bytes: int = 0
    thread_bytes: int = 0
    """Bytes of buffers, where the head has them."""
    missing: str = ""
    """Why it has no cells."""


def loaded_section(settings: Settings) -> Section:
    """Return latency under loads at falling rates; with -T, the loads alone."""
    line = settings.line
    delays = _delays(settings)
    hz = base_hz() if any(delays) else 1.0
    groups = _load(settings)
    if not groups:
        return Section(options.LOADED, (), missing=_no_load(settings))
    cells = []
    for delay in delays:
        at, name, pause = (delay, 0), f"loaded.d{delay}", clocked_ns(delay, hz)
        if line.of("T"):
            cells.append(streams_cell(settings, at, name, groups, pause, bool(line.of("B"))))
        else:
            cells.append(loaded_cell(settings, at, name, groups[0], pause))
    return Section(options.LOADED, tuple(cells), thread_bytes=groups[0].size)


def _delays(settings: Settings) -> list[int]:
    line = settings.line
    if "d" in line.given:
        return [line.of("d")]
    if "g" not in line.given:
        return list(DELAYS)
    name = line.of("g")
    found = []
    for number, text in enumerate(read_job_text(name).split("\n"), start=1):
        if text.strip():
            with errors_at(f"{name}:{number}"):
                found.append(whole(0, 1_000_000)(text.strip()))
    if not found:
        raise UserError(f"{name}: no delays; give one a line")
    return list(dict.fromkeys(found))


def _load(settings: Settings) -> list[Group]:
    """Return the threads that load the memory: one group, or with -T several."""
    line = settings.line
    groups = _of_file(settings) if "o" in line.given else _of_cpus(settings)
    if line.of("T") or not groups:
        return groups
    if line.of("B"):
        raise UserError("-B: the bandwidth of each thread is measured with -T only")
    if len(groups) > 1:
        raise UserError(
            f"-o: {Path(line.of('o')).name} has {len(groups)} kinds of threads; latency is "
            "measured beside one kind, so add -T, or make all lines alike"
        )
    if settings.cpu("c") in groups[0].cpus:
        raise UserError(
            f"-{'o' if 'o' in line.given else 'k'}: CPU {settings.cpu('c')} measures the latency "
            "and cannot load, too; leave it out, name another in -c, or give -T"
        )
    return groups


def _no_load(settings: Settings) -> str:
    return (
        f"--{options.LOADED}: CPU {settings.cpu('c')} measures the latency, and no other is left "
        "to load; with -T it loads alone"
    )


def _of_cpus(settings: Settings) -> list[Group]:
    line = settings.line
    chase = settings.cpu("c")
    if line.of("T") or ("k" in line.given and line.mode):
        spared: set[int] = set()
    else:
        spared = set(_core_of(settings.topology, chase)) if line.of("X") else {chase}
    ways = [
        (left, node)
        for cpus, node in settings.with_own_memory()
        if (left := [cpu for cpu in cpus if cpu not in spared])
    ]
    if not ways and line.mode:
        raise UserError(_no_load(settings))
    if not ways:
        return []
    size = settings.thread_bytes(ways)
    mix: Mix = line.of("W", READS)
    if "j" in line.given:
        node = settings.forced_node()
        ways = [([cpu for cpus, _ in ways for cpu in cpus], node)]
    if line.of("T"):
        return [Group(tuple(cpus), bound(n), mix, size, settings.order) for cpus, n in ways]
    cpus, placement = local_to_each(ways)
    return [Group(tuple(cpus), placement, mix, size, settings.order)]


def _core_of(topology: Topology, cpu: int) -> Sequence[int]:
    """Return the CPUs of a CPU's core."""
    return next((core for core in topology.siblings if cpu in core), [cpu])


def _of_file(settings: Settings) -> list[Group]:
    """Return the threads of -o, grouped by what they do."""
    if "k" in settings.line.given:
        raise UserError("-k and -o contradict each other: the file names the CPUs")
    found: dict[tuple[object, ...], Group] = {}
    for threads in read_threads(settings.line.of("o")):
        with errors_at(threads.place):
            settings.check(threads.cpus, [share.node for share in threads.placement.nodes])
        key = (threads.mix.name, threads.order, threads.size, threads.placement.model_dump_json())
        before = found[key].cpus if key in found else ()
        cpus = (*before, *threads.cpus)
        found[key] = Group(cpus, threads.placement, threads.mix, threads.size, threads.order)
    return list(found.values())


def c2c_section(settings: Settings) -> Section:
    """Return transfers between cores: of the reader's socket, then between nodes."""
    reader = settings.cpu("c")
    writer = _writer(settings, reader)
    home = settings.own_memory(settings.node_of(settings.cpu("i", reader)))
    cells = []
    if writer is not None:
        for column, state in enumerate(("clean", "modified")):
            at, name = ("local", column), f"c2c.{state}"
            cells.append(_core_cell(settings, at, name, (reader, writer), home, state))
    missing = "" if cells else f"--{options.C2C}: CPU {reader}'s socket has no other core to use"
    firsts = {node.number: (cpu, node) for node, cpu in settings.first_cpus}
    for home_of in ("writer", "reader"):
        for write, (writing, _) in firsts.items():
            for read, (reading, _) in firsts.items():
                if write == read:
                    continue
                node = firsts[write if home_of == "writer" else read][1]
                at, name = (f"{home_of}:{write}", read), f"c2c.{home_of}.{write}.{read}"
                cpus, own = (reading, writing), settings.own_memory(node)
                cells.append(_core_cell(settings, at, name, cpus, own, "modified"))
    return Section(
        options.C2C, tuple(cells), tuple(firsts) if len(firsts) > 1 else (), missing=missing
    )


def _writer(settings: Settings, reader: int) -> int | None:
    """Return the CPU that writes: -w, else another core's of the same socket; None: there is
    none."""
    if "w" in settings.line.given:
        writer = settings.cpu("w")
        if writer == reader:
            raise UserError(f"-w: CPU {writer} reads already; name another one")
        return writer
    topology = settings.topology
    core = _core_of(topology, reader)
    socket = next((p.cpus for p in topology.packages if reader in p.cpus), topology.cpus)
    others = [cpu for cpu in socket if cpu in topology.cpus and cpu not in core]
    return min(others, default=None)


def _core_cell(
    settings: Settings, at: At, name: str, cpus: tuple[int, int], home: int, state: str
) -> Cell:
    reader, writer = cpus
    sampling = settings.sampling()
    sampling["budget_s"] = min(_SECONDS, sampling["budget_s"])
    spec = _spec(
        CoreLatencySpec,
        settings,
        name,
        initiator=f"cpus:{reader}",
        target=f"node:{home}",
        cpu=reader,
        writer=writer,
        placement=bound(home),
        pattern={"state": state, "pages": "thp" if settings.thp else "base"},
        sampling=sampling,
    )
    return Cell(*at, spec)


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the five measurements of ``tierscope mlc --peak_injection_bandwidth``."""
    specs = [cell.spec for cell in peak_section(Settings(topology, thp)).cells]
    plan = Plan(version=PLAN_VERSION, measurements=specs)
    check_memory(plan, topology)
    ratios = ", ".join(mix.words for mix in PEAK.values())
    note = f"Reads to writes on the bus, in the order of the plan: {ratios}."
    return Prepared(plan, notes=(note,))


def sections(settings: Settings) -> list[Section]:
    """Return the measurements of a command line; UserError where this machine cannot make them."""
    return [_MAKERS[mode](settings) for mode in settings.line.modes]


def _latency_matrix(settings: Settings) -> Section:
    nodes = settings.memory_nodes
    cells = [
        latency_cell(settings, (node.number, to), f"latency.{node.number}.{to}", cpu, nodes)
        for node, cpu in settings.first_cpus
        for to in nodes
    ]
    size = settings.latency_bytes(min(settings.topology.cpus), nodes)
    return Section(options.LATENCY, tuple(cells), tuple(nodes), latency_bytes=size)


def _idle_latency(settings: Settings) -> Section:
    cpus = [settings.cpu("c")]
    if settings.line.of("a"):
        ranks = by_rank_in_core(settings.topology.cpus, settings.topology.siblings)
        cpus = ranks[0] if settings.line.of("X") else settings.topology.cpus
    nodes = {cpu: settings.latency_memory(cpu) for cpu in cpus}
    every = sorted(set(nodes.values()))
    cells = [
        latency_cell(settings, (cpu, node), f"latency.cpu{cpu}.{node}", cpu, every)
        for cpu, node in nodes.items()
    ]
    size = settings.latency_bytes(cpus[0], every)
    return Section(options.IDLE, tuple(cells), latency_bytes=size)


def _bandwidth_matrix(settings: Settings) -> Section:
    mix: Mix = settings.line.of("W", READS)
    nodes = settings.memory_nodes
    ways = [(node.number, cpus, to) for node, cpus in settings.with_cpus for to in nodes]
    size = settings.thread_bytes([(cpus, to) for _, cpus, to in ways])
    cells = []
    for number, cpus, to in ways:
        group = Group(tuple(cpus), bound(to), mix, size, settings.order)
        name = f"bandwidth.{number}.{to}.{mix.name}"
        cells.append(_bandwidth_cell(settings, (number, to), name, [group], mix))
    return Section(options.MATRIX, tuple(cells), tuple(nodes), thread_bytes=size)


def _bandwidth_cell(
    settings: Settings, at: At, name: str, groups: Sequence[Group], mix: Mix, apart: bool = False
) -> Cell:
    if mix.two_buffers and not apart and can_triad(settings, groups):
        return triad_cell(settings, at, name, groups, mix)
    return streams_cell(settings, at, name, groups, 0, apart)


def peak_section(settings: Settings) -> Section:
    """Return peak injection: all CPUs to their own nodes, at five mixes."""
    return _peaks(settings, options.PEAK_INJECTION, [settings.with_own_memory()])


def _max_bandwidth(settings: Settings) -> Section:
    """Peak injection by several numbers of threads on each node: all, one a core, half of those."""
    every = settings.with_own_memory()
    cores = settings.topology.siblings
    single = [(by_rank_in_core(cpus, cores)[0], node) for cpus, node in every]
    half = [(cpus[: max(1, len(cpus) // 2)], node) for cpus, node in single]
    tried = []
    for one in (every, single, half):
        if one not in tried:
            tried.append(one)
    return _peaks(settings, options.MAX, tried)


def _peaks(settings: Settings, mode: str, tried: Sequence[Ways]) -> Section:
    size = settings.thread_bytes(tried[0])
    cells = []
    for number, ways in enumerate(tried):
        for label, mix in PEAK.items():
            groups = [
                Group(tuple(cpus), bound(node), mix, size, settings.order) for cpus, node in ways
            ]
            name = f"{'peak' if mode == options.PEAK_INJECTION else 'max'}.{mix.name}"
            name += f".{sum(len(cpus) for cpus, _ in ways)}" if len(tried) > 1 else ""
            apart = bool(settings.line.of("B"))
            cells.append(_bandwidth_cell(settings, (label, number), name, groups, mix, apart))
    return Section(mode, tuple(cells), thread_bytes=size)


_MAKERS: dict[str, Callable[[Settings], Section]] = {
    options.LATENCY: _latency_matrix,
    options.IDLE: _idle_latency,
    options.MATRIX: _bandwidth_matrix,
    options.PEAK_INJECTION: peak_section,
    options.MAX: _max_bandwidth,
    options.LOADED: loaded_section,
    options.C2C: c2c_section,
}
