"""Which visit comes next, how long it is, and when a run has enough.

Measurements are visited in rounds over all of them, so that each one's visits are spread over the
whole run: drift that is slower than a measurement enters its interval instead of its estimate. A
schedule yields steps, one at a time, and looks into the book after each; what carries steps out
(``runs.measure``) knows nothing of their order.
"""

import math
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field

from tierscope.analysis.conclude import MIN_VISITS, Look, look
from tierscope.analysis.time_series import ended_by, seconds_left
from tierscope.kinds.plan import Spec
from tierscope.runs.book import Book

VISITS = 16
"""Visits that a measurement gets in its own time."""
_FEW_VISITS = 6
"""Visits that are worth having even if set-up takes longer than rows do."""
_ROWS = 7.5
"""Rows of the shortest visit: six after a warm-up of a fifth."""
_REST = 4
"""A figure that is precise is visited in every fourth round only, and in the last one."""
_FRESH = 3
"""Every third visit has new pages, where populating them is cheap: in either half of the visits."""
_FRESH_SHARE = 0.25
"""Of a visit's time, what populating may take."""
_REFINE_VISITS = 3
"""Visits of all points before curves get further ones."""
_LAST_ROUND = 1.25
"""Time left, in multiples of a round's, from which on a round is the last and takes all of it."""
_MAX_ROUNDS = 4 * VISITS
"""Ends runs whose visits take no time."""


@dataclass(frozen=True)
class VisitStep:
    """Visit a measurement."""

    name: str
    seconds: float
    fresh: bool = False


@dataclass(frozen=True)
class ConcludeStep:
    """A measurement gets no further visit: estimate it and record that."""

    name: str


@dataclass(frozen=True)
class PlanStep:
    """Add measurements to the plan."""

    specs: list[Spec]


Step = VisitStep | ConcludeStep | PlanStep
Further = Callable[[Book], list[Spec]]
"""Chooses measurements that join the rounds, from what the others came to so far."""


def in_rounds(book: Book, seed: str, further: Further | None = None) -> Iterator[Step]:
    """Visit all measurements in rounds until all are precise or the run's time is spent.

    What the book has measurements of already is left as it is. ``seed`` decides the order.
    """
    order = random.Random(seed)  # noqa: S311  an order, no secret
    yield from time_series_steps(book)
    yield from _in_turn(book, order)
    rounds = _Rounds(book, order)
    for _ in range(_MAX_ROUNDS):
        made = yield from rounds.make()
        # Where time ends before that, points are chosen by what there is.
        specs = further(book) if further and (rounds.may_refine() or not made) else []
        if specs:
            yield PlanStep(specs)
        elif not made:
            break
    for name in book.open():
        yield ConcludeStep(name)


def time_series_steps(book: Book) -> Iterator[Step]:
    """Make the rounds of each time series, in the order of the plan.

    The others come after them because of what they do to the target: where one fails, none does.
    """
    for name in book.open():
        spec, visits = book.specs[name], book.visits[name]
        rule = spec.time_series()
        if rule is None:
            continue
        while not ended_by(spec, visits) and (left := seconds_left(spec, visits)) != 0:
            seconds = rule.round_s if left is None else min(rule.round_s, left)
            yield VisitStep(name, seconds, fresh=not visits)
            if name in book.ended:
                break
        yield ConcludeStep(name)
        if name in book.ended:
            for other in book.open():
                book.skip(other, f"{name}, which comes before it, did not come to its end")
                yield ConcludeStep(other)
            return


def _in_turn(book: Book, order: random.Random) -> Iterator[Step]:
    """Make as many rounds as are asked for, each in random order, so that runs of the same round
    are near in time and none is always first.

    A round that was cut is completed, so the visits of the same number belong together.
    """
    asked = {name: book.specs[name].rounds() or 0 for name in book.open()}
    for number in range(max(asked.values(), default=0)):
        names = [name for name, rounds in asked.items() if rounds > number]
        order.shuffle(names)
        for name in names:
            if name in book.ended or len(book.visits[name]) > number:
                continue
            yield VisitStep(name, book.specs[name].sampling.budget_s)
            if name in book.ended:
                yield ConcludeStep(name)
    for name, rounds in asked.items():
        if rounds and name not in book.ended:
            yield ConcludeStep(name)


def visit_seconds(spec: Spec, own_s: float, set_up_s: float) -> tuple[int, float]:
    """Return how many visits fit into a measurement's time, and how long each is.

    ``own_s`` is all its time, ``set_up_s`` what one visit takes beside its rows. Visits with
    costly set-up are longer and fewer, so that rows get at least half of the time.
    """
    if spec.one_visit:
        return 1, own_s
    shortest = min(_ROWS * spec.sampling.sample_s, spec.sampling.budget_s)
    count = int(min(VISITS, own_s / (set_up_s + max(shortest, set_up_s))))
    if count < _FEW_VISITS:
        count = int(max(1, min(_FEW_VISITS, own_s / (set_up_s + shortest))))
    return count, max(shortest, own_s / count - set_up_s)


