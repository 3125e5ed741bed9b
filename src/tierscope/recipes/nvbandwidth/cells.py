"""How nvbandwidth's test cases become measurements: what fills each cell of their matrices."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tierscope.kinds.gpu_copy.request import copy_spec
from tierscope.kinds.gpu_latency.spec import GpuLatencyPattern, GpuLatencySpec
from tierscope.kinds.gpu_memory.spec import GpuMemoryPattern, GpuMemorySpec, GpuOperation
from tierscope.kinds.gpu_ranks.ranks import START, RankGpu
from tierscope.kinds.plan import Spec
from tierscope.model.gpu import CopyEngine, HostPlace, MemoryPlace, Transfer
from tierscope.model.spec import Sampling
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.axes import identity
from tierscope.plans.gpu import (
    gpu_cpus,
    gpu_place,
    home_node,
    host_place,
    transfer,
)
from tierscope.plans.machine import MIB

_LATENCY_BYTES = 2 * MIB
_LATENCY_STRIDE = 128


@dataclass(frozen=True)
class Settings:
    """What the command line decides for all test cases."""

    topology: Topology
    gpus: list[Gpu]
    buffer_bytes: int = 512 * MIB
    verify: bool = True
    affinity: bool = True
    huge_pages: bool = False
    ranks: list[RankGpu] = field(default_factory=list)
    """Of multinode test cases, each MPI rank's GPU."""
    no_ranks: str = ""
    """Why there are none."""
    target_pairs: int = -1
    """Ordered pairs of ranks to measure; -1: all of them."""
    pairs: list[tuple[int, int]] | None = None
    """Ordered pairs of GPUs to measure; None: all of them."""
    sampling: Sampling = field(default_factory=lambda: Sampling(budget_s=0.6, sample_s=0.01))
    contended: Sampling = field(default_factory=lambda: Sampling(budget_s=1.2, sample_s=0.01))
    """Of both directions at once with the host, whose rates vary more."""

    def wants(self, one: int, other: int) -> bool:
        """Whether a pair of GPUs is to be measured."""
        return self.pairs is None or (one, other) in self.pairs

    def host(self, gpu: Gpu) -> HostPlace:
        """Host memory near a GPU."""
        node = home_node(self.topology, gpu)
        return host_place(node, "registered", "thp") if self.huge_pages else host_place(node)

    def cpus(self, gpu: Gpu) -> list[int]:
        """CPUs that issue the work of a GPU."""
        return gpu_cpus(self.topology, gpu) if self.affinity else self.topology.cpus[:8]


@dataclass(frozen=True)
class Cell:
    """One cell of a test case's matrix, or of its matrices, and what measures it."""

    row: int
    column: int
    spec: Spec
    transfers: tuple[Transfer, ...] = ()
    """Of copies: what runs at once; of those among ranks, with a rank's number as its GPU's."""
    names: tuple[str, ...] = ()
    """Names of the transfers in the result's figures, where they are other than those'."""


Cells = Callable[["Test", Settings], Iterator[Cell]]


@dataclass(frozen=True)
class Test:
    """One test case."""

    name: str
    description: str
    cells: Cells
    engine: CopyEngine
    title: str
    """What stands above its matrix."""
    square: bool = False
    """A row for each GPU; else one row for the host."""
    parts: tuple[str, ...] = ()
    """Names of its matrices where it has several: each transfer's, then their total."""
    writes: bool = False
    latency: bool = False
    least_gpus: int = 1
    over_ranks: bool = False
    """Of MPI ranks' GPUs."""
    row_a_transfer: bool = False
    """Its one cell is a column, with a row for each transfer."""
    never: str = ""
    """Why it cannot be measured anywhere."""


def make_cells(test: Test, settings: Settings) -> list[Cell]:
    """Return the measurements that a test case takes on this machine."""
    return list(test.cells(test, settings))


def waived(test: Test, settings: Settings) -> str:
    """Say why a test case cannot run on this machine; empty where it can."""
    if test.never:
        return test.never
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
    sampling: Sampling | None = None,
) -> Cell:
    gpu = settings.topology.gpu(transfers[0].gpu) or settings.gpus[0]
    spec = copy_spec(
        f"{test.name}.{row}.{column}",
        transfers,
        settings.topology,
        size=settings.buffer_bytes,
        sampling=sampling or settings.sampling,
        verify=settings.verify,
        cpus=settings.cpus(gpu),
    )
    return Cell(row, column, spec, tuple(transfers))


def _host(test: Test, settings: Settings, gpu: Gpu, to_gpu: bool, reported: bool) -> Transfer:
    places: tuple[MemoryPlace, MemoryPlace] = (settings.host(gpu), gpu_place(gpu.index))
    source, destination = places if to_gpu else places[::-1]
    return transfer(source, destination, test.engine, reported=reported)


