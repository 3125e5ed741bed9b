"""Persistent memory as a target: what holds it, and on which node it is."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.persistent import Persistent
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.topology import Topology

EMULATED_IN = "/dev/shm"  # noqa: S108 - only files without a name are made there
"""A tmpfs that every user may write to: memory of a node that stands in for persistent memory."""


def persistent_placement(
    topology: Topology, cpus: Sequence[int], target: Target, asked: Mapping[str, Any]
) -> Placement:
    """Return the placement of a ``pmem:`` or ``dax:`` target for the CPUs that access it.

    ``asked`` are further fields of Persistent.
    """
    fields = {**asked, "path": target.path or EMULATED_IN, "bound": bool(target.numbers)}
    node = target.numbers[0] if target.numbers else _node_of(topology, cpus, target)
    return Placement(
        policy="bind",
        nodes=[NodeShare(node=node)],
        persistent=Persistent.model_validate(fields),
    )


def _node_of(topology: Topology, cpus: Sequence[int], target: Target) -> int:
    """The node of the device below the target; else the CPUs' own, where they touch pages first."""
    if target.kind is EndpointKind.DAX:
        devices = [target.path.rpartition("/")[2]]
    else:
        path = PurePosixPath(target.path)
        within = [mount for mount in topology.mounts if path.is_relative_to(mount.path)]
        nearest = max(within, key=lambda mount: len(mount.path), default=None)
        devices = [nearest.block] if nearest and nearest.block else []
    known = [
        space.node
        for space in topology.namespaces
        if space.node is not None and any(device == space.device for device in devices)
    ]
    own = [node.number for node in topology.nodes if cpus and cpus[0] in node.cpus]
    return [*known, *own, 0][0]
