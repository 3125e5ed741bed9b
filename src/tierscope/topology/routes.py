"""Which network interface leads to an address: /proc/net/route, /proc/net/ipv6_route.

The main routing table decides, by the longest prefix and then the lowest metric (RFC 1812,
5.2.4.3); rules for policies and routes over several ways at once are not looked at.
"""

import ipaddress
import sys
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network
from typing import NamedTuple

from tierscope.topology.files import Files

LOOPBACK = "lo"
_NET = "/sys/class/net"
_UP = 0x1  # RTF_UP
_REJECT = 0x200  # RTF_REJECT


class Route(NamedTuple):
    """One line of the kernel's table."""

    network: IPv4Network | IPv6Network
    metric: int
    interface: str


def interface_to(files: Files, address: str) -> str:
    """The interface by which an address is reached; ``lo`` to this machine itself, empty where no
    route is known or the text is no address."""
    try:
        wanted = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if wanted.is_loopback or str(wanted) in own_addresses(files):
        return LOOPBACK
    fitting = [
        route
        for route in (*_routes4(files), *_routes6(files))
        if route.network.version == wanted.version and wanted in route.network
    ]
    best = max(fitting, key=lambda route: (route.network.prefixlen, -route.metric), default=None)
    return best.interface if best is not None else ""


def carriers(files: Files, address: str) -> list[str]:
    """The interfaces that carry packets to an address; none where no route to it is known."""
    interface = interface_to(files, address)
    return physical(files, interface) if interface else []


def physical(files: Files, interface: str) -> list[str]:
    """The interfaces that carry an interface's packets: members of a bond, what a VLAN lies on."""
    found: dict[str, None] = {}
    pending = [interface]
    while pending:
        current = pending.pop(0)
        below = [name.removeprefix("lower_") for name in files.names(f"{_NET}/{current}", "lower_")]
        if below and current not in found:
            pending.extend(name for name in below if name not in found)
        elif current:
            found[current] = None
    return list(found)


def own_addresses(files: Files) -> set[str]:
    """The machine's own addresses, of IPv4 by /proc/net/fib_trie and of IPv6 by if_inet6."""
    found, last = set(), ""
    for line in (files.text("/proc/net/fib_trie") or "").splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            last = words[1]
        elif words[:3] == ["/32", "host", "LOCAL"]:
            found.add(last)
    for line in (files.text("/proc/net/if_inet6") or "").splitlines():
        if text := line.split():
            found.add(str(_address6(text[0])))
    return found


def _routes4(files: Files) -> Iterator[Route]:
    for line in (files.text("/proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        if len(words) < 8 or int(words[3], 16) & (_UP | _REJECT) != _UP:
            continue
        network, mask = (int(words[at], 16).to_bytes(4, sys.byteorder) for at in (1, 7))
        prefix = int.from_bytes(mask, "big").bit_count()
        yield Route(IPv4Network((network, prefix), strict=False), int(words[6]), words[0])


def _routes6(files: Files) -> Iterator[Route]:
    for line in (files.text("/proc/net/ipv6_route") or "").splitlines():
        words = line.split()
        if len(words) < 10 or int(words[8], 16) & (_UP | _REJECT) != _UP:
            continue
        network = IPv6Network((_address6(words[0]), int(words[1], 16)), strict=False)
        yield Route(network, int(words[5], 16), words[9])


def _address6(text: str) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(bytes.fromhex(text))
