"""The living engine, whatever happens to it: a fault costs the repetition that was under way."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from children import children
from tierscope.engine import repetitions as repetitions_module
from tierscope.engine.process import capabilities, check, find_engine, packaged
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.plan import Plan
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Progress, Repetition, Skipped, Started
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request

Fake = Callable[[str], None]


@pytest.fixture
def plan(machine: Topology) -> Plan:
    request = Request(kind="latency", options={"size": "4k..64k", "budget": "0.1"})
    return expand([request], machine, thp=True)


def repeat_each(plan: Plan, seen: Callable[[Event], None] | None = None) -> list[Event]:
    """Make one repetition of each measurement of a plan; return all events."""
    events: list[Event] = []
    with living_engine() as engine:
        engine.plan(plan.measurements)
        for spec in plan.measurements:
            for event in engine.repetition(spec.id, 0.1):
                events.append(event)
                if seen:
                    seen(event)
    return events


def outcomes(events: list[Event]) -> str:
    letters = {Repetition: "v", Skipped: "s", Failed: "f"}
    return "".join(letters[type(event)] for event in events if type(event) in letters)


def failure(events: list[Event]) -> Failed:
    return next(event for event in events if isinstance(event, Failed))


def test_every_repetition_starts_and_ends_in_order(plan: Plan, fake_engine: Fake) -> None:
    events = repeat_each(plan)
    ids = [spec.id for spec in plan.measurements]
    assert [event.id for event in events if isinstance(event, Started)] == ids
    assert [event.id for event in events if isinstance(event, Repetition)] == ids


def test_a_repetition_is_as_long_and_as_fresh_as_asked(plan: Plan, fake_engine: Fake) -> None:
    with living_engine() as engine:
        engine.plan(plan.measurements)
        name = plan.measurements[0].id
        (*_, first) = engine.repetition(name, 0.25)
        (*_, second) = engine.repetition(name, 0.5, fresh=True)
    assert isinstance(first, Repetition)
    assert isinstance(second, Repetition)
    assert (first.seconds, first.fresh, second.seconds, second.fresh) == (0.25, False, 0.5, True)


def test_measurements_can_be_added_later(plan: Plan, fake_engine: Fake) -> None:
    with living_engine() as engine:
        engine.plan(plan.measurements[:1])
        list(engine.repetition(plan.measurements[0].id, 0.1))
        engine.plan(plan.measurements[1:])
        events = list(engine.repetition(plan.measurements[4].id, 0.1))
    assert outcomes(events) == "v"


@pytest.mark.parametrize(
    ("fault", "cause", "why"),
    [
        ("segv", Cause.CRASH, "SIGSEGV"),
        ("kill", Cause.CRASH, "SIGKILL"),
        ("abort", Cause.CRASH, "SIGABRT"),
        ("exit3", Cause.CRASH, "exit status 3: fake: three"),
        ("garbage", Cause.PROTOCOL, "not an event"),
        ("unknown-key", Cause.PROTOCOL, "surprise"),
        ("foreign-evidence", Cause.PROTOCOL, "evidence.handovers"),
    ],
)
def test_a_fault_costs_the_one_repetition(
    plan: Plan, fake_engine: Fake, fault: str, cause: Cause, why: str
) -> None:
    fake_engine(f"{fault}@3")
    events = repeat_each(plan)
    assert outcomes(events) == "vvfvv"
    assert failure(events).cause is cause
    assert why in failure(events).reason


def test_a_fault_in_every_repetition_fails_every_one(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("segv")
    assert outcomes(repeat_each(plan)) == "fffff"


def test_skipped_and_failed_pass_through(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("skip@2,fail@4")
    events = repeat_each(plan)
    assert outcomes(events) == "vsvfv"
    assert failure(events).cause is Cause.GPU_ERROR


def test_an_engine_that_leaves_after_a_failure_is_started_again(
    plan: Plan, fake_engine: Fake
) -> None:
    fake_engine("fatal@2")
    assert outcomes(repeat_each(plan)) == "vfvvv"


def test_a_hanging_engine_is_killed(
    plan: Plan, fake_engine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetitions_module, "longest_repetition_s", lambda _spec, _seconds: 3.0)
    fake_engine("hang@2")
    events = repeat_each(plan)
    assert outcomes(events) == "vfvvv"
    assert failure(events).cause is Cause.TIMEOUT


def test_an_engine_that_dies_at_birth_twice_ends_the_run(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("stillborn")
    with pytest.raises(UserError, match=r"died twice.*SIGSEGV: fake: no") as caught:
        repeat_each(plan)
    assert caught.value.exit_code is ExitCode.NOTHING_MEASURED


def test_a_refused_plan_is_the_users_error(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("refuse")
    with pytest.raises(UserError, match="refuses the plan: fake: plan refused") as caught:
        repeat_each(plan)
    assert caught.value.exit_code is ExitCode.REQUEST_WRONG


def with_signals(plan: Plan, when: Callable[[Event], bool], *numbers: int) -> list[Event]:
    """Repeat a plan, sending this process signals at the first event that ``when`` picks."""
    waiting = list(numbers)

    def seen(event: Event) -> None:
        if when(event):
            while waiting:
                os.kill(os.getpid(), waiting.pop(0))

    return repeat_each(plan, seen)


def is_second_start(plan: Plan) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Started) and event.id == plan.measurements[1].id


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_engine_end_its_row(plan: Plan, fake_engine: Fake, number: int) -> None:
    fake_engine("slow")
    events = with_signals(plan, lambda event: isinstance(event, Progress), number)
    assert outcomes(events) == "v"
    assert next(e.interrupted for e in events if isinstance(e, Repetition))


def test_a_second_signal_kills_an_engine_that_does_not_end(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("hang@2")
    events = with_signals(plan, is_second_start(plan), signal.SIGINT, signal.SIGINT)
    assert outcomes(events) == "v"


def test_an_interrupted_engine_that_hangs_is_killed(
    plan: Plan, fake_engine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetitions_module, "_INTERRUPT_S", 0.5)
    fake_engine("hang@2")
    assert outcomes(with_signals(plan, is_second_start(plan), signal.SIGINT)) == "v"


def test_signals_are_ours_again_afterwards(plan: Plan, fake_engine: Fake) -> None:
    before = signal.getsignal(signal.SIGINT)
    repeat_each(plan)
    assert signal.getsignal(signal.SIGINT) is before


def test_closing_a_repetition_leaves_no_engine_behind(plan: Plan, fake_engine: Fake) -> None:
    before = children()
    fake_engine("hang@1")
    with living_engine() as engine:
        engine.plan(plan.measurements)
        events = engine.repetition(plan.measurements[0].id, 0.1)
        next(events)
        assert children() != before
        events.close()
    assert children() == before


def test_capabilities_of_another_door_are_refused(fake_engine: Fake) -> None:
    fake_engine("other-version")
    with pytest.raises(
        UserError, match="reads plans of version 99, this tierscope writes version 2"
    ):
        capabilities()


def test_what_is_no_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/bin/echo")
    with pytest.raises(UserError, match="does not answer like an engine"):
        capabilities()


def test_a_missing_engine_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr("tierscope.engine.process.__file__", str(tmp_path / "a/b/find.py"))
    with pytest.raises(UserError, match="not installed with this tierscope; build it with 'make"):
        find_engine()


def test_a_wrong_tierscope_engine_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
    with pytest.raises(UserError, match="TIERSCOPE_ENGINE names '/nonexistent'"):
        find_engine()


def test_check_accepts(plan: Plan, fake_engine: Fake) -> None:
    assert check(plan) is None


def test_a_library_of_a_python_package_is_found_the_newest_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = ("nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12")
    for entry, name in (("a", names[1]), ("b", names[0])):
        (tmp_path / entry / name).parent.mkdir(parents=True)
        (tmp_path / entry / name).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a")])
    assert packaged(*names) == tmp_path / "a/nvidia/cuda_cupti/lib"
    monkeypatch.setattr(sys, "path", [str(tmp_path / entry) for entry in ("a", "b")])
    assert packaged(*names) == tmp_path / "b/nvidia/cu13/lib"
    assert packaged("nvidia/cu13/lib/libcufile.so.0") is None
