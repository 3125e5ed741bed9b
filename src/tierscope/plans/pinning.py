"""The order in which threads take an initiator's CPUs."""

from collections.abc import Sequence
from itertools import zip_longest

from tierscope.model.topology import Topology


def pinned(topology: Topology, cpus: list[int], how: str) -> list[int]:
    """Order an initiator's CPUs as threads are to take them.

    cores: one CPU of each core first, then the cores' siblings; one-a-core: without siblings;
    compact: core by core, siblings side by side; spread: in turn over packages, the nodes of each,
    their shared caches and cores, siblings last. Any number of threads from the front of ``spread``
    is divided as evenly as the CPUs allow at each of these levels.
    """
    if how == "compact":
        place = {cpu: (index, cpu) for index, core in enumerate(topology.siblings) for cpu in core}
        return sorted(cpus, key=lambda cpu: place.get(cpu, (len(topology.siblings), cpu)))
    if how == "cores":
        return one_per_core_first(cpus, topology.siblings)
    ranks = by_rank_in_core(cpus, topology.siblings)
    if how == "one-a-core":
        return ranks[0]
    levels = _levels(topology)
    return [cpu for rank in ranks for cpu in _in_turn(rank, levels)]


def one_per_core_first(cpus: list[int], siblings: list[list[int]]) -> list[int]:
    """Order CPUs: the first of each core, then the second of each, and so on."""
    return [cpu for rank in by_rank_in_core(cpus, siblings) for cpu in rank]


def by_rank_in_core(cpus: list[int], siblings: list[list[int]]) -> list[list[int]]:
    """Divide CPUs: the first of each core, the second of each, and so on, each ascending."""
    core_of = {cpu: index for index, core in enumerate(siblings) for cpu in core}
    seen: dict[int, int] = {}
    ranks: list[list[int]] = []
    for cpu in sorted(cpus):
        core = core_of.get(cpu, -1 - cpu)
        rank = seen[core] = seen.get(core, -1) + 1
        ranks += [[]] if rank == len(ranks) else []
        ranks[rank].append(cpu)
    return ranks


def _levels(topology: Topology) -> list[list[list[int]]]:
    """Groups of CPUs that share something, the largest groups first.

    By size, since packages hold nodes on most machines, and nodes hold packages (dies) on some.
    """
    caches = {cache.level for cache in topology.caches if cache.level > 1}
    levels = [
        [package.cpus for package in topology.packages],
        [node.cpus for node in topology.nodes],
        *([cache.cpus for cache in topology.caches if cache.level == level]
          for level in sorted(caches, reverse=True)),
    ]  # fmt: skip
    return sorted(levels, key=lambda groups: -max(map(len, groups), default=0))


def _in_turn(cpus: list[int], levels: Sequence[list[list[int]]]) -> list[int]:
    """Order CPUs: one of each group of the first level in turn, each group by the other levels."""
    if not levels:
        return cpus
    group_of = {cpu: number for number, group in enumerate(levels[0]) for cpu in group}
    groups: dict[int, list[int]] = {}
    for cpu in cpus:
        groups.setdefault(group_of.get(cpu, -1), []).append(cpu)
    turns = zip_longest(*(_in_turn(group, levels[1:]) for group in groups.values()))
    return [cpu for turn in turns for cpu in turn if cpu is not None]
