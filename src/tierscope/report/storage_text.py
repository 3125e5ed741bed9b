"""Storage targets in words, as their evidence has them."""

from collections.abc import Iterable, Iterator

from tierscope.model.event import Evidence
from tierscope.model.storage import DriveFacts, StorageFacts
from tierscope.topology.links import pcie_name, pcie_rate


def targets_text(evidence: Evidence) -> str:
    """``xfs at /data on nvme0n1 (MODEL, scheduler none)``; empty where there is no target."""
    return " and ".join(dict.fromkeys(_target(facts) for facts in evidence.storage or []))


def _target(facts: StorageFacts) -> str:
    mount = facts.path.mount
    file_system = f"{mount.type} at {mount.point}" if mount is not None else ""
    if not facts.drives:
        return f"{file_system or facts.path.real} ({facts.note})"
    names = ", ".join(drive.name for drive in facts.drives)
    if facts.level:
        names = f"{facts.level} of {names}"
    about = [*_distinct(drive.model for drive in facts.drives)]
    about += [f"scheduler {name}" for name in _distinct(_schedulers(facts.drives))]
    about += [f"backed by {drive.backing_file}" for drive in facts.drives if drive.backing_file]
    described = f"{names} ({', '.join(about)})" if about else names
    return f"{file_system} on {described}" if file_system else described


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
    """What a reader must know of the drives: each once."""
    lines = []
    for drive in _drives(observed):
        if drive.note:
            lines.append(f"{drive.name}: {drive.note}")
        if any(state.hot for state in drive.states):
            lines.append(f"{drive.name} was above its warning temperature, where it may throttle")
        lines += _slow_link(drive)
    return _distinct(lines)


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
