"""Expand requests into the specs of a plan, on the machine at hand."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import gpu_expand, grammar, machine
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
from tierscope.plans.loaded_latency import loaded_latency_specs
from tierscope.plans.patterns import atomics_specs, mapping_specs
from tierscope.plans.request import ISAS, OPERATIONS, ORDERS, Request
from tierscope.plans.streams import streams_specs

MAX_MEASUREMENTS = 100_000


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
                spec = spec.model_copy(update={"id": f"{spec.id[: ID_LENGTH - 6]}.{uses}"})
            specs.append(spec)
            if len(specs) > MAX_MEASUREMENTS:
                raise UserError(
                    f"the plan has more than {MAX_MEASUREMENTS} measurements; ask for less"
                )
    return Plan(version=PLAN_VERSION, measurements=specs)


def _specs(request: Request, topology: Topology, thp: bool) -> Iterator[Spec]:
    for path in memory_paths(request, topology):
        for values in _points(request, topology, path, thp):
            yield _spec(request, path, values)


def _points(
    request: Request, topology: Topology, path: MemoryPath, thp: bool
) -> Iterator[dict[str, Any]]:
    """Yield one value for each option, over all combinations."""
    axes: dict[str, list[Any]] = {}
    if request.kind == "bandwidth":
        axes["operation"] = choices(request, "op", OPERATIONS) or ["read"]
        axes["isa"] = choices(request, "isa", ISAS) or ["auto"]
        axes["access_size"] = sizes(request, "access-size") or [64]
    axes["order"] = choices(request, "order", ORDERS[request.kind]) or [ORDERS[request.kind][0]]
    axes["stride"] = sizes(request, "stride") or [None]
    axes["pages"] = pages(request, topology, thp)
    axes["size"] = sizes(request, "size") or [None]
    if request.kind == "bandwidth":
        axes["threads"] = checked(request, "threads", _threads, request, path)
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


def _threads(request: Request, path: MemoryPath) -> list[int]:
    usable = len(path.cpus)
    counts = grammar.expand_counts(request.options.get("threads", "all"), usable)
    if max(counts) > usable:
        raise UserError(f"{max(counts)} threads, but {path.initiator} has {usable} usable CPUs")
    return counts


def _spec(request: Request, path: MemoryPath, values: dict[str, Any]) -> Spec:
    threads = values.pop("threads", 1)
    if values["stride"] is None:
        del values["stride"]
    fields = {
        "kind": request.kind,
        "id": _identity(request, path, values, threads),
        "initiator": str(path.initiator),
        "target": str(path.target),
        "placement": path.placement,
        "sampling": sampling(request),
        "pattern": values,
    }
    try:
        if request.kind == "latency":
            return LatencySpec.model_validate({**fields, "cpu": path.cpus[0]})
        return BandwidthSpec.model_validate({**fields, "cpus": path.cpus[:threads]})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][-1:] and error.errors()[0]["loc"][-1]).replace("_", "-")
        blamed = (name, "size", "access-size", "stride")
        option = next((o for o in blamed if o in request.options), "size")
        given = request.options.get(option, "default")
        raise request.wrong(option, f"'{given}': {reason(error)}") from None


def _identity(request: Request, path: MemoryPath, values: dict[str, Any], threads: int) -> str:
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
    if "pin" in request.options:
        pattern.append(request.options["pin"])
    if path.placement.mechanism != "user":
        pattern.append(path.placement.mechanism)
    parts = [request.name or request.kind, *filter(None, pattern)]
    return identity(parts)


EXPANDERS: dict[str, Callable[[Request, Topology, bool], Iterator[Spec]]] = {
    "bandwidth": _specs,
    "latency": _specs,
    "loaded-latency": loaded_latency_specs,
    "streams": streams_specs,
    "atomics": atomics_specs,
    "mapping": mapping_specs,
    "gpu-copy": gpu_expand.copies,
    "gpu-together": gpu_expand.together,
    "gpu-memory": gpu_expand.memory,
    "gpu-latency": gpu_expand.latency,
}
"""What makes specs of each kind's requests; a new kind adds its row here and its options to
``request.OPTIONS``."""
