"""Topology from an hwloc XML file, of any program that writes them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from tierscope.machine.cxl import dax_parent
from tierscope.machine.links import nvlink_version
from tierscope.machine.nodes import Conclusion, infer_kinds
from tierscope.machine.pci import is_gpu
from tierscope.machine.processors import arm_name
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError, shown
from tierscope.model.given_file import open_given
from tierscope.model.topology import (
    TCG,
    Block,
    Cache,
    CxlMemory,
    Dax,
    Gpu,
    MemorySideCache,
    Node,
    NodeKind,
    NvLink,
    Package,
    PciDevice,
    Performance,
    Port,
    Topology,
)

MAX_BYTES = 16 << 20  # the largest machines, of thousands of CPUs, make files of about 5 MB
_MAX_DEPTH = 200  # hwloc nests about 30 deep
_HOW = "on its machine, `tierscope topo --save FILE` or `lstopo --of xml FILE` makes one"

# The first of these bits that hwloc 3 sets: what hwloc 2 calls such a device.
_OSDEV_BITS = ((1 << 5, "3"), (1 << 4, "2"), (1 << 6, "4"), (1 << 3, "5"), (1 << 2, "1"), (3, "0"))

Element = ElementTree.Element
_SPECIAL_SUBTYPES = ("HBM", "MCDRAM", "NVM", "SPM", "GPUMemory", "CXL")
_ATTRIBUTES = {
    "ReadLatency": ("read_latency_ns",),
    "WriteLatency": ("write_latency_ns",),
    "Latency": ("read_latency_ns", "write_latency_ns"),
    "ReadBandwidth": ("read_bandwidth",),
    "WriteBandwidth": ("write_bandwidth",),
    "Bandwidth": ("read_bandwidth", "write_bandwidth"),
}
_MEANS_LATENCY = 4  # hwloc_distances_kind_e
MCDRAM_CACHE = "MemorySideCache"
"""Subtype of an L3 object: hwloc gives a Xeon Phi's MCDRAM, used as a cache, as one."""
Found = Sequence[tuple[Element, tuple[Element, ...]]]
"""Every object with those that it lies in."""
_MATRIX = ("indexes", "u64values")
_INFINIBAND_CLASSES = (0x0207, 0x0C06)  # network controller, and serial bus as older HCAs say
_INFINIBAND_OCTETS = 20  # of a hardware address; Ethernet's has 6
_PORT = re.compile(r"Port(\d+)(?:State|LID|LMC)")
_PCI_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]")
_BUSES = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-[0-9a-f]{2}\]")
_GPU_NAME = re.compile(r"(nvml|cuda|rsmi|ze|opencl\d*d)(\d+)")
_NVME_PATH = re.compile(r"nvme(\d+)c(\d+)(n\d+)")
_NVME = re.compile(r"(nvme\d+)n\d+")
Named = Mapping[str, tuple[int, dict[str, str]]]
"""A device's number and <info> pairs, by library (nvml, cuda, ...)."""
_LIBRARIES = ("nvml", "cuda", "rsmi", "ze")
_MEMORY_SIZES = (
    "CUDAGlobalMemorySize",
    "RSMIVRAMSize",
    "LevelZeroHBMSize",
    "OpenCLGlobalMemorySize",
)
NOT_IN_FILE = (
    "an hwloc file holds no PCIe width and best link, MaxPayload, ACS, IOMMU, mounts, array "
    "members, DIMM speeds, network speeds and free memory; run tierscope on the machine for those"
)


class _TooDeepError(Exception):
    """An element lies deeper than any topology's."""


class _BoundedBuilder(ElementTree.TreeBuilder):
    """Stops at a depth that our recursion over the objects could not go down."""

    depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _TooDeepError
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)


def load(path: str | Path) -> Element:
    """The file's <topology> element; raises UserError of one line for whatever else it holds."""
    return parse(_read(path), str(path))


