"""Which network interface leads to an address: /proc/net/route, /proc/net/ipv6_route.

The main routing table decides, by the longest prefix and then the lowest metric (RFC 1812,
5.2.4.3); rules for policies and routes over several ways at once are not looked at.
"""

import ipaddress
import re
import sys
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network
from typing import Literal, NamedTuple

from tierscope.machine.files import Files, unescape
from tierscope.model.evidence import NfsCounts, NfsFacts, PortCounts
from tierscope.model.storage import MountFacts
from tierscope.model.topology import Port

LOOPBACK = "lo"
_NET = "/sys/class/net"
_UP = 0x1  # RTF_UP
_REJECT = 0x200  # RTF_REJECT
_RDMA = "/sys/class/infiniband"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_INFINIBAND = 32  # ARPHRD_INFINIBAND
_WORD = 4  # bytes that port_rcv_data and port_xmit_data count
_IB_ERRORS = ("symbol_error", "port_rcv_errors", "port_xmit_discards")
_NET_ERRORS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


class Route(NamedTuple):
    """One line of the kernel's table."""

    network: IPv4Network | IPv6Network
    metric: int
    interface: str


def interface_to(files: Files, address: str) -> str:
    """The interface by which an address is reached; ``lo`` to this machine itself, empty where no
    route is known or the text is not an address."""
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


def read_ports(files: Files) -> list[Port]:
    """RDMA ports, then the interfaces that are no RDMA device's; lo and software bridges not."""
    rdma_ports = [port for device in files.names(_RDMA) for port in _rdma_ports(files, device)]
    covered = {port.address for port in rdma_ports if port.address}
    interfaces = [
        _interface(files, name)
        for name in files.names(_NET)
        if files.exists(f"{_NET}/{name}/device")
    ]
    return rdma_ports + [port for port in interfaces if port.address not in covered]


def _rdma_ports(files: Files, device: str) -> list[Port]:
    directory = f"{_RDMA}/{device}"
    address = _address(files, f"{directory}/device")
    interfaces = files.names(f"{directory}/device/net")
    return [
        Port(
            name=f"{device}/{number}",
            kind="infiniband" if files.text(f"{port}/link_layer") == "InfiniBand" else "ethernet",
            address=address,
            rdma=device,
            interface=interfaces[0] if interfaces else "",
            speed=rdma_speed(files.text(f"{port}/rate")) if _active(files, port) else None,
            state=(files.text(f"{port}/state") or "").partition(": ")[2].lower(),
        )
        for number, port in files.numbered(f"{directory}/ports", "")
    ]


def _active(files: Files, port: str) -> bool:
    return "ACTIVE" in (files.text(f"{port}/state") or "")


def rdma_speed(text: str | None) -> float | None:
    """bits/s of sysfs' ``100 Gb/sec (4X EDR)``."""
    match = re.match(r"([\d.]+)\s*Gb/sec", text or "")
    return float(match[1]) * 1e9 if match else None


def _interface(files: Files, name: str) -> Port:
    directory = f"{_NET}/{name}"
    address = _address(files, f"{directory}/device")
    megabits = files.number(f"{directory}/speed")  # -1 or an error where the link is down
    kind: Literal["ethernet", "infiniband", "virtual"] = "ethernet"
    if files.number(f"{directory}/type") == _INFINIBAND:
        kind = "infiniband"
    elif address is None or "/virtio" in files.target(f"{directory}/device"):
        kind = "virtual"
    return Port(
        name=name,
        kind=kind,
        address=address,
        interface=name,
        speed=megabits * 1e6 if megabits and megabits > 0 else None,
        state=files.text(f"{directory}/operstate") or "",
    )


def _address(files: Files, link: str) -> str | None:
    parts = [part for part in files.target(link).split("/") if _ADDRESS.fullmatch(part)]
    return parts[-1] if parts else None


def local_addresses(files: Files) -> set[str]:
    """IPv4 addresses of this machine's interfaces; empty where the kernel does not say."""
    found, last = set(), ""
    for line in (files.text("/proc/net/fib_trie") or "").splitlines():
        words = line.split()
        if words[:1] == ["|--"] and len(words) > 1:
            last = words[1]
        elif words == ["/32", "host", "LOCAL"]:
            found.add(last)
    return found


def is_nfs(file_system: str) -> bool:
    """Whether a mount of this type goes to a server of NFS."""
    return file_system in ("nfs", "nfs4")


