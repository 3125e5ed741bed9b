"""The measurements that fill the matrices of nvbandwidth's test cases."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tierscope.kinds.gpu_copy.spec import copy_spec
from tierscope.kinds.gpu_latency.spec import GpuLatencyPattern, GpuLatencySpec
from tierscope.kinds.gpu_memory.spec import GpuMemoryPattern, GpuMemorySpec, GpuOperation
from tierscope.kinds.gpu_ranks.spec import (
    START,
    RankGpu,
    RankTransfer,
    rank_transfer,
    ranks_spec,
)
from tierscope.kinds.plan import Spec
from tierscope.model.gpu import CopyEngine, HostPlace, MemoryPlace, Transfer
from tierscope.model.spec import Sampling
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.axes import identity
from tierscope.plans.gpu import gpu_cpus, gpu_place, home_node, host_place, transfer
from tierscope.plans.machine import MIB

_LATENCY_BYTES = 2 * MIB
_LATENCY_STRIDE = 128
_SAMPLING = Sampling(budget_s=0.6, sample_s=0.005)
_CONTENDED = Sampling(budget_s=1.2, sample_s=0.01)
"""For both directions at once with the host, whose rates vary more."""
Way = tuple[tuple[int, int], bool]
"""Source and destination, as places in the lists of GPUs or ranks; whether the copy counts."""


@dataclass(frozen=True)
class Settings:
    """Settings of the command line for all test cases."""

    topology: Topology
    gpus: list[Gpu]
    buffer_bytes: int = 512 * MIB
    verify: bool = True
    affinity: bool = True
    huge_pages: bool = False
    ranks: list[RankGpu] = field(default_factory=list)
    """The GPU of each MPI rank, for multinode test cases."""
    no_ranks: str = ""
    """Why there are none."""
    target_pairs: int = -1
    """Ordered pairs of ranks to measure; -1: all of them."""
    pairs: list[tuple[int, int]] | None = None
    """Ordered pairs of GPUs to measure; None: all of them."""

    def size(self, test: "Test") -> int:
        """Number of GPUs or ranks, and so of columns."""
        return len(self.ranks if test.over_ranks else self.gpus)

    def host(self, gpu: Gpu) -> HostPlace:
        """Host memory near a GPU."""
        node = home_node(self.topology, gpu)
        return host_place(node, "registered", "thp") if self.huge_pages else host_place(node)

    def cpus(self, gpu: Gpu) -> list[int]:
        """CPUs that issue the work of a GPU."""
        return gpu_cpus(self.topology, gpu) if self.affinity else self.topology.cpus[:8]


@dataclass(frozen=True)
class Cell:
    """One cell of the matrices of a test case, and its measurement."""

    row: int
    column: int
    spec: Spec

    @property
    def transfers(self) -> Sequence[Transfer | RankTransfer]:
        """Copies that run at once; empty for other measurements."""
        copies: Sequence[Transfer | RankTransfer] = getattr(self.spec, "transfers", ())
        return copies


Cells = Callable[["Test", Settings], Iterator[Cell]]


@dataclass(frozen=True)
class Test:
    """One test case."""

    name: str
    description: str
    cells: Cells | None
    """None for the multicast memory of NVSwitch, which tierscope does not use."""
    engine: CopyEngine
    title: str
    """The line above its matrix."""
    square: bool = False
    """One row per GPU; otherwise one row for the host."""
    parts: tuple[str, ...] = ()
    """Names of its matrices where it has several: one per transfer, then their total."""
    writes: bool = False
    latency: bool = False
    least_gpus: int = 1
    over_ranks: bool = False
    """It takes the GPUs of MPI ranks."""
    row_a_transfer: bool = False
    """Its only cell is shown as a column, one row per transfer."""


def make_cells(test: Test, settings: Settings) -> list[Cell]:
    """Return the measurements of a test case on this machine."""
    return list(test.cells(test, settings)) if test.cells else []


def waived(test: Test, settings: Settings) -> str:
    """Say why a test case cannot run on this machine; empty where it can."""
    if test.cells is None:
        return "takes multicast memory of NVSwitch, which tierscope does not use"
    if test.over_ranks and len(settings.ranks) < 2:
        return settings.no_ranks or f"takes several MPI ranks: {START}"
    if len(settings.gpus) < test.least_gpus:
        return f"takes {test.least_gpus} GPUs, and there is {len(settings.gpus)}"
    if not make_cells(test, settings):
        return "the pairs asked for leave nothing to measure"
    return ""


def _copy(
    test: Test,
    settings: Settings,
    row: int,
    column: int,
    transfers: list[Transfer],
    sampling: Sampling = _SAMPLING,
) -> Cell:
    gpu = settings.topology.gpu(transfers[0].gpu) or settings.gpus[0]
    spec = copy_spec(
        f"{test.name}.{row}.{column}",
        transfers,
        settings.topology,
        size=settings.buffer_bytes,
        sampling=sampling,
        verify=settings.verify,
        cpus=settings.cpus(gpu),
    )
    return Cell(row, column, spec)


def _host(test: Test, settings: Settings, gpu: Gpu, to_gpu: bool, reported: bool) -> Transfer:
    places: tuple[MemoryPlace, MemoryPlace] = (settings.host(gpu), gpu_place(gpu.index))
    source, destination = places if to_gpu else places[::-1]
    return transfer(source, destination, test.engine, reported=reported)


def with_host(to_gpu: bool, both: bool, others: bool) -> Cells:
    """Copies between one GPU and the host.

    ``both``: the opposite direction contends. ``others``: all other GPUs do the same.
    """

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        ways = (to_gpu, not to_gpu) if both else (to_gpu,)
        for column, gpu in enumerate(settings.gpus):
            rest = [other for other in settings.gpus if others and other is not gpu]
            transfers = [
                _host(test, settings, one, way, reported=(one, way) == (gpu, to_gpu))
                for one in (gpu, *rest)
                for way in ways
            ]
            sampling = _CONTENDED if both else _SAMPLING
            yield _copy(test, settings, 0, column, transfers, sampling)

    return cells


def _pairs(test: Test, settings: Settings) -> list[tuple[int, int]]:
    """Return rows and columns: of GPUs those asked for, of ranks as many as asked for."""
    pairs = list(itertools.permutations(range(settings.size(test)), 2))
    if not test.over_ranks:
        return [pair for pair in pairs if settings.pairs is None or pair in settings.pairs]
    if 0 <= settings.target_pairs < len(pairs):
        return sorted(_drawn(pairs, settings.target_pairs))
    return pairs


def _drawn(pairs: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Draw pairs with a fixed seed: of every rank at least one, as far as so many have them."""
    shuffled = random.Random(0).sample(pairs, len(pairs))  # noqa: S311 - no secret
    ranks = dict.fromkeys(rank for pair in shuffled for rank in pair)
    chosen: list[tuple[int, int]] = []
    for rank in ranks:
        if not any(rank in pair for pair in chosen):
            chosen.append(next(pair for pair in shuffled if rank in pair))
    return [*chosen, *(pair for pair in shuffled if pair not in chosen)][:count]


