"""Where a case's regions are: nodes, shares of pages, devices."""

import math
from dataclasses import dataclass
from typing import Any

from tierscope.model.endpoint import MAX_WEIGHT, EndpointKind, Target
from tierscope.model.errors import UserError
from tierscope.plans.machine import memory_nodes
from tierscope.plans.persistent import persistent_placement
from tierscope.recipes.cxlbench.cases import Values
from tierscope.recipes.cxlbench.limits import Means, Shares
from tierscope.report.figures import size_text

_HUGE = {2 << 20: "2m", 512 << 20: "512m", 1 << 30: "1g"}
_ALL = 100


@dataclass(frozen=True)
class Place:
    """Where a region is."""

    target: str
    placement: dict[str, Any]
    shares: Shares
    """Of the region, by node; empty of devices."""
    size: int
    """Bytes that the file asks for."""
    pages: str


def place_of(values: Values, means: Means, notes: list[str], secondary: bool = False) -> Place:
    """Return where a region is; raises UserError for nodes and devices that are not there."""
    key = "secondary_" if secondary else ""
    device = values[f"{key}device_path"]
    nodes = values[f"{key}numa_memory_nodes"]
    if device and nodes:
        raise UserError(f"{key}device_path and {key}numa_memory_nodes both say where memory is")
    if device:
        name = device.rpartition("/")[2]
        if name not in means.nodes:
            return _device(values, means, key, notes)
        notes.append(f"{device} is node {means.nodes[name]}")
        mapped: tuple[int, ...] = (means.nodes[name],)
    elif not nodes:
        raise UserError(f"{key}numa_memory_nodes says where memory is, and is missing")
    else:
        mapped = tuple(means.node(number, notes) for number in nodes)
    _check_nodes(means, mapped, f"{key}device_path" if device else f"{key}numa_memory_nodes")
    weights = _weights(values, key, mapped, notes)
    placement, target = _placed(mapped, *weights)
    whole = sum(share["weight"] for share in placement["nodes"])
    return Place(
        target=target,
        placement=placement,
        shares={share["node"]: share["weight"] / whole for share in placement["nodes"]},
        size=values[f"{key}memory_region_size"],
        pages=_pages(values, key),
    )


def _check_nodes(means: Means, numbers: tuple[int, ...], key: str) -> None:
    there = [node.number for node in memory_nodes(means.topology)]
    for number in numbers:
        if number not in there:
            raise UserError(
                f"{key}: node {number} has no memory here; "
                f"--map-nodes {number}=N takes another one's ({', '.join(map(str, there))})"
            )


def _weights(
    values: Values, key: str, nodes: tuple[int, ...], notes: list[str]
) -> tuple[str, list[int]]:
    """Return the policy and a weight for each node."""
    percent = values["percentage_pages_first_partition"]
    if percent is not None and not key:
        return "partition", _partition(values, percent, len(nodes), notes)
    weights = values[f"{key}numa_memory_node_weights"]
    if not weights:
        return "interleave", [1] * len(nodes)
    if len(weights) != len(nodes):
        raise UserError(f"{len(weights)} weights for {len(nodes)} nodes")
    if not any(weights):
        raise UserError("all weights are 0")
    if 0 in weights:
        notes.append("nodes of weight 0 get no pages")
    return "weighted", list(weights)


def _partition(values: Values, percent: int, nodes: int, notes: list[str]) -> list[int]:
    first = values["node_count_first_partition"]
    if first is None and nodes == 2:
        first = 1
    if first is None:
        raise UserError("percentage_pages_first_partition goes with node_count_first_partition")
    if percent > _ALL:
        raise UserError(f"percentage_pages_first_partition is {percent}, more than 100")
    if not 0 < first <= nodes or (first == nodes and percent < _ALL):
        raise UserError(f"node_count_first_partition is {first}, of {nodes} nodes")
    rest = max(nodes - first, 1)
    if max(first, rest) > 1 and percent not in (0, _ALL):
        notes.append("each node's share of pages is one range, in place of pages in turn")
    return [percent * rest] * first + [(_ALL - percent) * first] * (nodes - first)


