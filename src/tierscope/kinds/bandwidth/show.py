"""The tables of bandwidth."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from rich.console import Console

from tierscope.analysis.best import best_of, best_of_path
from tierscope.analysis.knee import SHARE, Knee, knee_of
from tierscope.kinds.bandwidth.spec import LIBRARY, arrays_of
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError, counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import with_rivals
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.generic import (
    Axes,
    best_bars,
    best_of_each,
    curves_over,
    heat_over,
    matrix_of,
)
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    distinct,
    groups_by,
    label_of,
    scale_of,
    value_of,
    varying,
    words_of,
)
from tierscope.report.pictures.working_set import cache_marks
from tierscope.report.style import title
from tierscope.report.table import (
    OF_LIMIT,
    Grid,
    RowColumn,
    common_words,
    grids_of,
    show_grid,
    show_notes,
)
from tierscope.report.tiers import side_caches
from tierscope.report.view import View

_SWEPT = ("threads", "access_size", "size", "stride")
_OTHERS = ("order", "zipf_alpha", "sharing", "cpu_sets", "pages", "isa", "policy", "mechanism",
           "backing", "array_b", "array_c", "prefetchers")  # fmt: skip
_MIN_COUNTS = 3
"""Thread counts from which on the table says where more of them stop to help."""
_ON_BUS = "bandwidth_with_write_allocate"
"""bytes/s with the lines that stores fetch first, where hardware does that."""
_FETCH_FIRST = ("write", "copy", "scale", "add", "triad")
_MIN_SWEEP = 4
_MAX_COUNTS = 2
"""Thread counts up to which each has curves; a map shows more."""
_ALIKE = ("path", "operation", "order", "access_size", "threads", "pages", "sharing")
_MIN_STRIDES = 3
_MAPPED = {"access_size": "access size", "size": "size of the arrays"}
"""Sizes that maps of threads are drawn by, and what people call them."""
_MAPS_ALIKE = ("path", "operation", "order", "access_size", "size", "pages", "stride", "sharing",
               "isa", "policy", "prefetchers")  # fmt: skip
_NAMED = ("target", "operation", "order", "threads", "access_size", "size", "stride")


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print one grid for each path and pattern."""
    unit, factor = scale_of(measured)
    title(console, f"{VIEW.title}, {unit}")
    grids = [grid for group in _groups(measured) for grid in grids_of(group, *_axes(group))]
    for grid in grids:
        caption = common_words(grid.members[0], sorted(grid.same, key="path".__ne__))
        knees = [_KNEE] if _bends(grid) else []
        show_grid(console, grid, caption, factor, [_BUS, *knees, OF_LIMIT])
    own = side_cache_lines(run, measured)
    if any(map(_bus, measured)):
        own.append(
            "on the bus: the best with the lines that ordinary stores fetch before they write them"
        )
    if any(map(_bends, grids)):
        own.append(
            f"{SHARE:.0%} by: the fewest threads that reach {SHARE:.0%} of the best; 4–8 where "
            "intervals overlap"
        )
    show_notes(console, measured, own)


def _bends(grid: Grid) -> bool:
    """Whether a grid has enough thread counts to say where more of them stop to help."""
    return grid.column == "threads" and len(grid.columns) >= _MIN_COUNTS


def _groups(measured: list[Measurement]) -> list[list[Measurement]]:
    """Keep each path's sweeps together, and gather paths that have none in a last group."""
    paths = groups_by(measured, "path", "order").values()
    sweeps = [group for group in paths if any(_varies(group, key) for key in _SWEPT)]
    singles = [m for group in paths if group not in sweeps for m in group]
    return [*sweeps, singles] if singles else sweeps


def _varies(group: list[Measurement], key: str) -> bool:
    return len(distinct(group, key)) > 1