def parse(data: bytes, path: str) -> Element:
    """The same of a file's content; ``path`` names it in errors."""
    head = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"\0" in data or not head.startswith(b"<"):
        raise UserError(f"{path}: not an hwloc XML file: its content is not XML; {_HOW}")
    if b"<!ENTITY" in data:
        raise UserError(f"{path}: refused: it declares XML entities, which hwloc never writes")
    root = _parse(path, data)
    if root.tag != "topology":
        raise UserError(f"{path}: XML, but of <{root.tag}>, not hwloc's <topology>; {_HOW}")
    version = root.get("version")
    if version is None:
        raise UserError(
            f"{path}: an hwloc 1 file; tierscope reads hwloc 2 and 3: convert it with hwloc 2's "
            f"lstopo, `lstopo -i {path} --of xml NEW.xml`"
        )
    major = version.partition(".")[0]
    if major not in ("2", "3"):
        raise UserError(
            f"{path}: XML of hwloc {version}; tierscope reads hwloc 2 and 3: convert it with "
            f"that hwloc's lstopo, `lstopo -i {path} --of xml --export-xml-flags 2 NEW.xml`"
        )
    if major == "3":
        _as_hwloc_2(root)
    return root


def _as_hwloc_2(root: Element) -> None:
    """Put what hwloc 3 writes elsewhere, or otherwise, where hwloc 2 has it.

    hwloc 3 has the machine's <info> pairs beside the Machine object, and ``osdev_type`` is a set of
    bits (HWLOC_OBJ_OSDEV_*) where hwloc 2 has one number.
    """
    machine = root.find("object")
    if machine is not None:
        machine.extend(root.findall("info"))
    for element in root.iter("object"):
        mask = integer(element.get("osdev_type"))
        if mask is not None:
            bit_names = (name for bit, name in _OSDEV_BITS if mask & bit)
            element.set("osdev_type", next(bit_names, ""))


def _read(path: str | Path) -> bytes:
    try:
        with open_given(path) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES >> 20
        raise UserError(f"{path}: larger than {limit} MiB, which no machine's topology is; {_HOW}")
    if not data.strip():
        raise UserError(f"{path}: empty; {_HOW}")
    return data


def _parse(path: str | Path, data: bytes) -> Element:
    builder = _BoundedBuilder()
    parser = ElementTree.XMLParser(target=builder)  # noqa: S314 - see the import
    try:
        for offset in range(0, len(data), 1 << 16):
            parser.feed(data[offset : offset + (1 << 16)])
        root: Element = parser.close()
    except _TooDeepError:
        raise UserError(f"{path}: nested deeper than {_MAX_DEPTH}; no topology is") from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UserError(f"{path}: broken or cut off XML ({error}); {_HOW}") from None
    return root


def objects(
    element: Element, above: tuple[Element, ...] = ()
) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Every <object> below, parents first, each with the objects that it lies in."""
    for child in element.iterfind("object"):
        yield child, above
        yield from objects(child, (*above, child))


def infos(element: Element) -> dict[str, str]:
    """The object's <info> pairs, the first of each name."""
    found: dict[str, str] = {}
    for info in element.iterfind("info"):
        found.setdefault(info.get("name", ""), info.get("value", ""))
    return found


def integer(text: str | None) -> int | None:
    """A decimal or 0x number from 0 to below 2^63; None for anything else."""
    try:
        value = int(text, 0) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1 << 63 else None


def kibibytes(text: str | None) -> int | None:
    """Bytes of hwloc's sizes in <info> pairs: ``1024`` (KiB, hwloc 2) or ``1024KiB`` (hwloc 3)."""
    size = integer((text or "").removesuffix("KiB"))
    return size << 10 if size is not None else None


def bits(text: str | None) -> list[int]:
    """Members of hwloc's bitmap text, words of 32 bits, highest first: 0x00000303,,0x0.

    The endless set (0xf...f) gives no members beyond its written words.
    """
    value = 0
    for word in (text or "").split(","):
        if word and not re.fullmatch(r"0x[0-9a-fA-F]{1,8}|0xf\.\.\.f", word):
            return []
        value = value << 32 | (int(word, 16) if word and "..." not in word else 0)
    return [index for index in range(value.bit_length()) if value >> index & 1]


