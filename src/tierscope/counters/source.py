"""A source of counters: what it is called, how it is read, what it lacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tierscope.counters.reading import Reading
from tierscope.model.lacking import LackingCounters


def _nothing_to_close() -> None:
    pass


@dataclass(frozen=True)
class Source:
    """Counters that are read together."""

    name: str
    """Names its rows in run files: ``drives``."""
    read: Callable[[], Reading]
    """Reads what can be read now; what came or went since shows as new or absent keys."""
    lacking: Sequence[LackingCounters] = ()
    """What cannot be read here; all of it where ``available`` is False."""
    available: bool = True
    close: Callable[[], None] = field(default=_nothing_to_close)


def absent(name: str, lacking: Sequence[LackingCounters]) -> Source:
    """A source of which nothing can be read here."""
    return Source(name, Reading, lacking, available=False)


def lacks(what: str, reason: str, remedy: str = "") -> LackingCounters:
    """Counters that cannot be read, why, and what would make them readable."""
    return LackingCounters(what=what, reason=reason, remedy=remedy)
