"""Threads, regions and times of a case on this machine, fitted to it on request."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tierscope.model.endpoint import MAX_WEIGHT, EndpointKind, Target, format_ranges
from tierscope.model.errors import UserError, counted
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology
from tierscope.peers.cxlbench.workload import PAGES, Values
from tierscope.plans import machine
from tierscope.plans.grammar import parse_count
from tierscope.plans.machine import memory_nodes
from tierscope.plans.persistent import persistent_placement
from tierscope.plans.pinning import one_per_core_first
from tierscope.report.figures import size_text

_EMULATED_BYTES = 2 << 20
_EMULATED_S = 0.3
_CROWDED_SAMPLE_S = 0.1
_PAGE = 4096
Shares = dict[int, float]
"""Shares of a region, by node."""
_ALL = 100


@dataclass(frozen=True)
class Means:
    """A machine, and the permissions of the user."""

    topology: Topology
    fit: bool = False
    """Regions, threads and times are made smaller where the machine asks for it."""
    nodes: dict[str, int] = field(default_factory=dict)
    """Nodes by the names in the files: numbers, and devices such as dax0.0."""
    destroy: frozenset[str] = frozenset()
    """DAX devices that may be overwritten, by names and UUIDs."""


def parse_mapping(words: Sequence[str], option: str) -> dict[str, int]:
    """Parse ``8=4,dax2.0=4``: nodes and devices of the files, and the nodes to take."""
    found: dict[str, int] = {}
    for word in (one.strip() for text in words for one in text.split(",")):
        name, sign, number = word.partition("=")
        name = name.removeprefix("node:").rpartition("/")[2]
        number = number.removeprefix("node:")
        if not (sign and name and number):
            raise UserError(f"{option}: '{word}' is not OLD=NEW, as in 8=4 or dax2.0=4")
        if not (name.startswith("dax") or (name.isascii() and name.isdigit())):
            raise UserError(
                f"{option}: '{name}' is neither a node's number nor a DAX device's name"
            )
        try:
            new = parse_count(number, minimum=0)
        except UserError:
            raise UserError(f"{option}: '{number}' is not a node's number") from None
        if found.setdefault(name, new) != new:
            raise UserError(f"{option}: {name} is mapped to {found[name]} and to {new}")
    return found


def fitted_size(
    means: Means, regions: Sequence[tuple[Shares, int]], least: int, notes: list[str]
) -> list[int]:
    """Return the bytes of each region that are measured: what the file says, or what fits.

    ``regions`` are held at once: shares of nodes, and bytes. What fits takes at most half of what
    each node has free, and of an emulated machine, which is slow, 2 MiB. ``least`` is what a case
    needs in any event.
    """
    sizes = [size for _, size in regions]
    if not means.fit:
        return sizes
    room = _room(means.topology, [shares for shares, _ in regions])
    fits = 1 << (max(room, _PAGE).bit_length() - 1)
    found = []
    for shares, asked in regions:
        most = fits if shares or means.topology.emulated else asked
        size = max(min(asked, most), least)
        if size < asked:
            notes.append(f"{size_text(size)} for {size_text(asked)}")
        found.append(min(size, asked))
    return found


def _room(topology: Topology, regions: Sequence[Shares]) -> int:
    """Bytes that each of the regions may have."""
    if topology.emulated:
        return _EMULATED_BYTES
    needed: dict[int, float] = {}
    for shares in regions:
        for number, share in shares.items():
            needed[number] = needed.get(number, 0.0) + share
    rooms = [
        free / 2 / share
        for number, share in needed.items()
        if share and (free := _free(topology, number)) is not None
    ]
    if topology.memory_left_bytes is not None:
        rooms.append(topology.memory_left_bytes / 2 / len(regions))
    return int(min(rooms, default=machine.GIB))


def _free(topology: Topology, number: int) -> int | None:
    node = topology.node(number)
    if node is None:
        return None
    return node.total_bytes if node.free_bytes is None else node.free_bytes


def sampling(budget: float, crowded: bool) -> dict[str, float]:
    """Return how a case is sampled. Threads that take turns on a CPU do so by the scheduler's
    slices, of which a sample then has many."""
    if not crowded:
        return {"budget_s": budget}
    return {"budget_s": budget, "sample_s": min(_CROWDED_SAMPLE_S, budget)}


def budget_s(means: Means, run_time: int, notes: list[str]) -> float:
    """Return the most seconds that a measurement gets; ``run_time`` 0 asks for fixed work."""
    usual = Sampling().budget_s
    if not means.fit:
        return min(float(run_time), 86400.0) or usual
    if means.topology.emulated:
        usual = _EMULATED_S
    if run_time > usual:
        notes.append(f"at most {usual:g} s for {run_time} s")
    return min(float(run_time) or usual, usual)


@dataclass(frozen=True)
class Part:
    """One part of a case on a machine."""

    values: Values
    means: Means
    notes: list[str]
    """Changes that fit the case to the machine."""

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @cached_property
    def team(self) -> "Team":
        """The threads; UserError names nodes and CPUs that are not there."""
        return team_of(self)

    @cached_property
    def place(self) -> "Place":
        """The first region; UserError names nodes and devices that are not there."""
        return place_of(self)

    def node(self, number: int) -> int:
        """The node that stands in for one of the file, or that one itself."""
        found = self.means.nodes.get(str(number), number)
        if found != number:
            self.notes.append(f"node {number} is node {found}")
        return found


@dataclass(frozen=True)
class Team:
    """Threads and their CPUs."""

    initiator: str
    cpus: tuple[int, ...]
    """One CPU per thread; empty where threads share CPUs."""
    floating: tuple[int, ...] = ()
    """CPUs that every thread may run on."""
    sets: tuple[tuple[int, ...], ...] = ()
    """CPUs of each thread."""
    count: int = 1

    def fields(self) -> dict[str, object]:
        """The fields of a spec."""
        sets = [list(self.floating)] * self.count if self.floating else list(map(list, self.sets))
        if not sets:
            return {"cpus": list(self.cpus)}
        return {"cpus": sorted({cpu for each in sets for cpu in each}), "cpu_sets": sets}

    def sharing(self) -> "Team":
        """The same threads as sets of CPUs, which others may run on, too."""
        if self.floating or self.sets:
            return self
        return replace(self, cpus=(), sets=tuple((cpu,) for cpu in self.cpus))

    @property
    def crowded(self) -> bool:
        """Whether there are more threads than CPUs."""
        return self.count > len(self.all_cpus)

    @property
    def all_cpus(self) -> set[int]:
        """Every CPU that one of them may run on."""
        return {*self.cpus, *self.floating, *(cpu for each in self.sets for cpu in each)}

    @property
    def first(self) -> int:
        """The CPU of a kind that has one thread."""
        return (self.floating or self.cpus or self.sets[0])[0]


def team_of(part: Part, most: int | None = None) -> Team:
    """Return the threads of a case; ``most`` is how many there may be where they are fitted.

    Raises UserError for nodes and CPUs that are not there.
    """
    asked = part["number_threads"]
    if asked < 1:
        raise UserError("number_threads is 0")
    if part["thread_pin_mode"] == "single-fixed":
        return _fixed(part, asked, most)
    nodes = part["numa_task_nodes"]
    if not nodes:
        raise UserError("numa_task_nodes says on which nodes' CPUs threads run, and is missing")
    numbers = _nodes(part, nodes)
    cpus = sorted({cpu for number in numbers for cpu in _cpus(part.means, number)})
    initiator = f"node:{','.join(map(str, numbers))}"
    count = _fitted(part, asked, min(len(cpus), most or len(cpus)))
    if part["thread_pin_mode"] == "all-numa":
        if len(cpus) == 1 and count == 1:
            return Team(initiator, tuple(cpus))
        return Team(initiator, (), floating=tuple(cpus), count=count)
    if count > len(cpus):
        raise UserError(
            f"single-numa pins each of {asked} threads to a CPU of its own, and {initiator} has "
            f"{counted(len(cpus), 'CPU')}; --fit takes as many threads"
        )
    return Team(initiator, tuple(cpus[:count]), count=count)


def _nodes(part: Part, asked: tuple[int, ...]) -> tuple[int, ...]:
    """Return the nodes whose CPUs run threads; fitted, those of them that have any."""
    numbers = tuple(dict.fromkeys(map(part.node, asked)))
    if not part.means.fit:
        return numbers
    found = tuple(number for number in numbers if _usable(part.means, number))
    if found and found != numbers:
        absent = ", ".join(str(number) for number in numbers if number not in found)
        part.notes.append(f"no CPUs of node {absent}")
    return found or numbers


def _usable(means: Means, number: int) -> list[int]:
    node = means.topology.node(number)
    usable = set(means.topology.cpus)
    return [cpu for cpu in node.cpus if cpu in usable] if node else []


def _cpus(means: Means, number: int) -> list[int]:
    found = _usable(means, number)
    if not found:
        absent = means.topology.node(number) is None
        what = "there is no node" if absent else "no CPU that may be used is on node"
        raise UserError(
            f"numa_task_nodes: {what} {number}; --map-nodes {number}=N takes another one's CPUs"
        )
    return found


def _fitted(part: Part, asked: int, have: int) -> int:
    if not part.means.fit or asked <= have:
        return asked
    part.notes.append(f"{counted(have, 'thread')} for {asked}")
    return have


def _fixed(part: Part, asked: int, most: int | None) -> Team:
    topology, cores = part.means.topology, part["thread_cores"]
    if len(cores) < asked:
        raise UserError(f"thread_cores names {len(cores)} CPUs for {counted(asked, 'thread')}")
    usable = set(topology.cpus)
    count = _fitted(part, asked, min(len(usable), most or len(usable)))
    chosen = list(cores[:count])
    absent = [cpu for cpu in dict.fromkeys(chosen) if cpu not in usable]
    if absent and not part.means.fit:
        raise UserError(
            f"thread_cores: CPU {format_ranges(tuple(sorted(absent)))} is not among those that may "
            "be used; --fit takes others"
        )
    spare = [
        cpu for cpu in one_per_core_first(sorted(usable), topology.siblings) if cpu not in chosen
    ]
    for cpu, other in zip(absent, spare, strict=False):
        part.notes.append(f"CPU {cpu} is CPU {other}")
        chosen = [other if one == cpu else one for one in chosen]
    initiator = f"cpus:{format_ranges(tuple(sorted(set(chosen))))}"
    if len(set(chosen)) < len(chosen):
        return Team(initiator, (), sets=tuple((cpu,) for cpu in chosen), count=count)
    return Team(initiator, tuple(chosen), count=count)


@dataclass(frozen=True)
class Place:
    """The place of a region."""

    target: str
    placement: dict[str, Any]
    shares: Shares
    """Shares of the region by node; empty for devices."""
    size: int
    """Bytes given in the file."""
    pages: str


def place_of(part: Part, secondary: bool = False) -> Place:
    """Return where a region is; raises UserError for nodes and devices that are not there."""
    key = "secondary_" if secondary else ""
    device = part[f"{key}device_path"]
    nodes = part[f"{key}numa_memory_nodes"]
    if device and nodes:
        raise UserError(f"{key}device_path and {key}numa_memory_nodes both say where memory is")
    if device:
        name = device.rpartition("/")[2]
        if name not in part.means.nodes:
            return _device(part, key)
        part.notes.append(f"{device} is node {part.means.nodes[name]}")
        mapped: tuple[int, ...] = (part.means.nodes[name],)
    elif not nodes:
        raise UserError(f"{key}numa_memory_nodes says where memory is, and is missing")
    else:
        mapped = tuple(map(part.node, nodes))
    _check_nodes(part.means, mapped, f"{key}device_path" if device else f"{key}numa_memory_nodes")
    placement, target = _placed(part, mapped, *_weights(part, key, mapped))
    whole = sum(share["weight"] for share in placement["nodes"])
    return Place(
        target=target,
        placement=placement,
        shares={share["node"]: share["weight"] / whole for share in placement["nodes"]},
        size=part[f"{key}memory_region_size"],
        pages=_pages(part, key),
    )


def _check_nodes(means: Means, numbers: tuple[int, ...], key: str) -> None:
    there = [node.number for node in memory_nodes(means.topology)]
    for number in numbers:
        if number not in there:
            raise UserError(
                f"{key}: node {number} has no memory here; "
                f"--map-nodes {number}=N takes another one's ({', '.join(map(str, there))})"
            )


def _weights(part: Part, key: str, nodes: tuple[int, ...]) -> tuple[str, list[int], list[int]]:
    """Return the policy, a weight for each node, and how many nodes each partition has."""
    percent = part["percentage_pages_first_partition"]
    if percent is not None and not key:
        return _partition(part, percent, len(nodes))
    weights = part[f"{key}numa_memory_node_weights"]
    if not weights:
        return "interleave", [1] * len(nodes), []
    if len(weights) != len(nodes):
        raise UserError(f"{len(weights)} weights for {len(nodes)} nodes")
    if not any(weights):
        raise UserError("all weights are 0")
    if 0 in weights:
        part.notes.append("nodes of weight 0 get no pages")
    return "weighted", list(weights), []


def _partition(part: Part, percent: int, nodes: int) -> tuple[str, list[int], list[int]]:
    """Return the same of two partitions, each of which takes its nodes in turn."""
    first = part["node_count_first_partition"]
    if first is None and nodes == 2:
        first = 1
    if first is None:
        raise UserError("percentage_pages_first_partition goes with node_count_first_partition")
    if percent > _ALL:
        raise UserError(f"percentage_pages_first_partition is {percent}, more than 100")
    if not 0 < first <= nodes or (first == nodes and percent < _ALL):
        raise UserError(f"node_count_first_partition is {first}, of {nodes} nodes")
    rest = max(nodes - first, 1)
    weights = [percent * rest] * first + [(_ALL - percent) * first] * (nodes - first)
    if percent in (0, _ALL):
        return "interleave", weights, []
    return "partition", weights, [first, rest]


def _placed(
    part: Part, nodes: tuple[int, ...], policy: str, weights: list[int], ranges: list[int]
) -> tuple[dict[str, Any], str]:
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
    found = _placement(policy, reduced)
    if max(ranges, default=1) == 1:
        return found, named
    if len(reduced) == len(nodes):
        return {**found, "ranges": ranges}, named
    if len(set(nodes[: ranges[0]])) > 1 or len(set(nodes[ranges[0] :])) > 1:
        part.notes.append("each node's share of pages is one range, in place of pages in turn")
    return found, named


def _placement(policy: str, weights: dict[int, int]) -> dict[str, Any]:
    nodes = [{"node": node, "weight": weight} for node, weight in weights.items()]
    return {"policy": policy, "nodes": nodes}


def _pages(part: Part, key: str) -> str:
    explicit = part[f"{key}explicit_hugepages_size"]
    if not explicit:
        return "thp" if part[f"{key}transparent_huge_pages"] else "base"
    if explicit not in PAGES:
        raise UserError(
            f"{key}explicit_hugepages_size is {size_text(explicit)}; pages have 2M, 512M or 1G"
        )
    return PAGES[explicit]


def _device(part: Part, key: str) -> Place:
    means = part.means
    path = part[f"{key}device_path"]
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
    offset, size = part[f"{key}region_offset"], part[f"{key}memory_region_size"]
    if offset + size > device.size_bytes:
        if not means.fit:
            raise UserError(
                f"{path} has {size_text(device.size_bytes)}, less than {size_text(size)} from "
                f"{size_text(offset)} on; --fit makes the region smaller"
            )
        offset = offset if offset < device.size_bytes // 2 else 0
        size = min(size, 1 << (max(4096, device.size_bytes - offset).bit_length() - 1))
        part.notes.append(f"{size_text(size)} of the device from {size_text(offset)} on")
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
