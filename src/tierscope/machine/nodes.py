"""NUMA nodes from sysfs; the kind of memory of each, inferred from named evidence."""

from collections.abc import Sequence

from tierscope.machine.dimms import PERSISTENT
from tierscope.machine.files import Files
from tierscope.machine.memory import read_memory_side_caches
from tierscope.model.endpoint import parse_ranges
from tierscope.model.topology import (
    CxlMemory,
    CxlRegion,
    Dax,
    Dimm,
    Gpu,
    Node,
    NodeKind,
    Package,
    Performance,
)

_GIB = 1 << 30
_XEON_MAX_HBM_BYTES = 64 * _GIB  # on package: four stacks of 16 GiB
_WITH_HBM = ("CPU Max 94", "Xeon Phi")
_HBM_ADVANTAGE = 1.5
"""A CPU-less node that firmware claims to be this many times faster than its CPUs' own is HBM."""


Conclusion = tuple[NodeKind, str, list[str]]
"""Kind, what it was concluded from, and the devices that hold the memory."""
NODES = "/sys/devices/system/node"
_TIERS = "/sys/devices/virtual/memory_tiering"


def infer_kinds(
    nodes: Sequence[Node],
    *,
    cpu_model: str,
    packages: int,
    told: dict[int, Conclusion],
    gpus: Sequence[Gpu] = (),
    regions: Sequence[CxlRegion] = (),
    memories: Sequence[CxlMemory] = (),
    dax: Sequence[Dax] = (),
    dimms: Sequence[Dimm] = (),
) -> list[Node]:
    """The nodes with kind, reason and backing devices filled in.

    ``told`` holds nodes whose kind the source states: the GPU driver, or an hwloc file's label.
    """
    decided: list[Node] = []
    for node in nodes:
        stated = told.get(node.number)
        if stated is not None and not (stated[0] is NodeKind.GPU and node.cpus):
            kind, why, backed = stated
        elif not node.total_bytes:
            kind, why, backed = NodeKind.UNKNOWN, "it has no memory online", []
        elif node.cpus:
            kind, why, backed = _with_cpus(node, nodes, cpu_model, packages, dimms)
        else:
            kind, why, backed = _without_cpus(
                node, nodes, cpu_model, regions=regions, memories=memories, dax=dax, gpus=gpus
            )
        decided.append(
            node.model_copy(update={"kind": kind, "inferred_from": why, "backed_by": backed})
        )
    return decided


def _with_cpus(
    node: Node, nodes: Sequence[Node], cpu_model: str, packages: int, dimms: Sequence[Dimm]
) -> Conclusion:
    if node.memory_side_caches:
        return _behind_cache(cpu_model, dimms)
    if "A64FX" in cpu_model:
        return NodeKind.HBM, "an A64FX has no other memory than its HBM2", []
    if "CPU Max 94" in cpu_model:
        total = sum(entry.total_bytes for entry in nodes)
        if all(entry.cpus for entry in nodes) and total <= packages * _XEON_MAX_HBM_BYTES:
            return NodeKind.HBM, "a Xeon Max with no more memory than its own HBM2e", []
    return NodeKind.DRAM, "it has CPUs of its own", []


def _behind_cache(cpu_model: str, dimms: Sequence[Dimm]) -> Conclusion:
    """Infer the memory behind a memory-side cache: a cache that is not HBM is DRAM."""
    if any(name in cpu_model for name in _WITH_HBM):
        return NodeKind.DRAM, "behind a memory-side cache, on a CPU whose HBM is one", []
    persistent = [dimm for dimm in dimms if dimm.type == PERSISTENT]
    if persistent:
        return NodeKind.PMEM, "behind a memory-side cache, with persistent modules (SMBIOS)", []
    return NodeKind.UNKNOWN, "behind a memory-side cache; its kind is not shown", []


