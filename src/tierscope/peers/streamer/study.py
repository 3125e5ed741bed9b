"""The STREAMer study: STREAM's operations over threads, by active sockets, memory and affinity.

Groups, memories and their names are those of Fridman et al., "CXL Memory as Persistent Memory for
Disaggregated HPC: A Practical Approach", 2023, section 3.2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tierscope.analysis.knee import Knee, knee

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
"""Place of a memory as the active CPUs see it. Far memory belongs to no socket, as CXL memory."""
OPTANE_SOURCE = "Izraelevitz et al., arXiv:1903.05714, 2019"


@dataclass(frozen=True)
class Point:
    """A bandwidth in bytes/s with its 95% interval; the ends are the value where none is known."""

    value: float
    low: float
    high: float

    def over(self, baseline: "Point") -> "Point":
        """The ratio to a baseline; its interval covers the worst case of both intervals."""
        return Point(
            self.value / baseline.value, self.low / baseline.high, self.high / baseline.low
        )


Curves = Mapping[str, Mapping[int, Point]]
"""By operation and number of threads."""
Ratios = dict[str, Point]
"""By operation."""


def common_counts(base: Curves, other: Curves) -> list[int]:
    """Return the thread counts at which both have a figure of each operation that both have."""
    counts = [base[name].keys() & other[name].keys() for name in base if name in other]
    return sorted(set.intersection(*counts)) if counts else []


def ratios_of(base: Curves, other: Curves, threads: int) -> Ratios:
    """Return ``other`` over ``base`` by operation, at one number of threads."""
    return {
        name: other[name][threads].over(base[name][threads])
        for name in base
        if threads in base[name] and threads in other.get(name, {})
    }


@dataclass(frozen=True)
class Memory:
    """A memory of one machine, as persistent memory or as NUMA memory."""

    numbers: tuple[int, ...]
    """Its nodes; in STREAMer's results 0 and 1 are the sockets', 2 is CXL memory."""
    kind: str
    """DDR5, DDR4, DRAM, Optane, CXL, CXL DDR4, ..."""
    socket: int | None
    """The socket that it is local to; None for CXL memory and other nodes without CPUs."""
    persistent: bool
    backing: str = ""
    """file, pool, pool-objects or device; empty for NUMA memory and STREAMer's pools."""
    target: str = ""
    """The endpoint that was measured; empty in results of other programs."""

    @property
    def name(self) -> str:
        """As the paper writes it: ``pmem#2`` or ``numa#2``."""
        numbers = ",".join(map(str, self.numbers))
        return f"{'pmem' if self.persistent else 'numa'}#{numbers}"

    @property
    def of_node(self) -> bool:
        """Whether it is ordinary memory of its node, not a file system or a device."""
        return "/" not in self.target

    @property
    def words(self) -> str:
        """Name, kind and backing."""
        return " ".join(filter(None, (self.name, self.kind, self.backing)))

    def relation(self, sockets: Sequence[int]) -> str:
        """Its place as CPUs of these sockets see it: LOCAL, REMOTE or FAR."""
        if self.socket is None:
            return FAR
        return LOCAL if self.socket in sockets else REMOTE


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
    points: Curves = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Active sockets, affinity where it matters, and memory."""
        number = "+".join(map(str, self.sockets))
        affinity = f" {self.affinity}" if len(self.sockets) > 1 else ""
        return f"socket {number}{affinity} to {self.memory.words}"

    @property
    def relation(self) -> str:
        """The place of the memory as the active CPUs see it."""
        return self.memory.relation(self.sockets)

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
class Way:
    """CPUs of some sockets and a memory, in any group."""

    sockets: tuple[int, ...]
    memory: Memory

    @property
    def socket_words(self) -> str:
        """Active sockets: "0" or "0+1"."""
        return "+".join(map(str, self.sockets))

    @property
    def words(self) -> str:
        """Active sockets and memory."""
        return f"socket {self.socket_words} to {self.memory.words}"


class Study:
    """All configurations of one machine."""

    def __init__(self, machine: str, configurations: Iterable[Configuration]) -> None:
        self.machine = machine
        self.configurations = [one for one in configurations if one.points]

    def __iter__(self) -> Iterator[Configuration]:
        return iter(self.configurations)

    def memories(self, persistent: bool) -> list[Memory]:
        """The measured memories, in order of their numbers."""
        found = dict.fromkeys(c.memory for c in self if c.memory.persistent == persistent)
        return sorted(found, key=lambda memory: memory.numbers)

    def own_memory(self, socket: int, persistent: bool) -> Memory | None:
        """The local memory of a socket, where it was measured."""
        return next((m for m in self.memories(persistent) if m.socket == socket), None)

    def sockets(self) -> list[int]:
        """Sockets whose CPUs were active."""
        return sorted({socket for c in self for socket in c.sockets})

    def curves(self, way: Way) -> Curves:
        """Return a way's bandwidths.

        While close affinity still fills its first socket, it is that socket alone: those figures
        serve where no group measured the socket by itself.
        """
        found: dict[str, dict[int, Point]] = {}
        for one in self:
            if one.memory != way.memory or one.affinity != CLOSE:
                continue
            for name, points in one.points.items():
                before = found.setdefault(name, {})
                if one.sockets == way.sockets:
                    before |= points
                elif one.sockets[:1] == way.sockets:
                    early = {n: point for n, point in points.items() if n <= one.cores[0]}
                    found[name] = early | before
        return {name: found[name] for name in OPERATIONS if found.get(name)}


@dataclass(frozen=True)
class Finding:
    """One sentence with its figures."""

    topic: str
    """saturation, remote, far, sockets, pmdk, backing, close, meet, reference, split, machines,
    paper."""
    machine: str
    text: str
    baseline: str = ""
    threads: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    """By operation: ratios to the baseline; bytes/s in saturation and split, threads in meet."""


def operations_of(configurations: Sequence[Configuration]) -> list[str]:
    """Return the operations that any of these has, in STREAM's order."""
    return [name for name in OPERATIONS if any(name in one.points for one in configurations)]


OPTANE_READ, OPTANE_WRITE = 6.6e9, 2.3e9
"""Bytes/s of one Optane DC module."""


@dataclass(frozen=True)
class MemoryLimit:
    """Theoretical rates in bytes/s of a memory, by which a loss is split."""

    media: float | None
    link: float | None = None
    """None where there is no link or its rate is not known."""
    source: str = ""


Limits = Mapping[tuple[int, ...], MemoryLimit]
"""By a memory's nodes."""
