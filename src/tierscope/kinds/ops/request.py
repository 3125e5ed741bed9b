"""Requests for operations of databases."""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.ops.own_options import OWN, own_axes
from tierscope.kinds.ops.spec import MAX_KEYS, OpsSpec, where_of
from tierscope.kinds.ops.structures import INTERLEAVED, OF_STRUCTURES, SKEWED, STRUCTURES
from tierscope.model.endpoint import parse_target
from tierscope.model.errors import UserError
from tierscope.model.spec import Placement
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    blamed,
    checked,
    choices,
    identity,
    memory_paths,
    of_path,
    pages,
    reason,
    targets,
    thread_counts,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

_OPERATIONS = tuple(dict.fromkeys(op for one in STRUCTURES.values() for op in one.operations))
_DISTRIBUTIONS = ("uniform", "zipf")
_MAX_SCAN = 1 << 20
_MAX_EVERY = 4096
_ALPHA = 0.99
_BYTES_OF_KEY = {"column": 16}
_USUAL_BYTES_OF_KEY = 64
"""Of a default working set, for each key: about twice what a key takes, so that structures of all
kinds come out past the caches and fit beside each other."""
_PART = re.compile(r",(?=\s*\w+\s*=)")

Placed = Mapping[str, Placement]
"""Where each part of a structure is."""


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[OpsSpec]:
    """Yield a measurement for each combination, the placements of all parts innermost."""
    without = {name: text for name, text in request.options.items() if name != "to"}
    for path in memory_paths(request.model_copy(update={"options": without}), topology, OpsSpec):
        for pattern, threads in _points(request, topology, path, thp):
            for placed in _placements(request, topology, path, str(pattern["structure"])):
                yield _spec(request, path, (pattern, threads), placed)


def _points(
    request: Request, topology: Topology, path: MemoryPath, thp: bool
) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each combination's pattern and its threads."""
    structures = choices(request, "structure", tuple(STRUCTURES)) or ["btree"]
    pairs = _pairs(request, structures)
    for structure, operation in pairs:
        axes: dict[str, list[Any]] = {
            "keys": _keys(request, topology, path, structure),
            **own_axes(request, structure, structures),
            "interleave": [1],
            "pages": pages(request, topology, thp),
            "threads": thread_counts(request, path),
        }
        if (structure, operation) in INTERLEAVED:
            axes["interleave"] = _counts(request, "interleave", "1", 64)
        if operation == "scan":
            axes["scan_length"] = _counts(request, "scan-length", "100", _MAX_SCAN)
        every = {"sample_every": _counts(request, "sample-every", "64", _MAX_EVERY, 2)[0]}
        distributions = _distributions(request) if structure in SKEWED else [{}]
        for values, distribution in itertools.product(
            itertools.product(*axes.values()), distributions
        ):
            point = dict(zip(axes, values, strict=True))
            threads = point.pop("threads")
            named = {"structure": structure, "operation": operation}
            yield {**named, **point, **distribution, **every}, threads


def _pairs(request: Request, structures: list[str]) -> list[tuple[str, str]]:
    """Return the structures with their operations, those that go together; UserError where an
    option goes with none of them."""
    operations = choices(request, "op", _OPERATIONS)
    pairs = [
        (structure, operation)
        for structure in structures
        for operation in operations or STRUCTURES[structure].operations[:1]
        if operation in STRUCTURES[structure].operations
    ]
    if not pairs:
        asked = ", ".join(operations or [])
        raise request.wrong("op", f"'{asked}' goes with none of {', '.join(structures)}")
    if "scan-length" in request.options and not any(op == "scan" for _, op in pairs):
        raise request.wrong("scan-length", "goes with operation scan")
    if "interleave" in request.options and not set(pairs) & set(INTERLEAVED):
        able = ", ".join(f"{operation} of {structure}" for structure, operation in INTERLEAVED)
        raise request.wrong("interleave", f"goes with {able}")
    if "distribution" in request.options and not set(structures) & set(SKEWED):
        raise request.wrong("distribution", f"goes with structure {', '.join(SKEWED)}")
    return pairs


