"""What hosts of a fleet moved together: rows of the table ``together``."""

from typing import Any

from tierscope.model.base import Count, Model
from tierscope.model.metric import Unit
from tierscope.model.run import NoInterval


class TogetherFigure(Model):
    """A figure of all hosts together: a row of the table."""

    kind: str
    id: str
    initiator: str
    target: str
    pattern: dict[str, Any]
    metric: str
    part: str
    unit: Unit
    headline: bool
    """It is the measurement's main figure."""
    estimate: float
    """Of rates the median of the sum over hosts; of times over all hosts' operations."""
    ci_low: float | None
    ci_high: float | None
    no_interval: NoInterval | None
    mean: float | None
    """Of rates: all that was moved over all of the common time."""
    fairness: float | None
    """Of rates: Jain's index, 1/hosts to 1."""
    slowest: float | None
    """Mean rate of the host that got least,"""
    slowest_host: str | None
    fastest: float | None
    fastest_host: str | None
    hosts: Count
    visits: Count
    """That all these hosts made at the same time,"""
    left_out: Count
    """and those that they did not."""
    seconds: float
    """Of common time."""
    common: float
    """Share of these visits' own time that was common, 0..1."""
    clocks_ns: float
    """By how much a host's clock may be off rank 0's."""
    stores: list[str]
    """Type and source of the mounts that the target is on."""
