"""The table of any kind: a row a measurement, a column for whatever differs."""

from collections import Counter

from rich.console import Console
from rich.text import Text

from tierscope.model.metric import OF_ENERGY, Unit
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.grid import Axis
from tierscope.report.style import new_table, note, title
from tierscope.report.view import View

_SIZES = ("size", "access_size", "prefetch")
_NAMES = {
    "size": "size",
    "access_size": "access",
    "zipf_alpha": "alpha",
    "delay_ns": "delay",
}


def show_table(console: Console, measurements: list[Measurement], view: View) -> None:
    """Print the measured results of one kind, a table for each set of its separate properties."""
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measurements:
        key = tuple(str(m.pattern.get(name)) for name in view.separate)
        groups.setdefault((str(m.metric), *key), []).append(m)
    for members in groups.values():
        _show(console, members, view)


def _show(console: Console, measured: list[Measurement], view: View) -> None:
    unit, factor = figures.scale_of(
        measured[0].unit or "count", [m.estimate or 0.0 for m in measured]
    )
    title(console, f"{view.title}, {unit}")
    keys = dict.fromkeys(key for m in measured for key in m.pattern if key not in view.hidden)
    axes = [Axis("path"), *map(Axis, keys)]
    varying = [axis for axis in axes if len({axis.of(m) for m in measured}) > 1]
    constant = [axis for axis in axes if axis not in varying]
    said = (_said(axis, measured[0], view) for axis in constant)
    console.print(Text(", ".join(filter(None, said))))
    further = {
        (f.metric, f.part): f.unit
        for m in measured
        for f in m.figures
        if f.metric not in OF_ENERGY  # which has a table of its own
    }
    table = new_table()
    for axis in varying:
        heading = view.headings.get(axis.key, _NAMES.get(axis.key, axis.name))
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column(view.headline or str(measured[0].metric), justify="right", no_wrap=True)
    scales = _scales(measured, view)
    parts = Counter(part for _, part in further)
    for metric, part in further:
        heading = view.headings.get(metric, metric.replace("_", " "))
        own, _ = scales.get(metric, ("", 1.0))
        if part:
            heading = f"{part} {heading}" if parts[part] > 1 else part
        table.add_column(f"{heading}, {own}" if own else heading, justify="right")
    for m in measured:
        cells = [_text(axis, m) for axis in varying]
        cells.append(figures.with_interval(m, factor))
        for (metric, part), own_unit in further.items():
            same = factor if own_unit == m.unit else 1.0
            _, divisor = scales.get(metric, ("", same))
            cells.append(_figure(m, metric, part, divisor))
        table.add_row(*map(Text, cells))
    console.print(table)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)


def _scales(measured: list[Measurement], view: View) -> dict[str, tuple[str, float]]:
    """Return the unit to say, and what to divide by, of further metrics whose unit neither the
    title nor a heading says; those of one unit share their scale."""
    values: dict[Unit, list[float]] = {}
    units: dict[str, Unit] = {}
    for m in measured:
        for f in m.figures:
            if f.unit != m.unit and f.metric not in view.headings:
                units[f.metric] = f.unit
                values.setdefault(f.unit, []).append(f.estimate)
    scales = {unit: figures.scale_of(unit, own) for unit, own in values.items()}
    return {metric: scales[unit] for metric, unit in units.items()}


def _figure(measurement: Measurement, metric: str, part: str, factor: float) -> str:
    figure = figures.side_figure(measurement, metric, part)
    return figures.plain(figure, factor) if figure else ""


def _text(axis: Axis, measurement: Measurement) -> str:
    value = measurement.pattern.get(axis.key)
    if axis.key in _SIZES and isinstance(value, int):
        return figures.size_text(value) if value else "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(axis.of(measurement))


def _said(axis: Axis, measurement: Measurement, view: View) -> str:
    """Say what is the same everywhere, where it is worth saying."""
    value = measurement.pattern.get(axis.key)
    if axis.key == "path":
        return str(axis.of(measurement))
    if value in (None, 0, "", "auto") or view.unsaid.get(axis.key) == value:
        return ""
    words = {
        "threads": f"{value} thread{'' if value == 1 else 's'}",
        "pages": f"{value} pages",
    }
    name = view.headings.get(axis.key, _NAMES.get(axis.key, axis.name))
    return words.get(axis.key, f"{name} {_text(axis, measurement)}")
