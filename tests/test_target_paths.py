"""What tierscope finds out about target paths, by a child that may hang."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dead_mount import dead_mount
from tierscope.engine import repetitions, targets
from tierscope.engine.process import end_or_abandon, waiting
from tierscope.engine.repetitions import living_engine
from tierscope.engine.targets import PathError, PathSilentError, known_path, path_facts
from tierscope.kinds.plan import Plan
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode
from tierscope.model.event import Event, Failed, Repetition, Skipped
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from waiting import PATIENCE_S, wait_until


def test_facts_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"x" * 5000)
    facts = path_facts(str(file))
    status = file.stat()
    assert (facts.kind, facts.real, facts.size) == ("file", os.path.realpath(file), 5000)
    assert facts.mount is not None
    if os.major(status.st_dev):
        assert facts.device == f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"


def test_a_path_that_leads_nowhere_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(PathError, match=f"^{re.escape(str(tmp_path))}/data/x: Not a directory$"):
        path_facts(f"{tmp_path}/data/x")


def test_a_path_that_does_not_answer_is_given_up_and_named(tmp_path: Path) -> None:
    began = time.monotonic()
    with dead_mount(tmp_path) as mount:
        with pytest.raises(PathSilentError) as caught:
            path_facts(f"{mount}/x", deadline_s=2)
        assert time.monotonic() - began < PATIENCE_S
        message = str(caught.value)
        found = re.match(
            f"{re.escape(str(mount))}/x does not answer in 2 s: "
            r"process (\d+) waits in the kernel( \(\w+\))?; its file system",
            message,
        )
        assert found, message
        assert caught.value.exit_code == ExitCode.NOTHING_MEASURED
        status = Path(f"/proc/{found[1]}/status")
        assert "\nState:\tD" in status.read_text()  # it took SIGKILL, and waits on
    wait_until(lambda: not status.exists(), "a child that came back is reaped")


def test_a_command_about_a_dead_path_ends_in_one_line(tmp_path: Path) -> None:
    (dead := tmp_path / "dead").mkdir()  # beside the data directory, which topo reads
    code = (
        "from tierscope.engine import targets; targets.DEADLINE_S = 2; "
        "from tierscope.cli.main import main; main()"
    )
    with dead_mount(dead) as mount:
        command = [sys.executable, "-c", code, "topo", "node:0", f"file:{mount}/x"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        output, said = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, output) == (ExitCode.NOTHING_MEASURED, "")
    assert re.fullmatch(rf"tierscope: {mount}/x does not answer in 2 s: process .*\n", said), said


def test_a_dead_path_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(path: str) -> None:
        asked.append(path)
        raise PathSilentError(f"{path} does not answer")

    monkeypatch.setattr(targets, "path_facts", ask)
    for _ in range(3):
        with pytest.raises(PathSilentError):
            known_path("/dead/asked-once")
    assert asked == ["/dead/asked-once"]


FILES = ["/data/x", "/data/x", "/more"]


@pytest.fixture
def plan(machine: Topology, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Measurements that are said to go to files."""
    monkeypatch.setattr(targets, "_kept", {})
    request = Request(kind="latency", options={"size": "4k,8k", "budget": "0.1"})
    made = expand([request], machine, thp=True)
    monkeypatch.setattr(type(made.measurements[0]), "files", lambda _: FILES)
    return made


def repeat_each(plan: Plan) -> list[Event]:
    with living_engine() as engine:
        engine.plan(plan.measurements)
        return [event for spec in plan.measurements for event in engine.repetition(spec.id, 0.1)]


def ends(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, Repetition | Failed | Skipped)]


@pytest.mark.usefixtures("fake_engine")
def test_a_repetitions_evidence_has_each_target_once(plan: Plan) -> None:
    first, second = ends(repeat_each(plan))
    for repetition in (first, second):
        assert isinstance(repetition, Repetition)
        assert repetition.evidence.storage is not None
        assert [facts.path.path for facts in repetition.evidence.storage] == ["/data/x", "/more"]
        assert repetition.evidence.storage[0].note == "not on a drive of this machine"


@pytest.mark.usefixtures("fake_engine")
def test_a_target_that_does_not_answer_fails_its_measurements_at_once(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "DEADLINE_S", 0.5)
    monkeypatch.setattr(type(plan.measurements[0]), "files", lambda _: ["/dead"])
    events = repeat_each(plan)
    assert [type(event) for event in events] == [Failed, Failed]
    for event in ends(events):
        assert isinstance(event, Failed)
        assert event.cause is Cause.TIMEOUT
        assert event.reason.startswith("/dead does not answer in 0.5 s; ")


@pytest.mark.usefixtures("fake_engine")
def test_of_a_target_that_is_refused_the_engine_speaks_itself(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(plan.measurements[0]), "files", lambda _: ["/refused"])
    for repetition in ends(repeat_each(plan)):
        assert isinstance(repetition, Repetition)
        assert repetition.evidence.storage is None


def test_an_engine_that_waits_in_the_kernel_is_given_up_and_named(
    plan: Plan,
    fake_engine: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(repetitions, "longest_repetition_s", lambda _spec, _seconds: 2.0)
    directory = tmp_path / "mount"
    directory.mkdir()
    monkeypatch.setenv("FAKE_ENGINE_DEAD", f"{directory}/x")
    fake_engine("dead@1")
    with dead_mount(directory):
        first, second = ends(repeat_each(plan))
    assert isinstance(first, Failed)
    assert first.cause is Cause.TIMEOUT
    assert re.fullmatch(
        r"the engine took far longer than its budget and was given up: process \d+ waits in the "
        r"kernel( \(\w+\))? for a drive or a file system that does not answer",
        first.reason,
    )
    assert isinstance(second, Repetition)


def test_a_stopped_child_that_ignores_signals_is_ended() -> None:
    code = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); "
    stop = "os.kill(os.getpid(), signal.SIGSTOP)"
    child = subprocess.Popen([sys.executable, "-c", code + stop], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read(1)
    assert end_or_abandon(child) == ""
    assert child.returncode == -9
    child.stdout.close()


def test_a_process_that_may_not_be_looked_into_is_named_all_the_same() -> None:
    assert waiting(1 << 30) == f"process {1 << 30} waits in the kernel"
