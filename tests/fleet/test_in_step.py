"""The order of repetitions that hosts share."""

from tierscope.kinds.plan import Spec
from tierscope.model.cause import Cause
from tierscope.model.event import Skipped
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.schedule import ConcludeStep, SharedStep, in_step
from tierscope.runs.state import RunState

REPETITIONS = 11
"""Of 2 s each, with set-up."""


def specs(machine: Topology, *operations: str) -> list[Spec]:
    options = {"op": ",".join(operations), "threads": "1", "size": "1m", "budget": "2"}
    return expand([Request(kind="bandwidth", options=options)], machine, thp=True).measurements


def turns(state: RunState, seed: str = "s") -> dict[tuple[int, ...], str]:
    steps = [step for step in in_step(state, seed) if isinstance(step, SharedStep)]
    found = {step.turn: step.name for step in steps}
    assert len(found) == len(steps)
    assert list(found) == sorted(found)
    return found


def test_each_measurement_gets_all_its_repetitions_in_rounds(machine: Topology) -> None:
    planned = specs(machine, "read", "copy", "write")
    found = turns(RunState(planned))
    assert len(found) == 3 * REPETITIONS
    for number in range(REPETITIONS):
        names = [name for turn, name in found.items() if turn[1] == number]
        assert sorted(names) == sorted(spec.id for spec in planned)
    assert (
        len({tuple(list(found.values())[at : at + 3]) for at in range(0, 3 * REPETITIONS, 3)}) > 1
    )


def test_repetitions_take_no_longer_than_the_budget(machine: Topology) -> None:
    (planned,) = specs(machine, "read")
    steps = [step for step in in_step(RunState([planned]), "s") if isinstance(step, SharedStep)]
    assert sum(step.seconds for step in steps) <= planned.sampling.budget_s


def test_pages_are_new_in_the_same_repetitions_on_every_host(machine: Topology) -> None:
    planned = specs(machine, "read", "copy", "write")
    one, other = (
        [(step.turn, step.fresh) for step in in_step(RunState(own), "s")
         if isinstance(step, SharedStep)]
        for own in (planned, planned)
    )  # fmt: skip
    assert one == other
    assert sum(fresh for _, fresh in one) == 3 * (REPETITIONS - 1), "a megabyte costs nothing"


def test_hosts_with_other_plans_share_the_turns_of_what_both_have(machine: Topology) -> None:
    one = turns(RunState(specs(machine, "read", "copy")))
    other = turns(RunState(specs(machine, "copy", "write")))
    shared = [name for name in one.values() if ".copy." in name]
    assert {turn for turn, name in one.items() if ".copy." in name} == {
        turn for turn, name in other.items() if ".copy." in name
    }
    assert len(shared) == REPETITIONS


def test_what_ended_is_not_repeated_again(machine: Topology) -> None:
    first, second = specs(machine, "read", "copy")
    state = RunState([first, second])
    repeated: list[str] = []
    for step in in_step(state, "s"):
        if isinstance(step, SharedStep):
            repeated.append(step.name)
            if step.name == first.id:
                state.ended[first.id] = Skipped(id=first.id, cause=Cause.STORAGE, reason="gone")
        elif isinstance(step, ConcludeStep) and step.name == first.id:
            state.measurements[first.id] = object()  # type: ignore[assignment]
    assert repeated.count(first.id) == 1
    assert repeated.count(second.id) == REPETITIONS
