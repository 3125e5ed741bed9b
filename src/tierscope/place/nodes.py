"""Nodes as a user names them: endpoints, and the forms that numactl takes.

::

    node:0,2@3:1  node:0@3,2    endpoints; weights 3 and 1
    0,2-3  0,2@3:1              numbers and ranges
    all                         all nodes that this process may use
    !1                          all of these but node 1
    +0,2                        the first and the third of these
    netdev:eth0  ip:10.0.0.1    the node of a network device; of the one that leads to an address
    file:/data  block:nvme0n1   the node of a block device, or of the one that a path is on
    pci:0000:01:00.0            the node of a PCI device: [segment:]bus:device[.function]
"""

import json
import os
import re
import socket
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

from tierscope.machine.files import Files
from tierscope.machine.nodes import NODES, allowed_nodes
from tierscope.model.endpoint import (
    EndpointKind,
    format_ranges,
    parse_endpoint,
    parse_ranges,
    parse_target,
)
from tierscope.model.errors import UserError

_FORMS = "node:0,2@3:1, 0,2-3, all, !1, +0, netdev:eth0, ip:10.0.0.1, file:/data, pci:01:00.0"
_DEVICE = re.compile(r"(netdev|ip|file|block|pci):(.+)", re.DOTALL)
_NUMBERS = re.compile(r"nodes?:?\d|[\d!+]|all(@|$)")
_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?", re.I)


class Selection(NamedTuple):
    """Nodes, and a weight for each where weights were given."""

    nodes: tuple[int, ...]
    weights: tuple[int, ...] = ()


def select_nodes(text: str, files: Files | None = None) -> Selection:
    """Return what a text in one of the forms above names; raises UserError.

    Whether the nodes have memory and may be used is ``check_nodes``'s to say.
    """
    files = files or Files()
    if re.match(r"nodes?:?\d", text):
        target = parse_target(text, (EndpointKind.NODE,), "placement")
        return Selection(target.numbers, target.weights)
    names, at, weights = text.partition("@")
    device = _DEVICE.fullmatch(text)
    if device:
        return Selection((_of_device(device[1], device[2], files),))
    nodes = tuple(_numbers(text, names, files))
    if at:
        return Selection(*_weighted(text, f"{format_list(nodes)}@{weights}"))
    return Selection(nodes)


def is_selection(text: str) -> bool:
    """Whether a text is written in one of the forms above, be its nodes there or not."""
    return bool(_NUMBERS.match(text) or _DEVICE.fullmatch(text))


def format_list(nodes: tuple[int, ...]) -> str:
    """Write nodes in their order: ``0,2``."""
    return ",".join(map(str, nodes))


def check_nodes(nodes: tuple[int, ...], files: Files | None = None) -> None:
    """Raise UserError that says why where a node is not there, has no memory or is not allowed."""
    files = files or Files()
    usable, allowed = usable_nodes(files), allowed_nodes(files)
    online, possible = files.ranges(f"{NODES}/online"), files.ranges(f"{NODES}/possible")
    for node in nodes:
        if node in usable:
            continue
        if node not in online:
            problem = "is offline" if node in possible else "does not exist"
        elif node not in nodes_with_memory(files):
            problem = "has no memory"
        else:
            of = format_ranges(tuple(allowed or ()))
            problem = f"is not in this process's cpuset, which allows the memory of nodes {of}"
        raise UserError(
            f"node {node} {problem}; choose among the nodes with memory: "
            f"{format_ranges(tuple(usable))}"
        )


def usable_nodes(files: Files | None = None) -> list[int]:
    """Return the nodes that have memory and that this process may use, ascending."""
    files = files or Files()
    allowed = allowed_nodes(files)
    return [node for node in nodes_with_memory(files) if allowed is None or node in allowed]


def nodes_with_memory(files: Files | None = None) -> list[int]:
    """Return the nodes that have memory; node 0 where the kernel was built without NUMA."""
    return (files or Files()).ranges(f"{NODES}/has_memory") or [0]


