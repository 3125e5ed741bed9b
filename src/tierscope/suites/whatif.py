"""What ``tierscope whatif`` predicts from: figures of runs, and what is measured besides."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tierscope.analysis.best import best_of, idle_latencies
from tierscope.analysis.curve import Point, Summary
from tierscope.analysis.whatif import (
    Answer,
    Curve,
    Expansion,
    Local,
    Range,
    Tier,
    WhatIf,
    Work,
    expansion,
    predictions,
    range_of,
    small_id,
)
from tierscope.kinds.plan import Spec
from tierscope.kinds.registry import KINDS
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import ExitCode, UserError, shown
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import last_level_bytes
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.forms import form_of
from tierscope.plans.request import Request

_NEAR = 2**0.5
"""Ratio of sizes up to which a chase stands for another one."""
_SMALLEST = 1 << 16
_TARGET = re.compile(r"(.+?):((?:node|dax|pmem):.+)", re.DOTALL)


def requests(topology: Topology, budget: str) -> list[Request]:
    """Return what is measured where no run is named, with all data on the threads' own node.

    ``budget`` is the time of each figure, as options have it.
    """
    (node, *_) = [one.number for one in machine.cpu_nodes(topology)] or [0]
    own = {"from": f"node:{node}", "to": f"node:{node}", "budget": budget}
    structures = {"structure": "btree,hash", "interleave": "1,16", "threads": "1"}
    curve = {"mix": "100:0,67:33", "threads": "1..all*2"}
    return [
        Request(kind="ops", options={**own, **structures}),
        Request(kind="chain", options={**own, "chain": "r_64", "threads": "1"}),
        Request(kind="traffic", options={**own, **curve}),
    ]


def specs_of(runs: Sequence[Run]) -> list[Spec]:
    """Return the specs of the operations that are predicted."""
    found = []
    for run in runs:
        for work in _works([run]):
            m = work.measurement
            if planned := run.planned(m.id, KINDS[m.kind].spec):
                found.append(planned)
    return found


def needed(
    specs: Sequence[Spec], topology: Topology, thp: bool, runs: Sequence[Run], budget: str
) -> Iterator[Spec]:
    """Yield what predictions of operations need besides, and runs do not have."""
    yield from lacking(specs, topology, runs)
    for one in chases(specs, topology, runs, budget):
        yield from form_of(one.kind).expand(one, topology, thp)


def lacking(specs: Sequence[Spec], topology: Topology, runs: Sequence[Run]) -> Iterator[Spec]:
    """Yield the same operations in caches, for all specs that runs have no figure of."""
    known = {m.id for run in runs for m in run.measurements if m.has_figure}
    for spec in specs:
        if KINDS[spec.kind_name()].works and not spec.fits_caches(topology.caches):
            size = _private_bytes(topology, spec.thread_cpus()[0]) // 2
            small = KINDS[spec.kind_name()].work.in_caches(spec, size)
            if small is not None and small.id not in known:
                known.add(small.id)
                yield small


def chases(
    specs: Sequence[Spec], topology: Topology, runs: Sequence[Run], budget: str
) -> Iterator[Request]:
    """Yield the idle latencies that predictions need, and that runs do not have."""
    wanted: dict[tuple[str, str, str], set[int]] = {}
    for spec in specs:
        works = KINDS[spec.kind_name()].works
        pages = next((region.pages for region in spec.regions()), "thp") if works else "thp"
        sizes = wanted.setdefault((spec.initiator, spec.target, pages), set())
        idle = wanted.setdefault((spec.initiator, spec.target, "thp"), set())
        cpus = spec.thread_cpus()
        nodes = [node.number for node in machine.memory_nodes(topology)]
        idle.add(machine.default_size(topology, cpus, nodes, 1))
        if works:
            sizes.add(near_size(spec.host_bytes()))
            sizes.add(near_size(last_level_bytes(topology.caches, cpus[:1]) // 2))
    measurements = [m for run in runs for m in run.measurements]
    for (initiator, target, pages), sizes in wanted.items():
        without = [
            size
            for size in sorted(sizes)
            if not _chase(measurements, (initiator, target), pages, size)
        ]
        if without:
            options = {
                "from": initiator,
                "to": target,
                "pages": pages,
                "size": ",".join(map(str, without)),
                "budget": budget,
            }
            yield Request(kind="latency", name=f"whatif.{initiator}", options=options)


def near_size(size: float) -> int:
    """Return the nearest power of two, so that one chase serves several structures."""
    return int(max(_SMALLEST, 2 ** round(math.log2(max(1.0, size)))))


def _chase(
    measurements: Iterable[Measurement], path: tuple[str, str], pages: str, size: float
) -> Measurement | None:
    """Return the chase that is nearest to a size; None where none is near."""
    found = [
        m
        for m in measurements
        if m.has_figure
        and m.estimate
        and m.metric == "latency"
        and (m.initiator, m.target) == path
        and m.pattern.get("order") == "random"
        and m.pattern.get("pages") == pages
        and m.pattern.get("chases", 1) == 1
        and not m.pattern.get("load_threads")
        and size / _NEAR <= m.pattern.get("size", 0) <= size * _NEAR
    ]
    found.sort(key=lambda m: abs(math.log(m.pattern["size"] / size)))
    return found[0] if found else None


def _private_bytes(topology: Topology | None, cpu: int) -> int:
    """Return the bytes of the largest cache of a CPU that is not its last one; 0: not known."""
    caches = [
        one
        for one in (topology.caches if topology else [])
        if cpu in one.cpus and one.type != "instruction"
    ]
    last = max((one.level for one in caches), default=0)
    return max((one.size_bytes for one in caches if one.level < last), default=0)


def predicted(runs: Sequence[Run], tiers: Sequence[Tier]) -> WhatIf:
    """Return what tiers would do here; raises UserError where runs have nothing to predict from."""
    measurements = [m for run in runs for m in run.measurements]
    idle = {path: range_of(m) for path, m in idle_latencies(measurements).items() if m.estimate}
    answers, unknown = [], []
    small = {m.id: work for run in runs for m in run.measurements if (work := _work(m))}
    for run in runs:
        for work in _works([run]):
            path = (work.measurement.initiator, work.measurement.target)
            local = _local(run, work, measurements, idle.get(path))
            if local is None:
                unknown.append(f"{work.name}: no idle latency of {path[0]} to {path[1]} is known")
                continue
            found = _with_cached(work, small)
            said = tuple((tier, tuple(predictions(found, local, tier))) for tier in tiers)
            answers.append(Answer(found, local, said))
    spread = [*_expansions(runs, tiers, idle)]
    if not answers and not spread:
        names = ", ".join(shown(run.header.name) for run in runs)
        raise UserError(
            f"{names}: no figure of operations, chains or traffic with all data on one node and "
            "larger than the caches; leave RUN out, or measure with 'tierscope ops'",
            ExitCode.NOTHING_MEASURED,
        )
    paths = [(a.work.measurement.initiator, a.work.measurement.target) for a in answers]
    lowest = min((idle[p] for p in paths or idle), key=lambda one: one.estimate)
    return WhatIf(tuple(tiers), lowest, tuple(answers), tuple(spread), tuple(unknown))


def _with_cached(work: Work, small: dict[str, Work]) -> Work:
    kind = KINDS[work.measurement.kind].work
    cached = kind.cached_time(work, small.get(small_id(work.measurement.id)))
    return replace(work, cached=cached)


def _works(runs: Sequence[Run]) -> Iterator[Work]:
    """Yield the operations of runs that no cache can hold."""
    for run in runs:
        for m in run.measurements:
            if not m.fits_caches and (work := _work(m)):
                yield work


def _work(m: Measurement) -> Work | None:
    """Return a measurement's work; None of other kinds, and of files that lack its properties."""
    if not (m.kind in KINDS and KINDS[m.kind].works and m.has_figure and m.estimate):
        return None
    try:
        return KINDS[m.kind].work.work_of(m)
    except (KeyError, TypeError, ValueError):  # a ValidationError is a ValueError
        return None


