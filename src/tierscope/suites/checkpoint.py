"""Default targets of ``tierscope checkpoint``: all that a program could
use here."""

import os
from pathlib import Path

from tierscope.engine.targets import PathError, known_path
from tierscope.model.topology import Mount, NodeKind, Topology
from tierscope.plans.machine import cpu_nodes, memory_nodes

BACKINGS = ("file", "pool")
"""Both ways into persistent memory are measured."""
_OTHERS = ("/boot", "/boot/efi")
"""Mounts that nobody puts checkpoints on."""


def targets(topology: Topology, initiator: str = "") -> list[str]:
    """Return endpoints: memory of all other nodes, the current directory, and every mounted drive,
    persistent memory or server of which this user may write the topmost directory.

    Of a machine with one node, that node's own memory.
    """
    own = initiator or f"node:{cpu_nodes(topology)[0].number}"
    nodes = [n for n in memory_nodes(topology) if n.kind is not NodeKind.GPU]
    allowed = topology.memory_nodes
    names = [f"node:{n.number}" for n in nodes if allowed is None or n.number in allowed]
    others = [name for name in names if name != own]
    places = directories(topology)
    dax = [path for path in places if _is_dax(path)]
    return [
        *(others or names[:1]),
        *(f"pmem:{path}" for path in dax),
        *(f"file:{path}" for path in places),
    ]


def directories(topology: Topology) -> list[str]:
    """Return the current directory, and one directory of each other drive or server."""
    here = Path.cwd()
    found, seen = [str(here)], {_source(_mount_of(topology, here))}
    for mount in topology.mounts:
        source = _source(mount)
        if not (mount.block or mount.server) or mount.path in _OTHERS or source in seen:
            continue
        if _is_writable_directory(mount.path):
            seen.add(source)
            found.append(mount.path)
    return found


def _is_writable_directory(path: str) -> bool:
    """Whether this user may make files there; a path that does not answer is left out."""
    try:
        facts = known_path(path)
    except PathError:
        return False
    return facts.kind == "directory" and os.access(path, os.W_OK | os.X_OK)


def _is_dax(path: str) -> bool:
    """Whether a directory is on persistent memory whose files can be mapped past the page cache."""
    try:
        return bool(known_path(path).dax)
    except PathError:
        return False


def _mount_of(topology: Topology, path: Path) -> Mount | None:
    """Return the mount that a path is on."""
    above = [m for m in topology.mounts if path.is_relative_to(m.path)]
    return max(above, key=lambda m: len(m.path), default=None)


def _source(mount: Mount | None) -> str:
    """Return what holds a mount's data."""
    return "" if mount is None else mount.block or f"{mount.server} {mount.path}"
