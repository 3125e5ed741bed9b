"""Paths between storage and CPUs or GPUs; CPUs near a target's drives, and far from them."""

import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from tierscope.machine.affinity import Tree, devices, home, relation
from tierscope.machine.files import Files
from tierscope.machine.links import network_limit
from tierscope.machine.network import LOOPBACK, nfs_facts
from tierscope.machine.pcie import chain, pcie_hop
from tierscope.machine.storage import blocks_below, drives, name_of_number, no_drive, stand_in
from tierscope.model.affinity import Affinity, Device, Kind, Level
from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import Hop, HopRole, Limit
from tierscope.model.storage import MountFacts, StorageFacts
from tierscope.model.topology import Block, Mount, Node, Port, Topology


class NearFar(NamedTuple):
    """Nodes with CPUs that this process may use."""

    near: list[int]
    """CPUs that one of the drives is local to."""
    far: list[int]
    """All others, the farthest first: of another socket, then by distance (SLIT)."""


def near_and_far(topology: Topology, target: Endpoint) -> NearFar:
    """Sort the nodes with CPUs by where a target's drives are, or the NICs that lead to its server.

    Raises UserError where no node of theirs is known: virtual drives and loop devices have none.
    """
    located = locate(topology, target)
    local = [drive for drive in drives_of(located) if not drive.server]
    where = {drive.name: _node_of(topology, drive) for drive in local}
    tree = Tree(topology.pci)
    for port in ports_of(topology, interfaces_of(located)):
        device = tree.device(port.address)
        where[port.name] = device.node if device is not None else None
    found = set(where.values())
    nodes = [topology.node(number) for number in found if number is not None]
    usable = [node for node in topology.nodes if not set(node.cpus).isdisjoint(topology.cpus)]
    homes = {home(topology, node) for node in nodes if node is not None}
    near = [node for node in usable if node.number in homes]
    if not near or None in found:
        names = ", ".join(where)
        place = f"{names}, whose NUMA node is not known" if names else "no drive of this machine"
        raise UserError(
            f"'{target}' lies on {place}: name CPUs or a node instead of 'near' and 'far'"
        )
    far = [node for node in usable if node not in near]
    far.sort(key=lambda node: _distance(node, near), reverse=True)
    return NearFar([node.number for node in near], [node.number for node in far])


def near_or_far(topology: Topology, word: str, target: Endpoint) -> int:
    """The node that ``near`` or ``far`` means for a target; UserError where there is none."""
    found = near_and_far(topology, target)
    if word == "near":
        return found.near[0]
    if not found.far:
        raise UserError(
            f"no CPUs are far from '{target}': all that may be used are on its drives' own node"
        )
    return found.far[0]


def _distance(node: Node, near: list[Node]) -> tuple[bool, int]:
    """How far a node is from the nearest of others: whether on another socket, then SLIT."""
    return min(
        (node.package != other.package, node.distances.get(other.number, 0)) for other in near
    )


def _node_of(topology: Topology, drive: Block) -> int | None:
    device = Tree(topology.pci).device(drive.address)
    if device is not None:
        return device.node
    if not is_live(topology):
        return None
    number = Files().number(f"/sys/class/block/{drive.name}/device/numa_node")  # pmem
    return number if number is not None and number >= 0 else None


def reach(topology: Topology, initiator: str, targets: Sequence[StorageFacts]) -> Affinity:
    """The affinity of an initiator and targets over PCIe; of several drives or NICs the farthest's.

    Without any, and of one whose node is not known, the level is unknown.
    """
    name = _device_name(topology, initiator)
    first = next((device for device in devices(topology) if device.name == name), None)
    tree = Tree(topology.pci)
    known = [
        relation(topology, tree, first, end, nvlink=False)
        for end in _ends(topology, tree, targets)
        if first is not None
    ]
    unknown = Affinity(first=initiator, second="", level=Level.UNKNOWN)
    return max(known, key=lambda way: (way.level.rank, way.switches), default=unknown)


def _device_name(topology: Topology, initiator: str) -> str:
    """The name that affinity has of an initiator; CPUs stand for their node."""
    try:
        endpoint = parse_endpoint(initiator)
    except UserError:  # of a file that others wrote
        return ""
    if endpoint.kind is not EndpointKind.CPUS:
        return initiator
    cpus = set(endpoint.numbers)
    return next((f"node:{n.number}" for n in topology.nodes if cpus & set(n.cpus)), "")


