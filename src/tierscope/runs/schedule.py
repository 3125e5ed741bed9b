"""The schedule: which measurement is repeated next, and for how long."""

import hashlib
import heapq
import math
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tierscope.analysis.conclude import InterimAnalysis, interim_analysis
from tierscope.analysis.time_series import ended_by, seconds_left
from tierscope.kinds.plan import Spec
from tierscope.plans.fit import again_seconds, longest_seconds
from tierscope.runs.read import read_contents
from tierscope.runs.state import RunState

Spans = dict[str, list[tuple[float, float]]]
"""Beginning and end of each repetition in seconds since 1970, by the measurement's id."""
REPETITIONS = 16
"""Repetitions that a measurement gets in its own time."""
_FEWEST = 4
"""Repetitions that remain where they get longer."""
_FEW_REPETITIONS = 6
"""Repetitions that are worth having even if set-up takes longer than samples do."""
_SAMPLES = 15
"""Samples of the shortest repetition: a warm-up of a few is seen and leaves most of them."""
_MAX_LONGER = 4
"""How many times longer repetitions get where they are too short for their warm-up."""
_BACK_OFF = 4
"""A figure that is precise is repeated in every fourth round only, and in the last one."""
_FRESH_SHARE = 0.25
"""Share of a measurement's time that populating new pages may take, once there are enough sets."""
_MIN_SETS = 5
"""Sets of pages that show how much figures differ between sets. Two or three would say little of
it, so where less than so many fit into ``_MAX_FRESH_SHARE`` of the time there is one."""
_MAX_FRESH_SHARE = 0.5
_REFINE_REPETITIONS = 3
"""Repetitions of all points before curves get further ones."""
_LAST_ROUND = 1.25
"""Time left, in multiples of a round's, from which on a round is the last and takes all of it."""
_MAX_ROUNDS = 4 * REPETITIONS
"""Ends runs whose repetitions take no time."""
Further = Callable[[RunState], list[Spec]]
"""Chooses measurements that join the rounds, from what the others came to so far."""
END = (2,)
"""Turn after those of all repetitions."""


def spans_of(path: Path) -> Spans:
    """Return a run's repetitions by its host's clock; raises UserError for a damaged file."""
    contents = read_contents(path)
    began = datetime.fromisoformat(contents.header.started).timestamp()
    return {
        name: [
            (began + repetition.at_s, began + repetition.at_s + repetition.seconds)
            for record in contents.repetitions_of(name)
            if (repetition := record.repetition).at_s is not None
        ]
        for name in contents.repetitions
    }


@dataclass(frozen=True)
class RepetitionStep:
    """Repeat a measurement."""

    name: str
    seconds: float
    fresh: bool = False


@dataclass(frozen=True)
class ConcludeStep:
    """A measurement gets no further repetition: estimate it and record that."""

    name: str


@dataclass(frozen=True)
class PlanStep:
    """Add measurements to the plan."""

    specs: list[Spec]


Step = RepetitionStep | ConcludeStep | PlanStep


def in_rounds(state: RunState, seed: str, further: Further | None = None) -> Iterator[Step]:
    """Repeat all measurements in rounds until all are precise or the run's time is spent.

    What the state has measurements of already is left as it is. ``seed`` decides the order.
    """
    order = random.Random(seed)  # noqa: S311  an order, no secret
    yield from time_series_steps(state)
    rounds = _Rounds(state, order)
    yield from _in_turn(state, order, rounds)
    for _ in range(_MAX_ROUNDS):
        made = yield from rounds.make()
        # Where time ends before that, points are chosen by what there is.
        specs = further(state) if further and (rounds.may_refine() or not made) else []
        if specs:
            yield PlanStep(specs)
        elif not made:
            break
    for name in state.open():
        yield ConcludeStep(name)


