"""Pictures of atomic updates."""

from collections.abc import Iterator
from functools import partial

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.generic import Axes, best_bars, best_of_each, curves_over
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    distinct,
    groups_by,
    scale_of,
    words_of,
)
from tierscope.report.view import View


def updates(given: PictureInput) -> Iterator[Picture]:
    """Atomic updates of all threads: over threads, or bars where there is one count of them."""
    for (path,), group in groups_by(given.measured, "path").items():
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
        unit, _ = scale_of(group)
        yield curves_over(
            group,
            "threads",
            [],
            key=key,
            title=title,
            called=_name,
            subtitle=subtitle,
            axes=Axes(y={**shapes.from_zero(f"updates, {unit}"), "scale": {"type": "log"}}),
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


VIEW = View(
    title="Atomic updates",
    method="Pinned threads update 64-bit counters, one a cache line, in random order; the "
    "counters' sum has to be the number of updates; median and its 95% interval.",
    pictures=(updates,),
)
