"""Make specs of measurements on GPUs, for this machine: places, transfers, CPUs, ids."""

from collections.abc import Sequence

from tierscope.kinds.gpu_copy.spec import GpuCopyPattern, GpuCopySpec
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.gpu import CopyEngine, GpuPlace, HostKind, HostPlace, MemoryPlace, Transfer
from tierscope.model.spec import NodeShare, Pages, Placement, Sampling
from tierscope.model.topology import Gpu, NodeKind, Topology
from tierscope.plans import axes
from tierscope.plans.grammar import format_size
from tierscope.plans.machine import MIB, memory_nodes, one_per_core_first

LARGE = 512 * MIB
"""Bytes of one copy where no size is asked for: starting it costs nothing beside moving it."""
SAMPLING = Sampling(budget_s=1.0, sample_s=0.02)
_MOST_CPUS = 8


def require_gpus(topology: Topology) -> list[Gpu]:
    """Return the machine's GPUs; raises UserError (exit code 3) where there is none."""
    if not topology.gpus:
        raise UserError(
            "no NVIDIA GPU was found on this machine; in a container, pass the GPU on",
            ExitCode.NOTHING_MEASURED,
        )
    return topology.gpus


def gpu_numbered(topology: Topology, index: int) -> Gpu:
    """Return one GPU; raises UserError that names those there are."""
    gpu = topology.gpu(index)
    if gpu is None:
        known = ", ".join(str(entry.index) for entry in require_gpus(topology))
        raise UserError(f"there is no GPU {index}; this machine's GPUs are {known}")
    return gpu


def home_node(topology: Topology, gpu: Gpu) -> int:
    """The node with host memory that a GPU is local to; the first one where that has none."""
    device, nodes = topology.pci_device(gpu.address), host_nodes(topology)
    return device.node if device is not None and device.node in nodes else nodes[0]


def host_nodes(topology: Topology) -> list[int]:
    """Usable nodes whose memory is the host's: CXL and CPU-less ones too, but no GPU's own."""
    nodes = [node.number for node in memory_nodes(topology) if node.kind is not NodeKind.GPU]
    allowed = topology.memory_nodes
    usable = [number for number in nodes if allowed is None or number in allowed]
    if not usable:
        raise UserError(
            "no node with memory that this process may use was found on this machine",
            ExitCode.NOTHING_MEASURED,
        )
    return usable


def gpu_cpus(topology: Topology, gpu: Gpu) -> list[int]:
    """CPUs for a GPU's host threads: usable ones of its own node, else any usable one."""
    node = topology.node(home_node(topology, gpu))
    near = [cpu for cpu in (node.cpus if node else []) if cpu in topology.cpus]
    return one_per_core_first(near or topology.cpus, topology.siblings)[:_MOST_CPUS]


def host_place(node: int, memory: HostKind = "pinned", pages: Pages = "base") -> HostPlace:
    """Host memory on one node."""
    placement = Placement(policy="bind", nodes=[NodeShare(node=node)])
    return HostPlace(memory=memory, placement=placement, pages=pages)


def gpu_place(index: int) -> GpuPlace:
    """A GPU's own memory."""
    return GpuPlace(gpu=index)


def endpoint_of(place: MemoryPlace) -> str:
    """The endpoint that holds a place: ``node:0`` or ``gpu:1``."""
    if isinstance(place, GpuPlace):
        return f"gpu:{place.gpu}"
    return "node:" + ",".join(str(share.node) for share in place.placement.nodes)


def transfer(
    source: MemoryPlace,
    destination: MemoryPlace,
    engine: CopyEngine,
    *,
    writes: bool = False,
    streams: int = 1,
    reported: bool = True,
) -> Transfer:
    """A transfer; between two GPUs the destination's engine reads, or the source's writes."""
    issuer = source if isinstance(source, GpuPlace) else destination
    if isinstance(source, GpuPlace) and isinstance(destination, GpuPlace) and not writes:
        issuer = destination
    assert isinstance(issuer, GpuPlace)
    return Transfer(
        name=f"{endpoint_of(source)} -> {endpoint_of(destination)}",
        source=source,
        destination=destination,
        gpu=issuer.gpu,
        engine=engine,
        streams=streams,
        reported=reported,
    )


def ends_of(one: Transfer) -> tuple[str, str]:
    """Initiator and target of a transfer: the GPU that issues it, and the memory it reaches."""
    source, destination = endpoint_of(one.source), endpoint_of(one.destination)
    initiator = f"gpu:{one.gpu}"
    return initiator, destination if source == initiator else source


def copy_spec(
    name: str,
    transfers: Sequence[Transfer],
    topology: Topology,
    *,
    size: int = LARGE,
    sampling: Sampling = SAMPLING,
    trace: bool = False,
    verify: bool = True,
    rows: tuple[int, int] | None = None,
    cpus: list[int] | None = None,
) -> GpuCopySpec:
    """Transfers that run at once; the first reported one names the measurement's ends.

    ``rows`` is (bytes of a row, bytes from row to row) of strided copies.
    """
    first = next((entry for entry in transfers if entry.reported), transfers[0])
    initiator, target = ends_of(first)
    row_bytes, pitch = rows or (None, None)
    return GpuCopySpec(
        id=identity(name),
        initiator=initiator,
        target=target,
        cpus=cpus or gpu_cpus(topology, gpu_numbered(topology, first.gpu)),
        sampling=sampling,
        trace=trace,
        verify=verify,
        pattern=GpuCopyPattern(size=size, row_bytes=row_bytes, pitch=pitch),
        transfers=list(transfers),
    )


def copy_id(one: Transfer, size: int, *more: str) -> str:
    """A readable id of a single transfer."""
    ends = (endpoint_of(one.source), "to", endpoint_of(one.destination))
    host = [end for end in (one.source, one.destination) if isinstance(end, HostPlace)]
    memory = [end.memory for end in host]
    pages = [end.pages for end in host if end.pages != "base"]
    streams = [f"{one.streams}streams"] if one.streams > 1 else []
    parts = [*ends, one.engine, *memory, *pages, *streams, format_size(size), *more]
    return ".".join(parts)


def identity(text: str) -> str:
    """Text as an id: allowed characters only, not too long, and still unlike any other's."""
    return axes.identity([text])
