"""The way from an initiator to a target, hop by hop, and its limit."""

from collections.abc import Sequence

from tierscope.model.endpoint import Endpoint, EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.path import Hop, Path
from tierscope.model.run import Limit
from tierscope.model.topology import Gpu, Node, NodeKind, Topology
from tierscope.topology.affinity import Tree, backing_addresses, home
from tierscope.topology.links import (
    c2c_limit,
    gpu_memory_limit,
    nvlink_limit,
    pcie_limit,
    pcie_name,
)
from tierscope.topology.memory import memory_limit
from tierscope.topology.pcie import chain, cxl_hop, pcie_hop
from tierscope.topology.storage_paths import file_hops, only_drive


def path_limit(topology: Topology, initiator: Endpoint, target: Endpoint) -> Limit | None:
    """The path's smallest link's theoretical rate; None where no link's rate is known.

    An endpoint that the machine has not gives None too: a result is never lost over its limit.
    """
    try:
        return find_path(topology, initiator, target).limit
    except UserError:
        return None


def find_path(topology: Topology, initiator: Endpoint, target: Endpoint) -> Path:
    """The way from an initiator to a target; UserError where the machine has no such endpoint."""
    if initiator.kind in (EndpointKind.FILE, EndpointKind.PMEM):
        raise UserError(f"'{initiator}' issues no accesses: name CPUs, a node or a GPU first")
    if target.kind is EndpointKind.CPUS:
        raise UserError(f"'{target}' holds no data: name a node, a GPU, pmem or a file second")
    tree = Tree(topology.pci)
    if target.kind is EndpointKind.NODE and len(target.numbers) > 1:
        return _interleaved(topology, initiator, target)
    if initiator.kind is EndpointKind.GPU:
        hops = _from_gpu(topology, tree, _gpu(topology, initiator.numbers[0]), target)
    else:
        hops = _from_cpus(topology, tree, _cpu_nodes(topology, initiator), target)
    known = [hop.limit for hop in hops if hop.limit is not None and not hop.parallel]
    limit = min(known, key=lambda entry: entry.value) if known else None
    unknown = [f"{hop.name}: {hop.note}" for hop in hops if hop.limit is None and hop.note]
    return Path(
        initiator=str(initiator),
        target=str(target),
        hops=hops,
        limit=limit,
        note="; ".join(unknown),
    )


def _from_cpus(topology: Topology, tree: Tree, nodes: list[Node], target: Endpoint) -> list[Hop]:
    homes = [node.number for node in nodes]
    if target.kind is EndpointKind.NODE:
        return _to_node(topology, tree, homes, _node(topology, target.numbers[0]))
    if target.kind is EndpointKind.GPU:
        gpu = _gpu(topology, target.numbers[0])
        return [*_cpu_to_gpu(topology, tree, homes, gpu), *_gpu_memory(gpu)]
    return file_hops(topology, tree, target.path, lambda near: _crossing(topology, homes, near))


def _from_gpu(topology: Topology, tree: Tree, gpu: Gpu, target: Endpoint) -> list[Hop]:
    if target.kind is EndpointKind.GPU:
        return _gpu_to_gpu(topology, tree, gpu, _gpu(topology, target.numbers[0]))
    if target.kind is EndpointKind.NODE:
        node = _node(topology, target.numbers[0])
        if gpu.node == node.number or (gpu.address and gpu.address in node.backed_by):
            return _gpu_memory(gpu)
        root = _gpu_home(topology, tree, gpu)
        near = [root] if root is not None else []
        up = _cpu_to_gpu(topology, tree, near, gpu)[::-1]
        return [*up, *_to_node(topology, tree, near, node)]
    common = tree.common(gpu.address, only_drive(topology, target.path))
    return [
        *_gpu_links(tree, gpu, common),
        *file_hops(
            topology,
            tree,
            target.path,
            lambda near: _crossing(topology, _as_list(_gpu_home(topology, tree, gpu)), near),
            other=gpu.address,
        ),
    ]


def _to_node(topology: Topology, tree: Tree, homes: list[int], node: Node) -> list[Hop]:
    """From CPUs of the nodes ``homes`` to a node's memory."""
    crossing = _crossing(topology, homes, home(topology, node))
    addresses = backing_addresses(topology, node)
    if node.kind is NodeKind.GPU:
        gpu = next((entry for entry in topology.gpus if _is_memory_of(node, entry)), None)
        if gpu is not None:
            return [*_cpu_to_gpu(topology, tree, homes, gpu), *_gpu_memory(gpu)]
    if node.kind is NodeKind.CXL and addresses:
        claim, _ = memory_limit(topology, node, homes)
        media = Hop(name="media", limit=claim, note="" if claim else _MEDIA)
        return [*crossing, *_cxl_hops(tree, addresses, node), media]
    limit, why = memory_limit(topology, node, homes)
    return [*crossing, Hop(name=f"memory of node {node.number}", limit=limit, note=why)]


