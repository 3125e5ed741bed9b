"""The measurements of the study on a machine, and the study of a run."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.machine.paths import MachinePaths
from tierscope.model.cause import Cause
from tierscope.model.endpoint import format_ranges, parse_target
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.path import HopRole
from tierscope.model.persistent import Dax
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.peers.streamer.study import (
    CLOSE,
    GROUPS,
    NAME,
    OPERATIONS,
    SPREAD,
    Configuration,
    Limits,
    Memory,
    MemoryLimit,
    Point,
    Study,
)
from tierscope.plans import options
from tierscope.plans.axes import checked, choices, identity, pages, sampling, sizes
from tierscope.plans.expand import MAX_MEASUREMENTS
from tierscope.plans.grammar import expand_counts, format_size, split_words
from tierscope.plans.machine import memory_nodes
from tierscope.plans.options import Option
from tierscope.plans.persistent import persistent_placement
from tierscope.plans.pinning import by_rank_in_core
from tierscope.plans.request import Request
from tierscope.suites.stream import array_bytes
from tierscope.suites.suite import Prepared

DEVICE = "device"
"""The backing of a device of DAX, which has no file that a pool could be in."""
STORES = ("ordinary", "non-temporal")
_OBJECTS = "pool-objects"
_ARRAYS = 3
_EACH = 8
"""All thread counts up to this one are measured by default; beyond, about as many per socket."""
OPTIONS = (
    Option("groups", "LIST", ", ".join(GROUPS), "all"),
    Option("op", "LIST", ", ".join(OPERATIONS), "all"),
    Option("stores", "LIST", "ordinary, or non-temporal", "ordinary, as in the study"),
    options.BACKING.but(
        help="What holds persistent data: file, pool (libpmemobj), pool-objects (ids translated "
        "for each element, as STREAM-PMem does)",
        default="pool,pool-objects",
    ),
    options.BACKED_BY,
    Option(
        "destroy-data",
        "LIST",
        "Overwrite these devices of DAX: names (dax0.0) or their namespaces' UUIDs",
    ),
    options.THREADS.but(
        help="Threads, one a core, as in 1..all; more than a socket has go to all sockets",
        default="1..8, then some, all cores of each socket among them",
    ),
    options.SIZE.but(help="Bytes of each array", default="4 x the last-level caches"),
    options.PAGES.but(default="base, which emulated persistent memory has, too"),
    options.PRECISION.but(default="2%"),
    options.BUDGET.but(default="500ms"),
    options.SAMPLE,
)
_DEFAULTS = {"precision": "2%", "budget": "500ms", "pages": "base"}
_Key = tuple[frozenset[int], str, str, str]
"""CPUs, target, backing, operation without its kind of stores."""


@dataclass(frozen=True)
class Source:
    """Persistent memory of a machine, which is used in place of emulation."""

    node: int
    kind: str
    """PMem fsdax, PMem devdax or CXL devdax."""
    target: str
    size_bytes: int
    names: tuple[str, ...] = ()
    """The name of a device and the UUID of its namespace, as --destroy-data takes them."""


def sources_of(topology: Topology) -> list[Source]:
    """Return each node's fsdax file system that is mounted with DAX, else its DAX device."""
    found: dict[int, Source] = {}
    for source in (*_file_systems(topology), *_devices(topology)):
        found.setdefault(source.node, source)
    return list(found.values())


def _file_systems(topology: Topology) -> list[Source]:
    spaces = {space.device: space for space in topology.namespaces if space.mode == "fsdax"}
    return [
        Source(space.node, "PMem fsdax", f"pmem:{mount.path}", space.size_bytes)
        for mount in sorted(topology.mounts, key=lambda mount: mount.path)
        if mount.dax and (space := spaces.get(mount.block or "")) and space.node is not None
    ]


def _devices(topology: Topology) -> list[Source]:
    return [
        Source(dax.node, _device_kind(topology, dax), f"dax:/dev/{dax.name}", dax.size_bytes,
               (dax.name, *(space.uuid for space in topology.namespaces
                            if space.device == dax.name and space.uuid)))
        for dax in topology.dax
        if dax.mode == "devdax" and dax.node is not None
    ]  # fmt: skip


