"""Expand requests for measurements on GPUs into specs.

Options are text in the grammar of ``plans.grammar``: a value, a list, a range.
"""

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.kinds.gpu_memory.spec import GpuMemorySpec
from tierscope.kinds.plan import Spec
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.gpu import GpuPlace, HostPlace, MemoryPlace, Transfer
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology
from tierscope.plans import axes, gpu_sets, grammar
from tierscope.plans.axes import checked, choices
from tierscope.plans.gpu_specs import (
    LARGE,
    SAMPLING,
    copy_id,
    copy_spec,
    endpoint_of,
    gpu_cpus,
    gpu_numbered,
    gpu_place,
    host_nodes,
    host_place,
    identity,
    require_gpus,
    transfer,
)
from tierscope.plans.machine import GIB, MIB
from tierscope.plans.request import Request

ENGINES = ("ce", "sm", "tma")
MEMORIES = (
    "pinned",
    "write-combined",
    "registered",
    "pageable",
    "managed",
    "managed-prefetch",
    "managed-advised",
)
OPERATIONS = ("read", "write", "copy", "scale", "add", "triad", "random")
PAGES = ("base", "thp", "2m", "1g")
SIDES = ("read", "write")
MOST_STREAMS = 64


def copies(request: Request, topology: Topology, _thp: bool = False) -> Iterator[Spec]:
    """Yield every copy between ``from`` and ``to``, over engines, memories, sizes and streams."""
    require_gpus(topology)
    rows = checked(request, "rows", _rows, request)
    both_ways = _flag(request, "both-ways")
    engines: list[Any] = choices(request, "engine", ENGINES) or ["ce"]
    points = itertools.product(
        _places(request, topology, "from", "node:*"),
        _places(request, topology, "to", "gpu:*"),
        choices(request, "side", SIDES) or ["read"],
        engines,
        _streams(request),
        axes.sizes(request, "size") or [LARGE],
    )
    found: list[Spec] = []
    for source, destination, side, engine, streams, size in points:
        if isinstance(source, HostPlace) and isinstance(destination, HostPlace):
            continue
        ends = [(source, destination)]
        if both_ways and source != destination:
            ends.append((destination, source))
        options: dict[str, Any] = {"writes": side == "write", "streams": streams}
        transfers = [
            checked(request, "from", partial(transfer, *pair, engine, **options)) for pair in ends
        ]
        make = partial(
            copy_spec,
            _named(request, copy_id(transfers[0], size, *_more_of(transfers, side, rows))),
            transfers,
            topology,
            size=size // rows[0] * rows[0] if rows else size,
            sampling=_sampling(request),
            trace=_flag(request, "trace"),
            rows=rows,
        )
        found.append(checked(request, "size", make))
    yield from _distinct(
        found, "from these to those places there is no copy that a GPU takes part in"
    )


def _more_of(transfers: list[Transfer], side: str, rows: tuple[int, int] | None) -> list[str]:
    """Parts of a copy's id that only some copies have."""
    first = transfers[0]
    peers = isinstance(first.source, GpuPlace) and isinstance(first.destination, GpuPlace)
    more = [side] if peers and first.source != first.destination else []
    more += ["both-ways"] if len(transfers) > 1 else []
    return more + ([f"rows{rows[0]}x{rows[1]}"] if rows else [])


def together(request: Request, topology: Topology, _thp: bool = False) -> Iterator[Spec]:
    """Yield sets of transfers that run at once, all of them counted."""
    names = choices(request, "set", tuple(gpu_sets.SETS)) or list(gpu_sets.SETS)
    engines: list[Any] = choices(request, "engine", ENGINES) or ["ce"]
    sizes = axes.sizes(request, "size") or [LARGE]
    found: list[Spec] = [
        copy_spec(
            _named(request, f"{label}.{engine}.{grammar.format_size(size)}"),
            transfers,
            topology,
            size=size,
            sampling=_sampling(request),
            trace=_flag(request, "trace"),
        )
        for name, engine, size in itertools.product(names, engines, sizes)
        for label, transfers in gpu_sets.SETS[name](topology, engine)
    ]
    yield from _distinct(found, "these sets take two GPUs or more")


def memory(request: Request, topology: Topology, _thp: bool = False) -> Iterator[Spec]:
    """Yield bandwidths of the GPUs' own memory, over operations and working sets."""
    operations = choices(request, "op", OPERATIONS) or [
        operation for operation in OPERATIONS if operation != "random"
    ]
    access_sizes = axes.sizes(request, "access-size") or [32]
    sizes = axes.sizes(request, "size") or [GIB]
    for gpu, operation, access, size in itertools.product(
        _gpus(request, topology), operations, access_sizes, sizes
    ):
        if operation != "random" and access != access_sizes[0]:
            continue
        more = f".a{access}" if operation == "random" else ""
        fields = {
            **_common(request, topology, gpu),
            "id": _named(request, f"gpu{gpu}.{operation}.{grammar.format_size(size)}{more}"),
            "target": f"gpu:{gpu}",
            "pattern": {"operation": operation, "size": size, "access_size": access},
        }
        yield checked(request, "size", GpuMemorySpec.model_validate, fields)


