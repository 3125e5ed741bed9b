"""A machine as an outline: packages, their nodes, the PCIe switches and the devices below them.

The terminal's tree and the drawing both show this one outline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tierscope.machine.affinity import Tree, home
from tierscope.machine.gpu_paths import owner_words
from tierscope.machine.links import NVLINK, c2c_limit, has_c2c, network_limit
from tierscope.machine.memory import memory_limit
from tierscope.machine.pcie import has_link, pcie_hop
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import counted
from tierscope.model.path import Hop, Limit
from tierscope.model.topology import (
    CxlMemory,
    Gpu,
    MemorySideCache,
    Node,
    NvLink,
    PciDevice,
    Port,
    Topology,
)
from tierscope.report.figures import size_text

Kind = Literal[
    "group", "node", "root", "switch", "gpu", "nvswitch", "drive", "port", "cxl", "cache"
]


NOWHERE = "local to no one package"
"""Name of the group of what no package is known for."""


@dataclass
class Item:
    """One part of the machine and what is below it."""

    kind: Kind
    name: str
    """What it is called: gpu:0, nvme2, node 1."""
    detail: str = ""
    """What it is: a product's name, a size."""
    address: str = ""
    hop: Hop | None = None
    """The link to what is above it."""
    remark: str = ""
    """What else is to be known of it: its NVLinks, say."""
    to_cpu: str = ""
    """Of a GPU: its NVLinks to the CPU, which go beside its PCIe link: "NV2 40 GB/s"."""
    measured: str = ""
    """What was measured to it: "22.1 GB/s"."""
    measured_from: str = ""
    """Where it was measured from: "from node:0"."""
    children: list["Item"] = field(default_factory=list)


def outline(topology: Topology) -> list[Item]:
    """Packages with all that is local to them; last what is local to no one of them."""
    tree = Tree(topology.pci)
    groups = _groups(topology)
    for node in topology.nodes:
        owner = home(topology, node)
        group = groups.get(_group_of(topology, node.package, owner)) or groups[None]
        if node.total_bytes or node.cpus:
            group.children.append(_node_item(topology, node))
    leaves = _leaves(topology)
    for root in dict.fromkeys(device.root for device in topology.pci):
        members = [device for device in topology.pci if device.root == root]
        children = _below(tree, members, None, leaves)
        if children:
            first = members[0]
            group = groups.get(_group_of(topology, first.package, first.node)) or groups[None]
            group.children.append(Item("root", f"PCIe {root}", children=children))
    for gpu in topology.gpus:
        if tree.device(gpu.address) is None:
            memory = topology.node(gpu.node) if gpu.node is not None else None
            owner = home(topology, memory) if memory is not None else None
            group = groups.get(_group_of(topology, None, owner)) or groups[None]
            detail = f"{gpu.name}, its PCI bus is hidden".lstrip(", ")
            group.children.append(
                Item("gpu", f"gpu:{gpu.index}", detail, gpu.address, remark=nvlinks(gpu))
            )
    return [group for number, group in groups.items() if group.children or number is not None]


def nvlinks(gpu: Gpu) -> str:
    """``NV18 450 GB/s``: a GPU's NVLinks and C2C links together; empty where it has none.

    Links to the CPU, which carry other traffic than those between GPUs, stand apart.
    """
    words: list[str] = []
    others = [link for link in gpu.nvlinks if link.peer != "cpu"]
    if others:
        words.append(_short_links(others))
    if to_cpu := nvlinks_to_cpu(gpu):
        words.append(f"CPU {to_cpu}")
    if gpu.c2c_links or has_c2c(gpu.name):
        words.append(f"C2C {c2c_limit(gpu.c2c_rate, '').value / 1e9:g} GB/s")
    return ", ".join(words)


