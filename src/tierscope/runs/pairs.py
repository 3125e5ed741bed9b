"""Two sides measured here and now, in turn: two plans, or one plan by two engines."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tierscope.engine.prefetchers import prefetcher_switch
from tierscope.kinds.plan import Plan, Spec
from tierscope.model.errors import UserError, counted
from tierscope.model.event import Event, Failed, Repetition, Skipped
from tierscope.runs.measure import wait_until
from tierscope.runs.measurers import Measurers, living_measurers
from tierscope.runs.record import Bounds, measurement_of
from tierscope.runs.schedule import repetition_seconds

FigureKey = tuple[str, str]
"""Metric and part."""
Pair = tuple[float, float]
"""A figure in one repetition of the base and in one of the new side."""


@dataclass
class Paired:
    """A measurement of both sides."""

    base: Spec
    new: Spec
    figures: dict[FigureKey, list[Pair]] = field(default_factory=dict)
    """The pairs of each compared figure, the headline first."""
    reason: str = ""
    """Why there are no further pairs, where one side could not be measured."""

    @property
    def pairs(self) -> list[Pair]:
        """The headline's pairs."""
        return next(iter(self.figures.values()), [])


def take_pairs(
    base: Plan,
    new: Plan,
    count: int,
    engines: Sequence[Path | None] = (None, None),
    watch: Callable[[Event], None] = lambda _: None,
    start_at: datetime | None = None,
) -> tuple[list[Paired], bool]:
    """Repeat both sides of each measurement ``count`` times; also return whether a signal ended it.

    Measurements are joined by their place in the plan. All are measured once, then all once more;
    in every other pair the new side comes first. The first repetition begins at ``start_at``, or at
    once where that time has passed. Raises UserError where the plans differ in length."""
    if len(base.measurements) != len(new.measurements):
        raise UserError(
            f"the first side has {counted(len(base.measurements), 'measurement')}, the second one "
            f"{len(new.measurements)}; pairs need as many on both"
        )
    found = [Paired(*both) for both in zip(base.measurements, new.measurements, strict=True)]
    with ExitStack() as stack:
        switch = stack.enter_context(prefetcher_switch())
        sides = [stack.enter_context(living_measurers(engine, switch)) for engine in engines]
        for side, plan in zip(sides, (base, new), strict=True):
            side.plan(plan.measurements)
        if start_at:
            wait_until(start_at.timestamp(), lambda: any(side.interrupted for side in sides))
        for number in range(count):
            for one in found:
                if not one.reason:
                    _take(one, sides, count, number % 2 == 1, watch)
                if any(side.interrupted for side in sides):
                    return found, True
    return found, False


def _take(
    one: Paired,
    sides: Sequence[Measurers],
    count: int,
    new_first: bool,
    watch: Callable[[Event], None],
) -> None:
    sides_figures: dict[int, dict[FigureKey, float]] = {}
    for side in (1, 0) if new_first else (0, 1):
        spec = (one.base, one.new)[side]
        _, shortest = repetition_seconds(spec, 0.0, 0.0)
        seconds = max(shortest, spec.sampling.budget_s / count)
        for event in sides[side].repetition(spec.id, seconds):
            watch(event)
            if isinstance(event, Repetition) and not event.interrupted:
                sides_figures[side] = _compared(spec, event)
            elif isinstance(event, Skipped | Failed):
                one.reason = f"{spec.id} {event.event}: {event.reason}"
                return
    if len(sides_figures) < 2:
        return
    base, new = sides_figures[0], sides_figures[1]
    for key, value in base.items():
        if key in new:
            one.figures.setdefault(key, []).append((value, new[key]))


def _compared(spec: Spec, repetition: Repetition) -> dict[FigureKey, float]:
    """Return the figures above 0 that are compared; none where no sample has a value."""
    figures = measurement_of(spec, [repetition], None, Bounds()).figures
    return {(one.metric, one.part): one.estimate for one in figures
            if one.compared and one.estimate > 0}  # fmt: skip
