"""Expand requests for streams: one that is swept, and others beside it."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tierscope.model.endpoint import Endpoint, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.streams import NamedStream, StreamsSpec
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.axes import (
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
from tierscope.plans.loaded_latency import parse_mix
from tierscope.plans.request import ISAS, ORDERS, Request

_BESIDE = ("name", "from", "to", "mix", "order", "access-size", "threads", "size", "delay")
_FARTHEST = 1 << 20
_LONGEST_DELAY = 10**9


def streams_specs(request: Request, topology: Topology, thp: bool) -> Iterator[StreamsSpec]:
    """Yield a measurement for each combination of the main stream's options."""
    others = checked(request, "beside", _parse_beside, request.options.get("beside", ""))
    kinds = pages(request, topology, thp)
    for path in memory_paths(request, topology):
        for kind in kinds:
            free = list(path.cpus)
            beside = []
            for number, other in enumerate(others, start=1):
                stream = checked(
                    request, "beside", _beside, other, number, len(others), topology, path, kind
                )
                beside.append(stream)
                free = [cpu for cpu in free if cpu not in stream.cpus]
            used = {cpu for stream in beside for cpu in stream.cpus}
            if len(used) < sum(len(stream.cpus) for stream in beside):
                raise request.wrong("beside", "two streams want the same CPUs; give each its own")
            if not free:
                raise request.wrong("beside", f"no CPU of {path.initiator} is left for the stream")
            yield from _swept(request, topology, path, kind, (free, beside))


def _swept(
    request: Request,
    topology: Topology,
    path: MemoryPath,
    kind: str,
    shared: tuple[list[int], list[NamedStream]],
) -> Iterator[StreamsSpec]:
    free, beside = shared
    arrays = 1 + len(beside)
    nodes = [share.node for share in path.placement.nodes]
    mixes = request.options.get("mix", "100:0")
    axes: dict[str, list[Any]] = {
        "mix": checked(request, "mix", lambda: list(map(parse_mix, grammar.split_words(mixes)))),
        "order": choices(request, "order", ORDERS["streams"]) or ["sequential"],
        "zipf_alpha": _numbers(request, "zipf-alpha") or [None],
        "access_size": sizes(request, "access-size") or [1024],
        "prefetch": _whole(request, "prefetch", _FARTHEST) or [0],
        "delay_ns": _whole(request, "delay", _LONGEST_DELAY) or [0],
        "isa": choices(request, "isa", ISAS) or ["auto"],
        "size": sizes(request, "size") or [machine.default_size(topology, free, nodes, arrays)],
        "threads": checked(
            request, "threads", _counts, request.options.get("threads", "all"), len(free)
        ),
    }
    if axes["zipf_alpha"] != [None] and "zipf" not in axes["order"]:
        raise request.wrong("zipf-alpha", "an alpha goes with order zipf only")
    seen = set()
    for combination in itertools.product(*axes.values()):
        values = dict(zip(axes, combination, strict=True))
        writes, stores = values.pop("mix")
        threads = values.pop("threads")
        if values["order"] != "zipf" or values["zipf_alpha"] is None:
            del values["zipf_alpha"]
        pattern = {**values, "writes": writes, "stores": stores, "pages": kind}
        name = _identity(request, path, pattern, threads, beside)
        if name in seen:
            continue
        seen.add(name)
        try:
            yield StreamsSpec.model_validate(
                {
                    "id": name,
                    "initiator": str(path.initiator),
                    "target": str(path.target),
                    "placement": path.placement,
                    "sampling": sampling(request),
                    "cpus": free[:threads],
                    "pattern": pattern,
                    "beside": beside,
                }
            )
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][-1:] and error.errors()[0]["loc"][-1])
            option = field.replace("_", "-")
            if option not in request.options:
                option = "prefetch" if "prefetch" in reason(error) else "size"
            raise request.wrong(option, reason(error)) from None


