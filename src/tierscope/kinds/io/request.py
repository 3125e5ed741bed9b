"""Requests for input and output."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.io.options import (
    ARRIVALS,
    BACKENDS,
    CACHE_STATES,
    MEMORIES,
    OPERATIONS,
    OPTIONS,
    ORDERS,
)
from tierscope.kinds.io.parts import files, fixed
from tierscope.kinds.io.series import in_series, with_defaults
from tierscope.kinds.io.spec import IoSpec
from tierscope.model.endpoint import EndpointKind, Initiator, Target
from tierscope.model.errors import UserError
from tierscope.model.io import GPU_BACKENDS
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.axes import (
    blamed,
    checked,
    choices,
    identity,
    initiators,
    reason,
    sampling,
    sizes,
    targets,
)
from tierscope.plans.gpu import gpu_cpus, gpu_numbered, home_node
from tierscope.plans.options import PINS
from tierscope.plans.pinning import pinned
from tierscope.plans.rated import ratings_of
from tierscope.plans.request import Request, RequestForm
from tierscope.topology.near_far import near_or_far

_MAX_THREADS = 4096
_SAMPLE_S = 0.05


@dataclass(frozen=True)
class _Place:
    """Who issues operations, on which CPUs, and where its buffers are."""

    initiator: Initiator
    cpus: list[int]
    gpu: int | None
    node: int


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[IoSpec]:
    """Yield a measurement for each combination of the options' values."""
    ratings_of(request)  # limits take them from the machine; here only their errors count
    request = with_defaults(request)
    found = [
        _spec(request, places, group, values)
        for group in _groups(request)
        for places in _places_of(request, topology, group)
        for values in _combinations(request, places[0])
    ]
    if not found:
        raise UserError("no combination of these options can be measured")
    yield from in_series(request, found)


def _groups(request: Request) -> Iterator[list[Target]]:
    """Yield the targets of each measurement: one, or all together."""
    every = _targets(request)
    for together in _yes_no(request, "together", "no"):
        if together and len(every) < 2:
            raise request.wrong("together", "needs several targets in --to")
        yield from [every] if together else ([target] for target in every)


def _places_of(
    request: Request, topology: Topology, group: Sequence[Target]
) -> Iterator[tuple[_Place, ...]]:
    """Yield places for all targets of a measurement, one each."""
    yield from zip(
        *(_places(_with_nodes(request, topology, target), topology) for target in group),
        strict=True,
    )


def _with_nodes(request: Request, topology: Topology, target: Target) -> Request:
    """Put nodes for ``near`` and ``far``, which differ from target to target."""
    if "from" not in request.options:
        return request
    words = checked(request, "from", grammar.split_endpoints, request.options["from"])
    named = [
        f"node:{checked(request, 'from', near_or_far, topology, word, target)}"
        if word in ("near", "far")
        else word
        for word in words
    ]
    return request.model_copy(update={"options": {**request.options, "from": ",".join(named)}})


def _places(request: Request, topology: Topology) -> Iterator[_Place]:
    nodes = [node.number for node in machine.cpu_nodes(topology)]
    given = "from" in request.options
    chosen = (
        initiators(request, "from", IoSpec, nodes)
        if given
        else [Initiator(kind=EndpointKind.NODE, numbers=(nodes[0],))]
    )
    pins = choices(request, "pin", PINS) or ["cores"]
    for initiator in chosen:
        if initiator.kind is EndpointKind.GPU:
            gpu = checked(request, "from", gpu_numbered, topology, initiator.numbers[0])
            yield _Place(initiator, gpu_cpus(topology, gpu), gpu.index, home_node(topology, gpu))
            continue
        cpus = checked(request, "from", machine.initiator_cpus, topology, initiator)
        cpus = pinned(topology, cpus, pins[0])
        own = [node.number for node in machine.memory_nodes(topology) if cpus[0] in node.cpus]
        yield _Place(initiator, cpus, None, (own or nodes)[0])


def _targets(request: Request) -> list[Target]:
    if "to" not in request.options:
        return [Target(kind=EndpointKind.FILE, path=str(Path.cwd()))]
    return targets(request, "to", IoSpec)


def _combinations(request: Request, place: _Place) -> Iterator[dict[str, Any]]:
    """Yield values of all options that are lists; what makes no difference comes once."""
    memories = choices(request, "memory", MEMORIES) or [
        "device" if place.gpu is not None else "host"
    ]
    backends = choices(request, "backend", BACKENDS) or [
        "cufile" if place.gpu is not None else "io_uring"
    ]
    axes: dict[str, Sequence[Any]] = {
        "operation": choices(request, "op", OPERATIONS) or ["read"],
        "order": choices(request, "order", ORDERS) or ["sequential"],
        "read_percent": _counts(request, "read-percent", "70"),
        "block_size": sizes(request, "block-size") or [1 << 20],
        "backend": backends,
        "direct": _yes_no(request, "direct", "yes"),
        "cache": choices(request, "cache", CACHE_STATES) or [None],
        "depth": _counts(request, "depth", "1"),
        "threads": checked(
            request,
            "threads",
            grammar.expand_counts,
            request.options.get("threads", "1"),
            len(place.cpus),
        ),
        "registered": _yes_no(request, "registered", "no"),
        "files": choices(request, "files", ("own", "shared")) or ["own"],
        "memory": memories,
        "rate": _rates(request),
        "arrivals": choices(request, "arrivals", ARRIVALS) or ["poisson"],
        "buffers": _buffer_nodes(request, place),
        "cufile": _cufile_settings(request, backends),
    }
    seen = set()
    for combination in itertools.product(*axes.values()):
        values = dict(zip(axes, combination, strict=True))
        _drop_meaningless(values)
        key = tuple(sorted((name, str(value)) for name, value in values.items()))
        if key not in seen:
            seen.add(key)
            yield values


