"""What the visits of a measurement come to: figures, their intervals, and merged evidence.

All columns and distributions of a series are estimated over exactly the same rows. Two kinds of
rows are left out:

- Warm-up: of the first series of each visit, the rows until two successive ones agree within twice
  the precision, for a fifth of the visit at most. Its further series start warm.
- Disturbed rows, where at least 6 undisturbed ones remain; else all are kept, and counted. A series
  whose tails dropping would hide keeps them always.

A figure is looked at after each visit, and the luckiest look must not decide. So it is precise
only where an interval of 99% is as narrow as asked. Of the error of 5%, 1% is spent on the looks,
4% remain for the interval that is reported. And what a look decides by is not reported: every other
visit's scatter decides, that of the others makes the interval. So the interval of a figure that is
precise holds as often as any other, however unlikely it was that its visits agreed.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from tierscope.analysis import distribution
from tierscope.analysis.estimate import ALL, DECIDING, REPORTING, Estimate, estimate_median
from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import Column, Evidence, Series, Visit
from tierscope.model.histogram import Histogram
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, MergedDistribution, Stop
from tierscope.model.spec import MeasurementSpec, Sampling

MIN_UNDISTURBED = 6
"""Undisturbed rows from which on disturbed ones are left out."""
_MIN_EFFECTIVE = 6
"""Effective samples below which no figure is precise."""
_FEW_ROWS = 12
"""Rows that are few even if they are independent."""
MIN_VISITS = 5
_MIN_VISITS_HALVED = 12
"""Visits before a figure can be precise. Where the interval is much narrower than asked, no luck is
needed, and five are enough; else either half of them has to tell how much visits scatter."""
_STEADY_SHARE = 0.25
"""Of the precision asked for, what such an interval has at most."""
_LOOK_ERROR = 0.01
_ERROR = 0.04
_MAX_CORRELATION = 0.15
"""Correlation between visits above which no figure is precise."""
_MAX_RANGE = 5
"""Range of visits' medians, in multiples of the precision, above which no figure is precise: then
a narrow interval is luck."""
_FAR_APART = 10
"""Time between visits, in multiples of their own, from which on they do not continue each other."""
_WARM_UP_SHARE = 0.2
_STEADY = 0.03
_T = TypeVar("_T")
_THREADS = "thread_bandwidth"
"""Columns of this metric are evidence, not figures."""


@dataclass(frozen=True)
class Conclusion:
    """The outcome of a measurement that gave a figure."""

    metric: str
    estimate: Estimate
    stop: Stop | None
    """None: of what was observed, which ends when it is told to."""
    samples: list[float]
    figures: list[Figure]
    distributions: list[MergedDistribution]
    evidence: Evidence


@dataclass
class _Rows:
    """The kept rows of one series, visit by visit."""

    columns: dict[tuple[str, str], list[list[float | None]]] = field(default_factory=dict)
    """By metric and part, one list for each visit."""
    distributions: dict[tuple[str, str], list[list[Histogram]]] = field(default_factory=dict)
    """In the same way."""
    durations: list[float] = field(default_factory=list)
    watched: bool = False
    """Somebody looked whether rows were disturbed."""
    disturbed: int = 0
    """Disturbed rows that were kept."""
    replaced: int = 0
    """Disturbed rows that were dropped."""
    unsettled: int = 0
    """Visits in whose warm-up no two successive rows agreed."""
    apart: bool = False
    """The visits were far apart."""
    keep_disturbed: bool = False
    """Disturbed rows count as the others do."""

    def of_visits(self, key: tuple[str, str]) -> list[list[float]]:
        """Return what a column has of the kept rows, visit by visit."""
        return [[value for value in rows if value is not None] for rows in self.columns[key]]

    def values(self, key: tuple[str, str]) -> list[float]:
        """Return what a column has of the kept rows."""
        return [value for rows in self.of_visits(key) for value in rows]

    def estimate(self, key: tuple[str, str], scatter_of: slice) -> Estimate:
        """Estimate a column that has a value."""
        return estimate_median(self.of_visits(key), _ERROR, self.apart, scatter_of)


@dataclass(frozen=True)
class Look:
    """What is known of a figure between two visits."""

    precise: bool
    relative_half_width: float
    """Of the interval that decides; infinite where there is none."""
    report: slice
    """The visits whose scatter makes the interval that is reported."""


def conclude(spec: MeasurementSpec, visits: Sequence[Visit], cut: bool = False) -> Conclusion:
    """Return what a measurement's visits, at least one, come to.

    ``cut`` says that further visits were due and did not come. Raises ValueError where no row has a
    value of the headline.
    """
    series = _kept(spec.sampling, visits)
    first = next(iter(series.values()))
    headline = next(iter(first.columns))
    samples = first.values(headline)
    if not samples:
        raise ValueError(f"no sample has a value of {headline[0]}")
    looked = _look(spec.sampling, first)
    estimate = first.estimate(headline, looked.report)
    evidence = merged_evidence(visits)
    evidence = evidence.model_copy(update=_evidence_of_rows(spec, series))
    notes = [*(evidence.notes or []), *_notes(spec, estimate, samples, first, len(visits))]
    stop: Stop = "precision" if looked.precise else "budget"
    return Conclusion(
        metric=headline[0],
        estimate=estimate.widened(spec.type_b),
        stop="interrupted" if cut or visits[-1].interrupted else stop,
        samples=samples,
        figures=[
            *_figures(spec, series, headline, looked.report),
            *_figures_of_distributions(spec, series, looked.report),
        ],
        distributions=list(_merged(series)),
        evidence=evidence.model_copy(update={"notes": notes or None}),
    )


def look(sampling: Sampling, visits: Sequence[Visit]) -> Look:
    """Return how precisely the headline of visits, at least one, is known."""
    return _look(sampling, next(iter(_kept(sampling, visits, only_first=True).values())))


def _look(sampling: Sampling, rows: _Rows) -> Look:
    headline = rows.of_visits(next(iter(rows.columns)))
    if not any(headline):
        return Look(False, math.inf, ALL)
    found = estimate_median(headline, _LOOK_ERROR, rows.apart)
    medians = [median(values) for values in headline if values]
    report = ALL
    if found.relative_half_width > _STEADY_SHARE * sampling.precision:
        if len(medians) < _MIN_VISITS_HALVED:
            return Look(False, found.relative_half_width, ALL)
        found = estimate_median(headline, _LOOK_ERROR, rows.apart, DECIDING)
        report = REPORTING
    precise = (
        found.relative_half_width <= sampling.precision
        and len(medians) >= MIN_VISITS
        and found.effective_n >= _MIN_EFFECTIVE
        and found.correlation <= _MAX_CORRELATION
        and max(medians) - min(medians) <= _MAX_RANGE * sampling.precision * found.value
        and (rows.keep_disturbed or not rows.disturbed)
    )
    return Look(precise, found.relative_half_width, report if precise else ALL)


def _kept(
    sampling: Sampling, visits: Sequence[Visit], only_first: bool = False
) -> dict[str, _Rows]:
    """Return the kept rows of each series, by its name, the first one first."""
    found: dict[str, list[tuple[Series, int, bool]]] = {}
    for visit in visits:
        for number, series in enumerate(visit.series[:1] if only_first else visit.series):
            rows, settled = warm_up(series, sampling) if number == 0 else (0, True)
            found.setdefault(series.name, []).append((series, rows, settled))
    apart = _far_apart(visits)
    return {name: _rows(parts, apart) for name, parts in found.items()}


def _far_apart(visits: Sequence[Visit]) -> bool:
    """Return whether so much time lies between visits that they do not continue each other."""
    known = [(visit.at_s, visit.seconds) for visit in visits]
    gaps = [
        (later - at - seconds) / max(seconds, 1e-9)
        for (at, seconds), (later, _) in itertools.pairwise(known)
        if at is not None and later is not None
    ]
    return len(gaps) == len(visits) - 1 > 0 and median(gaps) >= _FAR_APART


def _rows(parts: list[tuple[Series, int, bool]], apart: bool) -> _Rows:
    """Join what the visits have of one series."""
    rows = _Rows(
        watched=any(series.disturbed is not None for series, _, _ in parts),
        unsettled=sum(not settled for _, _, settled in parts),
        apart=apart,
        keep_disturbed=any(series.keep_disturbed for series, _, _ in parts),
    )
    flagged = [set(series.disturbed or ()) for series, _, _ in parts]
    warm = [range(warm_up, len(series.starts)) for series, warm_up, _ in parts]
    total = sum(len(numbers) for numbers in warm)
    marked = sum(n in bad for numbers, bad in zip(warm, flagged, strict=True) for n in numbers)
    drop = total - marked >= MIN_UNDISTURBED and not rows.keep_disturbed
    rows.replaced, rows.disturbed = (marked, 0) if drop else (0, marked)
    for visit, ((series, _, _), numbers, bad) in enumerate(zip(parts, warm, flagged, strict=True)):
        kept = [n for n in numbers if n not in bad] if drop and bad else list(numbers)
        rows.durations += [series.durations[n] for n in kept]
        _add(rows.columns, visit, {(c.metric, c.part): c.values for c in series.columns}, kept)
        found = {(d.metric, d.part): d.rows for d in series.distributions or ()}
        _add(rows.distributions, visit, found, kept)
    return rows


def _add(
    into: dict[tuple[str, str], list[list[_T]]],
    visit: int,
    found: dict[tuple[str, str], list[_T]],
    kept: list[int],
) -> None:
    """Add the kept rows of a visit of this number; it may lack what others have."""
    for key, values in found.items():
        into.setdefault(key, [[]] * visit).append([values[n] for n in kept])
    for visits in into.values():
        visits += [[]] * (visit + 1 - len(visits))


def warm_up(series: Series, sampling: Sampling) -> tuple[int, bool]:
    """Return how many rows a visit needed to warm up, and whether it came to that.

    The last row is never counted, so that each visit gives one.
    """
    count = len(series.starts)
    if count < 2:
        return 0, False
    begin = series.starts[0]
    longest = _WARM_UP_SHARE * (series.starts[-1] + series.durations[-1] - begin)
    values = _headline(series).values
    for number in range(1, count):
        elapsed = series.starts[number - 1] + series.durations[number - 1] - begin
        if elapsed >= longest:
            return number, False
        if _agree(values[number - 1], values[number], 2 * sampling.precision):
            return min(number + 1, count - 1), True
    return count - 1, False


def _headline(series: Series) -> Column:
    return series.columns[0]


def _agree(first: float | None, second: float | None, tolerance: float) -> bool:
    if first is None or second is None:
        return False
    return abs(first - second) <= tolerance * abs(second)


def _figures(
    spec: MeasurementSpec, series: dict[str, _Rows], headline: tuple[str, str], report: slice
) -> Iterator[Figure]:
    for rows in series.values():
        for key in rows.columns:
            metric, part = key
            if key == headline or metric == _THREADS or not rows.values(key):
                continue
            yield _figure(metric, part, rows.estimate(key, report).widened(spec.type_b))


def _figures_of_distributions(
    spec: MeasurementSpec, series: dict[str, _Rows], report: slice
) -> Iterator[Figure]:
    for rows in series.values():
        for (metric, part), visits in rows.distributions.items():
            found = distribution.estimates(visits, _ERROR, rows.apart, report)
            for name, estimate in found:
                yield _figure(f"{metric}_{name}", part, estimate.widened(spec.type_b))


def _figure(metric: str, part: str, estimate: Estimate) -> Figure:
    return Figure(
        metric=metric,
        part=part,
        unit=METRICS[metric].unit,
        estimate=estimate.value,
        ci_low=estimate.low,
        ci_high=estimate.high,
        no_interval=estimate.no_interval,
    )


def _merged(series: dict[str, _Rows]) -> Iterator[MergedDistribution]:
    for rows in series.values():
        for (metric, part), visits in rows.distributions.items():
            histogram = distribution.merged(visits)
            if histogram:
                yield MergedDistribution(metric=metric, part=part, histogram=histogram)


def _evidence_of_rows(spec: MeasurementSpec, series: dict[str, _Rows]) -> dict[str, object]:
    """Return what the rows themselves prove; of disturbance only where somebody looked."""
    first = next(iter(series.values()))
    found: dict[str, object] = {"sample_ns": median(first.durations) * 1e9}
    threads = [median(first.values(key)) for key in first.columns if key[0] == _THREADS]
    if threads:
        found["threads"] = threads
    if first.watched:
        found |= {"disturbed": first.disturbed, "replaced": first.replaced}
    if spec.steady:
        found["settled"] = first.unsettled == 0 and all(
            _steady(first.values(key)) for key in first.columns if key[0] != _THREADS
        )
    return found


def _steady(samples: list[float]) -> bool:
    """Return whether the medians of a series' halves differ by at most 3%."""
    if len(samples) < 2:
        return False
    middle = len(samples) // 2
    halves = median(samples[:middle]), median(samples[middle:])
    return abs(halves[0] - halves[1]) <= _STEADY * max(halves)


def _notes(
    spec: MeasurementSpec, estimate: Estimate, samples: list[float], rows: _Rows, visits: int
) -> Iterator[str]:
    if visits == 1:
        yield "one visit: the interval cannot show how the figure varies between visits"
    if estimate.effective_n < _MIN_EFFECTIVE:
        what = "few" if len(samples) < _FEW_ROWS else "autocorrelated"
        yield f"{what} samples (effective n = {max(1, int(estimate.effective_n))})"
    if rows.unsettled and spec.rounds() is None:
        where = "" if visits == 1 else f" of {rows.unsettled} of {visits} visits"
        yield f"no two successive samples agreed in the warm-up{where}"
