"""What was watched, in tables: values of one reading, or means and peaks of many."""

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from tierscope.model.lacking import LackingCounters
from tierscope.model.metric import METRICS
from tierscope.report.figures import scale_of, significant, size_text
from tierscope.report.style import new_table

Values = Mapping[tuple[str, str], float]
"""By metric and part."""

TITLES = {
    "memory": "Memory",
    "bandwidth": "Memory bandwidth",
    "process": "Process",
    "cgroup": "Cgroup",
    "pressure": "Pressure",
    "cgroup-pressure": "Cgroup's pressure",
    "migrations": "Migrations a second",
    "gpus": "GPUs",
    "drives": "Drives",
    "network": "Network",
    "RAPL": "CPUs' power",
    "NVML": "GPUs' power",
    "hwmon": "Sensors",
}
"""Headings by the names of sources."""
_LISTS = ("pressure", "cgroup-pressure", "migrations")
"""Sources whose parts are no places: they are shown one after the other."""
_HEADINGS = {
    "memory_used": "used",
    "memory_anonymous": "anonymous",
    "memory_file": "files",
    "memory_free": "free",
    "throughput": "traffic",
    "read_throughput": "read",
    "write_throughput": "written",
    "receive_throughput": "received",
    "send_throughput": "sent",
    "read_iops": "reads/s",
    "write_iops": "writes/s",
    "busy": "busy",
    "memory_busy": "memory busy",
    "pages_migrated": "pages migrated",
}
_ALWAYS = ("stalled", "pages_migrated")
"""Metrics of lists that are shown also where they are 0."""


def is_list(source: str) -> bool:
    """Whether a source's parts are no places, as counters of events are none."""
    return source in _LISTS


def heading_of(metric: str) -> str:
    """Return what a column of a metric is called."""
    return _HEADINGS.get(metric, metric.replace("_", " "))


def title_of(source: str) -> str:
    """Return the heading of a source's table."""
    return TITLES.get(source, source)


def value_text(metric: str, value: float) -> str:
    """Return a value with its unit: ``3.1 GiB``, ``12.4 MB/s``, ``5.2%``."""
    unit = METRICS[metric].unit if metric in METRICS else "count"
    if unit == "B":
        return size_text(value)
    if unit == "ratio":
        return f"{value:.1%}"
    shown, factor = scale_of(unit, [value])
    if unit == "B/s" and shown == "GB/s" and value < 1e9:
        shown, factor = "MB/s", 1e6
    digits = significant(value / factor, 3) if value >= factor else f"{value / factor:.1f}"
    text = "0" if value == 0 else digits
    return f"{text} {shown}" if unit in ("B/s", "W") else text


def watched_table(source: str, lines: Mapping[str, Values]) -> Table:
    """Return one source's values as a table: rows for each place, a column for each metric.

    ``lines`` are values by what they are called: mean, peak; one without a name is alone.
    """
    every = list(dict.fromkeys(key for values in lines.values() for key in values))
    if is_list(source):
        return _list(source, every, lines)
    metrics = list(dict.fromkeys(metric for metric, _ in every))
    table = _with_columns(source, lines, map(heading_of, metrics))
    for place in places_of(every):
        first = place or "all"
        for name, values in lines.items():
            cells = [_cell(values, metric, place) for metric in metrics]
            table.add_row(*map(Text, (first, *([name] if name else []), *cells)))
            first = ""
    return table


def places_of(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Return the parts of keys; the whole is left out where it has a single part."""
    places = list(dict.fromkeys(part for _, part in keys))
    return places[1:] if len(places) == 2 and not places[0] else places


def _list(source: str, every: list[tuple[str, str]], lines: Mapping[str, Values]) -> Table:
    """Return values whose parts are no places, side by side, without events that did not come."""
    kept = [
        key
        for key in every
        if key[0] in _ALWAYS or any(values.get(key, 0) > 0 for values in lines.values())
    ]
    table = _with_columns(source, lines, (part or heading_of(metric) for metric, part in kept))
    for name, values in lines.items():
        cells = [_cell(values, *key) for key in kept]
        table.add_row(*map(Text, ("", *([name] if name else []), *cells)))
    return table


def _with_columns(source: str, lines: Mapping[str, Values], headings: Iterable[str]) -> Table:
    table = new_table()
    table.add_column(title_of(source), overflow="fold")
    if "" not in lines:
        table.add_column("")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _cell(values: Values, metric: str, part: str) -> str:
    value = values.get((metric, part))
    return "" if value is None else value_text(metric, value)


def lacking_lines(lacking: Sequence[LackingCounters]) -> list[str]:
    """Say which counters cannot be read, why, and what they need."""
    return [
        f"no {one.what}: {'; '.join(filter(None, (one.reason, one.remedy)))}" for one in lacking
    ]
