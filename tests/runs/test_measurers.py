"""A kind that is repeated by a measurer of its own, in the same run as kinds of the engine."""

import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.kinds.registry import KINDS
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode
from tierscope.model.event import (
    Column,
    Event,
    Evidence,
    Failed,
    Repetition,
    Series,
    Skipped,
    Started,
)
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.pairs import take_pairs
from tierscope.runs.read import read_run
from tierscope.runs.resume import resumable

Fake = Callable[[str], None]


class Thousand:
    """Finds that everything takes 1000 ns, but for what it is told otherwise of an id."""

    made: list["Thousand"]

    def __init__(self) -> None:
        self.made.append(self)
        self.interrupted = False
        self.closed = False
        self.planned: list[str] = []
        self.forgotten: list[str] = []
        self.repeated: list[str] = []

    def plan(self, specs: Sequence[Spec]) -> None:
        self.planned += [spec.id for spec in specs]

    def forget(self, name: str) -> None:
        self.forgotten.append(name)

    def repetition(
        self, name: str, seconds: float, fresh: bool = False
    ) -> Generator[Event, None, None]:
        self.repeated.append(name)
        yield Started(id=name)
        if "signalled" in name:
            os.kill(os.getpid(), signal.SIGINT)
        elif "skipped" in name:
            yield Skipped(id=name, cause=Cause.TOOL, reason="no tool", remedy="install it")
        elif "failed" in name:
            yield Failed(id=name, cause=Cause.OTHER, reason="it broke")
        else:
            samples = [1000.0 + 5 * number % 7 for number in range(8)]
            column = Column(metric="latency", values=[*samples])
            times = {"starts": [0.1 * n for n in range(8)], "durations": [0.1] * 8}
            series = Series(name="samples", columns=[column], **times)  # type: ignore[arg-type]
            yield Repetition(
                id=name, seconds=seconds, fresh=fresh, interrupted=False, series=[series],
                evidence=Evidence(),
            )  # fmt: skip

    def interrupt(self) -> None:
        self.interrupted = True

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> list[Thousand]:
    """Has the kind latency repeated by ``Thousand``; returns all that are made."""
    module = ModuleType("tierscope.kinds.latency.measurer")
    module.Measurer = Thousand  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(KINDS, "latency", replace(KINDS["latency"], own_measurer=True))
    Thousand.made = []
    return Thousand.made


def plan_of(machine: Topology, *kinds_and_names: tuple[str, str]) -> Plan:
    options = {"size": "4k", "budget": "0.5"}
    requests = [Request(kind=kind, name=name, options=options) for kind, name in kinds_and_names]
    plan = expand(requests, machine, thp=True)
    return Plan(version=PLAN_VERSION, measurements=plan.measurements)


def run(plan: Plan, machine: Topology, folder: Path) -> Outcome:
    return measure(plan, "test", machine, ["tierscope"], folder, lambda _: None)


def test_its_repetitions_and_the_engines_are_in_one_run(
    machine: Topology, fake_engine: Fake, own: list[Thousand], tmp_path: Path
) -> None:
    plan = plan_of(machine, ("latency", "theirs"), ("bandwidth", "ours"))
    outcome = run(plan, machine, tmp_path)
    theirs, ours = outcome.run.measurements
    assert (theirs.metric, ours.metric) == ("latency", "bandwidth")
    assert theirs.estimate == pytest.approx(1003, abs=2)
    assert theirs.ci_low is not None
    (only,) = own
    assert only.planned == [theirs.id] == only.forgotten
    assert len(only.repeated) == theirs.repetitions
    assert only.closed
    assert read_run(outcome.path) == outcome.run


def test_what_it_skips_or_fails_is_recorded_as_the_engines_are(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    plan = plan_of(machine, ("latency", "skipped"), ("latency", "failed"), ("bandwidth", "ours"))
    outcome = run(plan, machine, tmp_path)
    skipped, failed, ours = outcome.run.measurements
    assert (skipped.status, skipped.cause, skipped.remedy) == ("skipped", "tool", "install it")
    assert (failed.status, failed.reason) == ("failed", "it broke")
    assert ours.status == "measured"
    assert outcome.exit_code is ExitCode.SOMETHING_FAILED


def test_a_signal_reaches_it_and_the_run_can_go_on(
    machine: Topology, fake_engine: Fake, own: list[Thousand], tmp_path: Path
) -> None:
    plan = plan_of(machine, ("latency", "signalled"), ("bandwidth", "ours"))
    outcome = run(plan, machine, tmp_path)
    assert outcome.exit_code is ExitCode.INTERRUPTED
    assert own[0].interrupted
    assert len(own[0].repeated) == 1
    assert "latency" in [spec.kind for spec in resumable(outcome.path).pending]


def test_pairs_are_taken_by_it(machine: Topology, fake_engine: Fake, own: list[Thousand]) -> None:
    plan = plan_of(machine, ("latency", "theirs"))
    (found,), interrupted = take_pairs(plan, plan, 2)
    assert not interrupted
    assert found.pairs == [(1002.5, 1002.5)] * 2
    assert len(own) == 2, "each side has its own"


def test_a_kind_of_the_engine_makes_none(
    machine: Topology, fake_engine: Fake, own: list[Thousand], tmp_path: Path
) -> None:
    run(plan_of(machine, ("bandwidth", "ours")), machine, tmp_path)
    assert own == []