def _without_cpus(
    node: Node,
    nodes: Sequence[Node],
    cpu_model: str,
    *,
    regions: Sequence[CxlRegion],
    memories: Sequence[CxlMemory],
    dax: Sequence[Dax],
    gpus: Sequence[Gpu],
) -> Conclusion:
    for region in regions:
        if region.node == node.number:
            devices = ", ".join(region.memories)
            return NodeKind.CXL, f"CXL region {region.name} over {devices}", region.memories
    own_dax = [device for device in dax if device.node == node.number]
    for device in own_dax:
        if device.parent.startswith("ndbus"):
            reason = f"{device.name} of NVDIMM {device.parent}, in use as system RAM"
            return NodeKind.PMEM, reason, [device.name]
    found = _by_size(node, nodes, regions, memories) or _by_machine(node, cpu_model, gpus)
    if found is not None:
        return found
    faster = _times_faster(node, nodes)
    backed = [device.name for device in own_dax]
    if faster is not None and faster >= _HBM_ADVANTAGE:
        return NodeKind.HBM, f"CPU-less; HMAT claims {faster:.1f}x the bandwidth of DRAM", backed
    if faster is not None:
        claim = f"HMAT claims {faster:.2g}x the bandwidth of DRAM"
        return NodeKind.UNKNOWN, f"CPU-less, {claim}, and no device claims it", backed
    return NodeKind.UNKNOWN, "CPU-less, of unknown kind", backed


def _by_size(
    node: Node,
    nodes: Sequence[Node],
    regions: Sequence[CxlRegion],
    memories: Sequence[CxlMemory],
) -> Conclusion | None:
    """Firmware that sets CXL memory up itself leaves no dax device, but the sizes identify it.

    Only where one node alone can be meant; the kernel keeps up to 2% for page structures.
    """
    amounts = {
        f"CXL region {region.name}": (region.size_bytes, region.memories)
        for region in regions
        if region.mode == "ram" and region.node is None
    }
    if not regions:
        amounts |= {card.name: (card.ram_bytes, [card.name]) for card in memories if card.ram_bytes}
        names = [card.name for card in memories if card.ram_bytes]
        amounts["all CXL memory"] = (sum(card.ram_bytes for card in memories), names)
    for what, (size, backed) in amounts.items():
        like = [entry.number for entry in nodes if not entry.cpus and _fits(entry, size)]
        if like == [node.number]:
            return NodeKind.CXL, f"CPU-less, and of the size of {what}", backed
    return None


def _fits(node: Node, size: int) -> bool:
    return size > 0 and 0.97 <= node.total_bytes / size <= 1


def _by_machine(node: Node, cpu_model: str, gpus: Sequence[Gpu]) -> Conclusion | None:
    """Parts that are known to hold one kind of CPU-less memory and no other."""
    if "CPU Max 94" in cpu_model and node.total_bytes <= _XEON_MAX_HBM_BYTES:
        return NodeKind.HBM, "CPU-less node of a Xeon Max, no larger than its HBM2e", []
    if "Xeon Phi" in cpu_model and node.total_bytes <= 16 * _GIB:
        return NodeKind.HBM, "CPU-less node of a Xeon Phi, no larger than its MCDRAM", []
    same = [
        gpu
        for gpu in gpus
        if gpu.memory_bytes and 0.9 <= node.total_bytes / gpu.memory_bytes <= 1.02
    ]
    if any(name in cpu_model for name in ("Grace", "Neoverse-V2", "Neoverse V2")) and same:
        where = [same[0].address] if len(same) == 1 and same[0].address else []
        return NodeKind.GPU, "CPU-less node of a Grace machine, of its GPU's memory size", where
    return None


def _times_faster(node: Node, nodes: Sequence[Node]) -> float | None:
    """Claimed read bandwidth over that of the DRAM of the same initiators."""
    own = _best(node.performance)
    if own is None:
        return None
    for other in nodes:
        if other.cpus and other.number in own.initiators:
            local = _best(other.performance)
            if local is not None and local.read_bandwidth and own.read_bandwidth:
                return own.read_bandwidth / local.read_bandwidth
    return None