def _axes(group: list[Measurement]) -> tuple[list[str], list[str]]:
    """Return candidates for rows and columns of a group's grids, in order of preference."""
    if _varies(group, "path"):
        return ["path", *_SWEPT, *_OTHERS], ["operation", *_SWEPT, *_OTHERS]
    swept = [key for key in ("access_size", "size") if _varies(group, key)]
    if _varies(group, "threads") and swept:
        # The usual heat map, one for each operation.
        others = [key for key in _SWEPT[1:] if key not in swept]
        return [*swept, *others, *_OTHERS, "operation", "path"], ["threads"]
    return ["operation", *_OTHERS, *_SWEPT, "path"], [*_SWEPT, "path", *_OTHERS]


def _bus(m: Measurement) -> bool:
    return figures.side_figure(m, _ON_BUS) is not None


def _bus_text(best: Measurement, _row: list[Measurement], factor: float) -> str:
    """Return what the bus carried of a row's best; empty where nothing is fetched first."""
    bus = figures.side_figure(best, _ON_BUS)
    operation = best.pattern.get("operation")
    if bus is None and operation in LIBRARY:
        return "unknown"  # The C library may use non-temporal stores or not.
    if bus is None and operation in _FETCH_FIRST:
        return "in cache"
    return figures.plain(bus or best, factor, 3)


_BUS = RowColumn("best, on\nthe bus", _bus_text, lambda grid: any(map(_bus, grid.members)))
_KNEE = RowColumn(f"{SHARE:.0%} by", lambda _best, row, _factor: str(knee_of(row)))


def working_set(measurement: Measurement) -> int:
    """Bytes of all arrays that a measurement goes over."""
    return int(measurement.pattern["size"]) * arrays_of(str(measurement.pattern["operation"]))


def over_working_set(given: PictureInput) -> list[Picture]:
    """Bandwidth over working set, a curve an operation, with the caches as named."""
    pictures: list[Picture] = []
    for (path,), group in groups_by(given.measured, "path").items():
        curves = groups_by(group, *_ALIKE).values()
        members = [m for curve in curves if len(distinct(curve, "size")) >= _MIN_SWEEP
                   for m in curve]  # fmt: skip
        if not members or len(distinct(members, "threads")) > _MAX_COUNTS:
            continue
        unit, factor = scale_of(members)
        x = shapes.size_axis("working set, all arrays", [float(working_set(m)) for m in members])
        largest = max(members, key=working_set)
        at_end = f"{figures.text(largest, factor, unit)}"
        said = side_cache_lines(given.run, members)
        pictures.append(
            curves_over(
                members,
                "size",
                varying(members, "size", "path") or ["operation"],
                key=f"bandwidth working set {path}",
                title=f"Bandwidth over working set, {path}",
                subtitle=constants(members, "size"),
                alt=f"{figures.size_text(working_set(largest))} have {at_end}. {' '.join(said)}",
                axes=Axes(
                    at=working_set,
                    x=x,
                    marks=cache_marks(given.run, x, distinct(members, "target"), at_top=True),
                ),
            )
        )
    return pictures


def side_cache_lines(run: Run, measured: list[Measurement]) -> list[str]:
    """Say what each operation gets from a cache in front of a node, and what from behind it."""
    lines: list[str] = []
    for _, group in groups_by(measured, *_ALIKE).items():
        sizes = side_caches(run, group[0].target)
        beyond_caches = [m for m in group if not m.fits_caches]
        for size in sizes:
            within = [m for m in beyond_caches if working_set(m) <= size]
            behind = [m for m in beyond_caches if working_set(m) > size]
            if within and behind:
                lines.append(_side_cache_line(group[0], size, within, behind))
    return lines


def _side_cache_line(
    first: Measurement, size: int, within: list[Measurement], behind: list[Measurement]
) -> str:
    inside, outside = max(within, key=working_set), max(behind, key=working_set)
    unit, factor = scale_of([inside, outside])

    def told(measurement: Measurement) -> str:
        rate = figures.text(measurement, factor, unit)
        return f"{rate} with {figures.size_text(working_set(measurement))}"

    what: dict[str, Any] = first.pattern
    threads = counted(what["threads"], "thread")
    times = figures.significant(working_set(outside) / size, 2)
    return (
        f"{what['operation']} by {threads}, memory-side cache of {first.target}, "
        f"{figures.size_text(size)}: {told(inside)} inside; {told(outside)} ({times} x its size), "
        "of which the cache still serves a part"
    )


