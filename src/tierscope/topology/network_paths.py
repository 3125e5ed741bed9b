"""The way to the server of a mount or a drive, as far as this machine: NIC, PCIe links, port."""

from collections.abc import Callable, Sequence

from tierscope.model.limit import Limit
from tierscope.model.path import Hop
from tierscope.model.topology import Port, Topology
from tierscope.topology.affinity import Tree
from tierscope.topology.links import network_limit
from tierscope.topology.pcie import chain, pcie_hop
from tierscope.topology.routes import LOOPBACK


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
