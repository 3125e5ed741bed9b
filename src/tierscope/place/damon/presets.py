"""Rules that follow others' well-known ones, for pairs of a fast and a slow node.

Sources: HMSDK's tools/gen_migpol.py, and damo's scripts/mem_tier.sh (the latter after TPP, Maruf et
al., ASPLOS 2023). Each source node has a kdamond of its own, which monitors its physical memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tierscope.model.errors import UserError
from tierscope.place.damon.rules import (
    EVERY,
    MOST,
    Context,
    Filter,
    Goal,
    IntervalsGoal,
    Kdamond,
    Monitoring,
    Quota,
    Range,
    Rules,
    Scheme,
    Target,
)

S = 1_000_000
"""A second in µs."""
Pair = tuple[int, int]
"""A fast node and a slow one."""
Ranges = Callable[[int], tuple[tuple[int, int], ...]]
"""The address ranges of a node's memory."""

_HMSDK = Monitoring(100_000, 2 * S, 20 * S, min_regions=100, max_regions=10_000)
_DAMO = Monitoring(goal=IntervalsGoal(400, 3, 5_000, 10 * S))
_NOT_ACCESSED = Filter("young", matching=True)
_ACCESSED = Filter("young", matching=False)
"""Filters leave out what they match: pages accessed since the last look, or all others."""


@dataclass(frozen=True)
class Preset:
    """A preset, as ``tierscope tier presets`` lists it."""

    name: str
    summary: str
    needs: str
    make: Callable[[int, int], tuple[Scheme, Scheme]]
    """The schemes that demote and promote between a fast and a slow node."""
    monitoring: Monitoring


def _hmsdk(fast: int, slow: int) -> tuple[Scheme, Scheme]:
    def quota(ms: int) -> Quota:
        return Quota(ms, 50 << 30, 20_000, (0, 0, 10))

    sizes = Range(4096, MOST)
    cold = Scheme(
        "migrate_cold", slow, sizes=sizes, accesses=Range(0, 0), age=Range(30 * S, MOST),
        quota=quota(1000), filters=(_NOT_ACCESSED,),
    )  # fmt: skip
    hot = Scheme(
        "migrate_hot", fast, sizes=sizes, accesses=Range(5, 100), quota=quota(2000),
        filters=(_ACCESSED,),
    )  # fmt: skip
    return cold, hot


def _damo(fast: int, slow: int) -> tuple[Scheme, Scheme]:
    def quota(metric: str, target: int) -> Quota:
        return Quota(0, 200 << 20, 1000, goals=(Goal(metric, target, nid=fast),))

    cold = Scheme(
        "migrate_cold", slow, accesses=Range(0, 0), apply_interval_us=S,
        quota=quota("node_mem_free_bp", 50), filters=(_NOT_ACCESSED,),
    )  # fmt: skip
    hot = Scheme(
        "migrate_hot", fast, accesses=Range(5, 100), apply_interval_us=S,
        quota=quota("node_mem_used_bp", 9970), filters=(_ACCESSED,),
    )  # fmt: skip
    return cold, hot


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "hmsdk",
            "demote what nobody accessed for 30 s, promote what 5% of samples find accessed; "
            "at most 50 GiB in 20 s",
            "Linux 6.11",
            _hmsdk,
            _HMSDK,
        ),
        Preset(
            "damo",
            "demote until 0.5% of the fast node is free, promote until 99.7% of it is used; "
            "at most 200 MiB/s each",
            "Linux 6.16",
            _damo,
            _DAMO,
        ),
    )
}


def between(preset: Preset, pairs: Sequence[Pair], ranges: Ranges, memcg: str | None) -> Rules:
    """Return a preset's rules for pairs of nodes; raises UserError where a node is in two ways."""
    found: dict[int, Scheme] = {}
    demotions, promotions = [], []
    for fast, slow in pairs:
        if fast == slow:
            raise UserError(f"pair {fast}:{slow}: pages of node {fast} would move to itself")
        cold, hot = preset.make(fast, slow)
        demotions.append((fast, cold))
        promotions.append((slow, hot))
    for source, scheme in (*demotions, *promotions):
        if source in found:
            raise UserError(
                f"node {source} is in two pairs; a node's pages move to one place only, "
                "or by weights to several, as rules of your own can say (--rules)"
            )
        found[source] = scheme
    return Rules(
        tuple(
            monitored(ranges(source), preset.monitoring, (limited(scheme, memcg),))
            for source, scheme in found.items()
        )
    )


def of_processes(preset: Preset, pair: Pair, pids: Sequence[int]) -> Rules:
    """Return a preset's rules for processes, by their own addresses, between a pair of nodes.

    One kdamond monitors all of them: its schemes are for pages wherever these are.
    """
    targets = tuple(Target(pid=pid) for pid in pids)
    return Rules((Kdamond((Context("vaddr", targets, preset.monitoring, preset.make(*pair)),)),))


def monitored(
    regions: tuple[tuple[int, int], ...], monitoring: Monitoring, schemes: tuple[Scheme, ...]
) -> Kdamond:
    """Return a kdamond that applies schemes to ranges of physical memory."""
    target = Target(regions=regions)
    return Kdamond((Context("paddr", (target,), monitoring, schemes),))


def limited(scheme: Scheme, memcg: str | None) -> Scheme:
    """Return a scheme that leaves alone what is not in a cgroup."""
    if memcg is None:
        return scheme
    other = Filter("memcg", matching=False, memcg_path=memcg)
    return replace(scheme, filters=(other, *scheme.filters))


def watched(rules: Rules) -> Rules:
    """Add a scheme to each kdamond that only counts, so that its regions can be read."""
    look = Scheme("stat", accesses=EVERY, access_unit="samples")
    return Rules(
        tuple(
            replace(
                kdamond,
                contexts=tuple(
                    replace(context, schemes=(*context.schemes, look))
                    for context in kdamond.contexts
                ),
            )
            for kdamond in rules.kdamonds
        )
    )
