"""A watch while it goes on: a live screen on a terminal, lines elsewhere, or JSON lines."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from tierscope.model.lacking import LackingCounters
from tierscope.report.figures import seconds_text
from tierscope.report.watched import (
    Values,
    heading_of,
    is_list,
    lacking_lines,
    places_of,
    value_text,
    watched_table,
)


class Reading(Protocol):
    """What one source of counters told for one interval."""

    @property
    def source(self) -> str:
        """Its name."""

    @property
    def start_s(self) -> float:
        """When the interval began, from the beginning on."""

    @property
    def duration_s(self) -> float:
        """How long it was."""

    @property
    def values(self) -> Values:
        """By metric and part."""


Show = Callable[[Sequence[Reading], Sequence[LackingCounters]], None]
"""Shows all rows of one interval, and what cannot be read here."""


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
    """Yield a line for each place, or one for all where parts are no places."""
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
