"""Requests for files."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.files.spec import FilesSpec
from tierscope.model.endpoint import EndpointKind, Initiator, Target
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    blamed,
    checked,
    choices,
    identity,
    initiators,
    reason,
    sampling,
    sizes,
    targets,
)
from tierscope.plans.options import PINS, Option
from tierscope.plans.pinning import pinned
from tierscope.plans.request import Request, RequestForm

OPERATIONS = ("create", "open", "stat", "read", "list", "unlink")
_CHANGING = ("create", "unlink")
_FILES = 1000
"""A thread's by default; who asks for more may take more than a tenth of what is free."""
_MAX_THREADS = 4096
_MAX_FILES = 10_000_000
_SAMPLE_S = 0.05


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[FilesSpec]:
    """Yield a measurement for each combination of the options' values."""
    nodes = [node.number for node in machine.cpu_nodes(topology)]
    chosen = (
        initiators(request, "from", FilesSpec, nodes)
        if "from" in request.options
        else [Initiator(kind=EndpointKind.NODE, numbers=(nodes[0],))]
    )
    there = (
        targets(request, "to", FilesSpec)
        if "to" in request.options
        else [Target(kind=EndpointKind.FILE, path=str(Path.cwd()))]
    )
    pins = choices(request, "pin", PINS) or ["cores"]
    for initiator, target in itertools.product(chosen, there):
        cpus = checked(request, "from", machine.initiator_cpus, topology, initiator)
        cpus = pinned(topology, cpus, pins[0])
        for threads, pattern in _patterns(request, len(cpus)):
            yield _spec(request, initiator, target, _cycled(cpus, threads), pattern)


def _cycled(cpus: list[int], count: int) -> list[int]:
    return [cpus[i % len(cpus)] for i in range(count)]


def _patterns(request: Request, cpus: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield numbers of threads and patterns; what makes no difference comes once."""
    axes = (
        _counts(request, "threads", "1", cpus, _MAX_THREADS),
        sizes(request, "file-size") or [4096],
        _counts(request, "files", str(_FILES), _MAX_FILES, _MAX_FILES),
        choices(request, "directories", ("own", "shared")) or ["own"],
        choices(request, "fsync", ("no", "file", "directory")) or ["no"],
        choices(request, "op", OPERATIONS) or list(OPERATIONS),
    )
    seen = []
    for threads, size, count, directories, fsync, operation in itertools.product(*axes):
        pattern = {
            "operation": operation,
            "file_size": size,
            "files": count,
            "directories": directories if threads > 1 else "own",
            "fsync": fsync if operation in _CHANGING else "no",
        }
        if (threads, pattern) not in seen:
            seen.append((threads, pattern))
            yield threads, pattern


def _counts(request: Request, option: str, default: str, every: int, most: int) -> list[int]:
    text = request.options.get(option, default)
    found: list[int] = checked(request, option, grammar.expand_counts, text, every)
    if max(found) > most:
        raise request.wrong(option, f"{max(found)} is too many; the maximum is {most}")
    return found


def _spec(
    request: Request,
    initiator: Initiator,
    target: Target,
    cpus: list[int],
    pattern: dict[str, Any],
) -> FilesSpec:
    fsync, directories = pattern["fsync"], pattern["directories"]
    parts = [
        request.name or "files",
        str(initiator),
        str(target),
        pattern["operation"],
        grammar.format_size(pattern["file_size"]),
        f"n{pattern['files']}",
        f"t{len(cpus)}",
        *(["shared"] if directories == "shared" else []),
        *([f"fsync-{fsync}"] if fsync != "no" else []),
    ]
    fields: dict[str, Any] = {
        "id": identity(parts),
        "initiator": str(initiator),
        "target": str(target),
        "sampling": {"sample_s": _SAMPLE_S, **sampling(request)},
        "cpus": cpus,
        "directory": target.path,
        "large": pattern["files"] > _FILES,
        "pattern": pattern,
    }
    try:
        return FilesSpec.model_validate(fields)
    except ValidationError as error:
        raise request.wrong(blamed(request, error, ("files", "to")), reason(error)) from None


REQUEST = RequestForm(
    options=(
        options.FROM,
        Option("to", "ENDPOINTS", "Directories: file:/data", "the current directory"),
        Option("op", "LIST", ", ".join(OPERATIONS), "all of them"),
        Option("file-size", "SIZES", "Bytes of each file, as in 0,4k,64k, at most 16m", "4k"),
        Option("files", "COUNTS", "Files in each directory", "1000"),
        Option(
            "directories",
            "LIST",
            "own: one for each thread; shared: one for all, each thread with its share of the "
            "files",
            "own",
        ),
        Option(
            "fsync",
            "LIST",
            "no; file: create waits until the file is on the drive, unlink finds it there; "
            "directory: both wait for the directory, too",
            "no",
        ),
        options.THREADS.but(help="Number of threads, more than CPUs if you like", default="1"),
        options.PIN,
        options.PRECISION,
        options.BUDGET,
        options.SAMPLE.but(default="50ms"),
    ),
    expand=expand,
    help="""\
Files are made in a new directory below the one that is named, and removed; nothing else is written.
The kernel has their names and inodes in its caches: figures are those of a warm cache.""",
    examples=(
        "files --to file:/tmp",
        "files --to file:/tmp --op create,unlink --file-size 0,4k,64k --fsync no,file,directory",
        "files --to file:/tmp --threads 1..all*2 --directories own,shared --json",
    ),
)
