"""A block that persists over the same stores alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tierscope.kinds.persist.spec import BY_FILE, BY_POOL, UNPERSISTED, PersistEvidence
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.naming import described, path_of
from tierscope.report.pictures import generic
from tierscope.report.pictures.generic import Axes, curves_over
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    distinct,
    groups_by,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.pictures.working_set import log_axis
from tierscope.report.view import Column, View

_MIN_POINTS = 3
OF_METHODS = ("method", "ranges", "backing")
"""Properties that methods bring with them; figures that differ in no others stand side by side."""


def method_of(measurement: Measurement) -> str:
    """Return a method in words: "transaction, 4 ranges"."""
    method, ranges = str(measurement.pattern["method"]), measurement.pattern.get("ranges", 1)
    return method if ranges == 1 else f"{method}, {ranges} ranges"


def alone(measurement: Measurement, measured: Sequence[Measurement]) -> Measurement | None:
    """Return the figure of the same stores without anything that has them persist; None where it
    was not measured, and of that figure itself."""
    method = str(measurement.pattern.get("method"))
    wanted = UNPERSISTED.get(method, "stores")
    if method in (wanted, *UNPERSISTED.values(), "allocation"):
        return None
    return next(
        (m for m in measured if m.pattern["method"] == wanted and _where(m) == _where(measurement)),
        None,
    )


def _where(measurement: Measurement) -> tuple[object, ...]:
    """What a method shares with its stores: a pool's memory is the file's."""
    pattern = {k: v for k, v in measurement.pattern.items() if k not in OF_METHODS}
    return measurement.initiator, measurement.target, pattern


def _reaches(measurement: Measurement) -> bool:
    """Whether its blocks get to the target's medium: flushed lines of a page cache do not."""
    persistent = measurement.evidence.persistent if measurement.evidence else None
    by_calls = measurement.pattern["method"] in (*BY_FILE, *BY_POOL)
    return by_calls or persistent is None or persistent.durable_by == "flush"


def cheapest(measured: Sequence[Measurement]) -> tuple[Measurement, Measurement] | None:
    """Return the method that has the smallest block persist in the least time, and the same stores
    alone; None where no method was measured beside its stores."""
    pairs = [(m, base) for m in measured if _reaches(m) for base in [alone(m, measured)] if base]
    return min(pairs, key=lambda pair: (pair[0].pattern["block_size"], pair[0].estimate or 0.0),
               default=None)  # fmt: skip


def _columns(measured: list[Measurement], _run: Run) -> list[Column]:
    def over_stores(m: Measurement) -> str:
        base = alone(m, measured)
        return figures.with_interval(figures.ratio(m, base), 1.0) if base else ""

    return [Column("× stores", over_stores)]


def _said(measured: list[Measurement]) -> list[str]:
    """Say what the columns stand for, and what the figures do not."""
    found = [m.evidence for m in measured if m.evidence]
    timer = [one.timer_ns for one in found if one.timer_ns]
    lines = [
        "× stores: over the same stores alone; for nt-drain, nt-stores",
        "time: one block after the other, without reading a clock; percentiles: each block timed "
        "by itself"
        + (f", {figures.significant(max(timer), 2)} ns of which is the timer" if timer else ""),
    ]
    persisted = [one.own(PersistEvidence).persist for one in found]
    if any(one and one.durable == "volatile-memory" for one in persisted):
        lines.append(
            "this memory forgets its contents without power: the figures are what flushing costs"
        )
    return lines


def over_sizes(given: PictureInput) -> Iterator[Picture]:
    """The time of a block over its size, both logarithmic; bars where there are few sizes."""
    rest: list[Measurement] = []
    apart = varying(given.measured, "path", "block_size", *OF_METHODS)
    for group in groups_by(given.measured, "path", *apart).values():
        if len(distinct(group, "block_size")) < _MIN_POINTS:
            rest += group
        else:
            yield _picture(group, words_of(group[0], ["path", *apart]))
    for group in groups_by(rest, "path", "block_size").values():
        yield from _bars(given, group)


def _picture(group: list[Measurement], where: str) -> Picture:
    unit, factor = scale_of(group)
    return curves_over(
        group,
        "block_size",
        OF_METHODS,
        key=f"persist {where}",
        title=f"Time until a block persists, {where}",
        called=lambda m, _names: method_of(m),
        alt=_alt(group, min(distinct(group, "block_size"))),
        axes=Axes(y=log_axis(f"{unit} a block", [(m.estimate or 0.0) / factor for m in group])),
    )


def _alt(group: list[Measurement], size: int) -> str:
    """Say what each method costs at the smallest block."""
    said = []
    for m in group:
        if m.pattern["block_size"] != size:
            continue
        base = alone(m, group)
        over = f", {figures.text(figures.ratio(m, base))} times the stores" if base else ""
        said.append(f"{method_of(m)} {figures.text(m, 1.0, 'ns')}{over}")
    return f"At {figures.size_text(size)}: {'; '.join(said)}."


def _bars(given: PictureInput, group: list[Measurement]) -> Iterator[Picture]:
    for picture in generic.bars(replace(given, measured=group)):
        where = words_of(group[0], ["path", "block_size"])
        yield replace(
            picture,
            key=slug(f"persist bars {where}"),
            title=f"Time until a block persists, {where}",
        )


def tails(given: PictureInput) -> Iterator[Picture]:
    """The time of a block over its percentiles, a picture for each path; of block sizes the
    smallest and the largest."""
    names = varying(given.measured, "path", *OF_METHODS)
    sizes = distinct(given.measured, "block_size")
    ends = [m for m in given.measured if m.pattern["block_size"] in (sizes[0], sizes[-1])]
    for group in groups_by(ends, "path", *names).values():
        where = words_of(group[0], names)
        for picture in percentiles(replace(given, measured=group)):
            yield replace(picture, key=slug(f"{picture.key} {where}"))


def summary_of(measured: list[Measurement]) -> str:
    """Return what the cheapest method costs, or the first figure where no stores stand beside."""
    found = cheapest(measured)
    if found is None:
        return f"persistence: {described(measured[0])}"
    best, base = found
    unit, factor = figures.scale_of("ns", [best.estimate or 0.0])
    return (
        f"persistence: {path_of(best)}, {figures.size_text(best.pattern['block_size'])} persist by "
        f"{best.pattern['method']} in {figures.text(best, factor, unit)}, "
        f"{figures.text(figures.ratio(best, base))} times the stores alone"
    )


VIEW = View(
    title="Persistence",
    method="Pinned threads write one block after the other and have each persist before the next; "
    "time for a block and bandwidth without a clock between blocks, percentiles of blocks timed "
    "one by one; every block written is compared. Medians and their 95% intervals.",
    hidden=("timed",),
    columns=_columns,
    notes=lambda measured, _run: _said(measured),
    pictures=(over_sizes, tails),
    represents_path=False,
    summary=summary_of,
)