@dataclass
class _Rounds:
    """The state of a run between two visits."""

    book: Book
    order: random.Random
    due: dict[str, int] = field(default_factory=dict)
    """Round in which each measurement is visited next."""
    looks: dict[str, Look] = field(default_factory=dict)
    visited: dict[str, int] = field(default_factory=dict)
    """Round of each measurement's latest visit."""
    number: int = -1
    """Of the round that is made; rounds in which nothing is due are left out."""

    def make(self) -> Generator[Step, None, bool]:
        """Yield a round's visits; return whether there were any."""
        book = self.book
        active = [self.due.get(name, 0) for name in book.open() if not self._rests(name)]
        self.number = number = max(self.number + 1, min(active, default=0))
        chosen = self._chosen(number)
        # A resting figure is visited at the end, too, so that drift over the run is in its rows.
        resting = [name for name in book.open() if self._rests(name) and name not in chosen]
        cost = sum(self._cost(name) for name in [*chosen, *resting])
        last = not chosen or book.left_s() < _LAST_ROUND * cost
        if last:
            chosen += [name for name in resting if self.visited.get(name, -1) < number - 1]
        longer = min(_LAST_ROUND, max(0.8, book.left_s() / cost)) if last and cost > 0 else 1.0
        made = False
        for name in self._shuffled(chosen):
            if book.visits[name] and book.left_s() < self._cost(name) / 2:
                continue
            yield self._visit(name, longer)
            made = True
            self.visited[name] = number
            if name in book.ended:
                yield ConcludeStep(name)
                continue
            self._look(name)
            stride = max(1, round(VISITS / self._plan(name)[0]))
            self.due[name] = number + stride * (_REST if self._rests(name) else 1)
        return made

    def may_refine(self) -> bool:
        """Return whether all measurements have enough visits for further points to be chosen."""
        book = self.book
        return all(len(book.visits[name]) >= _REFINE_VISITS for name in book.open())

    def _chosen(self, number: int) -> list[str]:
        """Return what is due; of what had all its visits, the half that is least precise."""
        due = [name for name in self.book.open() if self.due.get(name, 0) <= number]
        full = [n for n in due if len(self.book.visits[n]) >= VISITS and not self._rests(n)]
        full.sort(key=self._imprecision)
        spared = set(full[: len(full) // 2])
        return [name for name in due if name not in spared]

    def _imprecision(self, name: str) -> float:
        found = self.looks.get(name)
        asked = self.book.specs[name].sampling.precision
        return found.relative_half_width / asked if found else math.inf

    def _rests(self, name: str) -> bool:
        found = self.looks.get(name)
        return found is not None and found.precise

    def _look(self, name: str) -> None:
        visits = self.book.visits[name]
        if len(visits) >= MIN_VISITS:
            self.looks[name] = look(self.book.specs[name].sampling, visits)

    def _plan(self, name: str) -> tuple[int, float]:
        book = self.book
        return visit_seconds(book.specs[name], book.own_s(name), book.set_up_s(name))

    def _cost(self, name: str) -> float:
        return self._plan(name)[1] + self.book.set_up_s(name)

    def _visit(self, name: str, longer: float) -> VisitStep:
        seconds = self._plan(name)[1]
        count = len(self.book.visits[name])
        populate = self.book.populate_s(name)
        cheap = populate is not None and populate <= _FRESH_SHARE * seconds
        longer = 1.0 if self.book.specs[name].one_visit else longer
        fresh = count > 0 and count % _FRESH == 0 and cheap
        return VisitStep(name, round(seconds * longer, 4), fresh)

    def _shuffled(self, names: Sequence[str]) -> list[str]:
        """Return names in random order, but those that share memory after each other: the engine
        keeps regions and what is in them, so that each of those needs less set-up."""
        groups: dict[tuple[object, ...], list[str]] = {}
        for name in names:
            groups.setdefault(_memory(self.book.specs[name]), []).append(name)
        found = list(groups.values())
        self.order.shuffle(found)
        for group in found:
            self.order.shuffle(group)
        return [name for group in found for name in group]


def _memory(spec: Spec) -> tuple[object, ...]:
    """Return what measurements have in common that can use each other's memory as it is."""
    regions = sorted(
        (region.placement.model_dump_json(), region.pages, region.array_bytes)
        for region in spec.regions()
    )
    return (*regions, spec.overwrites())
