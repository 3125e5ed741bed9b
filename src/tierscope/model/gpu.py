"""Specs of the measurements on GPUs: copies, the GPU's own memory, latency."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind, format_ranges
from tierscope.model.property import IN_BYTES, SIZE, Property
from tierscope.model.rules import Differs, Rule, Ruled, Ruling, refuses
from tierscope.model.spec import EachCpu, MeasurementSpec, NodePlacement, Pages, Region

GpuIndex = Annotated[int, Field(ge=0, le=1023)]
GpuBytes = Annotated[int, IN_BYTES, Field(ge=1, le=1 << 42)]

HostKind = Literal[
    "pinned",
    "write-combined",
    "registered",
    "pageable",
    "managed",
    "managed-prefetch",
    "managed-advised",
]
"""pinned, write-combined: cuMemHostAlloc; registered: ordinary pages, then cuMemHostRegister;
pageable: ordinary pages; managed: cuMemAllocManaged, whose pages come over as the GPU touches
them, are prefetched, or stay on the host by advice."""
CopyEngine = Literal["ce", "sm", "tma"]
"""ce: a copy engine, as cuMemcpyAsync uses; sm: a kernel's 16-byte loads and stores; tma: the
bulk copy unit of Hopper and newer."""

ENGINE = Property(
    "ce (copy engine), sm (kernel), tma (bulk copy unit)", default="ce", words="by {}"
)
LARGE = 512 << 20
"""Bytes of one copy where no size is asked for; starting it costs next to nothing."""
COPY_SIZE = SIZE.but(help="Bytes of one copy, as in 4..4g*4", default=f"{LARGE >> 20}m")

SURELY_IN_MEMORY = 256 << 20
"""Bytes of an array that no GPU's L2 keeps."""

_PINNED_BYTES_PER_S = 1.5e9
ALONE = ("pageable", "managed", "managed-prefetch")
"""Host memory that cannot wait at a gate on the device, and so is measured by itself."""
SUM = "sum of "
"""Begins the property ``transfers`` where the figure is that of several transfers together."""
BOTH_WAYS = "both ways summed"
"""The property ``way`` where the figure is that of both directions together."""
PROPERTY_TYPES: dict[str, type] = {
    "engine": str,
    "memory": str,
    "streams": int,
    "way": str,
    "transfers": str,
    "issued": str,
}
"""Types of ``properties``; of transfers with the host, ``pages``, too."""


class HostPlace(Ruled):
    """Host memory as one endpoint of a transfer."""

    where: Literal["host"] = "host"
    memory: HostKind = "pinned"
    placement: NodePlacement
    pages: Pages = "base"
    """Pages of pageable and registered memory; the driver chooses for the others."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"pages": Differs("base")},
            unless={"memory": ("pageable", "registered")},
            because="only pageable and registered memory has a choice of pages",
        ),
        Rule(
            "placement",
            {"placement.policy": Differs("bind")},
            "only pageable and registered memory spans several nodes",
            unless={"memory": ("pageable", "registered")},
        ),
    )


class GpuPlace(Model):
    """A GPU's memory as one endpoint of a transfer."""

    where: Literal["gpu"] = "gpu"
    gpu: GpuIndex


MemoryPlace = Annotated[HostPlace | GpuPlace, Field(discriminator="where")]


class Transfer(Ruled):
    """One stream of copies among those of a measurement."""

    name: str
    """Names it in the result's figures: ``node:0 -> gpu:1``."""
    source: MemoryPlace
    destination: MemoryPlace
    gpu: GpuIndex
    """GPU whose engine moves the bytes: the destination's reads, the source's writes."""
    engine: Annotated[CopyEngine, ENGINE]
    streams: Annotated[
        int,
        Field(ge=1, le=32),
        Property("CUDA streams that share a copy, as in 1..8", id="{}streams"),
    ] = 1
    """CUDA streams that share the bytes; a GPU has 32 queues for all concurrent ones."""
    reported: bool = True
    """Whether it counts in the measurement's estimate, or only contends with those that do."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Rule(
            "source",
            {"source.where": "host", "destination.where": "host"},
            "and destination are host memory; one of them at least is a GPU",
        ),
        Rule(
            "destination",
            {"destination.memory": "managed"},
            "managed memory comes over on demand as a source only",
        ),
    )

    @property
    def alone(self) -> bool:
        """Whether it cannot run at the same time as others."""
        places = (self.source, self.destination)
        return any(isinstance(place, HostPlace) and place.memory in ALONE for place in places)


class GpuSpec(MeasurementSpec):
    """The base of measurements on GPUs."""

    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.GPU)
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.GPU,)
    type_b: ClassVar[float] = 1e-3
    """Measurements of one thing differ by up to this share of the figure between processes, as
    buffers get other physical pages; no interval from one process's samples knows it."""

    cpus: EachCpu
    """The first one issues all work; all of them populate host memory."""
    trace: bool = False
    """Record calls, copies and kernels with CUPTI; costs the figure a little."""

    def thread_cpus(self) -> list[int]:
        """The CPU that issues all work, then those that populate host memory with it."""
        return self.cpus

    def least_populate_s(self) -> float:
        """The driver pins host memory with one thread, at some 1.5 GB/s."""
        return sum(region.total_bytes for region in self.regions()) / _PINNED_BYTES_PER_S


