"""The spec of checkpoint: a program's state, saved so that it outlives the program."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.kinds.model_checkpoint import spec as model_checkpoint
from tierscope.model.base import Count, Model, Word
from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.evidence import OwnEvidence
from tierscope.model.io import GPU_BACKENDS, SYNCHRONOUS, Buffers, FilePath
from tierscope.model.path import of_operation
from tierscope.model.persistent import Persistent
from tierscope.model.property import IN_BYTES, PAGES, SIZE, MadeBy, Property
from tierscope.model.rules import Differs, Given, Obeys, Ruled, Ruling, needs, refuses
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
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import checked, choices, pages, sampling, targets
from tierscope.plans.issuers import Issuer, issuers
from tierscope.plans.persistent import persistent_placement
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.path import Limit, Paths
    from tierscope.model.topology import Cache


CELL = 4096
"""Bytes of the state that carry a checksum of their own; a header is as large."""
_PASSES = 12
"""Passes over the state in a repetition: filling the target, and the fewest samples."""
_PASSES_OF_A_KILL = 6

CheckpointBackend = Literal["posix", "libaio", "io_uring", "cufile", "staged", "staged-async"]


TargetPlacement = Annotated[
    Placement,
    Obeys(
        (
            refuses(
                {"policy": Differs("bind")},
                because="of a checkpoint's memory is bind: one node",
            ),
            refuses(
                {"persistent.backing": ("pool-objects", "device", "shared-file")},
                because="of a checkpoint's memory is file or pool",
            ),
        )
    ),
]
BACKINGS = ("file", "pool")
_SIZE = 256 << 20
_EMULATED_SIZE = 2 << 20
_MOST_THREADS = 8
"""Default limit: more threads are not needed to keep a target busy with large blocks."""
_BUDGET_S = 10.0
"""A state of the default's size takes some tenths of a second to save and to read back."""
_LONGEST_S = 86400.0
_KILLS_BYTES_PER_S = 0.2e9
"""About how fast kills go, in bytes of the state a kill: their time comes on top of the budget."""


class CheckpointPattern(Ruled):
    """The state, and how it moves."""

    size: Annotated[
        int,
        IN_BYTES,
        Field(ge=CELL, le=1 << 50, multiple_of=CELL),
        SIZE.but(
            help="Bytes of the state, as in 64m..1g; the target takes twice as much",
            default_help="256m, or 2m in an emulated machine",
        ),
    ]
    """Bytes of the state. The target takes twice as much: the last good checkpoint stays untouched
    while the next one is written."""
    pages: Annotated[Pages, PAGES.but(id_always=False)] = "thp"
    """Pages of a state in host memory."""
    backend: Annotated[
        CheckpointBackend,
        Property(default_help="libaio; of GPUs, staged-async", words="by {}", id_always=True),
    ] = "posix"
    """How a file is written and read, as of input and output; memory is copied to."""
    direct: Annotated[
        bool,
        Property(
            "yes: past the page cache (O_DIRECT); no: through it",
            words="direct|through the page cache",
            id="buffered",
            essential=False,
        ),
    ] = True
    depth: Annotated[
        int,
        Field(ge=1, le=4096),
        Property("Operations of each thread in flight", default="8", id="d{}", id_always=True),
    ] = 1
    block_size: Annotated[
        int,
        IN_BYTES,
        Field(ge=CELL, le=1 << 30, multiple_of=CELL),
        Property(
            "Bytes of one operation", label="block", default="1m", words="{} blocks", id="b{}"
        ),
    ] = 1 << 20
    kills: Annotated[
        int,
        Field(ge=0, le=100_000),
        Property(
            "Times to kill and restart a program while it saves checkpoints, on top of the budget",
            single=True,
            id="k{}",
        ),
    ] = 0

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"depth": Differs(1), "backend": SYNCHRONOUS},
            because="is 1: this backend has one operation a thread in flight",
        ),
    )


class Kills(Model):
    """Programs that were killed while they saved checkpoints (SIGKILL), one after the other. Each
    was started from the last good checkpoint, all of which was verified."""

    kills: Count
    while_saving: Count
    """Kills that came before the checkpoint that was being written was known to be durable,"""
    went_on: Count
    """and of these, those after which it was the last good one all the same."""


class Checkpoints(Model):
    """Checkpoints of a repetition, and how durable they are."""

    medium: Word[Literal["file", "mapped", "pool", "memory"]]
    """mapped: a mapped file, with the evidence ``persistent``; pool: of libpmemobj; memory: shared
    memory of a node, which outlives the program and nothing else."""
    durable_by: str
    """The step after which a checkpoint counts as durable."""
    survives_power_loss: Word[Literal["yes", "no", "unknown"]] | None = None
    """Whether a pool's last good checkpoint would have survived."""
    why: str | None = None
    """In one sentence."""
    restarts: Count
    """In each of them all of the state was read back and verified."""
    pages: dict[str, Count] | None = None
    """Pages of memory by node, as read back."""
    set_up_s: float
    """Seconds of making the state and the target; inside no figure."""
    kills: Kills | None = None


