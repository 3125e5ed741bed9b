"""The way between two endpoints, hop by hop."""

from collections.abc import Sequence
from typing import Protocol

from tierscope.model.base import Model
from tierscope.model.run import Limit
from tierscope.model.topology import Cache, Gpu, PcieLink


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


class Paths(Protocol):
    """What a spec may ask of a machine to find its limit; ``topology`` implements it."""

    @property
    def caches(self) -> Sequence[Cache]:
        """The CPUs' caches."""

    @property
    def virtual(self) -> bool:
        """Whether it is a virtual machine, whose PCI switches need not exist."""

    def gpu(self, index: int) -> Gpu | None:
        """One GPU; None where there is none of that number."""

    def path(self, initiator: str, target: str) -> Path | None:
        """The way between two endpoints; None where the machine has not both."""

    def limit(self, initiator: str, target: str) -> Limit | None:
        """The way's limit; None where no link's rate is known."""
