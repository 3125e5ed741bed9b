"""Measurements of ``tierscope storage``: a path, from the page cache to the drive's limits.

Each part asks one question, as requests of a kind that a person could type. Where two parts
ask for the same measurement it is made once and shown in both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from tierscope.kinds.files import show as small_files
from tierscope.kinds.io.show import (
    VIEW,
    block_lines,
    cache_lines,
    depth_lines,
    headroom,
    idle,
    in_sentences,
    io_remarks,
    latency_text,
    thread_lines,
)
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.storage_paths import near_and_far
from tierscope.model.endpoint import Target, parse_target
from tierscope.model.errors import UserError, counted
from tierscope.model.run import Measurement, Run
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand, with_new_id
from tierscope.plans.fit import fit_time
from tierscope.plans.grammar import format_size
from tierscope.plans.machine import GIB, MIB
from tierscope.plans.request import Request
from tierscope.report.evidence import remarks, targets_text
from tierscope.report.style import note, title
from tierscope.report.table import common, common_words, show_rows

SECONDS = 75.0
"""Time that the tour of one target is fitted into, without making its file."""
MAIN_SECONDS = 30.0
"""The same of the parts of ``run --storage``."""
_FREE_SHARE = 10
"""Our files take at most a tenth of the free space."""
_LEAST = 64 * MIB
"""Less than that says nothing of a drive."""
_LEAST_S = 1.0
"""Time of a figure from which on nearly every one has an interval, even on a busy machine."""
_SHORT_SAMPLE_S = 0.005
"""Sample of a short tour: six repetitions and more fit into a figure's time."""
_FEWEST_POINTS = 6
"""Points that even the shortest tour has."""
_SAMPLING = {"budget": "1", "sample": "20ms", "precision": "2%"}
_BLOCK = 4096
_SMALL = {"order": "random", "block-size": "4k"}
_LARGE = {"order": "sequential", "block-size": "1m"}
_WARM = {"range": "16m"}
"""Few enough bytes for all of them to be in the page cache after the first moments."""
Lines = Callable[[Sequence[Measurement]], list[str]]
_SAID: dict[str, Lines] = {
    "cache": cache_lines,
    "threads": thread_lines,
    "depth": depth_lines,
    "blocks": block_lines,
}
"""Sentences below each part's table."""
_OF_FILES = "files"
"""The part that goes to many small files: its table is another, and it says nothing of a drive."""


@dataclass(frozen=True)
class Part:
    """One question of the tour."""

    name: str
    """Begins the ids of its measurements."""
    title: str
    options: tuple[dict[str, str], ...]
    """Options of requests, beyond those that all parts share."""
    kind: str = "io"
    """Kind of the requests."""
    main: bool = False
    """It is part of ``run --storage``, too."""


PARTS = (
    Part(
        "cache",
        "Page cache against the drive",
        (
            {**_SMALL, **_WARM, "backend": "posix", "direct": "no,yes"},
            {**_SMALL, **_WARM, "backend": "mmap"},
            {**_LARGE, **_WARM, "backend": "posix", "direct": "no,yes"},
            {**_LARGE, **_WARM, "backend": "mmap"},
        ),
    ),
    Part(
        "threads",
        "Threads, 4 KiB random, one operation each in flight",
        ({**_SMALL, "op": "read,write", "threads": "1..all*2"},),
    ),
    Part(
        "depth",
        "Queue depth, 4 KiB random",
        (
            {**_SMALL, "depth": "1..256*2"},
            {**_SMALL, "op": "write", "depth": "1..256*4"},
        ),
        main=True,
    ),
    Part(
        "mix",
        "Reads and writes at once, 4 KiB random",
        ({**_SMALL, "op": "read,mix,write", "depth": "16", "read-percent": "70,30"},),
    ),
    Part(
        "blocks",
        "Block size, sequential",
        ({"op": "read,write", "order": "sequential", "block-size": "4k..16m*4", "depth": "8"},),
        main=True,
    ),
    Part(
        "grid",
        "Block size and depth, random reads",
        ({"order": "random", "block-size": "4k,16k,64k,256k,1m", "depth": "1,4,16,64"},),
    ),
)
_SMALL_FILES = Part("files", "Small files", ({"files": "1000"},), kind="files")
_FAR = Part(
    "from",
    "CPUs near the drive and far from it",
    ({**_SMALL, "depth": "32"}, {**_LARGE, "depth": "8"}),
)
_GPU = Part(
    "gpu",
    "From storage to a GPU: staged through the host, and by cuFile",
    (
        {**_LARGE, "backend": "staged,staged-managed,cufile"},
        {**_LARGE, "backend": "staged-async,cufile-batch", "depth": "8"},
        {"order": "random", "block-size": "4k", "backend": "staged,cufile"},
    ),
)


