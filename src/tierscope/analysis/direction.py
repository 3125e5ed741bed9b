"""Which direction of a figure is better."""

from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement


def lower_is_better(measurement: Measurement) -> bool:
    """Whether the lower of two figures is better, by its metric.

    A file of another version may have metrics that this one does not know: of those, times are
    better when lower.
    """
    known = METRICS.get(measurement.metric or "")
    return known.better == "lower" if known else measurement.unit == "ns"
