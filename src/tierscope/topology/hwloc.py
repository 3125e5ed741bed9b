"""Another machine's topology from its hwloc XML file, of version 2 or 3."""

from pathlib import Path
from typing import Literal

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.model.text import shown
from tierscope.model.topology import TCG, Cache, Node, Package, Topology
from tierscope.topology.hwloc_devices import Devices, Locality
from tierscope.topology.hwloc_file import Element, bits, infos, integer, load, objects, parse
from tierscope.topology.hwloc_nodes import (
    MCDRAM_CACHE,
    Found,
    index_of,
    read_nodes,
    stated_kinds,
)
from tierscope.topology.kinds import infer_kinds
from tierscope.topology.processors import arm_name

_CACHE_TYPES: dict[str, Literal["unified", "data", "instruction"]] = {
    "0": "unified",
    "1": "data",
    "2": "instruction",
}
NOT_IN_FILE = (
    "an hwloc file holds no PCIe width and best link, MaxPayload, ACS, IOMMU, mounts, array "
    "members, DIMM speeds, network speeds and free memory; run tierscope on the machine for those"
)


def read_hwloc(path: str | Path) -> Topology:
    """The machine that an hwloc XML file describes; UserError of one line where it is none."""
    return _convert(load(path), shown(path))


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
    """What the file names and does not describe, and what is assumed in its place."""
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
