"""Pictures of atomic updates."""

from collections.abc import Iterator
from functools import partial

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.best_bars import best_bars, best_of_each
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    distinct,
    groups_by,
    row_of,
    scale_of,
    slug,
    words_of,
)


def updates(gathered: Gathered) -> Iterator[Picture]:
    """Atomic updates of all threads: over threads, or bars where there is one count of them."""
    for (path,), group in groups_by(gathered.measured, "path").items():
        counts = distinct(group, "threads")
        key, title = f"atomics {path}", f"Atomic updates of all threads, {path}"
        subtitle = f"each thread on its own counters, or all on shared ones; {_sizes(group)}"
        if len(counts) <= 2:
            names = ["threads"] if len(counts) > 1 else []
            best = best_of_each(group, "operation", "shared", "threads")
            yield best_bars(
                best, partial(_name, names=names), key=key, title=title, subtitle=subtitle
            )
            continue
        unit, factor = scale_of(group)
        rows = [
            row_of(m, factor, unit, x=m.pattern["threads"], series=_counters(m),
                   what=_name(m, ["threads"]))
            for m in group
        ]  # fmt: skip
        best_one = best_of(group)
        y = {**shapes.from_zero(f"updates, {unit}"), "scale": {"type": "log"}}
        yield Picture(
            key=slug(key),
            title=title,
            subtitle=subtitle,
            alt=f"The best is {_name(best_one, ['threads'])} with "
            f"{figures.with_interval(best_one, factor)} {unit}.",
            spec=shapes.curves(rows, shapes.count_axis("threads", counts), y),
            measurements=group,
        )


def _sizes(group: list[Measurement]) -> str:
    """Say what the counters take, apart for threads' own and for shared ones."""
    said = []
    for (shared,), members in groups_by(group, "shared").items():
        sizes = ", ".join(figures.size_text(size) for size in distinct(members, "size"))
        said.append(f"{'shared' if shared else 'own'}: {sizes}")
    return "; ".join(said)


def _name(measurement: Measurement, names: list[str]) -> str:
    return ", ".join(filter(None, (_counters(measurement), words_of(measurement, names))))


def _counters(measurement: Measurement) -> str:
    whose = "shared" if measurement.pattern.get("shared") else "own"
    return f"{measurement.pattern['operation']}, {whose}"
