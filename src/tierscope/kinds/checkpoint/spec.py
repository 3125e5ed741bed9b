"""The spec of checkpoint: a program's state, saved so that it outlives the program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.io import GPU_BACKENDS, SYNCHRONOUS, Buffers, FilePath
from tierscope.model.persistent import Persistent
from tierscope.model.spec import (
    SLOWEST_BYTES_PER_S,
    Cpus,
    MeasurementSpec,
    Pages,
    Placement,
    Region,
    last_level_bytes,
)
from tierscope.model.storage import Access
from tierscope.model.traffic import of_operation

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

CELL = 4096
"""Bytes of the state that carry a checksum of their own; a header is as large."""
_PASSES = 12
"""Over the state, in a visit: the target is filled, and the fewest rows are taken."""
_PASSES_OF_A_KILL = 6

CheckpointBackend = Literal["posix", "libaio", "io_uring", "cufile", "staged", "staged-async"]


class CheckpointPattern(Model):
    """The state, and how it moves."""

    size: Annotated[int, Field(ge=CELL, le=1 << 50, multiple_of=CELL)]
    """Bytes of the state. The target takes twice as much: the last good checkpoint stays untouched
    while the next one is written."""
    block_size: Annotated[int, Field(ge=CELL, le=1 << 30, multiple_of=CELL)] = 1 << 20
    """Bytes of one operation."""
    pages: Pages = "thp"
    """Of a state in host memory."""
    backend: CheckpointBackend = "posix"
    """How a file is written and read, as of input and output; memory is copied to."""
    direct: bool = True
    """Of a file: O_DIRECT, past the page cache."""
    depth: Annotated[int, Field(ge=1, le=4096)] = 1
    """Operations of each thread in flight."""
    kills: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Times that a program which saves checkpoints is killed and started again."""

    @model_validator(mode="after")
    def _check(self) -> "CheckpointPattern":
        if self.depth > 1 and self.backend in SYNCHRONOUS:
            raise ValueError(f"backend {self.backend} has one operation a thread in flight")
        return self


class CheckpointSpec(MeasurementSpec):
    """Bandwidth and time until a checkpoint is durable, and until a program runs on from it."""

    metric: ClassVar[str] = "bandwidth"
    initiators: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.CPUS,
        EndpointKind.GPU,
    )
    targets: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.FILE,
        EndpointKind.PMEM,
    )
    recorded: ClassVar[tuple[str, ...]] = ("size", "threads", "memory")
    extra_properties: ClassVar[dict[str, type]] = {"threads": int, "memory": str, "backing": str}

    kind: Literal["checkpoint"] = "checkpoint"
    cpus: Cpus
    """One a thread."""
    state: Buffers
    """Memory that the state is in."""
    directory: FilePath | None = None
    """A file of checkpoints is made below it, and removed."""
    large: bool = False
    """That file may take more than a tenth of the free space."""
    placement: Placement | None = None
    """In place of a directory: memory that checkpoints go to."""
    pattern: CheckpointPattern

    @model_validator(mode="after")
    def _check(self) -> "CheckpointSpec":
        if (self.directory is None) == (self.placement is None):
            raise ValueError("a checkpoint goes to a directory or to a placement")
        if self.placement is not None and self.placement.policy != "bind":
            raise ValueError("memory of a checkpoint is on one node (policy bind)")
        if self._persistent is not None and self._persistent.backing not in ("file", "pool"):
            raise ValueError("persistent memory of a checkpoint has backing file or pool")
        on_gpu = self.state.gpu is not None
        if on_gpu != (self.pattern.backend in GPU_BACKENDS):
            with_gpu = "takes no" if on_gpu else "needs a"
            raise ValueError(f"backend {self.pattern.backend} {with_gpu} state on a GPU")
        if on_gpu and self.pattern.kills:
            raise ValueError("kills go with a state in host memory: CUDA does not outlive fork")
        return self

    @property
    def _persistent(self) -> Persistent | None:
        return self.placement.persistent if self.placement else None

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The state where the host's memory has it, and memory that checkpoints go to."""
        size = self.pattern.size
        found = []
        if self.state.placement is not None:
            found.append(Region(self.state.placement, self.pattern.pages, size))
        if self.placement is not None:
            found.append(Region(self.placement, "base", 2 * (size + CELL)))
        return found

    def files(self) -> list[str]:
        """The directory."""
        persistent = self._persistent
        where = self.directory or (persistent.path if persistent else "")
        return [where] if where else []

    def identity(self) -> dict[str, Any]:
        """The pattern but for kills, which change no figure, and the state's memory; of memory as a
        target only what copying has."""
        unsaid = {"kills"}
        if self.placement is not None:
            unsaid |= {"backend", "direct", "depth"}
        if self.state.placement is None:
            unsaid |= {"pages"}
        return {
            **self.pattern.model_dump(mode="json", exclude=unsaid),
            "threads": len(self.cpus),
            "memory": self.state.name,
            **({"backing": self._persistent.backing} if self._persistent else {}),
        }

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether state and checkpoints are memory that the last-level caches hold together."""
        if self.placement is None or self.state.placement is None:
            return False
        return bool(caches) and self.host_bytes() <= last_level_bytes(caches, self.cpus)

    def limit(self, paths: "Paths") -> "Limit | None":
        """What links and drives allow of writes."""
        if self.fits_caches(paths.topology.caches):
            return None
        if self.placement is not None:
            writes = of_operation("write", read=0, written=1, fetches=False)
            return paths.limit(self.initiator, self.target, writes)
        access = Access(
            read_share=0.0,
            random=False,
            direct=self.pattern.direct,
            block_bytes=self.pattern.block_size,
            through_host=self.pattern.backend.startswith("staged"),
        )
        return paths.storage_limit([(self.initiator, self.target)], access)

    def set_up_s(self) -> float:
        """Seconds for filling the target, the fewest rows, and kills."""
        passes = _PASSES + _PASSES_OF_A_KILL * self.pattern.kills
        return super().set_up_s() + passes * self.pattern.size / SLOWEST_BYTES_PER_S


SPEC = CheckpointSpec
