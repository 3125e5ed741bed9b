"""On a real kernel everything that tiering changed is restored, whatever is killed and when."""

import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_tier import RULES, settings, tier

from placement.supervised import Command, Steps, adopting, on_each_step, waiting_for
from tierscope.cli.app import app
from tierscope.place import tiering
from tierscope.place.kernel import Kernel

pytestmark = pytest.mark.testbed

TOP = Path("/sys/fs/cgroup")
RUNTIME = Path(__file__).with_name("makes_cgroups.py")
"""A program that makes cgroups below its own, as a container runtime does."""


@pytest.fixture(autouse=True)
def _adopting() -> Iterator[None]:
    with adopting():
        yield


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


@contextlib.contextmanager
def cgroup(name: str) -> Iterator[Path]:
    """A cgroup, as of a login session; it may be gone by the end."""
    folder = TOP / name
    folder.mkdir()
    yield folder
    with contextlib.suppress(FileNotFoundError):
        folder.rmdir()


def start(
    *words: str, steps: Callable[[], Steps] | None = None, session: Path | None = None
) -> Command:
    """Have a command start tiering in a process of its own, in a session's cgroup."""

    def work(say: Callable[[int], None]) -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2):
            os.dup2(nowhere, number)
        os.setsid()
        if session:
            (session / "cgroup.procs").write_text(str(os.getpid()))
        counted = steps() if steps else Steps()
        on_each_step(Kernel, counted)
        app.main(["tier", "start", *words], standalone_mode=False)
        say(counted.count)

    return Command(work)


def ended(pids: list[int]) -> None:
    """Wait for processes that have become this one's children."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def end_programs() -> None:
    """End the programs of killed commands, which go on and have become this one's children."""
    own = os.getpid()
    for pid in Path(f"/proc/self/task/{own}/children").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
        ended([int(pid)])


def inside(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]


def runtime(ready: Path, *words: str) -> list[str]:
    return ["--", sys.executable, str(RUNTIME), str(ready), *words]


def test_cgroups_that_a_program_made_and_left_are_removed(rules: Path, tmp_path: Path) -> None:
    before = settings()
    ready = tmp_path / "ready"
    supervisor, _ = start("--rules", str(rules), *runtime(ready, "end")).wait()
    ended([supervisor])
    assert ready.exists()
    assert settings() == before


@pytest.mark.parametrize("kind", ["domain", "threaded"])
@pytest.mark.parametrize("both", [False, True])
def test_after_the_session_is_gone_the_program_goes_on_and_all_is_restored(
    rules: Path, tmp_path: Path, both: bool, kind: str
) -> None:
    """A command and its login session are ended; the program goes on in a cgroup that is there."""
    before = settings()
    ready = tmp_path / "ready"
    with cgroup("session-1") as session:
        command = start("--rules", str(rules), *runtime(ready, kind), session=session)
        waiting_for(ready.exists)
        found = tiering.load(Kernel())
        assert found is not None
        assert found.came_from is not None
        assert found.came_from.path == "/session-1"
        if both:
            os.kill(found.supervisor, signal.SIGKILL)
        os.kill(command.pid, signal.SIGKILL)
        (supervisor, *_) = command.wait()
        program = int(ready.read_text())
        with contextlib.suppress(OSError):
            session.rmdir()
        ended([supervisor])
        tier("restore")
        try:
            assert Path(f"/proc/{program}").exists(), "it goes on"
            where = Path(f"/proc/{program}/cgroup").read_text().strip()
            assert where in (("0::/",) if both else ("0::/", "0::/session-1"))
        finally:
            os.kill(program, signal.SIGKILL)
            ended([program])
    assert settings() == before


def restored_after_kills(rules: Path, folder: Path, chance: random.Random, kills: int) -> None:
    before = settings()
    supervisor, total = start("--rules", str(rules), *runtime(folder / "whole", "end")).wait()
    ended([supervisor])
    assert settings() == before
    for number in range(kills):
        both, with_program = chance.random() < 0.4, chance.random() < 0.7
        step = chance.randint(1, total if with_program else total - 10)
        words = runtime(folder / str(number), "end") if with_program else ["--for", "0.1s"]
        pids = start(
            "--rules", str(rules), *words, steps=lambda step=step, both=both: Steps(step, both)
        ).wait()
        ended(pids[:1])
        end_programs()
        what = f"{number}: killed before step {step} of {total}, {both=}, {with_program=}"
        if both and len(pids) == 1:
            tier("restore")
        assert tiering.load(Kernel()) is None, what
        assert settings() == before, what


def test_what_is_killed_at_any_step_is_restored(rules: Path, tmp_path: Path) -> None:
    restored_after_kills(rules, tmp_path, random.Random(39), 20)


@pytest.mark.soak
def test_two_hundred_kills_leave_nothing(rules: Path, tmp_path: Path) -> None:
    restored_after_kills(rules, tmp_path, random.Random(200), 200)


def test_a_program_that_keeps_starting_others_is_moved_whole(rules: Path, tmp_path: Path) -> None:
    before = settings()
    ready = tmp_path / "ready"
    script = f"echo $$ > {ready}.new; mv {ready}.new {ready}; while :; do (:); done"
    command = start("--rules", str(rules), "--", "sh", "-c", script)
    waiting_for(ready.exists)
    os.kill(command.pid, signal.SIGKILL)
    supervisor, *_ = command.wait()
    ended([supervisor])
    program = int(ready.read_text())
    try:
        assert Path(f"/proc/{program}").exists()
        assert settings() == before
    finally:
        os.kill(program, signal.SIGKILL)
        ended([program])


def test_another_s_memory_limit_keeps_the_controller(rules: Path) -> None:
    control = TOP / "cgroup.subtree_control"
    assert "memory" not in control.read_text().split()
    with cgroup("limited") as limited:
        command = start("--rules", str(rules), "--", "sleep", "1000")
        waiting_for(lambda: any(inside(one) for one in TOP.glob("tierscope-*")))
        (limited / "memory.max").write_text("100M")
        said = tier("stop")
        assert "keeps the memory controller, since cgroup /limited has a memory.max" in said
        assert (limited / "memory.max").read_text() == f"{100 << 20}\n"
        os.kill(command.pid, signal.SIGTERM)
        command.wait()
    control.write_text("-memory")
