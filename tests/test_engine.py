import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tierscope.engine.events import stream

from tierscope.engine import events as events_module
from tierscope.engine.find import find_engine
from tierscope.engine.query import capabilities, check
from tierscope.kinds.plan import Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Finished, Progress, Result, Skipped, Started
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request

Fake = Callable[[str], None]


@pytest.fixture
def plan(machine: Topology) -> Plan:
    request = Request(kind="latency", options={"size": "4k..64k", "budget": "0.1"})
    return expand([request], machine, thp=True)


def outcomes(events: list[Event]) -> str:
    letters = {Result: "m", Skipped: "s", Failed: "f"}
    return "".join(letters[type(event)] for event in events if type(event) in letters)


def reason(events: list[Event]) -> str:
    return next(event.reason for event in events if isinstance(event, Failed))


def test_every_measurement_starts_and_ends_in_order(plan: Plan, fake_engine: Fake) -> None:
    events = list(stream(plan))
    ids = [spec.id for spec in plan.measurements]
    assert [event.id for event in events if isinstance(event, Started)] == ids
    assert [event.id for event in events if isinstance(event, Result)] == ids
    assert events[-1] == Finished(interrupted=False)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("segv", "SIGSEGV"),
        ("kill", "SIGKILL"),
        ("abort", "SIGABRT"),
        ("exit3", "exit status 3: fake: three"),
        ("garbage", "not an event"),
        ("unknown-key", "surprise"),
    ],
)
def test_a_fault_costs_the_one_measurement(
    plan: Plan, fake_engine: Fake, fault: str, why: str
) -> None:
    fake_engine(f"{fault}@3")
    events = list(stream(plan))
    assert outcomes(events) == "mmfmm"
    assert why in reason(events)


def test_a_fault_in_the_last_measurement_still_finishes(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("segv@5")
    events = list(stream(plan))
    assert outcomes(events) == "mmmmf"
    assert events[-1] == Finished(interrupted=False)


def test_a_fault_in_every_measurement_fails_every_one(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("segv")
    assert outcomes(list(stream(plan))) == "fffff"


def test_skipped_and_failed_pass_through(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("skip@2,fail@4")
    assert outcomes(list(stream(plan))) == "msmfm"


def test_a_hanging_engine_is_killed(
    plan: Plan, fake_engine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "_longest", lambda _spec: 3.0)
    fake_engine("hang@2")
    events = list(stream(plan))
    assert outcomes(events) == "mfmmm"
    assert "longer than its budget" in reason(events)


def test_an_engine_that_dies_at_birth_twice_ends_the_run(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("stillborn")
    with pytest.raises(UserError, match=r"died twice.*SIGSEGV: fake: no") as caught:
        list(stream(plan))
    assert caught.value.exit_code is ExitCode.NOTHING_MEASURED


def test_a_refused_plan_is_the_users_error(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("refuse")
    with pytest.raises(UserError, match="refuses the plan: fake: plan refused") as caught:
        list(stream(plan))
    assert caught.value.exit_code is ExitCode.REQUEST_WRONG


def with_signals(plan: Plan, when: Callable[[Event], bool], *numbers: int) -> list[Event]:
    """Run a plan, sending this process signals at the first event that ``when`` picks."""
    events = []
    waiting = list(numbers)
    for event in stream(plan):
        events.append(event)
        if when(event):
            while waiting:
                os.kill(os.getpid(), waiting.pop(0))
    return events


def is_second_start(plan: Plan) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Started) and event.id == plan.measurements[1].id


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_engine_end_its_sample(
    plan: Plan, fake_engine: Fake, number: int
) -> None:
    fake_engine("slow")
    events = with_signals(plan, lambda event: isinstance(event, Progress), number)
    assert outcomes(events) == "m"
    assert next(e.stop for e in events if isinstance(e, Result)) == "interrupted"
    assert events[-1] == Finished(interrupted=True)


def test_a_second_signal_kills_an_engine_that_does_not_end(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("hang@2")
    events = with_signals(plan, is_second_start(plan), signal.SIGINT, signal.SIGINT)
    assert outcomes(events) == "m"
    assert events[-1] == Finished(interrupted=True)


def test_an_interrupted_engine_that_hangs_is_killed(
    plan: Plan, fake_engine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "_INTERRUPT_S", 0.5)
    fake_engine("hang@2")
    events = with_signals(plan, is_second_start(plan), signal.SIGINT)
    assert events[-1] == Finished(interrupted=True)


def test_signals_are_ours_again_afterwards(plan: Plan, fake_engine: Fake) -> None:
    before = signal.getsignal(signal.SIGINT)
    list(stream(plan))
    assert signal.getsignal(signal.SIGINT) is before


def test_closing_the_stream_leaves_no_engine_behind(plan: Plan, fake_engine: Fake) -> None:
    fake_engine("hang@2")
    events = stream(plan)
    while not isinstance(next(events), Result):
        pass
    events.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_capabilities_of_another_door_are_refused(fake_engine: Fake) -> None:
    fake_engine("other-version")
    with pytest.raises(
        UserError, match="reads plans of version 99, this tierscope writes version 1"
    ):
        capabilities()


def test_what_is_no_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/bin/echo")
    with pytest.raises(UserError, match="does not answer like an engine"):
        capabilities()


def test_a_missing_engine_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr("tierscope.engine.find.__file__", str(tmp_path / "a/b/find.py"))
    with pytest.raises(UserError, match="not installed with this tierscope; build it with 'make"):
        find_engine()


def test_a_wrong_tierscope_engine_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
    with pytest.raises(UserError, match="TIERSCOPE_ENGINE names '/nonexistent'"):
        find_engine()


def test_check_accepts(plan: Plan, fake_engine: Fake) -> None:
    assert check(plan) is None
