"""Network ports of this machine: interfaces and RDMA devices."""

import re
from typing import Literal

from tierscope.model.topology import Port
from tierscope.topology.files import Files

_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_INFINIBAND = 32  # ARPHRD_INFINIBAND


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
