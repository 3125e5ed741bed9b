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
    WAYS,
)
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
from tierscope.plans.gpu import flag, gpu_cpus, gpu_numbered, home_node
from tierscope.plans.options import PINS
from tierscope.plans.pinning import pinned
from tierscope.plans.rated import ratings_of
from tierscope.plans.request import Request, RequestForm
from tierscope.topology.near_far import near_or_far

DEFAULT_BYTES = 1 << 30
"""Of all files that are made together."""
_MAX_THREADS = 4096
_MAX = 1 << 60
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
    found = False
    for target in _targets(request):
        for place in _places(_with_nodes(request, topology, target), topology):
            for values in _combinations(request, place):
                found = True
                yield _spec(request, place, target, values)
    if not found:
        raise UserError("no combination of these options can be measured")


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
    axes: dict[str, Sequence[Any]] = {
        "operation": choices(request, "op", OPERATIONS) or ["read"],
        "order": choices(request, "order", ORDERS) or ["sequential"],
        "read_percent": _counts(request, "read-percent", "70"),
        "block_size": sizes(request, "block-size") or [1 << 20],
        "backend": choices(request, "backend", BACKENDS)
        or ["cufile" if place.gpu is not None else "io_uring"],
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


def _spec(request: Request, place: _Place, target: Target, values: dict[str, Any]) -> IoSpec:
    threads, shared = values.pop("threads"), values.pop("files") == "shared"
    memory, node = values.pop("memory"), values.pop("buffers", place.node)
    parts = [request.name or "io", str(place.initiator), str(target), *_parts(values)]
    parts += [
        f"t{threads}",
        *(["shared"] if shared else []),
        *([memory] if memory != "host" else []),
    ]
    fields: dict[str, Any] = {
        "id": identity(parts),
        "initiator": str(place.initiator),
        "target": str(target),
        "sampling": {"sample_s": _SAMPLE_S, **sampling(request)},
        "jobs": [
            {
                "cpus": [place.cpus[i % len(place.cpus)] for i in range(threads)],
                "buffers": _buffers(place, memory, node, values["backend"]),
                "files": _files(request, target, 1 if shared else threads),
                "shared": shared,
            }
        ],
        "pattern": {**values, **_fixed(request, values)},
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
    ]


def _buffers(place: _Place, memory: str, node: int, backend: str) -> dict[str, Any]:
    if memory == "host" and backend not in GPU_BACKENDS:
        return {"placement": {"policy": "bind", "nodes": [{"node": node}]}}
    return {"memory": memory, "gpu": place.gpu}


def _files(request: Request, target: Target, count: int) -> dict[str, Any]:
    asked = sizes(request, "size")
    if len(asked) > 1:
        raise request.wrong("size", "files have one size; use --range for parts of them")
    size = asked[0] if asked else None
    if target.kind is EndpointKind.DEV:
        return {
            "device": target.path,
            "size": size,
            "destroy": request.options.get("destroy-data", ""),
            "second_word": request.options.get("second-word", ""),
        }
    for option in ("destroy-data", "second-word"):
        if option in request.options:
            raise request.wrong(option, f"goes with a device (dev:/dev/...), not with {target}")
    default = max(1 << 20, DEFAULT_BYTES // count)
    return {
        "path": target.path,
        "size": size or default,
        "count": count,
        "large": bool(asked),
        "keep": flag(request, "keep"),
        "overwrite": flag(request, "overwrite"),
    }


def _fixed(request: Request, values: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a pattern that have one value in a request."""
    found: dict[str, Any] = {
        name.replace("-", "_"): flag(request, name)
        for name in ("sqpoll", "iopoll", "end-fsync", "refill", "verify")
    }
    for name in ("offset", "range", "align", "misalign", "amount"):
        if name in request.options:
            found[name] = checked(request, name, grammar.parse_size, request.options[name])
    for name in ("batch", "fsync", "fdatasync", "compressible", "seed"):
        if name in request.options:
            found[name] = checked(
                request, name, grammar.parse_count, request.options[name], _MAX, 0
            )
    if "require" in request.options:
        found["require"] = checked(
            request, "require", grammar.parse_choice, request.options["require"], WAYS
        )
    exponent = checked(
        request, "zipf", grammar.parse_number, request.options.get("zipf", "1.1"), 0, 10
    )
    if values["order"] == "zipf":
        found["zipf"] = exponent
    if "blocks" in request.options:
        found |= checked(request, "blocks", _blocks, request.options["blocks"])
    return found


def _blocks(text: str) -> dict[str, Any]:
    shares = []
    for word in grammar.split_words(text):
        size, colon, weight = word.partition(":")
        if not colon or not weight.isdigit() or not int(weight):
            raise UserError(f"'{word}' is not SIZE:WEIGHT such as 4k:60")
        shares.append({"bytes": grammar.parse_size(size), "weight": int(weight)})
    whole = sum(share["weight"] for share in shares)
    mean = sum(share["bytes"] * share["weight"] for share in shares) // whole
    return {"blocks": shares, "block_size": mean}


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
        "io --from gpu:0 --to file:/data --backend cufile,staged --require gpudirect",
    ),
)
