"""Placements written as endpoints."""

from tierscope.model.endpoint import Endpoint, EndpointKind
from tierscope.model.spec import Placement


def where_of(placement: Placement) -> str:
    """Write a placement as an endpoint: ``node:0,2@3:1``, ``pmem:/mnt/pmem``."""
    persistent = placement.persistent
    if persistent:
        kind = EndpointKind.DAX if persistent.backing == "device" else EndpointKind.PMEM
        nodes = (placement.nodes[0].node,) if persistent.bound else ()
        return str(Endpoint(kind=kind, numbers=nodes, path="" if nodes else persistent.path))
    weighted = placement.policy in ("weighted", "partition", "first-touch")
    weights = tuple(share.weight for share in placement.nodes) if weighted else ()
    several = len(placement.nodes) > 1
    return str(
        Endpoint(
            kind=EndpointKind.NODE,
            numbers=tuple(share.node for share in placement.nodes),
            weights=weights if several else (),
        )
    )
