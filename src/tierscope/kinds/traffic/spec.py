"""The spec of traffic: streams of mixed reads and writes, one or several concurrent ones."""

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.endpoint import Initiator, Target, parse_initiator, parse_target
from tierscope.model.errors import UserError, counted, did_you_mean
from tierscope.model.rules import Check, Ruling
from tierscope.model.spec import MemorySpec, Region
from tierscope.model.stream import Stream, StreamPattern
from tierscope.model.threads import Threads
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    checked,
    common_fields,
    memory_paths,
    placement_of_other,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.path import Limit, Paths

_BESIDE = ("name", "from", "to", "mix", "order", "access-size", "threads", "size", "delay")


class NamedStream(Stream):
    """One of several streams."""

    name: Annotated[str, Field(min_length=1, max_length=24, pattern=r"^[A-Za-z0-9_-]+$")]


class TrafficSpec(Threads, MemorySpec):
    """Bandwidth of one stream and of others at the same time, started and stopped by one gate."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("order", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {"mix": str, "beside": str}

    kind: Literal["traffic"] = "traffic"
    pattern: StreamPattern
    beside: Annotated[list[NamedStream], Field(max_length=15)] = []

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "beside",
            "has threads on CPUs of other threads; streams that share CPUs have sets",
            lambda spec: spec.keeps_apart(),
            ("cpus", "cpu_sets"),
            name="Cpus",
        ),
        Check(
            "beside",
            "has two streams of one name, or one that is called main",
            lambda spec: len({"main", *(one.name for one in spec.beside)}) > len(spec.beside),
            name="Names",
        ),
        Check(
            "pattern.size",
            "has fewer accesses than there are threads",
            lambda spec: spec.pattern.size // spec.pattern.access_size >= spec.thread_count,
            ("pattern.access_size", "cpus"),
        ),
    )

    def keeps_apart(self) -> bool:
        """Whether no two threads are pinned to one CPU."""
        streams: list[Threads] = [self, *self.beside]
        cpus = [cpu for one in streams for cpu in one.cpus]
        return len(set(cpus)) == len(cpus) or all(one.cpu_sets is not None for one in streams)

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, or all CPUs of their sets; the main stream's first."""
        others = (cpu for stream in self.beside for cpu in stream.cpus)
        return list(dict.fromkeys([*self.cpus, *others]))

    def regions(self) -> list[Region]:
        """An array for each stream."""
        placed = [(self.placement, self.pattern), *((s.placement, s.pattern) for s in self.beside)]
        return [Region(placement, pattern.pages, pattern.size) for placement, pattern in placed]

    def identity(self) -> dict[str, Any]:
        """The main stream's pattern, threads and mix, and the other streams in words."""
        found = {**self.pattern.as_recorded(), **self.placed_as()}
        found |= {"threads": self.thread_count, "mix": self.pattern.mix, **self.pinned_as()}
        others = [
            f"{stream.name}: {stream.initiator} → {stream.target}, {stream.pattern.mix} "
            f"by {stream.thread_count}, {stream.pattern.order}"
            + "".join(f" on CPUs {sets}" for sets in stream.pinned_as().values())
            for stream in self.beside
        ]
        return {**found, "beside": "; ".join(others)} if others else found

    def limit(self, paths: "Paths") -> "Limit | None":
        """The limit of the main stream's mix by its path."""
        return self.path_limit(paths, self.pattern.traffic())


SPEC = TrafficSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[TrafficSpec]:
    """Yield a measurement for each combination of the main stream's options."""
    text = request.options.get("beside")
    others = checked(request, "beside", _parse_beside, text) if text is not None else []
    for path in memory_paths(request, topology, TrafficSpec):
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
            swept: dict[str, list[Any]] = {"size": found_sizes, "pages": [kind], "threads": threads}
            yield from _swept(request, path, (shares[0], beside), swept)


def _sources(
    others: list[dict[str, str]], topology: Topology, main: MemoryPath
) -> list[tuple[Initiator, list[int]]]:
    """Return the initiator of each other stream and its CPUs; main's where none is given."""
    found = []
    for other in others:
        source = (
            parse_initiator(other["from"], TrafficSpec.initiators, "a stream")
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
    shared: tuple[list[int], list[NamedStream]],
    swept: dict[str, list[Any]],
) -> Iterator[TrafficSpec]:
    free, beside = shared
    words = grammar.split_words(request.options.get("mix", "100:0"))
    mixes = checked(request, "mix", lambda: list(map(grammar.parse_mix, words)))
    for (writes, stores), values in itertools.product(
        mixes, list(combinations(request, StreamPattern, swept))
    ):
        threads = values["threads"]
        pattern = {name: value for name, value in values.items() if name != "threads"}
        parts = [*path.names, f"t{threads}", f"w{writes}{stores if stores != 'ordinary' else ''}"]
        parts += [*id_parts(StreamPattern, values), *path.placed_as(request)]
        parts += [f"with-{stream.name}" for stream in beside]
        fields = {
            **common_fields(request, path),
            "cpus": free[:threads],
            "pattern": {**pattern, "writes": writes, "stores": stores},
            "beside": beside,
        }
        yield spec_of(request, TrafficSpec, fields, parts)


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
        parse_target(given["to"], TrafficSpec.targets, "a stream") if "to" in given else main_target
    )
    machine.check_target(topology, target)
    wanted = grammar.parse_count(given.get("threads", "all"), len(cpus))
    if wanted > len(cpus):
        raise UserError(
            f"{counted(wanted, 'thread')}, but its share of {source} is {counted(len(cpus), 'CPU')}"
        )
    writes, stores = grammar.parse_mix(given.get("mix", "100:0"))
    nodes = list(target.numbers)
    stream = Request(kind=request.kind, options=given, origins={name: name for name in given})
    default = machine.default_size(topology, cpus, nodes, 2)
    sizes = asked(stream, StreamPattern, "size") or [default]
    patterns = list(combinations(stream, StreamPattern, {"size": sizes, "pages": [kind]}))
    if len(patterns) > 1:
        raise UserError("a stream takes a single value of each option")
    return NamedStream.model_validate(
        {
            "name": given.get("name", f"stream{number}"),
            "initiator": str(source),
            "target": str(target),
            "cpus": cpus[:wanted],
            "placement": placement_of_other(request, topology, cpus, target),
            "pattern": {"writes": writes, "stores": stores, **patterns[0]},
        }
    )


def _counts(text: str, usable: int) -> list[int]:
    counts = grammar.expand_counts(text, usable)
    if max(counts) > usable:
        raise UserError(
            f"{counted(max(counts), 'thread')}, but {counted(usable, 'CPU')} left for them"
        )
    return counts


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(TrafficSpec),
        options.MIX.but(help="Reads:writes, with nt, clwb or clflushopt: 67:33, 2:1, 50:50nt"),
        Option(
            "beside",
            "STREAMS",
            "Concurrent streams: 'to=node:2 mix=0:100nt; from=node:1 threads=2'",
        ),
        options.THREADS,
        options.PIN,
        *options_of(StreamPattern),
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