@dataclass(frozen=True)
class Given:
    """Options of the tour."""

    targets: Sequence[Target]
    facts: Sequence[PathFacts]
    """Facts of each target, from a child process."""
    initiator: str = ""
    """Empty: the node near the drive, or the first one."""
    size: int | None = None
    """Bytes of the file that is made in a directory."""
    overwrite: bool = False
    """Another's file may be written."""
    keep: bool = False
    """The files that are made stay."""


@dataclass
class Shown:
    """A part with the ids of its measurements of one target."""

    part: Part
    target: Target
    ids: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Tour:
    """The plan, and the part of each measurement."""

    plan: Plan
    parts: list[Shown]
    left_out: str = ""
    """What a short time leaves out, in one line; empty: nothing."""


def tour(
    topology: Topology,
    given: Given,
    thp: bool,
    main_only: bool = False,
    seconds: float | None = None,
) -> Tour:
    """Return the tour of these targets; ``main_only``: its parts for ``run --storage``.

    ``seconds`` is the time that it is fitted into, by default some for each target.
    """
    specs: dict[str, Spec] = {}
    parts: list[Shown] = []
    for target, facts in zip(given.targets, given.facts, strict=True):
        for part, options in _asked(topology, given, target, facts):
            if main_only and not part.main:
                continue
            shown = Shown(part, target)
            asked = [_allowed(more, given, facts) for more in part.options]
            requests = [
                Request(kind=part.kind, name=part.name, options={**options, **_SAMPLING, **more})
                for more in asked
                if more
            ]
            for spec in expand(requests, topology, thp).measurements if requests else []:
                known = {one.id for one in specs.values()}
                kept = specs.setdefault(_same(spec), with_new_id(_named(spec, part, given), known))
                if kept.id not in shown.ids:
                    shown.ids.append(kept.id)
            parts.append(shown)
    plan = Plan(version=PLAN_VERSION, measurements=list(specs.values()))
    usual = (MAIN_SECONDS if main_only else SECONDS) * len(given.targets)
    fitted = fit_time(plan, usual, strictly=False)
    if seconds is None:
        return Tour(fitted, parts)
    return _in_time(Tour(fitted, parts), seconds)


def _in_time(made: Tour, seconds: float) -> Tour:
    """Return a tour whose figures have time for an interval each; it may be left with fewer.

    The main parts come first. A part that does not fit with all of its points may do with three of
    each sweep.
    """
    parts, specs = made.parts, {spec.id: spec for spec in made.plan.measurements}
    room = max(_FEWEST_POINTS, int(seconds / _LEAST_S))
    if len(specs) <= room:
        return Tour(fit_time(made.plan, seconds), parts)
    names = list(dict.fromkeys(p.part.name for p in sorted(parts, key=lambda p: not p.part.main)))
    whole = {name: _ids([one for one in parts if one.part.name == name]) for name in names}
    kept: set[str] = set()
    chosen: set[str] = set()
    for choice in (lambda ids: _ends_and_middles(ids, specs), list[str]):
        for name, ids in whole.items():
            wanted = kept.union(choice(ids))
            if len(wanted) <= room or not kept:
                kept = wanted
                chosen.add(name)
    fewer = [_in_short_samples(spec) for spec in made.plan.measurements if spec.id in kept]
    plan = fit_time(Plan(version=PLAN_VERSION, measurements=fewer), seconds)
    shown = [
        Shown(one.part, one.target, [name for name in one.ids if name in kept])
        for one in parts
        if one.part.name in chosen
    ]
    absent = [name for name in whole if name not in chosen]
    partly = [name for name in whole if name in chosen and not kept.issuperset(whole[name])]
    said = [
        *([f"the parts {', '.join(absent)}"] if absent else []),
        *([f"points of {', '.join(partly)}"] if partly else []),
    ]
    return Tour(
        plan,
        shown,
        f"left out, since {seconds:g} s give {counted(len(kept), 'figure')} an interval, not "
        f"{len(specs)}: {' and '.join(said)}; --time-limit {len(specs) * _LEAST_S:.0f}s has all",
    )


