"""Linked chains of one read of a line beside tierscope's own pointer chase: the time of a chain
over that of a dependent load, whole, and less what making the address takes."""

import os

from pairs import NODE, Comparison, figure, latency, measure, until_narrow
from tierscope.kinds.chain.spec import PRESETS, ChainPattern, ChainSpec
from tierscope.machine.discover import discover
from tierscope.model.chase import LatencyPattern
from tierscope.model.spec import CACHE_LINE, Sampling

SECONDS = 0.4
"""Of a measurement: short, so that both sides of a pair see the same machine."""


def compare() -> list[Comparison]:
    """Half an L2 cache, an eighth of an L3 cache and 256 MiB; one CPU, huge pages."""
    cpu = min(os.sched_getaffinity(0))
    caches = {c.level: c.size_bytes for c in discover().caches if cpu in c.cpus}
    sizes = {"L2": caches[2] // 2, "L3": max(caches[3] // 8, 4 * caches[2]), "DRAM": 256 << 20}
    found: list[Comparison] = []
    for name, size in sizes.items():
        found += [_whole(name, size, cpu), _without_addresses(name, size, cpu)]
    return found


def _chain(size: int, cpu: int) -> ChainSpec:
    return ChainSpec(
        id="chain",
        initiator="node:0",
        target="node:0",
        placement=NODE,
        sampling=Sampling(budget_s=SECONDS, sample_s=0.05),
        cpus=[cpu],
        pattern=ChainPattern(operations=list(PRESETS["read"]), size=size),
    )


def _chase(size: int, cpu: int) -> float:
    """Return the latency of a chase that goes to lines in any order, as chains do."""
    pattern = LatencyPattern(size=size, pages="thp", stride=CACHE_LINE)
    more = {"pattern": pattern, "sampling": _chain(size, cpu).sampling}
    return figure(latency(size, "thp", cpu).model_copy(update=more))


def _whole(name: str, size: int, cpu: int) -> Comparison:
    return until_narrow(
        f"chain, {name}", "ns", lambda: figure(_chain(size, cpu)), lambda: _chase(size, cpu)
    )


def _without_addresses(name: str, size: int, cpu: int) -> Comparison:
    def ours() -> float:
        found = measure(_chain(size, cpu))
        assert found.evidence is not None
        assert found.evidence.address_ns is not None
        return float(found.estimate or 0.0) - found.evidence.address_ns

    title = f"chain less its addresses, {name}"
    return until_narrow(title, "ns", ours, lambda: _chase(size, cpu))
