"""Combined figures of hosts that measured at the same time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from tierscope.analysis.compare import Identity, identities
from tierscope.analysis.distribution import estimates
from tierscope.analysis.estimate import Estimate, estimate_median
from tierscope.model.base import Model
from tierscope.model.histogram import Histogram
from tierscope.model.metric import Unit
from tierscope.model.run import ClockState, Measurement, Run

Key = tuple[str, str]
"""Metric and part of a figure."""
_FAR_APART = 10
"""As of ``conclude``: time between repetitions, in their own length."""
_MOST_SAMPLES = 200
"""Stretches that a repetition is cut into at most."""
_ADDED_UP: tuple[Unit, ...] = ("B/s", "1/s")
Spans = Mapping[str, Sequence[tuple[float, float]]]
"""Beginning and end of each repetition, by the measurement's id."""


@dataclass(frozen=True)
class HostRepetition:
    """One repetition of a host, by a clock that all hosts share, in seconds."""

    number: int
    """Place among the host's repetitions of the measurement, from 0."""
    warm: float
    """When its warm-up had ended."""
    starts: Sequence[float]
    durations: Sequence[float]
    rates: Mapping[Key, Sequence[float | None]]
    """Of each sample, in bytes or operations a second."""
    histograms: Mapping[Key, Sequence[Histogram]]
    """Of each sample."""

    @property
    def end(self) -> float:
        """When its last sample ended."""
        return self.starts[-1] + self.durations[-1]


@dataclass(frozen=True)
class Window:
    """The time that all hosts spent in a repetition together."""

    begin: float
    end: float
    samples: int
    """Stretches that it is cut into."""

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.begin

    def shared(self, begin: float, end: float) -> float:
        """Return how many seconds of a sample are inside."""
        return max(0.0, min(end, self.end) - max(begin, self.begin))


@dataclass
class _Group:
    """Hosts that made a repetition of one number."""

    hosts: int = 0
    who: int = 0
    """Sum of the hosts' hashes: the same of two repetitions where the same hosts made them."""
    begin: float = float("-inf")
    end: float = float("inf")
    sample_s: float = 0.0
    taken_s: float = 0.0
    """Seconds of samples after warm-ups, summed over hosts."""


@dataclass(frozen=True)
class Windows:
    """The repetitions that count: those that the same hosts made together."""

    by_number: dict[int, Window]
    hosts: int
    left_out: int
    """Repetitions that other hosts made, or all hosts but not at the same time."""
    share: float
    """Share of the hosts' time in these repetitions that they spent together, 0..1."""

    @property
    def seconds(self) -> float:
        """All windows together."""
        return sum(window.seconds for window in self.by_number.values())


def windows(repetitions: Iterable[tuple[str, float, HostRepetition]]) -> Windows:
    """Return when all hosts took samples together.

    ``repetitions`` are a host's name, by how many seconds its clock may be off, and the repetition.
    Where hosts were lost on the way, the set of hosts with the most repetitions counts."""
    groups: dict[int, _Group] = {}
    for host, error_s, repetition in repetitions:
        group = groups.setdefault(repetition.number, _Group())
        group.hosts += 1
        group.who += hash(host)
        group.begin = max(group.begin, repetition.warm + error_s)
        group.end = min(group.end, repetition.end - error_s)
        group.sample_s = max(group.sample_s, median(repetition.durations))
        group.taken_s += repetition.end - repetition.warm
    sets = Counter((group.hosts, group.who) for group in groups.values())
    if not sets:
        return Windows({}, 0, 0, 0.0)
    chosen = max(sets, key=lambda one: (sets[one], one[0]))  # the first of those that are alike
    found: dict[int, Window] = {}
    taken_s = 0.0
    for number, group in sorted(groups.items()):
        seconds = group.end - group.begin
        if (group.hosts, group.who) != chosen or seconds <= 0:
            continue
        samples = int(seconds / group.sample_s + 1e-9) if group.sample_s > 0 else 1
        found[number] = Window(group.begin, group.end, min(max(samples, 1), _MOST_SAMPLES))
        taken_s += group.taken_s
    share = sum(one.seconds for one in found.values()) * chosen[0] / taken_s if found else 0.0
    return Windows(found, chosen[0], len(groups) - len(found), min(1.0, share))


@dataclass(frozen=True)
class Sum:
    """Combined rate of all hosts."""

    estimate: Estimate
    """Median of all stretches."""
    mean: float
    """All that was moved over all of the time; below the median where all hosts stall at times."""
    fairness: float | None
    """Jain's index; None where nothing was moved."""
    slowest: tuple[float, str]
    fastest: tuple[float, str]
    """Mean rate of one host, and which host it is."""