def fabric_summary(topology: Topology) -> str:
    """What NVLink joins, in one line; empty where there is none."""
    switched = [
        (gpu, sum(link.links for link in gpu.nvlinks if link.peer == "switch"))
        for gpu in topology.gpus
        if any(link.peer == "switch" for link in gpu.nvlinks)
    ]
    if switched:
        gpu, links = switched[0]
        version = gpu.nvlinks[0].version
        one = NVLINK.get(version or 0)
        rate = (
            f" of {one.lanes} lanes x {one.lane_gbit:g} Gbit/s, {links * one.rate / 1e9:g} GB/s "
            "each way"
            if one
            else ""
        )
        of = f"NVLink {version}" if version else "NVLink"
        return f"{of} through NVSwitch joins {len(switched)} GPUs: {links} links a GPU{rate}"
    pairs: list[str] = []
    for gpu in topology.gpus:
        for link in gpu.nvlinks:
            peer = next((g for g in topology.gpus if g.address == link.peer_address), None)
            if peer is not None and gpu.index < peer.index:
                pairs.append(f"{gpu.index}-{peer.index}: {_links_and_rate([link])}")
    if not pairs:
        return ""
    shown = ", ".join(pairs[:12]) + (f" and {len(pairs) - 12} more" if len(pairs) > 12 else "")
    return f"NVLink between GPUs {shown}"


def nvlinks_to_cpu(gpu: Gpu) -> str:
    """``NV2 40 GB/s``: a GPU's NVLinks to the CPU (POWER8, POWER9); empty where it has none."""
    links = [link for link in gpu.nvlinks if link.peer == "cpu"]
    return _short_links(links) if links else ""


def _short_links(links: Sequence[NvLink]) -> str:
    return "NV" + _links_and_rate(links).replace(" links", "")


def _links_and_rate(links: Sequence[NvLink]) -> str:
    count, rate = sum(link.links for link in links), NVLINK.get(links[0].version or 0)
    return f"{count} links" + (f" {count * rate.rate / 1e9:g} GB/s" if rate else "")


def _port_rate(port: Port) -> str:
    return f"port {network_limit(port.speed, '').value / 1e9:g} GB/s" if port.speed else ""


def rate_text(rate: float) -> str:
    """Bytes/s in GB/s; small ones with two digits, so that none is shown as zero."""
    value = rate / 1e9
    return f"{value:.1f} GB/s" if value >= 1 else f"{value:.2g} GB/s"


def limit_text(limit: Limit) -> str:
    """A limit in GB/s, marked where it comes from what the user states."""
    return f"{rate_text(limit.value)}{' stated' if limit.stated else ''}"


def memory_words(topology: Topology) -> str:
    """``128 GiB in 2 NUMA nodes``; of nodes without memory it says how many there are."""
    total = sum(node.total_bytes for node in topology.nodes)
    empty = sum(not node.total_bytes for node in topology.nodes)
    nodes = counted(len(topology.nodes), "NUMA node")
    if not total:
        return f"{nodes}, memory size unknown"
    return f"{size_text(total)} in {nodes}" + (f", {empty} without memory" if empty else "")


def _groups(topology: Topology) -> dict[int | str | None, Item]:
    """One group a package; one a node, where a node spans packages. CPUs of no node come last."""
    groups: dict[int | str | None, Item] = {}
    if _by_package(topology):
        for package in topology.packages:
            nodes = [node for node in topology.nodes if node.package == package.number]
            text = f"{counted(package.cores, 'core')}, {counted(len(package.cpus), 'CPU')}"
            cpus = f" ({format_ranges(tuple(package.cpus))})" if package.cpus else ""
            detail = text + (cpus if len(cpus) <= 24 or len(nodes) < 2 else "")
            groups[package.number] = Item("group", f"package {package.number}", detail)
    else:
        for node in topology.nodes:
            if node.cpus:
                inside = [
                    str(package.number)
                    for package in topology.packages
                    if set(package.cpus) & set(node.cpus)
                ]
                part = f"packages {', '.join(inside)}; " if inside else ""
                detail = f"{part}{counted(len(node.cpus), 'CPU')}"
                groups[node.number] = Item("group", f"around node {node.number}", detail)
        of_nodes = {cpu for node in topology.nodes for cpu in node.cpus}
        for package in topology.packages:
            if not of_nodes & set(package.cpus):
                name = f"package {package.number}"
                detail = f"{counted(package.cores, 'core')}, of no NUMA node"
                groups[name] = Item("group", name, detail)
    groups[None] = Item("group", NOWHERE)
    return groups


def _by_package(topology: Topology) -> bool:
    return all(node.package is not None for node in topology.nodes if node.cpus)


def _group_of(topology: Topology, package: int | None, node: int | None) -> int | None:
    if not _by_package(topology):
        return node
    if package is None and node is not None:
        own = topology.node(node)
        return own.package if own is not None else None
    return package


