"""What a run may still take, and what its repetitions cost beside their samples."""

import json
from datetime import datetime, timezone

import pytest
from tests.runs.later import CORPUS
from tests.runs.test_run_files import ENGINE, repetition_of
from tests.test_write_saturation import ask

from tierscope.kinds.io.spec import IoSpec
from tierscope.kinds.plan import Plan, Spec
from tierscope.model.cause import Cause
from tierscope.model.event import Repetition
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.fit import again_seconds, longest_seconds
from tierscope.plans.request import Request
from tierscope.runs.record import Bounds, make_header, measurement_of
from tierscope.runs.state import RunState, was_cut

BUDGET_S = 2.0


@pytest.fixture
def specs(machine: Topology) -> list[Spec]:
    """Three measurements of 2 s each, of arrays that take a while to populate."""
    options = {"op": "read,copy,write", "size": "1g", "threads": "1", "budget": f"{BUDGET_S:g}"}
    return expand([Request(kind="bandwidth", options=options)], machine, thp=True).measurements


@pytest.fixture
def state(specs: list[Spec]) -> RunState:
    return RunState(specs)


def again(name: str, seconds: float = 0.25, fresh: bool = False) -> Repetition:
    return repetition_of(name, seconds=seconds, fresh=fresh)


def concluded(state: RunState, name: str) -> Measurement:
    return measurement_of(state.specs[name], [again(name)], None, Bounds())


def names(state: RunState) -> list[str]:
    return list(state.specs)


def test_all_that_was_planned_is_left_at_first(state: RunState, specs: list[Spec]) -> None:
    assert [state.allowed[name] for name in names(state)] == longest_seconds(specs)
    assert min(state.allowed.values()) > BUDGET_S
    assert state.left_s() == pytest.approx(sum(longest_seconds(specs)))
    assert state.open() == [spec.id for spec in specs]
    first = names(state)[0]
    assert (state.set_up_s(first), state.sets(first), state.own_s(first)) == (0.0, 0, BUDGET_S)
    assert (state.repetitions[first], state.begun(), state.in_order()) == ([], [], [])


def test_a_repetition_takes_its_time_on_the_clock(state: RunState) -> None:
    """Not less than its samples took."""
    first, second, _ = names(state)
    left = state.left_s()
    state.add_repetition(again(first), 0.75)
    assert state.left_s() == pytest.approx(left - 0.75)
    state.add_repetition(again(first), 0.125)
    assert state.left_s() == pytest.approx(left - 0.75 - 0.25)
    state.add_repetition(again(second))
    assert state.left_s() == pytest.approx(left - 0.75 - 2 * 0.25)
    assert [len(state.repetitions[name]) for name in names(state)] == [2, 1, 0]


def test_what_is_concluded_without_a_repetition_leaves_its_time_to_others(state: RunState) -> None:
    first, second, third = names(state)
    state.add_repetition(again(first), 0.75)
    left = state.left_s()
    for name in (first, second):
        state.measurements[name] = concluded(state, name)
    assert state.left_s() == pytest.approx(left - state.allowed[second])
    assert (state.open(), state.begun()) == ([third], [])


def test_what_is_scheduled_apart_has_a_time_of_its_own(machine: Topology, state: RunState) -> None:
    left = state.left_s()
    (curve,) = ask(machine, write_saturation="yes")
    state.add([curve])
    assert curve.scheduled_apart
    assert state.left_s() == pytest.approx(left)
    state.measurements[curve.id] = concluded(state, names(state)[0])
    assert state.left_s() == pytest.approx(left)
    del state.measurements[curve.id]
    state.add_repetition(again(curve.id), 99.0)
    assert state.left_s() == pytest.approx(left)


def test_files_are_made_once_however_long_that_takes() -> None:
    """Of the first repetition no more counts than was allowed for set-up."""
    header = json.loads((CORPUS / "0.1.0.jsonl").read_bytes().splitlines()[0])
    (planned,) = (one for one in header["plan"]["measurements"] if one["kind"] == "io")
    spec = IoSpec.model_validate_json(json.dumps(planned))
    state = RunState([spec])
    allowed = state.allowed[spec.id]
    set_up = allowed - spec.sampling.budget_s
    assert 0 < set_up < 60
    state.add_repetition(again(spec.id), 100.0)
    assert state.left_s() == pytest.approx(allowed - 0.25 - set_up)
    state.add_repetition(again(spec.id), 100.0)
    assert state.left_s() == pytest.approx(allowed - 0.25 - set_up - 100.0)


