"""Which figures are of transfers that ran at the same time as others."""

from tierscope.model.run import Measurement
from tierscope.model.transfers import SUM


def shared(measurement: Measurement) -> bool:
    """Return whether other transfers ran at the same time, so that a figure is no path's own."""
    return "way" in measurement.pattern or "transfers" in measurement.pattern


def is_sum(measurement: Measurement) -> bool:
    """Return whether it sums up several transfers, and its endpoints name all of theirs."""
    return str(measurement.pattern.get("transfers", "")).startswith(SUM)
