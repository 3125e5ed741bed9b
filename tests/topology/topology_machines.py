"""Machines as sysfs trees, built from compact descriptions and from public listings of real ones.

The DGX-2 and the DGX A100 come from the listings in NVIDIA's "GPUDirect Storage Benchmarking and
Configuration Guide" (r1.12): `lspci -tv`, `/dev/disk/by-path`, `nvidia-smi --query-gpu` and
`nvidia-smi topo -mp` as printed there. Where a listing leaves a bridge out, the bus numbers leave
room for one, and that is where it is put.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from tierscope.machine.discover import discover
from tierscope.model.topology import Topology

NVIDIA, MICRON, SAMSUNG, MELLANOX, PLX = 0x10DE, 0x1344, 0x144D, 0x15B3, 0x10B5
GPU_CLASS, NVME_CLASS, NIC_CLASS, BRIDGE_CLASS, CXL_CLASS = (
    0x030200, 0x010802, 0x020700, 0x060400, 0x050210,
)  # fmt: skip


class Sysfs:
    """A tree of /sys and /proc files below a temporary directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made: set[Path] = set()

    def _place(self, path: str) -> Path:
        """Return the file of this path, its directory made: there are thousands of them."""
        file = self.root / path.lstrip("/")
        if file.parent not in self._made:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(file.parent)
        return file

    def write(self, path: str, text: str | int) -> None:
        self._place(path).write_text(f"{text}\n")

    def link(self, path: str, target: str) -> None:
        file = self._place(path)
        file.symlink_to(os.path.relpath(self.root / target.lstrip("/"), file.parent))

    def cpus(self, packages: list[list[int]], model: str = "Test CPU") -> None:
        """One core a CPU."""
        everyone = [cpu for cpus in packages for cpu in cpus]
        self.write("/sys/devices/system/cpu/online", _ranges(everyone))
        self.write("/proc/cpuinfo", f"processor\t: 0\nmodel name\t: {model}")
        for number, cpus in enumerate(packages):
            for cpu in cpus:
                topology = f"/sys/devices/system/cpu/cpu{cpu}/topology"
                self.write(f"{topology}/physical_package_id", number)
                self.write(f"{topology}/core_cpus_list", cpu)

    def node(self, number: int, cpus: list[int], megabytes: int, distances: str = "") -> None:
        directory = f"/sys/devices/system/node/node{number}"
        self.write(f"{directory}/cpulist", _ranges(cpus))
        self.write(
            f"{directory}/meminfo",
            f"Node {number} MemTotal: {megabytes * 1024} kB\n"
            f"Node {number} MemFree: {megabytes * 512} kB",
        )
        if distances:
            self.write(f"{directory}/distance", distances)

    def two_packages(self) -> None:
        """Two packages of two CPUs, a DRAM node each."""
        self.cpus([[0, 1], [2, 3]])
        self.node(0, [0, 1], 1000, "10 21")
        self.node(1, [2, 3], 1000, "21 10")

    def claim(self, node: int, initiator: int, latency: int, megabytes_per_s: int) -> None:
        """What HMAT claims for one initiator."""
        initiators = f"/sys/devices/system/node/node{node}/access0/initiators"
        self.link(f"{initiators}/node{initiator}", f"/sys/devices/system/node/node{initiator}")
        self.write(f"{initiators}/read_latency", latency)
        self.write(f"{initiators}/read_bandwidth", megabytes_per_s)

    def pci(
        self,
        place: str,
        class_code: int,
        vendor: int = PLX,
        *,
        node: int = -1,
        now: tuple[float, int] | None = None,
        best: tuple[float, int] | None = None,
    ) -> str:
        """One function at ``root/bridge/../function``; missing bridges are made. Its directory."""
        parts = place.split("/")
        directory = f"/sys/devices/pci{parts[0]}/" + "/".join(parts[1:])
        for depth in range(2, len(parts)):
            above = "/".join(parts[:depth])
            if not (self.root / f"sys/bus/pci/devices/{parts[depth - 1]}").exists():
                wide = (now[0], 16) if now else None
                self.pci(above, BRIDGE_CLASS, node=node, now=wide, best=wide)
        self.write(f"{directory}/class", f"{class_code:#08x}")
        self.write(f"{directory}/vendor", f"{vendor:#06x}")
        self.write(f"{directory}/device", "0x1234")
        self.write(f"{directory}/numa_node", node)
        for which, link in (("current", now), ("max", best)):
            if link is not None:
                self.write(f"{directory}/{which}_link_speed", f"{link[0]:.1f} GT/s PCIe")
                self.write(f"{directory}/{which}_link_width", link[1])
        self.link(f"/sys/bus/pci/devices/{parts[-1]}", directory)
        return directory

    def nvme(self, directory: str, name: str, sectors: int = 7_501_476_528) -> None:
        block = f"{directory}/nvme/{name.partition('n1')[0]}/{name}"
        self.write(f"{block}/size", sectors)
        self.write(f"{block}/dev", f"259:{int(''.join(filter(str.isdigit, name)))}")
        self.link(f"/sys/class/block/{name}", block)

    def array(self, name: str, level: str, members: list[str]) -> None:
        block = f"/sys/devices/virtual/block/{name}"
        self.write(f"{block}/size", 1 << 30)
        self.write(f"{block}/dev", f"9:{name.removeprefix('md')}")
        self.write(f"{block}/md/level", level)
        for member in members:
            self.write(f"{block}/slaves/{member}", "")
        self.link(f"/sys/class/block/{name}", block)

    def mount(self, path: str, device: str, filesystem: str = "ext4") -> None:
        file = self.root / "proc/self/mountinfo"
        before = file.read_text() if file.exists() else ""
        number = (self.root / f"sys/class/block/{device}/dev").read_text().strip()
        line = f"30 1 {number} / {path} rw - {filesystem} /dev/{device} rw"
        self.write("/proc/self/mountinfo", before + line)

    def rdma(self, directory: str, name: str) -> None:
        device = f"{directory}/infiniband/{name}"
        self.write(f"{device}/ports/1/state", "4: ACTIVE")
        self.write(f"{device}/ports/1/rate", "100 Gb/sec (4X EDR)")
        self.write(f"{device}/ports/1/link_layer", "InfiniBand")
        self.link(f"{device}/device", directory)
        self.link(f"/sys/class/infiniband/{name}", device)