def _ends(topology: Topology, tree: Tree, targets: Sequence[StorageFacts]) -> Iterator[Device]:
    """Drives and NICs as affinity has devices."""
    for target in targets:
        for drive in (drive for drive in target.drives if not drive.server):
            yield _device(tree, drive.name, "nvme", drive.address, drive.node)
        for name in target.interfaces:
            ports = ports_of(topology, [name])
            yield _device(tree, name, "nic", ports[0].address if ports else None, None)


def _device(tree: Tree, name: str, kind: Kind, address: str | None, node: int | None) -> Device:
    found = tree.device(address)
    return Device(
        name=name,
        kind=kind,
        addresses=[found.address] if found is not None else [],
        node=found.node if found is not None else node,
    )


def far_words(topology: Topology, way: Affinity, targets: Sequence[StorageFacts]) -> str:
    """Return obstacles: "other socket", "another NUMA node of its socket", "2 PCIe switches".

    ``targets`` are those that ``reach`` got.
    """
    if way.level is Level.SYS:
        return _between_nodes(topology, way, targets)
    return {
        Level.PIX: "one PCIe switch at most",
        Level.PXB: f"{way.switches} PCIe switches",
        Level.PHB: "its own host bridge",
        Level.NODE: "another host bridge of its node",
    }.get(way.level, "nobody knows how near it is")


def _between_nodes(topology: Topology, way: Affinity, targets: Sequence[StorageFacts]) -> str:
    tree = Tree(topology.pci)
    ends = [*devices(topology), *_ends(topology, tree, targets)]
    nodes = [
        next((end.node for end in ends if end.name == name), None)
        for name in (way.first, way.second)
    ]
    packages = {n.package for n in topology.nodes if n.number in nodes}
    if None in packages or None in nodes:
        return "another NUMA node"
    return "other socket" if len(packages) > 1 else "another NUMA node of its socket"


def server_hops(
    topology: Topology,
    tree: Tree,
    name: str,
    interfaces: Sequence[str],
    crossing: Callable[[int | None], list[Hop]],
    other: str | None = None,
) -> list[Hop]:
    """Hops from the CPU, or from the PCI function ``other``, to the port that a server is behind.

    What lies beyond the port (switches, the server) is not known here. ``name`` is what the server
    has, and ``interfaces`` lead to it.
    """
    if list(interfaces) == [LOOPBACK]:
        note = "the server is this machine: a loopback interface has no rate"
        return [Hop(name=name, note=note)]
    ports = ports_of(topology, interfaces)
    if not ports or len(ports) < len(interfaces):
        known = ", ".join(interfaces)
        note = f"{known}: not a port of this machine" if known else "no route to it is known"
        return [Hop(name=name, note=note)]
    if len(ports) > 1:
        return [_bond(ports), *(_port(port, parallel=True) for port in ports)]
    (port,) = ports
    device = tree.device(port.address)
    if device is None:
        return [_port(port)]
    common = tree.common(device.address, other) if other else None
    links = [
        pcie_hop(tree, link, f"switch {link.address}" if link.bridge else f"NIC {port.interface}")
        for link in chain(tree, device.address, common)[::-1]
    ]
    return [*(crossing(device.node) if common is None else []), *links, _port(port)]


def ports_of(topology: Topology, interfaces: Sequence[str]) -> list[Port]:
    """The ports of these interfaces; of an interface that two ports claim, the faster."""
    found = []
    for name in interfaces:
        claiming = [port for port in topology.ports if port.interface == name]
        if claiming:
            found.append(max(claiming, key=lambda port: port.speed or 0.0))
    return found


def _port(port: Port, parallel: bool = False) -> Hop:
    name = f"port {port.interface or port.name}"
    if port.speed is None:
        return Hop(name=name, parallel=parallel, note="its speed is not shown")
    limit = network_limit(port.speed, f" {port.interface or port.name}")
    return Hop(name=name, parallel=parallel, limit=limit)


def _bond(ports: list[Port]) -> Hop:
    """Members of a bond carry packets side by side, each connection by one of them."""
    names = ", ".join(port.interface for port in ports)
    speeds = [port.speed for port in ports if port.speed is not None]
    if len(speeds) < len(ports):
        return Hop(name=f"ports {names}", note="not every port shows its speed")
    total = sum(speeds) / 8
    parts = " + ".join(f"{speed / 8e9:g}" for speed in speeds)
    limit = Limit(
        value=total,
        unit="B/s",
        link=f"network ports {names}",
        formula=f"{parts} = {total / 1e9:g} GB/s",
        source="the kernel's report of the ports' speeds",
    )
    return Hop(name=f"ports {names}", limit=limit)