@dataclass
class _Shares:
    """Running statistics of the hosts' shares."""

    sum: float = 0.0
    squares: float = 0.0
    slowest: tuple[float, str] = (float("inf"), "")
    fastest: tuple[float, str] = (float("-inf"), "")
    count: int = 0

    def add(self, host: str, rate: float) -> None:
        self.count += 1
        self.sum += rate
        self.squares += rate * rate
        self.slowest = min(self.slowest, (rate, host))
        self.fastest = max(self.fastest, (rate, host))


@dataclass
class AtOnce:
    """The sum over hosts, which are added one after the other."""

    windows: Windows
    _rates: dict[Key, dict[int, list[float]]] = field(default_factory=dict)
    """By key and repetition, for each stretch."""
    _times: dict[Key, dict[int, list[Counter[int]]]] = field(default_factory=dict)
    _shares: dict[Key, _Shares] = field(default_factory=dict)

    def add(self, host: str, repetitions: Iterable[HostRepetition]) -> None:
        """Add what a host moved in the common time of all of its repetitions."""
        moved: dict[Key, float] = {}
        for repetition in repetitions:
            window = self.windows.by_number.get(repetition.number)
            if window is None:
                continue
            for key, rates in repetition.rates.items():
                sums = self._rates.setdefault(key, {}).setdefault(
                    repetition.number, [0.0] * window.samples
                )
                moved[key] = moved.get(key, 0.0) + _spread(window, repetition, rates, sums)
            for key, samples in repetition.histograms.items():
                times = self._times.setdefault(key, {}).setdefault(
                    repetition.number, [Counter() for _ in range(window.samples)]
                )
                _merge(window, repetition, samples, times)
        for key, amount in moved.items():
            self._shares.setdefault(key, _Shares()).add(host, amount / self.windows.seconds)

    def sums(self) -> dict[Key, Sum]:
        """Return the sums of rates over all hosts; none without common time."""
        return {key: self._sum(key) for key in self._rates}

    def _sum(self, key: Key) -> Sum:
        shares = self._shares[key]
        return Sum(
            estimate=estimate_median([*self._rates[key].values()], apart=self._apart()),
            mean=shares.sum,
            fairness=shares.sum**2 / (shares.count * shares.squares) if shares.squares else None,
            slowest=shares.slowest,
            fastest=shares.fastest,
        )

    def percentiles(self) -> dict[Key, dict[str, Estimate]]:
        """Return mean, percentiles and maximum of all hosts' operations, in ns, by name."""
        return {
            key: dict(estimates([[_sparse(one) for one in found] for found in repetitions.values()],
                                apart=self._apart()))
            for key, repetitions in self._times.items()
        }  # fmt: skip

    def _apart(self) -> bool:
        """Whether so much time lies between repetitions that they do not continue each other."""
        found = [*self.windows.by_number.values()]
        gaps = [(later.begin - earlier.end) / earlier.seconds for earlier, later in pairwise(found)]
        return bool(gaps) and median(gaps) >= _FAR_APART


def _spread(
    window: Window, repetition: HostRepetition, rates: Sequence[float | None], sums: list[float]
) -> float:
    """Add a host's rates to the stretches that its samples lie in; return what it moved in all."""
    moved = 0.0
    length = window.seconds / window.samples
    for start, duration, rate in zip(repetition.starts, repetition.durations, rates, strict=True):
        if not rate:
            continue
        moved += rate * window.shared(start, start + duration)
        first = max(0, int((start - window.begin) / length))
        last = min(window.samples - 1, int((start + duration - window.begin) / length))
        for number in range(first, last + 1):
            begin = window.begin + number * length
            part = min(start + duration, begin + length) - max(start, begin)
            sums[number] += rate * max(0.0, part) / length
    return moved


def _merge(
    window: Window,
    repetition: HostRepetition,
    samples: Sequence[Histogram],
    times: list[Counter[int]],
) -> None:
    """Add the histograms of the samples of which at least a half is common time."""
    for start, duration, sample in zip(
        repetition.starts, repetition.durations, samples, strict=True
    ):
        if window.shared(start, start + duration) < duration / 2:
            continue
        middle = (start + duration / 2 - window.begin) / window.seconds * window.samples
        into = times[min(int(middle), window.samples - 1)]
        for bucket, count in zip(sample[::2], sample[1::2], strict=True):
            into[bucket] += count


