"""Counters and regions of running kdamonds' schemes."""

from dataclasses import dataclass

from tierscope.place.damon.rules import Rules, Scheme
from tierscope.place.damon.tree import KDAMONDS, command, running
from tierscope.place.kernel import Kernel, KernelError


@dataclass(frozen=True)
class SchemeStatus:
    """The counters of one scheme since it began."""

    kdamond: int
    place: int
    """Its number among the kdamond's schemes."""
    action: str
    to: tuple[int, ...]
    """Nodes that it moves pages to."""
    tried_bytes: int
    """Bytes of regions that fit its pattern, counted each time."""
    applied_bytes: int
    """Of these, what the kernel says it has moved."""
    passed_bytes: int | None
    """Of these, what its filters let pass; None below Linux 6.14, and by virtual addresses."""
    quota_exceeded: int
    """How often a quota left regions for later."""
    effective_bytes: int | None
    """The quota of now, which goals steer; None below Linux 6.9."""


@dataclass(frozen=True)
class Region:
    """A range of addresses whose pages are accessed alike."""

    kdamond: int
    start: int
    end: int
    accesses: int
    """Samples of an aggregation interval that found it accessed."""
    age: int
    """Aggregation intervals for which it has been so."""

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.end - self.start


def update_counters(kernel: Kernel) -> list[int]:
    """Update the counters of the kdamonds that are on; return their numbers.

    A kdamond does so between two steps, so all pages that it has moved until then are counted: the
    kernel counts migrated pages once for all that a step moves (migrate_pages, mm/migrate.c).
    """
    on = running(kernel)
    for number in on:
        command(kernel, number, "update_schemes_stats")
    return on


def scheme_statuses(kernel: Kernel, rules: Rules) -> list[SchemeStatus]:
    """Return the counters of now of all schemes that move pages."""
    on = update_counters(kernel)
    for number in on:
        try:
            command(kernel, number, "update_schemes_effective_quotas")
        except KernelError:
            continue  # below Linux 6.9
    return [
        _status(kernel, number, place, scheme, counts_passed=context.operations == "paddr")
        for number, place, context, scheme in rules.schemes()
        if scheme.moves and number in on
    ]


def _status(
    kernel: Kernel, number: int, place: int, scheme: Scheme, counts_passed: bool
) -> SchemeStatus:
    folder = f"{KDAMONDS}/{number}/contexts/0/schemes/{place}"

    def stat(name: str) -> int:
        return kernel.number(f"{folder}/stats/{name}") or 0

    return SchemeStatus(
        number,
        place,
        scheme.action,
        scheme.destinations(),
        stat("sz_tried"),
        stat("sz_applied"),
        kernel.number(f"{folder}/stats/sz_ops_filter_passed") if counts_passed else None,
        stat("qt_exceeds"),
        kernel.number(f"{folder}/quotas/effective_bytes"),
    )


def regions(kernel: Kernel, rules: Rules) -> list[Region]:
    """Return the regions that kdamonds see now, by their counting scheme (``presets.watched``).

    Waits for the end of an aggregation interval of each kdamond.
    """
    on = running(kernel)
    found = []
    for number, place, _, scheme in rules.schemes():
        if scheme.action == "stat" and number in on:
            found += regions_of(kernel, number, place)
    return found


def regions_of(kernel: Kernel, number: int, place: int) -> list[Region]:
    """Return the regions that a kdamond's scheme tried; raises KernelError where it is off."""
    command(kernel, number, "update_schemes_tried_regions")
    folder = f"{KDAMONDS}/{number}/contexts/0/schemes/{place}/tried_regions"
    found = []
    for _, path in kernel.numbered(folder, ""):
        start, end, accesses, age = (
            kernel.number(f"{path}/{name}") or 0 for name in ("start", "end", "nr_accesses", "age")
        )
        found.append(Region(number, start, end, accesses, age))
    command(kernel, number, "clear_schemes_tried_regions")
    return found
