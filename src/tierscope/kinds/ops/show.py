"""What a placement costs: operations a second with every part local over those with some remote."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tierscope.analysis.best import best_of, conservative_rank
from tierscope.kinds.ops.spec import ALWAYS_SHARED, PARTS, OpsSpec
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import counted
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.spec import last_level_bytes
from tierscope.plans.machine import one_node
from tierscope.report import figures
from tierscope.report.naming import described
from tierscope.report.pictures import shapes
from tierscope.report.pictures.generic import Axes, best_bars, curves_over
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    distinct,
    groups_by,
    slug,
    varying,
    words_of,
)
from tierscope.report.view import Column, View

WHERE = tuple(f"on_{part}" for part in PARTS)
"""Properties that say where parts are; figures that differ in no others stand side by side."""
_SWEPT = ("threads", "interleave", "keys", "scan_length", "inner_node", "leaf_node", "zipf_alpha")
_MIN_POINTS = 3
_HIDDEN = ("path", "target", *WHERE)
_SAID = ("structure", "operation", "sample_every", *WHERE)
"""Properties that titles and names of placements say, or that change no figure."""


def where_parts_are(measurement: Measurement) -> dict[str, str]:
    """Return where each part is: {"inner": "node:0", "leaves": "node:2"}."""
    where = {part: measurement.pattern.get(f"on_{part}") for part in PARTS}
    return {part: str(on) for part, on in where.items() if on is not None}


def _alike(measurement: Measurement) -> tuple[object, ...]:
    pattern = {k: v for k, v in measurement.pattern.items() if k not in WHERE}
    return measurement.initiator, pattern


def side_by_side(measured: Sequence[Measurement]) -> list[list[Measurement]]:
    """Return the placements of each structure, operation, number of threads..., together."""
    groups: list[list[Measurement]] = []
    for m in measured:
        group = next((one for one in groups if _alike(one[0]) == _alike(m)), None)
        if group is None:
            groups.append([m])
        else:
            group.append(m)
    return groups


def local_of(group: Sequence[Measurement]) -> Measurement | None:
    """Return the placement with all parts on the threads' node; of CPUs that are named one by one,
    the fastest with all parts on one node. None where there is none."""
    whole = [m for m in group if len(set(where_parts_are(m).values())) == 1]
    own = [m for m in whole if m.initiator in where_parts_are(m).values()]
    found = own or (whole if not group[0].initiator.startswith("node:") else [])
    return max(found, key=conservative_rank, default=None)


def slowdown(measurement: Measurement, local: Measurement) -> Figure:
    """Return local operations a second over those of ``measurement``."""
    return figures.ratio(local, measurement)


def bytes_elsewhere(measurement: Measurement, local: Measurement) -> int | None:
    """Return bytes of pages that are not on the nodes of ``local``, as read back; None where nobody
    counted them."""
    evidence = measurement.evidence
    if evidence is None or not evidence.pages or not evidence.page_bytes:
        return None
    near = {str(number) for number in parse_endpoint(local.target).numbers}
    pages = sum(count for node, count in evidence.pages.items() if node not in near)
    return pages * evidence.page_bytes


def sentences(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say for each set of placements what it costs to move one part elsewhere, dearest last, where
    the interval tells that cost from none: "leaves on node:2 cost 6% (4% to 8%) at 4 threads"."""
    for group in side_by_side(measured):
        local = local_of(group)
        if local is None or len(group) < 2:
            continue
        costs = sorted(
            (cost, part, where)
            for m in group
            for part, where in _moved(m, local)
            for cost in [_cost(slowdown(m, local))]
            if cost is not None
        )
        pattern = local.pattern
        what = f"{pattern['structure']} {pattern['operation']}"
        unclear = [
            f"{part} on {where}"
            for m in group
            for part, where in _moved(m, local)
            if _cost(slowdown(m, local)) is None
        ]
        said = [f"{part} on {where} cost {text}" for (_, text), part, where in costs]
        if unclear:
            said.append(f"what {', '.join(unclear)} cost is within the intervals")
        if said:
            yield f"{what}: {', '.join(said)} at {counted(int(pattern['threads']), 'thread')}"


