"""Which visit comes next, and when a measurement is concluded.

A schedule yields steps, one at a time, and looks into the book after each; what carries steps out
(``runs.measure``) knows nothing of their order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tierscope.analysis.conclude import MIN_ROWS, is_precise
from tierscope.kinds.plan import Spec
from tierscope.model.event import Visit
from tierscope.model.spec import Sampling
from tierscope.runs.book import Book

_LOOKS = (0.25, 0.5, 1.0)
"""Shares of the budget after which a measurement is looked at."""
_WARM_UP_ROWS = 3
"""Rows that a visit usually takes to warm up, and one that is longer than the others."""
_REACHED = 0.95
"""Share of a look's time after which no visit is worth making for the rest of it."""


@dataclass(frozen=True)
class VisitStep:
    """Visit a measurement."""

    name: str
    seconds: float
    fresh: bool = False


@dataclass(frozen=True)
class ConcludeStep:
    """A measurement gets no further visit for now: estimate it and record that."""

    name: str


@dataclass(frozen=True)
class PlanStep:
    """Add measurements to the plan."""

    specs: list[Spec]


Step = VisitStep | ConcludeStep | PlanStep
Further = Callable[[Book], list[Spec]]
"""Chooses measurements that are added when all others are concluded; none ends the run."""


def in_plan_order(book: Book, further: Further | None) -> Iterator[Step]:
    """Visit each measurement until it is precise or its budget is spent, then the next one.

    What the book has measurements of already is left as it is.
    """
    while True:
        for name in [name for name in book.specs if name not in book.measurements]:
            while name not in book.ended:
                seconds = next_seconds(book.specs[name].sampling, book.visits[name])
                if seconds is None:
                    break
                yield VisitStep(name, seconds)
            yield ConcludeStep(name)
        specs = further(book) if further else []
        if not specs:
            return
        yield PlanStep(specs)


def next_seconds(sampling: Sampling, visits: Sequence[Visit]) -> float | None:
    """Return how long the next visit of a measurement is; None where it needs none."""
    if visits and is_precise(sampling, visits):
        return None
    looks = _looks(sampling)
    # Of a kind that takes a fixed number of rows, visits may be shorter than asked for.
    if sum(not visit.interrupted for visit in visits) >= len(looks):
        return None
    spent = sum(visit.seconds for visit in visits)
    for look in looks:
        if spent < _REACHED * look:
            return look - spent
    return None


def _looks(sampling: Sampling) -> list[float]:
    """Return the seconds after which to look, none before enough rows can be there."""
    earliest = (MIN_ROWS + _WARM_UP_ROWS) * sampling.sample_s
    looks = {max(share * sampling.budget_s, earliest) for share in _LOOKS[:-1]}
    return [*sorted(look for look in looks if look < sampling.budget_s), sampling.budget_s]
