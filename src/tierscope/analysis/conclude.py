"""Conclude a measurement from its repetitions: figures, intervals, merged evidence.

All columns and distributions of a series are estimated over exactly the same samples. Two kinds of
samples are left out:

- Warm-up: of the first series of each repetition, as many samples as all repetitions together show
  (``warm_up``). Its further series start warm.
- Disturbed samples, unless all are. A series whose tails dropping would hide keeps them always.
  Where the undisturbed ones are too few for an interval, and a single thread that never sleeps did
  all the work, all samples count by the CPU time that it had: a time that was 1 ms by the clock
  while others ran for half of it was 0.5 ms. What others leave behind in caches stays in it.

A figure has no interval where it would be that of something else: where all samples were disturbed
and do not count by CPU time, or where samples still change by much when repetitions end.

Repetitions are followed by interim analyses, and the luckiest one must not decide. So a figure is
precise only where an interval of 99% is as narrow as asked, and many repetitions made it. Of the
error of 5%, 1% is spent on interim analyses, 4% remain for the interval that is reported."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TypeVar

from tierscope.analysis import distribution
from tierscope.analysis.estimate import Estimate, estimate_median
from tierscope.analysis.modes import find_modes
from tierscope.analysis.observed import merged_evidence
from tierscope.analysis.warm_up import WarmUp, warm_up
from tierscope.model.event import Column, Evidence, Repetition, Series
from tierscope.model.evidence import Mode
from tierscope.model.histogram import Histogram
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, MergedDistribution, Stop
from tierscope.model.spec import MeasurementSpec, Sampling

_MIN_EFFECTIVE = 6
"""Effective samples below which no figure is precise."""
_FEW_SAMPLES = 12
"""Samples that are few even if they are independent."""
_FIRST_ANALYSIS = 4
"""Repetitions that say whether they are long enough."""
_MIN_REPETITIONS = 12
"""Repetitions before a figure can be precise: a quarter of all pages, or of all times, that give
another figure is in them with a probability of 97%."""
_MIN_SPAN_S = 2.0
"""Time from the first repetition to the last before a figure can be precise: one that is measured
alone may be in the same mode for a second."""
_MIN_STEADY_REPETITIONS = 8
"""The same where the interval is much narrower than asked, so that it needs no luck."""
_STEADY_SHARE = 0.25
"""Maximum width of such an interval, as a share of the precision asked for."""
_INTERIM_ERROR = 0.01
_ERROR = 0.04
_MAX_CORRELATION = 0.3
"""Correlation between repetitions above which no figure is precise, but for steady ones."""
_MAX_RANGE = 5
"""Range of repetitions' medians, in multiples of the precision, above which no figure is precise:
then a narrow interval is luck."""
_FAR_APART = 10
"""Time between repetitions, in multiples of their own, from which on they do not continue each
other."""
_STEADY = 0.03
_NONE = WarmUp(0)
_FEW_CHANGES = 8
"""Changes between two modes below which the share of each is not known."""
_MIN_CHANGES = 3
"""Changes below which two modes may be a drift from one value to another."""
_BEYOND = 2
"""By how much more a figure changes after the samples than within them, where it still does: an
exponential approach to an end that takes as long as the samples do."""
_POWERS = {"ns": 1, "B/s": -1, "1/s": -1}
"""Powers of the share of CPU time, by unit, that correct a figure for the rest."""
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
    warm_up: WarmUp = _NONE
    pages: list[int] = field(default_factory=list)
    """A number for each repetition's set of pages."""
    apart: bool = False
    """The repetitions were far apart."""
    span_s: float = 0.0
    """From the beginning of the first repetition to that of the last; infinite where unknown."""
    keep_disturbed: bool = False
    """Disturbed samples count as the others do."""
    by_cpu_time: bool = False
    """Values count by the CPU time that the thread had."""
    cpu_shares: list[float] = field(default_factory=list)
    """Of the time of each kept sample, what the thread that lost most had."""

    def of_repetitions(self, key: tuple[str, str]) -> list[list[float]]:
        """Return what a column has of the kept samples, repetition by repetition."""
        return [[value for value in samples if value is not None] for samples in self.columns[key]]

    def values(self, key: tuple[str, str]) -> list[float]:
        """Return what a column has of the kept samples."""
        return [value for samples in self.of_repetitions(key) for value in samples]

    def estimate(self, key: tuple[str, str], error: float = _ERROR) -> Estimate:
        """Estimate a column that has a value."""
        repetitions = self.of_repetitions(key)
        found = estimate_median(repetitions, error, self.apart, self.pages)
        modes = find_modes(repetitions)
        if modes and modes.changes < _FEW_CHANGES:
            found = found.covering(modes.low, modes.high)
        return self.doubted(found, self.by_cpu_time)

    def modes(self, key: tuple[str, str]) -> list[Mode] | None:
        """Return the two modes of a column, the faster one first; None for one."""
        found = find_modes(self.of_repetitions(key))
        if found is None or found.changes < _MIN_CHANGES:
            return None
        modes = [
            Mode(share=found.share_high, value=found.high),
            Mode(share=1 - found.share_high, value=found.low),
        ]
        return modes if METRICS[key[0]].better == "higher" else modes[::-1]

    def doubted(self, estimate: Estimate, by_cpu_time: bool = False) -> Estimate:
        """Return an estimate without the interval that would be that of something else."""
        if self.disturbed and not (self.keep_disturbed or by_cpu_time):
            return estimate.without("disturbed")
        if not self.warm_up.settled:
            return estimate.without("unsettled")
        # By a factor, so that the interval stays above 0 however large the change is.
        drift = max(-1.0, min(self.warm_up.drift, 1.0))
        return estimate.scaled(math.exp(_BEYOND * drift))


