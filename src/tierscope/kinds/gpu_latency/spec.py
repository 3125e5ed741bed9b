"""The spec of a GPU's dependent loads."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.gpu import (
    SURELY_IN_MEMORY,
    GpuIndex,
    GpuSpec,
    HostPlace,
    MemoryPlace,
    endpoint_of,
    host_regions,
)
from tierscope.model.property import IN_BYTES, ORDER, SIZE, STRIDE, Property, declared
from tierscope.model.rules import Check, Prunes, Rule, Ruled, Ruling, Uneven, refuses
from tierscope.model.spec import Bytes, Region, last_level_bytes
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.axes import sizes
from tierscope.plans.gpu import flag, gpu_cpus, gpu_numbered, gpus_of, of_gpu, places
from tierscope.plans.machine import GIB, default_size
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of, values_of

if TYPE_CHECKING:
    from tierscope.model.topology import Cache


class GpuLatencyPattern(Ruled):
    """Access pattern of a GPU's pointer chase."""

    size: Annotated[
        Bytes,
        SIZE.but(
            help="Working set, as in 16k..1g",
            default_help="1g; of host memory past the CPUs' caches",
        ),
    ]
    stride: Annotated[
        int,
        IN_BYTES,
        Field(ge=8, le=1 << 20, multiple_of=8),
        STRIDE.but(help="Bytes from one chased slot to the next"),
    ] = 128
    """Bytes from one chased slot to the next."""
    order: Annotated[Literal["random", "linear"], ORDER.but(help="random (one cycle), linear")] = (
        "random"
    )
    """random: a single cycle through all slots; linear: slot after slot, which spares the GPU's
    address translation, laid by the CPU where it is host memory."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "size",
            "has to hold 2 to 2^28 strides",
            lambda pattern: 2 <= pattern.size // pattern.stride <= 1 << 28,
            ("stride",),
        ),
    )


class GpuLatencySpec(GpuSpec):
    """Latency of dependent loads by one thread of a GPU."""

    metric: ClassVar[str] = "latency"
    extra_properties: ClassVar[dict[str, type]] = {"memory": str}

    kind: Literal["gpu-latency"] = "gpu-latency"
    gpu: GpuIndex
    memory: MemoryPlace
    engine: Annotated[
        Literal["sm", "tma"],
        Property("sm (loads), tma (bulk copies of 16 bytes)", words="by {}"),
    ] = "sm"
    """sm: plain loads; tma: bulk copies of 16 bytes, each waited for."""
    per_sm: bool = False
    """Chase on each multiprocessor in turn, too, and report percentiles over them."""
    every_sm: bool = False
    """Each sample is the mean over all multiprocessors, not the latency of one."""
    pattern: GpuLatencyPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Rule(
            "memory",
            {"memory.memory": ("managed", "managed-prefetch", "managed-advised")},
            "migrates; a chase goes through memory that stays where it is",
        ),
        Prunes("per_sm", unless={"engine": "sm"}),
        Prunes("every_sm", unless={"engine": "sm"}),
        refuses(
            {"pattern.stride": Uneven(16), "engine": "tma"},
            because="has to be a multiple of 16 for engine tma",
        ),
    )

    def regions(self) -> list[Region]:
        """The chased region, where it is in host memory."""
        return host_regions([self.memory], self.pattern.size)

    def identity(self) -> dict[str, Any]:
        """The pattern, and the kind of host memory."""
        kind = self.memory.memory if isinstance(self.memory, HostPlace) else ""
        return {**self.pattern.as_recorded(), "memory": kind}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether a GPU's L2 or, of host memory, the CPUs' caches may hold what is chased."""
        if self.regions():
            return self.pattern.size <= last_level_bytes(caches, self.cpus)
        return self.pattern.size < SURELY_IN_MEMORY


SPEC = GpuLatencySpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuLatencySpec]:
    """Yield latencies from GPUs to memory, over places and working sets."""
    engine_property = declared(GpuLatencySpec)["engine"]
    every_sm, per_sm = flag(request, "every-sm"), flag(request, "per-sm")
    for gpu, place, engine in itertools.product(
        gpus_of(request, topology, GpuLatencySpec),
        places(request, topology, "to", GpuLatencySpec, "gpu:*,node:*"),
        values_of(request, engine_property),
    ):
        default = _past_caches(place, topology, gpu)
        target = endpoint_of(place)
        for values in combinations(
            request, GpuLatencyPattern, {"size": sizes(request, "size") or [default]}
        ):
            fields = {
                **of_gpu(request, topology, gpu),
                "target": target,
                "memory": place,
                "engine": engine,
                "per_sm": per_sm and engine == "sm",
                "every_sm": every_sm and engine == "sm",
                "pattern": values,
            }
            parts = [f"gpu:{gpu}", target, *id_parts(GpuLatencyPattern, values)]
            parts += id_parts(GpuLatencySpec, {"engine": engine})
            yield spec_of(
                request, GpuLatencySpec, fields, [*parts, *(["every-sm"] if every_sm else [])]
            )


def _past_caches(place: MemoryPlace, topology: Topology, gpu: int) -> int:
    """Bytes that no L2 of a GPU keeps or, of host memory, no cache of the CPUs near the GPU."""
    if not isinstance(place, HostPlace):
        return GIB
    nodes = [share.node for share in place.placement.nodes]
    return default_size(topology, gpu_cpus(topology, gpu_numbered(topology, gpu)), nodes, 1)


REQUEST = RequestForm(
    options=(
        options.GPU_FROM,
        Option("to", "PLACES", "Memory: node:0, gpu:1, node:*, gpu:*, all", "gpu:*,node:*"),
        *options_of(GpuLatencySpec),
        options.HOST_MEMORY,
        options.HOST_PAGES,
        *options_of(GpuLatencyPattern),
        Option(
            "per-sm",
            "",
            "Also percentiles over the GPU's multiprocessors",
            flag=True,
            essential=False,
        ),
        Option(
            "every-sm",
            "",
            "The mean over all multiprocessors, not one of them",
            flag=True,
            essential=False,
        ),
        options.TRACE,
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
A working set decides what serves the loads: L1, L2, or memory of the GPU, a peer or the host.""",
    examples=(
        "gpu latency",
        "gpu latency --from gpu:0 --to gpu:0 --size 16k..1g",
        "gpu latency --to gpu:0 --size 4m --per-sm",
    ),
)
