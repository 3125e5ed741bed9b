"""The order of visits that many hosts can keep in step.

``schedule.in_rounds`` decides by a host's own figures what it visits next, so no two hosts would
stay together. Here the plan alone decides: every measurement gets all its visits, in rounds over
all of them. A visit's ``turn`` sorts it, in the same way on every host that has the measurement.
"""

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from tierscope.plans.fit import again_seconds, longest_seconds
from tierscope.runs.book import Book
from tierscope.runs.schedule import ConcludeStep, Step, VisitStep, time_series_steps, visit_seconds

_FRESH = 3
"""Every third visit has new pages, where populating them is cheap."""
_FRESH_SHARE = 0.25
"""Of a visit's time, what populating may take."""

_TIME_SERIES, _ROUNDS = 0, 1
"""First part of a turn: time series come before the rounds over all others, as alone."""
END = (2,)
"""Turn after those of all visits."""


@dataclass(frozen=True)
class SharedStep(VisitStep):
    """A visit that all hosts make at the same time, those that have its measurement."""

    turn: tuple[int, ...] = ()


def in_step(book: Book, seed: str) -> Iterator[Step]:
    """Visit each measurement as often as its budget has room for, in an order of the plan alone.

    ``seed`` decides the order within a round; it is the same on every host.
    """
    for number, step in enumerate(time_series_steps(book)):
        if isinstance(step, VisitStep):
            turn = (_TIME_SERIES, number, _place(seed, 0, step.name))
            yield SharedStep(step.name, step.seconds, step.fresh, turn)
        else:
            yield step
    queue = []
    for name in book.open():
        count, _ = _visits(book, name)
        queue += [(_ROUNDS, number, _place(seed, number, name), name) for number in range(count)]
    heapq.heapify(queue)
    while queue:
        first, number, place, name = heapq.heappop(queue)
        if name in book.measurements:  # it ended before its last visit
            continue
        fresh = number > 0 and number % _FRESH == 0 and _populates_quickly(book, name)
        yield SharedStep(name, _visits(book, name)[1], fresh, (first, number, place))
        if name in book.ended:
            yield ConcludeStep(name)
    for name in book.open():
        yield ConcludeStep(name)


def _visits(book: Book, name: str) -> tuple[int, float]:
    """Return how many visits a measurement gets, and the seconds of each."""
    spec = book.specs[name]
    if (rounds := spec.rounds()) is not None:
        return rounds, spec.sampling.budget_s
    count, seconds = visit_seconds(spec, spec.sampling.budget_s, again_seconds(spec))
    return count, round(seconds, 4)


def _populates_quickly(book: Book, name: str) -> bool:
    spec = book.specs[name]
    populating_s = longest_seconds([spec])[0] - spec.sampling.budget_s
    return populating_s <= _FRESH_SHARE * _visits(book, name)[1]


def _place(seed: str, number: int, name: str) -> int:
    """Return a measurement's place in a round, as random as a hash and the same on every host."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}/{name}".encode()).digest()[:6], "big")
