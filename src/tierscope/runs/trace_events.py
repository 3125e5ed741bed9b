"""A run as a timeline: Trace Event Format, which Perfetto and chrome://tracing show."""

import json
from pathlib import Path
from typing import Any

from tierscope.model.errors import UserError, shown
from tierscope.model.event import Column, Repetition, Series
from tierscope.model.metric import METRICS
from tierscope.runs.read import read_contents

_PROCESS = 1
_GPU_WORK = {"gpus", "trace", "copies_overlap"}
"""Evidence that a repetition's event has."""


def trace_events(path: Path) -> tuple[str, int]:
    """Return a run's timeline, and how many repetitions are in it.

    Each repetition is an event of the track "repetitions", each sample one of its series' track,
    with its values; times are microseconds from the beginning of the run. Raises UserError for a
    run without repetitions, or whose repetitions have no time.
    """
    contents = read_contents(path)
    found = [
        record.repetition
        for name in contents.repetitions
        for record in contents.repetitions_of(name)
        if record.repetition.at_s is not None
    ]
    if not found:
        raise UserError(
            f"--trace-events: run {shown(contents.header.name)} has no repetitions with their "
            "times; name a run that tierscope measured"
        )
    timeline = _Timeline()
    for repetition in sorted(found, key=_began):
        _add(repetition, timeline)
    header = contents.header
    events = timeline.events_of(f"tierscope {header.name} on {header.host}")
    about = {"run": header.name, "started": header.started}
    made = {"traceEvents": events, "otherData": about}
    return json.dumps(made, separators=(",", ":")) + "\n", len(found)


class _Timeline:
    """Events on tracks. Those of one track never overlap: viewers nest or drop such events."""

    def __init__(self) -> None:
        self._tracks: dict[tuple[str, int], int] = {}
        """Numbers of tracks, in the order in which they appear; several of a name in turn."""
        self._ends: dict[int, int] = {}
        """When the last event of each track ends, in ns."""
        self._events: list[dict[str, Any]] = []

    def add(
        self, track: str, name: str, start_s: float, duration_s: float, about: dict[str, Any]
    ) -> None:
        """Add an event to the first track of a name that is free."""
        start, end = round(start_s * 1e9), round((start_s + duration_s) * 1e9)
        number = self._free(track, start)
        self._ends[number] = end
        times = {"ph": "X", "ts": start / 1e3, "dur": (end - start) / 1e3}
        self._events.append({"name": name, **times, "pid": _PROCESS, "tid": number, "args": about})

    def _free(self, track: str, start: int) -> int:
        lane = 0
        while True:
            number = self._tracks.setdefault((track, lane), len(self._tracks))
            if self._ends.get(number, start) <= start:
                return number
            lane += 1

    def events_of(self, process: str) -> list[dict[str, Any]]:
        """Return all events, those before them that name the process and order the tracks."""
        named = [_metadata("process_name", 0, {"name": process})]
        for (name, _), number in self._tracks.items():
            named.append(_metadata("thread_name", number, {"name": name}))
            named.append(_metadata("thread_sort_index", number, {"sort_index": number}))
        return named + self._events


def _metadata(name: str, track: int, about: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": _PROCESS, "tid": track, "args": about}


def _began(repetition: Repetition) -> float:
    return repetition.at_s or 0.0


def _add(repetition: Repetition, timeline: _Timeline) -> None:
    gpu_work = repetition.evidence.model_dump(mode="json", include=_GPU_WORK, exclude_none=True)
    about = {"fresh": repetition.fresh, "interrupted": repetition.interrupted, **gpu_work}
    timeline.add("repetitions", repetition.id, _began(repetition), repetition.seconds, about)
    # A repetition begins with its first sample, whatever the zero of its series is.
    first = min((min(series.starts) for series in repetition.series if series.starts), default=0.0)
    for series in repetition.series:
        for number, start in enumerate(series.starts):
            timeline.add(
                f"{repetition.id}: {series.name}",
                series.name,
                _began(repetition) + start - first,
                series.durations[number],
                _values(series, number),
            )


def _values(series: Series, number: int) -> dict[str, Any]:
    values = {_heading(column): column.values[number] for column in series.columns}
    return values | ({"lost share": series.lost[number]} if series.lost else {})


def _heading(column: Column) -> str:
    part = f" {column.part}" if column.part else ""
    return f"{column.metric}{part} ({METRICS[column.metric].unit})"
