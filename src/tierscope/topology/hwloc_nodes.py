"""The NUMA nodes of an hwloc file: CPUs, distances, firmware's claims, memory-side caches."""

from collections.abc import Sequence

from tierscope.model.topology import MemorySideCache, Node, NodeKind, Package, Performance
from tierscope.topology.hwloc_file import Element, bits, infos, integer
from tierscope.topology.kinds import Conclusion

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


_MATRIX = ("indexes", "u64values")


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
            for field in fields:
                factor = 1e6 if "bandwidth" in field else 1.0
                claims.setdefault((target, cpus), {}).setdefault(field, amount * factor)
    found: dict[int, list[Performance]] = {}
    for (target, cpuset), values in claims.items():
        cpus_of = set(bits(cpuset))
        initiators = [node.number for node in nodes if node.cpus and cpus_of >= set(node.cpus)]
        found.setdefault(target, []).append(Performance(initiators=initiators, **values))
    return found
