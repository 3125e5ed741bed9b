"""Pictures of atomic updates."""

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import shapes
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


def updates(gathered: Gathered) -> list[Picture]:
    """Atomic updates of all threads: over threads, or bars where there is one count of them."""
    pictures: list[Picture] = []
    for (path,), group in groups_by(gathered.measured, "path").items():
        counts = distinct(group, "threads")
        unit, factor = scale_of(group)
        best = best_of(group)
        if len(counts) > 2:
            rows = [
                row_of(m, factor, unit, x=m.pattern["threads"], series=_counters(m),
                       what=f"{_counters(m)}, {words_of(m, ['threads'])}")
                for m in group
            ]  # fmt: skip
            x = shapes.count_axis("threads", counts)
            y = {**shapes.from_zero(f"updates, {unit}"), "scale": {"type": "log"}}
            spec = shapes.curves(rows, x, y)
        else:
            names = ["threads"] if len(counts) > 1 else []
            spec = shapes.bars(group, lambda m, names=names: _name(m, names))  # type: ignore[misc]
        pictures.append(
            Picture(
                key=slug(f"atomics {path}"),
                title=f"Atomic updates of all threads, {path}",
                subtitle=f"each thread on its own counters, or all on shared ones; {_sizes(group)}",
                alt=f"The best is {_name(best, ['threads'])} with "
                f"{figures.with_interval(best, factor)} {unit}.",
                spec=spec,
                measurements=group,
            )
        )
    return pictures


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
