"""Caches in front of a node's memory, as a run recorded them."""

from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Run


def side_caches(run: Run, target: str) -> list[int]:
    """Bytes of the memory-side caches of a target that is one node; none of any other."""
    try:
        end = parse_endpoint(target)
    except UserError:
        return []
    if end.kind is not EndpointKind.NODE or len(end.numbers) != 1:
        return []
    return sorted(
        {
            int(cache["size_bytes"])
            for node in run.header.machine.get("nodes", [])
            if node.get("node") == end.numbers[0]
            for cache in node.get("memory_side_caches", [])
        }
    )
