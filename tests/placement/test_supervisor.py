"""Whatever is killed, and at whatever step, everything is restored."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placement.fake_kernel import FakeKernel, snapshot
from placement.supervised import Command, Steps, adopting, begin, hmsdk, on_each_step
from tierscope.place import tiering
from tierscope.place.damon import tree
from tierscope.place.damon.files import content
from tierscope.place.damon.rules import Rules


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: state files are on the disk before they get their names."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
        yield Path(path)


@pytest.fixture(autouse=True)
def _adopting() -> Iterator[None]:
    with adopting():
        yield


def other_rules(started: tiering.Tiering) -> None:
    """Follow other rules, by another number of kdamonds, as ``tier observe`` does."""
    for number in tree.running(started.kernel):
        tree.command(started.kernel, number, "off")
    rules = Rules(hmsdk(started.kernel).kdamonds[:1])
    started.run(rules, content(rules))


PHASES: dict[str, Callable[[tiering.Tiering], object]] = {
    "setting up": lambda _: None,
    "other rules": other_rules,
    "undoing": lambda started: started.end(),
}


def act(kernel: FakeKernel, phase: str, steps: Steps) -> None:
    """Set up and go on to a phase, of which each step is counted."""
    if phase == "setting up":
        on_each_step(kernel, steps)
    started = begin(kernel)
    if phase != "setting up":
        on_each_step(kernel, steps)
    PHASES[phase](started)


def killed(kernel: FakeKernel, phase: str, step: int, both: bool = False) -> int:
    """Kill a command before a step of a phase, and its supervisor before that.

    Returns the process of the supervisor, which is there if it was not killed.
    """
    return Command(lambda _: act(kernel, phase, Steps(step, both))).wait()[0]


def number_of_steps(root: Path, phase: str) -> int:
    kernel = FakeKernel(root)

    def work(say: Callable[[int], None]) -> None:
        steps = Steps()
        act(kernel, phase, steps)
        say(steps.count)

    supervisor, count = Command(work).wait()
    os.waitpid(supervisor, 0)
    assert count >= {"setting up": 100, "other rules": 40, "undoing": 7}[phase]
    return count


def assert_restored(kernel: FakeKernel, before: dict[str, str], when: str) -> None:
    assert tiering.load(kernel) is None, when
    assert snapshot(Path(kernel.root)) == before, when


@pytest.mark.parametrize("phase", PHASES)
def test_a_killed_command_s_supervisor_restores_whatever_step_it_was_killed_at(
    folder: Path, phase: str
) -> None:
    steps = number_of_steps(folder / "whole", phase)
    before = snapshot(FakeKernel.root_of(folder / "new"))
    for step in range(1, steps + 2):
        kernel = FakeKernel(folder / str(step))
        os.waitpid(killed(kernel, phase, step), 0)
        assert_restored(kernel, before, f"{phase}: killed before step {step} of {steps}")


@pytest.mark.parametrize("phase", PHASES)
def test_with_the_supervisor_killed_too_restore_restores(folder: Path, phase: str) -> None:
    steps = number_of_steps(folder / "whole", phase)
    before = snapshot(FakeKernel.root_of(folder / "new"))
    for step in range(1, steps + 1):
        kernel = FakeKernel(folder / str(step))
        os.waitpid(killed(kernel, phase, step, both=True), 0)
        tiering.stop(kernel)
        assert_restored(kernel, before, f"{phase}: both killed before step {step} of {steps}")


def test_a_supervisor_that_is_killed_while_it_restores_leaves_the_rest_to_restore(
    folder: Path,
) -> None:
    before = snapshot(FakeKernel.root_of(folder / "new"))
    step, was_killed = 0, True
    while was_killed:
        step += 1
        kernel = FakeKernel(folder / str(step))

        def work(
            _say: Callable[[int], None], kernel: FakeKernel = kernel, step: int = step
        ) -> None:
            supervise = tiering._supervise

            def counted(kernel: FakeKernel, channel: tiering.Channel) -> None:
                on_each_step(kernel, Steps(step))
                supervise(kernel, channel)

            tiering._supervise = counted  # type: ignore[assignment]
            begin(kernel)

        (supervisor,) = Command(work).wait()
        _, status = os.waitpid(supervisor, 0)
        was_killed = os.WIFSIGNALED(status)
        if was_killed:
            assert tiering.load(kernel) is not None
        tiering.stop(kernel)
        assert_restored(kernel, before, f"the supervisor killed before step {step}")
    assert step > 7


def kept(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> int:
    """Begin tiering that goes on after its command; return the supervisor."""
    monkeypatch.setattr(tiering, "_LOOK_EACH_S", 0.01)
    (supervisor,) = Command(lambda _: begin(kernel).keep()).wait()
    return supervisor


def test_tiering_that_goes_on_has_a_supervisor_until_it_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(folder)
    before = snapshot(folder)
    supervisor = kept(kernel, monkeypatch)
    assert tiering.supervisor.alive(supervisor)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(supervisor, number)
    session = tiering.load(kernel)
    assert session is not None
    assert session.supervisor == supervisor
    assert str(supervisor) in (folder / "sys/fs/cgroup/cgroup.procs").read_text().split()
    assert tiering.stop(kernel)[0] == "ended 2 kdamonds"
    assert os.waitpid(supervisor, 0) == (supervisor, 0)
    assert_restored(kernel, before, "stopped")


def test_a_supervisor_that_is_terminated_restores(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(folder)
    before = snapshot(folder)
    supervisor = kept(kernel, monkeypatch)
    os.kill(supervisor, signal.SIGTERM)
    assert os.waitpid(supervisor, 0) == (supervisor, 0)
    assert_restored(kernel, before, "terminated")
