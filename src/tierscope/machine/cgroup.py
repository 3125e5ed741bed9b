"""Limits of CPU and memory of this process's cgroup; versions 1 and 2."""

from dataclasses import dataclass
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.machine.nodes import NODES
from tierscope.model.topology import Node, Topology

_NO_LIMIT = 1 << 60
"""Version 1 writes a number near 2^63 where there is no limit."""


@dataclass(frozen=True)
class MemoryLimit:
    """Bytes that a cgroup allows, and what of them is left."""

    limit_bytes: int
    left_bytes: int


def memory_limit(proc: Path = Path("/proc")) -> MemoryLimit | None:
    """Return the tightest memory limit from this cgroup up to the root; None without one."""
    limits = []
    for folder in _folders("memory", proc):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        used = _number(folder / "memory.current")
        if used is None:
            used = _number(folder / "memory.usage_in_bytes") or 0
        if limit is not None and limit < _NO_LIMIT:
            left = max(0, limit - used + _reclaimable(folder))
            limits.append(MemoryLimit(limit, min(left, limit)))
    return min(limits, key=lambda found: found.left_bytes, default=None)


def cpu_limit(proc: Path = Path("/proc")) -> float | None:
    """Return the tightest CPU quota, in CPUs; None without one."""
    limits = []
    for folder in _folders("cpu", proc):
        words = (_text(folder / "cpu.max") or "").split()
        if len(words) == 2 and words[0].isdigit():
            limits.append(int(words[0]) / int(words[1]))
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if quota is not None and quota > 0 and period:
            limits.append(quota / period)
    return min(limits, default=None)


def _folders(controller: str, proc: Path) -> list[Path]:
    """Folders of this process's cgroup and its ancestors, as far as they can be seen."""
    folders: list[Path] = []
    for line in (_text(proc / "self/cgroup") or "").splitlines():
        _, names, path = (*line.split(":", 2), "", "")[:3]
        if names and controller not in names.split(","):
            continue
        for root in _mounts(controller if names else "", proc):
            folder = root / path.lstrip("/")
            folders += [folder, *(p for p in folder.parents if p.is_relative_to(root))]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _mounts(controller: str, proc: Path) -> list[Path]:
    """Where the controller's hierarchy is mounted; version 2 where none is named."""
    found = []
    for line in (_text(proc / "self/mounts") or "").splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        if (words[2] == "cgroup2" and not controller) or (
            words[2] == "cgroup" and controller and controller in words[3].split(",")
        ):
            found.append(Path(words[1]))
    return found


def _reclaimable(folder: Path) -> int:
    """Bytes of file pages that the kernel would give up first."""
    for line in (_text(folder / "memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdigit():
            return int(value)
    return 0


def _number(path: Path) -> int | None:
    text = _text(path)
    try:
        return int(text) if text else None
    except ValueError:
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def with_available(topology: Topology, root: str | Path = "/") -> Topology:
    """Return the topology with each ``free_bytes`` counting memory that a program can get."""
    files = Files(root)
    with_memory = [node for node in topology.nodes if node.online and node.total_bytes]
    if len(with_memory) == 1:
        # /proc/meminfo also counts memory that a kernel with deferred initialisation has not
        # touched yet, and that the node's own counters therefore lack.
        values = files.fields("/proc/meminfo")
        total, free = values.get("MemTotal"), values.get("MemAvailable")
        if total is None or free is None:
            return topology
        update = {"total_bytes": total, "free_bytes": free}
        nodes = [n.model_copy(update=update) if n is with_memory[0] else n for n in topology.nodes]
    else:
        nodes = [_with_reclaimable(files, node) for node in topology.nodes]
    return topology.model_copy(update={"nodes": nodes})


def _with_reclaimable(files: Files, node: Node) -> Node:
    values = files.fields(f"{NODES}/node{node.number}/meminfo")
    if "MemFree" not in values:
        return node
    halves = values.get("Active(file)", 0) + values.get("SReclaimable", 0)
    free = values["MemFree"] + values.get("Inactive(file)", 0) + halves // 2
    return node.model_copy(update={"free_bytes": free})
