"""Two sides measured here and now, in turn: two plans, or one plan by two engines."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tierscope.analysis.conclude import conclude
from tierscope.engine.prefetchers import prefetcher_switch
from tierscope.kinds.plan import Plan, Spec
from tierscope.model.errors import UserError, counted
from tierscope.model.event import Event, Failed, Skipped, Visit
from tierscope.runs.measurers import Measurers, living_measurers
from tierscope.runs.moment import wait_until
from tierscope.runs.schedule import visit_seconds


@dataclass
class Paired:
    """A measurement of both sides."""

    base: Spec
    new: Spec
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """The figure of each visit, base and new."""
    reason: str = ""
    """Why there are no further pairs, where one side could not be measured."""


def take_pairs(
    base: Plan,
    new: Plan,
    count: int,
    engines: Sequence[Path | None] = (None, None),
    watch: Callable[[Event], None] = lambda _: None,
    start_at: datetime | None = None,
) -> tuple[list[Paired], bool]:
    """Visit both sides of each measurement so many times; return whether a signal ended it, too.

    Measurements are joined by their place in the plan. All are visited once, then all once more; in
    every other pair the new side comes first. The first visit begins at ``start_at``, or at once
    where that time has passed. Raises UserError where the plans differ in length.
    """
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
    figures: dict[int, float] = {}
    for side in (1, 0) if new_first else (0, 1):
        spec = (one.base, one.new)[side]
        _, shortest = visit_seconds(spec, 0.0, 0.0)
        seconds = max(shortest, spec.sampling.budget_s / count)
        for event in sides[side].visit(spec.id, seconds):
            watch(event)
            if isinstance(event, Visit) and not event.interrupted:
                figures[side] = _figure(spec, event)
            elif isinstance(event, Skipped | Failed):
                one.reason = f"{spec.id} {event.event}: {event.reason}"
                return
    if len(figures) == 2 and min(figures.values()) > 0:
        one.pairs.append((figures[0], figures[1]))


def _figure(spec: Spec, visit: Visit) -> float:
    try:
        return conclude(spec, [visit]).estimate.value
    except ValueError:  # no row has a value
        return 0.0
