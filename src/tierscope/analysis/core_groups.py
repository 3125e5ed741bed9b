"""Pairs of CPUs by what they share, and whether measured latencies agree with that."""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tierscope.model.topology import Topology

Pair = tuple[int, int]
"""Two CPUs: the reader and the writer."""
Latencies = Mapping[Pair, float]

UNKNOWN = "any"
"""The relation of pairs whose machine is not described."""
_CLEAR = 0.9
"""Share of comparisons between two groups from which on one of them is nearer, without doubt."""
_APART = 1.3
"""Ratio between two sets of latencies from which on they are worth telling apart."""
_PURE = 0.95
"""Share of the pairs between two sets of CPUs that are slow, where the sets are apart."""
_MIN_CPUS = 4
"""CPUs of a group from which on it may fall into sets."""


@dataclass(frozen=True)
class Group:
    """The pairs of one relation and their latencies."""

    relation: str
    """Resource that the two CPUs share: "same core", "same L3" ..."""
    pairs: list[Pair]
    """The nearest first."""
    values: list[float]
    """In the order of the pairs."""

    @property
    def median(self) -> float:
        """Median over all pairs."""
        return median(self.values)

    def percentile(self, share: float) -> float:
        """Return the value that this share of the pairs, 0..1, does not exceed (nearest rank)."""
        return self.values[max(0, math.ceil(share * len(self.values)) - 1)]


class Relations:
    """Looks up what each CPU belongs to once, for the relations of many pairs."""

    def __init__(self, topology: Topology | None) -> None:
        levels = _levels(topology) if topology else []
        self.of: list[tuple[str, dict[int, int]]] = [
            (name, {cpu: number for number, group in enumerate(groups) for cpu in group})
            for name, groups in levels
        ]
        several = topology is not None and len(topology.packages) > 1
        self.last = UNKNOWN if topology is None else "other package" if several else "same package"

    def of_pair(self, pair: Pair) -> str:
        """Return the nearest thing that two CPUs share, in words."""
        one, other = pair
        for name, of in self.of:
            if one in of and of[one] == of.get(other):
                return name
        return self.last


def in_order(topology: Topology | None, cpus: Iterable[int]) -> list[int]:
    """Order CPUs so that those that share something stand side by side, siblings too."""
    if topology is None:
        return sorted(cpus)
    levels = [groups for _, groups in reversed(_levels(topology))]

    def place(cpu: int) -> tuple[int, ...]:
        at = (next((min(group) for group in groups if cpu in group), cpu) for groups in levels)
        return (*at, cpu)

    return sorted(cpus, key=place)


def groups_of(topology: Topology | None, latencies: Latencies) -> list[Group]:
    """Divide pairs by what they share, the nearest relation first."""
    names = [name for name, _ in _levels(topology)] if topology else []
    found: dict[str, list[Pair]] = {}
    relations = Relations(topology)
    for pair in latencies:
        found.setdefault(relations.of_pair(pair), []).append(pair)
    order = [*names, "same package", "other package", UNKNOWN]
    made = []
    for name in sorted(found, key=order.index):
        pairs = sorted(found[name], key=lambda pair: (latencies[pair], pair))
        made.append(Group(name, pairs, [latencies[pair] for pair in pairs]))
    return made


def _levels(topology: Topology) -> list[tuple[str, list[list[int]]]]:
    """Return what CPUs share, the nearest first: a core, caches from L2 on, a node, a package."""
    caches = sorted({c.level for c in topology.caches if c.level > 1})
    return [
        ("same core", topology.siblings),
        *((f"same L{level}", [c.cpus for c in topology.caches if c.level == level])
          for level in caches),
        ("same node", [node.cpus for node in topology.nodes if node.cpus]),
        ("same package", [package.cpus for package in topology.packages]),
    ]  # fmt: skip


def nearer_share(near: Group, far: Group) -> float:
    """Return how often a pair of ``near`` takes less time than one of ``far``, 0..1; ties count
    half (Mann and Whitney's U over the number of comparisons)."""
    slower = sum(
        len(far.values) - (bisect_left(far.values, value) + bisect_right(far.values, value)) / 2
        for value in near.values
    )
    return slower / (len(near.values) * len(far.values))


@dataclass(frozen=True)
class Comparison:
    """Two neighbouring groups, of which the topology says that the first one is nearer."""

    near: Group
    far: Group
    share: float
    """Of comparisons between their pairs in which the first one is nearer."""

    @property
    def verdict(self) -> str:
        """agrees, overlaps, or differs: the other one is nearer."""
        if self.share >= _CLEAR:
            return "agrees"
        return "overlaps" if self.near.median < self.far.median else "differs"


def compared(groups: Sequence[Group]) -> list[Comparison]:
    """Compare each group with the next farther one."""
    return [
        Comparison(near, far, nearer_share(near, far)) for near, far in itertools.pairwise(groups)
    ]


@dataclass(frozen=True)
class Split:
    """Sets of CPUs that the topology has together and the latencies have apart."""

    relation: str
    sets: list[list[int]]
    within: float
    """Median latency inside the sets."""
    between: float


def split_of(group: Group) -> Split | None:
    """Return the sets of CPUs that a group falls into; None where it looks like one.

    Its latencies are divided in two by Otsu's threshold (IEEE Trans. SMC 9, 1979). CPUs that are
    joined by a latency below it belong together; the sets count where nearly all pairs between
    them lie above it, and the two halves are well apart.
    """
    cpus = sorted({cpu for pair in group.pairs for cpu in pair})
    if len(cpus) < _MIN_CPUS:
        return None
    cut = _threshold(group.values)
    low, high = group.values[:cut], group.values[cut:]
    if not low or not high or median(high) < _APART * median(low):
        return None
    sets = _joined(cpus, group.pairs[:cut])
    own = {cpu: number for number, members in enumerate(sets) for cpu in members}
    between = [v for (a, b), v in zip(group.pairs, group.values, strict=True) if own[a] != own[b]]
    within = [v for (a, b), v in zip(group.pairs, group.values, strict=True) if own[a] == own[b]]
    if not between or min(map(len, sets)) < 2:
        return None
    slow_within = sum(value >= high[0] for value in within)
    if slow_within > (1 - _PURE) * len(within):
        return None
    return Split(group.relation, sets, median(within), median(between))


def _threshold(values: Sequence[float]) -> int:
    """Return how many of these ascending values are low, by the variance between both parts."""
    logs = [math.log(value) for value in values]
    whole, total = sum(logs), len(logs)
    best, at, low = 0.0, 0, 0.0
    for count in range(1, total):
        low += logs[count - 1]
        difference = low / count - (whole - low) / (total - count)
        variance = count * (total - count) * difference**2
        if variance > best:
            best, at = variance, count
    return at


def _joined(cpus: Sequence[int], pairs: Iterable[Pair]) -> list[list[int]]:
    """Return the sets of CPUs that pairs connect."""
    leader = {cpu: cpu for cpu in cpus}

    def find(cpu: int) -> int:
        while leader[cpu] != cpu:
            leader[cpu] = cpu = leader[leader[cpu]]
        return cpu

    for one, other in pairs:
        leader[find(other)] = find(one)
    sets: dict[int, list[int]] = {}
    for cpu in cpus:
        sets.setdefault(find(cpu), []).append(cpu)
    return sorted(sets.values())
