"""Totals of the repetitions of a storage measurement: bytes, operations, time, latency."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.model.event import Repetition, Series
from tierscope.model.histogram import Histogram, values_of

_LATENCY = "io_latency"


@dataclass(frozen=True)
class Totals:
    """Sums over all samples of all repetitions; set-up is in none of them."""

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
    moved, rated, seconds = _of_rates(repetitions, parts)
    times = [
        row
        for repetition in repetitions
        for row in histograms(repetition.series[0], _LATENCY, parts)
    ]
    operations = sum(sum(histogram[1::2]) for histogram in times)
    if not operations or not rated:
        return Totals(round(moved), round(rated), seconds, 0.0)
    waited = sum(map(_sum_ns, times))
    mean_size = moved / rated
    return Totals(round(mean_size * operations), operations, seconds, waited * 1e-9 / operations)


def _of_rates(
    repetitions: Sequence[Repetition], parts: Sequence[str]
) -> tuple[float, float, float]:
    """Return bytes and operations, from rates and durations of samples, and seconds."""
    moved = operations = seconds = 0.0
    for repetition in repetitions:
        series = repetition.series[0]
        seconds += sum(series.durations)
        for part in parts:
            moved += over_samples(series, "bandwidth", part)
            operations += over_samples(series, "iops", part)
    return moved, operations, seconds


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


def _sum_ns(histogram: Histogram) -> float:
    pairs = zip(histogram[::2], histogram[1::2], strict=True)
    return sum(sum(values_of(bucket)) / 2 * count for bucket, count in pairs)
