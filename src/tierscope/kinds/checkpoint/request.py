"""Requests for checkpoint."""

import itertools
import os.path
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.checkpoint.spec import CheckpointBackend, CheckpointSpec
from tierscope.model.endpoint import EndpointKind, Initiator, Target
from tierscope.model.io import GPU_BACKENDS, SYNCHRONOUS
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    blamed,
    checked,
    choices,
    identity,
    initiators,
    pages,
    reason,
    sampling,
    sizes,
    targets,
)
from tierscope.plans.gpu import gpu_cpus, gpu_numbered
from tierscope.plans.options import PINS, Option
from tierscope.plans.persistent import persistent_placement
from tierscope.plans.pinning import pinned
from tierscope.plans.request import Request, RequestForm

BACKENDS: tuple[str, ...] = CheckpointBackend.__args__  # type: ignore[attr-defined]
BACKINGS = ("file", "pool")
_SIZE = 256 << 20
_EMULATED_SIZE = 2 << 20
_DEPTH = 8
_MOST_THREADS = 8
"""By default: more are not needed to keep a target busy with large blocks."""
_MAX_KILLS = 100_000
_BUDGET_S = 10.0
"""A state of the default's size takes some tenths of a second to save and to read back."""
_LONGEST_S = 86400.0
_KILLS_BYTES_PER_S = 0.2e9
"""About how fast kills go, in bytes of the state a kill: their time comes on top of the budget."""


@dataclass(frozen=True)
class _Saver:
    """Who saves: CPUs with a state on a node, or near a GPU that has it."""

    initiator: Initiator
    cpus: list[int]
    node: int
    gpu: int | None = None


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[CheckpointSpec]:
    """Yield a measurement for each combination of the options' values."""
    found = _targets(request, topology)
    _check_persistent(request, found)
    for saver, target in itertools.product(_savers(request, topology), found):
        seen = []
        for values in _combinations(request, topology, saver, target, thp):
            if values not in seen:
                seen.append(values)
                yield _spec(request, topology, saver, target, values)


def endpoint_of(word: str) -> str:
    """Return a directory as an endpoint; others are endpoints already."""
    return f"file:{os.path.abspath(word)}" if word.startswith((".", "/")) else word  # noqa: PTH100


def _savers(request: Request, topology: Topology) -> Iterator[_Saver]:
    nodes = [node.number for node in machine.cpu_nodes(topology)]
    chosen = (
        initiators(request, "from", CheckpointSpec, nodes)
        if "from" in request.options
        else [Initiator(kind=EndpointKind.NODE, numbers=(nodes[0],))]
    )
    pins = choices(request, "pin", PINS) or ["cores"]
    if len(pins) > 1:
        raise request.wrong("pin", "a request has one way of pinning")
    for initiator in chosen:
        if initiator.kind is EndpointKind.GPU:
            gpu = checked(request, "from", gpu_numbered, topology, initiator.numbers[0])
            yield _Saver(initiator, gpu_cpus(topology, gpu), 0, gpu.index)
            continue
        cpus = checked(request, "from", machine.initiator_cpus, topology, initiator)
        cpus = pinned(topology, cpus, pins[0])
        own = [node.number for node in machine.memory_nodes(topology) if cpus[0] in node.cpus]
        yield _Saver(initiator, cpus, (own or nodes)[0])


def _targets(request: Request, topology: Topology) -> list[Target]:
    if "to" not in request.options:
        return [Target(kind=EndpointKind.FILE, path=str(Path.cwd()))]
    nodes = [node.number for node in machine.memory_nodes(topology)]
    words = ",".join(map(endpoint_of, request.options["to"].splitlines()))
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
    request: Request, topology: Topology, saver: _Saver, target: Target, thp: bool
) -> Iterator[dict[str, Any]]:
    """Yield patterns and numbers of threads; values that make no difference are the usual ones."""
    usable = len(saver.cpus)
    threads = request.options.get("threads", str(min(usable, _MOST_THREADS)))
    counts = checked(request, "threads", grammar.expand_counts, threads, usable)
    if max(counts) > usable:
        raise request.wrong("threads", f"{max(counts)} are too many for {usable} usable CPUs")
    in_memory = target.kind is not EndpointKind.FILE
    default_size = _EMULATED_SIZE if topology.emulated else _SIZE
    axes = (
        sizes(request, "size") or [default_size],
        counts,
        _backends(request, saver, in_memory),
        [word == "yes" for word in choices(request, "direct", ("yes", "no")) or ["yes"]],
        _counts(request, "depth", str(_DEPTH), 1, 4096),
        sizes(request, "block-size") or [1 << 20],
        pages(request, topology, thp),
        _backings(request, target),
    )
    kills = _counts(request, "kills", "0", 0, _MAX_KILLS)
    if len(kills) > 1:
        raise request.wrong("kills", "a request has one number of kills")
    for size, count, backend, direct, depth, block, page, backing in itertools.product(*axes):
        one = in_memory or backend in SYNCHRONOUS
        yield {
            "size": size,
            "threads": count,
            "backend": backend,
            "direct": True if in_memory else direct,
            "depth": 1 if one else depth,
            "block_size": min(block, size),
            "pages": "thp" if saver.gpu is not None else page,
            "kills": kills[0],
            "backing": backing,
        }


