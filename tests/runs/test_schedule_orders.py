"""Orders and bounds of the schedule, each from runs in which it alone decides."""

import itertools
import random

import pytest
from tests.runs.test_schedule import NAMES, Made, repetition, spec

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.runs.schedule import (
    REPETITIONS,
    ConcludeStep,
    RepetitionStep,
    in_rounds,
    repetition_seconds,
)
from tierscope.runs.state import RunState


class Thrice(BandwidthSpec):
    """Gets three repetitions, each in a round."""

    def rounds(self) -> int:
        return 3


class Twice(BandwidthSpec):
    """Gets two."""

    def rounds(self) -> int:
        return 2


def of(kind: type[BandwidthSpec], name: str, budget_s: float = 2.0) -> BandwidthSpec:
    return kind.model_validate(spec(name, budget_s).model_dump())


def in_turn() -> RunState:
    thrice = [of(Thrice, f"a{n}") for n in range(8)]
    return RunState([*thrice, of(Twice, "b0"), of(Twice, "b1")])


def quiet(_name: str) -> bool:
    return False


def test_rounds_that_are_asked_for_are_each_in_another_order() -> None:
    made = Made(in_turn(), quiet)
    names = [step.name for step in made.steps]
    assert len(names) == 3 * 8 + 2 * 2
    rounds = [names[:10], names[10:20], names[20:]]
    assert [sorted(one) for one in rounds[:2]] == [sorted(in_turn().specs)] * 2
    assert sorted(rounds[2]) == [f"a{n}" for n in range(8)]
    assert rounds[0] != rounds[1] != sorted(rounds[1])
    assert [n for n in rounds[2] if n in rounds[0]] != [n for n in rounds[0] if n in rounds[2]]
    assert [step.name for step in Made(in_turn(), quiet, seed="other").steps] != names
    assert all(step.seconds == 2.0 for step in made.steps), "each is as long as its budget"
    assert made.concluded == list(in_turn().specs)


def test_rounds_over_figures_are_spread_over_rounds_that_are_asked_for() -> None:
    """Whatever drifts meanwhile is in both."""
    programs, figures = [of(Thrice, f"a{n}") for n in range(2)], [spec("m0"), spec("m1")]
    names = "".join(step.name[0] for step in Made(RunState([*programs, *figures]), quiet).steps)
    assert names == "mmmmmmmmaammmmmmmmaammmmaa"


def test_a_round_that_was_cut_is_completed() -> None:
    """Of some, the first repetition was made before the run was cut."""
    state = in_turn()
    for name in ("a1", "a5"):
        state.add_repetition(repetition(RepetitionStep(name, 2.0), False, 0.0), 2.0)
    names = [step.name for step in Made(state, quiet).steps]
    assert sorted(names[:8]) == sorted(set(state.specs) - {"a1", "a5"})
    assert all(names.count(name) == 2 for name in ("a1", "a5"))


def test_what_fails_in_a_round_has_no_further_one_and_is_concluded_at_once() -> None:
    made = Made(in_turn(), quiet, fail="a3")
    assert made.count("a3") == 0
    assert made.concluded.count("a3") == 1
    assert made.concluded[0] == "a3"
    assert made.count("a2") == 3


def test_groups_of_measurements_of_the_same_memory_come_in_random_order_too() -> None:
    """Of four sizes, three measurements each: within a round each size is together."""
    specs = [spec(f"{size}.{n}", size=1 << (20 + size)) for size in range(4) for n in range(3)]
    made = Made(RunState(specs))
    orders, inside = set(), set()
    for names in list(made.rounds(12))[:6]:
        sizes = [name.split(".")[0] for name in names]
        together = [size for size, _ in itertools.groupby(sizes)]
        assert sorted(together) == ["0", "1", "2", "3"]
        orders.add(tuple(together))
        inside.add(tuple(name for name in names if name.startswith("0")))
    assert len(orders) > 3
    assert len(inside) > 2


@pytest.mark.parametrize("budget_s", [0.8, 2.0, 30.0])
def test_a_measurement_s_time_is_sixteen_repetitions(budget_s: float) -> None:
    """As long as fifteen samples fit into one, and set-up takes nothing."""
    count, seconds = repetition_seconds(spec("m", budget_s=budget_s), budget_s, 0.0)
    assert count * seconds == pytest.approx(budget_s, rel=0.01)
    assert count == (REPETITIONS if budget_s >= REPETITIONS * 15 * 0.01 else int(budget_s / 0.15))


def test_set_up_takes_its_part_of_each_repetition() -> None:
    for set_up_s in (0.01, 0.05, 0.1, 0.3, 1.0):
        count, seconds = repetition_seconds(spec("m"), 2.0, set_up_s)
        assert count * (seconds + set_up_s) <= 2.0 * 1.3
        assert count >= 1
    counts = [repetition_seconds(spec("m"), 2.0, one)[0] for one in (0.0, 0.05, 0.1, 0.3, 1.0, 9.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_a_run_without_time_makes_one_repetition_of_each() -> None:
    state = RunState(map(spec, NAMES))
    for name in NAMES:
        state.add_repetition(repetition(RepetitionStep(name, 2.0), False, 0.0), 9.0)
    assert state.left_s() <= 0
    steps = list(in_rounds(state, "run"))
    assert [step for step in steps if isinstance(step, RepetitionStep)] == []
    assert [step.name for step in steps if isinstance(step, ConcludeStep)] == NAMES


def test_the_state_knows_what_is_left() -> None:
    """By hand: each repetition takes its seconds and what it took to set up."""
    state = RunState(map(spec, NAMES[:2]))
    whole = state.left_s()
    assert whole == pytest.approx(sum(state.allowed.values()))
    one = repetition(RepetitionStep("m0", 0.5), False, 0.0)
    state.add_repetition(one, 0.75)
    assert state.left_s() == pytest.approx(whole - 0.75)
    state.add_repetition(one, 0.25)  # its clock was behind: its samples count
    assert state.left_s() == pytest.approx(whole - 0.75 - 0.5)
    assert state.set_up_s("m0") == 0
    state.measurements["m1"] = None  # type: ignore[assignment]
    assert state.left_s() == pytest.approx(whole - 1.25 - state.allowed["m1"])
    assert state.open() == ["m0"]
    assert state.begun() == ["m0"]
    assert state.sets("m0") == 1


def test_set_up_is_that_of_the_quickest_repetition_that_kept_its_pages() -> None:
    state = RunState([spec("m")])
    made = repetition(RepetitionStep("m", 0.5), False, 0.0)
    fresh = repetition(RepetitionStep("m", 0.5, fresh=True), False, 0.0)
    state.add_repetition(made, 1.5)
    assert state.set_up_s("m") <= 1.0
    for one, took in ((made, 0.7), (fresh, 0.9), (made, 0.6), (made, 0.8)):
        state.add_repetition(one, took)
    assert state.set_up_s("m") == pytest.approx(0.1)
    assert state.sets("m") == 2
    assert state.populate_s("m") == pytest.approx(0.4 - 0.1), "the first one did more than populate"
    assert state.own_s("m") == pytest.approx(max(2.0, state.allowed["m"] - (1.0 - 0.1)))


def test_the_seed_alone_decides_the_order() -> None:
    def names(seed: str) -> list[str]:
        return [step.name for step in Made(RunState(map(spec, NAMES)), seed=seed).steps]

    random.seed(1)
    first = names("a")
    random.seed(2)
    assert names("a") == first
    assert names("b") != first