def latency(request: Request, topology: Topology, _thp: bool = False) -> Iterator[Spec]:
    """Yield latencies from GPUs to memory, over places and working sets."""
    for gpu, place, engine, order, stride, size in itertools.product(
        _gpus(request, topology),
        _places(request, topology, "to", "gpu:*,node:*"),
        choices(request, "engine", ("sm", "tma")) or ["sm"],
        choices(request, "order", ("random", "linear")) or ["random"],
        axes.sizes(request, "stride") or [128],
        axes.sizes(request, "size") or [0],
    ):
        # Where no size is asked for: past every L2, and small beside what a host can spare.
        size = size or (64 * MIB if isinstance(place, HostPlace) else GIB)
        target = endpoint_of(place)
        every_sm = _flag(request, "every-sm")
        parts = [f"gpu{gpu}", engine, target, grammar.format_size(size), f"s{stride}"]
        parts += [order] if order != "random" else []
        parts += ["every-sm"] if every_sm else []
        fields = {
            **_common(request, topology, gpu),
            "id": _named(request, ".".join(parts)),
            "target": target,
            "memory": place,
            "engine": engine,
            "per_sm": _flag(request, "per-sm") and engine == "sm",
            "every_sm": every_sm and engine == "sm",
            "pattern": {"size": size, "stride": stride, "order": order},
        }
        option = "stride" if "stride" in request.options else "size"
        yield checked(request, option, GpuLatencySpec.model_validate, fields)


def _common(request: Request, topology: Topology, gpu: int) -> dict[str, Any]:
    """Fields of a spec that is about one GPU."""
    return {
        "initiator": f"gpu:{gpu}",
        "cpus": gpu_cpus(topology, gpu_numbered(topology, gpu)),
        "sampling": _sampling(request),
        "trace": _flag(request, "trace"),
        "gpu": gpu,
    }


def _named(request: Request, parts: str) -> str:
    return identity(f"{request.name}.{parts}" if request.name else parts)


def _distinct(found: list[Spec], empty: str) -> Iterator[Spec]:
    if not found:
        raise UserError(empty)
    yield from {spec.id: spec for spec in found}.values()


def _places(request: Request, topology: Topology, option: str, default: str) -> list[MemoryPlace]:
    """Places of an option, host memory once for each kind and page size asked for."""
    kinds: list[Any] = choices(request, "memory", MEMORIES) or ["pinned"]
    pages: list[Any] = choices(request, "pages", PAGES) or ["base"]
    if pages != ["base"] and not {"pageable", "registered"} & set(kinds):
        raise request.wrong("pages", "only pageable and registered memory has a choice of pages")
    found: list[MemoryPlace] = []
    text = request.options.get(option, default)
    for word in checked(request, option, grammar.split_endpoints, text):
        if word in ("gpu:*", "all"):
            found += [gpu_place(gpu.index) for gpu in require_gpus(topology)]
        if word in ("node:*", "all"):
            nodes = host_nodes(topology)
        elif word == "gpu:*":
            continue
        else:
            end = checked(request, option, parse_endpoint, word)
            if end.kind is EndpointKind.GPU:
                index = checked(request, option, gpu_numbered, topology, end.numbers[0]).index
                found.append(gpu_place(index))
                continue
            nodes = list(end.numbers)
            if end.kind is not EndpointKind.NODE or not set(nodes) <= set(host_nodes(topology)):
                known = ", ".join(f"node:{node}" for node in host_nodes(topology))
                raise request.wrong(
                    option,
                    f"'{word}' is neither a GPU nor one of the nodes with host memory, {known}",
                )
        found += [
            host_place(node, kind, page)
            for node, kind in itertools.product(nodes, kinds)
            for page in (pages if kind in ("pageable", "registered") else pages[:1])
        ]
    return list({place.model_dump_json(): place for place in found}.values())


def _gpus(request: Request, topology: Topology) -> list[int]:
    require_gpus(topology)
    places = _places(request, topology, "from", "gpu:*")
    found = [place.gpu for place in places if isinstance(place, GpuPlace)]
    if not found:
        raise request.wrong("from", "name GPUs, as in gpu:0 or gpu:*")
    return found


def _streams(request: Request) -> list[int]:
    text = request.options.get("streams", "1")
    counts = checked(request, "streams", grammar.expand_counts, text, MOST_STREAMS)
    if max(counts) > MOST_STREAMS:
        raise request.wrong("streams", f"{max(counts)} is too many; the most is {MOST_STREAMS}")
    return counts


def _rows(request: Request) -> tuple[int, int] | None:
    text = request.options.get("rows")
    if text is None:
        return None
    row, colon, pitch = text.partition(":")
    if not colon:
        raise UserError(f"'{text}' is not ROW:PITCH, as in 4k:8k")
    return grammar.parse_size(row), grammar.parse_size(pitch)


def _flag(request: Request, option: str) -> bool:
    words = choices(request, option, ("yes", "no")) or ["no"]
    if len(words) > 1:
        raise request.wrong(option, "is yes or no for the whole request")
    return words == ["yes"]


def _sampling(request: Request) -> Sampling:
    return SAMPLING.model_copy(update=axes.sampling(request))
