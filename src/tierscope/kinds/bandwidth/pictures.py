"""Pictures of CPU bandwidth: operations, threads, access sizes, interleaved tiers, all paths."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from tierscope.analysis.knee import Knee, knee_of
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of, best_of_path
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.best_bars import best_bars, best_of_each
from tierscope.report.pictures.matrix import matrix_of
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    distinct,
    groups_by,
    label_of,
    row_of,
    scale_of,
    slug,
    value_of,
    words_of,
)

_SWEPT = ("threads", "access_size", "size", "stride", "operation", "order")
_MAPPED = {"access_size": "access size", "size": "size of the arrays"}
"""Sizes that maps of threads are drawn by, and what people call them."""
_ALIKE = ("path", "operation", "order", "access_size", "size", "pages", "stride", "sharing", "isa",
          "policy", "prefetchers")  # fmt: skip
_FEW = 10
"""Columns of a map up to which its cells have room for four digits."""
_NAMED = ("target", "operation", "order", "threads", "access_size", "size", "stride")


def operations(gathered: Gathered) -> Iterator[Picture]:
    """STREAM's bars: each operation's best in sequential order, for each path."""
    sequential = [m for m in gathered.measured if m.pattern.get("order") == "sequential"]
    for (path, pages, sharing), group in groups_by(sequential, "path", "pages", "sharing").items():
        best = best_of_each(group, "operation")
        if len(best) > 1:
            names = ["operation", *(["threads"] if len(distinct(best, "threads")) > 1 else [])]
            yield best_bars(
                best,
                partial(words_of, keys=names),
                key=f"operations {path} {pages} {sharing or ''}",
                title=f"Bandwidth by operation, {path}",
                subtitle=f"each at its best thread count; {constants(best, 'operation')}",
            )


def over_threads(gathered: Gathered) -> Iterator[Picture]:
    """Bandwidth over threads: of one target a curve an operation; of several a picture an
    operation with all targets of an initiator, all initiators on one scale."""
    mapped = _mapped(gathered.measured)
    keys = ("order", "pages", "access_size", "size", "sharing")
    paths = groups_by([m for m in gathered.measured if m.id not in mapped], "path", *keys)
    swept = [m for group in paths.values() if len(distinct(group, "threads")) > 1 for m in group]
    for (initiator, order, *_), group in groups_by(swept, "initiator", *keys).items():
        if len(distinct(group, "target")) == 1:
            yield _over_threads(group, path_of(group[0]), str(order), "operation", swept)
            continue
        for (operation,), members in groups_by(group, "operation").items():
            alike = [m for m in swept if m.pattern["operation"] == operation]
            what = f"{str(operation).capitalize()}, {initiator}"
            yield _over_threads(members, what, str(order), "target", alike)


def _over_threads(
    group: list[Measurement], what: str, order: str, series: str, alike: list[Measurement]
) -> Picture:
    """Draw a curve a ``series``, on a scale that has room for all that are ``alike``."""
    unit, factor = scale_of(group)
    rows = [
        row_of(m, factor, unit, x=m.pattern["threads"], series=str(value_of(m, series)),
               what=words_of(m, [series, "threads"]))
        for m in group
    ]  # fmt: skip
    top = max(m.ci_high or m.estimate or 0.0 for m in alike) / factor
    y = {**shapes.from_zero(unit), "scale": {"domain": [0, 1.05 * top], "nice": False}}
    x = shapes.count_axis("threads", distinct(group, "threads"))
    return Picture(
        key=slug(f"threads {what} {order} {constants(group, *_SWEPT)}"),
        title=f"Bandwidth over threads, {what[0].lower() + what[1:]}",
        subtitle=_said(group, order),
        alt=f"{_knees(group, series)}. The best is {_best(group)}.",
        spec=shapes.curves(rows, x, y),
        measurements=group,
    )


def _mapped(measured: list[Measurement]) -> set[str]:
    """Return the ids of what ``maps`` draws, threads and all."""
    return {m.id for _, group in _map_groups(measured) for m in group}


def _map_groups(measured: list[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield sweeps over threads and a size, and which size: all else in a group is the same."""
    for axis in _MAPPED:
        alike = [key for key in _ALIKE if key != axis]
        for group in groups_by(measured, *alike).values():
            if all(len(distinct(group, key)) > 1 for key in (axis, "threads")):
                yield axis, group