def read_nodes(root: Element, found: Found, packages: list[Package]) -> list[Node]:
    """All nodes in ascending order; their kinds are left for infer_kinds."""
    placed = [(entry, above) for entry, above in found if entry.get("type") == "NUMANode"]
    elements = [element for element, _ in placed]
    caches = _memory_side_caches(found, placed)
    owners = _owners(elements)
    distances = _distances(root)
    nodes: list[Node] = []
    for element in elements:
        number = index_of(element)
        if number is None or any(node.number == number for node in nodes):
            continue
        local = set(bits(element.get("cpuset")))
        homes = [package.number for package in packages if local & set(package.cpus)]
        total = integer(element.get("local_memory")) or 0
        nodes.append(
            Node(
                number=number,
                kind=NodeKind.UNKNOWN,
                inferred_from="",
                cpus=owners.get(number, []),
                local_cpus=sorted(local),
                total_bytes=total,
                online=bool(total),
                package=homes[0] if len(homes) == 1 else None,
                tier=integer(infos(element).get("MemoryTier")),
                distances=distances.get(number, {}),
                memory_side_caches=caches.get(number, []),
            )
        )
    nodes.sort(key=lambda node: node.number)
    performance = _performance(root, elements, nodes)
    return [
        node.model_copy(update={"performance": performance.get(node.number, [])}) for node in nodes
    ]


def index_of(element: Element) -> int | None:
    """The operating system's number of an object."""
    return integer(element.get("os_index"))


def _memory_side_caches(found: Found, placed: Found) -> dict[int, list[MemorySideCache]]:
    """Caches in front of each node: MemCache objects around it, or a Xeon Phi's special L3."""
    mcdram = [entry for entry, _ in found if entry.get("subtype") == MCDRAM_CACHE]
    result: dict[int, list[MemorySideCache]] = {}
    for element, above in placed:
        number, cpus = index_of(element), set(bits(element.get("cpuset")))
        around = [entry for entry in above if entry.get("type") == "MemCache"]
        if not around and element.get("subtype") not in _SPECIAL_SUBTYPES:
            around = [entry for entry in mcdram if cpus & set(bits(entry.get("cpuset")))]
        if number is not None and around:
            result[number] = [cache for entry in around if (cache := _side_cache(entry))]
    return result


def _side_cache(element: Element) -> MemorySideCache | None:
    size = integer(element.get("cache_size"))
    if not size:
        return None
    level = integer(element.get("depth")) if element.get("type") == "MemCache" else 1
    ways = integer(element.get("cache_associativity"))
    return MemorySideCache(
        level=level or 1,
        size_bytes=size,
        line_bytes=integer(element.get("cache_linesize")) or None,
        indexing="direct-mapped" if ways == 1 else "indexed" if ways else "",
    )


def _owners(elements: list[Element]) -> dict[int, list[int]]:
    """CPUs of each node's own: hwloc gives a CPU-less node the cpuset that it is local to.

    Of nodes with the same CPUs, the ordinary one with the smallest number owns them.
    """

    def rank(element: Element) -> tuple[int, bool, int]:
        about = infos(element)
        special = any(word in element.get("subtype", "") for word in _SPECIAL_SUBTYPES)
        special |= bool({"DAXDevice", "DAXType", "CXLDevice", "PCIBusID"} & set(about))
        return len(bits(element.get("cpuset"))), special, index_of(element) or 0

    owned: set[int] = set()
    owners: dict[int, list[int]] = {}
    for element in sorted(elements, key=rank):
        cpus, number = bits(element.get("cpuset")), index_of(element)
        if number is not None and cpus and not owned & set(cpus):
            owners[number] = cpus
            owned |= set(cpus)
    return owners