@dataclass(frozen=True)
class InterimAnalysis:
    """Precision of a figure between two repetitions."""

    precise: bool
    relative_half_width: float
    """Half-width of the interval that decides, relative; infinite where there is none."""
    too_short: bool = False
    """Repetitions are likely too short for their warm-up."""


def conclude(
    spec: MeasurementSpec, repetitions: Sequence[Repetition], cut: bool = False
) -> Conclusion:
    """Return what a measurement's repetitions, at least one, come to.

    ``cut`` says that further repetitions were due and did not come. Raises ValueError where no
    sample has a value of the headline, or most have 0: rates of samples in which no operation
    ended."""
    series = _kept(spec, repetitions)
    first = next(iter(series.values()))
    headline = next(iter(first.columns))
    samples = first.values(headline)
    if not samples:
        raise ValueError(f"no sample has a value of {headline[0]}")
    estimate = first.estimate(headline)
    if not estimate.value:
        each = f"{1e3 * median(first.durations):.3g} ms"
        raise ValueError(
            f"no operation ended in most samples of {each}: give longer samples or rounds"
        )
    if estimate.low is not None and estimate.low <= 0:
        estimate = estimate.without("idle-samples")
    evidence = merged_evidence(repetitions, spec.own_evidence)
    evidence = evidence.model_copy(
        update={"modes": first.modes(headline), **_evidence_of_samples(spec, series)}
    )
    notes = [*(evidence.notes or []), *_notes(spec, estimate, samples, first, len(repetitions))]
    stop: Stop = "precision" if _interim(spec.sampling, first).precise else "budget"
    return Conclusion(
        figures=[
            _figure(*headline, estimate.widened(spec.type_b)),
            *_figures(spec, series, headline),
            *_figures_of_distributions(spec, series),
        ],
        stop="interrupted" if cut or repetitions[-1].interrupted else stop,
        samples=samples,
        distributions=list(_merged(series)),
        evidence=evidence.model_copy(update={"notes": notes or None}),
    )


def interim_analysis(
    spec: MeasurementSpec, repetitions: Sequence[Repetition]
) -> InterimAnalysis | None:
    """Return how precisely the headline of repetitions is known; None where they are too few."""
    if len(repetitions) < _FIRST_ANALYSIS:
        return None
    kept = _kept(spec, repetitions, headline_only=True)
    return _interim(spec.sampling, next(iter(kept.values())))


def _interim(sampling: Sampling, kept: _Kept) -> InterimAnalysis:
    key = next(iter(kept.columns))
    medians = [median(values) for values in kept.of_repetitions(key) if values]
    too_short = kept.warm_up.too_short
    if not medians:
        return InterimAnalysis(False, math.inf, too_short)
    found = kept.estimate(key, _INTERIM_ERROR)
    steady = found.relative_half_width <= _STEADY_SHARE * sampling.precision
    precise = (
        found.relative_half_width <= sampling.precision
        and len(medians) >= (_MIN_STEADY_REPETITIONS if steady else _MIN_REPETITIONS)
        and found.effective_n >= _MIN_EFFECTIVE
        and (steady or found.correlation <= _MAX_CORRELATION)
        and max(medians) - min(medians) <= _MAX_RANGE * sampling.precision * found.value
        and kept.warm_up.trend <= 2 * sampling.precision
        and kept.span_s >= _MIN_SPAN_S
    )
    return InterimAnalysis(precise, found.relative_half_width, too_short)


