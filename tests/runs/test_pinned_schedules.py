"""Schedules of fixed plans stay what they are: whoever changes a share, a bound or an order sees
which repetitions that moves.

    python tests/runs/test_pinned_schedules.py

writes pinned_schedules.json again, after a change that is meant; its diff belongs to the review.
"""

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from tests import pinned  # noqa: E402
from tests.runs.test_schedule import Made, repetition, spec  # noqa: E402

from tierscope.analysis.time_series import (  # noqa: E402
    ended_by,
    of_figure,
    rounds_of,
    seconds_left,
)
from tierscope.kinds.bandwidth.spec import BandwidthSpec  # noqa: E402
from tierscope.model.event import Evidence, IoEvidence, Repetition  # noqa: E402
from tierscope.model.time_series import TimeSeries  # noqa: E402
from tierscope.runs.schedule import (  # noqa: E402
    RepetitionStep,
    in_step,
    repetition_seconds,
)
from tierscope.runs.state import RunState  # noqa: E402

PINNED = Path(__file__).with_name("pinned_schedules.json")


class Once(BandwidthSpec):
    @property
    def one_repetition(self) -> bool:
        return True


class Thrice(BandwidthSpec):
    def rounds(self) -> int:
        return 3


def series(rule: TimeSeries) -> type[BandwidthSpec]:
    class Series(BandwidthSpec):
        def time_series(self) -> TimeSeries:
            return rule

    return Series


def of(kind: type[BandwidthSpec], one: BandwidthSpec) -> BandwidthSpec:
    return kind.model_validate(one.model_dump())


def written(value: float, seconds: float, used: int = 1000, reads: int = 0) -> Repetition:
    """A round of a series that wrote so many bytes in a second."""
    step = RepetitionStep("s", seconds)
    io = IoEvidence.model_construct(
        bytes_written=int(value * seconds) + 1, bytes_read=reads, writes=int(value), reads=reads,
        used_bytes=used,
    )  # fmt: skip
    made = repetition(step, False, 0.0)
    return made.model_copy(update={"evidence": Evidence.model_construct(storage_io=io)})


def quiet(_name: str) -> bool:
    return False


def plans() -> dict[str, tuple[list[BandwidthSpec], dict[str, Any]]]:
    several = [spec(f"m{n}") for n in range(4)]
    memory = [spec(f"{size}.{n}", size=1 << (20 + size)) for size in range(3) for n in range(2)]
    writes = [spec(f"w{n}", op="write") for n in range(2)]
    thrice = [of(Thrice, spec(f"t{n}", budget_s=0.3)) for n in range(4)]
    return {
        "plain": (several, {}),
        "quiet": (several, {"noisy": quiet}),
        "half quiet": (several, {"noisy": lambda name: name in ("m1", "m3")}),
        "set-up": (several, {"set_up_s": 0.1}),
        "costly set-up": (several, {"set_up_s": 0.7, "noisy": quiet}),
        "pages": (several, {"populate_s": 0.03}),
        **{
            f"pages of {one} s": (several, {"populate_s": one})
            for one in (0.07, 0.12, 0.16, 0.18, 0.21, 0.3)
        },
        "set-up and pages": (memory, {"populate_s": 0.02, "set_up_s": 0.02}),
        "memory": ([*memory, *writes], {}),
        "budgets": ([spec(f"b{n}", budget_s=0.05 * 3**n) for n in range(4)], {}),
        "fails": (several, {"fail": "m2"}),
        "other seed": (several, {"seed": "other"}),
        "once": ([of(Once, spec("once")), *several[:2]], {"noisy": quiet}),
        "thrice": ([*thrice, *several[:2]], {"noisy": quiet}),
    }


def state_of(state: RunState) -> list[Any]:
    return [
        state.left_s(), state.open(), state.begun(),
        [[state.own_s(name), state.set_up_s(name), state.sets(name), state.allowed[name]]
         for name in state.specs],
        [state.populate_s(name) for name in state.specs if state.repetitions[name]],
    ]  # fmt: skip


def rounds() -> Any:
    found = {}
    for name, (specs, more) in plans().items():
        state = RunState(specs)
        before = state_of(state)
        made = Made(state, **more)
        steps = [[one.name, one.seconds, one.fresh] for one in made.steps]
        found[name] = [steps, made.concluded, made.seconds, before, state_of(state)]
    return found