def _said(group: list[Measurement], order: str) -> str:
    parts = [f"{order} order", constants(group, "order", "operation", "threads")]
    return ", ".join(filter(None, parts))


def _best(group: list[Measurement]) -> str:
    best = best_of(group)
    unit, factor = scale_of(group)
    what = words_of(best, [key for key in _NAMED if len(distinct(group, key)) > 1])
    return f"{what}: {figures.with_interval(best, factor)} {unit}"


def _knees(group: list[Measurement], series: str) -> str:
    knees: dict[Knee, list[str]] = {}
    for (name,), members in groups_by(group, series).items():
        knees.setdefault(knee_of(members), []).append(str(name))
    ordered = sorted(knees.items(), key=lambda found: (found[0].first, found[0].last))
    parts = [f"{_threads(found)} ({', '.join(names)})" for found, names in ordered]
    return "95% of the best is reached by " + ", ".join(parts)


def _threads(found: Knee) -> str:
    if found.first == found.last:
        return label_of("threads", found.first)
    return f"{found.first} to {label_of('threads', found.last)}"


def maps(gathered: Gathered) -> list[Picture]:
    """Threads by access size, and by size of the arrays, as heat maps."""
    return [_map(axis, group) for axis, group in _map_groups(gathered.measured)]


def _map(axis: str, group: list[Measurement]) -> Picture:
    unit, factor = scale_of(group)
    ordered = sorted(group, key=lambda m: (m.pattern[axis], m.pattern["threads"]))
    rows = [
        row_of(m, factor, unit, row=figures.size_text(m.pattern[axis]),
               column=str(m.pattern["threads"]),
               text=figures.plain(m, factor, 3 if len(distinct(group, "threads")) > _FEW else 4)
               + figures.mark(m),
               what=words_of(m, [axis, "threads"]))
        for m in ordered
    ]  # fmt: skip
    columns = [str(count) for count in distinct(group, "threads")]
    first, down = group[0], _MAPPED[axis]
    path, operation = path_of(first), str(first.pattern["operation"])
    order = str(first.pattern.get("order", "sequential"))
    rest = constants(group, "order", "operation", axis, "threads")
    return Picture(
        key=slug(f"map {down} {path} {operation} {order} {rest}"),
        title=f"{operation.capitalize()} bandwidth by threads and {down}, {path}",
        subtitle=", ".join(filter(None, (f"{order} order", rest, unit, "lighter is faster"))),
        alt=f"A map of threads by {down}. The best is {_best(group)}.",
        spec=shapes.heatmap(rows, "threads", down, unit, "high", columns),
        measurements=ordered,
    )


def access_sizes(gathered: Gathered) -> Iterator[Picture]:
    """Curves over access size of what is not in sequential order, of one thread count."""
    random = [m for m in gathered.measured if m.pattern.get("order") != "sequential"]
    for key, group in groups_by(random, "path", "order", "pages", "stride", "sharing").items():
        if len(distinct(group, "access_size")) > 1 and len(distinct(group, "threads")) == 1:
            yield _access_curves(str(key[0]), str(key[1]), group)


def _access_curves(path: str, order: str, group: list[Measurement]) -> Picture:
    unit, factor = scale_of(group)
    rows = [
        row_of(m, factor, unit, x=m.pattern["access_size"], series=str(m.pattern["operation"]),
               what=words_of(m, ["operation", "access_size"]))
        for m in group
    ]  # fmt: skip
    x = shapes.size_axis("access size", [row["x"] for row in rows])
    return Picture(
        key=slug(f"access {path} {order}"),
        title=f"Bandwidth over access size, {path}",
        subtitle=f"{order} order, {constants(group, 'order', 'access_size', 'operation')}",
        alt=f"The best is {_best(group)}.",
        spec=shapes.curves(rows, x, shapes.from_zero(unit)),
        measurements=group,
    )


