"""Conclude a measurement from its repetitions: figures, intervals, merged evidence.

All columns and distributions of a series are estimated over exactly the same samples. Two kinds of
samples are left out:

- Warm-up: of the first series of each repetition, the samples until two successive ones agree
  within twice
  the precision, for a fifth of the repetition at most. Its further series start warm.
- Disturbed samples, where at least 6 undisturbed ones remain; else all are kept, and counted. A
  series
  whose tails dropping would hide keeps them always.

Each repetition is followed by an interim analysis, and the luckiest one must not decide. So it is
precise only where an interval of 99% is as narrow as asked. Of the error of 5%, 1% is spent on
interim analyses, 4% remain for the interval that is reported. And what an interim analysis decides
by is not reported: every other repetition's scatter decides, that of the others makes the interval.
So the interval of a figure that is precise holds as often as any other, however unlikely it was
that its repetitions agreed."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from tierscope.analysis import distribution
from tierscope.analysis.estimate import ALL, DECIDING, REPORTING, Estimate, estimate_median
from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import Column, Evidence, Repetition, Series
from tierscope.model.histogram import Histogram
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, MergedDistribution, Stop
from tierscope.model.spec import MeasurementSpec, Sampling

MIN_UNDISTURBED = 6
"""Undisturbed samples from which on disturbed ones are left out."""
_MIN_EFFECTIVE = 6
"""Effective samples below which no figure is precise."""
_FEW_SAMPLES = 12
"""Samples that are few even if they are independent."""
MIN_REPETITIONS = 5
_MIN_REPETITIONS_HALVED = 12
"""Repetitions before a figure can be precise. Where the interval is much narrower than asked, no
luck is needed, and five are enough; else either half of them has to tell how much repetitions
scatter."""
_STEADY_SHARE = 0.25
"""Maximum width of such an interval, as a share of the precision asked for."""
_INTERIM_ERROR = 0.01
_ERROR = 0.04
_MAX_CORRELATION = 0.15
"""Correlation between repetitions above which no figure is precise."""
_MAX_RANGE = 5
"""Range of repetitions' medians, in multiples of the precision, above which no figure is precise:
then a narrow interval is luck."""
_FAR_APART = 10
"""Time between repetitions, in multiples of their own, from which on they do not continue each
other."""
_WARM_UP_SHARE = 0.2
_STEADY = 0.03
_T = TypeVar("_T")
_THREADS = "thread_bandwidth"
"""Columns of this metric are evidence, not figures."""


@dataclass(frozen=True)
class Conclusion:
    """The outcome of a measurement that gave a figure."""

    figures: list[Figure]
    """The headline first."""
    stop: Stop | None
    """None: of what was observed, which ends when it is told to."""
    samples: list[float]
    """Samples of the headline."""
    distributions: list[MergedDistribution]
    evidence: Evidence


@dataclass
class _Kept:
    """The kept samples of one series, repetition by repetition."""

    columns: dict[tuple[str, str], list[list[float | None]]] = field(default_factory=dict)
    """By metric and part, one list for each repetition."""
    distributions: dict[tuple[str, str], list[list[Histogram]]] = field(default_factory=dict)
    """In the same way."""
    durations: list[float] = field(default_factory=list)
    watched: bool = False
    """Somebody looked whether samples were disturbed."""
    disturbed: int = 0
    """Disturbed samples that were kept."""
    replaced: int = 0
    """Disturbed samples that were dropped."""
    unsettled: int = 0
    """Repetitions in whose warm-up no two successive samples agreed."""
    apart: bool = False
    """The repetitions were far apart."""
    keep_disturbed: bool = False
    """Disturbed samples count as the others do."""

    def of_repetitions(self, key: tuple[str, str]) -> list[list[float]]:
        """Return what a column has of the kept samples, repetition by repetition."""
        return [[value for value in samples if value is not None] for samples in self.columns[key]]

    def values(self, key: tuple[str, str]) -> list[float]:
        """Return what a column has of the kept samples."""
        return [value for samples in self.of_repetitions(key) for value in samples]

    def estimate(self, key: tuple[str, str], scatter_of: slice) -> Estimate:
        """Estimate a column that has a value."""
        return estimate_median(self.of_repetitions(key), _ERROR, self.apart, scatter_of)


@dataclass(frozen=True)
class InterimAnalysis:
    """Precision of a figure between two repetitions."""

    precise: bool
    relative_half_width: float
    """Half-width of the interval that decides, relative; infinite where there is none."""
    report: slice
    """The repetitions whose scatter makes the interval that is reported."""


def conclude(
    spec: MeasurementSpec, repetitions: Sequence[Repetition], cut: bool = False
) -> Conclusion:
    """Return what a measurement's repetitions, at least one, come to.

    ``cut`` says that further repetitions were due and did not come. Raises ValueError where no
    sample has a value of the headline."""
    series = _kept(spec.sampling, repetitions)
    first = next(iter(series.values()))
    headline = next(iter(first.columns))
    samples = first.values(headline)
    if not samples:
        raise ValueError(f"no sample has a value of {headline[0]}")
    interim = _interim(spec.sampling, first)
    estimate = first.estimate(headline, interim.report)
    evidence = merged_evidence(repetitions, spec.own_evidence)
    evidence = evidence.model_copy(update=_evidence_of_samples(spec, series))
    notes = [*(evidence.notes or []), *_notes(spec, estimate, samples, first, len(repetitions))]
    stop: Stop = "precision" if interim.precise else "budget"
    return Conclusion(
        figures=[
            _figure(*headline, estimate.widened(spec.type_b)),
            *_figures(spec, series, headline, interim.report),
            *_figures_of_distributions(spec, series, interim.report),
        ],
        stop="interrupted" if cut or repetitions[-1].interrupted else stop,
        samples=samples,
        distributions=list(_merged(series)),
        evidence=evidence.model_copy(update={"notes": notes or None}),
    )


def interim_analysis(sampling: Sampling, repetitions: Sequence[Repetition]) -> InterimAnalysis:
    """Return how precisely the headline of repetitions, at least one, is known."""
    return _interim(sampling, next(iter(_kept(sampling, repetitions, headline_only=True).values())))


def _interim(sampling: Sampling, kept: _Kept) -> InterimAnalysis:
    headline = kept.of_repetitions(next(iter(kept.columns)))
    if not any(headline):
        return InterimAnalysis(False, math.inf, ALL)
    found = estimate_median(headline, _INTERIM_ERROR, kept.apart)
    medians = [median(values) for values in headline if values]
    report = ALL
    if found.relative_half_width > _STEADY_SHARE * sampling.precision:
        if len(medians) < _MIN_REPETITIONS_HALVED:
            return InterimAnalysis(False, found.relative_half_width, ALL)
        found = estimate_median(headline, _INTERIM_ERROR, kept.apart, DECIDING)
        report = REPORTING
    precise = (
        found.relative_half_width <= sampling.precision
        and len(medians) >= MIN_REPETITIONS
        and found.effective_n >= _MIN_EFFECTIVE
        and found.correlation <= _MAX_CORRELATION
        and max(medians) - min(medians) <= _MAX_RANGE * sampling.precision * found.value
        and (kept.keep_disturbed or not kept.disturbed)
    )
    return InterimAnalysis(precise, found.relative_half_width, report if precise else ALL)


def _kept(
    sampling: Sampling, repetitions: Sequence[Repetition], headline_only: bool = False
) -> dict[str, _Kept]:
    """Return the kept samples of each series, by its name, the first one first.

    ``headline_only``: of the first column of the first series, which an interim analysis after each
    repetition asks for; threads and further series may be many.
    """
    many = 1 if headline_only else None
    found: dict[str, list[tuple[Series, int, bool]]] = {}
    for repetition in repetitions:
        for number, series in enumerate(repetition.series[:many]):
            samples, settled = warm_up(series, sampling) if number == 0 else (0, True)
            found.setdefault(series.name, []).append((series, samples, settled))
    apart = _far_apart(repetitions)
    return {name: _samples(parts, apart, many) for name, parts in found.items()}


def _far_apart(repetitions: Sequence[Repetition]) -> bool:
    """Return whether so much time lies between repetitions that they do not continue each other."""
    known = [(repetition.at_s, repetition.seconds) for repetition in repetitions]
    gaps = [
        (later - at - seconds) / max(seconds, 1e-9)
        for (at, seconds), (later, _) in itertools.pairwise(known)
        if at is not None and later is not None
    ]
    return len(gaps) == len(repetitions) - 1 > 0 and median(gaps) >= _FAR_APART


def _samples(parts: list[tuple[Series, int, bool]], apart: bool, many: int | None = None) -> _Kept:
    """Join what the repetitions have of one series, of so many columns; None: of all that it has,
    and of its distributions."""
    samples = _Kept(
        watched=any(series.disturbed is not None for series, _, _ in parts),
        unsettled=sum(not settled for _, _, settled in parts),
        apart=apart,
        keep_disturbed=any(series.keep_disturbed for series, _, _ in parts),
    )
    flagged = [set(series.disturbed or ()) for series, _, _ in parts]
    warm = [range(warm_up, len(series.starts)) for series, warm_up, _ in parts]
    total = sum(len(numbers) for numbers in warm)
    marked = sum(n in bad for numbers, bad in zip(warm, flagged, strict=True) for n in numbers)
    drop = total - marked >= MIN_UNDISTURBED and not samples.keep_disturbed
    samples.replaced, samples.disturbed = (marked, 0) if drop else (0, marked)
    for repetition, ((series, _, _), numbers, bad) in enumerate(
        zip(parts, warm, flagged, strict=True)
    ):
        kept = [n for n in numbers if n not in bad] if drop and bad else list(numbers)
        samples.durations += [series.durations[n] for n in kept]
        found = {(c.metric, c.part): c.values for c in series.columns[:many]}
        _add(samples.columns, repetition, found, kept)
        if many is None:
            timed = {(d.metric, d.part): d.samples for d in series.distributions or ()}
            _add(samples.distributions, repetition, timed, kept)
    return samples


def _add(
    into: dict[tuple[str, str], list[list[_T]]],
    repetition: int,
    found: dict[tuple[str, str], list[_T]],
    kept: list[int],
) -> None:
    """Add the kept samples of a repetition of this number; it may lack what others have."""
    for key, values in found.items():
        into.setdefault(key, [[]] * repetition).append([values[n] for n in kept])
    for repetitions in into.values():
        repetitions += [[]] * (repetition + 1 - len(repetitions))


def warm_up(series: Series, sampling: Sampling) -> tuple[int, bool]:
    """Return how many samples a repetition needed to warm up, and whether it came to that.

    The last sample is never counted, so that each repetition gives one.
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
    spec: MeasurementSpec, series: dict[str, _Kept], headline: tuple[str, str], report: slice
) -> Iterator[Figure]:
    for samples in series.values():
        for key in samples.columns:
            metric, part = key
            if key == headline or metric == _THREADS or not samples.values(key):
                continue
            yield _figure(metric, part, samples.estimate(key, report).widened(spec.type_b))


