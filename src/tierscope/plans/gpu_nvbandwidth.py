"""nvbandwidth's test cases as measurements: names and indices of v0.8, then what v0.10 adds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tierscope.model.gpu import (
    CopyEngine,
    GpuCopySpec,
    GpuLatencyPattern,
    GpuLatencySpec,
    GpuMemoryPattern,
    GpuMemorySpec,
    GpuOperation,
    HostPlace,
    MemoryPlace,
    Transfer,
)
from tierscope.model.plan import Spec
from tierscope.model.spec import Sampling
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.gpu_specs import (
    copy_spec,
    gpu_cpus,
    gpu_place,
    home_node,
    host_place,
    identity,
    transfer,
)
from tierscope.plans.machine import MIB

_LATENCY_BYTES = 2 * MIB
_LATENCY_STRIDE = 128
_ENGINES: dict[str, CopyEngine] = {"ce": "ce", "sm": "sm", "tma": "tma"}
_ENGINE_NAMES = {"ce": "a copy engine", "sm": "a kernel", "tma": "the bulk copy unit"}


@dataclass(frozen=True)
class Settings:
    """What the command line decides for all test cases."""

    topology: Topology
    gpus: list[Gpu]
    buffer_bytes: int = 512 * MIB
    verify: bool = True
    affinity: bool = True
    huge_pages: bool = False
    pairs: list[tuple[int, int]] | None = None
    """Ordered pairs of GPUs to measure; None: all of them."""
    sampling: Sampling = field(default_factory=lambda: Sampling(budget_s=1.0, sample_s=0.01))

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


def make_cells(test: Test, settings: Settings) -> list[Cell]:
    """Return the measurements that a test case takes on this machine."""
    return list(test.cells(test, settings))


def waived(test: Test, settings: Settings) -> str:
    """Say why a test case cannot run on this machine; empty where it can."""
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
) -> Cell:
    gpu = settings.topology.gpu(transfers[0].gpu) or settings.gpus[0]
    spec: GpuCopySpec = copy_spec(
        f"{test.name}.{row}.{column}",
        transfers,
        settings.topology,
        size=settings.buffer_bytes,
        sampling=settings.sampling,
        verify=settings.verify,
        cpus=settings.cpus(gpu),
    )
    return Cell(row, column, spec)


def _host(test: Test, settings: Settings, gpu: Gpu, to_gpu: bool, reported: bool) -> Transfer:
    ends: tuple[MemoryPlace, MemoryPlace] = (settings.host(gpu), gpu_place(gpu.index))
    source, destination = ends if to_gpu else ends[::-1]
    return transfer(source, destination, test.engine, reported=reported)


def _with_host(to_gpu: bool, both: bool, others: bool) -> Cells:
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
            yield _copy(test, settings, 0, column, transfers)

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


def _peers(test: Test, settings: Settings) -> Iterator[Cell]:
    for row, column, source, destination in _pairs(test, settings):
        yield _copy(test, settings, row, column, [_peer(test, source, destination)])


def _peers_both_ways(test: Test, settings: Settings) -> Iterator[Cell]:
    for row, column, source, destination in _pairs(test, settings):
        there, back = _peer(test, source, destination), _peer(test, destination, source)
        yield _copy(test, settings, row, column, [there, back])


def _one_and_all(to_one: bool) -> Cells:
    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for column, one in enumerate(settings.gpus):
            others = [gpu for gpu in settings.gpus if gpu is not one]
            ends = [(other, one) if to_one else (one, other) for other in others]
            if ends:
                yield _copy(test, settings, 0, column, [_peer(test, *pair) for pair in ends])

    return cells


def _local(test: Test, settings: Settings) -> Iterator[Cell]:
    for column, gpu in enumerate(settings.gpus):
        place = gpu_place(gpu.index)
        yield _copy(test, settings, 0, column, [transfer(place, place, test.engine)])


def _local_memory(operation: GpuOperation) -> Cells:
    def cells(test: Test, settings: Settings) -> Iterator[Cell]:
        for column, gpu in enumerate(settings.gpus):
            yield Cell(
                0,
                column,
                GpuMemorySpec(
                    id=identity(f"{test.name}.0.{column}"),
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
        id=identity(f"{test.name}.{row}.{column}"),
        initiator=f"gpu:{gpu.index}",
        target=target,
        cpus=settings.cpus(gpu),
        sampling=settings.sampling,
        gpu=gpu.index,
        memory=memory,
        engine="tma" if test.engine == "tma" else "sm",
        pattern=GpuLatencyPattern(size=_LATENCY_BYTES, stride=_LATENCY_STRIDE),
    )
    return Cell(row, column, spec)


def _host_latency(test: Test, settings: Settings) -> Iterator[Cell]:
    for column, gpu in enumerate(settings.gpus):
        yield _latency(test, settings, (0, column), gpu, settings.host(gpu))


def _peer_latency(test: Test, settings: Settings) -> Iterator[Cell]:
    for row, one in enumerate(settings.gpus):
        for column, other in enumerate(settings.gpus):
            if row != column and settings.wants(row, column):
                yield _latency(test, settings, (row, column), one, gpu_place(other.index))


def _tests_of(suffix: str) -> list[Test]:
    """The sixteen test cases that copy engines and kernels have in common, in their order."""
    engine, by = _ENGINES[suffix], f"by {_ENGINE_NAMES[suffix]}"
    head = f"memcpy {suffix.upper()}"
    to_gpu = f"{head} CPU(row) -> GPU(column) bandwidth (GB/s)"
    to_host = f"{head} CPU(row) <- GPU(column) bandwidth (GB/s)"
    both = f"{head} CPU(row) <-> GPU(column) bandwidth (GB/s)"
    read = f"{head} GPU(row) -> GPU(column) bandwidth (GB/s)"
    write = f"{head} GPU(row) <- GPU(column) bandwidth (GB/s)"

    def host(name: str, what: str, title: str, cells: Cells) -> Test:
        return Test(f"{name}_{suffix}", f"{what}, {by}", cells, engine, title)

    def one_all(name: str, what: str, title: str, to_one: bool, writes: bool) -> Test:
        return Test(
            f"{name}_{suffix}",
            f"{what}, {by}; all together",
            _one_and_all(to_one),
            engine,
            title,
            writes=writes,
            least_gpus=2,
        )

    return [
        host("host_to_device_memcpy", "Host to each GPU", to_gpu, _with_host(True, False, False)),
        host("device_to_host_memcpy", "Each GPU to host", to_host, _with_host(False, False, False)),
        host(
            "host_to_device_bidirectional_memcpy",
            "Host to each GPU while the other direction is as busy",
            both,
            _with_host(True, True, False),
        ),
        host(
            "device_to_host_bidirectional_memcpy",
            "Each GPU to host while the other direction is as busy",
            both,
            _with_host(False, True, False),
        ),
        *_peer_tests(suffix),
        host(
            "all_to_host_memcpy",
            "Each GPU to host while all others do the same",
            to_host,
            _with_host(False, False, True),
        ),
        host(
            "all_to_host_bidirectional_memcpy",
            "Each GPU to host while all others and all opposite directions are busy",
            both,
            _with_host(False, True, True),
        ),
        host(
            "host_to_all_memcpy",
            "Host to each GPU while all others do the same",
            to_gpu,
            _with_host(True, False, True),
        ),
        host(
            "host_to_all_bidirectional_memcpy",
            "Host to each GPU while all others and all opposite directions are busy",
            both,
            _with_host(True, True, True),
        ),
        one_all("all_to_one_write", "All GPUs write to one", write, True, True),
        one_all("all_to_one_read", "One GPU reads from all", read, True, False),
        one_all("one_to_all_write", "One GPU writes to all", read, False, True),
        one_all("one_to_all_read", "All GPUs read from one", write, False, False),
    ]


def _peer_tests(suffix: str) -> list[Test]:
    """GPU to GPU: one way and both ways, read and written."""
    tests = []
    for way in ("", "bidirectional_"):
        for side, arrow in (("read", "->"), ("write", "<-")):
            head = f"memcpy {suffix.upper()}"
            title = f"{head} GPU(row) {arrow} GPU(column) bandwidth (GB/s)"
            part = side.capitalize()
            if way:
                title = f"{head} CPU(row) <-> GPU(column) {{}} bandwidth (GB/s)"
            tests.append(
                Test(
                    f"device_to_device_{way}memcpy_{side}_{suffix}",
                    f"Each GPU and each other, {'both ways at once, ' if way else ''}"
                    f"{side} by {_ENGINE_NAMES[suffix]}",
                    _peers_both_ways if way else _peers,
                    _ENGINES[suffix],
                    title,
                    square=True,
                    parts=(f"{part}1", f"{part}2", "Total") if way else (),
                    writes=side == "write",
                    least_gpus=2,
                )
            )
    return tests


TESTS: tuple[Test, ...] = (
    *_tests_of("ce"),
    *_tests_of("sm"),
    Test(
        "host_device_latency_sm",
        "A GPU's dependent loads from host memory",
        _host_latency,
        "sm",
        "memory latency SM CPU(row) <-> GPU(column) (ns)",
        latency=True,
    ),
    Test(
        "device_to_device_latency_sm",
        "A GPU's dependent loads from another's memory",
        _peer_latency,
        "sm",
        "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)",
        square=True,
        latency=True,
        least_gpus=2,
    ),
    Test(
        "device_local_copy",
        "A copy inside one GPU; bytes count once",
        _local,
        "ce",
        "memcpy local GPU(column) bandwidth (GB/s)",
    ),
    *_peer_tests("tma"),
    Test(
        "device_local_copy_sm",
        "A copy inside one GPU by a kernel; bytes count once",
        _local,
        "sm",
        "memcpy SM local GPU(column) bandwidth (GB/s)",
    ),
    Test(
        "device_local_read_sm",
        "Reads of a GPU's own memory by a kernel",
        _local_memory("read"),
        "sm",
        "read SM local GPU(column) bandwidth (GB/s)",
    ),
    Test(
        "device_local_write_sm",
        "Writes of a GPU's own memory by a kernel",
        _local_memory("write"),
        "sm",
        "write SM local GPU(column) bandwidth (GB/s)",
    ),
    Test(
        "device_to_device_latency_tma",
        "A bulk copy of one line from another GPU's memory",
        _peer_latency,
        "tma",
        "Device to Device Latency TMA GPU(row) <-> GPU(column) (ns)",
        square=True,
        latency=True,
        least_gpus=2,
    ),
    Test(
        "device_local_copy_tma",
        "A copy inside one GPU by the bulk copy unit; bytes count once",
        _local,
        "tma",
        "memcpy TMA local GPU(column) bandwidth (GB/s)",
    ),
)
"""In index order; the first 35 are v0.8's."""
