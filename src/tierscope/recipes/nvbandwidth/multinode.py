"""What fills the matrices of nvbandwidth's multinode test cases, whose GPUs are MPI ranks'."""

import itertools
import random
from collections.abc import Iterator

from tierscope.kinds.gpu_ranks.ranks import RankGpu
from tierscope.kinds.gpu_ranks.request import rank_transfer, ranks_spec
from tierscope.model.gpu import Transfer
from tierscope.plans.axes import identity
from tierscope.plans.gpu import gpu_place, transfer
from tierscope.recipes.nvbandwidth.cells import Cell, Cells, Settings, Test

Way = tuple[int, int, bool]
"""Ranks of source and destination, and whether the copy counts."""


def rank_pairs(both_ways: bool) -> Cells:
    """One rank and another; the row's GPU works. Both ways, the column's works the other way.

    As in nvbandwidth, of copy engines only the row's copy counts then, of kernels the sum.
    """

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for row, column in _chosen(settings):
            ends = (row, column) if test.writes else (column, row)
            ways = [(*ends, True)]
            if both_ways:
                ways.append((*ends[::-1], test.engine != "ce"))
            yield _cell(test, settings, row, column, ways)

    return cells


def rank_and_all(to_one: bool) -> Cells:
    """One rank and all others, all counted together."""

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for one in range(len(settings.ranks)):
            others = [rank for rank in range(len(settings.ranks)) if rank != one]
            ways = [(other, one, True) if to_one else (one, other, True) for other in others]
            yield _cell(test, settings, 0, one, ways)

    return cells


def bisection(test: Test, settings: Settings) -> Iterator[Cell]:
    """Each rank of one half and its partner in the other one, all at once."""
    count = len(settings.ranks)
    ways = [(rank, (rank + count // 2) % count, True) for rank in range(count)]
    if ways:
        yield _cell(test, settings, 0, 0, ways)


def none(_test: Test, _settings: Settings) -> Iterator[Cell]:
    """Nothing: a test case that cannot be measured."""
    return iter(())


def _chosen(settings: Settings) -> list[tuple[int, int]]:
    """Return all ordered pairs, or as many as asked for, drawn at random but always the same."""
    pairs = list(itertools.permutations(range(len(settings.ranks)), 2))
    if 0 <= settings.target_pairs < len(pairs):
        drawn = random.Random(0).sample(pairs, settings.target_pairs)  # noqa: S311 - no secret
        return sorted(drawn)
    return pairs


def _cell(test: Test, settings: Settings, row: int, column: int, ways: list[Way]) -> Cell:
    every: list[RankGpu] = settings.ranks
    shown: list[Transfer] = []
    moved = []
    for source, destination, counts in ways:
        moved.append(
            rank_transfer(
                every, source, destination, test.engine, writes=test.writes, reported=counts
            )
        )
        places = (gpu_place(source), gpu_place(destination))
        shown.append(transfer(*places, test.engine, writes=test.writes, reported=counts))
    spec = ranks_spec(
        identity([f"{test.name}.{row}.{column}"]),
        every,
        moved,
        size=settings.buffer_bytes,
        sampling=settings.sampling,
        verify=settings.verify,
    )
    return Cell(row, column, spec, tuple(shown), tuple(one.name for one in moved))
