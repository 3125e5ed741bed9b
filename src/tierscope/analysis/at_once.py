"""What several hosts moved together, in the visits that they made at the same time.

The hosts of a fleet begin each visit together, but one may need longer for its set-up, and another
one ends earlier. Only the time in which all of them took rows counts: from the last one's first row
after its warm-up to the first one's last row, less the uncertainty of their clocks. That time is
cut into stretches as long as a row. What all hosts moved in a stretch is a row of the sum, and the
rows of all visits give its median with an interval, as those of one host do (``estimate``).

Fairness is Jain's index of what each host got (Jain, Chiu and Hawe, DEC-TR-301, 1984): 1 where all
get the same, 1/n where one host of n gets everything. Percentiles are those of all operations of
all hosts: histograms add up, percentiles do not.

Nothing here grows with the number of hosts, which are added one after the other.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from tierscope.analysis.distribution import estimates
from tierscope.analysis.estimate import Estimate, estimate_median
from tierscope.model.histogram import Histogram

Key = tuple[str, str]
"""Metric and part of a figure."""
_FAR_APART = 10
"""As of ``conclude``: time between visits, in their own length."""
_MOST_ROWS = 200
"""Stretches that a visit is cut into at most."""


@dataclass(frozen=True)
class HostVisit:
    """One visit of a host, by a clock that all hosts share, in seconds."""

    number: int
    """Place among the host's visits of the measurement, from 0."""
    warm: float
    """When its warm-up had ended."""
    starts: Sequence[float]
    durations: Sequence[float]
    rates: Mapping[Key, Sequence[float | None]]
    """Of each row, in bytes or operations a second."""
    histograms: Mapping[Key, Sequence[Histogram]]
    """Of each row."""

    @property
    def end(self) -> float:
        """When its last row ended."""
        return self.starts[-1] + self.durations[-1]


@dataclass(frozen=True)
class Window:
    """The time that all hosts spent in a visit together."""

    begin: float
    end: float
    rows: int
    """Stretches that it is cut into."""

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.begin

    def shared(self, begin: float, end: float) -> float:
        """Return how many seconds of a row are inside."""
        return max(0.0, min(end, self.end) - max(begin, self.begin))


@dataclass
class _Group:
    """Hosts that made a visit of one number."""

    hosts: int = 0
    who: int = 0
    """Sum of the hosts' hashes: the same of two visits where the same hosts made them."""
    begin: float = float("-inf")
    end: float = float("inf")
    row_s: float = 0.0
    taken_s: float = 0.0
    """That all hosts took rows after their warm-ups, added up."""


@dataclass(frozen=True)
class Windows:
    """The visits that count: those that the same hosts made together."""

    by_number: dict[int, Window]
    hosts: int
    left_out: int
    """Visits that other hosts made, or all hosts but not at the same time."""
    share: float
    """Of the hosts' own time in these visits, that they spent together, 0..1."""

    @property
    def seconds(self) -> float:
        """All windows together."""
        return sum(window.seconds for window in self.by_number.values())


def windows(visits: Iterable[tuple[str, float, HostVisit]]) -> Windows:
    """Return when all hosts took rows together.

    ``visits`` are a host's name, by how many seconds its clock may be off, and the visit. Where
    hosts were lost on the way, the set of hosts with the most visits counts.
    """
    groups: dict[int, _Group] = {}
    for host, error_s, visit in visits:
        group = groups.setdefault(visit.number, _Group())
        group.hosts += 1
        group.who += hash(host)
        group.begin = max(group.begin, visit.warm + error_s)
        group.end = min(group.end, visit.end - error_s)
        group.row_s = max(group.row_s, median(visit.durations))
        group.taken_s += visit.end - visit.warm
    sets = Counter((group.hosts, group.who) for group in groups.values())
    if not sets:
        return Windows({}, 0, 0, 0.0)
    chosen = max(sets, key=lambda one: (sets[one], one))
    found: dict[int, Window] = {}
    taken_s = 0.0
    for number, group in sorted(groups.items()):
        seconds = group.end - group.begin
        if (group.hosts, group.who) != chosen or seconds <= 0:
            continue
        rows = int(seconds / group.row_s + 1e-9) if group.row_s > 0 else 1
        found[number] = Window(group.begin, group.end, min(max(rows, 1), _MOST_ROWS))
        taken_s += group.taken_s
    share = sum(one.seconds for one in found.values()) * chosen[0] / taken_s if found else 0.0
    return Windows(found, chosen[0], len(groups) - len(found), min(1.0, share))