def _moved(measurement: Measurement, local: Measurement) -> list[tuple[str, str]]:
    """Return the one part that is not where ``local`` has it, with where; none of several."""
    home = where_parts_are(local)
    where = where_parts_are(measurement)
    moved = [(part, on) for part, on in where.items() if on != home.get(part)]
    return moved if len(moved) == 1 else []


def _cost(ratio: Figure) -> tuple[float, str] | None:
    """Return the share of operations that is lost, and in words with its interval; None where the
    interval does not tell it from none."""
    if ratio.ci_low is None or ratio.ci_high is None or ratio.ci_low <= 1:
        return None
    lost, least, most = (1 - 1 / value for value in (ratio.estimate, ratio.ci_low, ratio.ci_high))
    return lost, f"{lost:.0%} ({least:.0%} to {most:.0%})"


def _columns(measured: list[Measurement], _run: Run) -> list[Column]:
    locals_of = {m.id: local_of(group) for group in side_by_side(measured) for m in group}

    def slower(m: Measurement) -> str:
        local = locals_of[m.id]
        if local is None or m is local:
            return "" if local is None else "1"
        return figures.with_interval(slowdown(m, local), 1.0)

    def elsewhere(m: Measurement) -> str:
        local = locals_of[m.id]
        found = bytes_elsewhere(m, local) if local else None
        return "" if found is None else figures.size_text(found) if found else "0"

    return [Column("slowdown", slower), Column("elsewhere", elsewhere)]


def _notes(measured: list[Measurement]) -> list[str]:
    """Say what the columns stand for."""
    lines = ["slowdown: all parts local over this placement; elsewhere: bytes that are not local"]
    timers = [m.evidence.timer_ns for m in measured if m.evidence and m.evidence.timer_ns]
    if timers and any(figures.side_figure(m, "operation_latency_p50") for m in measured):
        every = ", ".join(dict.fromkeys(str(m.pattern.get("sample_every")) for m in measured))
        lines.append(
            f"percentiles: one of {every} operations, timed by itself, "
            f"{figures.significant(max(timers), 2)} ns of which is the timer"
        )
    if any((m.pattern.get("interleave") or 1) > 1 for m in measured):
        lines.append("interleaved: a percentile is that of a whole group of lookups")
    if any(figures.side_figure(m, "bandwidth", "input") for m in measured):
        lines.append("input: the column, or rows or keys with their values, that are gone over")
    if any(m.pattern.get("sharing") == "partitioned" for m in measured):
        lines.append("index partitioned: threads that write have an index of their own each")
    if any(_writes_shared(m) for m in measured):
        lines.append("threads that write share one index: optimistic locks (version numbers)")
    return lines


def _writes_shared(m: Measurement) -> bool:
    return m.pattern.get("sharing") == "shared" or m.pattern.get("operation") in ALWAYS_SHARED


def placements(given: PictureInput) -> Iterator[Picture]:
    """A bar for each placement of the parts, for each set of them."""
    named = varying(given.measured, *_HIDDEN)
    for group in side_by_side(given.measured):
        what = _what(group[0])
        local = local_of(group)
        detail = words_of(group[0], named)
        picture = best_bars(
            group,
            _placed,
            key=f"ops placements {what} {detail}",
            title=f"{what.capitalize()} by placement" + (f", {detail}" if detail else ""),
            subtitle=constants(group, *_SAID),
        )
        slowest = min(group, key=lambda m: m.estimate or 0.0)
        if local and slowest is not local:
            ratio = figures.text(slowdown(slowest, local))
            alt = f"{picture.alt} {_placed(slowest)}: {ratio} times slower than {_placed(local)}."
            picture = replace(picture, alt=alt)
        yield picture


