"""Another machine's topology from its hwloc 2 XML file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tierscope.model.errors import UserError
from tierscope.model.topology import TCG, Cache, Node, NodeKind, Package, Performance, Topology
from tierscope.topology.hwloc_devices import Devices, Locality
from tierscope.topology.hwloc_file import Element, bits, infos, integer, load, objects, parse
from tierscope.topology.kinds import Conclusion, infer_kinds
from tierscope.topology.processors import arm_name

_CACHE_TYPES: dict[str, Literal["unified", "data", "instruction"]] = {
    "0": "unified",
    "1": "data",
    "2": "instruction",
}
_SPECIAL_SUBTYPES = ("HBM", "MCDRAM", "NVM", "SPM", "GPUMemory", "CXL")
_ATTRIBUTES = {
    "ReadLatency": ("read_latency_ns",),
    "WriteLatency": ("write_latency_ns",),
    "Latency": ("read_latency_ns", "write_latency_ns"),
    "ReadBandwidth": ("read_bandwidth",),
    "WriteBandwidth": ("write_bandwidth",),
    "Bandwidth": ("read_bandwidth", "write_bandwidth"),
}
NOT_IN_FILE = (
    "an hwloc file holds no PCIe width and best link, MaxPayload, ACS, IOMMU, mounts, array "
    "members, DIMM speeds, network speeds and free memory; run tierscope on the machine for those"
)


def read_hwloc(path: str | Path) -> Topology:
    """The machine that an hwloc 2 XML file describes; UserError of one line where it is none."""
    return _convert(load(path), str(path))


def parse_hwloc(data: bytes, name: str) -> Topology:
    """The same of XML that is no file's; ``name`` is what errors call it."""
    return _convert(parse(data, name), name)


def _convert(root: Element, path: str) -> Topology:
    found = list(objects(root))
    machine = next((element for element, _ in found if element.get("type") == "Machine"), None)
    if machine is None:
        raise UserError(f"{path}: an hwloc file without a Machine object; it describes nothing")
    about = infos(machine)
    packages = _packages(found, about)
    raw_nodes = _of_type(found, "NUMANode")
    nodes = _nodes(root, raw_nodes, packages)
    devices = Devices(found, Locality(nodes, packages), root)
    gpus = devices.gpus
    cpus = sorted(
        number for element in _of_type(found, "PU") if (number := _index(element)) is not None
    )
    allowed = set(bits(machine.get("allowed_cpuset"))) or set(cpus)
    pages = sorted({size for element in raw_nodes for size in _page_sizes(element)})
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
        siblings=[bits(element.get("cpuset")) for element in _of_type(found, "Core")],
        nodes=infer_kinds(
            nodes,
            cpu_model=f"{model} {_product(about)}",
            packages=len(packages),
            told=_told(raw_nodes),
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
        unreadable=[NOT_IN_FILE]
        + ([] if pages else ["the file does not say the page size; 4096 bytes are assumed"]),
    )


_Found = Sequence[tuple[Element, tuple[Element, ...]]]


def _of_type(found: _Found, kind: str) -> list[Element]:
    return [element for element, _ in found if element.get("type") == kind]


def _index(element: Element) -> int | None:
    return integer(element.get("os_index"))


def _product(about: dict[str, str]) -> str:
    keys = ("DMISysVendor", "DMIProductName")
    names = [about[key] for key in keys if about.get(key)]
    return " ".join(names) or about.get("PlatformModel", "") or about.get("PlatformName", "")


def _cpu_model(about: dict[str, str]) -> str:
    return about.get("CPUModel") or arm_name(about.get("CPUImplementer"), about.get("CPUPart"))


def _packages(found: _Found, machine: dict[str, str]) -> list[Package]:
    """Sockets; a file without them (some Arm and VMs) gives one that holds all CPUs."""
    elements = _of_type(found, "Package")
    cores = [set(bits(element.get("cpuset"))) for element in _of_type(found, "Core")]
    pus = [number for element in _of_type(found, "PU") if (number := _index(element)) is not None]
    if not elements:
        cpus = sorted(pus)
        return [Package(number=0, cpus=cpus, cores=len(cores), cpu_model=_cpu_model(machine))]
    packages: list[Package] = []
    for position, element in enumerate(elements):
        cpus = [cpu for cpu in bits(element.get("cpuset")) if cpu in set(pus)]
        number = _index(element)
        packages.append(
            Package(
                number=position if number is None else number,
                cpus=cpus,
                cores=sum(1 for core in cores if core and core <= set(cpus)),
                cpu_model=_cpu_model(infos(element)) or _cpu_model(machine),
            )
        )
    return packages


