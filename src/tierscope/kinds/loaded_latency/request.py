"""Requests for loaded latency: each curve is a few points, which refinement adds to."""

import itertools
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.loaded_latency.curves import MIN_POINTS, first_points, thread_points
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.model.endpoint import Initiator, Target
from tierscope.model.errors import UserError
from tierscope.model.run import Refinement
from tierscope.model.spec import Placement
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    ID_LENGTH,
    MemoryPath,
    checked,
    choices,
    identity,
    initiators,
    memory_paths,
    of_path,
    placement_of_other,
    reason,
    sampling,
    sizes,
    targets,
)
from tierscope.plans.options import CHASE_ORDERS, Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages

DEFAULT_POINTS = 12
MAX_POINTS = 200

LOAD_ORDERS = ("sequential", "random")
_ACCESS_SIZE = 1024
_MAX_GB = 1e5
_PRECISION = 0.02
_ID_TAIL = 10
"""Characters of an id that are left to tell the points of a curve apart."""


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
    orders = choices(request, "order", CHASE_ORDERS) or ["random"]
    load_orders = choices(request, "load-order", LOAD_ORDERS) or ["sequential"]
    access_sizes = sizes(request, "load-access-size") or [_ACCESS_SIZE]
    for path in memory_paths(request, topology, LoadedLatencySpec):
        sources, loaded = _of_load(request, path)
        for source, target, mix, order, load_order, access_size in itertools.product(
            sources, loaded, mixes, orders, load_orders, access_sizes
        ):
            cpus, counts = _load_threads(
                request, source, _load_cpus(request, topology, path, source)
            )
            checked(request, "load-to", machine.check_target, topology, target)
            placement = checked(
                request, "load-to", placement_of_other, request, topology, cpus, target
            )
            load = (cpus, placement)
            for kind, size, stride, load_size in _sizes_of(request, topology, thp, path, load):
                parts = _parts(request, path, source, target, mix)
                parts += [grammar.format_size(size), kind]
                parts += ["page-random"] if order == "page-random" else []
                parts += ["load-random"] if load_order == "random" else []
                parts += [f"s{stride}"] if "stride" in request.options else []
                if "prefetchers" in request.options:
                    parts.append(f"pf-{path.prefetchers}")
                if access_size != _ACCESS_SIZE:
                    parts.append(f"a{grammar.format_size(access_size)}")
                if "load-size" in request.options:
                    parts.append(f"on{grammar.format_size(load_size)}")
                fields = {
                    **of_path(request, path),
                    "sampling": {"precision": _PRECISION, **sampling(request)},
                    "cpu": path.cpus[0],
                    "pattern": {"order": order, "stride": stride, "size": size, "pages": kind},
                    "load": {
                        "initiator": str(source),
                        "target": str(target),
                        "cpus": cpus,
                        "placement": placement,
                        "pattern": {
                            "writes": mix[0],
                            "stores": mix[1],
                            "order": load_order,
                            "access_size": access_size,
                            "size": load_size,
                            "pages": kind,
                        },
                    },
                }
                base = identity(parts, ID_LENGTH - _ID_TAIL)
                curve = _curve(request, {"id": base, **fields})
                yield from thread_points(curve, counts) if counts else first_points(curve)


def _curve(request: Request, fields: dict[str, Any]) -> LoadedLatencySpec:
    try:
        return LoadedLatencySpec.model_validate(fields)
    except ValidationError as error:
        of_load = error.errors()[0]["loc"][:1] == ("load",)
        raise request.wrong("load-size" if of_load else "size", reason(error)) from None


def points_of(request: Request) -> int:
    """Return how many loaded points each curve of a request is to have."""

    def parse() -> int:
        count = grammar.parse_count(request.options.get("points", str(DEFAULT_POINTS)), MAX_POINTS)
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
    """What loads and what is loaded: the chase's own where nothing else is asked for."""
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


def _sizes_of(
    request: Request,
    topology: Topology,
    thp: bool,
    path: MemoryPath,
    load: tuple[list[int], Placement],
) -> Iterator[tuple[str, int, int, int]]:
    """Yield the pages of both, the chase's size and stride, and the load's size."""
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
        access_size=max(sizes(request, "load-access-size") or [_ACCESS_SIZE]),
    )
    chase_sizes, kinds = sizes_and_pages(request, topology, thp, chase)
    load_sizes, load_kinds = sizes_and_pages(request, topology, thp, loaded, "load-size")
    yield from itertools.product(
        kinds if kinds == load_kinds else ["base"],
        chase_sizes,
        sizes(request, "stride") or [256],
        load_sizes,
    )


def _parts(
    request: Request, path: MemoryPath, source: Initiator, target: Target, mix: tuple[int, str]
) -> list[str]:
    """Parts of a curve's id: what loads and what is loaded."""
    parts = [request.name or "loaded", *path.names]
    if source != path.initiator:
        parts.append(f"by_{source}")
    if target != path.target:
        parts.append(f"at_{target}")
    return [*parts, f"w{mix[0]}{mix[1] if mix[1] != 'ordinary' else ''}"]


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        options.MIX.but(
            help="Reads:writes of the load: 67:33, 2:1; 50:50nt has non-temporal stores"
        ),
        Option("load-from", "ENDPOINTS", "CPUs that load", "--from without the chase's core"),
        Option("load-to", "ENDPOINTS", "Memory that they load", "that of --to"),
        Option(
            "load-threads",
            "COUNTS",
            "Number of CPUs that load; several, as in 0,1,2,4..all+4: a point for each, at full "
            "rate (0: idle)",
            "all",
        ),
        Option("load-order", "LIST", "Order of the load: " + ", ".join(LOAD_ORDERS), "sequential"),
        Option("load-access-size", "SIZES", "Bytes that the load touches without a pause", "1k"),
        Option(
            "points",
            "COUNT",
            f"Loaded points of each curve, {MIN_POINTS} to {MAX_POINTS}",
            str(DEFAULT_POINTS),
        ),
        Option("at", "GB/S", "Take further points where the load moves this much, as in 10,50"),
        options.SIZE.but(help="Bytes of the chase, as in 1g"),
        Option("load-size", "SIZES", "Bytes of the load's array", "past the caches"),
        options.CHASE_ORDER.but(help="Order of the chase: random, page-random"),
        options.STRIDE,
        options.PAGES,
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