def sweeps(given: PictureInput) -> Iterator[Picture]:
    """Operations over threads, interleaving, keys..., a line for each placement."""
    for (structure, operation), members in groups_by(
        given.measured, "structure", "operation"
    ).items():
        for swept in _SWEPT:
            values = [value for value in distinct(members, swept) if value is not None]
            if len(values) >= _MIN_POINTS:
                yield _curves(members, swept, f"{structure} {operation}")


def _curves(members: list[Measurement], swept: str, what: str) -> Picture:
    points = [m for m in members if m.pattern.get(swept) is not None]
    name = swept.replace("_", " ")
    return curves_over(
        points,
        swept,
        varying(members, *_HIDDEN, swept),
        key=f"ops {what} {swept}",
        title=f"{what.capitalize()} over {name}",
        called=_series,
        subtitle=constants(points, swept, *_SAID),
        axes=Axes(x=shapes.count_axis(name, distinct(points, swept))),
    )


def tails(given: PictureInput) -> Iterator[Picture]:
    """The time of an operation over its percentiles."""
    for (structure, operation), members in groups_by(
        given.measured, "structure", "operation"
    ).items():
        for picture in percentiles(replace(given, measured=members), _series, _SAID):
            what = f"{structure} {operation}"
            yield replace(
                picture,
                key=slug(f"{picture.key} {what}"),
                title=f"{picture.title}, {what}",
            )


def _what(measurement: Measurement) -> str:
    return f"{measurement.pattern['structure']} {measurement.pattern['operation']}"


def _placed(measurement: Measurement) -> str:
    """Say where the parts are; of more than two, those that are not where most are."""
    where = where_parts_are(measurement)
    places = [*where.values()]
    if not places:
        return ""
    most = max(places, key=places.count)
    if places.count(most) == len(places):
        return f"all on {most}"
    rest = "" if len(places) == 2 else f", others {most}"
    return ", ".join(f"{p} {on}" for p, on in where.items() if not rest or on != most) + rest


def _series(measurement: Measurement, names: list[str]) -> str:
    return ", ".join(filter(None, (_placed(measurement), words_of(measurement, names))))


PICTURES = (placements, sweeps, tails)


def summary_of(measured: list[Measurement]) -> str:
    """Return what moving parts costs, or the best figure where nothing was moved."""
    said = next(sentences(measured), None)
    return f"database operations: {said or described(best_of(measured))}"


def cached_parts(measured: Sequence[Measurement], run: Run) -> Iterator[str]:
    """Name parts that the caches can hold of structures that they cannot: where such a part lies
    changes little, however slow the memory is."""
    topology = run.header.topology
    found: dict[tuple[str, str, int], list[int]] = {}
    for m in measured:
        spec = run.planned(m.id, OpsSpec)
        if topology is None or spec is None or m.fits_caches:
            continue
        room = last_level_bytes(topology.caches, spec.cpus)
        for part, region in zip(spec.part_names(), spec.regions(), strict=True):
            if region.array_bytes <= room:
                key = (spec.pattern.structure, part, room)
                found.setdefault(key, []).append(region.array_bytes)
    for (structure, part, room), sizes in found.items():
        most = figures.size_text(max(sizes))
        yield (
            f"{structure}: the last-level cache ({figures.size_text(room)}) can hold the part "
            f"{part} ({most}), so its placement shows little; more --keys make it larger"
        )


def _all_notes(measured: list[Measurement], run: Run) -> list[str]:
    alone = one_node(run.header.topology)
    notes = [*sentences(measured), *cached_parts(measured, run), *_notes(measured)]
    return [*notes, *([alone] if alone else [])]


VIEW = View(
    title="Database operations",
    method="Pinned threads work on a data structure whose parts were placed one by one; operations "
    "a second without a clock between operations, percentiles of operations timed one by one; what "
    "was found and written is compared with the keys in order. Medians and their 95% intervals.",
    separate=("structure",),
    hidden=("sample_every", "timed"),
    columns=_columns,
    notes=_all_notes,
    pictures=PICTURES,
    represents_path=False,
    summary=summary_of,
)
