"""Requests for loaded latency: each curve is a few points, which refinement adds to."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.loaded_latency.spec import Load, LoadedLatencySpec
from tierscope.model.chase import LatencyPattern
from tierscope.model.endpoint import Endpoint, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.spec import Sampling
from tierscope.model.stream import StreamPattern
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    ID_LENGTH,
    MemoryPath,
    checked,
    choices,
    identity,
    memory_paths,
    pages,
    reason,
    sampling,
    sizes,
)
from tierscope.plans.options import CHASE_ORDERS, Option
from tierscope.plans.request import Request, RequestForm

COARSE_DELAYS_NS = (8000, 2400, 1000, 400, 160, 0)
"""Delays that every curve begins with, from light load to full; refinement adds others."""
IDLE_BEFORE = (0, 3, 6)
"""Places among them of the idle controls."""
DEFAULT_POINTS = 12
LEAST_POINTS = len(COARSE_DELAYS_NS)
MOST_POINTS = 200

LOAD_ORDERS = ("sequential", "random")
_MOST_GB = 1e5
_ID_TAIL = 10
"""Characters of an id that are left to tell the points of a curve apart."""


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[LoadedLatencySpec]:
    """Yield, for each combination of options, idle controls and the curve's first points."""
    points_of(request)
    rates_of(request)
    mixes = checked(request, "mix", _mixes, request)
    orders = choices(request, "order", CHASE_ORDERS) or ["random"]
    load_orders = choices(request, "load-order", LOAD_ORDERS) or ["sequential"]
    kinds = pages(request, topology, thp)
    for path in memory_paths(request, topology):
        sources = _endpoints(request, "load-from") or [path.initiator]
        targets = _endpoints(request, "load-to") or [path.target]
        for source, target, mix, order, load_order, kind in itertools.product(
            sources, targets, mixes, orders, load_orders, kinds
        ):
            cpus = _load_cpus(request, topology, path, source)
            checked(request, "load-to", machine.check_target, topology, target)
            placement = checked(request, "load-to", machine.placement, target, None, "user")
            sizes_of = _sizes_of(request, topology, path, cpus, target)
            for size, stride, load_size in sizes_of:
                base = _base(request, path, source, target, mix, (kind, order, load_order, size))
                try:
                    curve = LoadedLatencySpec(
                        id=base,
                        initiator=str(path.initiator),
                        target=str(path.target),
                        placement=path.placement,
                        sampling=_curve_sampling(request),
                        cpu=path.cpus[0],
                        pattern=LatencyPattern.model_validate(
                            {"order": order, "stride": stride, "size": size, "pages": kind}
                        ),
                        load=Load(
                            initiator=str(source),
                            target=str(target),
                            cpus=cpus,
                            placement=placement,
                            pattern=StreamPattern.model_validate(
                                {
                                    "writes": mix[0],
                                    "stores": mix[1],
                                    "order": load_order,
                                    "size": load_size,
                                    "pages": kind,
                                }
                            ),
                        ),
                    )
                except ValidationError as error:
                    option = "size" if error.title == "LatencyPattern" else "load-size"
                    raise request.wrong(option, reason(error)) from None
                yield from first_points(curve)


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


def points_of(request: Request) -> int:
    """Return how many loaded points each curve of a request is to have."""

    def parse() -> int:
        count = grammar.parse_count(request.options.get("points", str(DEFAULT_POINTS)), MOST_POINTS)
        if not LEAST_POINTS <= count <= MOST_POINTS:
            raise UserError(f"{count} is out of range: {LEAST_POINTS} to {MOST_POINTS} points")
        return count

    return checked(request, "points", parse)


def rates_of(request: Request) -> list[float]:
    """Return bandwidths in bytes/s that each curve is to be refined at; none where it bends."""
    if "at" not in request.options:
        return []
    words = grammar.split_words(request.options["at"])
    return checked(
        request, "at", lambda: [grammar.parse_number(word, 0, _MOST_GB) * 1e9 for word in words]
    )


