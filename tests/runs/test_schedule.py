"""Which repetition comes next: rounds over all measurements, within the time of all of them."""

import itertools
import random
from collections.abc import Callable, Iterator

import pytest

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition
from tierscope.runs.schedule import (
    ConcludeStep,
    PlanStep,
    RepetitionStep,
    in_rounds,
    repetition_seconds,
)
from tierscope.runs.state import RunState

ROW_S = 0.01
Values = Callable[[int], float]
"""A repetition's value by its number; its rows scatter by 20% where it is negative."""


def spec(name: str, budget_s: float = 2.0, size: int = 1 << 20, op: str = "read") -> BandwidthSpec:
    return BandwidthSpec.model_validate(
        {
            "id": name, "initiator": "node:0", "target": "node:0", "cpus": [0],
            "placement": {"policy": "bind", "nodes": [{"node": 0}]},
            "pattern": {"operation": op, "size": size},
            "sampling": {"precision": 0.01, "budget_s": budget_s, "sample_s": ROW_S},
        }
    )  # fmt: skip


def repetition(step: RepetitionStep, noisy: bool, at_s: float) -> Repetition:
    rows = max(2, round(step.seconds / ROW_S))
    source = random.Random(f"{step.name} {at_s}")
    half = [140.0 + (number - rows // 4) * (5 if noisy else 0) for number in range(rows // 2)]
    middle = [140.0] * (rows % 2)
    # In random order, but with the same median in either half: nothing looks like a warm-up.
    values = [*source.sample(half, len(half)), *middle, *source.sample(half, len(half))]
    windows = {
        "name": "windows",
        "starts": [ROW_S * i for i in range(rows)],
        "durations": [ROW_S] * rows,
        "columns": [{"metric": "bandwidth", "part": "", "values": values}],
    }
    return Repetition.model_validate(
        {
            "id": step.name, "seconds": step.seconds, "fresh": step.fresh, "interrupted": False,
            "series": [windows], "evidence": {}, "at_s": at_s,
        }
    )  # fmt: skip


class Made:
    """A run without an engine: its repetitions in order, and its time."""

    def __init__(
        self, state: RunState, noisy: Callable[[str], bool] = lambda _: True, set_up_s: float = 0.0,
        populate_s: float = 0.0, seed: str = "run", fail: str = "",
        further: Callable[[RunState], list[BandwidthSpec]] | None = None,
    ) -> None:  # fmt: skip
        self.steps: list[RepetitionStep] = []
        self.concluded: list[str] = []
        self.seconds = 0.0
        for step in in_rounds(state, seed, further):  # type: ignore[arg-type]
            if isinstance(step, PlanStep):
                state.add(step.specs)
            elif isinstance(step, ConcludeStep):
                self.concluded.append(step.name)
                state.measurements[step.name] = None  # type: ignore[assignment]
            elif step.name == fail:
                state.ended[fail] = Failed(id=fail, cause=Cause.CRASH, reason="told to")
            else:
                self.steps.append(step)
                first = step.fresh or not state.repetitions[step.name]
                took = step.seconds + set_up_s + (populate_s if first else 0)
                state.add_repetition(repetition(step, noisy(step.name), self.seconds), took)
                self.seconds += took

    def count(self, name: str) -> int:
        return [step.name for step in self.steps].count(name)

    def rounds(self, size: int) -> Iterator[list[str]]:
        names = [step.name for step in self.steps]
        return (names[i : i + size] for i in range(0, len(names), size))


NAMES = [f"m{number}" for number in range(12)]


def test_every_round_repetitions_all_in_another_order() -> None:
    made = Made(RunState(map(spec, NAMES)))
    rounds = list(made.rounds(len(NAMES)))[:13]
    assert all(sorted(names) == sorted(NAMES) for names in rounds)
    assert len({tuple(names) for names in rounds}) == 13
    assert made.concluded == NAMES


def test_the_order_is_the_same_for_the_same_run() -> None:
    one, same, other = (
        Made(RunState(map(spec, NAMES)), seed=seed).steps for seed in ("a", "a", "b")
    )
    assert one == same != other


@pytest.mark.parametrize(("set_up_s", "populate_s"), [(0, 0), (0.05, 0.5), (0.4, 1.0), (3.0, 0)])
def test_the_time_is_that_of_the_plan(set_up_s: float, populate_s: float) -> None:
    state = RunState(map(spec, NAMES))
    planned = state.left_s()
    made = Made(state, set_up_s=set_up_s, populate_s=populate_s)
    least = len(NAMES) * (set_up_s + populate_s + 0.075)  # one repetition of each
    assert made.seconds <= max(1.05 * planned, least + set_up_s)
    assert made.seconds >= 0.9 * min(planned, least)
    assert min(made.count(name) for name in NAMES) >= 1


class OfFiles(BandwidthSpec):
    """A measurement that makes a file first."""

    def files(self) -> list[str]:
        return ["/data/x"]


@pytest.mark.parametrize("making_s", [0.0, 0.5, 100.0])
def test_making_files_leaves_the_rows_their_time(making_s: float) -> None:
    one = OfFiles.model_validate(spec("x", budget_s=4.0).model_dump())
    state = RunState([one])
    for taken_s in (0.5 + making_s, 0.5):
        state.add_repetition(repetition(RepetitionStep("x", 0.5), noisy=True, at_s=0), taken_s)
    assert state.left_s() == pytest.approx(3.0, abs=0.1)
    assert state.own_s("x") == pytest.approx(4.0, abs=0.1)


def test_a_precise_figure_rests_and_is_repeated_at_the_end() -> None:
    made = Made(RunState(map(spec, NAMES)), noisy=lambda name: name != "m3")
    at = [number for number, step in enumerate(made.steps) if step.name == "m3"]
    assert made.count("m3") < made.count("m4")
    assert at[8] - at[7] >= 3 * len(NAMES)
    assert at[-1] >= len(made.steps) - 3 * len(NAMES)


def test_a_run_ends_when_all_is_precise() -> None:
    made = Made(RunState(map(spec, NAMES)), noisy=lambda _: False)
    assert [made.count(name) for name in NAMES] == [8] * len(NAMES)


def test_the_time_that_precise_figures_leave_goes_to_the_others() -> None:
    made = Made(RunState(map(spec, NAMES)), noisy=lambda name: name in NAMES[:3])
    assert min(made.count(name) for name in NAMES[:3]) >= 17


@pytest.mark.parametrize(
    ("own_s", "set_up_s", "count", "seconds"),
    [
        (2.0, 0.0, 13, pytest.approx(2 / 13)),  # no repetition is shorter than 15 rows
        (4.0, 0.0, 16, 0.25),
        (0.6, 0.0, 4, 0.15),
        (0.3, 0.0, 2, 0.15),
        (0.05, 0.0, 1, 0.15),
        (2.0, 0.1, 8, pytest.approx(0.15)),
        (8.0, 0.5, 8, 0.5),  # rows take as long as set-up
        (4.0, 0.5, 6, pytest.approx(1 / 6)),  # unless that would leave fewer than six repetitions
        (2.0, 1.5, 1, 0.5),
    ],
)
def test_repetitions_fit_into_the_time(
    own_s: float, set_up_s: float, count: int, seconds: float
) -> None:
    assert repetition_seconds(spec("m"), own_s, set_up_s) == (count, seconds)


def test_a_short_budget_is_one_repetition() -> None:
    assert repetition_seconds(spec("m", budget_s=0.05), 0.05, 0.0) == (1, 0.05)


class Once(BandwidthSpec):
    """Its one repetition may end before its time."""

    @property
    def one_repetition(self) -> bool:
        return True


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_one_repetition_is_repeated_only_where_it_was_interrupted(
    interrupted: bool,
) -> None:
    state = RunState([Once.model_validate(spec("once").model_dump()), spec("m")])
    early = repetition(RepetitionStep("once", 0.02), True, 0)
    state.add_repetition(early.model_copy(update={"interrupted": interrupted}), 0.02)
    made = Made(state, noisy=lambda name: name == "m")
    assert made.count("once") == interrupted
    assert made.count("m") >= 5
    assert sorted(made.concluded) == ["m", "once"]


def test_costly_set_up_makes_repetitions_rarer() -> None:
    cheap, costly = (Made(RunState(map(spec, NAMES)), set_up_s=cost) for cost in (0.0, 0.3))
    assert 4 <= costly.count("m0") < cheap.count("m0") / 2


def test_measurements_of_the_same_memory_follow_each_other() -> None:
    large = [spec(f"large{i}", size=1 << 24) for i in range(4)]
    writes = [spec(f"write{i}", size=1 << 24, op="write") for i in range(4)]
    small = [spec(f"small{i}") for i in range(4)]
    made = Made(RunState([*large, *small, *writes]))
    for names in list(made.rounds(12))[:16]:
        kinds = [name.rstrip("0123456789") for name in names]
        assert sum(a != b for a, b in itertools.pairwise(kinds)) == 2


@pytest.mark.parametrize(("populate_s", "some"), [(0.02, True), (0.5, False)])
def test_pages_are_new_now_and_then_where_that_is_cheap(populate_s: float, some: bool) -> None:
    made = Made(RunState(map(spec, NAMES)), populate_s=populate_s)
    assert any(step.fresh for step in made.steps) is some
    assert not made.steps[0].fresh


def test_costly_pages_are_not_tried_though_the_first_repetition_had_a_pool_s() -> None:
    class Pinned(BandwidthSpec):
        def least_populate_s(self) -> float:
            return 0.5

    pinned = [Pinned.model_validate(spec(name).model_dump()) for name in NAMES]
    made = Made(RunState(pinned), populate_s=0.02)
    assert not any(step.fresh for step in made.steps)


def test_a_measurement_that_ends_is_concluded_at_once() -> None:
    made = Made(RunState(map(spec, NAMES)), fail="m5")
    assert made.concluded[0] == "m5"
    assert made.count("m4") >= 13


def test_further_measurements_join_the_rounds() -> None:
    added: list[BandwidthSpec] = []

    def further(state: RunState) -> list[BandwidthSpec]:
        new = [] if added else [spec("late")]
        added.extend(new)
        return new

    made = Made(RunState(map(spec, NAMES)), further=further)
    first = next(i for i, step in enumerate(made.steps) if step.name == "late")
    assert 3 * len(NAMES) <= first <= 4 * len(NAMES) + 1
    assert made.count("late") >= 10
    assert made.concluded == [*NAMES, "late"]


def test_what_was_concluded_is_left_as_it_is() -> None:
    state = RunState(map(spec, NAMES))
    state.measurements["m0"] = None  # type: ignore[assignment]
    made = Made(state)
    assert made.count("m0") == 0
    assert "m0" not in made.concluded


def test_repetitions_before_a_run_was_cut_count() -> None:
    state = RunState([spec("m")])
    for number in range(10):
        state.add_repetition(repetition(RepetitionStep("m", 0.125), True, number))
    assert 5 <= Made(state).count("m") <= 7
