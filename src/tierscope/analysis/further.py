"""Further figures in the place of headlines, which rules and comparisons judge."""

from collections.abc import Iterable, Iterator

from tierscope.model.metric import COMPARED
from tierscope.model.run import Figure, Measurement


def as_measurement(measurement: Measurement, figure: Figure) -> Measurement:
    """Return one of a measurement's further figures in the place of its headline.

    Its pattern has ``metric``, and ``part`` where there is one, so that identities differ.
    """
    named = {"metric": figure.metric} | ({"part": figure.part} if figure.part else {})
    return measurement.model_copy(
        update={
            **figure.model_dump(include={"metric", "unit", "estimate", "ci_low", "ci_high"}),
            "no_interval": figure.no_interval,
            "pattern": {**measurement.pattern, **named},
            "samples": [],
            "figures": [],
            "distributions": None,
            "limit": None,
            "efficiency": None,
            "bound_by": None,
        }
    )


def is_further(measurement: Measurement) -> bool:
    """Return whether ``as_measurement`` made it."""
    return "metric" in measurement.pattern


def with_percentiles(measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    """Yield each measurement, followed by the percentiles of its operations that are compared."""
    for m in measurements:
        yield m
        yield from (as_measurement(m, figure) for figure in m.figures if figure.metric in COMPARED)
