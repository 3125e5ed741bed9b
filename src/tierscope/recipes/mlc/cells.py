"""What is measured for each line or cell of MLC's output."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tierscope.kinds.plan import Spec
from tierscope.recipes.mlc.specs import Group, Moves


@dataclass(frozen=True)
class Cell:
    """One figure of a section."""

    row: int | str
    column: int
    spec: Spec
    parts: dict[str, float] = field(default_factory=dict)
    """Of bandwidth: bus bytes for each byte of a figure, by its part."""
    threads: dict[str, int] = field(default_factory=dict)
    """CPUs of those parts, where threads are told apart (-B)."""


@dataclass(frozen=True)
class Section:
    """One mode: its cells, and what its head says."""

    mode: str
    cells: tuple[Cell, ...]
    columns: tuple[int, ...] = ()
    """Nodes of a grid's columns."""
    latency_bytes: int = 0
    thread_bytes: int = 0
    """Bytes of buffers, where the head has them."""
    missing: str = ""
    """Why it has no cells."""


def each_thread(groups: Sequence[Group]) -> list[Group]:
    """Return a group for each thread, so that each has a figure of its own."""
    return [replace(group, cpus=(cpu,)) for group in groups for cpu in group.cpus]


def threads_apart(moves: Moves, alone: Sequence[Group]) -> dict[str, int]:
    """Return the CPU of each part of a figure."""
    return {part: group.cpus[0] for part, group in zip(moves.parts, alone, strict=True)}
