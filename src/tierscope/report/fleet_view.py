"""What a report of many hosts shows: each path over all hosts, each host over all paths."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from tierscope.analysis.direction import lower_is_better
from tierscope.model.run import Measurement
from tierscope.model.together import TogetherFigure
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import metric_name, varying, words_of

_MAD_TO_SIGMA = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""
_UNUSUAL = 3.0
"""Deviations of more than so many spreads are shown: one in 370 figures of hosts that are alike."""
_LEAST = 0.01
"""Smaller deviations are of no consequence."""
_MOST_VALUES = 12
"""Values of a setting that a report lists; of more, it says how many there are."""

Values = list[float | None]
"""A number for each host, in the order of ``FleetView.hosts``; None where it has none."""


@dataclass(frozen=True)
class Golden:
    """The bound that a rule of an expectation file sets for a path."""

    rule: str
    comparison: str
    bound: float
    """In the path's unit."""

    def met_by(self, value: float) -> bool:
        """Whether a value meets it."""
        above, equal = value > self.bound, value == self.bound
        return (above if ">" in self.comparison else not above and not equal) or (
            equal and "=" in self.comparison
        )


@dataclass(frozen=True)
class FleetPath:
    """One measurement of a plan, over all hosts."""

    measurement: Measurement
    """What was measured, without a figure: identity, pattern, metric, unit."""
    values: Values
    lows: Values
    highs: Values
    limits: Values
    missing: dict[int, tuple[str, str]]
    """Status and reason of the hosts that planned it and have no figure."""
    golden: Golden | None = None

    @classmethod
    def empty(cls, measurement: Measurement, hosts: int) -> "FleetPath":
        """Return a path that no host has a figure of yet."""
        columns: list[Values] = [[None] * hosts for _ in range(4)]
        values, lows, highs, limits = columns
        return cls(measurement, values, lows, highs, limits, {})

    @property
    def path(self) -> str:
        """The path as tables name it."""
        return path_of(self.measurement)

    @property
    def lower(self) -> bool:
        """Whether lower is better."""
        return lower_is_better(self.measurement)

    @cached_property
    def measured(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    @cached_property
    def scale(self) -> tuple[str, float]:
        """The unit to show values in, and what to divide them by."""
        return figures.scale_of(self.measurement.unit or "count", self.measured)

    def failing(self) -> int:
        """Return how many hosts do not meet the golden value."""
        golden = self.golden
        return sum(not golden.met_by(value) for value in self.measured) if golden else 0


@dataclass(frozen=True)
class SlowFigure:
    """A figure by which a host is slower than hosts like it."""

    path: FleetPath
    value: float
    centre: float
    """Median of its group."""
    deviation: float
    """value / centre - 1: below 0 of rates, above 0 of times."""


@dataclass(frozen=True)
class HostOutlier:
    """A host that is slower than its group by more than chance."""

    host: str
    group: str
    q: float
    """Share of false alarms among all hosts that are at least as clear."""
    together: bool
    """No path is beyond doubt by itself, all of them together are."""
    slower: float
    """By how much it is slower over all of its paths, as a share."""
    paths: list[SlowFigure]
    """The surest first, at least one."""
    causes: list[str]
    """What differs from its group and would explain it."""


@dataclass(frozen=True)
class FleetHostRow:
    """One host: what became of it, and how it is set."""

    name: str
    state: str
    reason: str
    run: str
    """Its run file relative to the fleet's folder; empty where it has none."""
    group: str
    """Hosts of one group are alike, and are compared with each other."""
    settings: dict[str, str]


@dataclass(frozen=True)
class FleetView:
    """Everything that a report of many hosts shows."""

    name: str
    started: str
    command: Sequence[str]
    hosts: list[FleetHostRow]
    paths: list[FleetPath]
    outliers: list[HostOutlier]
    remarks: list[str] = field(default_factory=list)
    together: list[TogetherFigure] = field(default_factory=list)
    """What hosts moved together of storage that they may share."""

    @cached_property
    def groups(self) -> list[str]:
        """The groups, the largest first."""
        return [name for name, _ in Counter(host.group for host in self.hosts).most_common()]

    @cached_property
    def group_of(self) -> list[int]:
        """Number of each host's group."""
        numbers = {name: number for number, name in enumerate(self.groups)}
        return [numbers[host.group] for host in self.hosts]

    @cached_property
    def medians(self) -> list[Values]:
        """The median of each group, for each path."""
        return [self._medians(path) for path in self.paths]

    def _medians(self, path: FleetPath) -> Values:
        members: list[list[float]] = [[] for _ in self.groups]
        for group, value in zip(self.group_of, path.values, strict=True):
            if value is not None:
                members[group].append(value)
        return [median(values) if values else None for values in members]

    @cached_property
    def deviations(self) -> list[Values]:
        """Each value over its group's median, less 1, for each path."""
        return [
            [
                value / middle - 1 if value is not None and (middle := medians[group]) else None
                for value, group in zip(path.values, self.group_of, strict=True)
            ]
            for path, medians in zip(self.paths, self.medians, strict=True)
        ]

    @cached_property
    def spreads(self) -> list[float]:
        """How much hosts alike differ on each path: the standard deviation as a share, estimated
        from the median absolute deviation, so that outliers do not count."""
        return [
            _MAD_TO_SIGMA * median(abs(one) for one in known) if known else 0.0
            for known in ([one for one in path if one is not None] for path in self.deviations)
        ]

    @cached_property
    def unusual(self) -> list[float]:
        """The deviation from which on a figure of each path is worth a look, as a share."""
        return [max(_LEAST, _UNUSUAL * spread) for spread in self.spreads]

    @cached_property
    def names(self) -> list[str]:
        """What each path is called: its ends, its kind, and what tells it from its neighbours."""
        kinds: dict[str, list[Measurement]] = {}
        for path in self.paths:
            kinds.setdefault(path.measurement.kind, []).append(path.measurement)
        keys = {kind: varying(members, "path") for kind, members in kinds.items()}
        return [_name(path, keys[path.measurement.kind]) for path in self.paths]

    def slow_on(self, path: FleetPath) -> list[tuple[str, SlowFigure]]:
        """Return the hosts that are slow on a path, with their figures, the slowest first."""
        found = [(one.host, slow) for one in self.outliers for slow in one.paths
                 if slow.path.measurement is path.measurement and not one.together]  # fmt: skip
        return sorted(found, key=lambda pair: -abs(pair[1].deviation))

    def name_of(self, path: FleetPath) -> str:
        """Return what a path is called."""
        numbers = {id(one.measurement): number for number, one in enumerate(self.paths)}
        return self.names[numbers[id(path.measurement)]]

    @cached_property
    def by_deviation(self) -> list[int]:
        """Numbers of the hosts: those with outliers first, by the largest; then by how far any
        path lies from its median, compared with how far it usually does."""
        found = {one.host: abs(one.paths[0].deviation) for one in self.outliers}
        far = [0.0] * len(self.hosts)
        for path, spread in zip(self.deviations, self.spreads, strict=True):
            for number, deviation in enumerate(path):
                if deviation is not None and spread:
                    far[number] = max(far[number], abs(deviation) / spread)
        names = [host.name for host in self.hosts]
        return sorted(
            range(len(names)), key=lambda n: (-found.get(names[n], 0.0), -far[n], names[n])
        )

    @cached_property
    def states(self) -> Counter[str]:
        """How many hosts are in each state, the measured first."""
        order = ("measured", "partial", "cannot", "failed", "lost")
        counted = Counter(host.state for host in self.hosts)
        known = [state for state in order if state in counted]
        return Counter({state: counted[state] for state in [*known, *(set(counted) - set(known))]})


def _name(path: FleetPath, keys: list[str]) -> str:
    m = path.measurement
    words = words_of(m, keys)
    metric = metric_name(m.metric) if m.metric and m.metric != m.kind else ""
    return ", ".join(filter(None, (path.path, m.kind, metric, words)))


@dataclass(frozen=True)
class SettingValues:
    """A setting in which hosts of one group differ."""

    name: str
    group: str
    values: list[tuple[str, list[str]]]
    """Each value with its hosts, the most common value first."""
    more: int
    """Further values, which are not listed."""


def differing_settings(view: FleetView) -> list[SettingValues]:
    """Return the settings in which hosts of one group differ; not those that differ on all."""
    found = []
    names = dict.fromkeys(name for host in view.hosts for name in host.settings)
    for group in view.groups:
        members = [host for host in view.hosts if host.group == group]
        for name in names:
            values: dict[str, list[str]] = {}
            for host in members:
                if name in host.settings:
                    values.setdefault(host.settings[name], []).append(host.name)
            if len(values) < 2 or len(values) == len(members) > 2:
                continue
            ordered = sorted(values.items(), key=lambda item: -len(item[1]))
            more = len(ordered) - _MOST_VALUES
            found.append(SettingValues(name, group, ordered[:_MOST_VALUES], max(0, more)))
    return found


def natural(name: str) -> list[tuple[int, int | str]]:
    """Return a key that sorts node2 before node10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts if part]


def signed_percent(share: float) -> str:
    """Return a deviation as people read it: -3.1%."""
    percent = 100 * share
    digits = 1 if abs(percent) < 99.95 else 0
    return f"{percent:+.{digits}f}%" if math.isfinite(percent) else "–"
