"""Sets of transfers that contend for the same links, all of them counted."""

import itertools
from collections.abc import Callable, Iterator

from tierscope.kinds.gpu_copy.spec import GpuCopyPattern, GpuCopySpec, copy_fields, distinct
from tierscope.model.gpu import CopyEngine, Transfer
from tierscope.model.property import declared
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import choices
from tierscope.plans.gpu import (
    flag,
    gpu_place,
    home_node,
    host_place,
    require_gpus,
    sampling_of,
    transfer,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import options_for, options_of, spec_of, values_of

Sets = Iterator[tuple[str, list[Transfer]]]


def _with_host(to_gpus: bool, both: bool = False) -> Callable[[Topology, CopyEngine], Sets]:
    def make(topology: Topology, engine: CopyEngine) -> Sets:
        transfers = []
        for gpu in require_gpus(topology):
            host, own = host_place(home_node(topology, gpu)), gpu_place(gpu.index)
            if to_gpus or both:
                transfers.append(transfer(host, own, engine))
            if both or not to_gpus:
                transfers.append(transfer(own, host, engine))
        name = "all-and-host" if both else ("host-to-all" if to_gpus else "all-to-host")
        yield name, transfers

    return make


def _with_one(to_one: bool) -> Callable[[Topology, CopyEngine], Sets]:
    """All others write to one GPU, or it writes to all others."""

    def make(topology: Topology, engine: CopyEngine) -> Sets:
        gpus = [gpu.index for gpu in require_gpus(topology)]
        for one in gpus:
            pairs = [(gpu, one) if to_one else (one, gpu) for gpu in gpus if gpu != one]
            transfers = [
                transfer(gpu_place(source), gpu_place(destination), engine, writes=True)
                for source, destination in pairs
            ]
            if transfers:
                yield f"{'all-to-one' if to_one else 'one-to-all'}.gpu{one}", transfers

    return make


def _all_to_all(topology: Topology, engine: CopyEngine) -> Sets:
    """Each GPU writes to its next neighbour first, so that no two begin with the same one."""
    gpus = [gpu.index for gpu in require_gpus(topology)]
    transfers = [
        transfer(gpu_place(source), gpu_place(destination), engine, writes=True)
        for position, source in enumerate(gpus)
        for destination in gpus[position + 1 :] + gpus[:position]
    ]
    if transfers:
        yield "all-to-all", transfers


SETS: dict[str, Callable[[Topology, CopyEngine], Sets]] = {
    "host-to-all": _with_host(to_gpus=True),
    "all-to-host": _with_host(to_gpus=False),
    "all-and-host": _with_host(to_gpus=True, both=True),
    "one-to-all": _with_one(to_one=False),
    "all-to-one": _with_one(to_one=True),
    "all-to-all": _all_to_all,
}
"""Each set by its name; it yields a label and the transfers of each measurement it takes."""


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuCopySpec]:
    """Yield sets of transfers that run at once, all of them counted."""
    names = choices(request, "set", tuple(SETS)) or list(SETS)
    engines = values_of(request, declared(Transfer)["engine"])
    each = values_of(request, declared(GpuCopyPattern)["size"])
    found: list[GpuCopySpec] = []
    for name, engine, size in itertools.product(names, engines, each):
        for label, transfers in SETS[name](topology, engine):
            fields = copy_fields(transfers, topology, size, flag(request, "trace"))
            parts = [label, engine, grammar.format_size(size)]
            found.append(
                spec_of(request, GpuCopySpec, {**fields, "sampling": sampling_of(request)}, parts)
            )
    yield from distinct(found, "these sets take two GPUs or more")


REQUEST = RequestForm(
    options=(
        Option("set", "LIST", ", ".join(SETS), "all of them"),
        *options_for(Transfer, "engine"),
        *options_of(GpuCopyPattern),
        options.TRACE,
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
Every copy is contended until it ends: each transfer's rate is that of its own bytes while all
others run. Sets that GPUs serve in turn are measured until all bytes are moved.""",
    examples=(
        "gpu together",
        "gpu together --set all-to-host --engine ce,sm",
    ),
)


def gpu_requests(topology: Topology, budget: str, sweeps: bool) -> list[Request]:
    """Return requests for every path of every GPU; none on a machine without one.

    ``budget`` is seconds of one measurement; ``sweeps`` adds sizes, streams and both sides of
    copies between GPUs.
    """
    if not topology.gpus:
        return []
    several = len(topology.gpus) > 1
    asked: list[tuple[str, dict[str, str]]] = [
        ("gpu-copy", {"from": "all", "to": "all"}),
        ("gpu-copy", {"from": "all" if several else "node:*", "both-ways": "yes"}),
        ("gpu-copy", {"memory": "pageable", "size": "4m,512m"}),
        ("gpu-copy", {"from": "gpu:*", "to": "node:*", "memory": "pageable", "size": "4m,512m"}),
        ("gpu-copy", {"from": "all", "to": "all", "engine": "sm"}),
        ("gpu-memory", {"op": "read,write,copy,triad"}),
        ("gpu-latency", {"size": "16k..1g*4", "per-sm": "yes"} if sweeps else {}),
    ]
    if several:
        asked.append(("gpu-together", {}))
    if sweeps:
        asked += [
            ("gpu-copy", {"size": "4..1g*4"}),
            ("gpu-copy", {"from": "gpu:*", "to": "node:*", "size": "4..1g*4"}),
            ("gpu-copy", {"streams": "2..8*2"}),
            ("gpu-memory", {"op": "read,copy", "size": "1m..4g*4"}),
            ("gpu-memory", {"op": "random", "access-size": "32..128"}),
        ]
    if sweeps and several:
        asked.append(("gpu-copy", {"from": "gpu:*", "to": "gpu:*", "side": "write"}))
    return [Request(kind=kind, options={**options, "budget": budget}) for kind, options in asked]