def orders(given: PictureInput) -> Iterator[Picture]:
    """Bars of each operation's best in each order of access."""
    for (path, operation), group in groups_by(given.measured, "path", "operation").items():
        best = best_of_each(group, "order")
        if len(best) > 1:
            yield best_bars(
                best,
                partial(words_of, keys=varying(best, "isa", "path")),
                key=f"orders {path} {operation}",
                title=f"{str(operation).capitalize()} bandwidth by order of access, {path}",
                subtitle=f"the best of each order; {constants(best, 'operation')}",
            )


def strides(given: PictureInput) -> Iterator[Picture]:
    """Bandwidth over stride, a curve an operation."""
    strided = [m for m in given.measured if m.pattern.get("order") == "strided"]
    for (path,), group in groups_by(strided, "path").items():
        if len(distinct(group, "stride")) >= _MIN_STRIDES:
            yield curves_over(
                group,
                "stride",
                varying(group, "stride", "path") or ["operation"],
                key=f"strides {path}",
                title=f"Bandwidth over stride, {path}",
                subtitle=constants(group, "stride", "operation"),
            )


def operations(given: PictureInput) -> Iterator[Picture]:
    """STREAM's bars: each operation's best in sequential order, for each path."""
    sequential = [m for m in given.measured if m.pattern.get("order") == "sequential"]
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


def over_threads(given: PictureInput) -> Iterator[Picture]:
    """Bandwidth over threads: of one target a curve an operation; of several a picture an
    operation with all targets of an initiator, all initiators on one scale."""
    mapped = _mapped(given.measured)
    keys = ("order", "pages", "access_size", "size", "sharing")
    paths = groups_by([m for m in given.measured if m.id not in mapped], "path", *keys)
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
    top = max(m.ci_high or m.estimate or 0.0 for m in alike) / factor
    return curves_over(
        group,
        "threads",
        [series],
        key=f"threads {what} {order} {constants(group, *_SWEPT, 'operation', 'order')}",
        title=f"Bandwidth over threads, {what[0].lower() + what[1:]}",
        called=lambda m, _names: str(value_of(m, series)),
        subtitle=_said(group, order),
        alt=f"{_knees(group, series)}. The best is {_best(group)}.",
        axes=Axes(
            y={**shapes.from_zero(unit), "scale": {"domain": [0, 1.05 * top], "nice": False}}
        ),
    )


def _mapped(measured: list[Measurement]) -> set[str]:
    """Return the ids of what ``maps`` draws, threads and all."""
    return {m.id for _, group in _map_groups(measured) for m in group}


