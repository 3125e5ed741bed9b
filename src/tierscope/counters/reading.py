"""What counters said at one time, and the rates between two such times."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple


class Key(NamedTuple):
    """What a value is of."""

    metric: str
    """Of ``model.metric.METRICS``."""
    part: str = ""
    """The node, drive, port, ...; empty: the whole."""


class Count(NamedTuple):
    """A counter that only rises, until it wraps around or what it counts is replaced."""

    value: float
    """In the metric's unit times seconds: bytes, operations, seconds of a state."""
    at: float | None = None
    """The time in seconds of a counter that has a clock of its own; others have their reading's."""
    wraps_at: float | None = None
    """The value after which it begins at 0 again; None: it is too large to be reached."""


@dataclass
class Reading:
    """Everything that one source of counters said at one time."""

    counts: dict[Key, Count] = field(default_factory=dict)
    levels: dict[Key, float] = field(default_factory=dict)
    """Values as they are: bytes in use, shares that a driver averaged itself."""
    at: float = field(default_factory=lambda: time.monotonic())
    """When it was read, in seconds: one time for all counters, so that a rate times the time
    between two readings is the increase, however long reading takes."""


def rates(before: Reading, after: Reading) -> dict[Key, float]:
    """Return the rates of all counters in both readings, and the levels of the later one.

    A counter that was not there before, that was set back or whose time stood still has no rate.
    """
    found: dict[Key, float] = {}
    for key, count in after.counts.items():
        earlier = before.counts.get(key)
        if earlier is None:
            continue
        seconds = _time_of(count, after) - _time_of(earlier, before)
        increase = increase_of(earlier, count)
        if seconds > 0 and increase is not None:
            found[key] = increase / seconds
    return found | after.levels


def _time_of(count: Count, reading: Reading) -> float:
    return reading.at if count.at is None else count.at


def increase_of(before: Count, after: Count) -> float | None:
    """Return how much a counter rose, over its end where it has one; None where it was set back."""
    increase = after.value - before.value
    if increase < 0 and after.wraps_at is not None:
        increase += after.wraps_at
    return increase if increase >= 0 else None