_WITH_C2C = ("GH200", "GB200", "GB300")
_MEDIA = "the DRAM behind a CXL controller tells its speed to nobody"


def _is_memory_of(node: Node, gpu: Gpu) -> bool:
    return gpu.node == node.number or bool(gpu.address and gpu.address in node.backed_by)


def _cxl_hops(tree: Tree, addresses: list[str], node: Node) -> list[Hop]:
    """CXL links of a node's devices; interleaved ones carry their share side by side."""
    hops: list[Hop] = []
    for address in addresses:
        for device in chain(tree, address)[::-1]:
            what = f"switch {device.address}" if device.bridge else f"CXL {device.address}"
            hops.append(cxl_hop(tree, device, f"{what} of node {node.number}"))
    if len(addresses) < 2:
        return hops
    limits = [hop.limit for hop in hops]
    if not all(limits):
        return [Hop(name=f"{len(addresses)} CXL devices", note="not every link's rate is known")]
    smallest = min((limit for limit in limits if limit), key=lambda entry: entry.value)
    total = smallest.value * len(addresses)
    return [
        Hop(
            name=f"{len(addresses)} CXL devices of node {node.number}, interleaved",
            limit=smallest.model_copy(
                update={
                    "value": total,
                    "link": f"{len(addresses)} x {smallest.link}",
                    "formula": f"{len(addresses)} x ({smallest.formula}) = {total / 1e9:.2f} GB/s",
                }
            ),
        )
    ]


def _cpu_to_gpu(topology: Topology, tree: Tree, homes: list[int], gpu: Gpu) -> list[Hop]:
    """From CPUs to a GPU's door: over C2C or NVLink where it has them, else over PCIe."""
    name = f"gpu:{gpu.index}"
    crossing = _crossing(topology, homes, _gpu_home(topology, tree, gpu))
    if gpu.c2c_links or gpu.c2c_rate:
        return [*crossing, Hop(name=f"CPU - {name}", limit=c2c_limit(gpu.c2c_rate, f" of {name}"))]
    to_cpu = [link for link in gpu.nvlinks if link.peer == "cpu" and link.version]
    if to_cpu:
        links = sum(link.links for link in to_cpu)
        version, rate = to_cpu[0].version or 0, to_cpu[0].rate_per_link
        limit = nvlink_limit(version, links, f" CPU - {name}", gpu.name, rate)
        return [*crossing, Hop(name=f"CPU - {name}", limit=limit)]
    if any(_is_memory_of(node, gpu) for node in topology.nodes):
        # Its memory is a node, so CPUs reach it coherently, and not over PCIe.
        known = any(part in gpu.name for part in _WITH_C2C)
        return [
            *crossing,
            Hop(
                name=f"CPU - {name}",
                limit=c2c_limit(None, f" of {name}") if known else None,
                note="" if known else "a coherent link that nothing here tells the rate of",
            ),
        ]
    return [*crossing, *_gpu_links(tree, gpu)[::-1]]


def _gpu_to_gpu(topology: Topology, tree: Tree, first: Gpu, second: Gpu) -> list[Hop]:
    if first.index == second.index:
        return _gpu_memory(first)
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
    up = _gpu_links(tree, first, common)
    down = _gpu_links(tree, second, common)[::-1]
    if common is not None:
        return [*up, *down]
    far = _gpu_home(topology, tree, second)
    crossing = _crossing(topology, _as_list(_gpu_home(topology, tree, first)), far)
    return [*up, *crossing, *down]


def _gpu_links(tree: Tree, gpu: Gpu, below: str | None = None) -> list[Hop]:
    """PCIe links from a GPU up to the CPU, or to the bridge ``below``."""
    name = f"gpu:{gpu.index}"
    links = chain(tree, gpu.address, below)
    device = tree.device(gpu.address)
    shown = device is not None and (device.link or device.link_rate)
    if gpu.link_max is not None and not shown:
        limit = pcie_limit(gpu.link_max, f" of {name}")
        note = "sysfs hides the link; NVML tells what card and slot are able to"
        return [Hop(name=name, limit=limit, best=gpu.link_max, note=note)]
    if not links:
        return [Hop(name=name, note="its place on the PCI bus is not known")]
    return [
        pcie_hop(tree, device, _named(device.address) if device.bridge else name)
        for device in links
    ]


def _named(address: str) -> str:
    return f"switch {address}" if address else "PCIe"


