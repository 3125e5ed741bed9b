"""What the visits of a measurement come to: figures, their intervals, and merged evidence.

All columns of a series are estimated over exactly the same rows. Two kinds of rows are left out:

- Warm-up: of the first series of each visit, the rows until two successive ones agree within twice
  the precision, for a fifth of the visit at most. Its further series start warm.
- Disturbed rows, where at least 15 undisturbed ones remain; else all are kept, and counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from tierscope.analysis.estimate import MIN_FOR_RANKS, Estimate, estimate_median
from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import Column, Evidence, Series, Visit
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, Stop
from tierscope.model.spec import MeasurementSpec, Sampling

MIN_ROWS = 15
"""Undisturbed rows from which on disturbed ones are dropped and an interval is looked at."""
_MIN_UNCORRELATED = 12
"""Independent samples that are worth six at least; fewer effective ones of as many samples mean
autocorrelation."""
_WARM_UP_SHARE = 0.2
_STEADY = 0.03
_THREADS = "thread_bandwidth"
"""Columns of this metric are evidence, not figures."""


@dataclass(frozen=True)
class Conclusion:
    """The outcome of a measurement that gave a figure."""

    metric: str
    estimate: Estimate
    stop: Stop
    samples: list[float]
    figures: list[Figure]
    evidence: Evidence


@dataclass
class _Rows:
    """The kept rows of one series, over all visits."""

    columns: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    """By metric and part."""
    durations: list[float] = field(default_factory=list)
    watched: bool = False
    """Somebody looked whether rows were disturbed."""
    disturbed: int = 0
    """Disturbed rows that were kept."""
    replaced: int = 0
    """Disturbed rows that were dropped."""
    warm_up: int = 0
    unsettled: int = 0
    """Visits in whose warm-up no two successive rows agreed."""

    def values(self, key: tuple[str, str]) -> list[float]:
        """Return what a column has of the kept rows."""
        return [value for value in self.columns[key] if value is not None]


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
    estimate = estimate_median(samples)
    evidence = merged_evidence(visits)
    evidence = evidence.model_copy(update=_evidence_of_rows(spec, series))
    notes = [*(evidence.notes or []), *_notes(estimate, samples, first, len(visits))]
    return Conclusion(
        metric=headline[0],
        estimate=estimate.widened(spec.type_b),
        stop=_stop(spec.sampling, cut or visits[-1].interrupted, estimate, first),
        samples=samples,
        figures=list(_figures(spec, series, headline)),
        evidence=evidence.model_copy(update={"notes": notes or None}),
    )


def is_precise(sampling: Sampling, visits: Sequence[Visit]) -> bool:
    """Return whether the headline's interval is as narrow as asked, over enough rows."""
    rows = next(iter(_kept(sampling, visits, only_first=True).values()))
    samples = rows.values(next(iter(rows.columns)))
    return bool(samples) and _precise(sampling, estimate_median(samples), rows)


def _precise(sampling: Sampling, estimate: Estimate, rows: _Rows) -> bool:
    undisturbed = len(rows.durations) - rows.disturbed
    return undisturbed >= MIN_ROWS and estimate.relative_half_width <= sampling.precision


def _stop(sampling: Sampling, cut: bool, estimate: Estimate, rows: _Rows) -> Stop:
    if cut:
        return "interrupted"
    return "precision" if _precise(sampling, estimate, rows) else "budget"


def _kept(
    sampling: Sampling, visits: Sequence[Visit], only_first: bool = False
) -> dict[str, _Rows]:
    """Return the kept rows of each series, by its name, the first one first."""
    found: dict[str, list[tuple[Series, int, bool]]] = {}
    for visit in visits:
        for number, series in enumerate(visit.series[:1] if only_first else visit.series):
            warm_up, settled = _warm_up(series, sampling) if number == 0 else (0, True)
            found.setdefault(series.name, []).append((series, warm_up, settled))
    return {name: _rows(parts) for name, parts in found.items()}


def _rows(parts: list[tuple[Series, int, bool]]) -> _Rows:
    """Join what the visits have of one series."""
    rows = _Rows(
        watched=any(series.disturbed is not None for series, _, _ in parts),
        warm_up=sum(warm_up for _, warm_up, _ in parts),
        unsettled=sum(not settled for _, _, settled in parts),
    )
    flagged = [set(series.disturbed or ()) for series, _, _ in parts]
    warm = [range(warm_up, len(series.starts)) for series, warm_up, _ in parts]
    total = sum(len(numbers) for numbers in warm)
    marked = sum(n in bad for numbers, bad in zip(warm, flagged, strict=True) for n in numbers)
    drop = total - marked >= MIN_ROWS
    rows.replaced, rows.disturbed = (marked, 0) if drop else (0, marked)
    for (series, _, _), numbers, bad in zip(parts, warm, flagged, strict=True):
        kept = [n for n in numbers if n not in bad] if drop and bad else list(numbers)
        before = len(rows.durations)
        rows.durations += [series.durations[n] for n in kept]
        for column in series.columns:
            values = rows.columns.setdefault((column.metric, column.part), [None] * before)
            values += [column.values[n] for n in kept]
        for values in rows.columns.values():  # of a column that this visit lacks
            values += [None] * (len(rows.durations) - len(values))
    return rows


def _warm_up(series: Series, sampling: Sampling) -> tuple[int, bool]:
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
    spec: MeasurementSpec, series: dict[str, _Rows], headline: tuple[str, str]
) -> Iterator[Figure]:
    for rows in series.values():
        for key in rows.columns:
            metric, part = key
            values = rows.values(key)
            if key == headline or metric == _THREADS or not values:
                continue
            estimate = estimate_median(values).widened(spec.type_b)
            yield Figure(
                metric=metric,
                part=part,
                unit=METRICS[metric].unit,
                estimate=estimate.value,
                ci_low=estimate.low,
                ci_high=estimate.high,
            )


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


def _notes(estimate: Estimate, samples: list[float], rows: _Rows, visits: int) -> Iterator[str]:
    whole = int(estimate.effective_n)
    if whole < MIN_FOR_RANKS:
        what = "few" if len(samples) < _MIN_UNCORRELATED else "autocorrelated"
        how = "Student's t interval" if whole > 1 else "the interval is their range"
        yield f"{what} samples (effective n = {whole}): {how}"
    if rows.unsettled:
        where = "" if visits == 1 else f" of {rows.unsettled} of {visits} visits"
        yield f"no two successive samples agreed in the warm-up{where}"
