"""Expand requests into the specs of a plan, on the machine at hand."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.plan import (
    PLAN_VERSION,
    BandwidthSpec,
    LatencySpec,
    Placement,
    Plan,
    Spec,
)
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.request import ISAS, MECHANISMS, OPERATIONS, ORDERS, PAGES, POLICIES, Request

MAX_MEASUREMENTS = 100_000
_ID_LENGTH = 64
Value = TypeVar("Value")


@dataclass(frozen=True)
class _Path:
    """One initiator, one target, one way of placing."""

    initiator: Endpoint
    target: Endpoint
    cpus: list[int]
    placement: Placement


def expand(requests: list[Request], topology: Topology, thp: bool) -> Plan:
    """Return the plan that the requests ask for; ``thp`` says whether the kernel offers THP.

    Raises UserError, naming the option and where it was written, for whatever this machine or the
    grammar refuses.
    """
    specs: list[Spec] = []
    names: dict[str, int] = {}
    for request in requests:
        for spec in EXPANDERS[request.kind](request, topology, thp):
            uses = names[spec.id] = names.get(spec.id, 0) + 1
            if uses > 1:
                spec = spec.model_copy(update={"id": f"{spec.id[: _ID_LENGTH - 6]}.{uses}"})
            specs.append(spec)
            if len(specs) > MAX_MEASUREMENTS:
                raise UserError(
                    f"the plan has more than {MAX_MEASUREMENTS} measurements; ask for less"
                )
    return Plan(version=PLAN_VERSION, measurements=specs)


def _specs(request: Request, topology: Topology, thp: bool) -> Iterator[Spec]:
    for path in _paths(request, topology):
        for values in _points(request, topology, path, thp):
            yield _spec(request, path, values)


def _paths(request: Request, topology: Topology) -> Iterator[_Path]:
    policies: list[str | None] = [*_choices(request, "policy", POLICIES)] or [None]
    mechanisms = _choices(request, "mechanism", MECHANISMS) or ["user"]
    for initiator in _initiators(request, topology):
        cpus = _checked(request, "from", machine.initiator_cpus, topology, initiator)
        for target in _targets(request, topology, cpus):
            _checked(request, "to", machine.check_target, topology, target)
            for policy, mechanism in itertools.product(policies, mechanisms):
                option = "policy" if policy else "mechanism"
                placement = _checked(request, option, machine.placement, target, policy, mechanism)
                yield _Path(initiator, target, cpus, placement)


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

    return _checked(request, option, parse)


def _points(
    request: Request, topology: Topology, path: _Path, thp: bool
) -> Iterator[dict[str, Any]]:
    """Yield one value for each option, over all combinations."""
    axes: dict[str, list[Any]] = {}
    if request.kind == "bandwidth":
        axes["operation"] = _choices(request, "op", OPERATIONS) or ["read"]
        axes["isa"] = _choices(request, "isa", ISAS) or ["auto"]
        axes["access_size"] = _sizes(request, "access-size") or [64]
    axes["order"] = _choices(request, "order", ORDERS[request.kind]) or [ORDERS[request.kind][0]]
    axes["stride"] = _sizes(request, "stride") or [None]
    axes["pages"] = _pages(request, topology, thp)
    axes["size"] = _sizes(request, "size") or [None]
    if request.kind == "bandwidth":
        axes["threads"] = _checked(request, "threads", _threads, request, path)
    if request.kind == "bandwidth":
        if axes["stride"] != [None] and "strided" not in axes["order"]:
            raise request.wrong("stride", "a stride goes with order strided only")
        if axes["stride"] == [None] and "strided" in axes["order"]:
            raise request.wrong("order", "order strided needs a stride, such as 4k")
    seen = set()
    for combination in itertools.product(*axes.values()):
        values = dict(zip(axes, combination, strict=True))
        if request.kind == "bandwidth" and values["order"] != "strided":
            values["stride"] = None
        if values["size"] is None:
            # Room for three arrays whatever the operation, so that a sweep over operations has
            # one size.
            nodes = [share.node for share in path.placement.nodes]
            wide = request.kind == "bandwidth"
            values["size"] = machine.default_size(
                topology, path.cpus if wide else path.cpus[:1], nodes, 3 if wide else 1
            )
        if tuple(values.items()) not in seen:
            seen.add(tuple(values.items()))
            yield values


def _threads(request: Request, path: _Path) -> list[int]:
    usable = len(path.cpus)
    counts = grammar.expand_counts(request.options.get("threads", "all"), usable)
    if max(counts) > usable:
        raise UserError(f"{max(counts)} threads, but {path.initiator} has {usable} usable CPUs")
    return counts


def _pages(request: Request, topology: Topology, thp: bool) -> list[str]:
    chosen = _choices(request, "pages", PAGES) or ["thp" if thp else "base"]
    if "4k" in chosen and topology.base_page_bytes != 4096:
        raise request.wrong(
            "pages",
            f"this machine's base page is {grammar.format_size(topology.base_page_bytes)}, "
            "not 4k; say base",
        )
    return list(dict.fromkeys("base" if name == "4k" else name for name in chosen))


def _choices(request: Request, option: str, allowed: tuple[str, ...]) -> list[str]:
    if option not in request.options:
        return []
    return _checked(
        request,
        option,
        lambda: [
            grammar.parse_choice(word, allowed)
            for word in grammar.split_words(request.options[option])
        ],
    )


def _sizes(request: Request, option: str) -> list[int]:
    if option not in request.options:
        return []
    return _checked(request, option, grammar.expand_sizes, request.options[option])


def _checked(request: Request, option: str, make: Callable[..., Value], *given: Any) -> Value:
    """Call ``make``; an error gets the option and where it stands in front."""
    try:
        return make(*given)
    except UserError as error:
        raise request.wrong(option, error) from None
    except ValidationError as error:
        raise request.wrong(option, _reason(error)) from None


def _spec(request: Request, path: _Path, values: dict[str, Any]) -> Spec:
    threads = values.pop("threads", 1)
    if values["stride"] is None:
        del values["stride"]
    fields = {
        "kind": request.kind,
        "id": _identity(request, path, values, threads),
        "initiator": str(path.initiator),
        "target": str(path.target),
        "placement": path.placement,
        "sampling": _sampling(request),
        "pattern": values,
    }
    try:
        if request.kind == "latency":
            return LatencySpec.model_validate({**fields, "cpu": path.cpus[0]})
        return BandwidthSpec.model_validate({**fields, "cpus": path.cpus[:threads]})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][-1:] and error.errors()[0]["loc"][-1]).replace("_", "-")
        option = name if name in request.options else "size"
        given = request.options.get(option, "default")
        raise request.wrong(option, f"'{given}': {_reason(error)}") from None


def _sampling(request: Request) -> dict[str, float]:
    limits = {"precision": (0, 0.5), "budget": (0, 86400), "sample": (0, 60)}
    names = {"precision": "precision", "budget": "budget_s", "sample": "sample_s"}
    return {
        names[option]: _checked(
            request, option, grammar.parse_number, request.options[option], *bounds
        )
        for option, bounds in limits.items()
        if option in request.options
    }


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    return first["msg"].removeprefix("Value error, ").replace("Input should be", "it has to be")


def _identity(request: Request, path: _Path, values: dict[str, Any], threads: int) -> str:
    """Return a readable id that depends on nothing but the measurement itself."""
    pattern = [values.get("operation", ""), str(path.initiator), str(path.target)]
    if request.kind == "bandwidth":
        pattern.append(f"t{threads}")
    pattern += [grammar.format_size(values["size"]), values["pages"]]
    if values["order"] != ORDERS[request.kind][0]:
        pattern.append(values["order"])
    if values.get("access_size", 64) != 64:
        pattern.append(f"a{grammar.format_size(values['access_size'])}")
    if "stride" in values:
        pattern.append(f"s{grammar.format_size(values['stride'])}")
    if values.get("isa", "auto") != "auto":
        pattern.append(values["isa"])
    if "policy" in request.options:
        pattern.append(path.placement.policy)
    if path.placement.mechanism != "user":
        pattern.append(path.placement.mechanism)
    parts = [request.name or request.kind, *filter(None, pattern)]
    text = re.sub(r"[^A-Za-z0-9._:-]", "_", ".".join(parts))
    if len(text) <= _ID_LENGTH:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: _ID_LENGTH - 9]}-{digest}"


EXPANDERS: dict[str, Callable[[Request, Topology, bool], Iterator[Spec]]] = {
    "bandwidth": _specs,
    "latency": _specs,
}
"""What makes specs of each kind's requests; a new kind adds its row here and its options to
``request.OPTIONS``."""
