"""Who is near whom: how two devices' data gets from one to the other."""

from enum import StrEnum
from typing import Literal

from tierscope.model.base import Model


class Level(StrEnum):
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


Kind = Literal["gpu", "nvme", "nic", "cxl", "node"]


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
    """What to pair a GPU with."""

    gpu: str
    nvme: Nearest | None = None
    arrays: Nearest | None = None
    nics: Nearest | None = None