def _backends(request: Request, saver: _Saver, in_memory: bool) -> list[str]:
    """Return the backends that suit where the state is; one of them for memory as a target."""
    asked = choices(request, "backend", BACKENDS)
    on_gpu = saver.gpu is not None
    usual = "staged-async" if on_gpu else "libaio"
    fitting = [one for one in asked or [usual] if (one in GPU_BACKENDS) == on_gpu]
    if not fitting:
        where = "on a GPU" if on_gpu else "in host memory"
        raise request.wrong("backend", f"none of these goes with a state {where}")
    return ["staged" if on_gpu else "posix"] if in_memory else fitting


def _backings(request: Request, target: Target) -> list[str]:
    """Return what holds persistent memory; of other targets nothing."""
    asked = choices(request, "backing", BACKINGS)
    return (asked or ["file"]) if target.kind is EndpointKind.PMEM else [""]


def _counts(request: Request, option: str, default: str, least: int, most: int) -> list[int]:
    text = request.options.get(option, default)
    found: list[int] = checked(request, option, grammar.expand_counts, text, most, least)
    if max(found) > most:
        raise request.wrong(option, f"{max(found)} is too many; the maximum is {most}")
    return found


def _spec(
    request: Request, topology: Topology, saver: _Saver, target: Target, values: dict[str, Any]
) -> CheckpointSpec:
    pattern = {name: values[name] for name in values if name not in ("threads", "backing")}
    threads = values["threads"]
    parts = [
        request.name or "checkpoint",
        str(saver.initiator),
        str(target),
        grammar.format_size(values["size"]),
        f"t{threads}",
        *(_way(values) if target.kind is EndpointKind.FILE else []),
        *([values["backing"]] if values["backing"] else []),
        *([values["pages"]] if "pages" in request.options else []),
        *([grammar.format_size(values["block_size"])] if "block-size" in request.options else []),
    ]
    bound = {"policy": "bind", "nodes": [{"node": saver.node}]}
    rules = {"budget_s": _BUDGET_S, **sampling(request)}
    kills_s = values["kills"] * values["size"] / _KILLS_BYTES_PER_S
    rules["budget_s"] = min(rules["budget_s"] + kills_s, _LONGEST_S)
    fields: dict[str, Any] = {
        "id": identity(parts),
        "initiator": str(saver.initiator),
        "target": str(target),
        "sampling": rules,
        "cpus": saver.cpus[:threads],
        "state": {"placement": bound}
        if saver.gpu is None
        else {"memory": "device", "gpu": saver.gpu},
        **_where(request, topology, saver, target, values["backing"]),
        "pattern": pattern,
    }
    try:
        return CheckpointSpec.model_validate(fields)
    except ValidationError as error:
        option = blamed(request, error, ("size", "kills", "to"))
        raise request.wrong(option, reason(error)) from None


def _where(
    request: Request, topology: Topology, saver: _Saver, target: Target, backing: str
) -> dict[str, Any]:
    """Return the fields of a spec that say where checkpoints go."""
    if target.kind is EndpointKind.FILE:
        return {"directory": target.path, "large": "size" in request.options}
    if target.kind is EndpointKind.NODE:
        return {"placement": checked(request, "to", machine.placement, target, None, "user")}
    battery = (choices(request, "backed-by", ("battery",)) or [""])[0]
    given = (topology, saver.cpus, target, {"backing": backing, "backed_by": battery})
    return {"placement": checked(request, "to", persistent_placement, *given)}


def _way(values: dict[str, Any]) -> list[str]:
    """Return what ids say of how a file is written."""
    return [values["backend"], "direct" if values["direct"] else "buffered", f"d{values['depth']}"]


REQUEST = RequestForm(
    options=(
        options.FROM.but(help="What has the state: node:0, cpus:0-7,16 or gpu:0"),
        Option(
            "to",
            "ENDPOINTS",
            "Targets: file:/data (a directory), pmem:/mnt/pmem (mapped, or a pool), pmem:node:2, "
            "node:2 (memory that outlives the program)",
            "the current directory",
        ),
        options.SIZE.but(help="Bytes of the state, as in 64m..1g; the target takes twice as much",
                         default="256m, or 2m in an emulated machine"),
        options.THREADS.but(default="all, 8 at most"),
        Option("backend", "LIST", ", ".join(BACKENDS), "libaio; of GPUs, staged-async"),
        Option("direct", "LIST", "yes: past the page cache (O_DIRECT); no: through it", "yes"),
        Option("depth", "COUNTS", "Operations of each thread in flight", str(_DEPTH)),
        Option("block-size", "SIZES", "Bytes of one operation", "1m"),
        options.BACKING.but(help="What holds pmem:DIR: file (mapped), pool (libpmemobj)"),
        options.BACKED_BY,
        options.PAGES,
        options.PIN,
        Option(
            "kills",
            "COUNT",
            "Times that a program which saves checkpoints is killed and started again, on top of "
            "the budget",
            "0",
        ),
        options.PRECISION,
        options.BUDGET.but(default="10s"),
    ),
    expand=expand,
    help="""\
A state is written to each target as a checkpoint: two slots, the header last, each step waited for.
Then it is read back and verified. Below a directory a file is made and removed; nothing else is
written. A word without a colon is a directory, as for file:.""",
    examples=(
        "checkpoint",
        "checkpoint node:0 /tmp --size 64m --kills 20",
        "checkpoint /tmp --size 16m..64m --threads 1,2 --json",
        "checkpoint /data --from gpu:0 --backend staged-async,cufile",
    ),
)  # fmt: skip