def _mixes(request: Request) -> list[tuple[int, str]]:
    return [
        grammar.parse_mix(word) for word in grammar.split_words(request.options.get("mix", "100:0"))
    ]


def _endpoints(request: Request, option: str) -> list[Endpoint]:
    if option not in request.options:
        return []
    words = grammar.split_endpoints(request.options[option])
    return checked(request, option, lambda: [parse_endpoint(word) for word in words])


def _load_cpus(
    request: Request, topology: Topology, path: MemoryPath, source: Endpoint
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
            f"{source} has no CPU beside CPU {chase}, which chases; name more in --load-from",
        )
    if "load-threads" not in request.options:
        return apart
    count = checked(
        request, "load-threads", grammar.parse_count, request.options["load-threads"], len(apart)
    )
    if count > len(apart):
        raise request.wrong("load-threads", f"{count}, but {source} can load with {len(apart)}")
    return apart[:count]


def _sizes_of(
    request: Request, topology: Topology, path: MemoryPath, cpus: list[int], target: Endpoint
) -> Iterator[tuple[int, int, int]]:
    """Yield the chase's size and stride, and the load's size."""
    both = set(path.nodes) & set(target.numbers)
    arrays = 2 if both else 1
    chase = machine.default_size(topology, path.cpus[:1], path.nodes, arrays)
    load = machine.default_size(topology, cpus, list(target.numbers), arrays)
    yield from itertools.product(
        sizes(request, "size") or [chase],
        sizes(request, "stride") or [256],
        sizes(request, "load-size") or [load],
    )


def _base(
    request: Request,
    path: MemoryPath,
    source: Endpoint,
    target: Endpoint,
    mix: tuple[int, str],
    rest: tuple[str, str, str, int],
) -> str:
    kind, order, load_order, size = rest
    parts = [request.name or "loaded", *path.names]
    if source != path.initiator:
        parts.append(f"by_{source}")
    if target != path.target:
        parts.append(f"at_{target}")
    parts += [f"w{mix[0]}{mix[1] if mix[1] != 'ordinary' else ''}", grammar.format_size(size), kind]
    parts += ["page-random"] if order == "page-random" else []
    parts += ["load-random"] if load_order == "random" else []
    return identity(parts, ID_LENGTH - _ID_TAIL)


def _curve_sampling(request: Request) -> Sampling:
    return Sampling.model_validate({"precision": 0.02, **sampling(request)})


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        options.MIX.but(help="Reads:writes of the load, nt for non-temporal stores"),
        Option("load-from", "ENDPOINTS", "CPUs that load", "those of from, less the chase's core"),
        Option("load-to", "ENDPOINTS", "Memory that they load", "that of to"),
        Option("load-threads", "COUNT", "CPUs that load", "all"),
        Option("load-order", "LIST", ", ".join(LOAD_ORDERS), "sequential"),
        Option(
            "points",
            "COUNT",
            f"Loaded points of each curve, {LEAST_POINTS} to {MOST_POINTS}",
            str(DEFAULT_POINTS),
        ),
        Option("at", "GB/S", "Refine the curve where others move that much, as in 10,50"),
        options.SIZE.but(help="Bytes of the chase, as in 1g"),
        Option("load-size", "SIZES", "Bytes of the load's array", "past the caches"),
        options.CHASE_ORDER.but(help="Of the chase: random, page-random"),
        options.STRIDE,
        options.PAGES,
        *options.PLACEMENT,
        options.PRECISION.but(default="2%"),
        options.BUDGET,
        options.SAMPLE,
    ),
    expand=expand,
    help="""\
The first CPU of each initiator chases pointers while the other CPUs read and write at a rate
that goes up from point to point. Points gather where the curve bends; idle controls stand
between them. Another initiator or target for the load shows what tiers do to each other.""",
    examples=(
        "loaded-latency",
        "loaded-latency --mix 100:0,75:25,67:33,50:50,67:33nt",
        "loaded-latency --from node:0 --to node:2 --load-to node:0",
        "loaded-latency --to node:* --points 20 --json",
    ),
)
