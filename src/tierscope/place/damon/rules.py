"""Rules for DAMON: monitoring threads, their targets, and schemes that act on regions.

The names are the kernel's (Documentation/mm/damon/design.rst), the units are in the names. A
``Range`` is closed, and ``MOST`` is its largest end.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MOST = 2**64 - 1
"""The largest number that the kernel takes: no limit."""

Action = Literal[
    "willneed",
    "cold",
    "pageout",
    "hugepage",
    "nohugepage",
    "lru_prio",
    "lru_deprio",
    "migrate_hot",
    "migrate_cold",
    "stat",
]
MIGRATIONS = ("migrate_hot", "migrate_cold")
NODE_METRICS = ("node_mem_used_bp", "node_mem_free_bp")
MEMCG_METRICS = ("node_memcg_used_bp", "node_memcg_free_bp")
METRICS = (
    "user_input",
    "some_mem_psi_us",
    *NODE_METRICS,
    *MEMCG_METRICS,
    "active_mem_bp",
    "inactive_mem_bp",
)
FILTERS = ("anon", "active", "memcg", "young", "hugepage_size", "unmapped", "addr", "target")
CORE_FILTERS = ("addr", "target")
"""Filters by region, not by page."""
OPERATIONS = ("vaddr", "fvaddr", "paddr")


class Range(NamedTuple):
    """From ``low`` to ``high``, both included."""

    low: float
    high: float


EVERY = Range(0, MOST)
ANY_RATE = Range(0, 100)


@dataclass(frozen=True)
class IntervalsGoal:
    """Have the kernel tune the intervals until that share of accesses is observed."""

    access_bp: int = 0
    aggrs: int = 0
    """Aggregation intervals between two adjustments; 0: no tuning."""
    min_sample_us: int = 0
    max_sample_us: int = 0


@dataclass(frozen=True)
class Monitoring:
    """How often regions are sampled, and how many there are."""

    sample_us: int = 5_000
    aggr_us: int = 100_000
    update_us: int = 1_000_000
    goal: IntervalsGoal = IntervalsGoal()
    min_regions: int = 10
    max_regions: int = 1000


@dataclass(frozen=True)
class Goal:
    """A figure that the kernel steers a scheme's quota towards."""

    metric: str
    target: int
    """Basis points (1/10,000) of shares, µs of PSI, or a number."""
    current: int = 0
    nid: int | None = None
    path: str | None = None
    """Path of the memory cgroup."""


@dataclass(frozen=True)
class Quota:
    """The most that a scheme does in an interval; 0 is no limit."""

    ms: int = 0
    bytes: int = 0
    reset_interval_ms: int = 0
    weights: tuple[int, int, int] = (0, 0, 0)
    """Permil by which size, accesses and age decide what comes first."""
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True)
class Watermarks:
    """The share of free memory, in permil, between which a scheme is active."""

    metric: str = "none"
    interval_us: int = 0
    high: int = 0
    mid: int = 0
    low: int = 0


@dataclass(frozen=True)
class Filter:
    """Pages of a region that a scheme leaves alone or, with ``allow``, takes."""

    type: str
    matching: bool = True
    allow: bool = False
    memcg_path: str | None = None
    addresses: tuple[int, int] | None = None
    """From the first to before the second."""
    target: int | None = None
    sizes: Range | None = None
    """Size of huge pages in bytes."""

    @property
    def is_core(self) -> bool:
        """Whether it looks at regions, not at pages."""
        return self.type in CORE_FILTERS


@dataclass(frozen=True)
class Scheme:
    """An action on regions of a size, access rate and age."""

    action: Action = "stat"
    target_nid: int | None = None
    dests: tuple[tuple[int, int], ...] = ()
    """(node, weight) of each of several destinations."""
    sizes: Range = EVERY
    """Bytes."""
    accesses: Range = ANY_RATE
    access_unit: Literal["percent", "samples"] = "percent"
    """Percent of the samples in an aggregation interval, or how many."""
    age: Range = EVERY
    age_unit: Literal["usec", "aggr_intervals"] = "usec"
    apply_interval_us: int = 0
    """0: the aggregation interval."""
    quota: Quota = Quota()
    watermarks: Watermarks = Watermarks()
    filters: tuple[Filter, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether it moves pages to another node."""
        return self.action in MIGRATIONS

    def destinations(self) -> tuple[int, ...]:
        """The nodes that it moves pages to."""
        single = () if self.target_nid is None else (self.target_nid,)
        return tuple(node for node, _ in self.dests) or single

    def samples(self, monitoring: Monitoring) -> Range:
        """Accesses as numbers of samples in an aggregation interval."""
        if self.access_unit == "samples":
            return self.accesses
        most = monitoring.aggr_us / monitoring.sample_us
        # A whole number that floats miss by a hair (33.3% of 3) is meant.
        return Range(*(int(percent * most / 100 + 1e-9) for percent in self.accesses))

    def intervals(self, monitoring: Monitoring) -> Range:
        """Age as numbers of aggregation intervals."""
        if self.age_unit == "aggr_intervals":
            return self.age
        low, high = self.age
        return Range(int(low // monitoring.aggr_us), _intervals(high, monitoring.aggr_us))


def _intervals(us: float, aggr_us: int) -> float:
    return MOST if us >= MOST else us // aggr_us


@dataclass(frozen=True)
class Target:
    """A monitored process, or monitored ranges of addresses."""

    pid: int | None = None
    regions: tuple[tuple[int, int], ...] = ()
    """Each from the first to before the second address."""


@dataclass(frozen=True)
class Context:
    """One monitoring of one address space."""

    operations: str = "paddr"
    targets: tuple[Target, ...] = ()
    monitoring: Monitoring = Monitoring()
    schemes: tuple[Scheme, ...] = ()


@dataclass(frozen=True)
class Kdamond:
    """One of the kernel's monitoring threads."""

    contexts: tuple[Context, ...] = ()
    refresh_ms: int = 0


@dataclass(frozen=True)
class Rules:
    """Everything that DAMON is told."""

    kdamonds: tuple[Kdamond, ...] = field(default_factory=tuple)

    def schemes(self) -> list[tuple[int, int, Context, Scheme]]:
        """Each scheme with the numbers of its kdamond and of itself, and its context."""
        return [
            (number, place, context, scheme)
            for number, kdamond in enumerate(self.kdamonds)
            for context in kdamond.contexts
            for place, scheme in enumerate(context.schemes)
        ]
