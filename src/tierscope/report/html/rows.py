"""What the page's tables show: paths with their limits, figures with their evidence."""

from dataclasses import dataclass

from tierscope.analysis.direction import lower_is_better
from tierscope.model.endpoint import format_ranges
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of_path
from tierscope.report.causes import no_interval_text
from tierscope.report.evidence import by_node, counted
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import (
    groups_by,
    label_of,
    varying,
    words_of,
)
from tierscope.report.view import Views, view_of
from tierscope.report.watched import lacking_lines

MAX_PATHS = 200
MAX_FIGURES = 40


@dataclass(frozen=True)
class PathRow:
    """One line of the table of paths."""

    path: str
    what: str
    estimate: str
    interval: str
    unit: str
    limit: str
    link: str
    formula: str
    efficiency: float | None
    rate: bool
    """Whether it has a limit at all; a time has none."""


def path_rows(measurements: list[Measurement], views: Views) -> list[PathRow]:
    """Return the best of each path, kind and operation; paths in order of appearance.

    Of latencies the one of the largest working set stands for its path: it is the memory's.
    """
    measured = [
        m for m in measurements if m.status == "measured" and view_of(views, m.kind).represents_path
    ]
    rows = []
    for (_, kind, *_), group in _grouped(measured).items():
        if lower_is_better(group[0]):
            size = max(float(m.pattern.get("size", 0)) for m in group)
            group = [m for m in group if float(m.pattern.get("size", 0)) == size]
        rows.append(_path_row(best_of_path(group), kind))
    return rows


_APART = {
    False: ("operation", "way", "transfers", "beside"),
    True: ("order", "pages", "way", "transfers"),
}
"""Properties that have rows of their own, of rates and of times."""


def _grouped(measured: list[Measurement]) -> dict[tuple[str, ...], list[Measurement]]:
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    paths = groups_by(measured, "path")
    for (path,), members in paths.items():
        for m in members:
            apart = (str(m.pattern.get(key, "")) for key in _APART[lower_is_better(m)])
            key = (path, m.kind, str(m.metric), *apart)
            groups.setdefault(key, []).append(m)
    return groups


def _path_row(best: Measurement, kind: str) -> PathRow:
    unit, factor = figures.scale_of(best.unit or "count", [best.estimate or 0.0])
    estimate, interval = figures.parts(best, factor)
    keys = (
        "operation",
        "order",
        "engine",
        "memory",
        "way",
        "size",
        "access_size",
        "threads",
        "pages",
        "transfers",
        "beside",
    )
    details = [
        label_of(key, best.pattern[key])
        for key in keys
        if best.pattern.get(key) not in (None, "", "sequential")
        and (key != "size" or lower_is_better(best))
        and (key != "access_size" or best.pattern.get("order") not in (None, "sequential"))
    ]
    limit = ""
    if best.limit:
        name, divisor = figures.scale_of(best.limit.unit, [best.limit.value])
        limit = f"{best.limit.value / divisor:.4g} {name}"
    return PathRow(
        path=path_of(best),
        what=", ".join([kind, *details]),
        estimate=estimate + figures.mark(best),
        interval=interval,
        unit=unit,
        limit=limit,
        link=best.limit.link if best.limit else "",
        formula=f"{best.limit.formula} ({best.limit.source})" if best.limit else "",
        efficiency=best.efficiency,
        rate=best.unit == "B/s",
    )


@dataclass(frozen=True)
class FigureRow:
    """One measurement in a picture's table."""

    what: str
    estimate: str
    interval: str
    samples: str
    cpus: str
    pages: str
    more: str


@dataclass(frozen=True)
class FigureTable:
    """A picture's figures with what was observed."""

    unit: str
    rows: list[FigureRow]
    left_out: int


def figure_table(measurements: list[Measurement]) -> FigureTable:
    """Return a picture's figures and their evidence, at most MAX_FIGURES of them."""
    names = varying(measurements)
    unit, factor = figures.scale_of(
        measurements[0].unit or "count", [m.estimate or 0.0 for m in measurements]
    )
    shown = measurements[:MAX_FIGURES]
    rows = [_figure_row(m, names, factor) for m in shown]
    return FigureTable(unit, rows, len(measurements) - len(shown))


_STOPS = {
    "precision": "precision reached",
    "budget": "time budget spent",
    "rounds": "all rounds made",
    "interrupted": "interrupted",
    "written": "all of it written",
    "steady": "steady state reached",
}


def _figure_row(measurement: Measurement, names: list[str], factor: float) -> FigureRow:
    estimate, interval = figures.parts(measurement, factor)
    evidence = measurement.evidence or Evidence()
    return FigureRow(
        what=words_of(measurement, names) or path_of(measurement),
        estimate=estimate + figures.mark(measurement),
        interval=no_interval_text(measurement) or interval,
        samples=f"{measurement.n}, {_STOPS.get(measurement.stop or '', '')}",
        cpus=_cpus(evidence) or "–",
        pages=by_node(evidence.pages) or "–",
        more="; ".join(_more(evidence)) or "–",
    )


def _cpus(evidence: Evidence) -> str:
    """Return the CPUs that threads were seen on."""
    seen = evidence.cpus_seen or [evidence.cpus or []]
    return format_ranges(tuple(sorted({cpu for cpus in seen for cpu in cpus})))


_SHOWN = {"pages", "cpus", "cpus_seen", "page_bytes", "threads", "clock", "notes", "region_bytes",
          "counters", "lacking"}  # fmt: skip


def _more(evidence: Evidence) -> list[str]:
    """Everything else that was observed, whichever fields a kind has."""
    values = evidence.model_dump(mode="json", exclude_none=True)
    parts = []
    for key, value in values.items():
        if key in _SHOWN or value in (0, "", [], {}):
            continue
        name = key.replace("_", " ")
        if key == "traffic":
            parts.append(f"traffic {by_node(value)}")
        elif key.endswith("_bytes") and isinstance(value, int | float):
            parts.append(f"{name.removesuffix(' bytes')} {figures.size_text(value)}")
        elif isinstance(value, float):
            parts.append(f"{name} {value:.4g}")
        elif isinstance(value, str | int):
            parts.append(f"{name} {value}")
        else:
            parts.append(f"{name} {_short(str(value))}")
    lines = [*counted([evidence]), *lacking_lines(evidence.lacking or [])]
    return [*parts, *lines, *map(str, evidence.notes or [])]


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}..."