class CheckpointEvidence(OwnEvidence):
    """Keys of evidence of checkpoints."""

    checkpoint: Checkpoints | None = None


class CheckpointSpec(MeasurementSpec):
    """Bandwidth and time until a checkpoint is durable, and until a program runs on from it."""

    metric: ClassVar[str] = "bandwidth"
    own_evidence: ClassVar[type[OwnEvidence]] = CheckpointEvidence
    compared: ClassVar[tuple[str, ...]] = ("restart_time",)
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
    cpus: Annotated[Cpus, MadeBy("threads")]
    """One a thread."""
    state: Buffers
    """Memory that the state is in."""
    directory: FilePath | None = None
    """A file of checkpoints is made below it, and removed."""
    large: bool = False
    """The file may take more than a tenth of the free space."""
    placement: Annotated[TargetPlacement | None, MadeBy("to")] = None
    """In place of a directory: memory that checkpoints go to."""
    pattern: CheckpointPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        needs("placement", when={"directory": None}, because="or a placement is needed"),
        refuses(
            {"directory": Given(), "placement": Given()}, because="does not go with a placement"
        ),
        needs(
            "state.gpu",
            when={"pattern.backend": GPU_BACKENDS},
            because="of a GPU needs a state on a GPU",
        ),
        refuses(
            {"pattern.backend": Given(), "state.gpu": Given()},
            unless={"pattern.backend": GPU_BACKENDS},
            because="of files takes no state on a GPU",
        ),
        refuses(
            {"pattern.kills": Differs(0), "state.gpu": Given()},
            because="go with a state in host memory: CUDA does not outlive fork",
        ),
    )

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
        """The limit of writes by links and drives."""
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
        """Seconds for filling the target, the fewest samples, and kills."""
        passes = _PASSES + _PASSES_OF_A_KILL * self.pattern.kills
        return super().set_up_s() + passes * self.pattern.size / SLOWEST_BYTES_PER_S


SPEC = CheckpointSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[MeasurementSpec]:
    """Yield a measurement for each combination of the options' values; of a model, those of the
    kind that measures its files."""
    if "model" in request.options:
        yield from _of_model(request, topology, thp)
        return
    for option in _OF_MODELS:
        if option.name in request.options:
            raise request.wrong(option.name, "goes with --model")
    found = _targets(request, topology)
    _check_persistent(request, found)
    for saver, target in itertools.product(issuers(request, topology, CheckpointSpec), found):
        seen = []
        for values in _combinations(request, topology, saver, target, thp):
            if values not in seen:
                seen.append(values)
                yield _spec(request, topology, saver, target, {**values})


def _of_model(request: Request, topology: Topology, thp: bool) -> Iterator[MeasurementSpec]:
    """Yield the measurements of a model's files; raises UserError for options of other states."""
    taken = {option.name for option in model_checkpoint.REQUEST.options}
    for name in request.options:
        if name not in taken:
            raise request.wrong(name, "has no effect with --model, which has files of its own")
    yield from model_checkpoint.expand(request, topology, thp)


def _targets(request: Request, topology: Topology) -> list[Target]:
    if "to" not in request.options:
        return [Target(kind=EndpointKind.FILE, path=str(Path.cwd()))]
    nodes = [node.number for node in machine.memory_nodes(topology)]
    words = ",".join(request.options["to"].splitlines())
    named = request.model_copy(update={"options": {**request.options, "to": words}})
    found = targets(named, "to", CheckpointSpec, nodes)
    for target in found:
        if target.numbers:
            checked(request, "to", machine.check_target, topology, target)
    return found


def _check_persistent(request: Request, found: list[Target]) -> None:
    """Refuse options of persistent memory where no target is any."""
    for option, words in (("backing", BACKINGS), ("backed-by", ("battery",))):
        if choices(request, option, words) and all(t.kind is not EndpointKind.PMEM for t in found):
            raise request.wrong(option, "goes with pmem:DIR or pmem:node:0")


def _combinations(
    request: Request, topology: Topology, saver: Issuer, target: Target, thp: bool
) -> Iterator[dict[str, Any]]:
    """Yield patterns and numbers of threads; values that make no difference are the usual ones."""
    usable = len(saver.cpus)
    threads = request.options.get("threads", str(min(usable, _MOST_THREADS)))
    counts = checked(request, "threads", grammar.expand_counts, threads, usable)
    if max(counts) > usable:
        raise request.wrong("threads", f"{max(counts)} are too many for {usable} usable CPUs")
    in_memory = target.kind is not EndpointKind.FILE
    default_size = _EMULATED_SIZE if topology.emulated else _SIZE
    axes: dict[str, list[Any]] = {
        "size": asked(request, CheckpointPattern, "size") or [default_size],
        "pages": pages(request, topology, thp) if saver.gpu is None else ["thp"],
        "backend": _backends(request, saver, in_memory),
        **({"direct": [True], "depth": [1]} if in_memory else {}),
        "threads": counts,
        "backing": _backings(request, target),
    }
    for values in combinations(request, CheckpointPattern, axes):
        if values["backend"] in SYNCHRONOUS:
            values["depth"] = 1
        values["block_size"] = min(values["block_size"], values["size"])
        yield values


