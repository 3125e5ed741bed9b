"""The spec of loaded latency: a chase while others stream."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tierscope.model.chase import LatencyPattern
from tierscope.model.endpoint import Initiator, Target
from tierscope.model.errors import UserError
from tierscope.model.property import SIZE, MadeBy, Property, declared
from tierscope.model.rules import Check, Ruled, Ruling
from tierscope.model.run import Refinement
from tierscope.model.spec import Bytes, Cpu, MemorySpec, Placement, Region, last_level_bytes
from tierscope.model.stream import Stream
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    ID_LENGTH,
    MemoryPath,
    checked,
    common_fields,
    initiators,
    memory_paths,
    placement_of_other,
    sampling,
    targets,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of, values_of

if TYPE_CHECKING:
    from tierscope.model.topology import Cache

COARSE_DELAYS_NS = (8000, 2400, 1000, 400, 160, 0)
"""Delays that every curve begins with, from light load to full; refinement adds others."""
IDLE_BEFORE = (0, 3, 6)
"""Places among them of the idle controls."""
MIN_POINTS = len(COARSE_DELAYS_NS)
"""Loaded points that every curve has."""
DEFAULT_POINTS = 12
MAX_POINTS = 200
_MAX_GB = 1e5
_PRECISION = 0.02
_ID_TAIL = 10
"""Characters of an id that are left to tell the points of a curve apart."""


class Load(Stream):
    """The load on the memory while the chase runs."""

    idle: bool = False
    """It stands still: a control between loaded points."""


class LoadedLatencySpec(MemorySpec):
    """Latency of one CPU's dependent loads under load: one point of a curve."""

    metric: ClassVar[str] = "latency"
    recorded: ClassVar[tuple[str, ...]] = (
        "order",
        "size",
        "pages",
        "mix",
        "load_from",
        "load_to",
        "load_order",
        "load_threads",
    )
    steady: ClassVar[bool] = True
    extra_properties: ClassVar[dict[str, type]] = {
        "load_from": str,
        "load_to": str,
        "mix": str,
        "load_order": str,
        "load_access_size": int,
        "load_size": int,
        "load_threads": int,
        "delay_ns": int,
    }

    kind: Literal["loaded-latency"] = "loaded-latency"
    cpu: Cpu
    pattern: LatencyPattern
    load: Annotated[Load, MadeBy("load-")]

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "load.cpus",
            "have the chase's own CPU among them",
            lambda spec: spec.cpu not in spec.load.cpus,
            ("cpu",),
        ),
    )

    def thread_cpus(self) -> list[int]:
        """The CPU that chases, then those that load, unless they stand still."""
        return [self.cpu] if self.load.idle else [self.cpu, *self.load.cpus]

    def regions(self) -> list[Region]:
        """The chased region and the load's array."""
        load = self.load
        return [
            Region(self.placement, self.pattern.pages, self.pattern.size),
            Region(load.placement, load.pattern.pages, load.pattern.size),
        ]

    def identity(self) -> dict[str, Any]:
        """The chase's pattern and the load's, flat: points may differ in either."""
        load = self.load
        return {
            **self.pattern.as_recorded(),
            **self.placed_as(),
            "load_from": load.initiator,
            "load_to": load.target,
            "mix": load.pattern.mix,
            "load_order": load.pattern.order,
            "load_access_size": load.pattern.access_size,
            "load_size": load.pattern.size,
            "load_threads": 0 if load.idle else load.thread_count,
            "delay_ns": None if load.idle else load.pattern.delay_ns,
        }

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether the chase alone fits the caches of its CPU."""
        return bool(caches) and self.pattern.size <= last_level_bytes(caches, [self.cpu])


SPEC = LoadedLatencySpec


def first_points(curve: LoadedLatencySpec) -> Iterator[LoadedLatencySpec]:
    """Yield a curve's first points, loads going up, with idle controls between them."""
    controls = 0
    for place, delay in enumerate((*COARSE_DELAYS_NS, None)):
        if place in IDLE_BEFORE:
            controls += 1
            yield idle_control(curve, controls)
        if delay is not None:
            yield loaded_point(curve, delay)


def idle_control(curve: LoadedLatencySpec, number: int) -> LoadedLatencySpec:
    """Return a point of a curve at which the load stands still."""
    return curve.model_copy(
        update={
            "id": f"{curve.id}.idle{number}",
            "load": curve.load.model_copy(update={"idle": True}),
        }
    )


def loaded_point(curve: LoadedLatencySpec, delay_ns: int) -> LoadedLatencySpec:
    """Return a point of a curve."""
    pattern = curve.load.pattern.model_copy(update={"delay_ns": delay_ns})
    return curve.model_copy(
        update={
            "id": f"{curve.id}.d{delay_ns}",
            "load": curve.load.model_copy(update={"pattern": pattern}),
        }
    )


