"""The spec of kv-cache: pieces of a language model's cache, moved from a pool and into it."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.evidence import OwnEvidence
from tierscope.model.io import CUFILE_BACKENDS, SYNCHRONOUS, Buffers, FilePath
from tierscope.model.path import ONE_WAY, Traffic, of_operation
from tierscope.model.property import IN_BYTES, OPERATION, PAGES, MadeBy, Property
from tierscope.model.rules import Check, Differs, Given, Ruled, Ruling, needs, refuses
from tierscope.model.spec import (
    SLOWEST_BYTES_PER_S,
    Cpus,
    MeasurementSpec,
    NodePlacement,
    Pages,
    Region,
    last_level_bytes,
)
from tierscope.model.storage import Access
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import checked, pages, sampling, targets
from tierscope.plans.issuers import Issuer, issuers, storage_targets
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.path import Limit, Paths
    from tierscope.model.topology import Cache

_PAGE = 4096
_LARGEST_OBJECT = 1 << 30
_PASSES = 12
"""Passes over all objects in a repetition: filling, the fewest samples, comparing."""
_MOST_THREADS = 8
GPU_METHODS = ("copy-engine", "batch", "kernel")

Method = Literal["memcpy", "copy-engine", "batch", "kernel"]
"""memcpy: by CPUs; copy-engine: a cuMemcpyAsync for each piece; batch: one cuMemcpyBatchAsync;
kernel: one kernel, which reads or writes pinned host memory."""
CacheBackend = Literal["posix", "libaio", "io_uring", "cufile", "cufile-stream"]


class KvCachePattern(Ruled):
    """The pieces, and how they move."""

    operation: Annotated[
        Literal["fetch", "store"],
        OPERATION.but(
            help="fetch: read objects, scatter their pieces into the pool; store: gather pieces, "
            "write objects",
            default="fetch,store",
        ),
    ] = "fetch"
    piece: Annotated[
        int,
        IN_BYTES,
        Field(ge=16, le=64 << 20, multiple_of=16),
        Property(
            "Bytes of a piece: keys or values of one layer's block of tokens",
            default="32k",
            words="{} pieces",
            id="p{}",
        ),
    ]
    pieces: Annotated[
        int,
        Field(ge=2, le=1 << 20),
        Property("Pieces of an object", default="1024", words="{} an object", id="x{}"),
    ]
    objects: Annotated[
        int,
        Field(ge=1, le=1 << 20),
        Property(
            "Objects that one transfer moves; given, a file may take more than a tenth of the free "
            "space",
            default="8",
            default_help="8, in a tenth of the free space",
            words="{} objects",
            id="n{}",
        ),
    ]
    pages: Annotated[Pages, PAGES.but(id_always=False, essential=False)] = "thp"
    """Pages of pool and objects in host memory; the driver chooses for a GPU's."""
    method: Annotated[
        Method,
        Property(
            "How pieces are gathered and scattered: memcpy (CPUs), copy-engine (one call a piece), "
            "batch (cuMemcpyBatchAsync), kernel",
            default_help="memcpy; of GPUs, kernel",
            words="by {}",
            id_always=True,
        ),
    ] = "memcpy"
    multiprocessors: Annotated[
        int,
        Field(ge=0, le=1024),
        Property(
            "Multiprocessors that the kernel may take; 0: as few as are nearly as fast as more",
            words="{} multiprocessors",
            id="sm{}",
            essential=False,
        ),
    ] = 0
    backend: Annotated[
        CacheBackend,
        Property(default_help="io_uring", words="by {}", id_always=True, essential=False),
    ] = "io_uring"
    direct: Annotated[
        bool,
        Property(
            "yes: past the page cache (O_DIRECT); no: through it, dropped before each transfer",
            words="direct|through the page cache",
            id="buffered",
            essential=False,
        ),
    ] = True
    depth: Annotated[
        int,
        Field(ge=1, le=256),
        Property("Objects of each thread in flight", default="4", id="d{}", id_always=True),
    ] = 1
    seed: Annotated[
        int,
        Field(ge=0, lt=1 << 63),
        Property("Of the order of pieces", single=True, identity=False, essential=False),
    ] = 1

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"depth": Differs(1), "backend": SYNCHRONOUS},
            because="is 1: this backend has one operation a thread in flight",
        ),
    )

    @property
    def object_bytes(self) -> int:
        """Bytes of the pieces of an object."""
        return self.piece * self.pieces

    @property
    def stride(self) -> int:
        """Bytes from one object to the next: whole pages."""
        return -(-self.object_bytes // _PAGE) * _PAGE

    @property
    def all_bytes(self) -> int:
        """Bytes that one transfer moves."""
        return self.object_bytes * self.objects


class KvTransfers(Model):
    """Transfers of a repetition."""

    transfers: Count
    pieces: Count
    """Of each transfer."""
    bytes: Count
    """Of all transfers."""
    set_up_s: float
    """Seconds of making and filling objects and pool; inside no figure."""


class KvCacheEvidence(OwnEvidence):
    """Keys of evidence of transfers."""

    kv_cache: KvTransfers | None = None


class KvCacheSpec(MeasurementSpec):
    """Bandwidth and time from the call until the last piece is in its place."""

    metric: ClassVar[str] = "bandwidth"
    own_evidence: ClassVar[type[OwnEvidence]] = KvCacheEvidence
    compared: ClassVar[tuple[str, ...]] = ("transfer_time",)
    initiators: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.CPUS,
        EndpointKind.GPU,
    )
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.FILE)
    recorded: ClassVar[tuple[str, ...]] = ("piece", "pieces", "objects", "threads", "memory")
    extra_properties: ClassVar[dict[str, type]] = {"threads": int, "memory": str}

    kind: Literal["kv-cache"] = "kv-cache"
    cpus: Annotated[Cpus, MadeBy("threads")]
    """One a thread; of a pool on a GPU, the first one issues all work."""
    pool: Buffers
    """Memory that pieces are used in, at scattered places."""
    placement: NodePlacement
    """Host memory: of objects or, with a directory, of buffers that they go through."""
    directory: FilePath | None = None
    """A file of objects is made below it, and removed."""
    large: bool = False
    """The file may take more than a tenth of the free space."""
    pattern: KvCachePattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"pool.memory": ("vmm", "pinned", "plain", "managed")},
            because="of a pool is host or device",
        ),
        needs(
            "pool.gpu",
            when={"pattern.method": GPU_METHODS},
            because="of a GPU needs a pool on a GPU",
        ),
        refuses(
            {"pattern.method": "memcpy", "pool.gpu": Given()},
            because="of CPUs takes no pool on a GPU",
        ),
        needs(
            "pool.gpu",
            when={"pattern.backend": CUFILE_BACKENDS},
            because="of a GPU needs a pool on a GPU",
        ),
        Check(
            "pattern.pieces",
            "make an object of more than 1 GiB",
            lambda spec: spec.pattern.object_bytes <= _LARGEST_OBJECT,
            ("pattern.piece",),
        ),
    )

    @property
    def _bypasses_host(self) -> bool:
        """Whether objects go between storage and the GPU without host memory in between."""
        return self.directory is not None and self.pattern.backend in CUFILE_BACKENDS

    @property
    def _pages(self) -> str:
        return "base" if self.pool.gpu is not None else self.pattern.pages

    def thread_cpus(self) -> list[int]:
        """One thread a CPU; of a pool on a GPU, the first issues and all populate memory."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The pool where the host's memory has it, and objects in memory or their buffers."""
        found = []
        if self.pool.placement is not None:
            found.append(Region(self.pool.placement, self._pages, self.pattern.all_bytes))
        if not self._bypasses_host:
            threads = 1 if self.pool.gpu is not None else len(self.cpus)
            held = self.pattern.depth * threads if self.directory else self.pattern.objects
            found.append(Region(self.placement, self._pages, self.pattern.stride * held))
        return found

    def files(self) -> list[str]:
        """The directory."""
        return [self.directory] if self.directory else []

    def identity(self) -> dict[str, Any]:
        """The pattern, without what makes no difference there, and the pool's memory."""
        unsaid = {"seed"}
        if self.directory is None:
            unsaid |= {"backend", "direct", "depth"}
        if self.pattern.method != "kernel":
            unsaid |= {"multiprocessors"}
        if self.pool.gpu is not None:
            unsaid |= {"pages"}
        return {
            **self.pattern.model_dump(mode="json", exclude=unsaid),
            "threads": 1 if self.pool.gpu is not None else len(self.cpus),
            "memory": self.pool.name,
        }

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether pool and objects are memory that the last-level caches hold together."""
        if self.directory is not None or self.pool.gpu is not None:
            return False
        return bool(caches) and self.host_bytes() <= last_level_bytes(caches, self.cpus)

    def limit(self, paths: "Paths") -> "Limit | None":
        """The limit of the path between pool and objects."""
        if self.fits_caches(paths.topology.caches):
            return None
        if self.directory is None:
            return paths.limit(self.initiator, self.target, self._traffic())
        access = Access(
            read_share=1.0 if self.pattern.operation == "fetch" else 0.0,
            random=False,
            direct=self.pattern.direct,
            block_bytes=self.pattern.stride,
            through_host=self.pool.gpu is not None and not self._bypasses_host,
        )
        return paths.storage_limit([(self.initiator, self.target)], access)

    def _traffic(self) -> Traffic:
        """Return the traffic of the objects' memory; of a pool on the same node, of that, too."""
        if self.pool.gpu is not None:
            return ONE_WAY
        if self.pool.placement == self.placement:
            return Traffic("copy", reads=1.0, writes=1.0)
        fetched = self.pattern.operation == "fetch"
        name = "read" if fetched else "write"
        return of_operation(name, read=int(fetched), written=int(not fetched), fetches=False)

    def set_up_s(self) -> float:
        """Seconds for filling, the fewest samples, and comparing."""
        moved = self.pattern.stride * self.pattern.objects
        return super().set_up_s() + _PASSES * moved / SLOWEST_BYTES_PER_S


