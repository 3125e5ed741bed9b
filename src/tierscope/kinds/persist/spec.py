"""The spec of persist: blocks that are written, and what has each of them persist."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Model, Word
from tierscope.model.evidence import OwnEvidence
from tierscope.model.property import ORDER, PAGES, SIZE, MadeBy, Property, declared
from tierscope.model.rules import Check, Prunes, Ruled, Ruling
from tierscope.model.spec import Bytes, EachCpu, MemorySpec, Pages, Placement, Region
from tierscope.model.topology import Topology
from tierscope.plans import machine, options
from tierscope.plans.axes import common_fields, memory_paths, thread_counts
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of, values_of

Method = Literal[
    "stores",
    "clwb",
    "clflushopt",
    "clflush",
    "dc-cvap",
    "dc-cvac",
    "nt-stores",
    "nt-drain",
    "msync",
    "fdatasync",
    "pool-persist",
    "transaction",
    "allocation",
]
"""stores, nt-stores: nothing persists; nt-drain: non-temporal stores and a fence; up to dc-cvac:
ordinary stores, that instruction for each line, and a fence; msync, fdatasync: stores to a mapped
file, and that system call; the last three: libpmemobj's, on a pool. The engine skips a method on a
target that has nothing for it."""
BY_FILE = ("msync", "fdatasync")
BY_POOL = ("pool-persist", "transaction", "allocation")
UNPERSISTED = {"nt-drain": "nt-stores"}
"""The method of the same stores without what has them persist; of others, ``stores``."""
_OF_ARM = ("stores", "dc-cvap", "dc-cvac", "nt-stores", "nt-drain")
_OF_X86 = ("stores", "clwb", "clflushopt", "clflush", "nt-stores", "nt-drain")


class PersistPattern(Ruled):
    """Blocks that each thread writes, one operation each."""

    method: Annotated[
        Method, Property(default_help="all that the CPUs and the target have", words="{}")
    ]
    size: Annotated[Bytes, SIZE.but(help="Bytes that all threads go over, as in 64k..1g")]
    """Bytes of all threads together, each with its own share."""
    pages: Annotated[Pages, PAGES] = "thp"
    order: Annotated[Literal["sequential", "random"], ORDER] = "sequential"
    block_size: Annotated[
        Bytes,
        Property(
            "Bytes that one operation persists, as in 64..1m*4",
            default="64,4k",
            words="blocks of {}",
            id="b{}",
        ),
    ]
    ranges: Annotated[
        Annotated[int, Field(ge=1, le=4096)] | None,
        Property(
            "Ranges per block of method transaction, each at its own place",
            default="1",
            words="{} ranges",
            id="r{}",
            essential=False,
        ),
    ] = None
    """Ranges of a transaction's block, each at a place of its own; 1 where absent.
    The engine skips what is not cut into multiples of 64 bytes."""

    rules: ClassVar[tuple[Ruling, ...]] = (Prunes("ranges", unless={"method": "transaction"}),)


class PersistedBy(Model):
    """How blocks were written, and what had them persist."""

    operation: str
    """The stores and what followed them: "16-byte stores, clwb of each line, sfence"."""
    cpu_has: list[str]
    """Instructions that write cache lines back, as the CPU names them."""
    durable: Word[Literal["not-asked", "volatile-memory", "yes", "no", "unknown"]]
    """Whether what an operation wrote survives a loss of power once it has ended. not-asked: of
    stores alone; volatile-memory: the memory forgets its contents; else as the target's evidence
    says."""


class PersistEvidence(OwnEvidence):
    """Keys of evidence of persistent stores."""

    persist: PersistedBy | None = None


class PersistSpec(MemorySpec):
    """The time that a block takes, with what has it persist, and the bandwidth."""

    metric: ClassVar[str] = "time_per_operation"
    own_evidence: ClassVar[type[OwnEvidence]] = PersistEvidence
    recorded: ClassVar[tuple[str, ...]] = ("method", "order", "block_size", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {"threads": int}

    kind: Literal["persist"] = "persist"
    cpus: Annotated[EachCpu, MadeBy("threads")]
    pattern: PersistPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern.size",
            "has fewer blocks than there are threads",
            lambda spec: spec.pattern.size // spec.pattern.block_size >= len(spec.cpus),
            ("pattern.block_size", "cpus"),
        ),
    )

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The written region."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads."""
        return {**self.pattern.as_recorded(), **self.placed_as(), "threads": len(self.cpus)}


SPEC = PersistSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[PersistSpec]:
    """Yield a measurement for each combination; unasked, every method that the CPUs and the target
    have, by one thread."""
    for path in memory_paths(request, topology, PersistSpec):
        counts = thread_counts(request, path) if "threads" in request.options else [1]
        arrays = Arrays(
            path.placement,
            default=machine.default_size(topology, path.cpus, path.nodes, 1),
            shares=max(counts),
            access_size=max(values_of(request, declared(PersistPattern)["block_size"])),
        )
        sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
        methods = asked(request, PersistPattern, "method") or _methods(topology, path.placement)
        ranges = values_of(request, declared(PersistPattern)["ranges"])
        axes = {
            "method": methods,
            "ranges": ranges if "transaction" in methods else [None],
            "size": sizes,
            "pages": kinds,
            "threads": counts,
        }
        for values in combinations(request, PersistPattern, axes):
            threads = values.pop("threads")
            fields = {
                **common_fields(request, path),
                "cpus": path.cpus[:threads],
                "placement": _placed(path.placement, values["method"]),
                "pattern": values,
            }
            parts = [values["method"], *path.names, f"t{threads}"]
            parts += id_parts(PersistPattern, values, "method")
            yield spec_of(request, PersistSpec, fields, [*parts, *path.placed_as(request)])


def _methods(topology: Topology, placement: Placement) -> tuple[str, ...]:
    by_cpu = _OF_ARM if topology.architecture == "aarch64" else _OF_X86
    persistent = placement.persistent
    if persistent is None or persistent.backing != "file":
        return by_cpu
    # Memory that stands in for a file's has no storage that the kernel could write to.
    return (*by_cpu, *(() if persistent.bound else BY_FILE), *BY_POOL)


def _placed(placement: Placement, method: str) -> Placement:
    """Return where a method's blocks are: those of libpmemobj take a pool in place of a file."""
    persistent = placement.persistent
    if persistent is None or persistent.backing != "file" or method not in BY_POOL:
        return placement
    return placement.model_copy(
        update={"persistent": persistent.model_copy(update={"backing": "pool"})}
    )


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(PersistSpec),
        options.THREADS.but(default="1"),
        options.PIN,
        *options_of(PersistPattern),
        *options.PLACEMENT,
        options.BACKED_BY,
        options.DAX_OFFSET,
        options.DESTROY_DAX,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
Each thread writes one block after the other and waits until it persists: ordinary stores, an
instruction that writes each cache line back, and a fence; or non-temporal stores and a fence.
stores and nt-stores are the same stores without anything of that. msync and fdatasync go with
pmem:DIR; so do pool-persist, transaction (with its undo log) and allocation, by libpmemobj on a
pool. Where targets are mixed, a method is skipped on those that it does not go with. On node:
targets the memory forgets its contents without power; the figures are what flushing costs.""",
    examples=(
        "persist --block-size 64..1m*4",
        "persist --to node:* --method stores,clwb,nt-drain --order random",
        "persist --to pmem:node:0 --method stores,clwb,transaction --ranges 1,4 --block-size 1k",
        "persist --method nt-drain --block-size 256 --threads 1..all*2",
    ),
)
