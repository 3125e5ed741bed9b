"""Findings about the hosts of a fleet: combined figures, and outliers."""

from typing import Any

from tierscope.model.base import Count, Model


class TogetherFigure(Model):
    """A figure of all hosts together: a row of the table."""

    kind: str
    id: str
    initiator: str
    target: str
    pattern: dict[str, Any]
    metric: str
    part: str
    unit: str
    headline: bool = False
    """It is the measurement's main figure."""
    estimate: float
    """Of rates the median of the sum over hosts; of times over all hosts' operations."""
    ci_low: float | None
    ci_high: float | None
    no_interval: str | None
    mean: float | None = None
    """Of rates: all that was moved over all of the common time."""
    fairness: float | None = None
    """Of rates: Jain's index, 1/hosts to 1."""
    slowest: float | None = None
    """Mean rate of the slowest host."""
    slowest_host: str | None = None
    fastest: float | None = None
    fastest_host: str | None = None
    hosts: Count
    repetitions: Count
    """Repetitions that all these hosts made at the same time."""
    left_out: Count
    """Repetitions that they did not."""
    seconds: float
    """Common time."""
    common: float
    """Share of these repetitions' own time that was common, 0..1."""
    clocks_ns: float
    """By how much a host's clock may be off rank 0's."""
    stores: list[str]
    """Type and source of the mounts that the target is on."""


class Path(Model):
    """What figures of hosts are compared on."""

    kind: str
    initiator: str
    target: str
    pattern: dict[str, Any]
    metric: str
    unit: str

    @property
    def path(self) -> str:
        """As tables write it."""
        return f"{self.initiator} → {self.target}"


class SlowPath(Path):
    """By how much a host is slower than its group on one path."""

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


class Uneven(Path):
    """A group in which more hosts lie apart from the others than may be slow for a reason; on the
    path with most of them."""

    group: str
    hosts: Count
    """Those that lie apart."""
    group_hosts: Count
    slower: float
    """By how much their median is slower than the group's, as a share."""
    paths: Count
    """On so many paths it is uneven."""


class Detectable(Path):
    """The smallest loss on this path alone for which a host would be named."""

    slower: float
    """As a share."""


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
    doubt: str = ""
    """Why it is no reason to drain the host; empty: it is one."""
    causes: list[str] = []
    """Settings and evidence that differ from the group's; empty: unknown."""

    @property
    def worst(self) -> SlowPath:
        """The path with the surest difference."""
        return self.paths[0]


class Verdict(Model):
    """Results of judging a fleet."""

    outliers: list[Outlier]
    """Surest first."""
    judged: Count
    """Hosts that were compared on a path at least."""
    unjudged: dict[str, Count]
    """Groups that are too small to compare anything in, with the most hosts that a path has."""
    uneven: list[Uneven] = []
    detectable: list[Detectable] = []
    """The largest loss first."""