def stated_kinds(found: Found) -> dict[int, Conclusion]:
    """Kinds that the file itself states."""
    told: dict[int, Conclusion] = {}
    for element in (entry for entry, _ in found if entry.get("type") == "NUMANode"):
        number, about, subtype = index_of(element), infos(element), element.get("subtype", "")
        if number is None:
            continue
        backed = [value for key in ("CXLDevice", "DAXDevice") if (value := about.get(key))]
        if subtype == "GPUMemory":
            address = about.get("PCIBusID", "").lower()
            told[number] = (NodeKind.GPU, "the file marks it GPUMemory", [address] * bool(address))
        elif "CXL" in subtype or "CXLDevice" in about:
            told[number] = (NodeKind.CXL, f"the file marks it {subtype or 'CXLDevice'}", backed)
        elif subtype in ("HBM", "MCDRAM"):
            told[number] = (NodeKind.HBM, f"the file marks it {subtype}", backed)
        elif "NVM" in (subtype, about.get("DAXType")):
            told[number] = (NodeKind.PMEM, "the file marks it NVM", backed)
        elif subtype == "DRAM":
            told[number] = (NodeKind.DRAM, "the file marks it DRAM", backed)
    return told


def _distances(root: Element) -> dict[int, dict[int, int]]:
    """The matrix of latencies (NUMALatency; older files name none) by node numbers."""
    for matrix in root.iterfind("distances2"):
        latency = (integer(matrix.get("kind")) or 0) & _MEANS_LATENCY
        if matrix.get("type") != "NUMANode" or matrix.get("indexing") != "os" or not latency:
            continue
        text = [" ".join(part.text or "" for part in matrix.iterfind(tag)) for tag in _MATRIX]
        numbers, values = ([integer(word) for word in part.split()] for part in text)
        if None in numbers or None in values or len(values) != len(numbers) ** 2:
            continue
        size = len(numbers)
        return {
            row: {
                column: values[i * size + j] or 0
                for j, column in enumerate(numbers)
                if column is not None
            }
            for i, row in enumerate(numbers)
            if row is not None
        }
    return {}


def _performance(
    root: Element, elements: list[Element], nodes: list[Node]
) -> dict[int, list[Performance]]:
    """Memory attributes: one claim for each node and set of initiating CPUs."""
    by_identity = {element.get("gp_index"): index_of(element) for element in elements}
    claims: dict[tuple[int, str], dict[str, float]] = {}
    for attribute in root.iterfind("memattr"):
        fields = _ATTRIBUTES.get(attribute.get("name", ""), ())
        for value in attribute.iterfind("memattr_value"):
            target = by_identity.get(value.get("target_obj_gp_index"))
            amount, cpus = integer(value.get("value")), value.get("initiator_cpuset")
            if target is None or cpus is None or not amount:
                continue
            # hwloc passes the kernel's MB/s on as they are.
            for name in fields:
                factor = 1e6 if "bandwidth" in name else 1.0
                claims.setdefault((target, cpus), {}).setdefault(name, amount * factor)
    found: dict[int, list[Performance]] = {}
    for (target, cpuset), values in claims.items():
        cpus_of = set(bits(cpuset))
        initiators = [node.number for node in nodes if node.cpus and cpus_of >= set(node.cpus)]
        found.setdefault(target, []).append(Performance(initiators=initiators, **values))
    return found


@dataclass(frozen=True)
class NetworkObject:
    """An OpenFabrics device or a network interface of the file."""

    name: str
    rdma: bool
    address: str | None
    """PCI address."""
    class_code: int
    about: dict[str, str]


def network_ports(found: Sequence[NetworkObject]) -> list[Port]:
    """RDMA ports with their interfaces, then the interfaces that are no RDMA port's."""
    ports: list[Port] = []
    taken: set[int] = set()
    for device in found:
        if not device.rdma:
            continue
        numbers = sorted({int(match[1]) for key in device.about if (match := _PORT.match(key))})
        for number in numbers or [1]:
            at = next(
                (
                    index
                    for index, other in enumerate(found)
                    if index not in taken and _is_interface(other, device, number)
                ),
                None,
            )
            interface = found[at] if at is not None else None
            if at is not None:
                taken.add(at)
            state = device.about.get(f"Port{number}State")
            ports.append(
                Port(
                    name=f"{device.name}/{number}",
                    kind=_kind(interface or device),
                    address=device.address,
                    rdma=device.name,
                    interface=interface.name if interface else "",
                    state="active" if state == "4" else "",  # IB_PORT_ACTIVE
                )
            )
    for index, other in enumerate(found):
        if not other.rdma and index not in taken:
            kind = _kind(other) if other.address else "virtual"
            ports.append(
                Port(name=other.name, kind=kind, address=other.address, interface=other.name)
            )
    return ports