def _local(
    run: Run, work: Work, measurements: Sequence[Measurement], idle: Range | None
) -> Local | None:
    if idle is None:
        return None
    m, topology = work.measurement, run.header.topology
    path, cpus = (m.initiator, m.target), m.cpus[:1] or [0]
    last = last_level_bytes(topology.caches, cpus) if topology else 0
    here = _chase(measurements, path, work.pages, near_size(work.size))
    cache = _chase(measurements, path, work.pages, near_size(last // 2))
    return Local(
        idle=idle,
        here=range_of(here) if here else idle,
        last_level=range_of(cache) if cache else idle,
        private_bytes=_private_bytes(topology, cpus[0]),
        last_level_bytes=last or float("inf"),
    )


def _expansions(
    runs: Sequence[Run], tiers: Sequence[Tier], idle: dict[tuple[str, str], Range]
) -> Iterator[tuple[Tier, Expansion]]:
    from tierscope.kinds.traffic.show import patterns

    for run in runs:
        for study in patterns(run.measurements, run.header.topology):
            for node in study.nodes:
                points = study.alone(node)
                latency = idle.get((study.initiator, f"node:{node}"))
                if not points or latency is None or any(m.fits_caches for m in points.values()):
                    continue
                words = [f"{study.pattern.get('mix')} read:write", str(study.pattern.get("order"))]
                curve = Curve(", ".join(words), points)
                for tier in tiers:
                    if found := expansion(curve, latency, tier):
                        yield tier, found


def tier_name(text: str) -> tuple[str, str]:
    """Split ``RUN:node:2`` into the run's name and the target; empty where none is named."""
    found = _TARGET.fullmatch(text)
    return (found[1], found[2]) if found else (text, "")


def tier_of(run: Run, target: str, name: str) -> Tier:
    """Return a tier that was measured: a target of a run, by default its slowest memory.

    Raises UserError where the run has no idle latency of it.
    """
    from tierscope.kinds.loaded_latency.show import curves_of, loaded_points, summary_of_curve

    usable = [m for m in run.measurements if m.has_figure and m.estimate and not m.fits_caches]
    idle: dict[str, Range] = {}
    for (_, to), m in idle_latencies(usable).items():
        if to not in idle or range_of(m).estimate < idle[to].estimate:
            idle[to] = range_of(m)
    loaded: dict[str, tuple[Summary, list[Point]]] = {}
    for members in curves_of([m for m in usable if m.metric == "latency"]):
        summary = summary_of_curve(members)
        if summary is None:
            continue
        to = members[0].target
        before = loaded.get(to)
        if before is None or summary.peak.bandwidth > before[0].peak.bandwidth:
            loaded[to] = summary, loaded_points(members)
    for to, (summary, _) in loaded.items():
        idle.setdefault(to, Range.exact(summary.idle))
    memory = {to: one for to, one in idle.items() if _is_memory(to)}
    if (target and target not in memory) or not memory:
        known = ", ".join(memory) or "no target"
        raise UserError(
            f"run '{run.header.name}' has an idle latency of {known}"
            + (f", not of {target}" if target else ""),
            ExitCode.NOTHING_MEASURED,
        )
    chosen = target or max(memory, key=lambda to: memory[to].estimate)
    rates = [m for m in usable if m.target == chosen and m.metric == "bandwidth"]
    bandwidth = range_of(best_of(rates)) if rates else None
    curve = loaded.get(chosen)
    if bandwidth is None and curve:
        bandwidth = Range.exact(curve[0].peak.bandwidth)
    return Tier(name, memory[chosen], bandwidth, curve=tuple(curve[1]) if curve else ())


def _is_memory(target: str) -> bool:
    kind = parse_endpoint(target).kind
    return kind in (EndpointKind.NODE, EndpointKind.PMEM, EndpointKind.DAX)
