"""Tables of streams, atomics and mapping: a row a measurement, a column for whatever differs."""

from rich.console import Console
from rich.text import Text

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.grid import Axis
from tierscope.report.style import new_table, note, title

_EXPONENTS = 1e4
"""Value from which on four digits would be written with an exponent."""
_SIZES = ("size", "access_size", "prefetch")
_NAMES = {
    "size": "size",
    "access_size": "access",
    "zipf_alpha": "alpha",
    "delay_ns": "delay",
    "operation": "update",
}
_HIDDEN = ("writes", "stores")
"""Said by the mix."""
_FIGURES = {
    "bandwidth_with_write_allocate": "on the bus",
    "total_bandwidth": "all together",
    "time_per_update": "ns each",
    "tries_per_update": "tries",
    "map": "map",
    "populate_per_page": "populate",
    "unmap_per_page": "unmap",
}


def show_streams(console: Console, measurements: list[Measurement]) -> None:
    """Print streams, a table for each order and for what runs beside them."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in measurements:
        groups.setdefault((m.pattern.get("order"), m.pattern.get("beside")), []).append(m)
    for members in groups.values():
        _show(console, members, "Streams, GB/s", "bandwidth", 1e9)


def show_atomics(console: Console, measurements: list[Measurement]) -> None:
    """Print atomic updates."""
    _show(console, measurements, "Atomic updates, millions a second", "updates", 1e6)


def show_mapping(console: Console, measurements: list[Measurement]) -> None:
    """Print what memory costs."""
    _show(
        console, measurements, "Map, populate, unmap: ns a page (map: ns in all)", "together", 1.0
    )


def _show(
    console: Console, measurements: list[Measurement], name: str, main: str, factor: float
) -> None:
    measured = [m for m in measurements if m.status == "measured"]
    if not measured:
        return
    title(console, name)
    keys = list(dict.fromkeys(key for m in measured for key in m.pattern if key not in _HIDDEN))
    axes = [Axis("path"), *map(Axis, keys)]
    varying = [axis for axis in axes if len({axis.of(m) for m in measured}) > 1]
    constant = [axis for axis in axes if axis not in varying]
    console.print(Text(", ".join(filter(None, (_said(a, measured[0]) for a in constant)))))
    metrics = list(dict.fromkeys(f.metric for m in measured for f in m.figures))
    table = new_table()
    for axis in varying:
        table.add_column(_NAMES.get(axis.key, axis.name), justify="right", overflow="fold")
    table.add_column(main, justify="right", no_wrap=True)
    for metric in metrics:
        heading = _FIGURES.get(metric, metric.removesuffix(".bandwidth"))
        table.add_column(heading, justify="right")
    for m in measured:
        cells = [_text(axis, m) for axis in varying]
        cells.append(figures.with_interval(m, factor))
        cells += [_figure(m, metric, factor) for metric in metrics]
        table.add_row(*map(Text, cells))
    console.print(table)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)


def _figure(measurement: Measurement, metric: str, factor: float) -> str:
    for figure in measurement.figures:
        if figure.metric == metric:
            value = figure.estimate / (factor if figure.unit == "B/s" else 1.0)
            return f"{value:.0f}" if value >= _EXPONENTS else f"{value:.4g}"
    return ""


def _text(axis: Axis, measurement: Measurement) -> str:
    value = measurement.pattern.get(axis.key)
    if axis.key in _SIZES and isinstance(value, int):
        return figures.size_text(value) if value else "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(axis.of(measurement))


def _said(axis: Axis, measurement: Measurement) -> str:
    """Say what is the same everywhere, where it is worth saying."""
    value = measurement.pattern.get(axis.key)
    if axis.key == "path":
        return str(axis.of(measurement))
    if value in (None, 0, "", "auto") or (axis.key, value) == ("zipf_alpha", 0.9):
        return ""
    words = {
        "threads": f"{value} thread{'' if value == 1 else 's'}",
        "pages": f"{value} pages",
        "beside": f"beside {value}",
        "shared": "all threads on the same counters",
    }
    name = _NAMES.get(axis.key, axis.name)
    return words.get(axis.key, f"{name} {_text(axis, measurement)}")