def _gpu_memory(gpu: Gpu) -> list[Hop]:
    name = f"memory of gpu:{gpu.index}"
    if gpu.mig:
        return [Hop(name=name, note="partitioned (MIG): a part's share of its rate is not told")]
    if gpu.memory_clock_hz and gpu.memory_bus_bits:
        limit = gpu_memory_limit(gpu.memory_clock_hz, gpu.memory_bus_bits, f" of gpu:{gpu.index}")
        return [Hop(name=name, limit=limit)]
    return [Hop(name=name, note="its clock and width come from NVML, which did not tell them")]


def _crossing(topology: Topology, homes: Sequence[int], near: int | None) -> list[Hop]:
    """The interconnect between packages, where every initiator is on another one."""
    if near is None or not homes or near in homes:
        return []
    packages = {node.number: node.package for node in topology.nodes}
    here, there = {packages.get(number) for number in homes}, packages.get(near)
    names = f"node {','.join(map(str, homes))} - node {near}"
    if there is not None and there in here:
        return [Hop(name=names, note="inside one package; its mesh's rate is published nowhere")]
    kind = _interconnect(topology.cpu_model)
    return [Hop(name=f"{kind} {names}", note="speed and number of links are not readable here")]


def _interconnect(cpu_model: str) -> str:
    names = {"Intel": "UPI/QPI", "AMD": "xGMI", "POWER": "X-bus", "Grace": "NVLink-C2C"}
    return next((kind for vendor, kind in names.items() if vendor in cpu_model), "interconnect")


def _interleaved(topology: Topology, initiator: Endpoint, target: Endpoint) -> Path:
    """Several nodes at once: the one that is first busy with its share of the pages limits."""
    weights = target.weights or (1,) * len(target.numbers)
    shares = [weight / sum(weights) for weight in weights]
    ways = [
        find_path(topology, initiator, Endpoint(kind=EndpointKind.NODE, numbers=(number,)))
        for number in target.numbers
    ]
    hops = [hop.model_copy(update={"parallel": True}) for way in ways for hop in way.hops]
    notes = "; ".join(way.note for way in ways if way.note)
    if not all(way.limit for way in ways):
        note = notes or "not every node's limit is known"
        return Path(initiator=str(initiator), target=str(target), hops=hops, limit=None, note=note)
    scaled = [
        way.limit.model_copy(
            update={
                "value": way.limit.value / share,
                "link": f"{way.limit.link}, holding {share:.0%} of the pages",
                "formula": f"({way.limit.formula}) / {share:.4g}"
                f" = {way.limit.value / share / 1e9:.2f} GB/s",
            }
        )
        for way, share in zip(ways, shares, strict=True)
        if way.limit
    ]
    limit = min(scaled, key=lambda entry: entry.value)
    return Path(initiator=str(initiator), target=str(target), hops=hops, limit=limit, note=notes)


def _cpu_nodes(topology: Topology, initiator: Endpoint) -> list[Node]:
    if initiator.kind is EndpointKind.NODE:
        nodes = [_node(topology, number) for number in initiator.numbers]
        empty = next((node.number for node in nodes if not node.cpus), None)
        if empty is not None:
            raise UserError(f"node {empty} has no CPUs, so it issues no accesses; name another")
        return nodes
    all_cpus = {cpu for package in topology.packages for cpu in package.cpus}
    missing = [cpu for cpu in initiator.numbers if cpu not in all_cpus]
    if missing:
        raise UserError(f"CPU {missing[0]} of '{initiator}' is not a CPU of {topology.host}")
    return [node for node in topology.nodes if set(node.cpus) & set(initiator.numbers)]


def _node(topology: Topology, number: int) -> Node:
    node = topology.node(number)
    if node is None:
        known = ", ".join(str(entry.number) for entry in topology.nodes) or "none"
        raise UserError(f"node {number} is not a node of {topology.host}, which has {known}")
    return node


def _gpu(topology: Topology, index: int) -> Gpu:
    gpu = topology.gpu(index)
    if gpu is None:
        known = ", ".join(f"gpu:{entry.index}" for entry in topology.gpus) or "no GPU"
        raise UserError(f"gpu:{index} is not a GPU of {topology.host}, which has {known}")
    return gpu


def _gpu_home(topology: Topology, tree: Tree, gpu: Gpu) -> int | None:
    device = tree.device(gpu.address)
    if device is not None and device.node is not None:
        return device.node
    memory = next((node for node in topology.nodes if _is_memory_of(node, gpu)), None)
    return home(topology, memory) if memory is not None else None


def _as_list(number: int | None) -> list[int]:
    return [] if number is None else [number]


def link_name(hop: Hop) -> str:
    """``PCIe 4.0 x16`` of a hop over PCIe; else its limit's own name; a dash where unknown."""
    if hop.now is not None:
        return pcie_name(hop.now)
    return hop.limit.link if hop.limit is not None else "-"