def test_the_quickest_repetition_that_kept_its_pages_says_what_set_up_takes(
    state: RunState,
) -> None:
    """The first one populated them, whatever it says: it is an upper bound only."""
    first, *_ = names(state)
    usual = again_seconds(state.specs[first])
    assert 0.01 < usual < 0.1
    state.add_repetition(again(first), 0.25 + 3.0)
    assert state.set_up_s(first) == pytest.approx(usual)
    state.add_repetition(again(first, fresh=True), 0.25 + 2.0)
    assert state.set_up_s(first) == pytest.approx(usual)
    state.add_repetition(again(first), 0.25 + 0.5)
    state.add_repetition(again(first), 0.25 + 0.75)
    assert state.set_up_s(first) == pytest.approx(0.5)
    assert state.sets(first) == 2
    other = names(state)[1]
    for fresh, taken in ((False, 0.001), (True, 2.0)):
        state.add_repetition(again(other, fresh=fresh), 0.25 + taken)
        assert state.set_up_s(other) == pytest.approx(0.001)


def test_what_was_not_taken_of_set_up_is_a_measurement_s_own(state: RunState) -> None:
    first, second, third = names(state)
    for name, taken in ((first, 0.5), (second, 0.125), (third, 99.0)):
        state.add_repetition(again(name), 0.25 + taken)
        state.add_repetition(again(name), 0.25 + 0.25)
    # The first repetition of the second one took less than the next.
    assert state.own_s(first) == pytest.approx(max(BUDGET_S, state.allowed[first] - 0.25))
    assert state.own_s(second) == pytest.approx(state.allowed[second])
    assert state.own_s(third) == BUDGET_S


def test_new_pages_cost_what_later_ones_took_on_average(state: RunState) -> None:
    first, *_ = names(state)
    state.add_repetition(again(first), 0.25 + 8.0)
    state.add_repetition(again(first), 0.25 + 0.5)
    assert state.populate_s(first) == pytest.approx(7.5)
    state.add_repetition(again(first, fresh=True), 0.25 + 2.0)
    assert state.populate_s(first) == pytest.approx(1.5)
    state.add_repetition(again(first, fresh=True), 0.25 + 3.0)
    assert state.populate_s(first) == pytest.approx(2.0)
    assert state.sets(first) == 3


def test_new_pages_cost_at_least_what_is_known_until_some_were_seen(
    state: RunState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first repetition may have found those of others."""
    first, *_ = names(state)
    monkeypatch.setattr(type(state.specs[first]), "least_populate_s", lambda _: 9.0)
    state.add_repetition(again(first), 0.25 + 0.5)
    assert state.populate_s(first) == 9.0
    state.add_repetition(again(first), 0.25 + 0.5)
    state.add_repetition(again(first, fresh=True), 0.25 + 2.0)
    assert state.populate_s(first) == pytest.approx(1.5)


def test_new_pages_cost_nothing_less_than_nothing(state: RunState) -> None:
    first, *_ = names(state)
    state.add_repetition(again(first), 0.25 + 1.0)
    state.add_repetition(again(first), 0.25 + 0.5)
    state.add_repetition(again(first, fresh=True), 0.25 + 0.25)
    assert state.populate_s(first) == 0.0


def test_what_cannot_be_made_any_more_has_begun(state: RunState) -> None:
    first, second, third = names(state)
    state.add_repetition(again(third), 0.5)
    state.skip(second, "the drive is gone")
    assert state.begun() == [second, third]
    ended = state.ended[second]
    assert (ended.event, ended.id) == ("skipped", second)
    assert (ended.cause, ended.reason) == (Cause.STORAGE, "the drive is gone")
    state.measurements = {name: concluded(state, name) for name in (third, first)}
    assert (state.begun(), state.open()) == ([second], [second])
    assert [one.id for one in state.in_order()] == [first, third]


def test_what_was_planned_later_is_told_from_the_plan(machine: Topology, specs: list[Spec]) -> None:
    plan = Plan(version=2, measurements=specs[:1])
    began = datetime(2026, 1, 5, tzinfo=timezone.utc)
    header = make_header("n", began, [], plan, machine, {}, ENGINE)
    state = RunState(specs[:1])
    assert state.added(header) == []
    state.add(specs[1:])
    assert state.added(header) == [spec.model_dump(mode="json") for spec in specs[1:]]
    unplanned = header.model_copy(update={"plan": {}})
    assert [one["id"] for one in state.added(unplanned)] == [spec.id for spec in specs]


@pytest.mark.parametrize(
    ("changes", "cut"),
    [
        ({}, False),
        ({"stop": "interrupted"}, True),
        ({"status": "skipped", "cause": Cause.INTERRUPTED}, True),
        ({"status": "skipped", "cause": Cause.MEMORY}, False),
    ],
)
def test_a_measurement_that_was_cut_can_go_on(
    state: RunState, changes: dict[str, object], cut: bool
) -> None:
    whole = concluded(state, names(state)[0])
    assert was_cut(whole.model_copy(update=changes)) is cut
