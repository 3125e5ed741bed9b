"""The STREAMer study: STREAM's operations over threads, by active sockets, memory and affinity.

Groups, memories and their names are those of Fridman et al., "CXL Memory as Persistent Memory for
Disaggregated HPC: A Practical Approach", 2023, section 3.2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tierscope.analysis.knee import Knee, knee
from tierscope.model.run import Run

NAME = "streamer"
"""Begins the ids of the study's measurements."""
OPERATIONS = ("copy", "scale", "add", "triad")
GROUPS = {
    "1a": "Local memory as persistent memory",
    "1b": "Remote memory as persistent memory, one socket",
    "1c": "Memory as persistent memory, all sockets, by affinity",
    "2a": "Remote memory as a NUMA node, one socket",
    "2b": "Memory as a NUMA node, all sockets",
}
"""By the names of the paper, in its order; class 1 is persistent memory, class 2 NUMA memory."""
CLOSE, SPREAD = "close", "spread"
LOCAL, REMOTE, FAR = "local", "remote socket", "far"
"""Whose memory it is, as the active CPUs see it. Far memory is no socket's, as CXL memory."""


@dataclass(frozen=True)
class Point:
    """Bandwidth in bytes/s with its 95% interval; the ends are the value where none is known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Memory:
    """A memory of one machine, as persistent memory or as NUMA memory."""

    numbers: tuple[int, ...]
    """Its nodes; of STREAMer's results 0 and 1 for the sockets', 2 for CXL memory."""
    kind: str
    """DDR5, DDR4, DRAM, Optane, CXL, CXL DDR4, ..."""
    socket: int | None
    """The socket whose own memory it is; None: of none, as CXL memory."""
    persistent: bool
    backing: str = ""
    """Of persistent memory: file, pool or pool-objects; empty for STREAMer's pools."""
    target: str = ""
    """The endpoint that was measured; empty of results of other programs."""

    @property
    def name(self) -> str:
        """As the paper writes it: ``pmem#2`` or ``numa#2``."""
        numbers = ",".join(map(str, self.numbers))
        return f"{'pmem' if self.persistent else 'numa'}#{numbers}"

    @property
    def of_node(self) -> bool:
        """Whether it is its node's ordinary memory, not that of a file system or a device."""
        return "/" not in self.target

    @property
    def words(self) -> str:
        """Name, kind and, where several are measured, backing."""
        return " ".join(filter(None, (self.name, self.kind, self.backing)))


@dataclass(frozen=True)
class Configuration:
    """One line of a group's panels: CPUs of some sockets that go to one memory."""

    group: str
    machine: str
    sockets: tuple[int, ...]
    """Active ones, in the order in which close affinity fills them."""
    cores: tuple[int, ...]
    """Threads that each active socket takes before close affinity goes on to the next one."""
    memory: Memory
    affinity: str
    points: Mapping[str, Mapping[int, Point]] = field(default_factory=dict)
    """By operation and number of threads."""

    @property
    def words(self) -> str:
        """Active sockets, affinity where it matters, and memory."""
        number = "+".join(map(str, self.sockets))
        affinity = f" {self.affinity}" if len(self.sockets) > 1 else ""
        return f"socket {number}{affinity} to {self.memory.words}"

    def relation(self) -> str:
        """Whose memory it is, as the CPUs of one active socket see it."""
        if self.memory.socket is None:
            return FAR
        return LOCAL if self.memory.socket in self.sockets else REMOTE

    def threads(self) -> list[int]:
        """The thread counts that have a point, ascending."""
        return sorted({count for points in self.points.values() for count in points})

    def knee(self, operation: str) -> Knee:
        """The fewest threads that reach 95% of the best bandwidth of an operation."""
        points = self.points[operation]
        return knee({count: (one.low, one.high) for count, one in points.items()})

    def best(self, operation: str) -> tuple[int, Point]:
        """The highest bandwidth of an operation and its threads."""
        return max(self.points[operation].items(), key=lambda found: found[1].value)


@dataclass(frozen=True)
class Ratio:
    """A bandwidth over its baseline; the ends are those of the two intervals at their worst."""

    value: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the intervals keep it away from 1."""
        return not self.low <= 1 <= self.high or self.low == self.high


Ratios = dict[str, Ratio]
"""By operation."""


@dataclass(frozen=True)
class Way:
    """CPUs of some sockets and a memory, whichever group's configuration measured them."""

    sockets: tuple[int, ...]
    memory: Memory

    @property
    def socket_words(self) -> str:
        """Its sockets: "0" or "0+1"."""
        return "+".join(map(str, self.sockets))

    @property
    def words(self) -> str:
        """Active sockets and memory."""
        return f"socket {self.socket_words} to {self.memory.words}"


class Study:
    """All configurations of one machine, and what two of them differ by."""

    def __init__(self, machine: str, configurations: Iterable[Configuration]) -> None:
        self.machine = machine
        self.configurations = [one for one in configurations if one.points]

    def __iter__(self) -> Iterator[Configuration]:
        return iter(self.configurations)

    def memories(self, persistent: bool) -> list[Memory]:
        """The memories that were measured, in order of their numbers."""
        found = dict.fromkeys(c.memory for c in self if c.memory.persistent == persistent)
        return sorted(found, key=lambda memory: memory.numbers)

    def own_memory(self, socket: int, persistent: bool) -> Memory | None:
        """The memory of a socket itself, where it was measured."""
        return next((m for m in self.memories(persistent) if m.socket == socket), None)

    def sockets(self) -> list[int]:
        """Sockets whose CPUs were active."""
        return sorted({socket for c in self for socket in c.sockets})

    def points(self, way: Way, operation: str) -> dict[int, Point]:
        """Return a way's bandwidth by threads.

        While close affinity still fills its first socket, it is that socket alone: those figures
        serve where no group measured the socket by itself.
        """
        found: dict[int, Point] = {}
        for one in self:
            if one.memory != way.memory or operation not in one.points or one.affinity != CLOSE:
                continue
            if one.sockets == way.sockets:
                found = {**found, **one.points[operation]}
            elif one.sockets[:1] == way.sockets:
                first = one.cores[0]
                early = {n: point for n, point in one.points[operation].items() if n <= first}
                found = {**early, **found}
        return found

    def common(self, base: Way, other: Way) -> list[int]:
        """Thread counts at which both ways have a figure of each operation that both have."""
        counts: list[set[int]] = []
        for operation in OPERATIONS:
            first, second = self.points(base, operation), self.points(other, operation)
            if first and second:
                counts.append(first.keys() & second.keys())
        return sorted(set.intersection(*counts)) if counts else []

    def ratios(self, base: Way, other: Way, threads: int) -> Ratios:
        """Return ``other`` over ``base`` by operation, at one number of threads."""
        found = {}
        for operation in OPERATIONS:
            first = self.points(base, operation).get(threads)
            second = self.points(other, operation).get(threads)
            if first and second:
                found[operation] = ratio(second, first)
        return found


def ratio(point: Point, baseline: Point) -> Ratio:
    """Return a point over its baseline."""
    return Ratio(point.value / baseline.value, point.low / baseline.high, point.high / baseline.low)


def is_study(run: Run) -> bool:
    """Whether a run has measurements of the study."""
    return any(m.id.startswith(f"{NAME}.") for m in run.measurements)


def operations_of(configurations: Sequence[Configuration]) -> list[str]:
    """Return the operations that any of these has, in STREAM's order."""
    return [name for name in OPERATIONS if any(name in one.points for one in configurations)]
