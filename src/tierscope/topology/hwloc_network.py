"""The network ports of an hwloc file: RDMA devices and interfaces, which it lists side by side."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tierscope.model.topology import Port

_INFINIBAND_CLASSES = (0x0207, 0x0C06)  # network controller, and serial bus as older HCAs say
_INFINIBAND_OCTETS = 20  # of a hardware address; Ethernet's has 6
_PORT = re.compile(r"Port(\d+)(?:State|LID|LMC)")


@dataclass(frozen=True)
class NetworkObject:
    """An OpenFabrics device or a network interface of the file."""

    name: str
    rdma: bool
    address: str | None
    """PCI address."""
    class_code: int
    about: dict[str, str]


def network_ports(found: Sequence[NetworkObject]) -> list[Port]:
    """RDMA ports with their interfaces, then the interfaces that are no RDMA port's."""
    ports: list[Port] = []
    taken: set[int] = set()
    for device in found:
        if not device.rdma:
            continue
        numbers = sorted({int(match[1]) for key in device.about if (match := _PORT.match(key))})
        for number in numbers or [1]:
            at = next(
                (
                    index
                    for index, other in enumerate(found)
                    if index not in taken and _is_interface(other, device, number)
                ),
                None,
            )
            interface = found[at] if at is not None else None
            if at is not None:
                taken.add(at)
            state = device.about.get(f"Port{number}State")
            ports.append(
                Port(
                    name=f"{device.name}/{number}",
                    kind=_kind(interface or device),
                    address=device.address,
                    rdma=device.name,
                    interface=interface.name if interface else "",
                    state="active" if state == "4" else "",  # IB_PORT_ACTIVE
                )
            )
    for index, other in enumerate(found):
        if not other.rdma and index not in taken:
            kind = _kind(other) if other.address else "virtual"
            ports.append(
                Port(name=other.name, kind=kind, address=other.address, interface=other.name)
            )
    return ports


def _is_interface(other: NetworkObject, device: NetworkObject, number: int) -> bool:
    """Whether a network interface is that of an RDMA device's port; older files number none."""
    if other.rdma or other.address is None or other.address != device.address:
        return False
    return other.about.get("Port", str(number)) == str(number)


def _kind(found: NetworkObject) -> Literal["ethernet", "infiniband"]:
    """RoCE, usNIC and iWARP are RDMA over Ethernet: the hardware address and the class tell."""
    octets = len(found.about.get("Address", "").split(":"))
    if octets == _INFINIBAND_OCTETS or found.class_code in _INFINIBAND_CLASSES:
        return "infiniband"
    return "ethernet"
