"""Pictures of access patterns: orders and strides of bandwidth, atomics, mapping."""

from typing import Any

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    best_of,
    constants,
    distinct,
    groups_by,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.pictures.stacked import stacked

_MIB = 1 << 20
_PAGES = {"2m": 2 << 20, "thp": 2 << 20, "1g": 1 << 30}
"""Bytes of a page of each kind; base pages are as large as the machine's."""


def orders(gathered: Gathered) -> list[Picture]:
    """Bars of each operation's best in each order of access."""
    pictures: list[Picture] = []
    for (path, operation), group in groups_by(gathered.measured, "path", "operation").items():
        best = [best_of(members) for members in groups_by(group, "order").values()]
        if len(best) < 2:
            continue
        unit, factor = scale_of(best)
        names = varying(best, "isa", "path")
        fastest = best_of(best)
        pictures.append(
            Picture(
                key=slug(f"orders {path} {operation}"),
                title=f"{str(operation).capitalize()} bandwidth by order of access, {path}",
                subtitle=f"the best of each order; {constants(best, 'operation')}",
                alt=f"{len(best)} orders; the fastest is {words_of(fastest, names)} with "
                f"{figures.with_interval(fastest, factor)} {unit}.",
                spec=shapes.bars(best, lambda m, names=names: words_of(m, names)),  # type: ignore[misc]
                measurements=best,
            )
        )
    return pictures


def strides(gathered: Gathered) -> list[Picture]:
    """Bandwidth over stride, a curve an operation."""
    pictures: list[Picture] = []
    strided = [m for m in gathered.measured if m.pattern.get("order") == "strided"]
    for (path,), group in groups_by(strided, "path").items():
        found = distinct(group, "stride")
        if len(found) < 3:
            continue
        unit, factor = scale_of(group)
        names = varying(group, "stride", "path") or ["operation"]
        rows = [
            row_of(m, factor, unit, x=m.pattern["stride"], series=words_of(m, names),
                   what=words_of(m, [*names, "stride"]))
            for m in group
        ]  # fmt: skip
        best = best_of(group)
        pictures.append(
            Picture(
                key=slug(f"strides {path}"),
                title=f"Bandwidth over stride, {path}",
                subtitle=constants(group, "stride", "operation"),
                alt=f"The best is {words_of(best, [*names, 'stride'])} with "
                f"{figures.with_interval(best, factor)} {unit}.",
                spec=shapes.curves(rows, shapes.size_axis("stride", found), _from_zero(unit)),
                measurements=group,
            )
        )
    return pictures


def _from_zero(title: str) -> Spec:
    return {"field": "value", "type": "quantitative", "title": title, "scale": {"zero": True},
            "axis": {"tickCount": 6}}  # fmt: skip


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
            y = {**_from_zero(f"updates, {unit}"), "scale": {"type": "log"}}
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


def mapping(gathered: Gathered) -> list[Picture]:
    """What a MiB costs to map, populate and unmap, by kind of pages; parts of one bar."""
    pictures: list[Picture] = []
    base = int(gathered.run.header.machine.get("page_bytes", 4096))
    for (path,), group in groups_by(gathered.measured, "path").items():
        names = varying(group, "path") or ["pages"]
        rows = [row for m in group for row in _phases(m, words_of(m, names), base)]
        pictures.append(
            Picture(
                key=slug(f"mapping {path}"),
                title=f"Cost of mapping memory, {path}",
                subtitle=constants(group),
                alt="; ".join(
                    f"{words_of(m, names)} {figures.with_interval(m, 1.0)} ns a page" for m in group
                ),
                spec=stacked(rows, "µs a MiB"),
                measurements=group,
            )
        )
    return pictures


def _phases(measurement: Measurement, name: str, base: int) -> list[dict[str, Any]]:
    """Return the parts of a bar in µs a MiB, from figures in ns in all and ns a page."""
    found = {figure.metric: figure.estimate for figure in measurement.figures}
    pages = _MIB / _PAGES.get(str(measurement.pattern.get("pages")), base)
    mib = measurement.pattern["size"] / _MIB
    parts = {
        "map": found.get("map", 0.0) / mib,
        "populate": found.get("populate_per_page", 0.0) * pages,
        "unmap": found.get("unmap_per_page", 0.0) * pages,
    }
    whole = sum(parts.values()) / 1e3
    return [
        {"name": name, "series": part, "value": ns / 1e3, "text": f"{whole:.3g}",
         "tip": f"{name}, {part}: {ns / 1e3:.3g} µs a MiB"}
        for part, ns in parts.items()
    ]  # fmt: skip