def peers(test: Test, settings: Settings) -> Iterator[Cell]:
    """Copies from one GPU to another, one way; the row's GPU works."""
    for row, column in _pairs(test, settings):
        yield _between(test, settings, row, column, [(_one_way(test, row, column), True)])


def _one_way(test: Test, row: int, column: int) -> tuple[int, int]:
    return (row, column) if test.writes else (column, row)


def peers_both_ways(test: Test, settings: Settings) -> Iterator[Cell]:
    """Copies between two GPUs, both ways at once; the column's GPU works the other way.

    On one host, the way from the column to the row comes first. Among ranks, as in nvbandwidth,
    only the row's copy counts of copy engines, and the sum of kernels.
    """
    for row, column in _pairs(test, settings):
        ends = _one_way(test, row, column) if test.over_ranks else (column, row)
        counts = not test.over_ranks or test.engine != "ce"
        yield _between(test, settings, row, column, [(ends, True), (ends[::-1], counts)])


def one_and_all(to_one: bool) -> Cells:
    """Copies between one GPU and all others, counted together.

    nvbandwidth reverses the direction between writes and reads of the same name: in
    ``all_to_one_read`` all others read from the one.
    """

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        count = settings.size(test)
        for one in range(count):
            others = [other for other in range(count) if other != one]
            ways = [((other, one) if to_one else (one, other), True) for other in others]
            if ways:
                yield _between(test, settings, 0, one, ways)

    return cells


