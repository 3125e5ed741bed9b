"""Shared parts of requests for memory that CPUs reach: paths, choices, sampling, ids."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from tierscope.model.endpoint import EndpointKind, Initiator, Target, parse_initiator, parse_target
from tierscope.model.errors import UserError, counted
from tierscope.model.persistent import OBJECTS
from tierscope.model.spec import MeasurementSpec, MemorySpec, Placement
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.options import (
    ANY_CPU,
    BACKINGS,
    BASE_PAGES,
    MECHANISMS,
    PAGE_KINDS,
    PERSISTENT,
    PINS,
    POLICIES,
    PREFETCHER_STATES,
    Option,
)
from tierscope.plans.persistent import persistent_placement
from tierscope.plans.pinning import pinned
from tierscope.plans.request import Request

ID_LENGTH = 64
Value = TypeVar("Value")


@dataclass(frozen=True)
class MemoryPath:
    """One initiator, one target, one way of placing, one state of prefetchers."""

    initiator: Initiator
    target: Target
    cpus: list[int]
    placement: Placement
    prefetchers: str = "as-found"
    any_cpu: bool = False
    """Each thread may run on all of ``cpus``."""

    def threads(self, count: int) -> dict[str, Any]:
        """Return the fields of a spec that has this many threads."""
        if self.any_cpu and len(self.cpus) > 1:
            every = sorted(self.cpus)
            return {"cpus": every, "cpu_sets": [every] * count}
        return {"cpus": self.cpus[:count]}

    @property
    def names(self) -> tuple[str, str]:
        """Its endpoints, as ids name them."""
        return str(self.initiator), str(self.target)

    @property
    def nodes(self) -> list[int]:
        """Nodes that its memory is placed on."""
        return [share.node for share in self.placement.nodes]

    def placed_as(self, request: Request) -> list[str]:
        """Parts of an id: how memory is placed, threads are pinned and prefetchers are switched,
        where that was asked for."""
        parts: list[str] = [self.placement.policy] if "policy" in request.options else []
        parts += [request.options["pin"]] if "pin" in request.options else []
        parts += [f"pf-{self.prefetchers}"] if "prefetchers" in request.options else []
        persistent = self.placement.persistent
        parts += [persistent.backing] if persistent and "backing" in request.options else []
        kernel = self.placement.mechanism != "user"
        return [*parts, self.placement.mechanism] if kernel else parts


def memory_paths(
    request: Request, topology: Topology, spec: type[MemorySpec]
) -> Iterator[MemoryPath]:
    """Yield every path that a request's from, to, policy, mechanism and prefetchers name.

    ``spec`` says which endpoints the kind accepts.
    """
    policies: list[str | None] = [*choices(request, "policy", POLICIES)] or [None]
    mechanisms = choices(request, "mechanism", MECHANISMS) or ["user"]
    states = choices(request, "prefetchers", PREFETCHER_STATES) or ["as-found"]
    for initiator in initiators_of(request, topology, spec):
        cpus = pinned_cpus(request, topology, initiator, (ANY_CPU,) * spec.takes_any_cpu)
        any_cpu = request.options.get("pin") == ANY_CPU
        for target in _targets(request, topology, spec, cpus):
            checked(request, "to", machine.check_target, topology, target)
            for policy, mechanism, state in itertools.product(policies, mechanisms, states):
                _check_backing(request, spec)
                for placement in _placements(request, topology, cpus, target, policy, mechanism):
                    yield MemoryPath(initiator, target, cpus, placement, state, any_cpu)


def _check_backing(request: Request, spec: type[MemorySpec]) -> None:
    if "pool-objects" in choices(request, "backing", BACKINGS) and not spec.takes_objects:
        raise request.wrong("backing", OBJECTS)


def _placements(
    request: Request,
    topology: Topology,
    cpus: Sequence[int],
    target: Target,
    policy: str | None,
    mechanism: str,
) -> Iterator[Placement]:
    """Yield the placement of a target; of persistent memory, one for each backing."""
    if target.kind is EndpointKind.NODE:
        if not _has_target(request, "pmem:", "dax:"):
            for name in (option.name for option in PERSISTENT if option.name in request.options):
                raise request.wrong(name, f"goes with pmem: and dax: targets, not with {target}")
        option = "policy" if policy else "mechanism"
        yield checked(request, option, machine.placement, target, policy, mechanism)
        return
    for name in ("policy", "mechanism"):
        if name in request.options:
            raise request.wrong(name, f"goes with nodes, not with {target}")
    backings = choices(request, "backing", BACKINGS) or ["file"]
    for backing in backings if target.kind is EndpointKind.PMEM else ["device"]:
        yield _persistent(request, topology, cpus, target, backing)


def placement_of_other(
    request: Request,
    topology: Topology,
    cpus: Sequence[int],
    target: Target,
    option: str = "to",
) -> Placement:
    """Return where pages of another target of a request go, such as that of a load.

    ``option`` is what errors of persistent memory are put down to.
    """
    if target.kind is EndpointKind.NODE:
        return machine.placement(target, None, "user")
    backing = (choices(request, "backing", BACKINGS) or ["file"])[0]
    return _persistent(request, topology, cpus, target, backing, option)


def _persistent(
    request: Request,
    topology: Topology,
    cpus: Sequence[int],
    target: Target,
    backing: str,
    option: str = "to",
) -> Placement:
    if target.kind is EndpointKind.DAX:
        if "destroy-data" not in request.options:
            raise request.wrong(
                option,
                f"measuring {target} overwrites it: name the device in --destroy-data if nothing "
                "on it is needed",
            )
        asked = {
            "backing": "device",
            "offset": _dax_offset(request),
            "destroy": request.options["destroy-data"],
        }
    else:
        for name in ("destroy-data", "dax-offset"):
            if name in request.options and not _has_target(request, "dax:"):
                raise request.wrong(name, f"goes with dax: targets, not with {target}")
        asked = {"backing": backing}
    asked["backed_by"] = (choices(request, "backed-by", ("battery",)) or [""])[0]
    return checked(request, option, persistent_placement, topology, cpus, target, asked)


def _dax_offset(request: Request) -> int:
    if "dax-offset" not in request.options:
        return 0
    return checked(request, "dax-offset", grammar.parse_size, request.options["dax-offset"])


def _has_target(request: Request, *prefixes: str) -> bool:
    """Whether a target of the request, or of one of its arrays, begins with one of these."""
    return any(
        word.startswith(prefixes)
        for option in ("to", "b", "c", "second-to")
        if option in request.options
        for word in grammar.split_endpoints(request.options[option])
    )


def common_fields(request: Request, path: MemoryPath) -> dict[str, Any]:
    """Return the fields that every spec of a path has."""
    return {
        "initiator": str(path.initiator),
        "target": str(path.target),
        "placement": path.placement,
        "prefetchers": path.prefetchers,
        "sampling": sampling(request),
    }


def thread_counts(request: Request, path: MemoryPath) -> list[int]:
    """Return the thread counts asked for, all of the path's CPUs where none are."""
    return checked(request, "threads", _thread_counts, request, path)


