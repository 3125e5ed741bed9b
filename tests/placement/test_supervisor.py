"""Whatever is killed, and at whatever step, everything is restored."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placement.fake_kernel import FakeKernel, snapshot
from placement.supervised import Command, Steps, adopting, begin, on_each_step
from tierscope.place import tiering


@pytest.fixture(autouse=True)
def _adopting() -> Iterator[None]:
    with adopting():
        yield


def killed(kernel: FakeKernel, step: int, *, both: bool = False, undoing: bool = False) -> int:
    """Kill a command before a step of setting up or of undoing, and its supervisor before that.

    Returns the process of the supervisor, which is there if it was not killed.
    """

    def work(_say: Callable[[int], None]) -> None:
        steps = Steps(step, both)
        if not undoing:
            on_each_step(kernel, steps)
            begin(kernel)
            return
        started = begin(kernel)
        on_each_step(kernel, steps)
        started.end()

    return Command(work).wait()[0]


def number_of_steps(root: Path, undoing: bool) -> int:
    kernel = FakeKernel(root)

    def work(say: Callable[[int], None]) -> None:
        steps = Steps()
        if not undoing:
            on_each_step(kernel, steps)
        started = begin(kernel)
        if undoing:
            on_each_step(kernel, steps)
            started.end()
        say(steps.count)

    supervisor, count = Command(work).wait()
    os.waitpid(supervisor, 0)
    return count


def assert_restored(kernel: FakeKernel, before: dict[str, str], when: str) -> None:
    assert tiering.load(kernel) is None, when
    assert snapshot(Path(kernel.root)) == before, when


@pytest.mark.parametrize("undoing", [False, True])
def test_a_killed_command_s_supervisor_restores_whatever_step_it_was_killed_at(
    tmp_path: Path, undoing: bool
) -> None:
    steps = number_of_steps(tmp_path / "whole", undoing)
    assert steps >= (7 if undoing else 100)
    before = snapshot(FakeKernel.root_of(tmp_path / "new"))
    for step in range(1, steps + 2):
        kernel = FakeKernel(tmp_path / str(step))
        os.waitpid(killed(kernel, step, undoing=undoing), 0)
        assert_restored(kernel, before, f"killed before step {step} of {steps}")


@pytest.mark.parametrize("undoing", [False, True])
def test_with_the_supervisor_killed_too_restore_restores(tmp_path: Path, undoing: bool) -> None:
    steps = number_of_steps(tmp_path / "whole", undoing)
    before = snapshot(FakeKernel.root_of(tmp_path / "new"))
    for step in range(1, steps + 1):
        kernel = FakeKernel(tmp_path / str(step))
        os.waitpid(killed(kernel, step, both=True, undoing=undoing), 0)
        tiering.stop(kernel)
        assert_restored(kernel, before, f"both killed before step {step} of {steps}")


def test_a_supervisor_that_is_killed_while_it_restores_leaves_the_rest_to_restore(
    tmp_path: Path,
) -> None:
    before = snapshot(FakeKernel.root_of(tmp_path / "new"))
    step, was_killed = 0, True
    while was_killed:
        step += 1
        kernel = FakeKernel(tmp_path / str(step))

        def work(
            _say: Callable[[int], None], kernel: FakeKernel = kernel, step: int = step
        ) -> None:
            supervise = tiering._supervise

            def counted(kernel: FakeKernel, ears: tiering.Ears) -> None:
                on_each_step(kernel, Steps(step))
                supervise(kernel, ears)

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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(tmp_path)
    before = snapshot(tmp_path)
    supervisor = kept(kernel, monkeypatch)
    assert tiering.supervisor.alive(supervisor)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(supervisor, number)
    session = tiering.load(kernel)
    assert session is not None
    assert session.supervisor == supervisor
    assert str(supervisor) in (tmp_path / "sys/fs/cgroup/cgroup.procs").read_text().split()
    assert tiering.stop(kernel)[0] == "ended 2 kdamonds"
    assert os.waitpid(supervisor, 0) == (supervisor, 0)
    assert_restored(kernel, before, "stopped")


def test_a_supervisor_that_is_terminated_restores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(tmp_path)
    before = snapshot(tmp_path)
    supervisor = kept(kernel, monkeypatch)
    os.kill(supervisor, signal.SIGTERM)
    assert os.waitpid(supervisor, 0) == (supervisor, 0)
    assert_restored(kernel, before, "terminated")