class Located(NamedTuple):
    """Where a file, a directory or a block device is."""

    block: str | None
    """The block device; None of what is on none."""
    mount: Mount | None
    """None of a device, and of a file where no mount is known."""
    blocks: list[Block]
    """That device and those below it, or all of the machine."""


def locate(topology: Topology, target: Endpoint) -> Located:
    """Find out what a file, directory or block device is on.

    On this machine a child asks the kernel, which follows symbolic links and may not answer; of
    another one only the names are known. Raises UserError where there is no such device, or where
    the path cannot be looked at.
    """
    if is_live(topology):
        return _locate_live(topology, target)
    if target.kind is EndpointKind.DEV:
        name = PurePath(target.path).name
        if not any(block.name == name for block in topology.blocks):
            raise _absent(topology, target, "block device", [b.name for b in topology.blocks])
        return Located(name, None, topology.blocks)
    holding = [
        mount
        for mount in topology.mounts
        if target.path == mount.path or target.path.startswith(mount.path.rstrip("/") + "/")
    ]
    # The later of two mounts on one directory hides the other.
    mount = max(reversed(holding), key=lambda entry: len(entry.path)) if holding else None
    return Located(mount.block if mount else None, mount, topology.blocks)


def is_live(topology: Topology) -> bool:
    """Whether it is the machine that this process runs on; run files have those of others."""
    return topology.source == "this machine" and topology.host == platform.node()


def _locate_live(topology: Topology, target: Endpoint) -> Located:
    from tierscope.engine.targets import known_path

    facts, files = known_path(target.path), Files()
    if target.kind is EndpointKind.DEV and facts.kind != "block":
        raise _absent(topology, target, "block device", [b.name for b in topology.blocks])
    block = name_of_number(files, facts.device) or None
    mount = _mount(files, facts.mount, block) if facts.mount is not None else None
    return Located(block, mount, blocks_below(files, block) if block else [])


def _mount(files: Files, found: MountFacts, block: str | None) -> Mount:
    nfs = nfs_facts(files, found)
    return Mount(
        path=found.point,
        type=found.type,
        block=block,
        server=nfs.server if nfs else "",
        interfaces=nfs.ports if nfs else [],
    )


def only_device(topology: Topology, target: Endpoint) -> str | None:
    """PCI address of the drive that a target lies on, or of the NIC that leads to it, where it is
    one."""
    if target.kind is EndpointKind.DAX:
        return None
    located = locate(topology, target)
    found = drives_of(located)
    interfaces = interfaces_of(located)
    if interfaces:
        ports = ports_of(topology, interfaces)
        local = any(not drive.server for drive in found)
        return ports[0].address if len(ports) == 1 and not local else None
    return found[0].address if len(found) == 1 else None


def drives_of(located: Located) -> list[Block]:
    """The drives below what was located; none where it is on no block device."""
    return drives(located.block, located.blocks) if located.block else []


def interfaces_of(located: Located) -> list[str]:
    """Network interfaces that lead to what was located; none of what is on this machine."""
    mounted = located.mount.interfaces if located.mount is not None else []
    return [*mounted, *(name for drive in drives_of(located) for name in drive.interfaces)]


def array_of(located: Located) -> Block | None:
    """The md array that it lies on as a whole, below partitions and LVM; None without."""
    by_name = {block.name: block for block in located.blocks}
    block = by_name.get(located.block or "")
    while block is not None and not block.level and len(block.members) == 1:
        block = by_name.get(block.members[0])
    return block if block is not None and block.level else None


def storage_hops(
    topology: Topology,
    tree: Tree,
    target: Endpoint,
    crossing: Callable[[int | None], list[Hop]],
    other: str | None = None,
) -> list[Hop]:
    """Hops from the CPU, or from the PCI function ``other``, down to what a target lies on.

    ``crossing`` gives the hop over to the node that a drive is local to, where there is one. Raises
    UserError where a device is not one of the machine's.
    """
    if target.kind is EndpointKind.DAX:
        return _dax_hops(topology, target, crossing)
    located = locate(topology, target)
    mount = located.mount
    if mount is not None and mount.server:
        name = f"{mount.type} on {mount.path} from {mount.server}"
        return server_hops(topology, tree, name, mount.interfaces, crossing, other)
    if located.block is None and mount is not None:
        return [Hop(name=f"{mount.type} on {mount.path}", note=no_drive(mount.type))]
    if located.block is None:
        note = "" if topology.mounts else "the source has no mounts"
        return [Hop(name=target.path, note=note)]
    found = drives_of(located)
    if not found:
        return [Hop(name=located.block, note="the drive below it is not visible")]
    if len(found) == 1:
        return _drive_hops(topology, tree, found[0], crossing, other)
    return _array_hops(tree, located.block, found)


