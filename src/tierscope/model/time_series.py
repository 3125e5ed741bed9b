"""Measurements whose repetitions are rounds of a time series."""

from typing import Annotated, Literal

from pydantic import Field

from tierscope.model.base import Model


class TimeSeries(Model):
    """Repetitions that are rounds of a time series: they are made one after the other, in the
    plan's order and before all other measurements.

    Series of one ``group`` make their rounds in turn, and end together.
    """

    until: Literal["written", "steady"]
    """written: it ends once ``passes`` are written; steady: once its last five rounds are steady,
    too (SNIA PTS), or its budget is spent."""
    of: Literal["rate", "time"] = "rate"
    """What is steady: the rounds' rates; or the mean time of an operation in each round, of one
    operation in flight."""
    passes: Annotated[float, Field(gt=0, le=100)]
    """Least amount written before it may end, in multiples of the bytes that it goes over; in a
    group, nothing."""
    group: Annotated[str, Field(max_length=100)] = ""
    """Name of the group; empty: it is alone."""
    tracked: bool = False
    """In a group, it has to be steady for the group to end."""
    round_s: Annotated[float, Field(gt=0, le=3600)]
    """Seconds of a round."""
