"""What the visits of a measurement of storage come to: bytes, operations, time, latency."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.model.event import Series, Visit
from tierscope.model.histogram import Histogram, values_of

_LATENCY = "io_latency"


@dataclass(frozen=True)
class Totals:
    """Sums over all rows of all visits; set-up is in none of them."""

    bytes: float
    operations: int
    seconds: float
    """While rows were taken."""
    latency_s: float
    """Mean of an operation."""

    @property
    def bandwidth(self) -> float:
        """bytes/s."""
        return self.bytes / self.seconds if self.seconds else 0.0


def totals_of(visits: Sequence[Visit], parts: Sequence[str] = ("",)) -> Totals:
    """Add up parts of figures, all jobs unless told otherwise.

    Operations and their latency come from the distributions, exactly.
    """
    moved, rated, seconds = _of_rates(visits, parts)
    histograms = [row for visit in visits for row in _latencies(visit.series[0], parts)]
    operations = sum(sum(histogram[1::2]) for histogram in histograms)
    if not operations or not rated:
        return Totals(round(moved), round(rated), seconds, 0.0)
    waited = sum(map(_sum_ns, histograms))
    mean_size = moved / rated
    return Totals(round(mean_size * operations), operations, seconds, waited * 1e-9 / operations)


def _of_rates(visits: Sequence[Visit], parts: Sequence[str]) -> tuple[float, float, float]:
    """Return bytes and operations, by the parts' rates and the rows' durations, and seconds."""
    moved = operations = seconds = 0.0
    for visit in visits:
        series = visit.series[0]
        seconds += sum(series.durations)
        for part in parts:
            moved += _over_rows(series, "bandwidth", part)
            operations += _over_rows(series, "iops", part)
    return moved, operations, seconds


def _over_rows(series: Series, metric: str, part: str) -> float:
    for column in series.columns:
        if (column.metric, column.part) == (metric, part):
            pairs = zip(column.values, series.durations, strict=True)
            return sum((value or 0.0) * seconds for value, seconds in pairs)
    return 0.0


def _latencies(series: Series, parts: Sequence[str]) -> Iterator[Histogram]:
    for distribution in series.distributions or []:
        if distribution.metric == _LATENCY and distribution.part in parts:
            yield from distribution.rows


def _sum_ns(histogram: Histogram) -> float:
    pairs = zip(histogram[::2], histogram[1::2], strict=True)
    return sum(sum(values_of(bucket)) / 2 * count for bucket, count in pairs)