def _sparse(counts: Counter[int]) -> Histogram:
    return [number for item in sorted(counts.items()) for number in item]


class HostFigure(Model):
    """Figure of one host."""

    host: str
    together: float
    ci_low: float | None = None
    ci_high: float | None = None
    alone: float | None = None
    """None where no run of the host alone is given, or it has no such measurement."""
    overlap: float | None = None
    """Share of its repetitions' time in which all other hosts measured the same; None: unknown."""


class SharedFigure(Model):
    """One measurement that several hosts made at the same time."""

    kind: str
    initiator: str
    target: str
    pattern: dict[str, object]
    metric: str
    unit: str
    hosts: list[HostFigure]
    total_together: float | None = None
    """Sum over hosts, for figures that add up."""
    total_alone: float | None = None


class SharedHost(Model):
    """A host's run among those that began together."""

    host: str
    run: str
    late_s: float | None = None
    clock: ClockState | None = None


class Together(Model):
    """Runs that were to begin at the same moment."""

    start_at: str
    hosts: list[SharedHost]
    figures: list[SharedFigure]


@dataclass(frozen=True)
class NamedRun:
    """A run, the name to call it by, and when its measurements were repeated."""

    name: str
    run: Run
    spans: Spans


def together(runs: Sequence[NamedRun]) -> list[Together]:
    """Return the groups of runs of different hosts that were to begin at the same moment."""
    moments: dict[str, dict[str, NamedRun]] = {}
    alone: dict[str, NamedRun] = {}
    for named in runs:
        header = named.run.header
        if header.start_at is not None:
            moments.setdefault(header.start_at, {})[header.host] = named
    groups = {moment: hosts for moment, hosts in moments.items() if len(hosts) > 1}
    for named in runs:
        header = named.run.header
        if header.start_at not in groups:
            alone[header.host] = named
    return [_group(moment, hosts, alone) for moment, hosts in groups.items()]


def _group(moment: str, hosts: dict[str, NamedRun], alone: dict[str, NamedRun]) -> Together:
    found = {host: identities(named.run) for host, named in hosts.items()}
    before = {host: identities(alone[host].run) for host in hosts if host in alone}
    first, *others = found.values()
    shared = [key for key in first if all(key in other for other in others)]
    figures = [_figure(key, hosts, found, before) for key in shared]
    return Together(
        start_at=moment,
        hosts=[
            SharedHost(
                host=host,
                run=named.name,
                late_s=named.run.footer.late_s if named.run.footer else None,
                clock=named.run.header.clock,
            )
            for host, named in hosts.items()
        ],
        figures=[figure for figure in figures if figure is not None],
    )


def _figure(
    key: Identity,
    hosts: dict[str, NamedRun],
    found: dict[str, dict[Identity, Measurement]],
    before: dict[str, dict[Identity, Measurement]],
) -> SharedFigure | None:
    measured = {host: found[host][key] for host in hosts}
    first = next(iter(measured.values()))
    if any(m.estimate is None for m in measured.values()) or not (first.metric and first.unit):
        return None
    spans = {host: hosts[host].spans.get(m.id, ()) for host, m in measured.items()}
    figures = [
        HostFigure(
            host=host,
            together=m.estimate or 0.0,
            ci_low=m.ci_low,
            ci_high=m.ci_high,
            alone=earlier.estimate if (earlier := before.get(host, {}).get(key)) else None,
            overlap=_overlap(spans, host),
        )
        for host, m in measured.items()
    ]
    added = first.unit in _ADDED_UP
    alone = [figure.alone for figure in figures if figure.alone is not None]
    return SharedFigure(
        kind=first.kind,
        initiator=first.initiator,
        target=first.target,
        pattern=first.pattern,
        metric=first.metric,
        unit=first.unit,
        hosts=figures,
        total_together=sum(figure.together for figure in figures) if added else None,
        total_alone=sum(alone) if added and len(alone) == len(figures) else None,
    )


def _overlap(spans: Mapping[str, Sequence[tuple[float, float]]], host: str) -> float | None:
    """Share of a host's repetitions in which each other host made one, by the hosts' clocks."""
    if not all(spans.values()):
        return None
    both = list(spans[host])
    whole = sum(end - begin for begin, end in both)
    for other, theirs in spans.items():
        if other != host:
            both = [
                (max(mine[0], them[0]), min(mine[1], them[1]))
                for mine in both
                for them in theirs
                if max(mine[0], them[0]) < min(mine[1], them[1])
            ]
    return sum(end - begin for begin, end in both) / whole if whole else None