def _drop_meaningless(values: dict[str, Any]) -> None:
    if values["operation"] != "mix":
        del values["read_percent"]
    if values["rate"] is None:
        del values["rate"], values["arrivals"]
    if values["backend"] == "mmap":
        values["direct"] = False
    if values["backend"] == "staged-managed":
        values["memory"] = "managed"
    if values["memory"] != "host":
        del values["buffers"]
    if values["cufile"] is None or not values["backend"].startswith("cufile"):
        del values["cufile"]


def _cufile_settings(request: Request, backends: Sequence[str]) -> list[str | None]:
    """Return cufile.json as it is, and each setting that is asked for."""
    if "cufile" not in request.options:
        return [None]
    if not any(backend.startswith("cufile") for backend in backends):
        raise request.wrong("cufile", "goes with cuFile: --from gpu:0 --backend cufile")
    from tierscope.plans.cufile import cufile_settings

    return [None, *checked(request, "cufile", cufile_settings, request.options["cufile"])]


def _buffer_nodes(request: Request, place: _Place) -> list[int]:
    if "buffers" not in request.options:
        return [place.node]
    found = targets(request, "buffers", _NodesOnly)
    return [number for target in found for number in target.numbers]


class _NodesOnly(IoSpec):
    targets = (EndpointKind.NODE,)


def _counts(request: Request, option: str, default: str) -> list[int]:
    return checked(
        request, option, grammar.expand_counts, request.options.get(option, default), _MAX_THREADS
    )


def _yes_no(request: Request, option: str, default: str) -> list[bool]:
    return [word == "yes" for word in choices(request, option, ("yes", "no")) or [default]]


def _rates(request: Request) -> list[float | None]:
    if "rate" not in request.options:
        return [None]
    words = grammar.split_words(request.options["rate"])
    return [checked(request, "rate", grammar.parse_number, word, 0, 1e12) for word in words]


def _spec(
    request: Request, places: Sequence[_Place], group: Sequence[Target], values: dict[str, Any]
) -> IoSpec:
    """Return the measurement of one target, or of several together, each from its own place."""
    threads, shared = values.pop("threads"), values.pop("files") == "shared"
    memory, node = values.pop("memory"), values.pop("buffers", None)
    own_nodes = "buffers" not in request.options
    what = str(group[0]) if len(group) == 1 else f"{len(group)}-together"
    parts = [request.name or "io", str(places[0].initiator), what, *_parts(values)]
    parts += [
        f"t{threads}",
        *(["shared"] if shared else []),
        *([memory] if memory != "host" else []),
    ]
    fields: dict[str, Any] = {
        "id": identity(parts),
        "initiator": str(places[0].initiator),
        "target": str(group[0]),
        "sampling": {"sample_s": _SAMPLE_S, **sampling(request)},
        "jobs": [
            {
                "name": str(target) if len(group) > 1 else "",
                "cpus": [
                    place.cpus[i % len(place.cpus)]
                    for i in range(number * threads, (number + 1) * threads)
                ],
                "buffers": _buffers(
                    place, memory, place.node if own_nodes else node, values["backend"]
                ),
                "files": files(request, target, 1 if shared else threads),
                "shared": shared,
            }
            for number, (place, target) in enumerate(zip(places, group, strict=True))
        ],
        "pattern": {**values, **fixed(request, values)},
    }
    try:
        return IoSpec.model_validate(fields)
    except ValidationError as error:
        option = blamed(request, error, ("backend", "op", "direct", "depth", "size", "to"))
        raise request.wrong(option, reason(error)) from None


def _parts(values: dict[str, Any]) -> list[str]:
    """Return what ids say of a pattern."""
    return [
        values["operation"] + str(values.get("read_percent", "")),
        values["order"],
        grammar.format_size(values["block_size"]),
        values["backend"] + ("-registered" if values["registered"] else ""),
        "direct" if values["direct"] else "buffered",
        *([values["cache"]] if values["cache"] else []),
        f"d{values['depth']}",
        *([f"r{values['rate']:g}-{values['arrivals']}"] if "rate" in values else []),
        *([values["cufile"]] if "cufile" in values else []),
    ]


def _buffers(place: _Place, memory: str, node: int, backend: str) -> dict[str, Any]:
    if memory == "host" and backend not in GPU_BACKENDS:
        return {"placement": {"policy": "bind", "nodes": [{"node": node}]}}
    return {"memory": memory, "gpu": place.gpu}


REQUEST = RequestForm(
    options=OPTIONS,
    expand=expand,
    help="""\
Below a directory, files are made, filled, measured and removed; nothing else is written. Another's
file is read as it is, and written with --overwrite only. Figures of blocks below 512k are IOPS, of
larger ones bandwidth; each has the percentiles of its latency.""",
    examples=(
        "io --to file:/tmp --op read,write --order random --block-size 4k --depth 1..64*4",
        "io --to file:/tmp --backend posix,libaio,io_uring,mmap --direct no --size 64m",
        "io --to file:/tmp --rate 1000,5000 --arrivals regular,poisson --block-size 4k --size 64m",
        "io --to file:/tmp,file:/var/tmp --together no,yes --size 64m",
        "io --from gpu:0 --to file:/data --backend cufile,staged --require gpudirect",
        "io --from gpu:0 --to file:/data --cufile max_direct_io_size_kb=1024..16384*4",
        "io --to file:/mnt/shared --file one --op read,write",
        "io --to dev:/dev/nvme9n1 --destroy-data SERIAL --precondition fill --write-saturation",
    ),
)
