"""Figures of a watch: means over the time, and one series of samples for each source."""

from collections.abc import Sequence

from tierscope.analysis.conclude import Conclusion
from tierscope.analysis.observed import merged_evidence
from tierscope.model.event import Column, Repetition, Series
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure


def conclude_watched(repetitions: Sequence[Repetition], cut: bool) -> Conclusion:
    """Return what repetitions, at least one, come to: of each column its mean, weighted by time.

    The headline is the first column of the first series. Raises ValueError where it has no value.
    """
    series = joined(repetitions)
    headline = series[0].columns[0]
    samples = [value for value in headline.values if value is not None]
    if not samples:
        raise ValueError(f"no sample has a value of {headline.metric}")
    return Conclusion(
        figures=[
            Figure(
                metric=column.metric,
                part=column.part,
                unit=METRICS[column.metric].unit,
                estimate=mean,
                no_interval="observed",
            )
            for one in series
            for column in one.columns
            if (mean := mean_of(one, column)) is not None
        ],
        stop="interrupted" if cut else None,
        samples=samples,
        distributions=[],
        evidence=merged_evidence(repetitions),
    )


def joined(repetitions: Sequence[Repetition]) -> list[Series]:
    """Return the series of all repetitions, each joined over them; what came or went has no
    value."""
    found: dict[str, list[Series]] = {}
    for repetition in repetitions:
        for series in repetition.series:
            found.setdefault(series.name, []).append(series)
    return [_joined(parts) for parts in found.values()]


def _joined(parts: list[Series]) -> Series:
    columns: dict[tuple[str, str], list[float | None]] = {}
    samples = 0
    for part in parts:
        for column in part.columns:
            key = (column.metric, column.part)
            columns.setdefault(key, [None] * samples).extend(column.values)
        samples += len(part.starts)
        for values in columns.values():
            values += [None] * (samples - len(values))
    return Series(
        name=parts[0].name,
        starts=[start for part in parts for start in part.starts],
        durations=[duration for part in parts for duration in part.durations],
        columns=[
            Column(metric=metric, part=part, values=values)
            for (metric, part), values in columns.items()
        ],
    )


def mean_of(series: Series, column: Column) -> float | None:
    """Return a column's mean over the time in which it had values; None where it had none.

    Rounding never takes it out of the range of the values.
    """
    pairs = zip(column.values, series.durations, strict=True)
    known = [(value, seconds) for value, seconds in pairs if value is not None]
    total = sum(seconds for _, seconds in known)
    if total <= 0:
        return None
    least = min(value for value, _ in known)
    above = sum((value - least) * seconds for value, seconds in known) / total
    return min(least + above, max(value for value, _ in known))