def _kept(
    spec: MeasurementSpec, repetitions: Sequence[Repetition], headline_only: bool = False
) -> dict[str, _Kept]:
    """Return the kept samples of each series, by its name, the first one first.

    ``headline_only``: of the first column of the first series, which an interim analysis after each
    repetition asks for; threads and further series may be many.
    """
    many = 1 if headline_only else None
    found: dict[str, list[tuple[int, Series]]] = {}
    for number, repetition in enumerate(repetitions):
        for series in repetition.series[:many]:
            found.setdefault(series.name, []).append((number, series))
    apart = _far_apart(repetitions)
    first_s, last_s = repetitions[0].at_s, repetitions[-1].at_s
    span_s = math.inf if first_s is None or last_s is None else last_s - first_s
    sets = list(itertools.accumulate(repetition.fresh for repetition in repetitions))
    kept: dict[str, _Kept] = {}
    for parts in found.values():
        numbers, own = zip(*parts, strict=True)
        cold = warm_up(own, spec.sampling.precision) if not kept else _NONE
        pages = [sets[number] for number in numbers]
        for by_cpu_time in (False, True) if spec.by_cpu_time() else (False,):
            one = _samples(own, cold, many, by_cpu_time)
            one.apart, one.pages, one.span_s = apart, pages, span_s
            kept[own[0].name] = one
            if not (one.replaced or one.disturbed) or not _has_no_interval(one):
                break
    return kept


def _has_no_interval(samples: _Kept) -> bool:
    key = next(iter(samples.columns))
    return not samples.values(key) or samples.estimate(key).low is None


def _far_apart(repetitions: Sequence[Repetition]) -> bool:
    """Return whether so much time lies between repetitions that they do not continue each other."""
    known = [(repetition.at_s, repetition.seconds) for repetition in repetitions]
    gaps = [
        (later - at - seconds) / max(seconds, 1e-9)
        for (at, seconds), (later, _) in itertools.pairwise(known)
        if at is not None and later is not None
    ]
    return len(gaps) == len(repetitions) - 1 > 0 and median(gaps) >= _FAR_APART


def _samples(
    parts: Sequence[Series], cold: WarmUp, many: int | None = None, by_cpu_time: bool = False
) -> _Kept:
    """Join what the repetitions have of one series, of so many columns; None: of all that it has,
    and of its distributions."""
    samples = _Kept(
        watched=any(series.lost is not None for series in parts),
        warm_up=cold,
        keep_disturbed=any(series.keep_disturbed for series in parts),
        by_cpu_time=by_cpu_time,
    )
    flagged = [series.disturbed() for series in parts]
    # The last sample is never left out, so that each repetition gives one.
    warm = [
        range(min(cold.samples, len(series.starts) - 1), len(series.starts)) for series in parts
    ]
    total = sum(len(numbers) for numbers in warm)
    marked = sum(n in bad for numbers, bad in zip(warm, flagged, strict=True) for n in numbers)
    drop = total > marked and not (samples.keep_disturbed or by_cpu_time)
    samples.replaced, samples.disturbed = (marked, 0) if drop else (0, marked)
    for repetition, (series, numbers, bad) in enumerate(zip(parts, warm, flagged, strict=True)):
        kept = [n for n in numbers if n not in bad] if drop and bad else list(numbers)
        samples.durations += [series.durations[n] for n in kept]
        lost = series.lost or [0.0] * len(series.starts)
        samples.cpu_shares += [1 - lost[n] for n in kept]
        found = {
            (c.metric, c.part): _by_cpu_time(c, lost) if by_cpu_time else c.values
            for c in series.columns[:many]
        }
        _add(samples.columns, repetition, found, kept)
        if many is None:
            timed = {(d.metric, d.part): d.samples for d in series.distributions or ()}
            _add(samples.distributions, repetition, timed, kept)
    return samples


def _by_cpu_time(column: Column, lost: Sequence[float]) -> list[float | None]:
    """Return a column's times and rates as they are by the CPU time that was not lost."""
    power = _POWERS.get(METRICS[column.metric].unit, 0)
    return [
        None if value is None or share == 1 else value * (1 - share) ** power
        for value, share in zip(column.values, lost, strict=True)
    ]


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


def _figures(
    spec: MeasurementSpec, series: dict[str, _Kept], headline: tuple[str, str]
) -> Iterator[Figure]:
    for samples in series.values():
        for key in samples.columns:
            metric, part = key
            if key == headline or metric == _THREADS or not samples.values(key):
                continue
            yield _figure(metric, part, samples.estimate(key).widened(spec.type_b))


def _figures_of_distributions(spec: MeasurementSpec, series: dict[str, _Kept]) -> Iterator[Figure]:
    for samples in series.values():
        for (metric, part), repetitions in samples.distributions.items():
            for name, found in distribution.estimates(
                repetitions, _ERROR, samples.apart, samples.pages
            ):
                estimate = samples.doubted(found).widened(spec.type_b)
                yield _figure(f"{metric}_{name}", part, estimate)


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
        found["cpu_share"] = round(fmean(first.cpu_shares), 3)
        found["by_cpu_time"] = first.by_cpu_time or None
    if spec.steady:
        found["settled"] = first.warm_up.settled and all(
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
    if len(kept.pages) > 1 and len(set(kept.pages)) == 1 and any(spec.regions()):
        yield "one set of pages: other pages may give another figure"