def _dax_hops(
    topology: Topology, target: Endpoint, crossing: Callable[[int | None], list[Hop]]
) -> list[Hop]:
    name = _kernel_name(topology, target)
    device = next((entry for entry in topology.dax if entry.name == name), None)
    if device is None:
        raise _absent(topology, target, "DAX device", [entry.name for entry in topology.dax])
    node = topology.node(device.node) if device.node is not None else None
    near = home(topology, node) if node is not None else None
    memory = Hop(name=name, role=HopRole.MEMORY, note="the rate of a DAX device is not readable")
    return [*crossing(near), memory]


def _kernel_name(topology: Topology, target: Endpoint) -> str:
    """Return the kernel's name of a device; symbolic links are followed on this machine only."""
    from tierscope.engine.targets import known_path

    return PurePath(known_path(target.path).real if is_live(topology) else target.path).name


def _absent(topology: Topology, target: Endpoint, what: str, known: list[str]) -> UserError:
    some = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return UserError(f"'{target}' is not a {what} of {topology.host}, which has {some or 'none'}")


def _drive_hops(
    topology: Topology,
    tree: Tree,
    drive: Block,
    crossing: Callable[[int | None], list[Hop]],
    other: str | None,
) -> list[Hop]:
    if drive.server:
        name = f"{drive.name} of {drive.server}"
        return server_hops(topology, tree, name, drive.interfaces, crossing, other)
    device = tree.device(drive.address)
    if drive.kind == "pmem":
        return [Hop(name=drive.name, note="persistent memory; its rate is not readable")]
    if (other_thing := stand_in(drive.name)) is not None:
        return [Hop(name=drive.name, note=other_thing.note)]
    if device is None:
        return [Hop(name=drive.name, note="its controller is not on a PCI bus that we see")]
    common = tree.common(device.address, other) if other else None
    links = chain(tree, device.address, common)[::-1]
    hops = [
        pcie_hop(tree, link, f"switch {link.address}" if link.bridge else drive.name)
        for link in links
    ]
    return hops if common is not None else [*crossing(device.node), *hops]


def _array_hops(tree: Tree, name: str, found: list[Block]) -> list[Hop]:
    """Members carry data concurrently; a switch above several carries all of theirs."""
    member_hops: list[Hop] = []
    behind: dict[str, list[float]] = {}
    for drive in found:
        device = tree.device(drive.address)
        if device is None:
            return [Hop(name=name, note=f"member {drive.name} is not on a PCI bus that we see")]
        own = pcie_hop(tree, device, drive.name)
        member_hops.append(own)
        rate = own.limit.value if own.limit is not None else 0.0
        for bridge in chain(tree, device.address)[1:]:
            behind.setdefault(bridge.address, []).append(rate)
    if any(hop.limit is None for hop in member_hops):
        return [
            Hop(name=name, note="not every member's link is known"),
            *_side_by_side(member_hops),
        ]
    total, parts = 0.0, []
    tops = {tree.top_switch(drive.address): 0.0 for drive in found}
    for drive, hop in zip(found, member_hops, strict=True):
        tops[tree.top_switch(drive.address)] += hop.limit.value if hop.limit is not None else 0.0
    for top, rate in tops.items():
        switch = tree.device(top)
        uplink = pcie_hop(tree, switch, top).limit if switch is not None and switch.bridge else None
        carried = min(rate, uplink.value) if uplink is not None and top in behind else rate
        total += carried
        parts.append(f"{carried / 1e9:.2f}")
    limit = Limit(
        value=total,
        unit="B/s",
        link=f"links of {len(found)} drives of {name}",
        formula=f"{' + '.join(parts)} = {total / 1e9:.2f} GB/s",
        source="sum of the members' PCIe links, each group no more than its switch's own",
    )
    return [Hop(name=name, limit=limit), *_side_by_side(member_hops)]


def _side_by_side(hops: list[Hop]) -> list[Hop]:
    return [hop.model_copy(update={"parallel": True}) for hop in hops]
