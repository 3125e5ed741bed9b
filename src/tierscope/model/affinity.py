"""Affinity of devices: the way of data from one to the other."""

from typing import Literal

from tierscope.model.base import Model, TextEnum

LEGEND = (
    "NVn: n NVLinks; PIX: at most one PCIe switch; PXB: several switches; PHB: a PCIe host bridge; "
    "NODE: between host bridges of one NUMA node; SYS: between NUMA nodes; ?: unknown"
)
"""Words below a table of affinities."""
Kind = Literal["gpu", "nvme", "nic", "cxl", "node"]


class Level(TextEnum):
    """The worst thing on the way, as nvidia-smi's matrix names it; nearest first."""

    SELF = "X"
    NVLINK = "NV"
    PIX = "PIX"
    """At most one PCIe switch."""
    PXB = "PXB"
    """Several PCIe switches, no host bridge."""
    PHB = "PHB"
    """A PCIe host bridge, which is the CPU."""
    NODE = "NODE"
    """The interconnect between host bridges of one NUMA node."""
    SYS = "SYS"
    """The interconnect between NUMA nodes."""
    UNKNOWN = "?"
    """Nothing says which node a device is local to."""

    @property
    def rank(self) -> int:
        """0 for the nearest; comparable between levels."""
        return list(Level).index(self)


class Device(Model):
    """One row and column of the matrix."""

    name: str
    """gpu:0, nvme2, mlx5_0, mem0, node:1"""
    kind: Kind
    addresses: list[str] = []
    """PCI functions that it is; several for a node over interleaved CXL devices."""
    node: int | None = None
    """NUMA node with CPUs that it is local to."""


class Affinity(Model):
    """How two devices reach each other."""

    first: str
    second: str
    level: Level
    links: int = 0
    """NVLinks, where the level is NVLINK."""
    common: str = ""
    """Common ancestor: a switch port's or a host bridge's address; empty where there is none."""
    switches: int = 0
    """PCIe switches crossed."""

    def __str__(self) -> str:
        return f"NV{self.links}" if self.level is Level.NVLINK else str(self.level)


class Nearest(Model):
    """The nearest of one kind of devices to a GPU; all of them, where several are as near."""

    names: list[str]
    level: Level
    switches: int = 0


class Advice(Model):
    """Devices to pair with a GPU."""

    gpu: str
    nvme: Nearest | None = None
    arrays: Nearest | None = None
    nics: Nearest | None = None


class Uplink(Model):
    """A link that several devices share on their way to the CPUs."""

    name: str
    """A switch's upstream port, the slot of a card, or "interconnect"."""
    role: Literal["card", "switch", "interconnect"]
    """card: of several functions, which share its slot; interconnect: between packages."""
    words: str
    """The same as people write it, with its speed: "switch 0000:2c:00.0 (3.0 x16)"."""
    limit: float | None = None
    """bytes/s each way, where it is known."""


class IoDevice(Model):
    """A GPU, drive or NIC with its place on the PCI buses."""

    name: str
    """gpu:0, nvme2, mlx5_0"""
    kind: Literal["gpu", "drive", "nic"]
    product: str = ""
    address: str
    link: str = ""
    """Its own link as it runs: "4.0 x16", where it is known."""
    limit: float | None = None
    """bytes/s each way of its own link."""
    node: int | None = None
    uplinks: list[Uplink] = []
    """Links above its own, the nearest first; on the other socket the interconnect comes last."""


class Stream(Model):
    """Traffic of a GPU with the drive or NIC assigned to it."""

    gpu: str
    device: str
    affinity: Affinity
    uplinks: list[str] = []
    """Names of the uplinks that it crosses."""


class Assignment(Model):
    """Each GPU with a drive and a NIC of its own, so that GPUs share the fewest uplinks."""

    drives: list[Stream] = []
    nics: list[Stream] = []
    """In the order of the GPUs; one for each GPU, drive or NIC, whichever there are fewest of."""
    shared: dict[str, list[Stream]] = {}
    """Streams by the uplink that they share, in words: those that several GPUs' streams cross."""
    proven: bool = True
    """False where the search ended before it had excluded that there is a better one."""
    left_out: list[str] = []
    """Drives and NICs that were not taken into account, with the reason."""