def _is_interface(other: NetworkObject, device: NetworkObject, number: int) -> bool:
    """Whether a network interface is that of an RDMA device's port; older files number none."""
    if other.rdma or other.address is None or other.address != device.address:
        return False
    return other.about.get("Port", str(number)) == str(number)


def _kind(found: NetworkObject) -> Literal["ethernet", "infiniband"]:
    """RoCE, usNIC and iWARP are RDMA over Ethernet: the hardware address and the class tell."""
    octets = len(found.about.get("Address", "").split(":"))
    if octets == _INFINIBAND_OCTETS or found.class_code in _INFINIBAND_CLASSES:
        return "infiniband"
    return "ethernet"


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
    """Objects of the file that the lists above lack, with the reason."""
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


def read_gpus(named: Mapping[str, Named], pci: Sequence[PciDevice]) -> tuple[list[Gpu], list[str]]:
    """All GPUs, and what is to be said of their numbers; ``named`` is by PCI address.

    A GPU has its driver's number. Those that no driver's library names follow, in PCI order.
    """
    numbered: dict[int, Gpu] = {}
    others: list[Gpu] = []
    for address, libraries in named.items():
        index, gpu = _of_libraries(address, libraries)
        if index is None or index in numbered:
            others.append(gpu)
        else:
            numbered[index] = gpu.model_copy(update={"index": index})
    bare = [
        Gpu(index=0, name=device.name, address=device.address)
        for device in pci
        if is_gpu(device.class_code, device.vendor) and device.address not in named
    ]
    others = sorted([*others, *bare], key=lambda gpu: gpu.address)
    first = max(numbered, default=-1) + 1
    counted = [gpu.model_copy(update={"index": first + place}) for place, gpu in enumerate(others)]
    notes = []
    if numbered and counted:
        names = ", ".join(f"gpu:{gpu.index}" for gpu in counted)
        notes.append(
            f"the driver's numbers of {names}: NVML, CUDA, ROCm SMI and Level Zero do not name "
            "them in the file; they are counted last, in PCI order"
        )
    return [*(numbered[index] for index in sorted(numbered)), *counted], notes


def _of_libraries(address: str, libraries: Named) -> tuple[int | None, Gpu]:
    """One GPU by what all libraries say, and its number by the most trusted; None of OpenCL's."""
    trusted = [libraries[name] for name in _LIBRARIES if name in libraries]
    ordered = trusted or list(libraries.values())
    about = {key: value for _, pairs in reversed(ordered) for key, value in pairs.items()}
    for pairs in (entry[1] for entry in libraries.values()):
        about = pairs | about
    memory = next((size for key in _MEMORY_SIZES if (size := kibibytes(about.get(key)))), None)
    gpu = Gpu(
        index=0,
        name=about.get("GPUModel", ""),
        address=address if ":" in address else "",
        uuid=about.get("NVIDIAUUID", ""),
        memory_bytes=memory,
    )
    return (trusted[0][0] if trusted else None), gpu


@dataclass
class Ends:
    """Row labels of the matrix, by hwloc's type and gp_index: ``OSDev:332``."""

    addresses: dict[str, str] = field(default_factory=dict)
    """PCI addresses of GPUs and switches."""
    packages: dict[str, int | None] = field(default_factory=dict)
    """Numbers of packages."""


def with_nvlinks(gpus: Sequence[Gpu], root: Element, ends: Ends) -> list[Gpu]:
    """The GPUs with their NVLinks by the matrix NVLinkBandwidth (MB/s), where there is one."""
    found = list(gpus)
    for matrix in [*root.iterfind("distances2hetero"), *root.iterfind("distances2")]:
        if matrix.get("name") != "NVLinkBandwidth":
            continue
        names = " ".join(part.text or "" for part in matrix.iterfind("indexes")).split()
        if matrix.tag == "distances2":  # all rows are of one type, which stands apart
            names = [f"{matrix.get('type')}:{name}" for name in names]
        words = " ".join(part.text or "" for part in matrix.iterfind("u64values")).split()
        values = [integer(word) or 0 for word in words]
        if len(values) == len(names) ** 2:
            found = [_with_links(gpu, names, values, ends) for gpu in found]
    return found


