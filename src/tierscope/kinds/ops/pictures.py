"""Pictures of database operations: placements, threads, interleaving, percentiles."""

from collections.abc import Iterator
from dataclasses import replace

from tierscope.kinds.ops.slowdown import WHERE, local_of, side_by_side, slowdown, where_parts_are
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.best_bars import best_bars
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    distinct,
    groups_by,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)

_SWEPT = ("threads", "interleave", "keys", "scan_length", "inner_node", "leaf_node", "zipf_alpha")
_MIN_POINTS = 3
_HIDDEN = ("path", "target", *WHERE)
_SAID = ("structure", "operation", "sample_every", *WHERE)
"""Properties that titles and names of placements say, or that change no figure."""


def placements(gathered: Gathered) -> Iterator[Picture]:
    """A bar for each placement of the parts, for each set of them."""
    named = varying(gathered.measured, *_HIDDEN)
    for group in side_by_side(gathered.measured):
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
            ratio = figures.with_interval(slowdown(slowest, local), 1.0)
            alt = f"{picture.alt} {_placed(slowest)}: {ratio} times slower than {_placed(local)}."
            picture = replace(picture, alt=alt)
        yield picture


def sweeps(gathered: Gathered) -> Iterator[Picture]:
    """Operations over threads, interleaving, keys..., a line for each placement."""
    for (structure, operation), members in groups_by(
        gathered.measured, "structure", "operation"
    ).items():
        for swept in _SWEPT:
            values = [value for value in distinct(members, swept) if value is not None]
            if len(values) >= _MIN_POINTS:
                yield _curves(members, swept, f"{structure} {operation}")


def _curves(members: list[Measurement], swept: str, what: str) -> Picture:
    unit, factor = scale_of(members)
    names = varying(members, *_HIDDEN, swept)
    points = [m for m in members if m.pattern.get(swept) is not None]
    rows = [
        row_of(m, factor, unit, x=m.pattern[swept], series=_series(m, names),
               what=f"{_series(m, names)}, {words_of(m, [swept])}")
        for m in points
    ]  # fmt: skip
    best = max(points, key=figures.conservative_rank)
    name = swept.replace("_", " ")
    return Picture(
        key=slug(f"ops {what} {swept}"),
        title=f"{what.capitalize()} over {name}",
        subtitle=constants(points, swept, *_SAID),
        alt=f"The best is {_series(best, names)}, {words_of(best, [swept])}, with "
        f"{figures.with_interval(best, factor)} {unit}.",
        spec=shapes.curves(
            rows, shapes.count_axis(name, distinct(points, swept)), shapes.from_zero(unit)
        ),
        measurements=points,
    )


def tails(gathered: Gathered) -> Iterator[Picture]:
    """The time of an operation over its percentiles."""
    for (structure, operation), members in groups_by(
        gathered.measured, "structure", "operation"
    ).items():
        for picture in percentiles(replace(gathered, measured=members), _series, _SAID):
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
    most = max(places, key=places.count)
    if places.count(most) == len(places):
        return f"all on {most}"
    rest = "" if len(places) == 2 else f", others {most}"
    return ", ".join(f"{p} {on}" for p, on in where.items() if not rest or on != most) + rest


def _series(measurement: Measurement, names: list[str]) -> str:
    return ", ".join(filter(None, (_placed(measurement), words_of(measurement, names))))


PICTURES = (placements, sweeps, tails)
