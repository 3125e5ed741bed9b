"""GPUs, drives and NICs on their PCI buses, and the links that they share on the way to CPUs."""

from collections.abc import Iterator, Sequence

from tierscope.machine.affinity import Tree
from tierscope.machine.files import natural
from tierscope.machine.links import pcie_name
from tierscope.machine.pcie import chain, pcie_hop
from tierscope.model.affinity import IoDevice, Uplink
from tierscope.model.topology import Block, PciDevice, Port, Topology

INTERCONNECT = "interconnect"
"""Name of the uplink between the packages; that of more than two has the package's number."""


def io_devices(topology: Topology) -> list[IoDevice]:
    """GPUs, drives and NICs that have a PCI address, in this order."""
    tree = Tree(topology.pci)
    found = [
        *(("gpu", f"gpu:{gpu.index}", gpu.address, gpu.name) for gpu in topology.gpus),
        *(("drive", name, drive.address, drive.product) for name, drive in _drives(topology)),
        *(("nic", name, port.address, _port_words(port)) for name, port in _nics(topology)),
    ]
    return [
        _io_device(topology, tree, kind, name, device, product)
        for kind, name, address, product in found
        if (device := tree.device(address)) is not None
    ]


def _drives(topology: Topology) -> Iterator[tuple[str, Block]]:
    """Drives by the names that affinity has: an NVMe drive is its controller."""
    named = {
        block.controller or block.name: block
        for block in topology.blocks
        if block.kind in ("nvme", "disk", "virtual") and block.address
    }
    yield from sorted(named.items(), key=lambda item: natural(item[0]))


def _nics(topology: Topology) -> Iterator[tuple[str, Port]]:
    named = {port.rdma or port.name: port for port in topology.ports if port.address}
    yield from sorted(named.items(), key=lambda item: natural(item[0]))


def _port_words(port: Port) -> str:
    speed = f"{port.speed / 1e9:g} Gb/s" if port.speed else ""
    kind = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}.get(port.kind, port.kind)
    interface = port.interface if port.interface != port.name else ""
    state = "" if port.state in ("active", "up") else port.state
    return " ".join(filter(None, (kind, speed, interface, state)))


def _io_device(
    topology: Topology, tree: Tree, kind: str, name: str, device: PciDevice, product: str
) -> IoDevice:
    hop = pcie_hop(tree, device, name)
    return IoDevice.model_validate(
        {
            "name": name,
            "kind": kind,
            "product": product,
            "address": device.address,
            "link": pcie_name(hop.now) if hop.now else "",
            "limit": hop.limit.value if hop.limit else None,
            "node": device.node,
            "uplinks": [
                *_slot(topology, device),
                *(_switch(tree, bridge) for bridge in chain(tree, device.address)[1:]),
                *_interconnect(topology, device),
            ],
        }
    )


def _slot(topology: Topology, device: PciDevice) -> Iterator[Uplink]:
    """The link of a card, where several functions of it are known."""
    slot = device.address.partition(".")[0]
    functions = [port.address for port in topology.ports if (port.address or "")[:-2] == slot]
    if len(set(functions)) > 1:
        yield Uplink(name=slot, role="card", words=f"the slot of the card {slot}")


def _switch(tree: Tree, bridge: PciDevice) -> Uplink:
    hop = pcie_hop(tree, bridge, bridge.address)
    rate = hop.limit.value if hop.limit else None
    speed = pcie_name(hop.now) if hop.now else f"{rate / 1e9:.1f} GB/s" if rate else ""
    about = f" ({speed})" if speed else ""
    words = f"the uplink of switch {bridge.address}{about}"
    return Uplink(name=bridge.address, role="switch", words=words, limit=rate)


def _interconnect(topology: Topology, device: PciDevice) -> Iterator[Uplink]:
    """The link between packages, which is on the way to all devices but the first package's."""
    node = topology.node(device.node) if device.node is not None else None
    package = device.package if node is None or node.package is None else node.package
    numbers = sorted(entry.number for entry in topology.packages)
    if package is None or len(numbers) < 2 or package == numbers[0]:
        return
    if len(numbers) == 2:
        words, name = "the interconnect of the packages", INTERCONNECT
    else:
        words, name = f"the interconnect of package {package}", f"{INTERCONNECT} {package}"
    yield Uplink(name=name, role="interconnect", words=words)


def crossed(first: IoDevice, second: IoDevice) -> list[Uplink]:
    """Uplinks between two devices: those above one of them only."""
    both = {link.name for link in first.uplinks} & {link.name for link in second.uplinks}
    return [link for link in (*first.uplinks, *second.uplinks) if link.name not in both]


def by_top_switch(devices: Sequence[IoDevice]) -> dict[str, list[IoDevice]]:
    """Devices by the switch above them that is nearest the CPUs; those below none are left out."""
    groups: dict[str, list[IoDevice]] = {}
    for device in devices:
        switches = [link for link in device.uplinks if link.role == "switch"]
        if switches:
            groups.setdefault(switches[-1].name, []).append(device)
    return groups


def possible_arrays(topology: Topology) -> list[tuple[list[str], list[str]]]:
    """Return NVMe devices, two or more, that could be one array: below one switch with GPUs, and
    without a partition, a mount or a device on them that is known. The GPUs come second."""
    used = {name for block in topology.blocks for name in block.members}
    used |= {mount.block for mount in topology.mounts if mount.block}
    free = {
        block.controller or block.name: block.name
        for block in topology.blocks
        if block.kind == "nvme" and block.name not in used
    }
    found = []
    for group in by_top_switch(io_devices(topology)).values():
        unused = [free[device.name] for device in group if device.name in free]
        gpus = [device.name for device in group if device.kind == "gpu"]
        if len(unused) > 1 and gpus:
            found.append((unused, gpus))
    return found