def host_regions(places: Sequence[MemoryPlace], size: int) -> list[Region]:
    """The host memory among places."""
    return [
        Region(place.placement, place.pages, size)
        for place in places
        if isinstance(place, HostPlace)
    ]


def endpoint_of(place: MemoryPlace) -> str:
    """Return the endpoint that holds a place: ``node:0`` or ``gpu:1``."""
    if isinstance(place, GpuPlace):
        return f"gpu:{place.gpu}"
    return "node:" + ",".join(str(share.node) for share in place.placement.nodes)


def issuer_and_memory(one: Transfer) -> tuple[str, str]:
    """Return the GPU that issues a transfer, and the memory that it reaches, as endpoints."""
    source, destination = endpoint_of(one.source), endpoint_of(one.destination)
    issuer = f"gpu:{one.gpu}"
    return issuer, destination if source == issuer else source


def endpoints(transfers: Sequence[Transfer]) -> tuple[str, str]:
    """Return where the counted bytes come from and go to: ``node:0``, ``gpu:0-3``.

    Of two directions at once it is the first transfer's.
    """
    counted = _counted(transfers)
    if _opposite(transfers) is not None:
        counted = counted[:1]
    return (
        _joined(endpoint_of(one.source) for one in counted),
        _joined(endpoint_of(one.destination) for one in counted),
    )


def properties(transfers: Sequence[Transfer]) -> dict[str, Any]:
    """Return how the bytes are moved, as plain values; the figure is that of all counted ones."""
    counted = _counted(transfers)
    first = counted[0]
    found: dict[str, Any] = {
        "engine": ", ".join(dict.fromkeys(one.engine for one in transfers)),
        "memory": ", ".join(dict.fromkeys(place.memory for place in host_places(transfers))),
        "streams": first.streams,
    }
    pages = dict.fromkeys(place.pages for place in host_places(transfers) if place.pages != "base")
    if pages:
        found["pages"] = ", ".join(pages)
    others = [one for one in transfers if one is not first]
    if _opposite(transfers) is not None:
        found["way"] = BOTH_WAYS if len(counted) == 2 else "beside the way back"
    elif len(counted) > 1:
        found["transfers"] = f"{SUM}{_names(counted)}"
    elif others:
        found["transfers"] = f"beside {_names(others)}"
    elif between_gpus(first):
        found["issued"] = "by a read" if reads(first) else "by a write"
    return found


def host_places(transfers: Iterable[Transfer]) -> list[HostPlace]:
    """Return the ends of transfers that are host memory."""
    places = [place for one in transfers for place in (one.source, one.destination)]
    return [place for place in places if isinstance(place, HostPlace)]


def between_gpus(one: Transfer) -> bool:
    """Return whether a transfer goes from one GPU to another one."""
    ends = (one.source, one.destination)
    return all(isinstance(end, GpuPlace) for end in ends) and one.source != one.destination


def reads(one: Transfer) -> bool:
    """Return whether the GPU that issues a transfer is its destination."""
    return isinstance(one.destination, GpuPlace) and one.destination.gpu == one.gpu


def _counted(transfers: Sequence[Transfer]) -> list[Transfer]:
    return [one for one in transfers if one.reported] or list(transfers)


def _opposite(transfers: Sequence[Transfer]) -> Transfer | None:
    """Return the transfer that goes back where the first counted one comes from, if no other is."""
    first = _counted(transfers)[0]
    others = [one for one in transfers if one is not first]
    back = len(others) == 1 and others[0].source == first.destination
    return others[0] if back else None


def _joined(names: Iterable[str]) -> str:
    """Name several endpoints as one: ``node:0 gpu:0-3``."""
    found = dict.fromkeys(names)
    gpus = {name for name in found if name.startswith("gpu:")}
    parts = [name for name in found if name not in gpus]
    if gpus:
        numbers = sorted(int(name.removeprefix("gpu:")) for name in gpus)
        parts.append(f"gpu:{format_ranges(tuple(numbers))}")
    return " ".join(parts)


def _names(transfers: Sequence[Transfer]) -> str:
    return ", ".join(
        f"{endpoint_of(one.source)} → {endpoint_of(one.destination)}" for one in transfers
    )