def _with_links(gpu: Gpu, names: list[str], values: list[int], ends: Ends) -> Gpu:
    row = next(
        (
            i
            for i, name in enumerate(names)
            if gpu.address and ends.addresses.get(name) == gpu.address
        ),
        None,
    )
    known = nvlink_version(gpu.name)
    if row is None or known is None:
        return gpu
    version, rate = known
    links: list[NvLink] = []
    for column, name in enumerate(names):
        value = values[row * len(names) + column]
        if column == row or not value:
            continue
        kind = name.partition(":")[0]
        links.append(
            NvLink(
                version=version,
                links=max(1, round(value * 1e6 / rate)),
                peer="gpu" if kind == "OSDev" else "switch" if kind == "PCIDev" else "cpu",
                peer_address=ends.addresses.get(name) or None,
                peer_package=ends.packages.get(name),
            )
        )
    return gpu.model_copy(update={"nvlinks": links})


_CACHE_TYPES: dict[str, Literal["unified", "data", "instruction"]] = {
    "0": "unified",
    "1": "data",
    "2": "instruction",
}


def read_hwloc(path: str | Path) -> Topology:
    """The machine that an hwloc XML file describes; UserError of one line where it is none."""
    return _convert(load(path), shown(path))


def parse_hwloc(data: bytes, name: str) -> Topology:
    """The same of XML that is not a file's; ``name`` is what errors call it."""
    return _convert(parse(data, name), name)


def _convert(root: Element, path: str) -> Topology:
    found = list(objects(root))
    machine = next((element for element, _ in found if element.get("type") == "Machine"), None)
    if machine is None:
        raise UserError(f"{path}: an hwloc file without a Machine object; it describes nothing")
    about = infos(machine)
    packages = _packages(found, about)
    nodes = read_nodes(root, found, packages)
    devices = Devices(found, Locality(nodes, packages), root)
    gpus = devices.gpus
    cpus = sorted(
        number for element in _of_type(found, "PU") if (number := index_of(element)) is not None
    )
    allowed = set(bits(machine.get("allowed_cpuset"))) or set(cpus)
    pages = sorted(
        {size for element in _of_type(found, "NUMANode") for size in _page_sizes(element)}
    )
    model = packages[0].cpu_model if packages else _cpu_model(about)
    emulated = "QEMU TCG" in model
    return Topology(
        host=about.get("HostName", Path(path).stem),
        source=path,
        product=_product(about),
        cpu_model=model,
        architecture=about.get("Architecture", ""),
        kernel=about.get("OSRelease", ""),
        virtual=TCG if emulated else "QEMU" if "QEMU" in about.get("DMISysVendor", "") else "",
        emulated=emulated,
        packages=packages,
        cpus=[cpu for cpu in cpus if cpu in allowed],
        siblings=_siblings(found, cpus),
        nodes=infer_kinds(
            nodes,
            cpu_model=f"{model} {_product(about)}",
            packages=len(packages),
            told=stated_kinds(found),
            gpus=gpus,
            memories=devices.cxl_memories,
            dax=devices.dax,
        ),
        caches=_caches(found),
        base_page_bytes=pages[0] if pages else 4096,
        huge_page_bytes=pages[1:],
        pci=devices.pci,
        gpus=gpus,
        blocks=devices.blocks,
        ports=devices.ports,
        cxl_memories=devices.cxl_memories,
        dax=devices.dax,
        offline_nodes=sorted(
            set(bits(machine.get("complete_nodeset"))) - {node.number for node in nodes}
        ),
        unreadable=[
            *([] if pages else ["the file does not say the page size; 4096 bytes are assumed"]),
            *_left_out(found, machine, cpus, nodes),
            *devices.left_out,
            NOT_IN_FILE,
        ],
    )