def _backends(request: Request, saver: Issuer, in_memory: bool) -> list[str]:
    """Return the backends that suit where the state is; one of them for memory as a target."""
    on_gpu = saver.gpu is not None
    wanted = asked(request, CheckpointPattern, "backend")
    usual = "staged-async" if on_gpu else "libaio"
    fitting = [one for one in wanted or [usual] if (one in GPU_BACKENDS) == on_gpu]
    if not fitting:
        where = "on a GPU" if on_gpu else "in host memory"
        raise request.wrong("backend", f"none of these goes with a state {where}")
    return ["staged" if on_gpu else "posix"] if in_memory else fitting


def _backings(request: Request, target: Target) -> list[str]:
    """Return what holds persistent memory; of other targets nothing."""
    wanted = choices(request, "backing", BACKINGS)
    return (wanted or ["file"]) if target.kind is EndpointKind.PMEM else [""]


def _spec(
    request: Request, topology: Topology, saver: Issuer, target: Target, values: dict[str, Any]
) -> CheckpointSpec:
    threads, backing = values.pop("threads"), values.pop("backing")
    unused = () if target.kind is EndpointKind.FILE else ("backend", "direct", "depth")
    parts = [str(saver.initiator), str(target), f"t{threads}"]
    parts += id_parts(CheckpointPattern, values, *unused)
    parts += [backing] if backing else []
    bound = {"policy": "bind", "nodes": [{"node": saver.node}]}
    rules = {"budget_s": _BUDGET_S, **sampling(request)}
    kills_s = values["kills"] * values["size"] / _KILLS_BYTES_PER_S
    rules["budget_s"] = min(rules["budget_s"] + kills_s, _LONGEST_S)
    fields: dict[str, Any] = {
        "initiator": str(saver.initiator),
        "target": str(target),
        "sampling": rules,
        "cpus": saver.cpus[:threads],
        "state": {"placement": bound}
        if saver.gpu is None
        else {"memory": "device", "gpu": saver.gpu},
        **_where(request, topology, saver, target, backing),
        "pattern": values,
    }
    return spec_of(request, CheckpointSpec, fields, parts)


def _where(
    request: Request, topology: Topology, saver: Issuer, target: Target, backing: str
) -> dict[str, Any]:
    """Return the fields of a spec that say where checkpoints go."""
    if target.kind is EndpointKind.FILE:
        return {"directory": target.path, "large": "size" in request.options}
    if target.kind is EndpointKind.NODE:
        return {"placement": checked(request, "to", machine.placement, target, None, "user")}
    battery = (choices(request, "backed-by", ("battery",)) or [""])[0]
    given = (topology, saver.cpus, target, {"backing": backing, "backed_by": battery})
    return {"placement": checked(request, "to", persistent_placement, *given)}


_SHARED = ("from", "to", "pin", "block-size")
_OF_MODELS = tuple(
    replace(
        option,
        essential=option.name == "model",
        default="none: a state of --size" if option.name == "model" else option.default,
    )
    for option in model_checkpoint.REQUEST.options
    if option.name not in _SHARED
)

REQUEST = RequestForm(
    options=(
        options.FROM.but(help="Owner of the state: node:0, cpus:0-7,16 or gpu:0"),
        options.to_of(CheckpointSpec, "the current directory").but(
            help="Targets: file:/data (a directory), pmem:/mnt/pmem (mapped, or a pool), "
            "pmem:node:2, node:2 (memory that outlives the program)"
        ),
        options.THREADS.but(default="all, 8 at most"),
        *options_of(CheckpointPattern),
        *_OF_MODELS,
        options.BACKING.but(help="Backing of pmem:DIR: file (mapped), pool (libpmemobj)"),
        options.BACKED_BY,
        options.PIN,
        options.PRECISION,
        options.BUDGET.but(default="10s"),
    ),
    expand=expand,
    help="""\
A state is written to each target as a checkpoint: two slots, the header last, each step waited for.
Then it is read back and verified. Below a directory a file is made and removed; nothing else is
written. A word without a colon is a directory, as for file:. With --model, ranks write the files of
a large model's checkpoint.""",
    examples=(
        "checkpoint",
        "checkpoint node:0 /tmp --size 64m --kills 20",
        "checkpoint /tmp --size 16m..64m --threads 1,2 --json",
        "checkpoint /data --from gpu:0 --backend staged-async,cufile",
        "checkpoint /data --model llama3-70b --scale 0.1",
    ),
)  # fmt: skip
