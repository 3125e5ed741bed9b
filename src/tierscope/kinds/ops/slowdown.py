"""What a placement costs: operations a second with every part local over those with some remote."""

from collections.abc import Iterator, Sequence

from tierscope.kinds.ops.structures import PARTS, STRUCTURES
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import counted
from tierscope.model.run import Figure, Measurement
from tierscope.report import figures

WHERE = tuple(f"on_{part}" for part in PARTS)
"""Properties that say where parts are; figures that differ in no others stand side by side."""


def where_parts_are(measurement: Measurement) -> dict[str, str]:
    """Return where each part is: {"inner": "node:0", "leaves": "node:2"}."""
    pattern = measurement.pattern
    return {p: str(pattern[f"on_{p}"]) for p in STRUCTURES[pattern["structure"]].parts}


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
    return max(found, key=figures.conservative_rank, default=None)


def slowdown(measurement: Measurement, local: Measurement) -> Figure:
    """Return local operations a second over those of ``measurement``; each end of its interval
    takes both figures at the ends of theirs, so it is no narrower than 95%."""
    assert measurement.estimate
    assert local.estimate
    known = measurement.ci_low and measurement.ci_high and local.ci_low and local.ci_high
    return Figure(
        metric="slowdown",
        unit="ratio",
        estimate=local.estimate / measurement.estimate,
        ci_low=local.ci_low / measurement.ci_high if known else None,  # type: ignore[operator]
        ci_high=local.ci_high / measurement.ci_low if known else None,  # type: ignore[operator]
    )


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
    moved = [(part, on) for part, on in where_parts_are(measurement).items() if on != home[part]]
    return moved if len(moved) == 1 else []


def _cost(ratio: Figure) -> tuple[float, str] | None:
    """Return the share of operations that is lost, and in words with its interval; None where the
    interval does not tell it from none."""
    if ratio.ci_low is None or ratio.ci_high is None or ratio.ci_low <= 1:
        return None
    lost, least, most = (1 - 1 / value for value in (ratio.estimate, ratio.ci_low, ratio.ci_high))
    return lost, f"{lost:.0%} ({least:.0%} to {most:.0%})"
