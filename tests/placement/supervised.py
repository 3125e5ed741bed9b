"""Commands that tier in processes of their own, killed where a test says, and their supervisors."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from placement.fake_kernel import FakeKernel
from tierscope.place import saved_state, supervisor, tiering
from tierscope.place.damon import presets, tree
from tierscope.place.damon.files import content
from tierscope.place.damon.rules import Rules
from tierscope.place.kernel import Kernel

_PR_SET_CHILD_SUBREAPER = 36


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Have processes whose parents have ended become this one's children, to be waited for."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def hmsdk(kernel: Kernel, memcg: str | None = None) -> Rules:
    """The preset's rules for the fake kernel's nodes."""
    return presets.watched(
        presets.between(
            presets.PRESETS["hmsdk"], [(0, 2)], lambda node: tree.ranges(kernel, node), memcg
        )
    )


def begin(kernel: FakeKernel) -> tiering.Tiering:
    """All that a tiering changes: a setting, a cgroup, kdamonds."""
    with tiering.starting(kernel) as started:
        started.begin("hmsdk")
        cgroup = started.make_cgroup("tierscope-1")
        started.set("/proc/sys/kernel/numa_balancing", "2")
        rules = hmsdk(kernel, cgroup.path)
        started.run(rules, content(rules))
    return started


def on_each_step(kernel: Kernel | type[Kernel], called: Callable[[], None]) -> None:
    """Have a function called before each change, of the kernel's files and of the state file.

    It stays so in this process: a test's own is forked for it.
    """
    for where, names in (
        (kernel, ("write", "make_folder", "remove_folder")),
        (saved_state, ("save", "discard")),
    ):
        for name in names:
            setattr(where, name, _after(called, getattr(where, name)))


def _after(called: Callable[[], None], change: Callable[..., None]) -> Callable[..., None]:
    def both(*arguments: object) -> None:
        called()
        change(*arguments)

    return both


class Steps:
    """Counts the steps of a process, and kills before one; the supervisor first, if asked to."""

    def __init__(self, kill_at: int = 0, both: bool = False) -> None:
        self.count = 0
        self._own = os.getpid()
        self._kill_at, self._both = kill_at, both

    def __call__(self) -> None:
        if os.getpid() != self._own:
            return
        self.count += 1
        if self.count == self._kill_at:
            if self._both:
                os.kill(_started[-1], signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


_started: list[int] = []
"""The supervisors of a command, in its own process."""


class Command:
    """A command in a process of its own, and its supervisor, which the test waits for."""

    def __init__(self, work: Callable[[Callable[[int], None]], None]) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(read)
                self._work(work, lambda number: os.write(write, f"{number}\n".encode()))
            finally:
                os._exit(0)
        os.close(write)
        self._said = os.fdopen(read)

    def _work(
        self, work: Callable[[Callable[[int], None]], None], say: Callable[[int], object]
    ) -> None:
        start = supervisor.start

        def starting(*arguments: Any) -> supervisor.Supervisor:
            one = start(*arguments)
            _started.append(one.pid)
            say(one.pid)
            return one

        supervisor.start = starting
        work(lambda number: say(number) and None)

    def wait(self) -> list[int]:
        """Wait for its end; return what it said: its supervisor's process, and any more."""
        os.waitpid(self.pid, 0)
        with self._said:
            return [int(line) for line in self._said]


def waiting_for(what: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is so, which another process brings about."""
    give_up_at = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up_at
        time.sleep(0.005)