def _device_kind(topology: Topology, dax: Dax) -> str:
    of_cxl = dax.parent in {region.name for region in topology.cxl_regions}
    of_pmem = dax.name in {space.device for space in topology.namespaces}
    return "CXL devdax" if of_cxl else "PMem devdax" if of_pmem else "devdax"


def consent(topology: Topology, memory: Memory, destroyed: Collection[str]) -> str:
    """Return the word that allows overwriting a memory; empty where none does."""
    names = next((one.names for one in sources_of(topology) if one.target == memory.target), ())
    return next((name for name in names if name in destroyed), "")


def plain_memories(topology: Topology) -> list[Memory]:
    """Return the memory of every node that CPUs place data in."""
    return [
        Memory((node.number,), _kind(topology, node), _socket(topology, node), persistent=False,
               target=f"node:{node.number}")
        for node in memory_nodes(topology)
        if node.kind is not NodeKind.GPU
    ]  # fmt: skip


def persistent_memories(topology: Topology, backings: Sequence[str]) -> list[Memory]:
    """Return the persistent memory of each node, once per backing: its own, else ordinary memory of
    the node that stands in for it."""
    sources = {source.node: source for source in sources_of(topology)}
    emulated = {
        memory.numbers[0]: (memory.kind, f"pmem:{memory.target}")
        for memory in plain_memories(topology)
    }
    found = []
    for number in sorted({*emulated, *sources}):
        source, node = sources.get(number), topology.node(number)
        kind, target = (source.kind, source.target) if source else emulated[number]
        socket = _socket(topology, node) if node else None
        held_by = [DEVICE] if source and source.names else backings
        found += [Memory((number,), kind, socket, True, backing, target) for backing in held_by]
    return found


def _socket(topology: Topology, node: Node) -> int | None:
    """The package that a node is local to; None for CXL and other memory without CPUs."""
    if not node.cpus:
        return None
    cpus = set(node.cpus)
    return next((one.number for one in topology.packages if cpus & set(one.cpus)), None)


def _kind(topology: Topology, node: Node) -> str:
    """DDR5 where the modules say so, else the kind of the node."""
    if node.kind is not NodeKind.DRAM or not node.cpus:
        return str(node.kind)
    modules = {dimm.type for dimm in topology.dimms if dimm.package in (None, node.package)}
    named = {kind for kind in modules if kind.startswith(("DDR", "LPDDR"))}
    return named.pop() if len(named) == 1 else str(node.kind)


@dataclass(frozen=True)
class Line:
    """A configuration with its CPUs and node."""

    configuration: Configuration
    """Without points."""
    cpus: tuple[int, ...]
    """One of each core, in the order in which threads take them."""
    node: int
    """The node of the memory."""


@dataclass(frozen=True)
class Absent:
    """A part of the study that was left out."""

    group: str
    cause: str
    reason: str
    remedy: str = ""

    @property
    def text(self) -> str:
        """Reason and remedy as a sentence."""
        return sentence("; ".join(filter(None, (self.reason, self.remedy))))