def _left_out(found: Found, machine: Element, cpus: list[int], nodes: list[Node]) -> list[str]:
    """Objects that the file names without describing, and the assumptions made for them."""
    lines: list[str] = []
    absent_cpus = sorted(set(bits(machine.get("complete_cpuset"))) - set(cpus))
    absent_nodes = sorted(
        set(bits(machine.get("complete_nodeset"))) - {node.number for node in nodes}
    )
    names = [
        f"{what}{'s' * (len(numbers) > 1)} {format_ranges(tuple(numbers))}"
        for what, numbers in (("CPU", absent_cpus), ("NUMA node", absent_nodes))
        if numbers
    ]
    if names:
        were = "were" if len(names) > 1 or len(absent_cpus or absent_nodes) > 1 else "was"
        lines.append(
            f"{' and '.join(names)} {were} offline or not allowed when the file was written; it "
            "does not describe them"
        )
    if not _of_type(found, "Package"):
        lines.append("the file names no packages; all its CPUs are shown as package 0")
    if not _of_type(found, "Core"):
        lines.append("the file names no cores; each CPU is taken for one")
    silent = [node.number for node in nodes if not node.total_bytes]
    if silent:
        of = f"node{'s' * (len(silent) > 1)} {format_ranges(tuple(silent))}"
        lines.append(f"the file does not say how much memory {of} has, if any")
    return lines


def _siblings(found: Found, cpus: list[int]) -> list[list[int]]:
    """CPUs of each core; one each where the file names no cores."""
    cores = [bits(element.get("cpuset")) for element in _of_type(found, "Core")]
    return [core for core in cores if core] or [[cpu] for cpu in cpus]


def _of_type(found: Found, kind: str) -> list[Element]:
    return [element for element, _ in found if element.get("type") == kind]


def _product(about: dict[str, str]) -> str:
    keys = ("DMISysVendor", "DMIProductName")
    names = [about[key] for key in keys if about.get(key)]
    return " ".join(names) or about.get("PlatformModel", "") or about.get("PlatformName", "")


def _cpu_model(about: dict[str, str]) -> str:
    return about.get("CPUModel") or arm_name(about.get("CPUImplementer"), about.get("CPUPart"))


def _packages(found: Found, machine: dict[str, str]) -> list[Package]:
    """Sockets; a file without them (some Arm and VMs) gives one that holds all CPUs."""
    elements = _of_type(found, "Package")
    cores = [set(bits(element.get("cpuset"))) for element in _of_type(found, "Core")]
    pus = [number for element in _of_type(found, "PU") if (number := index_of(element)) is not None]
    if not elements:
        cpus = sorted(pus)
        count = len(cores) or len(cpus)
        return [Package(number=0, cpus=cpus, cores=count, cpu_model=_cpu_model(machine))]
    packages: list[Package] = []
    for position, element in enumerate(elements):
        cpus = [cpu for cpu in bits(element.get("cpuset")) if cpu in set(pus)]
        number = index_of(element)
        packages.append(
            Package(
                number=position if number is None else number,
                cpus=cpus,
                cores=sum(1 for core in cores if core and core <= set(cpus))
                if cores
                else len(cpus),
                cpu_model=_cpu_model(infos(element)) or _cpu_model(machine),
            )
        )
    return packages


def _caches(found: Found) -> list[Cache]:
    caches = [
        Cache(level=level, type=kind, size_bytes=size, cpus=bits(element.get("cpuset")))
        for element, _ in found
        if (element.get("type") or "").startswith("L")
        and element.get("subtype") != MCDRAM_CACHE
        and (kind := _CACHE_TYPES.get(element.get("cache_type", "")))
        and (level := integer(element.get("depth")))
        and (size := integer(element.get("cache_size")))
    ]
    return sorted(caches, key=lambda cache: (cache.level, cache.type, cache.cpus))


def _page_sizes(element: Element) -> list[int]:
    sizes = (integer(page.get("size")) for page in element.iterfind("page_type"))
    return [size for size in sizes if size]
