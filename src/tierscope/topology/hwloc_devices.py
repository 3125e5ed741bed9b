"""The I/O objects of an hwloc file: PCI functions and what the operating system calls them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tierscope.model.topology import (
    Block,
    CxlMemory,
    Dax,
    Gpu,
    Node,
    Package,
    PciDevice,
    Port,
)
from tierscope.topology.cxl import dax_parent
from tierscope.topology.hwloc_file import Element, bits, infos, integer, kibibytes
from tierscope.topology.hwloc_gpus import read_gpus
from tierscope.topology.hwloc_network import NetworkObject, network_ports
from tierscope.topology.hwloc_nvlink import Ends, with_nvlinks
from tierscope.topology.pci import is_gpu

_PCI_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]")
_BUSES = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-[0-9a-f]{2}\]")
_GPU_NAME = re.compile(r"(nvml|cuda|rsmi|ze|opencl\d*d)(\d+)")
_NVME_PATH = re.compile(r"nvme(\d+)c(\d+)(n\d+)")
_NVME = re.compile(r"(nvme\d+)n\d+")
_BLOCK, _DISPLAY, _NETWORK, _OPENFABRICS = "0", "1", "2", "3"
_NOT_MEASURED = {
    _BLOCK: "removable media",
    _DISPLAY: "display adapters",
    "4": "DMA engines",
    "5": "co-processors",
}


@dataclass
class Locality:
    """Which node and package an object is local to, by the normal object above it."""

    nodes: Sequence[Node]
    packages: Sequence[Package]

    def of(self, above: tuple[Element, ...]) -> tuple[int | None, int | None]:
        """Node and package, each where exactly one it can be."""
        holder = next((e for e in reversed(above) if e.get("cpuset") is not None), None)
        with_cpus = [node for node in self.nodes if node.cpus]
        cpus = set(bits(holder.get("cpuset"))) if holder is not None else set()
        near = [node.number for node in with_cpus if cpus & set(node.cpus)]
        homes = [package.number for package in self.packages if cpus & set(package.cpus)]
        return near[0] if len(near) == 1 else None, homes[0] if len(homes) == 1 else None


@dataclass
class Devices:
    """Everything below the file's bridges, and devices without one."""

    found: Sequence[tuple[Element, tuple[Element, ...]]]
    locality: Locality
    root: Element
    pci: list[PciDevice] = field(default_factory=list)
    gpus: list[Gpu] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    cxl_memories: list[CxlMemory] = field(default_factory=list)
    dax: list[Dax] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """What the file has and the lists above have not, with the reason."""
    _network: list[NetworkObject] = field(default_factory=list)
    _others: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named: dict[str, dict[str, tuple[int, dict[str, str]]]] = {}
        ends = Ends()
        for element, above in self.found:
            kind, identity = element.get("type"), element.get("gp_index")
            if kind in ("Bridge", "PCIDev") and element.get("pci_busid"):
                self._add_pci(element, above)
                ends.addresses[f"PCIDev:{identity}"] = self.pci[-1].address
            elif kind == "Package":
                ends.packages[f"Package:{identity}"] = integer(element.get("os_index"))
            elif kind == "OSDev":
                address = _address_above(above)
                ends.addresses[f"OSDev:{identity}"] = address or ""
                match = _GPU_NAME.fullmatch(element.get("name", ""))
                about = infos(element)
                if match and about.get("OpenCLDeviceType", "GPU") == "GPU":
                    entry = (int(match[2]), about)
                    named.setdefault(address or match[0], {})[match[1]] = entry
                else:
                    self._add_os_device(element, above, address)
        self._drop_repeated()
        self.ports = network_ports(self._network)
        self.gpus, notes = read_gpus(named, self.pci)
        self.gpus = with_nvlinks(self.gpus, self.root, ends)
        self.left_out += notes
        self.left_out += [
            f"{', '.join(names)}: {what}, which tierscope does not measure"
            for what, names in self._others.items()
        ]

    def _drop_repeated(self) -> None:
        """Of functions with one address, which only edited files have, keep the last."""
        last = {device.address: device for device in self.pci}
        counts = Counter(device.address for device in self.pci)
        self.pci = [device for device in self.pci if last[device.address] is device]
        self.left_out += [
            f"{address}: the file has {count} PCI functions at this address; the last one is shown"
            for address, count in counts.items()
            if count > 1
        ]

    def _add_pci(self, element: Element, above: tuple[Element, ...]) -> None:
        match = _PCI_TYPE.match(element.get("pci_type", ""))
        class_code, vendor, device = (int(match[i], 16) if match else 0 for i in (1, 2, 3))
        node, package = self.locality.of(above)
        about = infos(element)
        names = [about[key] for key in ("PCIVendor", "PCIDevice") if about.get(key)]
        rate = element.get("pci_link_speed", "0")
        address = element.get("pci_busid", "")
        self.pci.append(
            PciDevice(
                address=address,
                parent=_address_above(above),
                root=_root_above(above) or address.rpartition(":")[0],
                class_code=class_code,
                bridge=element.get("type") == "Bridge",
                vendor=vendor,
                device=device,
                name=element.get("subtype") or " ".join(names),
                node=node,
                package=package,
                link_rate=float(rate) * 1e9 or None if _is_decimal(rate) else None,
            )
        )

    def _add_os_device(
        self, element: Element, above: tuple[Element, ...], address: str | None
    ) -> None:
        name, about, kind = element.get("name", ""), infos(element), element.get("osdev_type")
        subtype = element.get("subtype", "")
        size = kibibytes(about.get("Size")) or 0
        if subtype == "CXLMem":
            self.cxl_memories.append(
                CxlMemory(
                    name=name,
                    address=address,
                    ram_bytes=kibibytes(about.get("CXLRAMSize")) or 0,
                    pmem_bytes=kibibytes(about.get("CXLPMEMSize")) or 0,
                    node=self.locality.of(above)[0],
                )
            )
        elif name.startswith("dax"):
            parent = about.get("DAXParent", "")
            self.dax.append(
                Dax(
                    name=name,
                    size_bytes=size,
                    node=None,
                    mode="devdax",
                    parent=dax_parent(parent) or parent,
                )
            )
        elif kind == _BLOCK and subtype != "Removable Media Device" and name[:2] != "sr":
            self.blocks.append(_block(name, about, address, size))
        elif kind in (_OPENFABRICS, _NETWORK):
            device = next((entry for entry in self.pci[::-1] if entry.address == address), None)
            self._network.append(
                NetworkObject(
                    name=name,
                    rdma=kind == _OPENFABRICS,
                    address=address,
                    class_code=device.class_code if device is not None else 0,
                    about=about,
                )
            )
        else:
            what = _NOT_MEASURED.get(kind or "", "devices of no known type")
            if kind != _DISPLAY or not self._is_gpu_at(address):
                self._others.setdefault(what, []).append(name)

    def _is_gpu_at(self, address: str | None) -> bool:
        """Whether a display's function is a GPU, which is shown as such."""
        return any(
            device.address == address and is_gpu(device.class_code, device.vendor)
            for device in self.pci
        )


def _block(name: str, about: dict[str, str], address: str | None, size: int) -> Block:
    controller = ""
    if path := _NVME_PATH.fullmatch(name):  # one path of a multipath namespace
        name, controller = f"nvme{path[1]}{path[3]}", f"nvme{path[2]}"
    elif plain := _NVME.fullmatch(name):
        controller = plain[1]
    pmem = name.startswith("pmem")
    return Block(
        name=name,
        kind="nvme" if controller else "pmem" if pmem else "disk" if address else "virtual",
        size_bytes=size or None,
        address=address,
        product=" ".join(about.get("Model", "").replace("_", " ").split()),
        controller=controller,
    )


def _address_above(above: tuple[Element, ...]) -> str | None:
    return next((e.get("pci_busid") for e in reversed(above) if e.get("pci_busid")), None)


def _root_above(above: tuple[Element, ...]) -> str | None:
    for element in reversed(above):
        match = _BUSES.fullmatch(element.get("bridge_pci", ""))
        if element.get("bridge_type") == "0-1" and match:
            return f"{match[1]}:{match[2]}"
    return None


def _is_decimal(text: str) -> bool:
    return re.fullmatch(r"\d{1,6}(\.\d{1,9})?", text) is not None
