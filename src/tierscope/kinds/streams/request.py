"""Requests for traffic: one stream that is swept, and others at the same time."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.streams.spec import NamedStream, StreamsSpec
from tierscope.model.endpoint import Initiator, Target, parse_initiator, parse_target
from tierscope.model.errors import UserError, counted, did_you_mean
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    blamed,
    checked,
    choices,
    identity,
    memory_paths,
    of_path,
    placement_of_other,
    reason,
    sizes,
)
from tierscope.plans.options import STREAM_ORDERS, Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.zipf import ZIPF_ALPHA, zipf_alphas

_BESIDE = ("name", "from", "to", "mix", "order", "access-size", "threads", "size", "delay")
_MAX_PREFETCH = 1 << 20
_MAX_DELAY_NS = 10**9


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[StreamsSpec]:
    """Yield a measurement for each combination of the main stream's options."""
    text = request.options.get("beside")
    others = checked(request, "beside", _parse_beside, text) if text is not None else []
    for path in memory_paths(request, topology, StreamsSpec):
        sources = checked(request, "beside", _sources, others, topology, path)
        shares = checked(request, "beside", _shares, [path.cpus, *(cpus for _, cpus in sources)])
        threads = checked(
            request, "threads", _counts, request.options.get("threads", "all"), len(shares[0])
        )
        arrays = Arrays(
            path.placement,
            default=machine.default_size(topology, shares[0], path.nodes, 1 + len(others)),
            count=1 + len(others),
            shares=max(threads),
            access_size=1024,
        )
        found_sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
        for kind in kinds:
            beside = [
                checked(
                    request,
                    "beside",
                    _beside,
                    request,
                    other,
                    number,
                    topology,
                    (source, cpus, path.target),
                    kind,
                )
                for number, (other, (source, _), cpus) in enumerate(
                    zip(others, sources, shares[1:], strict=True), start=2
                )
            ]
            swept = {"size": found_sizes, "threads": threads}
            yield from _swept(request, path, kind, (shares[0], beside), swept)


def _sources(
    others: list[dict[str, str]], topology: Topology, main: MemoryPath
) -> list[tuple[Initiator, list[int]]]:
    """Return the initiator of each other stream and its CPUs; main's where none is given."""
    found = []
    for other in others:
        source = (
            parse_initiator(other["from"], StreamsSpec.initiators, "a stream")
            if "from" in other
            else main.initiator
        )
        cpus = machine.initiator_cpus(topology, source) if "from" in other else main.cpus
        found.append((source, cpus))
    return found


def _shares(wanted: list[list[int]]) -> list[list[int]]:
    """Divide CPUs that several streams want evenly among them; the first gets what is over."""
    shares = []
    for number, cpus in enumerate(wanted):
        users = [other for other, theirs in enumerate(wanted) if set(theirs) & set(cpus)]
        each, over = divmod(len(cpus), len(users))
        if each == 0:
            raise UserError(
                f"{len(users)} streams are to share {counted(len(cpus), 'CPU')}; name others"
            )
        place = users.index(number)
        begin = place * each + (over if place else 0)
        shares.append(cpus[begin : begin + each + (0 if place else over)])
    if len({cpu for share in shares for cpu in share}) < sum(map(len, shares)):
        raise UserError("streams overlap in some of their CPUs; give each its own, or all the same")
    return shares


def _swept(
    request: Request,
    path: MemoryPath,
    kind: str,
    shared: tuple[list[int], list[NamedStream]],
    swept: dict[str, list[int]],
) -> Iterator[StreamsSpec]:
    free, beside = shared
    mixes = request.options.get("mix", "100:0")
    orders = choices(request, "order", STREAM_ORDERS) or ["sequential"]
    axes: dict[str, list[Any]] = {
        "mix": checked(
            request, "mix", lambda: list(map(grammar.parse_mix, grammar.split_words(mixes)))
        ),
        "order": orders,
        "zipf_alpha": zipf_alphas(request, orders),
        "access_size": sizes(request, "access-size") or [1024],
        "prefetch": _distances(request) or [0],
        "delay_ns": checked(request, "delay", _delays, request.options.get("delay", "0")),
        "isa": choices(request, "isa", options.ISAS) or ["auto"],
        **swept,
    }
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
                    **of_path(request, path),
                    "id": name,
                    "cpus": free[:threads],
                    "pattern": pattern,
                    "beside": beside,
                }
            )
        except ValidationError as error:
            of_pattern = error.errors()[0]["loc"] == ("pattern",)  # prefetch and order
            option = "prefetch" if of_pattern else blamed(request, error, ("size", "access-size"))
            raise request.wrong(option, reason(error)) from None