def thread_points(curve: LoadedLatencySpec, counts: Sequence[int]) -> Iterator[LoadedLatencySpec]:
    """Yield a point for each number of threads that load at full rate; 0: none does.

    ``curve`` has the CPUs of the most threads; fewer threads are the first of them.
    """
    for count in counts:
        cpus = curve.load.cpus[: count or None]
        load = curve.load.model_copy(update={"cpus": cpus, "idle": count == 0})
        yield curve.model_copy(update={"id": f"{curve.id}.t{count}", "load": load})


class LoadOptions(Ruled):
    """Properties of the load's pattern, by the names that options and run files have for them."""

    load_order: Annotated[
        Literal["sequential", "random"],
        Property("Order of the load: sequential, random", id="load-{}", essential=False),
    ] = "sequential"
    load_access_size: Annotated[
        Bytes, Property("Bytes that the load touches without a pause", id="a{}", essential=False)
    ] = 1024
    load_size: Annotated[
        Bytes,
        SIZE.but(help="Bytes of the load's array", label="load size", id="on{}", essential=False),
    ]


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[LoadedLatencySpec]:
    """Yield, for each combination of options, idle controls and the curve's first points."""
    refinement(request)
    points = _points(request, topology, thp)
    return _idle_once(points) if _sweeps_threads(request) else points


def _idle_once(points: Iterator[LoadedLatencySpec]) -> Iterator[LoadedLatencySpec]:
    """Leave out further idle points of a chase: what would load makes no difference."""
    chases = set()
    for point in points:
        chase = point.model_dump_json(exclude={"id", "load"})
        if not (point.load.idle and chase in chases):
            yield point
        if point.load.idle:
            chases.add(chase)


def _points(request: Request, topology: Topology, thp: bool) -> Iterator[LoadedLatencySpec]:
    mixes = checked(request, "mix", _mixes, request)
    for path in memory_paths(request, topology, LoadedLatencySpec):
        sources, loaded = _of_load(request, path)
        for source, target, (writes, stores) in itertools.product(sources, loaded, mixes):
            cpus, counts = _load_threads(
                request, source, _load_cpus(request, topology, path, source)
            )
            checked(request, "load-to", machine.check_target, topology, target)
            placement = checked(
                request, "load-to", placement_of_other, request, topology, cpus, target
            )
            of_load = _names_of_load(path, source, target, writes, stores)
            for chase, load in _patterns(request, topology, thp, path, (cpus, placement)):
                fields = {
                    **common_fields(request, path),
                    "sampling": {"precision": _PRECISION, **sampling(request)},
                    "cpu": path.cpus[0],
                    "pattern": chase,
                    "load": {
                        "initiator": str(source),
                        "target": str(target),
                        "cpus": cpus,
                        "placement": placement,
                        "pattern": {
                            "writes": writes,
                            "stores": stores,
                            "pages": chase["pages"],
                            **{name.removeprefix("load_"): value for name, value in load.items()},
                        },
                    },
                }
                unasked = [] if "load-size" in request.options else ["load_size"]
                parts = [*path.names, *of_load, *id_parts(LatencyPattern, chase)]
                parts += [*id_parts(LoadOptions, load, *unasked), *path.placed_as(request)]
                curve = spec_of(request, LoadedLatencySpec, fields, parts, ID_LENGTH - _ID_TAIL)
                yield from thread_points(curve, counts) if counts else first_points(curve)


def points_of(request: Request) -> int:
    """Return how many loaded points each curve of a request is to have."""

    def parse() -> int:
        count = grammar.parse_count(request.options.get("points", str(DEFAULT_POINTS)))
        if not MIN_POINTS <= count <= MAX_POINTS:
            raise UserError(f"{count} is out of range: {MIN_POINTS} to {MAX_POINTS} points")
        return count

    return checked(request, "points", parse)


def rates_of(request: Request) -> list[float]:
    """Return bandwidths in bytes/s that each curve is refined at; none where it bends."""
    if "at" not in request.options:
        return []
    words = grammar.split_words(request.options["at"])
    return checked(
        request, "at", lambda: [grammar.parse_number(word, 0, _MAX_GB) * 1e9 for word in words]
    )


def refinement(request: Request) -> Refinement:
    """Return how a request's curves get further points; those over load threads get none."""
    if _sweeps_threads(request):
        for option in ("points", "at"):
            if option in request.options:
                raise request.wrong(
                    option,
                    "goes with loads of a set rate; those of several --load-threads run at full "
                    "rate",
                )
        return Refinement(points=0)
    return Refinement(points=points_of(request), at=rates_of(request))


def _mixes(request: Request) -> list[tuple[int, str]]:
    return [
        grammar.parse_mix(word) for word in grammar.split_words(request.options.get("mix", "100:0"))
    ]


def _of_load(request: Request, path: MemoryPath) -> tuple[list[Initiator], list[Target]]:
    """Initiators and targets of the load; the chase's own by default."""
    sources, loaded = [path.initiator], [path.target]
    if "load-from" in request.options:
        sources = initiators(request, "load-from", LoadedLatencySpec)
    if "load-to" in request.options:
        loaded = targets(request, "load-to", LoadedLatencySpec)
    return sources, loaded