def time_series_steps(state: RunState) -> Iterator[Step]:
    """Make the rounds of each time series, in the order of the plan.

    The others come after them because of what they do to the target: where one fails, none does.
    """
    for names in _groups(state):
        yield from _rounds_of(state, names)
        broken = next((name for name in names if name in state.ended), "")
        for name in names if not broken else state.open():
            if broken and name not in state.ended and not state.repetitions[name]:
                state.skip(name, f"{broken}, which comes before it, did not come to its end")
            yield ConcludeStep(name)
        if broken:
            return


def _groups(state: RunState) -> list[list[str]]:
    """Return the names of time series, those of a group together."""
    found: dict[str, list[str]] = {}
    for name in state.open():
        rule = state.specs[name].time_series()
        if rule is not None:
            found.setdefault(f"group {rule.group}" if rule.group else name, []).append(name)
    return list(found.values())


def _rounds_of(state: RunState, names: Sequence[str]) -> Iterator[Step]:
    """Make rounds of series in turn until all have ended, or the time of one is over.

    A round that was cut is completed.
    """
    series = [(state.specs[name], state.repetitions[name]) for name in names]
    while True:
        made = min(len(repetitions) for _, repetitions in series)
        whole = all(len(repetitions) == made for _, repetitions in series)
        over = any(seconds_left(*one) == 0 for one in series)
        if whole and (over or all(ended_by(*one) for one in series)):
            return
        for spec, repetitions in series:
            rule, left = spec.time_series(), seconds_left(spec, repetitions)
            if rule is None or len(repetitions) > made:
                continue
            seconds = rule.round_s if left is None else min(rule.round_s, left)
            yield RepetitionStep(spec.id, seconds, fresh=not repetitions)
            if spec.id in state.ended:
                return


