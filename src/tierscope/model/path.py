"""The way between two endpoints, hop by hop."""

from tierscope.model.base import Model
from tierscope.model.run import Limit
from tierscope.model.topology import PcieLink


class Hop(Model):
    """One link on the way."""

    name: str
    """What the link joins, as a person would say it."""
    limit: Limit | None = None
    """None where nothing tells the rate; ``note`` says why."""
    now: PcieLink | None = None
    """Of a PCIe link: as it runs at the moment."""
    best: PcieLink | None = None
    """Of a PCIe link: what both of its ends are able to."""
    parallel: bool = False
    """One of several that carry data side by side: shown, and no limit to the path by itself."""
    note: str = ""


class Path(Model):
    """The way from an initiator to a target."""

    initiator: str
    target: str
    hops: list[Hop]
    limit: Limit | None
    """Of the hops whose rate is known, the smallest one's."""
    note: str = ""
    """What keeps the limit from being certain, or from being known at all."""
