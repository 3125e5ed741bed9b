"""Storage targets in words, as their evidence has them."""

from collections.abc import Iterable, Iterator

from tierscope.model.event import Evidence
from tierscope.model.network import NfsFacts
from tierscope.model.storage import DriveFacts, StorageFacts
from tierscope.report.figures import size_text
from tierscope.topology.links import pcie_name, pcie_rate


def targets_text(evidence: Evidence) -> str:
    """``xfs at /data on nvme0n1 (MODEL, scheduler none)``; empty where there is no target."""
    return " and ".join(dict.fromkeys(_target(facts) for facts in evidence.storage or []))


def _target(facts: StorageFacts) -> str:
    mount = facts.path.mount
    file_system = f"{mount.type} at {mount.point}" if mount is not None else ""
    if facts.path.dax:
        file_system += ", DAX"
    if facts.nfs is not None:
        return f"{file_system} ({nfs_text(facts.nfs)})"
    if not facts.drives:
        return f"{file_system or facts.path.real} ({facts.note})"
    names = ", ".join(drive.name for drive in facts.drives)
    if facts.level:
        names = f"{facts.level} of {names}"
    about = [*_distinct(drive.model for drive in facts.drives)]
    about += [f"NVMe over {drive.transport} from {drive.server}" for drive in facts.drives
              if drive.server]  # fmt: skip
    about += [f"scheduler {name}" for name in _distinct(_schedulers(facts.drives))]
    about += [f"backed by {drive.backing_file}" for drive in facts.drives if drive.backing_file]
    described = f"{names} ({', '.join(about)})" if about else names
    return f"{file_system} on {described}" if file_system else described


def nfs_text(nfs: NfsFacts) -> str:
    """``NFS 4.2 by tcp from 10.0.0.1 over eth0, MTU 9000, nconnect 4, rsize 1 MiB, ...``."""
    members = "" if nfs.ports in ([], [nfs.interface]) else f" ({' and '.join(nfs.ports)})"
    parts = [
        f"NFS {nfs.version} by {nfs.transport} from {nfs.server}"
        + (f" over {nfs.interface}{members}" if nfs.interface else ", no route to it known"),
        *([f"MTU {nfs.mtu}"] if nfs.mtu else []),
        f"nconnect {nfs.connections}",
        *([f"rsize {size_text(nfs.rsize)}"] if nfs.rsize else []),
        *([f"wsize {size_text(nfs.wsize)}"] if nfs.wsize else []),
    ]
    return ", ".join(parts)


def _schedulers(drives: Iterable[DriveFacts]) -> Iterator[str]:
    return (drive.queue.get("scheduler", "") for drive in drives)


def _distinct(words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word]


def temperatures(observed: Iterable[Evidence]) -> str:
    """``drives at 41 to 45 °C``; empty where none can be read."""
    seen = [
        state.temperature_c
        for drive in _drives(observed)
        for state in drive.states
        if state.temperature_c is not None
    ]
    if not seen:
        return ""
    low, high = f"{min(seen):.0f}", f"{max(seen):.0f}"
    return f"drives at {low} °C" if low == high else f"drives at {low} to {high} °C"


def storage_warnings(observed: Iterable[Evidence]) -> list[str]:
    """What a reader must know of the drives and of the way to servers: each once."""
    observed, lines = list(observed), []
    for drive in _drives(observed):
        if drive.note:
            lines.append(f"{drive.name}: {drive.note}")
        if any(state.hot for state in drive.states):
            lines.append(f"{drive.name} was above its warning temperature, where it may throttle")
        lines += [*_slow_link(drive), *_worn(drive)]
    return _distinct([*lines, *(line for one in observed for line in _network(one))])


def _network(evidence: Evidence) -> Iterator[str]:
    """Say what went wrong on the way to servers."""
    for mount in evidence.nfs or []:
        for count, what in (
            (mount.retransmissions, "requests were sent again"),
            (mount.timeouts, "major timeouts"),
            (mount.errors, "operations failed"),
        ):
            if count:
                yield f"NFS at {mount.name}: {count} {what}"
    for port in evidence.ports or []:
        if port.errors:
            yield f"{port.name}: {port.errors} packets in error or dropped"
    for name, count in (evidence.nvidia_fs_errors or {}).items():
        yield f"nvidia-fs: {name} grew by {count}"


def _worn(drive: DriveFacts) -> list[str]:
    """Say what a drive complains of itself."""
    wear = drive.wear
    if wear is None:
        return []
    found = []
    if wear.used_percent >= 100:
        found.append(f"{drive.name} is worn: {wear.used_percent}% of its expected life is used")
    if wear.spare_percent < wear.spare_threshold_percent:
        found.append(f"{drive.name} has {wear.spare_percent}% of its spare blocks left")
    if wear.media_errors:
        found.append(f"{drive.name} counts {wear.media_errors:.0f} media errors")
    if wear.warnings & 0b1100:
        found.append(f"{drive.name} says that it is unreliable or read-only")
    return found


def _slow_link(drive: DriveFacts) -> list[str]:
    links = [state.link for state in drive.states if state.link is not None]
    best = drive.link_best
    if not links or best is None:
        return []
    slowest = min(links, key=lambda link: pcie_rate(link) or 0.0)
    if (pcie_rate(slowest) or 0.0) >= (pcie_rate(best) or 0.0):
        return []
    now = pcie_name(slowest)
    return [f"{drive.name}'s link ran at {now}; it and its slot support {pcie_name(best)}"]


def _drives(observed: Iterable[Evidence]) -> Iterator[DriveFacts]:
    return (
        drive for evidence in observed for facts in evidence.storage or [] for drive in facts.drives
    )