def bisection(test: Test, settings: Settings) -> Iterator[Cell]:
    """Copies from each rank of one half to its partner in the other one, all at once."""
    count = len(settings.ranks)
    ways = [((rank, (rank + count // 2) % count), True) for rank in range(count)]
    if ways:
        yield _between(test, settings, 0, 0, ways)


def _between(test: Test, settings: Settings, row: int, column: int, ways: list[Way]) -> Cell:
    """Return copies among GPUs of this host, or of ranks."""
    if not test.over_ranks:
        places = [gpu_place(gpu.index) for gpu in settings.gpus]
        copies = [
            transfer(places[one], places[to], test.engine, writes=test.writes, reported=counts)
            for (one, to), counts in ways
        ]
        return _copy(test, settings, row, column, copies)
    moved = [
        rank_transfer(settings.ranks, *ends, test.engine, writes=test.writes, reported=counts)
        for ends, counts in ways
    ]
    spec = ranks_spec(
        identity([f"{test.name}.{row}.{column}"]),
        settings.ranks,
        moved,
        size=settings.buffer_bytes,
        sampling=_SAMPLING,
        verify=settings.verify,
    )
    return Cell(row, column, spec)


def local(test: Test, settings: Settings) -> Iterator[Cell]:
    """A copy inside one GPU."""
    for column, gpu in enumerate(settings.gpus):
        place = gpu_place(gpu.index)
        yield _copy(test, settings, 0, column, [transfer(place, place, test.engine)])


def local_memory(operation: GpuOperation) -> Cells:
    """A kernel on a GPU's own memory."""

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for column, gpu in enumerate(settings.gpus):
            spec = GpuMemorySpec(
                **_of_gpu(test, settings, 0, column, gpu),
                target=f"gpu:{gpu.index}",
                pattern=GpuMemoryPattern(operation=operation, size=settings.buffer_bytes),
            )
            yield Cell(0, column, spec)

    return cells


def _of_gpu(test: Test, settings: Settings, row: int, column: int, gpu: Gpu) -> dict[str, Any]:
    """Return the fields of a spec that is about one GPU."""
    return {
        "id": identity([f"{test.name}.{row}.{column}"]),
        "initiator": f"gpu:{gpu.index}",
        "cpus": settings.cpus(gpu),
        "sampling": _SAMPLING,
        "gpu": gpu.index,
    }


def _latency(
    test: Test, settings: Settings, row: int, column: int, gpu: Gpu, memory: MemoryPlace
) -> Cell:
    target = f"node:{home_node(settings.topology, gpu)}"
    if not isinstance(memory, HostPlace):
        target = f"gpu:{memory.gpu}"
    spec = GpuLatencySpec(
        **_of_gpu(test, settings, row, column, gpu),
        target=target,
        memory=memory,
        engine="tma" if test.engine == "tma" else "sm",
        every_sm=test.engine == "sm",
        pattern=GpuLatencyPattern(size=_LATENCY_BYTES, stride=_LATENCY_STRIDE, order="linear"),
    )
    return Cell(row, column, spec)


def host_latency(test: Test, settings: Settings) -> Iterator[Cell]:
    """A GPU's chase through host memory."""
    for column, gpu in enumerate(settings.gpus):
        yield _latency(test, settings, 0, column, gpu, settings.host(gpu))


def peer_latency(test: Test, settings: Settings) -> Iterator[Cell]:
    """A GPU's chase through another's memory."""
    for row, column in _pairs(test, settings):
        other = gpu_place(settings.gpus[column].index)
        yield _latency(test, settings, row, column, settings.gpus[row], other)
