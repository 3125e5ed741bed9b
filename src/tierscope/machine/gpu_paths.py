"""Hops between CPUs and GPUs, between GPUs, and from a GPU to its own memory."""

from collections.abc import Sequence

from tierscope.machine.affinity import Tree, home
from tierscope.machine.links import (
    c2c_limit,
    gpu_memory_limit,
    has_c2c,
    hbm_limit,
    nvlink_limit,
    pcie_limit,
    socket_link_limit,
)
from tierscope.machine.pcie import chain, pcie_hop
from tierscope.model.path import Hop, HopRole
from tierscope.model.topology import Gpu, Node, NvLink, Topology


def cpu_to_gpu(topology: Topology, tree: Tree, homes: list[int], gpu: Gpu) -> list[Hop]:
    """From CPUs to a GPU: over C2C or NVLink where it has them, else over PCIe."""
    name = f"gpu:{gpu.index}"
    crossing = crossing_to(topology, homes, gpu_home(topology, tree, gpu))
    if gpu.c2c_links or gpu.c2c_rate:
        return [*crossing, Hop(name=f"CPU - {name}", limit=c2c_limit(gpu.c2c_rate, f" of {name}"))]
    to_cpu = _linked_to_cpu(gpu)
    if to_cpu:
        links = sum(link.links for link in to_cpu)
        version, rate = to_cpu[0].version or 0, to_cpu[0].rate_per_link
        limit = nvlink_limit(version, links, f" CPU - {name}", gpu.name, rate)
        return [*crossing, Hop(name=f"CPU - {name}", limit=limit)]
    if any(is_memory_of(node, gpu) for node in topology.nodes):
        # Its memory is a node, so CPUs reach it coherently, and not over PCIe.
        known = has_c2c(gpu.name)
        return [
            *crossing,
            Hop(
                name=f"CPU - {name}",
                limit=c2c_limit(None, f" of {name}") if known else None,
                note="" if known else "a coherent link whose rate is unknown",
            ),
        ]
    return [*crossing, *gpu_links(tree, gpu)[::-1]]


def _linked_to_cpu(gpu: Gpu) -> list[NvLink]:
    """A GPU's NVLinks to its CPU (POWER8, POWER9)."""
    return [link for link in gpu.nvlinks if link.peer == "cpu" and link.version]


def gpu_to_gpu(topology: Topology, tree: Tree, first: Gpu, second: Gpu) -> list[Hop]:
    """Between two GPUs: over NVLink where it joins them, directly or through CPUs; else PCIe."""
    if first.index == second.index:
        return gpu_memory(first)
    names = f"gpu:{first.index} - gpu:{second.index}"
    direct = [link for link in first.nvlinks if link.peer_address == second.address]
    through = [link for link in first.nvlinks if link.peer == "switch"]
    back = [link for link in second.nvlinks if link.peer == "switch"]
    links = direct or (through if through and back else [])
    if links and links[0].version:
        count = sum(link.links for link in links)
        if not direct:
            count = min(count, sum(link.links for link in back))
        where = f" {names}" + ("" if direct else " through NVSwitch")
        rate = links[0].rate_per_link
        limit = nvlink_limit(links[0].version, count, where, first.name, rate)
        return [Hop(name=names, limit=limit)]
    common = tree.common(first.address, second.address)
    if common is None and _linked_to_cpu(first) and _linked_to_cpu(second):
        near, far = (gpu_home(topology, tree, gpu) for gpu in (first, second))
        return [
            *cpu_to_gpu(topology, tree, as_list(near), first)[::-1],
            *crossing_to(topology, as_list(near), far),
            *cpu_to_gpu(topology, tree, as_list(far), second),
        ]
    up = gpu_links(tree, first, common)
    down = gpu_links(tree, second, common)[::-1]
    if common is not None:
        return [*up, *down]
    crossing = crossing_to(
        topology, as_list(gpu_home(topology, tree, first)), gpu_home(topology, tree, second)
    )
    return [*up, *crossing, *down]


