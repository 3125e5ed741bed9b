"""A command line on one machine: CPUs, nodes, sizes, sampling."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tierscope.machine.prefetchers import PrefetcherError, find_control
from tierscope.model.endpoint import EndpointKind, Initiator, Target, format_ranges, parse_initiator
from tierscope.model.errors import UserError
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.topology import Node, Topology
from tierscope.peers.mlc.options import Line
from tierscope.plans import machine
from tierscope.plans.machine import MIB
from tierscope.plans.pinning import one_per_core_first, pinned

SECONDS = 2.0
"""Most seconds of a figure."""
_BUFFER = 100 * MIB
"""Bytes of a thread's buffer; more where its share of the caches is larger."""
_PAGE_GROUP = 256 << 10
"""Bytes of the pages that page-random order stays in."""
_FEW = 8
"""Huge pages of a thread's buffer, from which on one at its ends does not matter."""
_ARRAYS = 3
"""Arrays of the largest measurement."""


@dataclass(frozen=True)
class Settings:
    """A command line on a machine."""

    topology: Topology
    thp: bool
    line: Line = field(default_factory=Line)

    @property
    def cpus(self) -> list[int]:
        """CPUs that move data, one of each core first; UserError where -k names others."""
        cpus = one_per_core_first(self.topology.cpus, self.topology.siblings)
        if "k" in self.line.given:
            cpus = self._numbered("k", self.line.of("k"))
        return pinned(self.topology, cpus, "one-a-core") if self.line.of("X") else cpus

    def cpu(self, flag: str, default: int | None = None) -> int:
        """The CPU of an option, by default the first one there is; UserError where there is none
        such."""
        if flag in self.line.given:
            return self._numbered(flag, str(self.line.of(flag)))[0]
        return min(self.topology.cpus) if default is None else default

    def _numbered(self, flag: str, text: str) -> list[int]:
        try:
            wanted = parse_initiator(f"cpus:{text}", (EndpointKind.CPUS,))
            return machine.initiator_cpus(self.topology, wanted)
        except UserError as error:
            said = str(error).removeprefix(f"initiator 'cpus:{text}': ")
            raise UserError(f"-{flag}: {said}") from None

    @property
    def with_cpus(self) -> list[tuple[Node, list[int]]]:
        """Nodes with CPUs that move data, each with those CPUs in the order of threads."""
        return self._by_node(self.cpus)

    @property
    def first_cpus(self) -> list[tuple[Node, int]]:
        """Nodes that have CPUs to use, each with the first one."""
        return [(node, min(own)) for node, own in self._by_node(self.topology.cpus)]

    def _by_node(self, cpus: Sequence[int]) -> list[tuple[Node, list[int]]]:
        found = [(n, [c for c in cpus if c in set(n.cpus)]) for n in self.topology.nodes]
        return [(node, own) for node, own in found if own]

    @property
    def memory_nodes(self) -> list[int]:
        """Nodes that have memory, with CPUs or without."""
        return sorted(node.number for node in machine.memory_nodes(self.topology))

    def own_memory(self, node: Node) -> int:
        """A node's own memory, else the nearest one's."""
        nodes = machine.memory_nodes(self.topology)
        if not nodes:
            raise UserError("no node has memory online")
        near = min(nodes, key=lambda n: (n is not node, node.distances.get(n.number, 1 << 30)))
        return near.number

    def with_own_memory(self) -> list[tuple[list[int], int]]:
        """CPUs that move data by node, each with the node of their memory."""
        return [(cpus, self.own_memory(node)) for node, cpus in self.with_cpus]

    def check(self, cpus: Sequence[int], nodes: Sequence[int]) -> None:
        """Raise UserError for CPUs that this process may not use, and nodes without memory."""
        machine.initiator_cpus(
            self.topology, Initiator(kind=EndpointKind.CPUS, numbers=tuple(cpus))
        )
        for node in nodes:
            machine.check_target(self.topology, Target(kind=EndpointKind.NODE, numbers=(node,)))

    def node_of(self, cpu: int) -> Node:
        """The node that has a CPU."""
        return next(node for node in self.topology.nodes if cpu in node.cpus)

    def latency_memory(self, cpu: int) -> int:
        """The node of the latency's buffer: -j, that of the CPU of -i, else the CPU's own."""
        if "j" in self.line.given:
            return self.forced_node()
        return self.own_memory(self.node_of(self.cpu("i", cpu)))

    def forced_node(self) -> int:
        """The node of -j; UserError where it has no memory."""
        number: int = self.line.of("j")
        try:
            machine.check_target(self.topology, Target(kind=EndpointKind.NODE, numbers=(number,)))
        except UserError as error:
            said = str(error).partition(f"'node:{number}': ")[2]
            raise UserError(f"-j: {said}") from None
        return number

    @property
    def pages(self) -> str:
        """Kind of pages."""
        if self.line.of("L"):
            return "2m"
        return "thp" if self.thp else "base"

    def pages_of(self, placement: Placement, size: int) -> str:
        """Kind of pages of threads' buffers of ``size`` bytes each.

        Pages in turn are small ones, so that a thread goes to all nodes at any time. Where each
        node has a part, a huge page of small buffers would hold those of both sides.
        """
        if self.line.of("L") or len(placement.nodes) == 1:
            return self.pages
        huge = self.topology.thp_page_bytes or 0
        return "base" if placement.policy == "weighted" or size < _FEW * huge else self.pages

    @property
    def isa(self) -> str:
        """Instruction set of the traffic."""
        return "avx512" if self.line.of("Z") else "avx2" if self.line.of("Y") else "auto"

    @property
    def order(self) -> str:
        """Order of the traffic."""
        return "random" if self.line.of("U") else "sequential"

    @property
    def switches_prefetchers(self) -> bool:
        """Whether hardware prefetchers can be switched off for latency."""
        try:
            find_control()
        except PrefetcherError:
            return False
        return os.access("/dev/cpu/0/msr", os.R_OK | os.W_OK)

    @property
    def prefetchers(self) -> Literal["off", "as-found"]:
        """Their state while latency is measured: as with MLC, off unless -e is given."""
        return "off" if not self.line.of("e") and self.switches_prefetchers else "as-found"

    @property
    def seconds(self) -> float:
        """Most seconds of a figure."""
        return float(self.line.of("t", SECONDS))

    def sampling(self, precision: float = 0.01) -> dict[str, float]:
        """When a figure has enough samples."""
        return {"precision": precision, "budget_s": self.seconds, "sample_s": 0.01}

    def chase(self, cpu: int, nodes: list[int]) -> dict[str, Any]:
        """The pattern of latency on any of these nodes."""
        size = self.latency_bytes(cpu, nodes)
        order = "page-random" if self.line.of("D", 4096) <= _PAGE_GROUP else "random"
        stride = min(self.line.of("l", 256), size // 2)
        return {"order": order, "size": size, "stride": stride, "pages": self.pages}

    def latency_bytes(self, cpu: int, nodes: list[int]) -> int:
        """Bytes of latency's buffer: -b, else four times the caches where nodes have room."""
        default = machine.default_size(self.topology, [cpu], nodes, 1)
        return int(self.line.of("b", default))

    def thread_bytes(self, groups: list[tuple[list[int], int]]) -> int:
        """Bytes of each thread's buffer of reads, and of that of writes: -b, else 100 MiB, or its
        share of four times the caches where that is more; less where nodes have no room.

        ``groups`` are CPUs and the node that they go to.
        """
        if "b" in self.line.given:
            return int(self.line.of("b"))
        shares = [
            machine.default_size(self.topology, cpus, [node], _ARRAYS) // len(cpus)
            for cpus, node in groups
        ]
        wanted = max(_BUFFER, *shares)
        fits = all(
            machine.has_room(self.topology, [node], _ARRAYS * wanted * len(cpus))
            for cpus, node in groups
        )
        return _rounded(wanted if fits else min(shares))

    def endpoint(self, cpus: list[int]) -> str:
        """Name CPUs: as those of nodes where they are all that these have."""
        nodes = [node for node in self.topology.nodes if set(node.cpus) & set(cpus)]
        usable = {cpu for node in nodes for cpu in node.cpus if cpu in self.topology.cpus}
        if usable == set(cpus):
            return f"node:{','.join(str(node.number) for node in nodes)}"
        return f"cpus:{format_ranges(tuple(sorted(cpus)))}"


def bound(node: int) -> Placement:
    """Return memory on one node."""
    return Placement(policy="bind", nodes=[NodeShare(node=node)])


def shared_by(policy: str, counts: Mapping[int, int]) -> Placement:
    """Return memory on several nodes, with weights in the ratio of the counts."""
    common = math.gcd(*counts.values())
    nodes = [{"node": node, "weight": count // common} for node, count in counts.items()]
    return Placement.model_validate({"policy": policy, "nodes": nodes})


def _rounded(size: int) -> int:
    """Round down to whole huge pages, or to the unit of an access."""
    whole = 2 * MIB if size >= 2 * MIB else 4096 if size >= 4096 else 1024
    return max(1024, size // whole * whole)
