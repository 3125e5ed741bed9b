"""The I/O objects of an hwloc file: PCI functions and what the operating system calls them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tierscope.model.topology import (
    Block,
    CxlMemory,
    Dax,
    Gpu,
    Node,
    NvLink,
    Package,
    PciDevice,
    Port,
)
from tierscope.topology.cxl import dax_parent
from tierscope.topology.hwloc_file import Element, bits, infos, integer
from tierscope.topology.links import nvlink_version
from tierscope.topology.pci import is_gpu

_PCI_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]")
_BUSES = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-[0-9a-f]{2}\]")
_GPU_NAME = re.compile(r"(nvml|cuda|rsmi|ze|opencl\d*d)(\d+)")
_NVME_PATH = re.compile(r"nvme(\d+)c(\d+)(n\d+)")
_NVME = re.compile(r"(nvme\d+)n\d+")
_BLOCK, _NETWORK, _OPENFABRICS = "0", "2", "3"


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

    def __post_init__(self) -> None:
        named: dict[str, dict[str, tuple[int, dict[str, str]]]] = {}
        addresses: dict[str, str] = {}
        for element, above in self.found:
            kind = element.get("type")
            if kind in ("Bridge", "PCIDev") and element.get("pci_busid"):
                self._add_pci(element, above)
                addresses[f"PCIDev:{element.get('gp_index')}"] = self.pci[-1].address
            elif kind == "OSDev":
                address = _address_above(above)
                addresses[f"OSDev:{element.get('gp_index')}"] = address or ""
                match = _GPU_NAME.fullmatch(element.get("name", ""))
                if match:
                    entry = (int(match[2]), infos(element))
                    named.setdefault(address or match[0], {})[match[1]] = entry
                else:
                    self._add_os_device(element, above, address)
        self._add_gpus(named)
        self._add_nvlinks(addresses)
        covered = {port.address for port in self.ports if port.rdma}
        self.ports = [port for port in self.ports if port.rdma or port.address not in covered]

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
        size = (integer(about.get("Size")) or 0) << 10  # hwloc counts KiB
        if subtype == "CXLMem":
            self.cxl_memories.append(
                CxlMemory(
                    name=name,
                    address=address,
                    ram_bytes=(integer(about.get("CXLRAMSize")) or 0) << 10,
                    pmem_bytes=(integer(about.get("CXLPMEMSize")) or 0) << 10,
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
        elif kind == _OPENFABRICS:
            active = about.get("Port1State") == "4"
            self.ports.append(
                Port(
                    name=f"{name}/1",
                    kind="infiniband",
                    address=address,
                    rdma=name,
                    state="active" if active else "",
                )
            )
        elif kind == _NETWORK:
            self.ports.append(
                Port(
                    name=name,
                    kind="ethernet" if address else "virtual",
                    address=address,
                    interface=name,
                )
            )

    def _add_gpus(self, named: dict[str, dict[str, tuple[int, dict[str, str]]]]) -> None:
        """GPUs that a library named, else those on the bus, counted in PCI order."""
        unnamed = [device for device in self.pci if is_gpu(device.class_code, device.vendor)]
        if not named:
            self.gpus = [
                Gpu(index=index, name=device.name, address=device.address)
                for index, device in enumerate(sorted(unnamed, key=lambda entry: entry.address))
            ]
            return
        for address, libraries in named.items():
            ordered = [
                libraries[name] for name in ("nvml", "cuda", "rsmi", "ze") if name in libraries
            ] or list(libraries.values())
            about = {key: value for _, pairs in reversed(ordered) for key, value in pairs.items()}
            sizes = [
                about.get(key)
                for key in ("CUDAGlobalMemorySize", "RSMIVRAMSize", "LevelZeroHBMSize")
            ]
            kibibytes = next((size for text in sizes if (size := integer(text))), None)
            self.gpus.append(
                Gpu(
                    index=ordered[0][0],
                    name=about.get("GPUModel", ""),
                    address=address if ":" in address else "",
                    uuid=about.get("NVIDIAUUID", ""),
                    memory_bytes=kibibytes << 10 if kibibytes else None,
                )
            )
        self.gpus.sort(key=lambda gpu: gpu.index)

    def _add_nvlinks(self, addresses: dict[str, str]) -> None:
        """NVLinks from hwloc's bandwidth matrix (MB/s) between GPUs, switches and packages."""
        for matrix in self.root.iterfind("distances2hetero"):
            if matrix.get("name") == "NVLinkBandwidth":
                ends = " ".join(part.text or "" for part in matrix.iterfind("indexes")).split()
                words = " ".join(part.text or "" for part in matrix.iterfind("u64values")).split()
                values = [integer(word) or 0 for word in words]
                if len(values) == len(ends) ** 2:
                    self.gpus = [_with_nvlinks(gpu, ends, values, addresses) for gpu in self.gpus]


def _with_nvlinks(gpu: Gpu, ends: list[str], values: list[int], addresses: dict[str, str]) -> Gpu:
    row = next((i for i, end in enumerate(ends) if addresses.get(end) == gpu.address), None)
    known = nvlink_version(gpu.name)
    if row is None or known is None:
        return gpu
    version, rate = known
    links: list[NvLink] = []
    for column, end in enumerate(ends):
        value = values[row * len(ends) + column]
        if column == row or not value:
            continue
        kind = end.partition(":")[0]
        links.append(
            NvLink(
                version=version,
                links=max(1, round(value * 1e6 / rate)),
                peer="gpu" if kind == "OSDev" else "switch" if kind == "PCIDev" else "cpu",
                peer_address=addresses.get(end) or None,
            )
        )
    return gpu.model_copy(update={"nvlinks": links})


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