def _in_short_samples(spec: Spec) -> Spec:
    sampling = spec.sampling.model_copy(update={"sample_s": _SHORT_SAMPLE_S})
    return spec.model_copy(update={"sampling": sampling})


def _ends_and_middles(ids: Sequence[str], specs: dict[str, Spec]) -> list[str]:
    """Return the first, the middle and the last point of each sweep of a part."""
    sweeps: dict[str, list[str]] = {}
    for name in ids:
        pattern = specs[name].identity()
        key = str(
            [pattern.get(word) for word in ("operation", "read_percent", "backend", "direct")]
        )
        sweeps.setdefault(key, []).append(name)
    return [
        name
        for points in sweeps.values()
        for name in dict.fromkeys((points[0], points[len(points) // 2], points[-1]))
    ]


def _asked(
    topology: Topology, given: Given, target: Target, facts: PathFacts
) -> Iterator[tuple[Part, dict[str, str]]]:
    """Yield parts with the options that all their requests share."""
    first, others = nodes_of(topology, given, target)
    shared = {"from": first, "to": str(target), "files": "shared", **file_options(facts, given)}
    for part in PARTS:
        yield part, shared
    if facts.kind == "directory":
        yield _SMALL_FILES, {"from": first, "to": str(target)}
    if others:
        for node in (first, *others):
            yield _FAR, {**shared, "from": node}
    for gpu in topology.gpus[:1]:
        yield _GPU, {**shared, "from": f"gpu:{gpu.index}"}


def nodes_of(topology: Topology, given: Given, target: Target) -> tuple[str, list[str]]:
    """Return the initiator of all parts, and others to compare it with."""
    if given.initiator:
        return given.initiator, []
    usable = [n.number for n in topology.nodes if not set(n.cpus).isdisjoint(topology.cpus)]
    try:
        near, far = near_and_far(topology, target)
    except UserError:  # No node of the drive is known: every other node may be far from it.
        near, far = usable[:1], usable[1:]
    return f"node:{near[0]}", [f"node:{number}" for number in far[:1]]


def file_options(facts: PathFacts, given: Given) -> dict[str, str]:
    """Return the options that say which file is made in a directory, or how much of one is used."""
    options: dict[str, str] = {}
    if facts.kind == "directory":
        options["size"] = str(file_bytes(facts, given.size))
        options |= {"keep": "yes"} if given.keep else {}
    if facts.kind == "file" and facts.size is not None:
        options["size"] = str(_whole(facts, facts.size))
    if facts.kind == "file" and given.overwrite:
        options["overwrite"] = "yes"
    return options


def _whole(facts: PathFacts, size: int) -> int:
    """Return the size of a file that is there; raises UserError where it holds no block."""
    if size < _BLOCK:
        raise UserError(
            f"{facts.path} has {counted(size, 'byte')}, less than the smallest block that is read, "
            f"{_BLOCK}: name a larger file, or a directory, where a file is made"
        )
    return size


def file_bytes(facts: PathFacts, asked: int | None) -> int:
    """Return the size of the file to make: 1 GiB, or a tenth of a smaller free space.

    Raises UserError where too little is free.
    """
    most = (facts.free_bytes or 0) // _FREE_SHARE // MIB * MIB
    size = min(GIB, most) if asked is None else asked
    if size > most or size < min(_LEAST, asked or _LEAST):
        needed = max(size, _LEAST)
        raise UserError(
            f"{facts.path} has {(facts.free_bytes or 0) / GIB:.3g} GiB free, of which a tenth is "
            f"used at most: not enough for a file of {needed // MIB} MiB; free some space, name "
            "another directory, or give a smaller --size"
        )
    return size


def _allowed(options: dict[str, str], given: Given, facts: PathFacts) -> dict[str, str]:
    """Leave out writes to what is not ours; empty where nothing remains."""
    if facts.kind == "directory" or (facts.kind == "file" and given.overwrite):
        return options
    kept = [word for word in options.get("op", "read").split(",") if word == "read"]
    left = {name: value for name, value in options.items() if name not in ("op", "read-percent")}
    return {**left, "op": "read"} if kept else {}


def _named(spec: Spec, part: Part, given: Given) -> Spec:
    """Return a spec whose id says what tells it from others of the tour."""
    pattern = spec.identity()
    several = len(given.targets) > 1
    block, depth = pattern.get("block_size"), pattern.get("depth")
    words = [
        part.name,
        *([str(given.targets.index(parse_target(spec.target)))] if several else []),
        *([spec.initiator] if part.name in ("from", "gpu") else []),
        f"{pattern['operation']}{pattern.get('read_percent', '')}",
        *([format_size(block)] if block else []),
        *([pattern["backend"]] if part.name in ("cache", "gpu") else []),
        *([] if pattern.get("direct", True) else ["buffered"]),
        *([f"d{depth}"] if depth else []),
        f"t{pattern['threads']}",
    ]
    return spec.model_copy(update={"id": ".".join(words)})


def _same(spec: Spec) -> str:
    return f"{spec.initiator} {spec.target} {sorted(map(str, spec.identity().items()))}"


def show_tour(console: Console, run: Run, tour: Tour) -> None:
    """Print the tables of each target and its conclusions."""
    found = {m.id: m for m in run.measurements if m.status == "measured"}
    for target in dict.fromkeys(shown.target for shown in tour.parts):
        parts = [shown for shown in tour.parts if shown.target == target]
        _show_target(console, target, parts, found)
    if tour.left_out:
        note(console, f"{tour.left_out}.")


def _show_target(
    console: Console, target: Target, parts: Sequence[Shown], found: dict[str, Measurement]
) -> None:
    everything = [found[name] for name in _ids(parts) if name in found]
    drive_parts = [shown for shown in parts if shown.part.name != _OF_FILES]
    measured = [found[name] for name in _ids(drive_parts) if name in found]
    if not everything:
        return
    told = common(measured, VIEW) if measured else []
    title(console, f"{target}")
    said = common_words(measured[0], told) if measured else ""
    where = dict.fromkeys(targets_text(m.evidence) for m in everything if m.evidence)
    console.print(Text("; ".join(filter(None, (*where, said)))))
    for name in dict.fromkeys(shown.part.name for shown in parts):
        alike = [shown for shown in parts if shown.part.name == name]
        members = [found[one] for one in _ids(alike) if one in found]
        if not members:
            continue
        console.print()
        console.print(Text(alike[0].part.title, style="bold"))
        if name == _OF_FILES:
            show_rows(console, members, small_files.VIEW)
            note(console, small_files.CACHES)
            continue
        show_rows(console, members, VIEW, told=told)
        lines = _SAID.get(name)
        for line in lines(members) if lines else []:
            note(console, in_sentences([line]), style="")
    console.print()
    for line in _conclusions(measured):
        note(console, line, style="")
    for line in (*io_remarks(measured), *remarks(everything)):
        note(console, line)


def _ids(parts: Sequence[Shown]) -> list[str]:
    return list(dict.fromkeys(name for shown in parts for name in shown.ids))


def _conclusions(measured: list[Measurement]) -> list[str]:
    """Say what one read costs, and what limits the best."""
    lines = []
    if one := idle(measured):
        tail = latency_text(one, "p99")
        after = f", one in a hundred more than {tail}" if tail else ""
        lines.append(f"One 4 KiB read at a time takes {latency_text(one)}{after}.")
    return [*lines, headroom(measured)]
