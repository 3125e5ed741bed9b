"""Many hosts: what became of each, what they measured together, and all that a report shows."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from rich.console import Console

from tierscope.analysis.concurrent import HostFigure, SharedFigure, SharedHost, Together
from tierscope.model.base import RECORDED
from tierscope.model.errors import counted
from tierscope.model.fleet import ClockOffset, FleetHost, FleetIndex
from tierscope.model.outlier import Outlier, SlowPath, TogetherFigure
from tierscope.model.run import Figure, Measurement, lower_is_better
from tierscope.model.text import brief
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import label_of, metric_name, varying, words_of
from tierscope.report.style import new_table, note, title
from tierscope.report.summary import show_summary_rows
from tierscope.report.view import Summary

COHERENCE = (
    "Coherence is up to software: unless the device keeps caches coherent, a host sees another "
    "one's writes only after the writer has written its caches back and the reader has "
    "invalidated its own. These figures measure traffic, not coherence."
)
_FEW = 0.9
"""Overlap below which figures are not those of hosts at the same time."""
_NETWORK = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "9p", "glusterfs", "fuse.",
            "orangefs", "pvfs2", "weka", "wekafs", "virtiofs", "daos", "gfs2", "ocfs2")  # fmt: skip
"""Prefixes of the types of file systems that hosts share."""
_STALLS = 0.1
"""By how much, as a share, the mean differs from the median where hosts stall."""
_MOST = 40
"""Rows of a table; the Parquet file has all."""
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


def show_hosts(console: Console, index: FleetIndex, dry_run: bool = False) -> None:
    """Print a row for each host."""
    said = "what each host would do" if dry_run else "what became of each host"
    title(console, f"{index.plan}: {said}")
    last = "what" if dry_run else "why"
    table = new_table("rank", "host", "state", "clock ahead", last, words=("host", "state", last))
    for host in index.hosts:
        state = "can measure" if dry_run and host.state == "waiting" else host.state
        rank = "" if host.rank is None else str(host.rank)
        clock = _clock(host)
        table.add_row(rank, host.host, state, clock, host.reason)
    console.print(table)
    if any(host.clock and host.clock.round_trips for host in index.hosts):
        note(console, "clock ahead: of rank 0's when the run began, by the quickest round trip")
    if not dry_run:
        measured = sum(host.state == "measured" for host in index.hosts)
        note(console, f"{measured} of {counted(len(index.hosts), 'host')} measured")


def _clock(host: FleetHost) -> str:
    clock: ClockOffset | None = host.clock
    if clock is None:
        return "unknown"
    if not clock.round_trips:
        return "0"
    half = (clock.high_ns - clock.low_ns) / 2
    return f"{clock.offset_ns / 1000:.1f} ± {half / 1000:.1f} µs"


def show_together(console: Console, groups: list[Together]) -> None:
    """Print each group of runs that began together."""
    for group in groups:
        summary = side_by_side(group)
        title(console, summary.title)
        show_summary_rows(console, summary)
        for line in summary.notes:
            note(console, line)


def side_by_side(group: Together) -> Summary:
    """Return the table of hosts that began together: each alone and with the others."""
    names = ", ".join(host.host for host in group.hosts)
    each = [f"{host.host}, {how}" for host in group.hosts for how in ("alone", "together")]
    return Summary(
        f"Hosts that began at {group.start_at}: {names}",
        ["measurement", *each, "sum alone", "sum together", "at the same time"],
        [*_rows_side_by_side(group)],
        _notes_side_by_side(group),
    )


def _rows_side_by_side(group: Together) -> Iterator[list[str]]:
    """Yield the cells of each measurement that all hosts made."""
    for figure in group.figures:
        unit, factor = figures.scale_of(figure.unit, [host.together for host in figure.hosts])
        cells = [cell for host in figure.hosts for cell in _cells(host, factor)]
        sums = [_number(value, factor) for value in (figure.total_alone, figure.total_together)]
        overlaps = [host.overlap for host in figure.hosts if host.overlap is not None]
        overlap = figures.share_text(min(overlaps)) if overlaps else "unknown"
        yield [f"{_name(figure)}, {unit}", *cells, *sums, overlap]


def _notes_side_by_side(group: Together) -> list[str]:
    """Return what qualifies the table: clocks, lateness, overlap, coherence."""
    found = [text for host in group.hosts if (text := _together_clock(host))]
    found += [
        f"{host.host} began {host.late_s:.3g} s late"
        for host in group.hosts
        if host.late_s is not None and host.late_s > 0.1
    ]
    if any(host.overlap is not None and host.overlap < _FEW
           for figure in group.figures for host in figure.hosts):  # fmt: skip
        found.append(
            "at the same time: the share of a host's repetitions in which the others measured the "
            "same; where it is low, ask each command for one measurement, with the same --budget"
        )
    return [*found, COHERENCE]


def _name(figure: SharedFigure) -> str:
    shown = ("operation", "mix", "order", "threads", "size")
    words = [
        label_of(key, figure.pattern[key], figure.kind)
        for key in shown
        if key in figure.pattern and figure.pattern[key] != "sequential"
    ]
    return ", ".join([f"{figure.kind} {figure.initiator} → {figure.target}", *words])


def _cells(host: HostFigure, factor: float) -> list[str]:
    change = f" ({host.together / host.alone - 1:+.1%})" if host.alone else ""
    return [_number(host.alone, factor), f"{_number(host.together, factor)}{change}"]


def _number(value: float | None, factor: float) -> str:
    return "–" if value is None else figures.significant(value / factor, 3)


def _together_clock(host: SharedHost) -> str:
    if host.clock is None:
        return f"{host.host}: the state of its clock is unknown"
    if not host.clock.synchronized:
        return f"{host.host}: its clock is not synchronized, so it may have started at another time"
    return f"{host.host}: clock synchronized, off by at most {host.clock.max_error_s or 0:.2g} s"


def together_table(found: Sequence[TogetherFigure]) -> Summary | None:
    """Return the table of measurements of all hosts together; None where there are none."""
    groups = _groups(found)
    if not groups:
        return None
    heads = [members[0] for members in groups]
    return Summary(
        "Hosts together",
        ["measurement", "hosts", "together", "IOPS", "slowest host", "fairness", "p50", "p99"],
        [_row(name, members) for name, members in zip(_names(heads), groups, strict=True)],
        _together_notes(heads),
        words=("slowest host",),
    )


def _together_notes(heads: Sequence[TogetherFigure]) -> list[str]:
    """Return what qualifies the table."""
    repetitions = [one.repetitions for one in heads]
    many = (
        f"{min(repetitions)}"
        if min(repetitions) == max(repetitions)
        else f"{min(repetitions)} to {max(repetitions)}"
    )
    summed = (
        f"together: the sum over hosts while all of them measured, in {many} repetitions, "
        f"{min(one.common for one in heads):.0%} of their time at least; clocks known to "
        f"±{max(one.clocks_ns for one in heads) / 1e3:.3g} µs"
    )
    read = (
        "slowest host: its share of what the fastest one got; fairness: Jain's index, 1 where all "
        "get the same; p50 and p99: over all operations of all hosts"
    )
    return [
        summed,
        read,
        *_without_interval(heads),
        *_left_out(heads),
        *_stalls(heads),
        *_stores(heads),
    ]


def show_shared(console: Console, found: Sequence[TogetherFigure]) -> None:
    """Print the table, where there is anything in it."""
    summary = together_table(found)
    if summary is None:
        return
    title(console, summary.title)
    show_summary_rows(console, summary, _MOST)
    if len(summary.rows) > _MOST:
        note(console, f"and {len(summary.rows) - _MOST} more: table 'together' of tierscope query")
    for line in summary.notes:
        note(console, line)


def _groups(found: Sequence[TogetherFigure]) -> list[list[TogetherFigure]]:
    """Return the figures of each measurement as a whole, the headline first."""
    groups: dict[str, list[TogetherFigure]] = {}
    for one in found:
        if not one.part:
            groups.setdefault(one.id, []).append(one)
    return [members for members in groups.values() if members[0].headline]


def _names(heads: Sequence[TogetherFigure]) -> list[str]:
    """Return what each is called: its path, and what tells it from the others."""
    same = [
        Measurement(
            id=one.id, kind=one.kind, initiator=one.initiator, target=one.target, cpus=[],
            pattern=one.pattern, status="measured",
        )
        for one in heads
    ]  # fmt: skip
    keys = list(dict.fromkeys(["operation", "block_size", *varying(same, "path")]))
    return [", ".join(filter(None, (path_of(m), words_of(m, keys)))) for m in same]


def _row(name: str, members: Sequence[TogetherFigure]) -> list[str]:
    head = members[0]
    by_metric = {one.metric: one for one in members}
    rate = next((one for one in members if one.unit == "B/s"), None)
    count = next((one for one in members if one.unit == "1/s"), None)
    latency = next((name[: -len("_mean")] for name in by_metric if name.endswith("_mean")), "")
    times = [by_metric.get(f"{latency}_{name}") for name in ("p50", "p99")]
    return [
        name,
        str(head.hosts),
        _value(rate),
        _value(count),
        _slowest(head),
        f"{head.fairness:.3f}" if head.fairness is not None else "–",
        *(_plain(one) for one in times),
    ]


def _figure(one: TogetherFigure) -> Figure:
    fields = one.model_dump(include={"metric", "unit", "estimate", "ci_low", "ci_high"})
    return Figure.model_validate(fields, context=RECORDED)


def _value(one: TogetherFigure | None) -> str:
    if one is None:
        return "–"
    unit, factor = figures.scale_of(one.unit, [one.estimate])
    known = one.ci_low is not None and one.headline
    text = (figures.with_interval if known else figures.plain)(_figure(one), factor)
    return text if unit == "1/s" else f"{text} {unit}"


def _plain(one: TogetherFigure | None) -> str:
    if one is None:
        return "–"
    unit, factor = figures.scale_of(one.unit, [one.estimate])
    return f"{figures.plain(_figure(one), factor, 3)} {unit}"


def _slowest(head: TogetherFigure) -> str:
    if head.slowest is None or not head.fastest:
        return "–"
    return f"{head.slowest / head.fastest:.0%}: {head.slowest_host}"


def _without_interval(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    without = sum(one.ci_low is None for one in heads)
    if without:
        yield (
            f"{without} of {len(heads)} have no interval: their repetitions are few or depend on "
            "each other; ask for more of them"
        )


def _left_out(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    most = max(one.left_out for one in heads)
    if most:
        yield (
            f"up to {counted(most, 'repetition')} left out, which not all of these hosts made "
            "at the same time"
        )


def _stalls(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    far = [
        one.mean / one.estimate - 1
        for one in heads
        if one.mean is not None and abs(one.mean / one.estimate - 1) > _STALLS
    ]
    if far:
        yield (
            f"{len(far)} of {len(heads)}: the mean differs from this median by up to "
            f"{max(far, key=abs):+.0%}: the storage serves in bursts"
        )


def _stores(heads: Sequence[TogetherFigure]) -> Iterator[str]:
    stores = sorted({store for one in heads for store in one.stores})
    local = [store for store in stores if not store.startswith(_NETWORK)]
    if stores:
        yield f"on {', '.join(stores)}"
    if local:
        yield (
            "a file system of this type is a host's own: hosts share it only where they are ranks "
            "of one machine"
        )
    if any(one.pattern.get("direct") for one in heads):
        yield (
            "direct: past the hosts' page caches; what caches of a server, or of a hypervisor "
            "below it, held cannot be seen from hosts"
        )
    if any(one.pattern.get("direct") is False for one in heads):
        yield (
            "through the page cache of each host: such figures are its memory's, not the storage's"
        )


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
    """What was measured; the estimate is the median over all hosts."""
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

    def number(self, value: float) -> str:
        """Write a value in the path's unit, without it."""
        return brief(value / self.scale[1], 4)

    def text(self, value: float) -> str:
        """Write a value with the path's unit."""
        return f"{self.number(value)} {self.scale[0]}"

    def between(self, values: Collection[float]) -> str:
        """Write the lowest and the highest of some values, without the unit; empty for none."""
        ends = (min(values), max(values)) if values else ()
        return " to ".join(dict.fromkeys(map(self.number, ends)))

    @cached_property
    def known_limits(self) -> set[float]:
        """The limits that hosts have."""
        return {limit for limit in self.limits if limit is not None}

    @property
    def golden_text(self) -> str:
        """The golden value, without the unit; empty where there is none."""
        return f"{self.golden.comparison} {self.number(self.golden.bound)}" if self.golden else ""

    def failing(self) -> int:
        """Return the number of hosts that do not meet the golden value."""
        golden = self.golden
        return sum(not golden.met_by(value) for value in self.measured) if golden else 0


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
    outliers: list[Outlier]
    remarks: list[str] = field(default_factory=list)
    together: list[TogetherFigure] = field(default_factory=list)
    """Figures of all hosts together on storage that they may share."""

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
        return [_fleet_view_name(path, keys[path.measurement.kind]) for path in self.paths]

    def number_of(self, slow: SlowPath) -> int:
        """Return the number of the path that a host is slow on."""
        return self._numbers[_key(slow)]

    @cached_property
    def _numbers(self) -> dict[tuple[str, ...], int]:
        return {_key(path.measurement): number for number, path in enumerate(self.paths)}

    def slow_on(self, number: int) -> list[tuple[str, SlowPath]]:
        """Return the hosts that are slow on a path, with their figures, the slowest first."""
        found = [(one.host, slow) for one in self.outliers for slow in one.paths
                 if self.number_of(slow) == number and not one.together]  # fmt: skip
        return sorted(found, key=lambda pair: -abs(pair[1].deviation))

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


def _key(one: Measurement | SlowPath) -> tuple[str, ...]:
    return one.kind, one.initiator, one.target, json.dumps(one.pattern, sort_keys=True)


def _fleet_view_name(path: FleetPath, keys: list[str]) -> str:
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