def _identity(
    request: Request,
    path: MemoryPath,
    pattern: dict[str, Any],
    threads: int,
    beside: list[NamedStream],
) -> str:
    stores = "" if pattern["stores"] == "ordinary" else pattern["stores"]
    parts = [request.name or "streams", *path.names, f"t{threads}"]
    parts += [f"w{pattern['writes']}{stores}", grammar.format_size(pattern["size"])]
    parts += [pattern["pages"], pattern["order"]]
    if "zipf_alpha" in pattern:
        parts.append(f"z{pattern['zipf_alpha']:g}")
    parts.append(f"a{grammar.format_size(pattern['access_size'])}")
    parts += [f"p{pattern['prefetch']}"] if pattern["prefetch"] else []
    parts += [f"d{pattern['delay_ns']}"] if pattern["delay_ns"] else []
    parts += [pattern["isa"]] if pattern["isa"] != "auto" else []
    parts += [request.options["pin"]] if "pin" in request.options else []
    parts += [f"pf-{path.prefetchers}"] if "prefetchers" in request.options else []
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
                nearest = "" if key in _BESIDE else did_you_mean(key, _BESIDE)
                raise UserError(
                    f"'{word}' is not KEY=VALUE with one of {', '.join(_BESIDE)}{nearest}"
                )
            if key in stream:
                raise UserError(f"'{part}' gives {key} twice")
            stream[key] = value
        streams.append(stream)
    if not streams:
        raise UserError(f"'{text}' names no stream; one is such as 'to=node:2 mix=0:100nt'")
    return streams


def _beside(
    request: Request,
    given: dict[str, str],
    number: int,
    topology: Topology,
    main: tuple[Initiator, list[int], Target],
    kind: str,
) -> NamedStream:
    """Return one of the other streams; ``main``: its initiator, its share of the initiator's CPUs,
    and the main stream's target, for one that names none."""
    source, cpus, main_target = main
    target = (
        parse_target(given["to"], StreamsSpec.targets, "a stream") if "to" in given else main_target
    )
    machine.check_target(topology, target)
    wanted = grammar.parse_count(given.get("threads", "all"), len(cpus))
    if wanted > len(cpus):
        raise UserError(
            f"{counted(wanted, 'thread')}, but its share of {source} is {counted(len(cpus), 'CPU')}"
        )
    writes, stores = grammar.parse_mix(given.get("mix", "100:0"))
    nodes = list(target.numbers)
    size = (
        grammar.parse_size(given["size"])
        if "size" in given
        else machine.default_size(topology, cpus, nodes, 2)
    )
    return NamedStream.model_validate(
        {
            "name": given.get("name", f"stream{number}"),
            "initiator": str(source),
            "target": str(target),
            "cpus": cpus[:wanted],
            "placement": placement_of_other(request, topology, cpus, target),
            "pattern": {
                "writes": writes,
                "stores": stores,
                "order": grammar.parse_choice(given.get("order", "sequential"), STREAM_ORDERS),
                "access_size": grammar.parse_size(given.get("access-size", "1k")),
                "delay_ns": _delays(given.get("delay", "0"))[0],
                "size": size,
                "pages": kind,
            },
        }
    )


def _counts(text: str, usable: int) -> list[int]:
    counts = grammar.expand_counts(text, usable)
    if max(counts) > usable:
        raise UserError(
            f"{counted(max(counts), 'thread')}, but {counted(usable, 'CPU')} left for them"
        )
    return counts


def _distances(request: Request) -> list[int]:
    """Bytes that a prefetch runs ahead, 0 for none."""

    def parse() -> list[int]:
        found = grammar.expand_sizes(request.options["prefetch"])
        if max(found) > _MAX_PREFETCH:
            raise UserError(
                f"{grammar.format_size(max(found))} is out of range: at most "
                f"{grammar.format_size(_MAX_PREFETCH)}"
            )
        return found

    return checked(request, "prefetch", parse) if "prefetch" in request.options else []


def _delays(text: str) -> list[int]:
    """Whole nanoseconds, 0 for none."""
    return grammar.expand_nanoseconds(text, _MAX_DELAY_NS)


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        options.MIX.but(help="Reads:writes, with nt, clwb or clflushopt: 67:33, 2:1, 50:50nt"),
        Option(
            "beside",
            "STREAMS",
            "Concurrent streams: 'to=node:2 mix=0:100nt; from=node:1 threads=2'",
        ),
        options.THREADS,
        options.PIN,
        Option("order", "LIST", ", ".join(STREAM_ORDERS), "sequential"),
        ZIPF_ALPHA,
        options.ACCESS_SIZE.but(default="1k"),
        Option("prefetch", "SIZES", "Bytes that a software prefetch runs ahead, at most 1m", "0"),
        Option(
            "delay",
            "TIMES",
            "Minimum time from one access of a thread to its next, as in 100ns..1us",
            "0",
        ),
        options.SIZE.but(help="Bytes of the array, over all threads, as in 64k..1g"),
        options.PAGES,
        options.ISA,
        *options.PLACEMENT,
        *options.PERSISTENT,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
All streams start and stop together; each has its own figure.""",
    examples=(
        "traffic --mix 100:0,67:33,50:50,0:100,0:100nt,0:100clwb",
        'traffic --mix 100:0 --beside "mix=0:100nt"',
        "traffic --order random,zipf --access-size 64..4k --threads 1..all*2",
        "traffic --prefetch 64,256,1k,4k --threads 1",
        'traffic --to node:0 --beside "name=cxl to=node:2 threads=4"',
    ),
)