def _node_item(topology: Topology, node: Node) -> Item:
    word = "CPU" if len(node.cpus) == 1 else "CPUs"
    cpus = f", {word} {format_ranges(tuple(node.cpus))}" if node.cpus else ", CPU-less"
    if len(cpus) > 30:
        cpus = f", {counted(len(node.cpus), 'CPU')}"
    size = size_text(node.total_bytes) if node.total_bytes else "no memory"
    limit, note = memory_limit(topology, node, [])
    owner = owner_words(topology, node)
    return Item(
        "node",
        f"node {node.number}",
        f"{node.kind} {size}{cpus}{f', {owner}' if owner else ''}",
        hop=Hop(name="memory", limit=limit, note=note if limit is None else ""),
        children=[
            Item("cache", "memory-side cache", side_cache_words(cache))
            for cache in node.memory_side_caches
        ],
    )


def side_cache_words(cache: MemorySideCache) -> str:
    """``96 GiB, direct-mapped, write-back``, as far as it is known."""
    words = [size_text(cache.size_bytes), cache.indexing, cache.write_policy]
    return ", ".join(word for word in words if word and word != "other")


@dataclass
class _Leaf:
    kind: Kind
    name: str
    detail: str
    remark: str = ""
    to_cpu: str = ""


def _leaves(topology: Topology) -> dict[str, list[_Leaf]]:
    """What people look for on the PCI bus, by address."""
    found: dict[str, list[_Leaf]] = {}

    def add(address: str | None, kind: Kind, name: str, detail: str, *more: str) -> None:
        if address:
            found.setdefault(address, []).append(_Leaf(kind, name, detail, *more))

    for gpu in topology.gpus:
        memory = size_text(gpu.memory_bytes) if gpu.memory_bytes else ""
        add(
            gpu.address,
            "gpu",
            f"gpu:{gpu.index}",
            " ".join([gpu.name, memory]).strip(),
            nvlinks(gpu),
            nvlinks_to_cpu(gpu),
        )
    for block in topology.blocks:
        if block.kind in ("nvme", "disk", "virtual") and not block.members:
            size = size_text(block.size_bytes) if block.size_bytes else ""
            add(block.address, "drive", block.name, " ".join([size, block.product]).strip())
    for port in topology.ports:
        speed = f"{port.speed / 1e9:g} Gb/s" if port.speed else port.state
        kind = "IB" if port.kind == "infiniband" else port.kind
        name = port.rdma or port.name
        names = f"{name} {port.interface}" if port.interface not in ("", name) else name
        add(port.address, "port", names, " ".join([speed, kind]).strip(), _port_rate(port))
    for card in topology.cxl_memories:
        add(card.address, "cxl", card.name, f"CXL memory {_cxl_capacity(card)}")
    for device in topology.pci:
        if (device.vendor == 0x10DE and device.class_code == 0x0680) or device.name == "NVSwitch":
            add(device.address, "nvswitch", "NVSwitch", "")
    return found


def _cxl_capacity(card: CxlMemory) -> str:
    parts = ((card.ram_bytes, "volatile"), (card.pmem_bytes, "persistent"))
    known = [f"{size_text(size)} {what}" for size, what in parts if size]
    return " + ".join(known) or "of unknown size"


def _below(
    tree: Tree,
    members: Sequence[PciDevice],
    parent: str | None,
    leaves: dict[str, list[_Leaf]],
) -> list[Item]:
    """Items under a bridge; ports without a link of their own are passed through."""
    items: list[Item] = []
    inside = {device.address for device in members}
    for device in members:
        above = device.parent if device.parent in inside else None
        if above != parent:
            continue
        if device.address in leaves:
            items.append(_leaf_item(tree, device, leaves[device.address]))
            continue
        children = _below(tree, members, device.address, leaves)
        if not children:
            continue
        if device.bridge and has_link(tree, device):
            hop = pcie_hop(tree, device, "switch")
            items.append(Item("switch", "switch", "", device.address, hop, children=children))
        else:
            items.extend(children)
    return items


def _leaf_item(tree: Tree, device: PciDevice, found: list[_Leaf]) -> Item:
    first = found[0]
    names = [leaf.name for leaf in found]
    name = " ".join(names) if len(names) <= 3 else f"{names[0]}..{names[-1]} ({len(names)})"
    hop = pcie_hop(tree, device, first.name, cxl=first.kind == "cxl")
    return Item(
        first.kind,
        name,
        first.detail,
        device.address,
        hop,
        remark=first.remark,
        to_cpu=first.to_cpu,
    )