def nfs_facts(files: Files, mount: MountFacts) -> NfsFacts | None:
    """How a mount reaches its server; None of what is no NFS, or says no address."""
    if not is_nfs(mount.type):
        return None
    options = _options(mount.options)
    if "addr" not in options:
        return None
    interface = interface_to(files, options["addr"])
    return NfsFacts(
        server=options["addr"],
        version=options.get("vers", ""),
        transport=options.get("proto", ""),
        connections=_count(options.get("nconnect")) or 1,
        rsize=_count(options.get("rsize")),
        wsize=_count(options.get("wsize")),
        interface=interface,
        ports=physical(files, interface) if interface else [],
        mtu=files.number(f"{_NET}/{interface}/mtu") if interface else None,
    )


def _options(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split(","))
    return {name: value for name, _, value in pairs}


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def nfs_counts(files: Files, mounts: Iterable[str] | None = None) -> list[NfsCounts]:
    """Return the requests of these mounts so far, by mount point; without a list, of all."""
    wanted, found = None if mounts is None else set(mounts), {}
    text = files.text("/proc/self/mountstats") or ""
    for part in re.split(r"^device ", text, flags=re.MULTILINE):
        head, _, body = part.partition("\n")
        match = re.fullmatch(r".* mounted on (.*) with fstype nfs4? statvers=[\d.]+", head)
        if match and (wanted is None or unescape(match[1]) in wanted):
            found[unescape(match[1])] = body  # the later of two mounts hides the other
    return [_counts(name, body) for name, body in found.items()]


def _counts(name: str, body: str) -> NfsCounts:
    # Each line: operations, transmissions, major timeouts, bytes sent, bytes received, ms in the
    # queue, ms of round trips, ms in all, and errors since Linux 5.3.
    lines = re.findall(r"^\s+([A-Z_]+): ((?:\d+ ?){8,9})$", body, re.MULTILINE)
    operations = {name: [*map(int, numbers.split()), 0][:9] for name, numbers in lines}
    none = [0] * 9
    read, write = operations.get("READ", none), operations.get("WRITE", none)
    data = (read, write, operations.get("COMMIT", none))
    every = list(operations.values())
    return NfsCounts(
        name=name,
        reads=read[0],
        read_bytes=read[4],
        read_rtt_ms=read[6],
        read_ms=read[7],
        writes=write[0],
        write_bytes=write[3],
        write_rtt_ms=write[6],
        write_ms=write[7],
        operations=sum(one[0] for one in every),
        retransmissions=sum(max(0, one[1] - one[0]) for one in every),
        timeouts=sum(one[2] for one in every),
        errors=sum(one[8] for one in data),
    )


def port_counts(files: Files, interfaces: Iterable[str]) -> list[PortCounts]:
    """Return the bytes moved so far by these interfaces, and by the RDMA ports they belong to."""
    names = list(dict.fromkeys(interfaces))
    found = [one for name in names if (one := _of_interface(files, name)) is not None]
    for device in files.names(_RDMA):
        if not set(files.names(f"{_RDMA}/{device}/device/net")).isdisjoint(names):
            ports = files.numbered(f"{_RDMA}/{device}/ports", "")
            found += [_of_port(files, f"{device}/{number}", port) for number, port in ports]
    return found


def _of_interface(files: Files, name: str) -> PortCounts | None:
    directory = f"{_NET}/{name}/statistics"
    received = files.number(f"{directory}/rx_bytes")
    if received is None:
        return None
    return PortCounts(
        name=name,
        received_bytes=received,
        sent_bytes=files.number(f"{directory}/tx_bytes") or 0,
        received_packets=files.number(f"{directory}/rx_packets") or 0,
        sent_packets=files.number(f"{directory}/tx_packets") or 0,
        errors=sum(files.number(f"{directory}/{error}") or 0 for error in _NET_ERRORS),
    )


def _of_port(files: Files, name: str, port: str) -> PortCounts:
    directory = f"{port}/counters"
    return PortCounts(
        name=name,
        received_bytes=_WORD * (files.number(f"{directory}/port_rcv_data") or 0),
        sent_bytes=_WORD * (files.number(f"{directory}/port_xmit_data") or 0),
        received_packets=files.number(f"{directory}/port_rcv_packets") or 0,
        sent_packets=files.number(f"{directory}/port_xmit_packets") or 0,
        errors=sum(files.number(f"{directory}/{error}") or 0 for error in _IB_ERRORS),
    )


def nvidia_fs_errors(files: Files) -> dict[str, int]:
    """Errors that nvidia-fs has counted, by the names in /proc/driver/nvidia-fs/stats."""
    found = {}
    for line in (files.text("/proc/driver/nvidia-fs/stats") or "").splitlines():
        name, _, values = line.partition(":")
        for key, number in re.findall(r"([\w-]+)=(\d+)", values):
            if name.strip() == "Error" or re.search(r"err|fail|eio", key):
                found[f"{name.strip()} {key}"] = int(number)
    return found