def _ranges(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


@dataclass
class FakeNvml:
    """NVML as a table: one dict a GPU, from function name (and link) to answer."""

    gpus: list[dict[Any, Any]]
    fields: list[dict[Any, Any]] = field(default_factory=list)

    def count(self) -> int:
        return len(self.gpus)

    def ask(self, function: str, gpu: int, *arguments: object) -> Any:
        answers = self.gpus[gpu]
        return answers.get((function, *arguments), answers.get(function))

    def field(self, name: str, gpu: int, scope: int = 0) -> float | None:
        if gpu >= len(self.fields):
            return None
        return self.fields[gpu].get((name, scope), self.fields[gpu].get(name))


def fake_gpu(bus: str, name: str = "Test GPU", **answers: Any) -> dict[Any, Any]:
    """A GPU at bus 0x34, as NVML writes its address."""
    return {
        "PciInfo": SimpleNamespace(busId=f"00000000:{bus}:00.0".upper()),
        "Name": name,
    } | answers


def dgx2(root: Path) -> FakeNvml:
    """The DGX-2 of section 4.1; NICs on the buses that the listing leaves free, as -mp has them."""
    sysfs = Sysfs(root)
    sysfs.cpus([list(range(4)), list(range(4, 8))])
    sysfs.node(0, list(range(4)), 1000, "10 21")
    sysfs.node(1, list(range(4, 8)), 1000, "21 10")
    x16, x4 = (8.0, 16), (8.0, 4)
    # root bus, its NUMA node, the four GPUs' buses, first NVMe drive and first NIC
    quarters = [
        (0x2B, 0, (0x34, 0x36, 0x39, 0x3B), 2, 0),
        (0x4E, 0, (0x57, 0x59, 0x5C, 0x5E), 4, 2),
        (0xAE, 1, (0xB7, 0xB9, 0xBC, 0xBE), 6, 4),
        (0xD7, 1, (0xE0, 0xE2, 0xE5, 0xE7), 8, 6),
    ]
    for bus, node, gpus, drive, nic in quarters:
        top = f"0000:{bus:02x}/0000:{bus:02x}:00.0/0000:{bus + 1:02x}:00.0"
        inner = bus + 2
        for index, port in enumerate((0x00, 0x01)):
            place = f"{top}/0000:{inner:02x}:{port:02x}.0/0000:{bus + 3 + index:02x}:00.0"
            made = sysfs.pci(place, NVME_CLASS, MICRON, node=node, now=x4, best=x4)
            sysfs.nvme(made, f"nvme{drive + index}n1")
        for half, port in ((0, 0x04), (1, 0x0C)):
            first, second = gpus[2 * half : 2 * half + 2]
            switch = f"{top}/0000:{inner:02x}:{port:02x}.0/0000:{first - 2:02x}:00.0"
            for gpu, slot in ((first, 0x00), (second, 0x10)):
                place = f"{switch}/0000:{first - 1:02x}:{slot:02x}.0/0000:{gpu:02x}:00.0"
                sysfs.pci(place, GPU_CLASS, NVIDIA, node=node, now=x16, best=x16)
            place = f"{switch}/0000:{first - 1:02x}:04.0/0000:{first + 1:02x}:00.0"
            made = sysfs.pci(place, NIC_CLASS, MELLANOX, node=node, now=x16, best=x16)
            sysfs.rdma(made, f"mlx5_{nic + half}")
    buses = [f"{gpu:02x}" for _, _, gpus, _, _ in quarters for gpu in gpus]
    return FakeNvml([_switched(bus, "Tesla V100-SXM3-32GB", 5, 6) for bus in buses])


A100_PLACES = {
    "gpu 07": "0000:00/00:01.1/01:00.0/02:00.0/03:00.0/04:00.0/05:00.0/06:00.0/07:00.0",
    "nvme0": "0000:00/00:01.1/01:00.0/02:00.0/03:00.0/04:10.0/08:00.0",
    "nvme1": "0000:00/00:01.1/01:00.0/02:00.0/03:00.0/04:14.0/09:00.0",
    "gpu 0f": "0000:00/00:01.1/01:00.0/02:04.0/0a:00.0/0b:10.0/0d:00.0/0e:00.0/0f:00.0",
    "nvme2": "0000:20/20:03.2/22:00.0",
    "nvme3": "0000:20/20:03.3/23:00.0",
    "gpu 47": "0000:40/40:01.1/41:00.0/42:00.0/43:00.0/44:00.0/45:00.0/46:00.0/47:00.0",
    "gpu 4e": "0000:40/40:01.1/41:00.0/42:00.0/43:00.0/44:10.0/4c:00.0/4d:00.0/4e:00.0",
    "nvme4": "0000:40/40:01.1/41:00.0/42:04.0/50:00.0/51:00.0/52:00.0",
    "nvme5": "0000:40/40:01.1/41:00.0/42:04.0/50:00.0/51:04.0/53:00.0",
    "gpu 87": "0000:80/80:01.1/81:00.0/82:00.0/83:00.0/84:00.0/85:00.0/86:00.0/87:00.0",
    "nvme6": "0000:80/80:01.1/81:00.0/82:00.0/83:00.0/84:10.0/89:00.0",
    "nvme7": "0000:80/80:01.1/81:00.0/82:00.0/83:00.0/84:14.0/8a:00.0",
    "gpu 90": "0000:80/80:01.1/81:00.0/82:04.0/8b:00.0/8c:10.0/8e:00.0/8f:00.0/90:00.0",
    "gpu b7": "0000:b0/b0:01.1/b1:00.0/b2:00.0/b3:00.0/b4:00.0/b5:00.0/b6:00.0/b7:00.0",
    "gpu bd": "0000:b0/b0:01.1/b1:00.0/b2:04.0/b8:00.0/b9:10.0/bb:00.0/bc:00.0/bd:00.0",
    "nvme8": "0000:b0/b0:01.1/b1:00.0/b2:08.0/be:00.0/bf:04.0/c8:00.0",
    "nvme9": "0000:b0/b0:01.1/b1:00.0/b2:08.0/be:00.0/bf:08.0/c9:00.0",
    "mlx5_0": "0000:00/00:01.1/01:00.0/02:04.0/0a:00.0/0b:00.0/0c:00.0",
    "mlx5_1": "0000:00/00:01.1/01:00.0/02:08.0/10:00.0/11:00.0/12:00.0",
    "mlx5_2": "0000:40/40:01.1/41:00.0/42:00.0/43:00.0/44:0c.0/4b:00.0",
    "mlx5_3": "0000:40/40:01.1/41:00.0/42:04.0/50:00.0/51:08.0/54:00.0",
    "mlx5_4": "0000:60/60:03.1/61:00.0",
    "mlx5_5": "0000:60/60:03.1/61:00.1",
    "mlx5_6": "0000:80/80:01.1/81:00.0/82:04.0/8b:00.0/8c:00.0/8d:00.0",
    "mlx5_7": "0000:80/80:01.1/81:00.0/82:08.0/92:00.0/93:00.0/94:00.0",
    "mlx5_8": "0000:b0/b0:01.1/b1:00.0/b2:04.0/b8:00.0/b9:00.0/ba:00.0",
    "mlx5_9": "0000:b0/b0:01.1/b1:00.0/b2:08.0/be:00.0/bf:0c.0/ca:00.0",
    "mlx5_10": "0000:e0/e0:03.1/e1:00.0",
    "mlx5_11": "0000:e0/e0:03.1/e1:00.1",
}
# NUMA node of each host bridge
A100_NODES = {"0000:00": 3, "0000:20": 2, "0000:40": 1, "0000:60": 0, "0000:80": 7, "0000:b0": 5,
         "0000:e0": 4}  # fmt: skip


def dgx_a100(root: Path) -> FakeNvml:
    """The DGX A100 of section 5.2, its boot drives too; 0x87 twice there is a misprint of 0xb7.

    NICs, which the listing leaves out, are where section 4.1 describes the first two, and the
    others alike: eight for the GPUs, two cards with two ports for storage.
    """
    sysfs = Sysfs(root)
    sysfs.cpus([list(range(4)), list(range(4, 8))])
    for node in range(8):
        near = " ".join(
            "10" if n == node else "12" if n // 4 == node // 4 else "32" for n in range(8)
        )
        sysfs.node(node, [node], 1000, near)
    for name, short in A100_PLACES.items():
        first, *rest = short.split("/")
        place = "/".join([first, *(f"0000:{part}" for part in rest)])
        kind = name[:3]
        code, vendor, width = {
            "gpu": (GPU_CLASS, NVIDIA, 16),
            "nvm": (NVME_CLASS, SAMSUNG, 4),
            "mlx": (NIC_CLASS, MELLANOX, 16),
        }[kind]
        link = (16.0, width)
        made = sysfs.pci(place, code, vendor, node=A100_NODES[first], now=link, best=link)
        if kind == "nvm":
            sysfs.nvme(made, f"{name}n1")
        if kind == "mlx":
            sysfs.rdma(made, name)
    data = [f"nvme{number}n1" for number in (0, 1, 4, 5, 6, 7, 8, 9)]
    sysfs.array("md1", "raid0", data)
    sysfs.mount("/raid", "md1")
    sysfs.mount("/", "nvme2n1")
    buses = [name.split()[1] for name in A100_PLACES if name.startswith("gpu")]
    return FakeNvml([_switched(bus, "A100-SXM4-40GB", 7, 12) for bus in buses])


@cache
def discovered(make: Callable[[Path], FakeNvml]) -> Topology:
    """What is discovered of a machine, ``dgx2`` or ``dgx_a100``."""
    with TemporaryDirectory() as folder:
        return discover(Path(folder), make(Path(folder)))


def _switched(bus: str, name: str, architecture: int, links: int) -> dict[Any, Any]:
    """A GPU whose links all go to NVSwitches that the driver does not tell apart."""
    return fake_gpu(
        bus,
        name,
        Architecture=architecture,
        NvLinkRemoteDeviceType=2,
    ) | {("NvLinkState", link): 1 for link in range(links)}