@dataclass(frozen=True)
class Sum:
    """What all hosts moved together."""

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
    """What each host got, without keeping it."""

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


def jain(shares: Sequence[float]) -> float | None:
    """Return Jain's fairness index of what each of several got; None where nobody got anything."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


@dataclass
class AtOnce:
    """The sum over hosts, which are added one after the other."""

    windows: Windows
    _rates: dict[Key, dict[int, list[float]]] = field(default_factory=dict)
    """By key and visit, for each stretch."""
    _times: dict[Key, dict[int, list[Counter[int]]]] = field(default_factory=dict)
    _shares: dict[Key, _Shares] = field(default_factory=dict)

    def add(self, host: str, visits: Iterable[HostVisit]) -> None:
        """Add what a host moved in the common time of all of its visits."""
        moved: dict[Key, float] = {}
        for visit in visits:
            window = self.windows.by_number.get(visit.number)
            if window is None:
                continue
            for key, rates in visit.rates.items():
                sums = self._rates.setdefault(key, {}).setdefault(visit.number, [0.0] * window.rows)
                moved[key] = moved.get(key, 0.0) + _spread(window, visit, rates, sums)
            for key, rows in visit.histograms.items():
                times = self._times.setdefault(key, {}).setdefault(
                    visit.number, [Counter() for _ in range(window.rows)]
                )
                _merge(window, visit, rows, times)
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
            key: dict(estimates([[_sparse(row) for row in rows] for rows in visits.values()],
                                apart=self._apart()))
            for key, visits in self._times.items()
        }  # fmt: skip

    def _apart(self) -> bool:
        """Whether so much time lies between visits that they do not continue each other."""
        found = [*self.windows.by_number.values()]
        gaps = [(later.begin - earlier.end) / earlier.seconds for earlier, later in pairwise(found)]
        return bool(gaps) and median(gaps) >= _FAR_APART


def _spread(
    window: Window, visit: HostVisit, rates: Sequence[float | None], sums: list[float]
) -> float:
    """Add a host's rates to the stretches that its rows lie in; return what it moved in all."""
    moved = 0.0
    length = window.seconds / window.rows
    for start, duration, rate in zip(visit.starts, visit.durations, rates, strict=True):
        inside = window.shared(start, start + duration)
        if not rate or not inside:
            continue
        moved += rate * inside
        first = max(0, int((start - window.begin) / length))
        last = min(window.rows - 1, int((start + duration - window.begin) / length))
        for number in range(first, last + 1):
            begin = window.begin + number * length
            part = min(start + duration, begin + length) - max(start, begin)
            sums[number] += rate * max(0.0, part) / length
    return moved


def _merge(
    window: Window, visit: HostVisit, rows: Sequence[Histogram], times: list[Counter[int]]
) -> None:
    """Add the histograms of the rows of which at least a half is common time."""
    for start, duration, row in zip(visit.starts, visit.durations, rows, strict=True):
        if window.shared(start, start + duration) < duration / 2:
            continue
        middle = (start + duration / 2 - window.begin) / window.seconds * window.rows
        into = times[min(max(int(middle), 0), window.rows - 1)]
        for bucket, count in zip(row[::2], row[1::2], strict=True):
            into[bucket] += count


def _sparse(counts: Counter[int]) -> Histogram:
    return [number for item in sorted(counts.items()) for number in item]