def _numbers(text: str, names: str, files: Files) -> list[int]:
    """Return the nodes of ``0,2-3``, ``all``, ``!1`` and ``+0``."""
    rest = names.removeprefix("!")
    relative = rest.startswith("+")
    listed, usable = rest.removeprefix("+"), usable_nodes(files)
    try:
        numbers = usable if listed == "all" else parse_ranges(listed)
    except ValueError as error:
        raise UserError(f"nodes '{text}': {error}; the forms are {_FORMS}") from None
    if relative and listed != "all":
        if beyond := [number for number in numbers if number >= len(usable)]:
            raise UserError(
                f"nodes '{text}': there is no +{beyond[0]}; this process may use "
                f"{len(usable)} nodes with memory, +0 to +{len(usable) - 1}"
            )
        numbers = [usable[number] for number in numbers]
    if names.startswith("!"):
        numbers = [node for node in usable if node not in numbers]
    if not numbers:
        raise UserError(
            f"nodes '{text}': none is left of the nodes with memory: {format_ranges(tuple(usable))}"
        )
    return numbers


def _weighted(text: str, endpoint: str) -> Selection:
    try:
        parsed = parse_endpoint(f"node:{endpoint}")
    except UserError as error:
        raise UserError(f"nodes '{text}': {str(error).partition(': ')[2]}") from None
    return Selection(parsed.numbers, parsed.weights)


def _of_device(kind: str, name: str, files: Files) -> int:
    """Return the node that a device is local to; raises UserError."""
    find = {"netdev": _of_interface, "ip": _of_address, "file": _of_file, "block": _of_block,
            "pci": _of_pci}[kind]  # fmt: skip
    node = find(name, files)
    if node is None:
        raise UserError(
            f"nodes '{kind}:{name}': the kernel knows no node that this is local to; "
            "name the node by its number"
        )
    return node


def _of_interface(name: str, files: Files) -> int | None:
    if name not in files.names("/sys/class/net"):
        there = ", ".join(files.names("/sys/class/net"))
        raise UserError(f"nodes 'netdev:{name}': no such network device; there are: {there}")
    return _node_above(files, f"/sys/class/net/{name}/device")


def _of_address(address: str, files: Files) -> int | None:
    """By the interface that packets to that address leave through."""
    try:
        number = socket.getaddrinfo(address, None)[0][4][0]
        command = ["ip", "-json", "route", "get", str(number)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=10)
        return _of_interface(json.loads(done.stdout)[0]["dev"], files)
    except FileNotFoundError:
        problem = "iproute2's program ip is needed, and not installed"
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        problem = "no route leads to it"
    raise UserError(f"nodes 'ip:{address}': {problem}")


def _of_file(path: str, files: Files) -> int | None:
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        raise UserError(f"nodes 'file:{path}': {error}") from None
    device = found.st_rdev if stat.S_ISBLK(found.st_mode) else found.st_dev
    return _node_above(files, f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")


def _of_block(path: str, files: Files) -> int | None:
    name = Path(path).resolve().name if path.startswith("/") else path
    if name not in files.names("/sys/class/block"):
        raise UserError(f"nodes 'block:{path}': no such block device; lsblk lists them")
    return _node_above(files, f"/sys/class/block/{name}")


def _of_pci(address: str, files: Files) -> int | None:
    found = _PCI.fullmatch(address)
    if not found:
        raise UserError(
            f"nodes 'pci:{address}': write it as pci:[segment:]bus:device[.function], "
            "as in pci:01:00.0 or pci:0000:01:00.0"
        )
    segment, bus, device, function = (int(part or "0", 16) for part in found.groups())
    name = f"{segment:04x}:{bus:02x}:{device:02x}.{function}"
    if name not in files.names("/sys/bus/pci/devices"):
        raise UserError(f"nodes 'pci:{address}': there is no device {name}; lspci -D lists them")
    return _node_above(files, f"/sys/bus/pci/devices/{name}")


def _node_above(files: Files, path: str) -> int | None:
    """Return ``numa_node`` of a device, or of the nearest device above it that has one."""
    root = Path(f"{files.root}/sys")
    device = Path(files.root + path)
    if not device.exists():
        return None
    for folder in (device.resolve(), *device.resolve().parents):
        if not folder.is_relative_to(root.resolve()):
            break
        number = _number(folder / "numa_node") if folder.is_dir() else None
        number = _number(folder / "device/numa_node") if number is None else number
        if number is not None and number >= 0:
            return number
    return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
