"""Pictures of what persistence costs: time over block size, a line a method; percentiles."""

from collections.abc import Iterator
from dataclasses import replace

from tierscope.kinds.persist.cost import OF_METHODS, alone, cost, method_of
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import generic, shapes
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
from tierscope.report.pictures.working_set import log_axis

_MIN_POINTS = 3


def over_sizes(gathered: Gathered) -> Iterator[Picture]:
    """The time of a block over its size, both logarithmic; bars where there are few sizes."""
    rest: list[Measurement] = []
    apart = varying(gathered.measured, "path", "block_size", *OF_METHODS)
    for group in groups_by(gathered.measured, "path", *apart).values():
        if len(distinct(group, "block_size")) < _MIN_POINTS:
            rest += group
        else:
            yield _picture(group, words_of(group[0], ["path", *apart]))
    for group in groups_by(rest, "path", "block_size").values():
        yield from _bars(gathered, group)


def _picture(group: list[Measurement], where: str) -> Picture:
    unit, factor = scale_of(group)
    sizes = distinct(group, "block_size")
    rows = [
        row_of(m, factor, unit, x=m.pattern["block_size"], series=method_of(m),
               what=f"{method_of(m)}, {words_of(m, ['block_size'])}")
        for m in group
    ]  # fmt: skip
    return Picture(
        key=slug(f"persist {where}"),
        title=f"Time until a block persists, {where}",
        subtitle=constants(group, "block_size", *OF_METHODS),
        alt=_alt(group, min(sizes)),
        spec=shapes.curves(
            rows,
            shapes.size_axis("block", [float(size) for size in sizes]),
            log_axis(f"{unit} a block", [(m.estimate or 0.0) / factor for m in group]),
        ),
        measurements=group,
    )


def _alt(group: list[Measurement], size: int) -> str:
    """Say what each method costs at the smallest block."""
    said = []
    for m in group:
        if m.pattern["block_size"] != size:
            continue
        base = alone(m, group)
        over = f", {figures.with_interval(cost(m, base), 1.0)} times the stores" if base else ""
        said.append(f"{method_of(m)} {figures.with_interval(m, 1.0)} ns{over}")
    return f"At {figures.size_text(size)}: {'; '.join(said)}."


def _bars(gathered: Gathered, group: list[Measurement]) -> Iterator[Picture]:
    for picture in generic.bars(replace(gathered, measured=group)):
        where = words_of(group[0], ["path", "block_size"])
        yield replace(
            picture,
            key=slug(f"persist bars {where}"),
            title=f"Time until a block persists, {where}",
        )


def tails(gathered: Gathered) -> Iterator[Picture]:
    """The time of a block over its percentiles, a picture for each path; of block sizes the
    smallest and the largest."""
    names = varying(gathered.measured, "path", *OF_METHODS)
    sizes = distinct(gathered.measured, "block_size")
    ends = [m for m in gathered.measured if m.pattern["block_size"] in (sizes[0], sizes[-1])]
    for group in groups_by(ends, "path", *names).values():
        where = words_of(group[0], names)
        for picture in percentiles(replace(gathered, measured=group)):
            yield replace(picture, key=slug(f"{picture.key} {where}"))


PICTURES = (over_sizes, tails)