def with_host(to_gpu: bool, both: bool, others: bool) -> Cells:
    """One GPU and the host; contending: the opposite direction, the other GPUs, or both."""

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for column, gpu in enumerate(settings.gpus):
            transfers = [_host(test, settings, gpu, to_gpu, True)]
            if both:
                transfers.append(_host(test, settings, gpu, not to_gpu, False))
            for other in settings.gpus if others else []:
                if other is not gpu:
                    transfers.append(_host(test, settings, other, to_gpu, False))
                    if both:
                        transfers.append(_host(test, settings, other, not to_gpu, False))
            sampling = settings.contended if both else settings.sampling
            yield _copy(test, settings, 0, column, transfers, sampling)

    return cells


def _peer(test: Test, source: Gpu, destination: Gpu) -> Transfer:
    return transfer(
        gpu_place(source.index), gpu_place(destination.index), test.engine, writes=test.writes
    )


def _pairs(test: Test, settings: Settings) -> Iterator[tuple[int, int, Gpu, Gpu]]:
    """Row and column with their source and destination: the row's GPU is the one that works."""
    for row, one in enumerate(settings.gpus):
        for column, other in enumerate(settings.gpus):
            if row != column and settings.wants(row, column):
                yield row, column, *((one, other) if test.writes else (other, one))


def peers(test: Test, settings: Settings) -> Iterator[Cell]:
    """One GPU and another, one way."""
    for row, column, source, destination in _pairs(test, settings):
        yield _copy(test, settings, row, column, [_peer(test, source, destination)])


def peers_both_ways(test: Test, settings: Settings) -> Iterator[Cell]:
    """One GPU and another, both ways at once; first the way from the column to the row."""
    for row, column, *_ in _pairs(test, settings):
        one, other = settings.gpus[row], settings.gpus[column]
        ways = [_peer(test, other, one), _peer(test, one, other)]
        yield _copy(test, settings, row, column, ways)


def one_and_all(to_one: bool) -> Cells:
    """One GPU and all others, all counted together.

    nvbandwidth reverses the direction between writes and reads of the same name: in
    ``all_to_one_read`` all others read from the one.
    """

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for column, one in enumerate(settings.gpus):
            others = [gpu for gpu in settings.gpus if gpu is not one]
            pairs = [(other, one) if to_one else (one, other) for other in others]
            if pairs:
                yield _copy(test, settings, 0, column, [_peer(test, *pair) for pair in pairs])

    return cells


def local(test: Test, settings: Settings) -> Iterator[Cell]:
    """A copy inside one GPU."""
    for column, gpu in enumerate(settings.gpus):
        place = gpu_place(gpu.index)
        yield _copy(test, settings, 0, column, [transfer(place, place, test.engine)])


def local_memory(operation: GpuOperation) -> Cells:
    """A kernel on a GPU's own memory."""

    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for column, gpu in enumerate(settings.gpus):
            yield Cell(
                0,
                column,
                GpuMemorySpec(
                    id=identity([f"{test.name}.0.{column}"]),
                    initiator=f"gpu:{gpu.index}",
                    target=f"gpu:{gpu.index}",
                    cpus=settings.cpus(gpu),
                    sampling=settings.sampling,
                    gpu=gpu.index,
                    pattern=GpuMemoryPattern(operation=operation, size=settings.buffer_bytes),
                ),
            )

    return cells


def _latency(
    test: Test, settings: Settings, place: tuple[int, int], gpu: Gpu, memory: MemoryPlace
) -> Cell:
    row, column = place
    target = f"node:{home_node(settings.topology, gpu)}"
    if not isinstance(memory, HostPlace):
        target = f"gpu:{memory.gpu}"
    spec = GpuLatencySpec(
        id=identity([f"{test.name}.{row}.{column}"]),
        initiator=f"gpu:{gpu.index}",
        target=target,
        cpus=settings.cpus(gpu),
        sampling=settings.sampling,
        gpu=gpu.index,
        memory=memory,
        engine="tma" if test.engine == "tma" else "sm",
        every_sm=test.engine == "sm",
        pattern=GpuLatencyPattern(size=_LATENCY_BYTES, stride=_LATENCY_STRIDE, order="linear"),
    )
    return Cell(row, column, spec)


def host_latency(test: Test, settings: Settings) -> Iterator[Cell]:
    """A GPU's chase through host memory."""
    for column, gpu in enumerate(settings.gpus):
        yield _latency(test, settings, (0, column), gpu, settings.host(gpu))


def peer_latency(test: Test, settings: Settings) -> Iterator[Cell]:
    """A GPU's chase through another's memory."""
    for row, one in enumerate(settings.gpus):
        for column, other in enumerate(settings.gpus):
            if row != column and settings.wants(row, column):
                yield _latency(test, settings, (row, column), one, gpu_place(other.index))
