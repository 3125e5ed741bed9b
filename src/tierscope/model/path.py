"""The path between two endpoints, hop by hop."""

from collections.abc import Sequence
from typing import Protocol

from tierscope.model.base import Model
from tierscope.model.limit import Limit
from tierscope.model.storage import Access
from tierscope.model.text_enum import TextEnum
from tierscope.model.topology import PcieLink, Topology
from tierscope.model.traffic import ONE_WAY, Traffic


class HopRole(TextEnum):
    """What a hop is; code decides by it, never by the hop's name."""

    LINK = "link"
    """The link of one device: PCIe, CXL, NVLink or NVLink-C2C."""
    SWITCH = "switch"
    """The uplink of a PCIe switch, which all devices below it share."""
    INTERCONNECT = "interconnect"
    """Between NUMA nodes: UPI, xGMI or a package's mesh."""
    MEMORY = "memory"
    """What holds the data."""


class Hop(Model):
    """One link of a path."""

    name: str
    """What the link joins, as a person would say it."""
    role: HopRole = HopRole.LINK
    limit: Limit | None = None
    """None where the rate is unknown; ``note`` says why."""
    now: PcieLink | None = None
    """Of a PCIe link: as it runs at the moment."""
    best: PcieLink | None = None
    """Of a PCIe link: what both of its endpoints support."""
    shortfall: str = ""
    """Where ``limit.degraded``: the share of the device's own rate that the link still has."""
    half_duplex: bool = False
    """Both directions take turns, as on the data bus of DRAM: its rate is that of both together."""
    parallel: bool = False
    """One of several that carry data concurrently: shown, and no limit to the path by itself."""
    note: str = ""


class Path(Model):
    """The path from an initiator to a target."""

    initiator: str
    target: str
    hops: list[Hop]
    limit: Limit | None
    """Of the hops whose rate is known, what the one allows that allows least."""
    both_ways: float | None = None
    """bytes/s of both directions together, half of them each way; None where no rate is known."""
    note: str = ""
    """What keeps the limit from being certain, or from being known at all."""


class Paths(Protocol):
    """All paths of one machine; ``tierscope.topology.paths.MachinePaths`` implements it.

    Endpoints are written as in plans (``node:0``, ``gpu:1``).
    """

    @property
    def topology(self) -> Topology:
        """The machine."""

    def path(self, initiator: str, target: str) -> Path:
        """The path; UserError where the machine has no such endpoint."""

    def limit(self, initiator: str, target: str, traffic: Traffic = ONE_WAY) -> Limit | None:
        """What the smallest link allows of an operation; None where no rate, or no such endpoint,
        is known."""

    def storage_limit(self, ways: Sequence[tuple[str, str]], access: Access) -> Limit | None:
        """What links and data sheets allow of reads and writes of storage, where all of these
        initiators and targets work at the same time; None where neither is known, or where the page
        cache takes part."""