def _placed(nodes: tuple[int, ...], policy: str, weights: list[int]) -> tuple[dict[str, Any], str]:
    """Return the placement and the target's name; nodes that several map to have it all."""
    sums: dict[int, int] = {}
    for node, weight in zip(nodes, weights, strict=True):
        if weight:
            sums[node] = sums.get(node, 0) + weight
    common = math.gcd(*sums.values())
    if policy == "weighted" and max(sums.values()) <= MAX_WEIGHT:
        common = 1  # so many pages in turn, as the file says
    reduced = {node: weight // common for node, weight in sums.items()}
    if max(reduced.values()) > MAX_WEIGHT:
        raise UserError(
            f"shares of pages as {':'.join(map(str, reduced.values()))} go beyond 1:{MAX_WEIGHT}"
        )
    named = f"node:{','.join(map(str, reduced))}"
    if len(reduced) == 1:
        return _placement("bind", dict.fromkeys(reduced, 1)), named
    if policy == "interleave" and len(set(reduced.values())) > 1:
        policy = "weighted"
    if policy != "interleave":
        named += f"@{':'.join(map(str, reduced.values()))}"
    return _placement(policy, reduced), named


def _placement(policy: str, weights: dict[int, int]) -> dict[str, Any]:
    nodes = [{"node": node, "weight": weight} for node, weight in weights.items()]
    return {"policy": policy, "nodes": nodes}


def _pages(values: Values, key: str) -> str:
    explicit = values[f"{key}explicit_hugepages_size"]
    if not explicit:
        return "thp" if values[f"{key}transparent_huge_pages"] else "base"
    if explicit not in _HUGE:
        raise UserError(
            f"{key}explicit_hugepages_size is {size_text(explicit)}; pages have 2M, 512M or 1G"
        )
    return _HUGE[explicit]


def _device(values: Values, means: Means, key: str, notes: list[str]) -> Place:
    path = values[f"{key}device_path"]
    name = path.rpartition("/")[2]
    device = next((one for one in means.topology.dax if one.name == name), None)
    instead = f"--map-nodes {name}=N takes a node's memory"
    if device is None or device.mode == "system-ram":
        why = "there is none here" if device is None else "it is a node's memory (system-ram)"
        raise UserError(f"{key}device_path {path}: {why}; {instead}")
    uuids = {one.uuid for one in means.topology.namespaces if one.device == name and one.uuid}
    allowed = sorted(({name, path} | uuids) & means.destroy)
    if not allowed:
        raise UserError(
            f"measuring {path} overwrites it: say --destroy-data {name} if nothing on it is "
            f"needed; {instead}"
        )
    offset, size = values[f"{key}region_offset"], values[f"{key}memory_region_size"]
    if offset + size > device.size_bytes:
        if not means.fit:
            raise UserError(
                f"{path} has {size_text(device.size_bytes)}, less than {size_text(size)} from "
                f"{size_text(offset)} on; --fit makes the region smaller"
            )
        offset = offset if offset < device.size_bytes // 2 else 0
        size = min(size, 1 << (max(4096, device.size_bytes - offset).bit_length() - 1))
        notes.append(f"{size_text(size)} of the device from {size_text(offset)} on")
    target = Target(kind=EndpointKind.DAX, path=path)
    destroy = next((one for one in allowed if one != path), name)
    asked = {"backing": "device", "offset": offset, "destroy": destroy}
    placement = persistent_placement(means.topology, (), target, asked)
    return Place(str(target), placement.model_dump(mode="json"), {}, size, "base")


def bound(place: Place) -> Place:
    """Return the same place under a policy of the kernel's own: bind or interleave only."""
    if place.placement["policy"] in ("bind", "interleave"):
        return place
    raise UserError("mapped memory is bound to a node or interleaved; it takes no weights")