def sentence(text: str) -> str:
    """Return text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


@dataclass(frozen=True)
class Socket:
    """A package and its usable cores."""

    number: int
    cores: tuple[int, ...]
    """A CPU of each core."""


def sockets_of(topology: Topology) -> list[Socket]:
    """Return the packages with CPUs that this process may use; one CPU stands for each core."""
    found = []
    for package in sorted(topology.packages, key=lambda package: package.number):
        usable = [cpu for cpu in package.cpus if cpu in topology.cpus]
        if usable:
            cores = by_rank_in_core(usable, topology.siblings)[0]
            found.append(Socket(package.number, tuple(cores)))
    return found


def lines(topology: Topology, groups: Sequence[str], backings: Sequence[str]) -> list[Line]:
    """Return the configurations of these groups that the machine has memory and cores for."""
    sockets = sockets_of(topology)
    persistent, plain = persistent_memories(topology, backings), plain_memories(topology)
    found: list[Line] = []
    for group in GROUPS:
        if group in groups:
            memories = persistent if group.startswith("1") else plain
            found += _of_group(topology, group, sockets, memories)
    return found


def _of_group(
    topology: Topology, group: str, sockets: Sequence[Socket], memories: Sequence[Memory]
) -> Iterator[Line]:
    if group in ("1c", "2b"):
        # With one socket, 2b is what its cores get of each memory, which PMDK is compared with.
        if len(sockets) > (group == "1c"):
            for memory in memories:
                for affinity in (CLOSE, SPREAD) if group == "1c" else (CLOSE,):
                    yield _line(topology, group, sockets, memory, affinity)
        return
    for socket in sockets:
        for memory in memories:
            if (memory.socket == socket.number) == (group == "1a"):
                yield _line(topology, group, [socket], memory, CLOSE)


def _line(
    topology: Topology, group: str, sockets: Sequence[Socket], memory: Memory, affinity: str
) -> Line:
    cores = [socket.cores for socket in sockets]
    in_turn = (cpu for turn in zip_longest(*cores) for cpu in turn if cpu is not None)
    configuration = Configuration(
        group=group,
        machine=topology.host,
        sockets=tuple(socket.number for socket in sockets),
        cores=tuple(map(len, cores)),
        memory=memory,
        affinity=affinity,
    )
    order = chain.from_iterable(cores) if affinity == CLOSE else in_turn
    return Line(configuration, tuple(order), memory.numbers[0])


def absent(topology: Topology, groups: Sequence[str]) -> list[Absent]:
    """Return the groups, or parts of them, that the machine has no hardware for."""
    sockets, memories = sockets_of(topology), plain_memories(topology)
    remote = len({memory.socket for memory in memories}) > 1
    far = any(memory.socket is None for memory in memories)
    found = []
    for group in groups:
        if group == "1c" and len(sockets) < 2:
            reason = "left out: this process may use cores of one socket only, and 1c takes two"
            found.append(Absent(group, Cause.CPU, reason))
        elif group == "2b" and len(sockets) < 2:
            reason = "one socket in place of all: this process may use cores of one only"
            found.append(Absent(group, Cause.CPU, reason))
        elif group in ("1b", "2a") and not remote:
            reason = (
                f"left out: the machine has one memory only, node {memories[0].numbers[0]}, and "
                "remote memory takes a second socket or CXL memory"
                if memories
                else "left out: the machine has no memory that CPUs place data in"
            )
            found.append(Absent(group, Cause.NODE, reason))
        elif group in ("1b", "1c", "2a", "2b") and not far:
            found.append(
                Absent(
                    group,
                    Cause.NODE,
                    "far memory is left out: the machine has no node without CPUs, such as CXL "
                    "memory that is system RAM",
                    "see 'tierscope topo' for CXL devices that are not system RAM",
                )
            )
    return found


def unwritten(topology: Topology, groups: Sequence[str], measured: Collection[str]) -> list[Absent]:
    """Return the DAX devices that these groups leave out because overwriting was not confirmed;
    ``measured`` are the targets of the run."""
    devices = {
        (line.configuration.group, line.configuration.memory)
        for line in lines(topology, groups, ["pool"])
        if line.configuration.memory.backing == DEVICE
    }
    return [
        Absent(
            group,
            Cause.OWNERSHIP,
            f"left out: measuring {memory.name} {memory.kind} overwrites {memory.target}",
            f"name {memory.target.rpartition('/')[2]} in --destroy-data if nothing on it is needed",
        )
        for group, memory in sorted(devices, key=lambda one: (one[0], one[1].numbers))
        if memory.target not in measured
    ]


@dataclass(frozen=True)
class _Args:
    """Options, checked."""

    groups: list[str]
    operations: list[str]
    backings: list[str]
    backed_by: str
    destroyed: frozenset[str]
    """Names and UUIDs of devices that may be overwritten."""
    size: int
    pages: str
    sampling: dict[str, float]


def groups_asked(given: Mapping[str, str]) -> list[str]:
    """Return the groups that options name, in the study's order; raises UserError."""
    chosen = choices(Request(kind=NAME, options=dict(given)), "groups", tuple(GROUPS))
    return [group for group in GROUPS if group in (chosen or GROUPS)]