def _best(performance: Sequence[Performance]) -> Performance | None:
    claims = [entry for entry in performance if entry.read_bandwidth]
    return max(claims, key=lambda entry: entry.read_bandwidth or 0) if claims else None


def read_nodes(files: Files, packages: Sequence[Package], cpus: list[int]) -> list[Node]:
    """Every node that the kernel knows; one node 0 where it was built without NUMA.

    None where no CPUs are known either, since /sys is hidden.
    """
    numbers = [number for number, _ in files.numbered(NODES, "node")]
    if not numbers and not cpus:
        return []
    if not numbers:
        memory = files.fields("/proc/meminfo")
        return [
            Node(
                number=0,
                kind=NodeKind.DRAM,
                inferred_from="the only memory; the kernel shows no NUMA nodes",
                cpus=cpus,
                total_bytes=memory.get("MemTotal", 0),
                free_bytes=memory.get("MemFree"),
            )
        ]
    online = files.ranges(f"{NODES}/online") or numbers
    tiers = _tiers(files)
    return [_read_node(files, number, online, packages, tiers) for number in numbers]


def offline_nodes(files: Files) -> list[int]:
    """Return nodes that the kernel is prepared for and that are not online."""
    online = set(files.ranges(f"{NODES}/online"))
    return [number for number in files.ranges(f"{NODES}/possible") if number not in online]


def allowed_nodes(files: Files) -> list[int] | None:
    """Nodes whose memory this process may use: its cgroup's cpuset."""
    for line in (files.text("/proc/self/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key == "Mems_allowed_list" and value.strip():
            return parse_ranges(value.strip())
    return None


def _read_node(
    files: Files,
    number: int,
    online: list[int],
    packages: Sequence[Package],
    tiers: dict[int, int],
) -> Node:
    directory = f"{NODES}/node{number}"
    cpus = files.ranges(f"{directory}/cpulist")
    memory = files.fields(f"{directory}/meminfo")
    homes = [package.number for package in packages if set(package.cpus) & set(cpus)]
    distances = [
        int(value)
        for value in (files.text(f"{directory}/distance") or "").split()
        if value.isdecimal()
    ]
    kind, why = (
        (NodeKind.DRAM, "it has CPUs of its own")
        if cpus
        else (NodeKind.UNKNOWN, "CPU-less, of unknown kind")
    )
    return Node(
        number=number,
        kind=kind,
        inferred_from=why,
        cpus=cpus,
        total_bytes=memory.get("MemTotal", 0),
        free_bytes=memory.get("MemFree"),
        online=bool(memory.get("MemTotal")),
        package=homes[0] if len(homes) == 1 else None,
        tier=tiers.get(number),
        # The kernel lists distances to online nodes only, in ascending order.
        distances=dict(zip(online, distances, strict=False)),
        performance=_performance(files, directory),
        memory_side_caches=read_memory_side_caches(files, directory),
    )


def _performance(files: Files, directory: str) -> list[Performance]:
    """Return firmware's claims, nearest initiators first (access0: any, access1: CPUs only)."""
    found: list[Performance] = []
    for _, access in files.numbered(directory, "access"):
        initiators = f"{access}/initiators"
        nodes = [number for number, _ in files.numbered(initiators, "node")]
        values = {
            name: files.number(f"{initiators}/{name}")
            for name in ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")
        }
        if not any(values.values()):
            continue
        performance = Performance(
            initiators=nodes,
            read_latency_ns=values["read_latency"] or None,
            write_latency_ns=values["write_latency"] or None,
            # sysfs counts MB/s
            read_bandwidth=(values["read_bandwidth"] or 0) * 1e6 or None,
            write_bandwidth=(values["write_bandwidth"] or 0) * 1e6 or None,
        )
        if performance not in found:
            found.append(performance)
    return found


def _tiers(files: Files) -> dict[int, int]:
    """Memory tier of each node that the kernel put in one."""
    return {
        node: tier
        for tier, directory in files.numbered(_TIERS, "memory_tier")
        for node in files.ranges(f"{directory}/nodelist")
    }