def _thread_counts(request: Request, path: MemoryPath) -> list[int]:
    usable = len(path.cpus)
    counts = grammar.expand_counts(request.options.get("threads", "all"), usable)
    if max(counts) > usable:
        have = f"{path.initiator} has {counted(usable, 'usable CPU')}"
        raise UserError(f"{counted(max(counts), 'thread')}, but {have}")
    return counts


def pinned_cpus(
    request: Request, topology: Topology, initiator: Initiator, also: tuple[str, ...] = ()
) -> list[int]:
    """Return the CPUs of an initiator in the order in which threads are pinned to them.

    ``also`` are ways of pinning that have no order.
    """
    pins = choices(request, "pin", (*PINS, *also)) or ["cores"]
    if len(pins) > 1:
        raise request.wrong("pin", "a request has one way of pinning")
    cpus = checked(request, "from", machine.initiator_cpus, topology, initiator)
    return cpus if pins[0] in also else pinned(topology, cpus, pins[0])


def initiators_of(
    request: Request, topology: Topology, spec: type[MeasurementSpec]
) -> list[Initiator]:
    """Return the initiators of a request, the first node with CPUs where none is named."""
    nodes = machine.cpu_nodes(topology)
    if "from" in request.options:
        return initiators(request, "from", spec, [node.number for node in nodes])
    if not nodes:
        raise machine.no_initiator(topology)
    return [Initiator(kind=EndpointKind.NODE, numbers=(nodes[0].number,))]