def _in_turn(state: RunState, order: random.Random, others: "_Rounds") -> Iterator[Step]:
    """Make as many rounds as are asked for, each in random order, so that runs of the same round
    are near in time and none is always first.

    Rounds over the ``others`` are spread evenly before, between and after them, so that both see
    the same drift of the machine: figures predict what the rounds measure. A round that was cut is
    completed, so the repetitions of the same number belong together.
    """
    asked = {name: state.specs[name].rounds() or 0 for name in state.open()}
    rounds = max(asked.values(), default=0)
    for number in range(rounds):
        names = [
            name
            for name, own in asked.items()
            if own > number >= len(state.repetitions[name]) and name not in state.ended
        ]
        for _ in range(max(1, REPETITIONS // (rounds + 1)) if names else 0):
            yield from others.make()
        order.shuffle(names)
        for name in names:
            yield RepetitionStep(name, state.specs[name].sampling.budget_s)
            if name in state.ended:
                yield ConcludeStep(name)
    for name, own in asked.items():
        if own and name not in state.ended:
            yield ConcludeStep(name)


def repetition_seconds(spec: Spec, own_s: float, set_up_s: float) -> tuple[int, float]:
    """Return how many repetitions fit into a measurement's time, and how long each is.

    ``own_s`` is all its time, ``set_up_s`` what one repetition takes beside its samples.
    Repetitions with costly set-up are longer and fewer, so that samples get at least half of the
    time."""
    if spec.one_repetition:
        return 1, own_s
    shortest = min(_SAMPLES * spec.sampling.sample_s, spec.sampling.budget_s)
    count = int(min(REPETITIONS, own_s / (set_up_s + max(shortest, set_up_s))))
    if count < _FEW_REPETITIONS:
        count = int(max(1, min(_FEW_REPETITIONS, own_s / (set_up_s + shortest))))
    return count, max(shortest, own_s / count - set_up_s)


def _sets(count: int, own_s: float, populate_s: float) -> float:
    """Return how many sets of pages so many repetitions get; populating one takes so long."""
    if populate_s * _MIN_SETS > _MAX_FRESH_SHARE * own_s:
        return 1.0
    return max(_MIN_SETS, min(count, _FRESH_SHARE * own_s / max(populate_s, 1e-9)))


@dataclass
class _Rounds:
    """The state of a run between two repetitions."""

    state: RunState
    order: random.Random
    due: dict[str, int] = field(default_factory=dict)
    """Round in which each measurement is repeated next."""
    analyses: dict[str, InterimAnalysis] = field(default_factory=dict)
    longer: dict[str, int] = field(default_factory=dict)
    """How many times longer each measurement's repetitions are than they would be."""
    latest: dict[str, int] = field(default_factory=dict)
    """Round of each measurement's latest repetition."""
    renewed: dict[tuple[object, ...], int] = field(default_factory=dict)
    """Round in which measurements that share memory last got new pages."""
    number: int = -1
    """Number of the current round; rounds in which nothing is due are left out."""

    def make(self) -> Generator[Step, None, bool]:
        """Yield a round's repetitions; return whether there were any."""
        state = self.state
        active = [self.due.get(name, 0) for name in self._open() if not self._backs_off(name)]
        self.number = number = max(self.number + 1, min(active, default=0))
        chosen = self._chosen(number)
        # A figure that backs off is repeated at the end, too, so that drift over the run is in its
        # samples.
        backing_off = [
            name for name in self._open() if self._backs_off(name) and name not in chosen
        ]
        cost = sum(self._cost(name) for name in [*chosen, *backing_off])
        last = not chosen or state.left_s() < _LAST_ROUND * cost
        if last:
            chosen += [name for name in backing_off if self.latest.get(name, -1) < number - 1]
        longer = min(_LAST_ROUND, max(0.8, state.left_s() / cost)) if last and cost > 0 else 1.0
        made = False
        for name in self._shuffled(chosen):
            if state.repetitions[name] and state.left_s() < self._cost(name) / 2:
                continue
            yield self._repetition(name, longer)
            made = True
            self.latest[name] = number
            if name in state.ended:
                yield ConcludeStep(name)
                continue
            self._analyse(name)
            stride = max(1, round(REPETITIONS / self._plan(name)[0]))
            self.due[name] = number + stride * (_BACK_OFF if self._backs_off(name) else 1)
        return made

    def may_refine(self) -> bool:
        """Return whether all measurements have enough repetitions for further points to be
        chosen."""
        state = self.state
        return all(len(state.repetitions[name]) >= _REFINE_REPETITIONS for name in state.open())

    def _open(self) -> list[str]:
        """Return what may be repeated: what is one repetition may end long before its time."""
        state = self.state

        def is_made(name: str) -> bool:
            whole = any(not one.interrupted for one in state.repetitions[name])
            return state.specs[name].one_repetition and whole

        return [
            name
            for name in state.open()
            if state.specs[name].rounds() is None and not is_made(name)
        ]

    def _chosen(self, number: int) -> list[str]:
        """Return what is due; of what had all its repetitions, the half that is least precise."""
        due = [name for name in self._open() if self.due.get(name, 0) <= number]
        full = [
            n
            for n in due
            if len(self.state.repetitions[n]) >= REPETITIONS and not self._backs_off(n)
        ]
        full.sort(key=self._imprecision)
        spared = set(full[: len(full) // 2])
        return [name for name in due if name not in spared]

    def _imprecision(self, name: str) -> float:
        found = self.analyses.get(name)
        asked = self.state.specs[name].sampling.precision
        return found.relative_half_width / asked if found else math.inf

    def _backs_off(self, name: str) -> bool:
        found = self.analyses.get(name)
        return found is not None and found.precise

    def _analyse(self, name: str) -> None:
        found = interim_analysis(self.state.specs[name], self.state.repetitions[name])
        if found is None:
            return
        self.analyses[name] = found
        if found.too_short:
            self.longer[name] = min(_MAX_LONGER, 2 * self.longer.get(name, 1))

    def _plan(self, name: str) -> tuple[int, float]:
        state = self.state
        count, seconds = repetition_seconds(
            state.specs[name], state.own_s(name), state.set_up_s(name)
        )
        longer = min(self.longer.get(name, 1), count / _FEWEST)
        return (int(count / longer), seconds * longer) if longer > 1 else (count, seconds)

    def _cost(self, name: str) -> float:
        return self._plan(name)[1] + self.state.set_up_s(name)

    def _repetition(self, name: str, longer: float) -> RepetitionStep:
        seconds = self._plan(name)[1]
        count = len(self.state.repetitions[name])
        longer = 1.0 if self.state.specs[name].one_repetition else longer
        group = _memory(self.state.specs[name])
        fresh = (
            count > 0
            and self.renewed.get(group) != self.number  # by a measurement that shares them
            and self._wants_new_pages(name)
        )
        if fresh:
            self.renewed[group] = self.number
        return RepetitionStep(name, round(seconds * longer, 4), fresh)

    def _wants_new_pages(self, name: str) -> bool:
        """Return whether a further repetition gets new pages, so that sets are evenly spread."""
        state = self.state
        count, made = self._plan(name)[0], len(state.repetitions[name])
        sets = _sets(count, state.own_s(name), state.populate_s(name))
        return sets > 1 and state.sets(name) < (made + 1) * sets / count

    def _shuffled(self, names: Sequence[str]) -> list[str]:
        """Return names in random order, but those that share memory after each other: the engine
        keeps regions and what is in them, so that each of those needs less set-up."""
        groups: dict[tuple[object, ...], list[str]] = {}
        for name in names:
            groups.setdefault(_memory(self.state.specs[name]), []).append(name)
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


_TIME_SERIES, _ROUNDS = 0, 1
"""First part of a turn: time series come before the rounds over all others, as alone."""


@dataclass(frozen=True)
class SharedStep(RepetitionStep):
    """A repetition that all hosts make at the same time, those that have its measurement."""

    turn: tuple[int, ...] = ()


def in_step(state: RunState, seed: str) -> Iterator[Step]:
    """Repeat each measurement as often as its budget has room for, in an order of the plan alone.

    ``seed`` decides the order within a round; it is the same on every host.
    """
    for number, step in enumerate(time_series_steps(state)):
        if isinstance(step, RepetitionStep):
            turn = (_TIME_SERIES, number, _place(seed, 0, step.name))
            yield SharedStep(step.name, step.seconds, step.fresh, turn)
        else:
            yield step
    queue = []
    for name in state.open():
        count, _ = _repetitions(state, name)
        queue += [(_ROUNDS, number, _place(seed, number, name), name) for number in range(count)]
    heapq.heapify(queue)
    while queue:
        first, number, place, name = heapq.heappop(queue)
        if name in state.measurements:  # it ended before its last repetition
            continue
        fresh = number > 0 and _begins_set(state, name, number)
        yield SharedStep(name, _repetitions(state, name)[1], fresh, (first, number, place))
        if name in state.ended:
            yield ConcludeStep(name)
    for name in state.open():
        yield ConcludeStep(name)


def _repetitions(state: RunState, name: str) -> tuple[int, float]:
    """Return how many repetitions a measurement gets, and the seconds of each."""
    spec = state.specs[name]
    if (rounds := spec.rounds()) is not None:
        return rounds, spec.sampling.budget_s
    count, seconds = repetition_seconds(spec, spec.sampling.budget_s, again_seconds(spec))
    return count, round(seconds, 4)


def _begins_set(state: RunState, name: str, number: int) -> bool:
    """Return whether the repetition of this number has new pages; the same on every host."""
    spec = state.specs[name]
    budget_s = spec.sampling.budget_s
    count = _repetitions(state, name)[0]
    each = _sets(count, budget_s, longest_seconds([spec])[0] - budget_s) / count
    return int((number + 1) * each) > int(number * each)


def _place(seed: str, number: int, name: str) -> int:
    """Return a measurement's place in a round, as random as a hash and the same on every host."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}/{name}".encode()).digest()[:6], "big")