def _nodes(root: Element, elements: list[Element], packages: list[Package]) -> list[Node]:
    owners = _owners(elements)
    distances = _distances(root)
    nodes: list[Node] = []
    for element in elements:
        number = _index(element)
        if number is None:
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
            )
        )
    nodes.sort(key=lambda node: node.number)
    performance = _performance(root, elements, nodes)
    return [
        node.model_copy(update={"performance": performance.get(node.number, [])}) for node in nodes
    ]


def _owners(elements: list[Element]) -> dict[int, list[int]]:
    """CPUs of each node's own: hwloc gives a CPU-less node the cpuset that it is local to.

    Of nodes with the same CPUs, the ordinary one with the smallest number owns them.
    """

    def rank(element: Element) -> tuple[int, bool, int]:
        about = infos(element)
        special = any(word in element.get("subtype", "") for word in _SPECIAL_SUBTYPES)
        special |= bool({"DAXDevice", "DAXType", "CXLDevice", "PCIBusID"} & set(about))
        return len(bits(element.get("cpuset"))), special, _index(element) or 0

    owned: set[int] = set()
    owners: dict[int, list[int]] = {}
    for element in sorted(elements, key=rank):
        cpus, number = bits(element.get("cpuset")), _index(element)
        if number is not None and cpus and not owned & set(cpus):
            owners[number] = cpus
            owned |= set(cpus)
    return owners


def _told(elements: list[Element]) -> dict[int, Conclusion]:
    """Kinds that the file itself states."""
    told: dict[int, Conclusion] = {}
    for element in elements:
        number, about, subtype = _index(element), infos(element), element.get("subtype", "")
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
    """The NUMALatency matrix by node numbers."""
    for matrix in root.iterfind("distances2"):
        if matrix.get("type") != "NUMANode" or matrix.get("indexing") != "os":
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


_MATRIX = ("indexes", "u64values")


def _performance(
    root: Element, elements: list[Element], nodes: list[Node]
) -> dict[int, list[Performance]]:
    """Memory attributes: one claim for each node and set of initiating CPUs."""
    by_identity = {element.get("gp_index"): _index(element) for element in elements}
    claims: dict[tuple[int, str], dict[str, float]] = {}
    for attribute in root.iterfind("memattr"):
        fields = _ATTRIBUTES.get(attribute.get("name", ""), ())
        for value in attribute.iterfind("memattr_value"):
            target = by_identity.get(value.get("target_obj_gp_index"))
            amount, cpus = integer(value.get("value")), value.get("initiator_cpuset")
            if target is None or cpus is None or not amount:
                continue
            # hwloc passes the kernel's MB/s on as they are.
            for field in fields:
                factor = 1e6 if "bandwidth" in field else 1.0
                claims.setdefault((target, cpus), {}).setdefault(field, amount * factor)
    found: dict[int, list[Performance]] = {}
    for (target, cpuset), values in claims.items():
        cpus_of = set(bits(cpuset))
        initiators = [node.number for node in nodes if node.cpus and cpus_of >= set(node.cpus)]
        found.setdefault(target, []).append(Performance(initiators=initiators, **values))
    return found


def _caches(found: _Found) -> list[Cache]:
    caches = [
        Cache(level=level, type=kind, size_bytes=size, cpus=bits(element.get("cpuset")))
        for element, _ in found
        if (element.get("type") or "").startswith("L")
        and (kind := _CACHE_TYPES.get(element.get("cache_type", "")))
        and (level := integer(element.get("depth")))
        and (size := integer(element.get("cache_size")))
    ]
    return sorted(caches, key=lambda cache: (cache.level, cache.type, cache.cpus))


def _page_sizes(element: Element) -> list[int]:
    sizes = (integer(page.get("size")) for page in element.iterfind("page_type"))
    return [size for size in sizes if size]
