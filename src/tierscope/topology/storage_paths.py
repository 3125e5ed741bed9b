"""The way to a file or a device: file system, block device, the drives below it, their links."""

import platform
from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

from tierscope.model.endpoint import Endpoint, EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.limit import Limit
from tierscope.model.path import Hop, HopRole
from tierscope.model.storage import MountFacts
from tierscope.model.topology import Block, Mount, Topology
from tierscope.topology.affinity import Tree, home
from tierscope.topology.files import Files
from tierscope.topology.network_paths import ports_of, server_hops
from tierscope.topology.nfs import nfs_facts
from tierscope.topology.pcie import chain, pcie_hop
from tierscope.topology.storage import blocks_below, drives, name_of_number, no_drive, stand_in


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
    from tierscope.engine.paths import known_path

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
    name = _device_name(topology, target)
    device = next((entry for entry in topology.dax if entry.name == name), None)
    if device is None:
        raise _absent(topology, target, "DAX device", [entry.name for entry in topology.dax])
    node = topology.node(device.node) if device.node is not None else None
    near = home(topology, node) if node is not None else None
    memory = Hop(name=name, role=HopRole.MEMORY, note="the rate of a DAX device is not readable")
    return [*crossing(near), memory]


def _device_name(topology: Topology, target: Endpoint) -> str:
    """What the kernel calls a device; symbolic links are followed on this machine only."""
    from tierscope.engine.paths import known_path

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
