"""Tables of watched counters: values of one reading, or means and peaks of many."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tierscope.model.evidence import LackingCounters
from tierscope.model.metric import METRICS, heading_of
from tierscope.report.figures import scale_of, seconds_text, significant, size_text
from tierscope.report.style import new_table

Values = Mapping[tuple[str, str], float]
"""By metric and part."""

TITLES = {
    "memory": "Memory",
    "bandwidth": "Memory bandwidth",
    "process": "Process",
    "cgroup": "Cgroup",
    "cpus": "CPUs",
    "pressure": "Pressure",
    "cgroup-pressure": "Cgroup's pressure",
    "migrations": "Migrations a second",
    "gpus": "GPUs",
    "drives": "Drives",
    "requests": "Requests",
    "nfs": "NFS mounts",
    "nvidia-fs": "nvidia-fs",
    "network": "Network",
    "RAPL": "CPUs' power",
    "NVML": "GPUs' power",
    "hwmon": "Sensors",
}
"""Headings by the names of sources."""
_LISTS = ("pressure", "cgroup-pressure", "migrations")
"""Sources whose parts are kinds of events, not places; they are shown side by side."""
_ALWAYS = ("stalled", "pages_migrated")
"""Metrics of events that are shown even if they are 0."""


def is_list(source: str) -> bool:
    """Whether a source's parts are kinds of events, not places."""
    return source in _LISTS


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
    return f"{text} {shown}" if unit in ("B/s", "W", "ns") else text


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
            table.add_row(first, *([name] if name else []), *cells)
            first = ""
    return table


def places_of(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Return the parts of keys; the whole is left out where it has a single part."""
    places = list(dict.fromkeys(part for _, part in keys))
    return places[1:] if len(places) == 2 and not places[0] else places


def _list(source: str, every: list[tuple[str, str]], lines: Mapping[str, Values]) -> Table:
    """Return counts of events side by side, without events that did not occur."""
    kept = [
        key
        for key in every
        if key[0] in _ALWAYS or any(values.get(key, 0) > 0 for values in lines.values())
    ]
    table = _with_columns(source, lines, (part or heading_of(metric) for metric, part in kept))
    for name, values in lines.items():
        cells = [_cell(values, *key) for key in kept]
        table.add_row("", *([name] if name else []), *cells)
    return table


def _with_columns(source: str, lines: Mapping[str, Values], headings: Iterable[str]) -> Table:
    heading = title_of(source)
    names = (heading,) if "" in lines else (heading, "")
    return new_table(*names, *headings, words=names)


def _cell(values: Values, metric: str, part: str) -> str:
    value = values.get((metric, part))
    return "" if value is None else value_text(metric, value)


def lacking_lines(lacking: Sequence[LackingCounters]) -> list[str]:
    """Say which counters cannot be read, why, and what they need."""
    return [
        f"no {one.what}: {'; '.join(filter(None, (one.reason, one.remedy)))}" for one in lacking
    ]


class Reading(Protocol):
    """The values of one source of counters in one interval."""

    @property
    def source(self) -> str:
        """Its name."""

    @property
    def start_s(self) -> float:
        """Start of the interval, in seconds since the watch began."""

    @property
    def duration_s(self) -> float:
        """Length of the interval in seconds."""

    @property
    def values(self) -> Values:
        """By metric and part."""


Show = Callable[[Sequence[Reading], Sequence[LackingCounters]], None]
"""Shows all readings of one interval, and the counters that cannot be read here."""


@contextlib.contextmanager
def live_screen(console: Console, heading: str) -> Iterator[Show]:
    """Give a function that shows each interval in place of the one before."""
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def show(rows: Sequence[Reading], lacking: Sequence[LackingCounters]) -> None:
            live.update(_screen(heading, rows, lacking), refresh=True)

        yield show


def _screen(
    heading: str, rows: Sequence[Reading], lacking: Sequence[LackingCounters]
) -> RenderableType:
    watched = max((row.start_s + row.duration_s for row in rows), default=0.0)
    parts: list[RenderableType] = [Text(f"{heading}, {seconds_text(watched)}", style="bold")]
    for row in rows:
        if row.values:
            table = watched_table(row.source, {"": row.values})
            table.box = None  # without lines, more of it fits a screen
            parts += [Text(), table]
    lines = "\n".join(lacking_lines(lacking))
    return Group(*parts, Text(), Padding(Text(lines, style="dim"), (0, 2)))


def line_by_line(console: Console) -> Show:
    """Return a function that prints a line for each place; what is 0 is left out."""
    said: list[str] = []

    def show(rows: Sequence[Reading], lacking: Sequence[LackingCounters]) -> None:
        for line in lacking_lines(lacking):
            if line not in said:
                said.append(line)
                _print(console, f"# {line}")
        now = f"{datetime.now():%H:%M:%S}"
        for row in rows:
            for text in _places(row.source, row.values):
                _print(console, f"{now} {row.source} {text}")

    return show


def _print(console: Console, text: str) -> None:
    console.print(Text(text), soft_wrap=True)


def _places(source: str, values: Values) -> Iterator[str]:
    """Yield a line for each place, or one line for all events."""
    found = [key for key in values if values[key]]
    if is_list(source):
        words = [f"{part or heading_of(metric)} {value_text(metric, values[metric, part])}"
                 for metric, part in found]  # fmt: skip
        yield from [", ".join(words)] if words else []
        return
    for place in places_of(values):
        words = [f"{heading_of(metric)} {value_text(metric, values[metric, part])}"
                 for metric, part in found if part == place]  # fmt: skip
        if words:
            yield f"{place or 'all'}: {', '.join(words)}"


def json_line(rows: Sequence[Reading], lacking: Sequence[LackingCounters]) -> str:
    """Return one interval as a JSON object: for each source its time and values by metric."""
    sources = {}
    for row in rows:
        values: dict[str, dict[str, float]] = {}
        for (metric, part), value in row.values.items():
            values.setdefault(metric, {})[part] = value
        sources[row.source] = {"start_s": row.start_s, "duration_s": row.duration_s, **values}
    found = {
        "at": datetime.now().astimezone().isoformat(timespec="milliseconds"),
        "sources": sources,
        "lacking": [one.model_dump() for one in lacking],
    }
    return json.dumps(found)
