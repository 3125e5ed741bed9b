"""What the expanders of all kinds of CPU-reached memory share: paths, choices, sampling, ids."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.spec import Placement
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.options import MECHANISMS, PAGE_KINDS, PINS, POLICIES
from tierscope.plans.request import Request

ID_LENGTH = 64
Value = TypeVar("Value")


@dataclass(frozen=True)
class MemoryPath:
    """One initiator, one target, one way of placing."""

    initiator: Endpoint
    target: Endpoint
    cpus: list[int]
    placement: Placement

    @property
    def names(self) -> tuple[str, str]:
        """Its endpoints, as ids name them."""
        return str(self.initiator), str(self.target)

    @property
    def nodes(self) -> list[int]:
        """Nodes that its memory is placed on."""
        return [share.node for share in self.placement.nodes]

    def placed_as(self, request: Request) -> list[str]:
        """Parts of an id: how memory is placed and threads are pinned, where that was asked for."""
        parts = [self.placement.policy] if "policy" in request.options else []
        parts += [request.options["pin"]] if "pin" in request.options else []
        kernel = self.placement.mechanism != "user"
        return [*parts, self.placement.mechanism] if kernel else parts


def memory_paths(request: Request, topology: Topology) -> Iterator[MemoryPath]:
    """Yield every path that a request's from, to, policy and mechanism name."""
    policies: list[str | None] = [*choices(request, "policy", POLICIES)] or [None]
    mechanisms = choices(request, "mechanism", MECHANISMS) or ["user"]
    for initiator in _initiators(request, topology):
        cpus = checked(request, "from", machine.initiator_cpus, topology, initiator)
        cpus = machine.pinned(topology, cpus, _pin(request))
        for target in _targets(request, topology, cpus):
            checked(request, "to", machine.check_target, topology, target)
            for policy, mechanism in itertools.product(policies, mechanisms):
                option = "policy" if policy else "mechanism"
                placement = checked(request, option, machine.placement, target, policy, mechanism)
                yield MemoryPath(initiator, target, cpus, placement)


def of_path(request: Request, path: MemoryPath) -> dict[str, Any]:
    """Return the fields that every spec of a path has."""
    return {
        "initiator": str(path.initiator),
        "target": str(path.target),
        "placement": path.placement,
        "sampling": sampling(request),
    }


def thread_counts(request: Request, path: MemoryPath) -> list[int]:
    """Return the thread counts asked for, all of the path's CPUs where none are."""
    return checked(request, "threads", _thread_counts, request, path)


def _thread_counts(request: Request, path: MemoryPath) -> list[int]:
    usable = len(path.cpus)
    counts = grammar.expand_counts(request.options.get("threads", "all"), usable)
    if max(counts) > usable:
        raise UserError(f"{max(counts)} threads, but {path.initiator} has {usable} usable CPUs")
    return counts


def blamed(request: Request, error: ValidationError, others: tuple[str, ...]) -> str:
    """Return the option that an invalid spec is put down to: the field's, else one that was given.

    ``others`` are looked through in order; the first of them where none was given.
    """
    location = error.errors()[0]["loc"]
    field = str(location[-1]).replace("_", "-") if location else ""
    return next((name for name in (field, *others) if name in request.options), others[0])


def _pin(request: Request) -> str:
    pins = choices(request, "pin", PINS) or ["cores"]
    if len(pins) > 1:
        raise request.wrong("pin", "a request has one way of pinning")
    return pins[0]


def _initiators(request: Request, topology: Topology) -> list[Endpoint]:
    nodes = machine.cpu_nodes(topology)
    if "from" not in request.options:
        if not nodes:
            raise UserError("no node has CPUs that this process may use; name CPUs in --from")
        return [Endpoint(kind=EndpointKind.NODE, numbers=(nodes[0].number,))]
    return _endpoints(request, "from", [node.number for node in nodes])


def _targets(request: Request, topology: Topology, cpus: list[int]) -> list[Endpoint]:
    nodes = machine.memory_nodes(topology)
    if "to" not in request.options:
        own = [node.number for node in nodes if set(node.cpus) & set(cpus)]
        number = (own or [node.number for node in nodes] or [0])[0]
        return [Endpoint(kind=EndpointKind.NODE, numbers=(number,))]
    return _endpoints(request, "to", [node.number for node in nodes])


def _endpoints(request: Request, option: str, every: list[int]) -> list[Endpoint]:
    def parse() -> list[Endpoint]:
        endpoints = []
        for text in grammar.split_endpoints(request.options[option]):
            if text == "node:*":
                endpoints += [Endpoint(kind=EndpointKind.NODE, numbers=(n,)) for n in every]
            else:
                endpoints.append(parse_endpoint(text))
        return endpoints

    return checked(request, option, parse)


def pages(request: Request, topology: Topology, thp: bool) -> list[str]:
    """Return the kinds of pages asked for, else transparent huge ones where there are any."""
    chosen = choices(request, "pages", PAGE_KINDS) or ["thp" if thp else "base"]
    if "4k" in chosen and topology.base_page_bytes != 4096:
        raise request.wrong(
            "pages",
            f"this machine's base page is {grammar.format_size(topology.base_page_bytes)}, "
            "not 4k; say base",
        )
    return list(dict.fromkeys("base" if name == "4k" else name for name in chosen))


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


def sampling(request: Request) -> dict[str, float]:
    """Return the fields of Sampling that a request sets."""
    limits = {"precision": (0, 0.5), "budget": (0, 86400), "sample": (0, 60)}
    names = {"precision": "precision", "budget": "budget_s", "sample": "sample_s"}
    return {
        names[option]: checked(
            request, option, grammar.parse_number, request.options[option], *bounds
        )
        for option, bounds in limits.items()
        if option in request.options
    }


def reason(error: ValidationError) -> str:
    """Return what a validation error says, for a person."""
    first = error.errors()[0]
    return first["msg"].removeprefix("Value error, ").replace("Input should be", "it has to be")


def identity(parts: list[str], longest: int = ID_LENGTH) -> str:
    """Join parts to an id of at most ``longest`` characters that no other parts give."""
    text = re.sub(r"[^A-Za-z0-9._:-]", "_", ".".join(parts))
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: longest - 9]}-{digest}"
