"""What a spec takes of the machine: CPUs and host memory.

The one place that plans, run files and the engine's watchdog ask; a kind of measurement whose
memory is placed by a plan has its lines in ``regions``.
"""

from dataclasses import dataclass

from tierscope.kinds.atomics.spec import AtomicsSpec
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.mapping.spec import MappingSpec
from tierscope.kinds.plan import Spec
from tierscope.kinds.streams.spec import StreamsSpec
from tierscope.model.gpu import HostPlace
from tierscope.model.spec import Placement

ARRAYS = {"copy": 2, "copy-nt": 2, "scale": 2, "add": 3, "triad": 3}
"""Arrays that an operation goes over; one where it is not named."""


@dataclass(frozen=True)
class Region:
    """Host memory: so many arrays of so many bytes each, placed alike."""

    placement: Placement
    pages: str
    array_bytes: int
    arrays: int = 1

    @property
    def total_bytes(self) -> int:
        """Bytes of all arrays together."""
        return self.array_bytes * self.arrays

    def bytes_by_node(self) -> dict[int, int]:
        """Bytes that it takes of each node."""
        shares = self.placement.nodes
        whole = sum(share.weight for share in shares)
        return {share.node: -(-self.total_bytes * share.weight // whole) for share in shares}


def regions(spec: Spec) -> list[Region]:
    """Host memory that a measurement places; none for kinds that leave that to a driver."""
    if isinstance(spec, BandwidthSpec):
        pattern = spec.pattern
        arrays = ARRAYS.get(pattern.operation, 1)
        return [Region(spec.placement, pattern.pages, pattern.size, arrays)]
    if isinstance(spec, LatencySpec | AtomicsSpec | MappingSpec):
        return [Region(spec.placement, spec.pattern.pages, spec.pattern.size)]
    if isinstance(spec, StreamsSpec):
        placed = [(spec.placement, spec.pattern), *((s.placement, s.pattern) for s in spec.beside)]
        return [Region(placement, pattern.pages, pattern.size) for placement, pattern in placed]
    if isinstance(spec, LoadedLatencySpec):
        load = spec.load
        return [
            Region(spec.placement, spec.pattern.pages, spec.pattern.size),
            Region(load.placement, load.pattern.pages, load.pattern.size),
        ]
    size = spec.pattern.size
    if isinstance(spec, GpuCopySpec):
        size = spec.pattern.buffer_bytes
        ends = [
            end for transfer in spec.transfers for end in (transfer.source, transfer.destination)
        ]
    else:
        ends = [spec.memory] if isinstance(spec, GpuLatencySpec) else []
    return [Region(end.placement, end.pages, size) for end in ends if isinstance(end, HostPlace)]


def host_bytes(spec: Spec) -> int:
    """Bytes of all regions of a measurement together."""
    return sum(region.total_bytes for region in regions(spec))


def cpus_of(spec: Spec) -> list[int]:
    """CPUs that a measurement's threads are pinned to, in the order of threads."""
    if isinstance(spec, LoadedLatencySpec):
        return [spec.cpu] if spec.load.idle else [spec.cpu, *spec.load.cpus]
    if isinstance(spec, StreamsSpec):
        return [*spec.cpus, *(cpu for stream in spec.beside for cpu in stream.cpus)]
    return [spec.cpu] if isinstance(spec, LatencySpec | MappingSpec) else spec.cpus