def plan_of(given: dict[str, str], topology: Topology, thp: bool) -> Plan:
    """Return what options ask for on this machine; raises UserError.

    Measurements of several groups are made once: while close affinity fills its first socket, it
    is that socket by itself.
    """
    request = Request(kind=NAME, options={**_DEFAULTS, **given})
    asked = _args(request, topology, thp)
    specs: dict[tuple[object, ...], BandwidthSpec] = {}
    found = lines(topology, asked.groups, asked.backings)
    for line in found:
        memory = line.configuration.memory
        if memory.backing == DEVICE and not consent(topology, memory, asked.destroyed):
            continue
        for count in _counts(request, line):
            for operation in asked.operations:
                key = (frozenset(line.cpus[:count]), memory, operation)
                if key not in specs:
                    specs[key] = _spec(topology, line, count, operation, asked)
    if not specs:
        missing = [*absent(topology, asked.groups), *unwritten(topology, asked.groups, ())]
        why = "; ".join(f"{one.group}: {one.reason}" for one in missing)
        raise UserError(
            f"nothing can be measured here: {why or 'no thread count is within the cores'}",
            ExitCode.NOTHING_MEASURED,
        )
    if len(specs) > MAX_MEASUREMENTS:
        raise UserError(f"the plan has more than {MAX_MEASUREMENTS} measurements; ask for less")
    return Plan(version=PLAN_VERSION, measurements=list(specs.values()))


def _args(request: Request, topology: Topology, thp: bool) -> _Args:
    stores = choices(request, "stores", STORES) or [STORES[0]]
    if len(stores) > 1:
        raise request.wrong("stores", "a study has one kind of stores")
    suffix = "-nt" if stores == ["non-temporal"] else ""
    chosen = choices(request, "op", OPERATIONS) or list(OPERATIONS)
    kinds = pages(request, topology, thp)
    if len(kinds) > 1:
        raise request.wrong("pages", "a study has one kind of pages")
    given = sizes(request, "size")
    if len(given) > 1:
        raise request.wrong("size", "a study has one size of arrays")
    cpus = [cpu for socket in sockets_of(topology) for cpu in socket.cores]
    groups, backings = groups_asked(request.options), choices(request, "backing", options.BACKINGS)
    if suffix and _OBJECTS in backings:
        raise request.wrong("backing", f"{_OBJECTS} goes with ordinary stores only")
    nodes = sorted({line.node for line in lines(topology, groups, ["pool"])})
    rooms = [one.size_bytes for one in sources_of(topology) if one.node in nodes]
    return _Args(
        groups=groups,
        operations=[f"{name}{suffix}" for name in OPERATIONS if name in chosen],
        backings=backings or ["pool", *([] if suffix else [_OBJECTS])],
        backed_by=(choices(request, "backed-by", ("battery",)) or [""])[0],
        destroyed=_destroyed(request),
        size=given[0] if given else array_bytes(topology, cpus, nodes, _ARRAYS, rooms),
        pages=kinds[0],
        sampling=sampling(request),
    )


def _destroyed(request: Request) -> frozenset[str]:
    if "destroy-data" not in request.options:
        return frozenset()
    given = request.options["destroy-data"]
    return frozenset(checked(request, "destroy-data", split_words, given))


def _counts(request: Request, line: Line) -> list[int]:
    """Return the thread counts of a line, none beyond its cores."""
    cores = len(line.cpus)
    text = request.options.get("threads")
    if text is None:
        return _default_counts(line.configuration.cores)
    counts = checked(request, "threads", expand_counts, text, cores)
    return sorted({count for count in counts if count <= cores})