def expansion(gathered: Gathered) -> list[Picture]:
    """Bandwidth over the share of pages on the second of two tiers: what both give combined."""
    shared: dict[tuple[Any, ...], list[tuple[float, Measurement]]] = {}
    for measurement in gathered.measured:
        split = _shares(measurement.target)
        if split is not None:
            nodes, share = split
            alike = tuple(value_of(measurement, key) for key in ("initiator", "pages", "order"))
            policy = measurement.pattern.get("policy")
            shared.setdefault((nodes, *alike, policy), []).append((share, measurement))
    pictures: list[Picture] = []
    for (nodes, initiator, *_), points in shared.items():
        members = [m for _, m in points]
        if len({share for share, _ in points}) < 2:
            continue
        unit, factor = scale_of(members)
        rows = [
            row_of(m, factor, unit, x=100 * share,
                   series=words_of(m, ["operation", "threads"]), what=f"{m.target}, "
                   f"{words_of(m, ['operation', 'threads'])}")
            for share, m in points
        ]  # fmt: skip
        x = {
            "field": "x",
            "type": "quantitative",
            "title": f"% of pages on node {nodes[1]}, the rest on node {nodes[0]}",
            "scale": {"domain": [0, 100]},
        }
        best = best_of(members)
        pictures.append(
            Picture(
                key=slug(f"expansion {initiator} {nodes} {len(pictures)}"),
                title=f"Bandwidth of nodes {nodes[0]} and {nodes[1]} combined, {initiator}",
                subtitle=constants(members, "operation", "threads"),
                alt=f"The best split is {best.target} with "
                f"{figures.with_interval(best, factor)} {unit}.",
                spec=shapes.curves(rows, x, shapes.from_zero(unit)),
                measurements=members,
            )
        )
    return pictures


def _shares(target: str) -> tuple[tuple[int, int], float] | None:
    """Return two nodes, ascending, and the share of the second, of ``node:0,2@3:1``."""
    try:
        endpoint = parse_endpoint(target)
    except UserError:
        return None
    if endpoint.kind != "node" or len(endpoint.numbers) != 2:
        return None
    weights = endpoint.weights or (1, 1)
    (first, low), (second, high) = sorted(zip(endpoint.numbers, weights, strict=True))
    return (first, second), high / (low + high)


def matrix(gathered: Gathered) -> list[Picture]:
    """Initiator by target: the best of each operation, where there are several paths."""
    pictures: list[Picture] = []
    single = [m for m in gathered.measured if "," not in m.target]
    of_one: list[Measurement] = []
    for (operation, order), group in groups_by(single, "operation", "order").items():
        if len(distinct(group, "initiator")) == 1:
            of_one += group
            continue
        best = [best_of_path(members) for members in groups_by(group, "path").values()]
        pictures.append(matrix_of(best, f"{operation}, {order}" if order else f"{operation}"))
    return pictures + _one_initiator(of_one)


def _one_initiator(measured: list[Measurement]) -> list[Picture]:
    """Operation by target: of a single initiator that says more than a matrix of one row."""
    pictures: list[Picture] = []
    for (initiator, order), group in groups_by(measured, "initiator", "order").items():
        best = [best_of_path(m) for m in groups_by(group, "operation", "target").values()]
        if len(distinct(best, "target")) < 2:
            continue
        unit, factor = scale_of(best)
        rows = [
            row_of(m, factor, unit, row=str(m.pattern["operation"]), column=m.target,
                   text=figures.plain(m, factor, 4), what=f"{m.target}, {m.pattern['operation']}")
            for m in best
        ]  # fmt: skip
        fastest, slowest = best_of(best), min(best, key=lambda m: m.estimate or 0.0)
        pictures.append(
            Picture(
                key=slug(f"targets {initiator} {order}"),
                title=f"Bandwidth by target, {initiator}",
                subtitle=f"{unit}, lighter is faster; {order} order; "
                f"{constants(best, 'operation', 'order')}",
                alt=f"Fastest: {fastest.pattern['operation']} of {fastest.target} with "
                f"{figures.with_interval(fastest, factor)} {unit}; slowest: "
                f"{slowest.pattern['operation']} of {slowest.target} with "
                f"{figures.with_interval(slowest, factor)} {unit}.",
                spec=shapes.heatmap(rows, "target", "operation", unit, "high"),
                measurements=best,
            )
        )
    return pictures