def _map_groups(measured: list[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield sweeps over threads and a size, and which size: all else in a group is the same."""
    for axis in _MAPPED:
        alike = [key for key in _MAPS_ALIKE if key != axis]
        for group in groups_by(measured, *alike).values():
            if all(len(distinct(group, key)) > 1 for key in (axis, "threads")):
                yield axis, group


def _said(group: list[Measurement], order: str) -> str:
    parts = [f"{order} order", constants(group, "order", "operation", "threads")]
    return ", ".join(filter(None, parts))


def _best(group: list[Measurement]) -> str:
    best = best_of(group)
    unit, factor = scale_of(group)
    keys = [key for key in _NAMED if len(distinct(group, key)) > 1]
    text = f"{words_of(best, keys)}: {figures.text(best, factor, unit)}"
    return with_rivals(text, best, group, lambda m: words_of(m, keys))


def _knees(group: list[Measurement], series: str) -> str:
    knees: dict[Knee, list[str]] = {}
    for (name,), members in groups_by(group, series).items():
        knees.setdefault(knee_of(members), []).append(str(name))
    ordered = sorted(knees.items(), key=lambda found: (found[0].first, found[0].last))
    parts = [f"{_threads(found)} ({', '.join(names)})" for found, names in ordered]
    return "95% of the best is reached by " + ", ".join(parts)


def _threads(found: Knee) -> str:
    if found.first == found.last:
        return label_of("threads", found.first, "bandwidth")
    return f"{found.first} to {label_of('threads', found.last, 'bandwidth')}"


def maps(given: PictureInput) -> list[Picture]:
    """Threads by access size, and by size of the arrays, as heat maps."""
    return [_map(axis, group) for axis, group in _map_groups(given.measured)]


def _map(axis: str, group: list[Measurement]) -> Picture:
    first, down = group[0], _MAPPED[axis]
    path, operation = path_of(first), str(first.pattern["operation"])
    order = str(first.pattern.get("order", "sequential"))
    rest = constants(group, "order", "operation", axis, "threads")
    return heat_over(
        group,
        axis,
        "threads",
        key=f"map {down} {path} {operation} {order} {rest}",
        title=f"{operation.capitalize()} bandwidth by threads and {down}, {path}",
        subtitle=", ".join(filter(None, (f"{order} order", rest))),
        alt=f"A map of threads by {down}. The best is {_best(group)}.",
    )


def access_sizes(given: PictureInput) -> Iterator[Picture]:
    """Curves over access size of what is not in sequential order, of one thread count."""
    random = [m for m in given.measured if m.pattern.get("order") != "sequential"]
    for (path, order, *_), group in groups_by(
        random, "path", "order", "pages", "stride", "sharing"
    ).items():
        if len(distinct(group, "access_size")) > 1 and len(distinct(group, "threads")) == 1:
            yield curves_over(
                group,
                "access_size",
                ["operation"],
                key=f"access {path} {order}",
                title=f"Bandwidth over access size, {path}",
                subtitle=f"{order} order, {constants(group, 'order', 'access_size', 'operation')}",
                axes=Axes(x=shapes.size_axis("access size", distinct(group, "access_size"))),
            )


def expansion(given: PictureInput) -> list[Picture]:
    """Bandwidth over the share of pages on the second of two tiers: what both give combined."""
    shared: dict[tuple[Any, ...], list[tuple[float, Measurement]]] = {}
    for measurement in given.measured:
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
        pictures.append(
            curves_over(
                members,
                "target",
                ["operation", "threads"],
                key=f"expansion {initiator} {nodes} {len(pictures)}",
                title=f"Bandwidth of nodes {nodes[0]} and {nodes[1]} combined, {initiator}",
                subtitle=constants(members, "operation", "threads"),
                axes=Axes(
                    at=_percent,
                    x={
                        "field": "x",
                        "type": "quantitative",
                        "title": f"% of pages on node {nodes[1]}, the rest on node {nodes[0]}",
                        "scale": {"domain": [0, 100]},
                    },
                ),
            )
        )
    return pictures


def _percent(measurement: Measurement) -> float:
    split = _shares(measurement.target)
    return 100 * split[1] if split else 0.0


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


def matrix(given: PictureInput) -> list[Picture]:
    """Initiator by target: the best of each operation, where there are several paths."""
    pictures: list[Picture] = []
    single = [m for m in given.measured if "," not in m.target]
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
        pictures.append(
            heat_over(
                best,
                "operation",
                "target",
                key=f"targets {initiator} {order}",
                title=f"Bandwidth by target, {initiator}",
                subtitle=f"{order} order; {constants(best, 'operation', 'order')}",
            )
        )
    return pictures


VIEW = View(
    title="Bandwidth",
    method="Pinned threads pass one barrier and run one loop over arrays whose pages were read "
    "back; bytes are those the program asked to move, as STREAM counts; median and its 95% "
    "interval.",
    table=show_table,
    pictures=(
        matrix,
        operations,
        over_threads,
        over_working_set,
        maps,
        access_sizes,
        expansion,
        orders,
        strides,
    ),
)
