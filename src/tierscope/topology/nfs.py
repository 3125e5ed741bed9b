"""Mounts of NFS: their options, and the kernel's counters of mounts, ports and nvidia-fs.

Nothing here asks a server: mountinfo, mountstats and sysfs are the kernel's own.
"""

import re
from collections.abc import Iterable

from tierscope.model.network import NfsCounts, NfsFacts, PortCounts
from tierscope.model.storage import MountFacts
from tierscope.topology.files import Files, unescape
from tierscope.topology.routes import interface_to, physical

_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"
_WORD = 4  # bytes that port_rcv_data and port_xmit_data count
_IB_ERRORS = ("symbol_error", "port_rcv_errors", "port_xmit_discards")
_NET_ERRORS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


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


def nfs_counts(files: Files, mounts: Iterable[str]) -> list[NfsCounts]:
    """What these mounts asked so far, by the directories that they are mounted on."""
    wanted, found = set(mounts), {}
    text = files.text("/proc/self/mountstats") or ""
    for part in re.split(r"^device ", text, flags=re.MULTILINE):
        head, _, body = part.partition("\n")
        match = re.fullmatch(r".* mounted on (.*) with fstype nfs4? statvers=[\d.]+", head)
        if match and unescape(match[1]) in wanted:
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
    """What these interfaces moved so far, and the RDMA ports that they belong to."""
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
        errors=sum(files.number(f"{directory}/{error}") or 0 for error in _NET_ERRORS),
    )


def _of_port(files: Files, name: str, port: str) -> PortCounts:
    directory = f"{port}/counters"
    return PortCounts(
        name=name,
        received_bytes=_WORD * (files.number(f"{directory}/port_rcv_data") or 0),
        sent_bytes=_WORD * (files.number(f"{directory}/port_xmit_data") or 0),
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
