"""The limit of a path; apart from the run file's types, so that reading a machine needs few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tierscope.model.base import Model, TextEnum, Word
from tierscope.model.metric import Unit
from tierscope.model.storage import Access
from tierscope.model.topology import PcieLink, Topology

STATED = "stated by the user"
"""Source of limits that come from what the user states, which nothing else vouches for."""


class Limit(Model):
    """Theoretical rate that an operation can have on a path, as its smallest link allows."""

    value: float
    """In bytes, or operations, that the program counts: links carry more of them or fewer."""
    unit: Word[Unit]
    link: str
    """The link that sets it: "PCIe 4.0 x8 at 0000:17:00.0"."""
    formula: str
    """How the value is computed, with its numbers."""
    source: str
    """Document or register that the formula and the numbers come from."""
    degraded: bool = False
    """Whether the link runs below what its device supports: fewer lanes, or a lower speed."""
    without_write_allocate: float | None = None
    """The same for a CPU that avoids every write-allocate, where ``value`` includes some."""

    @property
    def stated(self) -> bool:
        """Whether it comes from what the user states, and of nothing that the system reports."""
        return self.source == STATED


@dataclass(frozen=True)
class Traffic:
    """Bytes that a path carries for each byte that the program counts."""

    name: str = ""
    """The operation: "copy", "67:33"; empty where one direction by itself is meant."""
    reads: float = 1.0
    """Towards the initiator, those that ordinary stores fetch first included."""
    writes: float = 0.0
    """Towards the target."""
    fetched: float = 0.0
    """Part of ``reads``: lines that ordinary stores fetch before they write them (write-allocate).
    """

    @property
    def both(self) -> float:
        """Bytes on a bus whose directions take turns."""
        return self.reads + self.writes

    @property
    def read_share(self) -> float:
        """Reads among all that a bus carries, from 0 to 1: 0.75 of 67:33 by ordinary stores."""
        return self.reads / self.both

    def without_fetched(self) -> "Traffic":
        """The same by a CPU that avoids write-allocate altogether."""
        return Traffic(self.name, self.reads - self.fetched, self.writes)


ONE_WAY = Traffic()
"""Reads alone: a full-duplex link's rate one way, and all that memory has."""

BOTH_WAYS = Traffic("both ways at once", reads=0.5, writes=0.5)
"""As much data each way, all of it counted."""


def of_operation(name: str, read: int, written: int, fetches: bool) -> Traffic:
    """Traffic of a loop over arrays; all that are read or written count as the program's bytes.

    ``fetches``: ordinary stores write lines that were not read.
    """
    counted = read + written
    fetched = written / counted if fetches else 0.0
    return Traffic(name, read / counted + fetched, written / counted, fetched)


class HopRole(TextEnum):
    """Kind of a hop; code decides by it, never by the hop's name."""

    LINK = "link"
    """The link of one device: PCIe, CXL, NVLink or NVLink-C2C."""
    SWITCH = "switch"
    """The uplink of a PCIe switch, which all devices below it share."""
    INTERCONNECT = "interconnect"
    """Between NUMA nodes: UPI, xGMI or a package's mesh."""
    MEMORY = "memory"
    """Holder of the data."""


class Hop(Model):
    """One link of a path."""

    name: str
    """The ends of the link, in words."""
    role: HopRole = HopRole.LINK
    limit: Limit | None = None
    """None where the rate is unknown; ``note`` says why."""
    now: PcieLink | None = None
    """Current state of a PCIe link."""
    best: PcieLink | None = None
    """State of a PCIe link that both of its ends support."""
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
    """The lowest known limit of all hops."""
    both_ways: float | None = None
    """bytes/s of both directions together, half of them each way; None where no rate is known."""
    note: str = ""
    """Reasons why the limit is uncertain or unknown."""


class Paths(Protocol):
    """All paths of one machine; ``tierscope.machine.paths.MachinePaths`` implements it.

    Endpoints are written as in plans (``node:0``, ``gpu:1``).
    """

    @property
    def topology(self) -> Topology:
        """The machine."""

    def path(self, initiator: str, target: str) -> Path:
        """The path; UserError where the machine has no such endpoint."""

    def limit(self, initiator: str, target: str, traffic: Traffic = ONE_WAY) -> Limit | None:
        """The limit of an operation by the slowest link; None where no rate, or no such endpoint,
        is known."""

    def storage_limit(self, ways: Sequence[tuple[str, str]], access: Access) -> Limit | None:
        """The limit of reads and writes of storage by links and data sheets, where all of these
        initiators and targets work at the same time; None where neither is known, or where the page
        cache takes part."""
