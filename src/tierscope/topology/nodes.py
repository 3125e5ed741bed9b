"""NUMA nodes of this machine, from /sys/devices/system/node."""

from collections.abc import Sequence

from tierscope.model.endpoint import parse_ranges
from tierscope.model.topology import Node, NodeKind, Package, Performance
from tierscope.topology.files import Files
from tierscope.topology.memory_side import read_memory_side_caches

NODES = "/sys/devices/system/node"
_TIERS = "/sys/devices/virtual/memory_tiering"


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
    """What firmware claims, nearest initiators first (access0: any, access1: CPUs only)."""
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