SPEC = KvCacheSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[KvCacheSpec]:
    """Yield a measurement for each combination of the options' values."""
    found = _targets(request, topology)
    for holder, target in itertools.product(issuers(request, topology, KvCacheSpec), found):
        seen: list[dict[str, Any]] = []
        kinds = pages(request, topology, thp) if holder.gpu is None else ["thp"]
        for values in _combinations(request, holder, target, kinds):
            if values not in seen:
                seen.append({**values})
                yield _spec(request, holder, target, values)


def _targets(request: Request, topology: Topology) -> list[Target]:
    if "to" not in request.options:
        return storage_targets(request, KvCacheSpec)
    nodes = [node.number for node in machine.memory_nodes(topology)]
    found = targets(request, "to", KvCacheSpec, nodes)
    for target in found:
        if target.numbers:
            checked(request, "to", machine.check_target, topology, target)
    return found


def _combinations(
    request: Request, holder: Issuer, target: Target, kinds: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield patterns and numbers of threads; values that make no difference are the usual ones."""
    usable = len(holder.cpus)
    in_memory = target.kind is EndpointKind.NODE
    threads = request.options.get("threads", str(min(usable, _MOST_THREADS)))
    counts = checked(request, "threads", grammar.expand_counts, threads, usable)
    if max(counts) > usable:
        raise request.wrong("threads", f"{max(counts)} are too many for {usable} usable CPUs")
    axes: dict[str, list[Any]] = {
        "pages": kinds,
        "method": _methods(request, holder),
        "threads": [usable] if holder.gpu is not None else counts,
        **({"backend": ["io_uring"], "direct": [True], "depth": [1]} if in_memory else {}),
    }
    for values in combinations(request, KvCachePattern, axes):
        if values["backend"] in SYNCHRONOUS:
            values["depth"] = 1
        if values["method"] != "kernel":
            values["multiprocessors"] = 0
        yield values


def _methods(request: Request, holder: Issuer) -> list[str]:
    """Return the methods that suit where the pool is."""
    on_gpu = holder.gpu is not None
    wanted = asked(request, KvCachePattern, "method") or ["kernel" if on_gpu else "memcpy"]
    fitting = [one for one in wanted if (one in GPU_METHODS) == on_gpu]
    if not fitting:
        where = "on a GPU" if on_gpu else "in host memory"
        raise request.wrong("method", f"none of these goes with a pool {where}")
    return fitting


def _spec(request: Request, holder: Issuer, target: Target, values: dict[str, Any]) -> KvCacheSpec:
    threads = values.pop("threads")
    in_memory = target.kind is EndpointKind.NODE
    unused = ("backend", "direct", "depth") if in_memory else ()
    parts = [str(holder.initiator), str(target)]
    parts += [f"t{threads}"] if holder.gpu is None else []
    parts += id_parts(KvCachePattern, values, *unused)
    own = {"policy": "bind", "nodes": [{"node": holder.node}]}
    placement: Any = own
    if in_memory:
        placement = checked(request, "to", machine.placement, target, None, "user")
    fields: dict[str, Any] = {
        "initiator": str(holder.initiator),
        "target": str(target),
        "sampling": sampling(request),
        "cpus": holder.cpus[:threads],
        "pool": {"placement": own}
        if holder.gpu is None
        else {"memory": "device", "gpu": holder.gpu},
        "placement": placement,
        **({} if in_memory else {"directory": target.path, "large": "objects" in request.options}),
        "pattern": values,
    }
    return spec_of(request, KvCacheSpec, fields, parts)


REQUEST = RequestForm(
    options=(
        options.FROM.but(help="Holder of the pool: node:0, cpus:0-7,16 or gpu:0"),
        options.to_of(KvCacheSpec, "the current directory").but(
            help="Holders of the objects: node:2 (host or CXL memory), file:/data (a directory)"
        ),
        options.THREADS.but(default="all, 8 at most; of GPUs, 1"),
        *options_of(KvCachePattern),
        options.PIN,
        options.PRECISION,
        options.BUDGET,
    ),
    expand=expand,
    help="""\
Pieces of a language model's cache move between scattered places of a pool and objects in memory or
in a file. Below a directory a file is made and removed; nothing else is written. The sizes of a
model are those of `tierscope storage --kv-cache MODEL`.""",
    examples=(
        "kv-cache node:0 --piece 16k,32k,64k",
        "kv-cache /tmp --op fetch --pieces 64 --objects 4 --json",
        "kv-cache node:0 /data --from gpu:0 --method kernel,batch,copy-engine",
    ),
)