def _identity(
    request: Request,
    path: MemoryPath,
    pattern: dict[str, Any],
    threads: int,
    beside: list[NamedStream],
) -> str:
    stores = "" if pattern["stores"] == "ordinary" else pattern["stores"]
    parts = [request.name or "streams", str(path.initiator), str(path.target), f"t{threads}"]
    parts += [f"w{pattern['writes']}{stores}", grammar.format_size(pattern["size"])]
    parts += [pattern["pages"], pattern["order"]]
    if "zipf_alpha" in pattern:
        parts.append(f"z{pattern['zipf_alpha']:g}")
    parts.append(f"a{grammar.format_size(pattern['access_size'])}")
    parts += [f"p{pattern['prefetch']}"] if pattern["prefetch"] else []
    parts += [f"d{pattern['delay_ns']}"] if pattern["delay_ns"] else []
    parts += [pattern["isa"]] if pattern["isa"] != "auto" else []
    parts += [request.options["pin"]] if "pin" in request.options else []
    parts += [f"with-{stream.name}" for stream in beside]
    return identity(parts)


def _parse_beside(text: str) -> list[dict[str, str]]:
    """Parse ``from=node:0 to=node:2 mix=0:100nt; name=reader to=node:1``."""
    streams = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        stream: dict[str, str] = {}
        for word in re.split(r"\s+", part):
            key, equals, value = word.partition("=")
            if not equals or not value or key not in _BESIDE:
                nearest = grammar.did_you_mean(key, _BESIDE)
                raise UserError(
                    f"'{word}' is not KEY=VALUE with one of {', '.join(_BESIDE)}{nearest}"
                )
            if key in stream:
                raise UserError(f"'{part}' gives {key} twice")
            stream[key] = value
        streams.append(stream)
    return streams


def _beside(
    given: dict[str, str], number: int, count: int, topology: Topology, main: MemoryPath, kind: str
) -> NamedStream:
    """Return one of ``count`` other streams; from main's CPUs it takes an equal share, the last."""
    source = parse_endpoint(given["from"]) if "from" in given else main.initiator
    target: Endpoint = parse_endpoint(given["to"]) if "to" in given else main.target
    machine.check_target(topology, target)
    cpus = machine.initiator_cpus(topology, source)
    wanted = grammar.parse_count(given.get("threads", "all"), len(cpus))
    if set(cpus) & set(main.cpus):
        shared = [cpu for cpu in cpus if cpu in main.cpus]
        share = len(shared) // (count + 1)
        if share == 0:
            raise UserError(f"{source} has too few CPUs for {count + 1} streams; name others")
        if "threads" in given and wanted > share:
            raise UserError(f"{wanted} threads, but each of {count + 1} streams gets {share} CPUs")
        end = len(shared) - (count - number) * share
        cpus = shared[end - share : end]
    writes, stores = parse_mix(given.get("mix", "100:0"))
    nodes = list(target.numbers)
    size = (
        grammar.parse_size(given["size"])
        if "size" in given
        else machine.default_size(topology, cpus, nodes, count + 1)
    )
    return NamedStream.model_validate(
        {
            "name": given.get("name", f"stream{number + 1}"),
            "initiator": str(source),
            "target": str(target),
            "cpus": cpus[:wanted],
            "placement": machine.placement(target, None, "user"),
            "pattern": {
                "writes": writes,
                "stores": stores,
                "order": grammar.parse_choice(given.get("order", "sequential"), ORDERS["streams"]),
                "access_size": grammar.parse_size(given.get("access-size", "1k")),
                "delay_ns": grammar.parse_count(given["delay"], 1) if "delay" in given else 0,
                "size": size,
                "pages": kind,
            },
        }
    )


def _counts(text: str, usable: int) -> list[int]:
    counts = grammar.expand_counts(text, usable)
    if max(counts) > usable:
        raise UserError(f"{max(counts)} threads, but {usable} CPUs are left for them")
    return counts


def _numbers(request: Request, option: str) -> list[float]:
    words = grammar.split_words(request.options[option]) if option in request.options else []
    return checked(request, option, lambda: [grammar.parse_number(word, 0, 10) for word in words])


def _whole(request: Request, option: str, most: int) -> list[int]:
    """Sizes or counts that may also be 0."""

    def parse() -> list[int]:
        found = grammar.expand_sizes(request.options[option])
        if max(found) > most:
            raise UserError(f"{max(found)} is out of range: at most {most}")
        return found

    return checked(request, option, parse) if option in request.options else []
