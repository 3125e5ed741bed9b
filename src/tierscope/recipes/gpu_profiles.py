"""What the longer profiles of ``tierscope run`` measure of GPUs, where there are any."""

from tierscope.model.topology import Topology
from tierscope.plans.request import Request


def gpu_requests(topology: Topology, budget: str, sweeps: bool) -> list[Request]:
    """Return requests for every path of every GPU; none on a machine without one.

    ``budget`` is seconds of one measurement; ``sweeps`` adds sizes, streams and both sides of
    copies between GPUs.
    """
    if not topology.gpus:
        return []
    several = len(topology.gpus) > 1
    asked: list[tuple[str, dict[str, str]]] = [
        ("gpu-copy", {"from": "all", "to": "all"}),
        ("gpu-copy", {"from": "all" if several else "node:*", "both-ways": "yes"}),
        ("gpu-copy", {"memory": "pageable", "size": "4m,512m"}),
        ("gpu-copy", {"from": "gpu:*", "to": "node:*", "memory": "pageable", "size": "4m,512m"}),
        ("gpu-copy", {"from": "all", "to": "all", "engine": "sm"}),
        ("gpu-memory", {"op": "read,write,copy,triad"}),
        ("gpu-latency", {"size": "16k..1g*4", "per-sm": "yes"} if sweeps else {}),
    ]
    if several:
        asked.append(("gpu-together", {}))
    if sweeps:
        asked += [
            ("gpu-copy", {"size": "4..1g*4"}),
            ("gpu-copy", {"from": "gpu:*", "to": "node:*", "size": "4..1g*4"}),
            ("gpu-copy", {"streams": "2..8*2"}),
            ("gpu-memory", {"op": "read,copy", "size": "1m..4g*4"}),
            ("gpu-memory", {"op": "random", "access-size": "32..128"}),
        ]
    if sweeps and several:
        asked.append(("gpu-copy", {"from": "gpu:*", "to": "gpu:*", "side": "write"}))
    return [Request(kind=kind, options={**options, "budget": budget}) for kind, options in asked]
