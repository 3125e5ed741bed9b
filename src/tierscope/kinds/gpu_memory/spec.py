"""The spec of a GPU's own memory under loads and stores."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.endpoint import EndpointKind
from tierscope.model.gpu import SURELY_IN_MEMORY, GpuIndex, GpuSpec
from tierscope.model.property import ACCESS_SIZE, IN_BYTES, OPERATION, SIZE
from tierscope.model.rules import Below, PowerOfTwo, Prunes, Rule, Ruled, Ruling, refuses
from tierscope.model.spec import Bytes, Region
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.gpu import gpus_of, of_gpu
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.path import Limit, Paths
    from tierscope.model.topology import Cache


GpuOperation = Literal["read", "write", "copy", "scale", "add", "triad", "random"]


class GpuMemoryPattern(Ruled):
    """Access pattern on a GPU's own memory."""

    operation: Annotated[
        GpuOperation,
        OPERATION.but(default="read,write,copy,scale,add,triad", default_help="all but random"),
    ]
    size: Annotated[Bytes, SIZE.but(help="Bytes of each array, as in 1m..4g", default="1g")]
    """Bytes of each array that the operation uses (read 1, copy 2, triad 3)."""
    access_size: Annotated[
        int,
        IN_BYTES,
        Field(ge=16, le=512),
        PowerOfTwo(),
        ACCESS_SIZE.but(help="Bytes that one random access reads"),
    ] = 32
    """Bytes that one random access reads; a power of two."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("access_size", unless={"operation": "random"}),
        Rule(
            "size",
            {"operation": "random"},
            "has to be below 64 GiB of operation random",
            unless={"size": Below(1 << 36)},
        ),
        refuses({"size": Below("access_size")}, because="is smaller than access_size"),
    )


class GpuMemorySpec(GpuSpec):
    """Bandwidth of a GPU's own memory, or of its L2 where the arrays fit there."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("operation", "size")
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.GPU,)

    kind: Literal["gpu-memory"] = "gpu-memory"
    gpu: GpuIndex
    pattern: GpuMemoryPattern

    def regions(self) -> list[Region]:
        """None on the host."""
        return []

    def identity(self) -> dict[str, Any]:
        """The pattern."""
        return self.pattern.as_recorded()

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """Whether a GPU's L2 may hold the arrays."""
        return self.pattern.size < SURELY_IN_MEMORY

    def limit(self, paths: "Paths") -> "Limit | None":
        """The memory's; the L2's rate is nowhere told."""
        if self.fits_caches(paths.topology.caches):
            return None
        return paths.limit(self.initiator, self.target)


SPEC = GpuMemorySpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuMemorySpec]:
    """Yield bandwidths of the GPUs' own memory, over operations and working sets."""
    for gpu in gpus_of(request, topology, GpuMemorySpec):
        for values in combinations(request, GpuMemoryPattern, {}):
            target = f"gpu:{gpu}"
            fields = {**of_gpu(request, topology, gpu), "target": target, "pattern": values}
            parts = [target, *id_parts(GpuMemoryPattern, values)]
            yield spec_of(request, GpuMemorySpec, fields, parts)


REQUEST = RequestForm(
    options=(
        options.GPU_FROM,
        *options_of(GpuMemoryPattern),
        options.TRACE,
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
Small arrays show the L2 cache.""",
    examples=(
        "gpu memory",
        "gpu memory --op read --size 1m..4g",
        "gpu memory --op random --access-size 32..128 --from gpu:0",
    ),
)
