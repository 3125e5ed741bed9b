"""What the visits of a measurement of the kind io come to: bytes, operations, time, latency."""

from collections.abc import Iterable
from dataclasses import dataclass

from tierscope.model.event import Series, Visit


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


def totals_of(visits: Iterable[Visit], parts: Iterable[str] = ("",)) -> Totals:
    """Add up what the named parts moved; "" is the whole."""
    wanted = set(parts)
    moved = operations = seconds = waited = 0.0
    for visit in visits:
        series = visit.series[0]
        seconds += sum(series.durations)
        for part in wanted:
            counts = _of_rows(series, "iops", part)
            moved += sum(_of_rows(series, "bandwidth", part))
            operations += sum(counts)
            mean = _column(series, "latency_mean", part)
            waited += sum(c * (v or 0.0) for c, v in zip(counts, mean, strict=True))
    latency_s = waited * 1e-9 / operations if operations else 0.0
    return Totals(moved, round(operations), seconds, latency_s)


def _of_rows(series: Series, metric: str, part: str) -> list[float]:
    """Return a rate's values times the rows' durations."""
    values = _column(series, metric, part)
    return [(v or 0.0) * s for v, s in zip(values, series.durations, strict=True)]


def _column(series: Series, metric: str, part: str) -> list[float | None]:
    for column in series.columns:
        if (column.metric, column.part) == (metric, part):
            return column.values
    return [0.0] * len(series.durations)
