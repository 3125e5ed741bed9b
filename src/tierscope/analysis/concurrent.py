"""Which figures are of traffic that ran at the same time as other traffic."""

from tierscope.model.run import Measurement
from tierscope.model.transfers import SUM


def shared(measurement: Measurement) -> bool:
    """Return whether other traffic ran at the same time, so that a figure is no path's own."""
    pattern = measurement.pattern
    several = any(key in pattern for key in ("way", "transfers", "together"))
    return several or bool(pattern.get("beside"))


def is_sum(measurement: Measurement) -> bool:
    """Return whether it sums up several transfers, and its endpoints name all of theirs."""
    return str(measurement.pattern.get("transfers", "")).startswith(SUM)
