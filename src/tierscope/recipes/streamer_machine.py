"""The groups of the STREAMer study on one machine: which cores go to which memory."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from tierscope.analysis.streamer import CLOSE, GROUPS, SPREAD, Configuration, Memory
from tierscope.model.cause import Cause
from tierscope.model.topology import Topology
from tierscope.plans.pinning import by_rank_in_core
from tierscope.recipes.streamer_memories import DEVICE, persistent_memories, plain_memories


@dataclass(frozen=True)
class Line:
    """A configuration and what it is measured by."""

    configuration: Configuration
    """Without points."""
    cpus: tuple[int, ...]
    """One of each core, in the order in which threads take them."""
    node: int
    """Where the memory is."""


@dataclass(frozen=True)
class Absent:
    """A part of the study that this machine has nothing for."""

    group: str
    cause: Cause
    reason: str
    remedy: str = ""


@dataclass(frozen=True)
class Socket:
    """A package and its usable cores."""

    number: int
    cores: tuple[int, ...]
    """A CPU of each core."""


def sockets_of(topology: Topology) -> list[Socket]:
    """Return the packages with CPUs that this process may use; one CPU stands for each core."""
    found = []
    for package in sorted(topology.packages, key=lambda package: package.number):
        usable = [cpu for cpu in package.cpus if cpu in topology.cpus]
        if usable:
            cores = by_rank_in_core(usable, topology.siblings)[0]
            found.append(Socket(package.number, tuple(cores)))
    return found


def lines(topology: Topology, groups: Sequence[str], backings: Sequence[str]) -> list[Line]:
    """Return the configurations of these groups that the machine has memory and cores for."""
    sockets = sockets_of(topology)
    persistent, plain = persistent_memories(topology, backings), plain_memories(topology)
    found: list[Line] = []
    for group in GROUPS:
        if group in groups:
            memories = persistent if group.startswith("1") else plain
            found += _of_group(topology, group, sockets, memories)
    return found


def _of_group(
    topology: Topology, group: str, sockets: Sequence[Socket], memories: Sequence[Memory]
) -> Iterator[Line]:
    if group in ("1c", "2b"):
        # With one socket, 2b is what its cores get of each memory, which PMDK is compared with.
        if len(sockets) > (group == "1c"):
            for memory in memories:
                for affinity in (CLOSE, SPREAD) if group == "1c" else (CLOSE,):
                    yield _line(topology, group, sockets, memory, affinity)
        return
    for socket in sockets:
        for memory in memories:
            if (memory.socket == socket.number) == (group == "1a"):
                yield _line(topology, group, [socket], memory, CLOSE)


def _line(
    topology: Topology, group: str, sockets: Sequence[Socket], memory: Memory, affinity: str
) -> Line:
    cores = [socket.cores for socket in sockets]
    in_turn = (cpu for turn in zip_longest(*cores) for cpu in turn if cpu is not None)
    configuration = Configuration(
        group=group,
        machine=topology.host,
        sockets=tuple(socket.number for socket in sockets),
        cores=tuple(map(len, cores)),
        memory=memory,
        affinity=affinity,
    )
    order = chain.from_iterable(cores) if affinity == CLOSE else in_turn
    return Line(configuration, tuple(order), memory.numbers[0])


def absent(topology: Topology, groups: Sequence[str]) -> list[Absent]:
    """Say which groups, or which parts of them, the machine has nothing for, and why."""
    sockets, memories = sockets_of(topology), plain_memories(topology)
    remote = len({memory.socket for memory in memories}) > 1
    far = any(memory.socket is None for memory in memories)
    found = []
    for group in groups:
        if group == "1c" and len(sockets) < 2:
            reason = "left out: this process may use cores of one socket only, and 1c takes two"
            found.append(Absent(group, Cause.CPU, reason))
        elif group == "2b" and len(sockets) < 2:
            reason = "one socket in place of all: this process may use cores of one only"
            found.append(Absent(group, Cause.CPU, reason))
        elif group in ("1b", "2a") and not remote:
            reason = (
                f"left out: the machine has one memory only, node {memories[0].numbers[0]}, and "
                "remote memory takes a second socket or CXL memory"
                if memories
                else "left out: the machine has no memory that CPUs place data in"
            )
            found.append(Absent(group, Cause.NODE, reason))
        elif group in ("1b", "1c", "2a", "2b") and not far:
            found.append(
                Absent(
                    group,
                    Cause.NODE,
                    "far memory is left out: the machine has no node without CPUs, such as CXL "
                    "memory that is system RAM",
                    "see 'tierscope topo' for CXL devices that are not system RAM",
                )
            )
    return found


def unwritten(topology: Topology, groups: Sequence[str], measured: Collection[str]) -> list[Absent]:
    """Say which devices of DAX these groups leave out, as nobody said that they may be overwritten;
    ``measured`` are the targets that were."""
    devices = {
        (line.configuration.group, line.configuration.memory)
        for line in lines(topology, groups, ["pool"])
        if line.configuration.memory.backing == DEVICE
    }
    return [
        Absent(
            group,
            Cause.OWNERSHIP,
            f"left out: measuring {memory.name} {memory.kind} overwrites {memory.target}",
            f"name {memory.target.rpartition('/')[2]} in --destroy-data if nothing on it is needed",
        )
        for group, memory in sorted(devices, key=lambda one: (one[0], one[1].numbers))
        if memory.target not in measured
    ]