def gpu_links(tree: Tree, gpu: Gpu, below: str | None = None) -> list[Hop]:
    """PCIe links from a GPU up to the CPU, or to the bridge ``below``."""
    name = f"gpu:{gpu.index}"
    links = chain(tree, gpu.address, below)
    device = tree.device(gpu.address)
    shown = device is not None and (device.link or device.link_rate)
    if gpu.link_max is not None and not shown:
        limit = pcie_limit(gpu.link_max, f" of {name}")
        note = "sysfs hides the link; NVML reports what card and slot support"
        return [Hop(name=name, limit=limit, best=gpu.link_max, note=note)]
    if not links:
        return [Hop(name=name, note="its place on the PCI bus is not known")]
    return [
        pcie_hop(tree, device, _named(device.address) if device.bridge else name)
        for device in links
    ]


def _named(address: str) -> str:
    return f"switch {address}" if address else "PCIe"


def gpu_memory(gpu: Gpu) -> list[Hop]:
    """A GPU's own memory."""
    name = f"memory of gpu:{gpu.index}"
    if gpu.mig:
        note = "partitioned (MIG): a part's share of its rate is unknown"
        return [Hop(name=name, role=HopRole.MEMORY, half_duplex=True, note=note)]
    if gpu.memory_clock_hz and gpu.memory_bus_bits:
        limit = gpu_memory_limit(gpu.memory_clock_hz, gpu.memory_bus_bits, f" of gpu:{gpu.index}")
        return [Hop(name=name, role=HopRole.MEMORY, limit=limit, half_duplex=True)]
    if sheet := hbm_limit(gpu.name, gpu.memory_bytes, f" of gpu:{gpu.index}"):
        return [Hop(name=name, role=HopRole.MEMORY, limit=sheet, half_duplex=True)]
    note = "its clock and bus width come from NVML, which did not report them"
    return [Hop(name=name, role=HopRole.MEMORY, half_duplex=True, note=note)]


def crossing_to(topology: Topology, homes: Sequence[int], near: int | None) -> list[Hop]:
    """The interconnect between packages, where every initiator is on another one."""
    if near is None or not homes or near in homes:
        return []
    packages = {node.number: node.package for node in topology.nodes}
    here, there = {packages.get(number) for number in homes}, packages.get(near)
    names = f"node {','.join(map(str, homes))} - node {near}"
    if there is not None and there in here:
        note = "inside one package; the rate of its mesh is not published"
        return [Hop(name=names, role=HopRole.INTERCONNECT, note=note)]
    name = f"{_interconnect(topology.cpu_model)} {names}"
    if topology.stated_socket_link and there is not None and None not in here:
        limit = socket_link_limit(topology.stated_socket_link, f" of {name}", len(here))
        return [Hop(name=name, role=HopRole.INTERCONNECT, limit=limit)]
    note = "speed and number of links are not readable here; --socket-link states them"
    return [Hop(name=name, role=HopRole.INTERCONNECT, note=note)]


def _interconnect(cpu_model: str) -> str:
    names = {"Intel": "UPI/QPI", "AMD": "xGMI", "POWER": "X-bus", "Grace": "NVLink-C2C"}
    return next((kind for vendor, kind in names.items() if vendor in cpu_model), "interconnect")


def gpu_home(topology: Topology, tree: Tree, gpu: Gpu) -> int | None:
    """The node that a GPU is local to; None where that is unknown."""
    device = tree.device(gpu.address)
    if device is not None and device.node is not None:
        return device.node
    memory = next((node for node in topology.nodes if is_memory_of(node, gpu)), None)
    return home(topology, memory) if memory is not None else None


def owner_words(topology: Topology, node: Node) -> str:
    """``of gpu:0 over NVLink-C2C, 450 GB/s`` of a GPU's memory; empty of other nodes."""
    gpu = next((entry for entry in topology.gpus if is_memory_of(node, entry)), None)
    if gpu is None:
        return ""
    tree = Tree(topology.pci)
    near = as_list(gpu_home(topology, tree, gpu))
    limit = cpu_to_gpu(topology, tree, near, gpu)[-1].limit
    over = f" over {limit.link.partition(' ')[0]}, {limit.value / 1e9:g} GB/s" if limit else ""
    return f"of gpu:{gpu.index}{over}"


def as_list(number: int | None) -> list[int]:
    """No node, or one."""
    return [] if number is None else [number]


def is_memory_of(node: Node, gpu: Gpu) -> bool:
    """Whether a node's memory is that of a GPU (coherent machines)."""
    return gpu.node == node.number or bool(gpu.address and gpu.address in node.backed_by)
