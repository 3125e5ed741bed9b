"""The measurements that MLC's modes are made of."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.bandwidth.spec import BandwidthPattern, BandwidthSpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.plan import Spec
from tierscope.kinds.streams.spec import StreamsSpec
from tierscope.model.errors import UserError
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.where import where_of
from tierscope.plans.axes import reason
from tierscope.recipes.mlc.settings import Settings, bound
from tierscope.recipes.mlc.traffic import Mix

MAX_STREAMS = 16
_ACCESS = 1024
"""Bytes that a sequential stream touches without a pause."""
_RANDOM_ACCESS = 64
_CLOCKED = 128
"""Bytes that MLC's threads move in as many clocks as the delay says. No document has it: published
tables of machines whose CPUs are known do (8269CY: 2911 MB/s by 104 threads at 20000)."""


@dataclass(frozen=True)
class Group:
    """Threads that do the same: one stream."""

    cpus: tuple[int, ...]
    placement: Placement
    mix: Mix
    size: int
    """Bytes of each thread's buffer of reads, and of that of writes."""
    order: str

    @property
    def array_bytes(self) -> int:
        """Of all threads' buffers: those of reads and those of writes."""
        return self.size * len(self.cpus) * (2 if self.mix.both else 1)


@dataclass(frozen=True)
class Moves:
    """A spec, and what its figures come to on the bus."""

    spec: Spec
    parts: dict[str, float]
    """Bus bytes for each byte of a figure, by its part; the headline's is ""."""


def latency_spec(settings: Settings, name: str, cpu: int, node: int, nodes: list[int]) -> Spec:
    """Return idle latency from a CPU to a node; buffers of all ``nodes`` are equally large."""
    return LatencySpec.model_validate(
        {
            "id": name,
            "initiator": _initiator(settings, cpu),
            "target": f"node:{node}",
            "cpu": cpu,
            "placement": bound(node),
            "prefetchers": settings.prefetchers,
            "pattern": settings.chase(cpu, nodes),
            "sampling": settings.sampling(),
        }
    )


def _initiator(settings: Settings, cpu: int) -> str:
    """Name a CPU: as its node where it is the first one there."""
    node = settings.node_of(cpu)
    first = min(one for one in node.cpus if one in settings.topology.cpus)
    return f"node:{node.number}" if cpu == first else f"cpus:{cpu}"


def streams_spec(settings: Settings, name: str, groups: Sequence[Group], delay_ns: int) -> Moves:
    """Return streams that run together; UserError where there are too many."""
    if len(groups) > MAX_STREAMS:
        raise UserError(
            f"{len(groups)} different streams are to run together; at most {MAX_STREAMS} can"
        )
    main, *others = (_stream(settings, group, delay_ns) for group in groups)
    beside = [{"name": _stream_name(n), **one} for n, one in enumerate(others, start=1)]
    fields = {"id": name, **main, "beside": beside, "sampling": settings.sampling()}
    parts = {_stream_name(n) if n else "": group.mix.bus_bytes for n, group in enumerate(groups)}
    return Moves(_valid(StreamsSpec, fields), parts)


def _stream_name(number: int) -> str:
    return f"stream{number + 1}"


def _stream(settings: Settings, group: Group, delay_ns: int) -> dict[str, Any]:
    return {
        "initiator": settings.endpoint(list(group.cpus)),
        "target": where_of(group.placement),
        "cpus": list(group.cpus),
        "placement": group.placement,
        "pattern": {
            "writes": group.mix.percent,
            "stores": group.mix.stores,
            "order": group.order,
            "access_size": _RANDOM_ACCESS if group.order == "random" else _ACCESS,
            "delay_ns": delay_ns,
            "size": group.array_bytes,
            "pages": settings.pages_of(group.placement, group.size),
            "isa": settings.isa,
        },
    }


def can_triad(settings: Settings, groups: Sequence[Group]) -> bool:
    """Whether Triad can have its buffers where the groups have theirs: on one node, or each on the
    node of its thread."""
    if len(groups) == 1:
        return len(groups[0].placement.nodes) == 1
    return all(
        settings.node_of(cpu).number == group.placement.nodes[0].node
        for group in groups
        for cpu in group.cpus
    )


def triad_spec(settings: Settings, name: str, groups: Sequence[Group], mix: Mix) -> Moves:
    """Return STREAM's Triad: two read buffers and a written one for each thread.

    On several nodes each thread's buffers are on its own.
    """
    cpus = [cpu for group in groups for cpu in group.cpus]
    placement = groups[0].placement
    if len(groups) > 1:
        counts = {g.placement.nodes[0].node: len(g.cpus) for g in groups}
        placement = Placement(policy="first-touch", nodes=_shares(Counter(counts)))
    spec = _valid(
        BandwidthSpec,
        {
            "id": name,
            "initiator": settings.endpoint(cpus),
            "target": where_of(placement),
            "cpus": cpus,
            "placement": placement,
            "pattern": BandwidthPattern(
                operation="triad-nt" if mix.stores == "nt" else "triad",
                order="random" if settings.order == "random" else "sequential",
                size=groups[0].size * len(cpus),
                pages=settings.pages_of(placement, groups[0].size),  # type: ignore[arg-type]
                isa=settings.isa,  # type: ignore[arg-type]
            ),
            "sampling": settings.sampling(),
        },
    )
    return Moves(spec, {"": spec.traffic().both})


def loaded_spec(settings: Settings, name: str, cpu: int, group: Group, delay_ns: int) -> Moves:
    """Return latency from a CPU while a group of others loads the memory."""
    node = settings.latency_memory(cpu)
    fields = {
        "id": name,
        "initiator": _initiator(settings, cpu),
        "target": f"node:{node}",
        "cpu": cpu,
        "placement": bound(node),
        "pattern": settings.chase(cpu, [node]),
        "load": _stream(settings, group, delay_ns),
        "sampling": settings.sampling(0.02),
    }
    return Moves(_valid(LoadedLatencySpec, fields), {"": group.mix.bus_bytes})


def local_to_each(found: Sequence[tuple[list[int], int]]) -> tuple[list[int], Placement]:
    """Return the CPUs of several nodes, and one region of which each thread's share is on its node.

    Threads have equal shares of a region, in their order, and a partition has one range a node.
    """
    cpus = [cpu for own, _ in found for cpu in own]
    counts: Counter[int] = Counter()
    for own, node in found:
        counts[node] += len(own)
    if len(counts) == 1:
        return cpus, bound(found[0][1])
    return cpus, Placement(policy="partition", nodes=_shares(counts))


def _shares(counts: Counter[int]) -> list[NodeShare]:
    """Return nodes with weights in the ratio of the counts."""
    common = math.gcd(*counts.values())
    return [NodeShare(node=node, weight=count // common) for node, count in counts.items()]


def clocked_ns(delay: int, hz: float) -> int:
    """Return the time from one access of a stream to its next for a delay of MLC's, in ns."""
    return round(delay * _ACCESS / _CLOCKED / hz * 1e9)


def _valid(kind: type[Any], fields: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise UserError(f"{fields['id']}: {reason(error)}") from None