def _default_counts(cores: tuple[int, ...]) -> list[int]:
    """Return all counts up to a few, then some, and those that fill sockets."""
    total, step = sum(cores), max(1, cores[0] // _EACH)
    full = [sum(cores[:number]) for number in range(1, len(cores) + 1)]
    some = range(_EACH + step, total + 1, step)
    return sorted({*range(1, min(_EACH, total) + 1), *some, *full})


def _spec(
    topology: Topology, line: Line, threads: int, operation: str, asked: _Args
) -> BandwidthSpec:
    memory, cpus = line.configuration.memory, list(line.cpus[:threads])
    initiator = f"cpus:{format_ranges(tuple(sorted(cpus)))}"
    parts = [NAME, operation, memory.target, memory.backing, initiator, format_size(asked.size)]
    return BandwidthSpec.model_validate(
        {
            "id": identity([*filter(None, parts), asked.pages]),
            "initiator": initiator,
            "target": memory.target,
            "placement": _placement(topology, line, asked),
            "sampling": asked.sampling,
            "cpus": cpus,
            "pattern": {"operation": operation, "size": asked.size, "pages": asked.pages},
        }
    )


def _placement(topology: Topology, line: Line, asked: _Args) -> Placement:
    memory = line.configuration.memory
    if not memory.persistent:
        return Placement(policy="bind", nodes=[NodeShare(node=line.node)])
    fields = {"backing": memory.backing, "backed_by": asked.backed_by}
    if memory.backing == DEVICE:
        fields["destroy"] = consent(topology, memory, asked.destroyed)
    target = parse_target(memory.target, BandwidthSpec.targets, NAME)
    return persistent_placement(topology, line.cpus, target, fields)


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the study as ``tierscope streamer`` makes it without options."""
    return Prepared(plan_of({}, topology, thp))


def study_of(run: Run) -> Study:
    """Return the configurations that a run has figures of."""
    topology = run.header.topology
    if topology is None:
        return Study(run.header.host, [])
    found = {_key_of(m, run): m for m in run.measurements if m.status == "measured"}
    backings = list(dict.fromkeys(key[2] for key in found if key[2]))
    return Study(
        run.header.host,
        [
            replace(line.configuration, points=_points(line, found))
            for line in lines(topology, list(GROUPS), backings)
        ],
    )


def _key_of(measurement: Measurement, run: Run) -> _Key:
    planned = run.planned(measurement.id, BandwidthSpec)
    persistent = planned.placement.persistent if planned else None
    operation = str(measurement.pattern.get("operation", "")).removesuffix("-nt")
    backing = persistent.backing if persistent else ""
    return frozenset(measurement.cpus), measurement.target, backing, operation


def _points(line: Line, found: Mapping[_Key, Measurement]) -> dict[str, dict[int, Point]]:
    memory = line.configuration.memory
    points: dict[str, dict[int, Point]] = {}
    for operation in OPERATIONS:
        for count in range(1, len(line.cpus) + 1):
            cpus = frozenset(line.cpus[:count])
            entry = found.get((cpus, memory.target, memory.backing, operation))
            if entry is not None and entry.estimate:
                points.setdefault(operation, {})[count] = _point(entry, entry.estimate)
    return points


def _point(entry: Measurement, value: float) -> Point:
    low = value if entry.ci_low is None else entry.ci_low
    high = value if entry.ci_high is None else entry.ci_high
    return Point(value, low, high)


def limits_of(topology: Topology | None) -> Limits:
    """Return what each node's media and link allow, as far as the machine says it."""
    found: dict[tuple[int, ...], MemoryLimit] = {}
    for node in topology.nodes if topology else []:
        if topology is None or not topology.cpus:
            continue
        paths = MachinePaths(topology)
        own = [cpu for cpu in node.cpus if cpu in topology.cpus]
        initiator = f"cpus:{(own or topology.cpus)[0]}"
        try:
            hops = paths.path(initiator, f"node:{node.number}").hops
        except UserError:
            continue
        media = [h.limit for h in hops if h.role is HopRole.MEMORY and h.limit and not h.parallel]
        links = [h.limit for h in hops if h.role in (HopRole.LINK, HopRole.SWITCH) and h.limit]
        found[(node.number,)] = MemoryLimit(
            media=media[0].value if media else None,
            link=min((limit.value for limit in links), default=None),
            source=media[0].source if media else "",
        )
    return found