def _targets(
    request: Request, topology: Topology, spec: type[MemorySpec], cpus: list[int]
) -> list[Target]:
    nodes = machine.memory_nodes(topology)
    if "to" in request.options:
        return targets(request, "to", spec, [node.number for node in nodes])
    own = [node.number for node in nodes if set(node.cpus) & set(cpus)]
    number = (own or [node.number for node in nodes] or [0])[0]
    return [Target(kind=EndpointKind.NODE, numbers=(number,))]


def initiators(
    request: Request, option: str, spec: type[MeasurementSpec], every: Sequence[int] = ()
) -> list[Initiator]:
    """Return the initiators of an option that was given; node:* stands for ``every`` node."""

    def parse() -> list[Initiator]:
        words = _words(request.options[option], every)
        return [parse_initiator(word, spec.initiators, spec.kind_name()) for word in words]

    return checked(request, option, parse)


def targets(
    request: Request, option: str, spec: type[MeasurementSpec], every: Sequence[int] = ()
) -> list[Target]:
    """Return the targets of an option that was given; node:* stands for ``every`` node."""

    def parse() -> list[Target]:
        words = _words(request.options[option], every)
        return [parse_target(word, spec.targets, spec.kind_name()) for word in words]

    return checked(request, option, parse)


def _words(text: str, every: Sequence[int]) -> list[str]:
    all_nodes = [f"node:{number}" for number in every]
    return [
        one
        for word in grammar.split_endpoints(text)
        for one in (all_nodes if word == "node:*" and all_nodes else grammar.expand_weights(word))
    ]


def pages(request: Request, topology: Topology, thp: bool) -> list[str]:
    """Return the kinds of pages asked for, else transparent huge ones where there are any."""
    chosen = choices(request, "pages", PAGE_KINDS) or ["thp" if thp else "base"]
    for name in chosen:
        if BASE_PAGES.get(name, topology.base_page_bytes) != topology.base_page_bytes:
            raise request.wrong(
                "pages",
                f"this machine's base page is {grammar.format_size(topology.base_page_bytes)}, "
                f"not {name}; say base",
            )
    return list(dict.fromkeys("base" if name in BASE_PAGES else name for name in chosen))


def choices(request: Request, option: str, allowed: tuple[str, ...]) -> list[str]:
    """Return the words of a list option; none where it is not given."""
    if option not in request.options:
        return []
    return checked(
        request,
        option,
        lambda: [
            grammar.parse_choice(word, allowed)
            for word in grammar.split_words(request.options[option])
        ],
    )


def sizes(request: Request, option: str) -> list[int]:
    """Return the sizes of an option; none where it is not given."""
    if option not in request.options:
        return []
    return checked(request, option, grammar.expand_sizes, request.options[option])


def checked(request: Request, option: str, make: Callable[..., Value], *given: Any) -> Value:
    """Call ``make``; an error gets the option and where it stands in front."""
    try:
        return make(*given)
    except UserError as error:
        raise request.wrong(option, error) from None
    except ValidationError as error:
        raise request.wrong(option, reason(error)) from None


def parsed(request: Request, option: Option, parse: Callable[..., Value], *given: Any) -> Value:
    """Return the value of an option, or of its default where a request does not have it."""
    text = request.options.get(option.name, option.default)
    return checked(request, option.name, parse, text, *given)


def sampling(request: Request) -> dict[str, float]:
    """Return the fields of Sampling that a request sets."""
    given = {
        "precision": ("precision", grammar.parse_share, 0, 0.5),
        "budget": ("budget_s", grammar.parse_duration, 0.001, 86400),
        "sample": ("sample_s", grammar.parse_duration, 0.00001, 60),
    }
    return {
        name: checked(request, option, parse, request.options[option], least, most)
        for option, (name, parse, least, most) in given.items()
        if option in request.options
    }


def reason(error: ValidationError) -> str:
    """Return what a validation error says, for a person."""
    return " ".join(filter(None, sentence(error)))


def sentence(error: ValidationError) -> tuple[str, str]:
    """Return the field that a broken rule is about, empty of other errors, and what is wrong."""
    first = error.errors()[0]
    said = first["msg"].removeprefix("Value error, ").replace("Input should be", "it has to be")
    return first.get("ctx", {}).get("field", "").rpartition(".")[2], said


def identity(parts: list[str], longest: int = ID_LENGTH) -> str:
    """Join parts to an id of at most ``longest`` characters that no other parts give."""
    text = re.sub(r"[^A-Za-z0-9._:-]", "_", ".".join(parts))
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: longest - 9]}-{digest}"