def _load_cpus(
    request: Request, topology: Topology, path: MemoryPath, source: Initiator
) -> list[int]:
    """CPUs that load: without the chase's own, and without its core where others are left."""
    chase = path.cpus[0]
    option = "load-from" if "load-from" in request.options else "from"
    candidates = checked(request, option, machine.initiator_cpus, topology, source)
    others = [cpu for cpu in candidates if cpu != chase]
    core = next((core for core in topology.siblings if chase in core), [chase])
    apart = [cpu for cpu in others if cpu not in core] or others
    if not apart:
        raise request.wrong(
            option,
            f"{source} has only CPU {chase}, which chases; name more CPUs in --load-from",
        )
    return apart


def _load_threads(
    request: Request, source: Initiator, cpus: list[int]
) -> tuple[list[int], list[int]]:
    """Return the CPUs that load, and how many of them do at each point; no counts where all do."""
    if "load-threads" not in request.options:
        return cpus, []
    text, every = request.options["load-threads"], len(cpus)
    least = 0 if _sweeps_threads(request) else 1
    counts = checked(request, "load-threads", grammar.expand_counts, text, every, least)
    if max(counts) > every:
        raise request.wrong("load-threads", f"{max(counts)}, but {source} can load with {every}")
    if max(counts) == 0:
        raise request.wrong("load-threads", "0 alone loads nothing; name more counts, as in 0,4,8")
    return cpus[: max(counts)], counts if _sweeps_threads(request) else []


def _sweeps_threads(request: Request) -> bool:
    """Whether points differ in how many threads load, and not in the rate of the load."""
    text = request.options.get("load-threads", "")
    return "," in text or ".." in text or text.strip() == "0"


def _patterns(
    request: Request,
    topology: Topology,
    thp: bool,
    path: MemoryPath,
    load: tuple[list[int], Placement],
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the values of the chase's properties and of the load's; both have the same pages."""
    cpus, placement = load
    nodes = [share.node for share in placement.nodes]
    count = 2 if set(path.nodes) & set(nodes) else 1
    chase = Arrays(
        path.placement,
        default=machine.default_size(topology, path.cpus[:1], path.nodes, count),
        count=count,
    )
    loaded = Arrays(
        placement,
        default=machine.default_size(topology, cpus, nodes, count),
        count=count,
        shares=len(cpus),
        access_size=max(values_of(request, declared(LoadOptions)["load_access_size"])),
    )
    chase_sizes, kinds = sizes_and_pages(request, topology, thp, chase)
    load_sizes, load_kinds = sizes_and_pages(request, topology, thp, loaded, "load-size")
    pages = kinds if kinds == load_kinds else ["base"]
    yield from itertools.product(
        combinations(request, LatencyPattern, {"size": chase_sizes, "pages": pages}),
        combinations(request, LoadOptions, {"load_size": load_sizes}),
    )


def _names_of_load(
    path: MemoryPath, source: Initiator, target: Target, writes: int, stores: str
) -> list[str]:
    """Return what ids say of who loads what: nothing of the chase's own endpoints."""
    names = [f"by_{source}"] if source != path.initiator else []
    names += [f"at_{target}"] if target != path.target else []
    return [*names, f"w{writes}{'' if stores == 'ordinary' else stores}"]


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(LoadedLatencySpec),
        options.MIX.but(
            help="Reads:writes of the load: 67:33, 2:1; 50:50nt has non-temporal stores"
        ),
        Option("load-from", "ENDPOINTS", "CPUs that load", "--from without the chase's core"),
        Option("load-to", "ENDPOINTS", "Memory under load", "that of --to"),
        Option(
            "load-threads",
            "COUNTS",
            "Number of CPUs that load; several, as in 0,1,2,4..all+4: a point for each, at full "
            "rate (0: idle)",
            "all",
        ),
        *options_of(LoadOptions),
        Option(
            "points",
            "COUNT",
            f"Loaded points of each curve, {MIN_POINTS} to {MAX_POINTS}",
            str(DEFAULT_POINTS),
            essential=False,
        ),
        Option(
            "at",
            "GB/S",
            "Take further points where the load moves this much, as in 10,50",
            essential=False,
        ),
        *options_of(LatencyPattern),
        *options.PLACEMENT,
        *options.PERSISTENT,
        options.PREFETCHERS,
        options.PRECISION.but(default="2%"),
        options.BUDGET,
        options.SAMPLE,
    ),
    expand=expand,
    refinement=refinement,
    help="""\
The first CPU of each initiator chases pointers while the other CPUs read and write at a rate
that rises from point to point. Most points are where the curve bends; idle control points are
measured between them. Another initiator or target of the load shows how tiers interfere. With
several --load-threads the curve goes over their number, each at full rate.""",
    examples=(
        "loaded-latency",
        "loaded-latency --mix 100:0,75:25,67:33,50:50,67:33nt",
        "loaded-latency --from node:0 --to node:2 --load-to node:0",
        "loaded-latency --to node:* --points 20 --json",
        "loaded-latency --load-threads 0..all --mix 100:0,0:100 --load-order sequential,random",
    ),
)