def _keys(request: Request, topology: Topology, path: MemoryPath, structure: str) -> list[int]:
    file = _keys_file(request)
    if file:
        return [file.stat().st_size // 8]
    if "keys" in request.options:
        return checked(request, "keys", grammar.expand_sizes, request.options["keys"])
    nodes = [node.number for node in machine.memory_nodes(topology)]
    size = machine.default_size(topology, path.cpus, nodes, 1)
    each = _BYTES_OF_KEY.get(structure, _USUAL_BYTES_OF_KEY)
    return [min(max(size // each, 1), MAX_KEYS)]


def _keys_file(request: Request) -> Path | None:
    """Return the file that holds the keys; UserError where it is none of 64-bit numbers."""
    text = request.options.get("keys", "")
    if not text.startswith("file:"):
        return None
    path = Path(text.removeprefix("file:")).absolute()
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise request.wrong("keys", f"{path}: {error.strerror}") from None
    if size is None:
        raise request.wrong("keys", f"{path} is no file; name one of 64-bit numbers")
    if size == 0 or size % 8:
        raise request.wrong(
            "keys",
            f"{path} has {size} bytes, which are no 64-bit numbers; write each key in 8 bytes, "
            "little-endian",
        )
    return path


def _distributions(request: Request) -> list[dict[str, Any]]:
    file = _keys_file(request)
    if file:
        for name in ("distribution", "zipf-alpha"):
            if name in request.options:
                raise request.wrong(name, "keys of a file are asked for in its order")
        return [{"distribution": "file", "keys_file": str(file)}]
    asked = choices(request, "distribution", _DISTRIBUTIONS) or ["uniform"]
    alphas = [_ALPHA]
    if "zipf-alpha" in request.options:
        if "zipf" not in asked:
            raise request.wrong("zipf-alpha", "goes with distribution zipf")
        words = grammar.split_words(request.options["zipf-alpha"])
        alphas = [checked(request, "zipf-alpha", grammar.parse_number, w, 0, 10) for w in words]
    found: list[dict[str, Any]] = []
    for name in asked:
        if name == "zipf":
            found += [{"distribution": name, "zipf_alpha": alpha} for alpha in alphas]
        else:
            found.append({"distribution": name})
    return found


def _counts(request: Request, option: str, default: str, most: int, least: int = 1) -> list[int]:
    found = checked(
        request, option, grammar.expand_counts, request.options.get(option, default), most, least
    )
    if max(found) > most:
        raise request.wrong(option, f"{max(found)} is too many; the maximum is {most}")
    return found


def _placements(
    request: Request, topology: Topology, path: MemoryPath, structure: str
) -> Iterator[Placed]:
    """Yield where the parts are: each on each target, or as --place says."""
    parts = STRUCTURES[structure].parts
    asked = request.options.get("place", "all")
    if asked != "all":
        for one in asked.split(";"):
            yield checked(request, "place", _assigned, topology, path, structure, one)
        return
    where = [path.placement]
    nodes = [node.number for node in machine.memory_nodes(topology)]
    if "to" in request.options:
        found = targets(request, "to", OpsSpec, nodes)
    else:
        found = [parse_target(f"node:{number}", OpsSpec.targets, "ops") for number in nodes]
    for target in found:
        checked(request, "to", machine.check_target, topology, target)
    given = [machine.placement(target, None, "user") for target in found]
    where = [*(one for one in where if one in given), *(one for one in given if one not in where)]
    for chosen in itertools.product(where, repeat=len(parts)):
        yield dict(zip(parts, chosen, strict=True))


def _assigned(topology: Topology, path: MemoryPath, structure: str, text: str) -> Placed:
    """Parse ``inner=node:0,leaves=node:2``; parts that are not named stay with the threads."""
    parts = STRUCTURES[structure].parts
    placed = dict.fromkeys(parts, path.placement)
    for word in _PART.split(text):
        name, equals, where = (piece.strip() for piece in word.partition("="))
        if not equals:
            raise UserError(f"'{word}' is neither 'all' nor such as {parts[0]}=node:0")
        grammar.parse_choice(name, parts)
        target = parse_target(where, OpsSpec.targets, OpsSpec.kind_name())
        machine.check_target(topology, target)
        placed[name] = machine.placement(target, None, "user")
    return placed


def _spec(
    request: Request, path: MemoryPath, point: tuple[dict[str, Any], int], placed: Placed
) -> OpsSpec:
    pattern, threads = point
    nodes = sorted({share.node for one in placed.values() for share in one.nodes})
    common, *_ = placed.values()
    fields = {
        **of_path(request, path),
        "id": _identity(request, path, point, placed),
        "target": "node:" + ",".join(map(str, nodes)),
        "cpus": path.cpus[:threads],
        "placement": common,
        "parts": {part: where for part, where in placed.items() if where != common},
        "pattern": pattern,
    }
    try:
        return OpsSpec.model_validate(fields)
    except ValidationError as error:
        option = blamed(request, error, ("keys", "inner-node", "leaf-node"))
        given = request.options.get(option, "default")
        raise request.wrong(option, f"'{given}': {reason(error)}") from None


def _identity(
    request: Request, path: MemoryPath, point: tuple[dict[str, Any], int], placed: Placed
) -> str:
    pattern, threads = point
    parts = [request.name or pattern["structure"], pattern["operation"], path.names[0]]
    parts += [f"{part}-{where_of(where)}" for part, where in placed.items()]
    parts += [f"t{threads}", grammar.format_size(pattern["keys"]), pattern["pages"]]
    if "distribution" in pattern:
        parts += [pattern["distribution"] + f"{pattern.get('zipf_alpha', '')}"]
    parts += [f"w{pattern['interleave']}"] if pattern["interleave"] > 1 else []
    parts += [f"l{pattern['scan_length']}"] if "scan_length" in pattern else []
    parts += [str(pattern[field]) for field in OF_STRUCTURES if field in pattern]
    return identity([*parts, *path.placed_as(request)])


REQUEST = RequestForm(
    options=(
        Option("structure", "LIST", ", ".join(STRUCTURES), "btree"),
        Option("op", "LIST", ", ".join(_OPERATIONS), "the structure's first"),
        Option(
            "keys",
            "SIZES",
            "Keys, as in 1m..64m; file:PATH: these numbers of 64 bits, asked for in their order",
            "past the caches",
        ),
        Option("distribution", "LIST", "How often each key is asked for: uniform, zipf", "uniform"),
        Option("zipf-alpha", "LIST", "Skew of zipf, above 0, at most 10", f"{_ALPHA}"),
        Option(
            "interleave",
            "COUNTS",
            "Lookups that a thread has under way at once, as in 1..32*2, at most 64",
            "1",
        ),
        Option("scan-length", "COUNTS", "Entries that a range scan reads", "100"),
        *(own.option for own in OWN.values()),
        options.FROM,
        Option(
            "place",
            "PLACEMENTS",
            "all: each part on each node of --to; or inner=node:0,leaves=node:2; several with ;",
            "all",
        ),
        options.TO.but(
            help="Where --place all puts parts: node:0, node:0,2@3:1 (interleaved), node:*",
            default="node:*",
        ),
        options.THREADS,
        options.PIN,
        options.PAGES,
        Option("sample-every", "COUNT", "Time one of so many operations", "64"),
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
A data structure is built with each of its parts on a node (btree: inner, leaves; hash: tags,
entries; column: column, positions; relations: build, probe, table, copies, output; runs: runs,
output; lsm: filters, fences, level0 to level3), and threads look up, insert, update, scan, filter,
join or merge. Without --place, every placement of every part over the nodes with memory is measured
and shown as one table. Threads that write have a structure of their own each, with their share of
the keys.""",
    examples=(
        "ops --structure btree,hash --keys 4m",
        "ops --keys 32m --place inner=node:0,leaves=node:2 --threads 1..all*2",
        "ops --op lookup,scan --distribution uniform,zipf --interleave 1..32*2",
        "ops --structure hash --op lookup,insert --to node:0,node:2",
        "ops --keys file:keys.bin",
        "ops --structure column --keys 256m --selectivity 0,1%,50%,100% --found positions,count",
        "ops --structure relations --keys 16m --partitions 1,256 --place table=node:2",
        "ops --structure runs,lsm --keys 16m",
    ),
)
