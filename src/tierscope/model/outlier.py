"""Hosts of a fleet that are slower than others of their group."""

from typing import Any

from tierscope.model.base import Count, Model


class SlowPath(Model):
    """By how much a host is slower than its group on one path."""

    kind: str
    initiator: str
    target: str
    pattern: dict[str, Any]
    metric: str
    unit: str
    figure: float
    centre: float
    """Median of the group."""
    deviation: float
    """figure / centre - 1: below 0 of rates, above 0 of times."""
    low: float
    high: float
    """95% interval of the deviation, from the figure's own and the centre's."""
    p: float
    """One-sided, of this path alone."""

    @property
    def path(self) -> str:
        """As tables write it."""
        return f"{self.initiator} → {self.target}"


class Outlier(Model):
    """A host that is slower than its group, as one finding over all of its paths."""

    host: str
    group: str
    group_hosts: Count
    """Hosts in the group, of its slowest path."""
    q: float
    """Least rate of false discoveries at which it is named."""
    judged: Count
    """Paths that it was compared on."""
    together: bool
    """No path is beyond doubt by itself, all of them together are."""
    slower: float
    """By how much it is slower over all of its paths (geometric mean), as a share."""
    paths: list[SlowPath]
    """Those that are slow, slowest first; where ``together``, the slowest one."""
    causes: list[str] = []
    """Settings and evidence that differ from the group's; empty: unknown."""

    @property
    def worst(self) -> SlowPath:
        """The path with the surest difference."""
        return self.paths[0]


class Verdict(Model):
    """What judging a fleet found."""

    outliers: list[Outlier]
    """Surest first."""
    judged: Count
    """Hosts that were compared on a path at least."""
    unjudged: dict[str, Count]
    """Groups that are too small to compare anything in, with the most hosts that a path has."""
