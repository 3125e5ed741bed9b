"""The STREAMer study of this machine: what is measured, and what a run's figures make of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tierscope.analysis.streamer import GROUPS, NAME, OPERATIONS, Point, Study
from tierscope.analysis.streamer_limits import Limits, MemoryLimit
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.endpoint import format_ranges, parse_target
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.path import HopRole
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.axes import checked, choices, identity, pages, sampling, sizes
from tierscope.plans.expand import MAX_MEASUREMENTS
from tierscope.plans.grammar import expand_counts, format_size, split_words
from tierscope.plans.options import Option
from tierscope.plans.persistent import persistent_placement
from tierscope.plans.request import Request
from tierscope.recipes.registry import Prepared
from tierscope.recipes.stream_rules import array_bytes
from tierscope.recipes.streamer_machine import Line, absent, lines, sockets_of, unwritten
from tierscope.recipes.streamer_memories import DEVICE, consent, sources_of
from tierscope.topology.paths import MachinePaths

STORES = ("ordinary", "non-temporal")
_OBJECTS = "pool-objects"
_ARRAYS = 3
_EACH = 8
"""Thread counts that are all measured by default; from there on about so many a socket."""

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


@dataclass(frozen=True)
class _Asked:
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

    What several groups have in common is measured once: while close affinity fills its first
    socket, it is that socket by itself.
    """
    request = Request(kind=NAME, options={**_DEFAULTS, **given})
    asked = _asked(request, topology, thp)
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


def _asked(request: Request, topology: Topology, thp: bool) -> _Asked:
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
    return _Asked(
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
    topology: Topology, line: Line, threads: int, operation: str, asked: _Asked
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


def _placement(topology: Topology, line: Line, asked: _Asked) -> Placement:
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


_Key = tuple[frozenset[int], str, str, str]
"""CPUs, target, backing, operation without its kind of stores."""


def _key_of(measurement: Measurement, run: Run) -> _Key:
    planned = run.planned(measurement.id) or {}
    persistent = (planned.get("placement") or {}).get("persistent") or {}
    operation = str(measurement.pattern.get("operation", "")).removesuffix("-nt")
    backing = str(persistent.get("backing", ""))
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