def _figures_of_distributions(
    spec: MeasurementSpec, series: dict[str, _Kept], report: slice
) -> Iterator[Figure]:
    for samples in series.values():
        for (metric, part), repetitions in samples.distributions.items():
            found = distribution.estimates(repetitions, _ERROR, samples.apart, report)
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


def _merged(series: dict[str, _Kept]) -> Iterator[MergedDistribution]:
    for samples in series.values():
        for (metric, part), repetitions in samples.distributions.items():
            histogram = distribution.merged(repetitions)
            if histogram:
                yield MergedDistribution(metric=metric, part=part, histogram=histogram)


def _evidence_of_samples(spec: MeasurementSpec, series: dict[str, _Kept]) -> dict[str, object]:
    """Return what the samples themselves prove; of disturbance only where somebody looked."""
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
    spec: MeasurementSpec,
    estimate: Estimate,
    samples: list[float],
    kept: _Kept,
    repetitions: int,
) -> Iterator[str]:
    if repetitions == 1:
        yield "one repetition: the interval cannot show how the figure varies between repetitions"
    if estimate.effective_n < _MIN_EFFECTIVE:
        what = "few" if len(samples) < _FEW_SAMPLES else "autocorrelated"
        yield f"{what} samples (effective n = {max(1, int(estimate.effective_n))})"
    if kept.unsettled and spec.rounds() is None:
        where = "" if repetitions == 1 else f" of {kept.unsettled} of {repetitions} repetitions"
        yield f"no two successive samples agreed in the warm-up{where}"
