"""What the visits of a measurement of storage come to: bytes, operations, time, latency."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tierscope.model.event import Series, Visit
from tierscope.model.histogram import values_of

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


def totals_of(visits: Iterable[Visit], parts: Sequence[str] = ("",)) -> Totals:
    """Add up what the named parts moved; "" is the whole."""
    moved = operations = seconds = waited = 0.0
    for visit in visits:
        series = visit.series[0]
        seconds += sum(series.durations)
        for part in parts:
            counts = _over_rows(series, "iops", part)
            moved += sum(_over_rows(series, "bandwidth", part))
            operations += sum(counts)
            waited += _waited_ns(series, part, counts)
    latency_s = waited * 1e-9 / operations if operations else 0.0
    return Totals(round(moved), round(operations), seconds, latency_s)


def _over_rows(series: Series, metric: str, part: str) -> list[float]:
    """Return a rate's values times the rows' durations."""
    values = _column(series, metric, part)
    return [(value or 0.0) * s for value, s in zip(values, series.durations, strict=True)]


def _waited_ns(series: Series, part: str, counts: Sequence[float]) -> float:
    """Return the time of a part's operations together: by its distribution, else by its mean."""
    for distribution in series.distributions or []:
        if (distribution.metric, distribution.part) == (_LATENCY, part):
            return sum(map(_sum_ns, distribution.rows))
    means = _column(series, f"{_LATENCY}_mean", part)
    return sum(count * (mean or 0.0) for count, mean in zip(counts, means, strict=True))


def _sum_ns(histogram: Sequence[int]) -> float:
    pairs = zip(histogram[::2], histogram[1::2], strict=True)
    return sum(sum(values_of(bucket)) / 2 * count for bucket, count in pairs)


def _column(series: Series, metric: str, part: str) -> Sequence[float | None]:
    for column in series.columns:
        if (column.metric, column.part) == (metric, part):
            return column.values
    return [0.0] * len(series.durations)
