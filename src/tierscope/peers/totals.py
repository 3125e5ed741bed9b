"""Totals of the repetitions of a storage measurement: bytes, operations, time, latency."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.analysis.distribution import Counts, merged
from tierscope.model.event import Repetition, Series
from tierscope.model.histogram import Histogram


@dataclass(frozen=True)
class Totals:
    """Sums over all samples of all repetitions, without set-up."""

    bytes: float
    operations: int
    seconds: float
    """Duration of all samples."""
    latency_s: float
    """Mean latency of an operation."""

    @property
    def bandwidth(self) -> float:
        """bytes/s."""
        return self.bytes / self.seconds if self.seconds else 0.0


def totals_of(repetitions: Sequence[Repetition], parts: Sequence[str] = ("",)) -> Totals:
    """Add up parts of figures, all jobs unless told otherwise.

    Operations and their latency come from the distributions, exactly.
    """
    series = [repetition.series[0] for repetition in repetitions]
    seconds = sum(sum(one.durations) for one in series)
    moved, rated = (
        sum(over_samples(one, metric, part) for one in series for part in parts)
        for metric in ("bandwidth", "iops")
    )
    times = Counts(merged([[*histograms(one, "io_latency", parts)] for one in series]))
    if not times.total or not rated:
        return Totals(round(moved), round(rated), seconds, 0.0)
    mean_size = moved / rated
    latency = times.sum() * 1e-9 / times.total
    return Totals(round(mean_size * times.total), times.total, seconds, latency)


def rates(series: Series, metric: str, part: str) -> list[float]:
    """Return the values of a part in all samples; 0 where there are none."""
    for column in series.columns:
        if (column.metric, column.part) == (metric, part):
            return [value or 0.0 for value in column.values]
    return [0.0] * len(series.durations)


def over_samples(series: Series, metric: str, part: str) -> float:
    """Return the integral of the rates of a part over all samples."""
    pairs = zip(rates(series, metric, part), series.durations, strict=True)
    return sum(rate * seconds for rate, seconds in pairs)


def histograms(series: Series, metric: str, parts: Sequence[str]) -> Iterator[Histogram]:
    """Yield the histograms of parts in all samples."""
    for distribution in series.distributions or []:
        if distribution.metric == metric and distribution.part in parts:
            yield from distribution.samples