def rounds_that_were_cut() -> Any:
    found = []
    for count in (1, 3, 17):
        state = RunState([of(Once, spec("once")), *(spec(f"m{n}") for n in range(3))])
        for number in range(count):
            step = RepetitionStep("m1", 0.11, fresh=number % 3 == 2)
            state.add_repetition(repetition(step, True, 0.01 * number), 0.15 + 0.01 * (number % 2))
        early = repetition(RepetitionStep("once", 0.2), True, 0.0)
        state.add_repetition(early.model_copy(update={"interrupted": count == 3}), 0.3)
        made = Made(state, quiet)
        found.append([[[one.name, one.seconds, one.fresh] for one in made.steps], state_of(state)])
    return found


def rounds_in_step() -> Any:
    found = {}
    for name, (specs, _) in plans().items():
        state = RunState(specs)
        found[name] = [
            [one.name, getattr(one, "seconds", None), getattr(one, "fresh", None),
             getattr(one, "turn", None)]
            for one in in_step(state, "seed")
        ]  # type: ignore[union-attr]  # fmt: skip
    return found


def lengths_of_repetitions() -> Any:
    return [
        [budget_s, set_up_s, *repetition_seconds(spec("m", budget_s=budget_s), own_s, set_up_s)]
        for budget_s in (0.03, 0.2, 1.0, 2.0, 30.0)
        for own_s in (budget_s, 1.7 * budget_s)
        for set_up_s in (0.0, 0.01, 0.1, 0.14, 0.2, 1.0, 5.0)
    ]


def endings_of_time_series() -> Any:
    source = random.Random(1)
    found = []
    for rule in (
        TimeSeries(until="written", passes=2, round_s=1.0),
        TimeSeries(until="steady", passes=1, round_s=1.0),
        TimeSeries(until="steady", of="time", passes=0.5, round_s=0.5),
        TimeSeries(until="steady", passes=1, round_s=1.0, group="g", tracked=True),
        TimeSeries(until="steady", passes=1, round_s=1.0, group="g"),
    ):
        one = of(series(rule), spec("s", budget_s=12.0))
        made: list[Repetition] = []
        for number in range(14):
            found.append([ended_by(one, made), seconds_left(one, made), len(of_figure(one, made))])
            rate = 100 + 900 * 0.4**number + source.gauss(0, 1)
            made.append(written(rate, 1.0 + 0.1 * (number % 2)))
        found.append([[r.end_s, r.value, r.bytes_written] for r in rounds_of(made)])
    thrice = of(Thrice, spec("t", budget_s=3.0))
    for count in range(5):
        few = [written(10.0, 1.0 + number) for number in range(count)]
        found.append([ended_by(thrice, few), seconds_left(thrice, few)])
    return found


def steps_of_time_series() -> Any:
    found = {}
    rules = {
        "written": TimeSeries(until="written", passes=2, round_s=1.0),
        "steady": TimeSeries(until="steady", passes=1, round_s=1.0),
        "tracked": TimeSeries(until="steady", passes=1, round_s=1.0, group="g", tracked=True),
        "group": TimeSeries(until="steady", passes=1, round_s=1.0, group="g"),
    }
    for fail in ("", "steady", "tracked"):
        specs = [of(series(rule), spec(name, budget_s=9.0)) for name, rule in rules.items()]
        state = RunState([*specs, spec("m")])
        steps: list[Any] = []
        for step in in_step(state, "s"):
            name = getattr(step, "name", "")
            if not isinstance(step, RepetitionStep):
                steps.append([name, "concluded"])
                state.measurements[name] = None  # type: ignore[assignment]
                continue
            steps.append([name, step.seconds, step.fresh])
            if name == fail and len(state.repetitions[name]) == 2:
                state.skip(name, "told to")
                continue
            rate = 100.0 + 300 * 0.5 ** len(state.repetitions[name])
            made = written(rate, step.seconds).model_copy(update={"id": name})
            state.add_repetition(made, step.seconds)
        found[fail or "none fails"] = [steps, {k: v.reason for k, v in state.ended.items()}]
    return found


CASES: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (
        rounds, rounds_that_were_cut, rounds_in_step, lengths_of_repetitions,
        endings_of_time_series, steps_of_time_series,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_schedules_are_what_they_were(name: str) -> None:
    assert pinned.changes(PINNED, CASES, name) == []


if __name__ == "__main__":
    pinned.write(PINNED, CASES)
