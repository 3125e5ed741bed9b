"""One run of a program: started under its placement, watched, timed, ended.

The time is that from the program's ``exec`` to its end, so neither a shell nor tierscope is in it.
Meanwhile its pages are looked at, at first often, then once a second, and never for more than 5% of
the time.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tierscope.kinds.effect.placing import Placed, placed
from tierscope.kinds.effect.spec import EffectSpec, Settings
from tierscope.kinds.effect.tiers import Tiered, tiered
from tierscope.model.cause import Cause
from tierscope.model.text import shown
from tierscope.placement.huge_pages import huge_pages
from tierscope.placement.pages import own_memory, process_tree
from tierscope.placement.start import start

_FIRST_LOOK_S = 0.02
_LONGEST_GAP_S = 1.0
_LOOKING = 20
"""Time between two looks at the pages, in multiples of what the last one took."""
_GRACE_S = 5.0
"""Time that a program gets between SIGTERM and SIGKILL."""
_NEARLY = 0.9
"""Share of the most memory that was seen, from which on a later look at tiered pages counts."""
_TAIL = 3
_TAIL_LENGTH = 300


class ProgramError(Exception):
    """A run that gives no figure."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass
class Ran:
    """What a run gave."""

    seconds: float
    """From the start to the end of the program, or of its client."""
    output: str
    """Of the client or, without one, of the program: standard output, then standard error."""
    bytes_by_node: dict[int, int] = field(default_factory=dict)
    """Of anonymous and shared memory, when most was in use; under tiering, when about that was
    last seen."""
    threads: int = 0
    """The most that were seen at once."""
    placed: Placed = field(default_factory=Placed)
    migrated: int | None = None
    """Bytes that the kernel migrated meanwhile; None without tiering."""
    notes: list[str] = field(default_factory=list)
    """Of tiering."""
    began_s: float | None = None
    """When it began, by CLOCK_MONOTONIC_RAW."""


class Run:
    """A run that is under way, in a directory of its own."""

    def __init__(self, spec: EffectSpec, scratch: Path, environment: dict[str, str]) -> None:
        self._spec = spec
        self._scratch = scratch
        self._environment = environment
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._most: dict[int, int] = {}
        self._threads = 0
        self._placed = Placed()
        self._tier: Tiered | None = None
        self._kill_at = float("inf")

    def interrupt(self) -> None:
        """End it; a second time, at once. Called from a signal's handler."""
        again = self._kill_at < float("inf")
        self._kill_at = time.monotonic() + (0 if again else _GRACE_S)
        self._signal(signal.SIGKILL if again else signal.SIGTERM)

    def finish(self) -> Ran:
        """Run it to its end.

        Raises ProgramError where it fails or takes too long, UserError, UnplaceableError or
        RightsError where it cannot be placed.
        """
        with tiered(self._spec.settings) as self._tier:
            ran = self._finish()
            if self._tier:
                ran.migrated, ran.notes = self._tier.migrated_bytes(), self._tier.notes()
        return ran

    def _finish(self) -> Ran:
        spec = self._spec
        try:
            program, began = self._start("program", spec.program, spec.settings)
            waited = program
            if spec.client:
                waited, began = self._start("client", spec.client, None)
            self._watch(began + spec.timeout_s)
            seconds = time.monotonic() - began
            began_s = time.clock_gettime(time.CLOCK_MONOTONIC_RAW) - seconds
            self._check(waited)
            if spec.client:
                self._end(program)
        finally:
            self._signal(signal.SIGKILL)  # what it left running, too
            for process in self._processes.values():
                process.wait()
        name = "client" if spec.client else "program"
        output = self._text(name, "out") + "\n" + self._text(name, "err")
        return Ran(seconds, output, self._most, self._threads, self._placed, began_s=began_s)

    def _start(
        self, name: str, words: Sequence[str], settings: Settings | None
    ) -> "tuple[subprocess.Popen[bytes], float]":
        """Start a program; return it with the time just before it was forked.

        The time after that would be too late where others keep this process from its CPU.
        """
        command = [word.replace("{scratch}", str(self._scratch)) for word in words]
        how: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "cwd": self._spec.directory,
            "start_new_session": True,
        }
        policy = cpus = None
        if settings:
            self._placed = placed(settings, command[0], self._environment)
            policy, cpus = self._placed.policy, settings.cpus
            how |= {"env": self._placed.environment, "executable": self._placed.executable}
            if self._tier:
                how["preexec_fn"] = self._tier.enter
        with contextlib.ExitStack() as stack:
            if settings and settings.thp:
                stack.enter_context(huge_pages(settings.thp))
            for stream, end in (("stdout", "out"), ("stderr", "err")):
                path = self._scratch / f"{name}.{end}"
                how[stream] = stack.enter_context(path.open("wb"))
            began = time.monotonic()
            try:
                process = start(policy, command, cpus, **how)
            except subprocess.SubprocessError:
                raise ProgramError(
                    Cause.PROGRAM, "it does not start: it cannot enter its cgroup"
                ) from None
            except OSError as error:
                why = error.strerror or str(error)
                where = shown(error.filename or command[0])
                raise ProgramError(Cause.PROGRAM, f"it does not start: {where}: {why}") from None
        self._processes[name] = process
        return process, began

    def _watch(self, give_up_at: float) -> None:
        """Wait until the program or its client ends, and look at the pages meanwhile."""
        gap, look_at = _FIRST_LOOK_S, time.monotonic() + _FIRST_LOOK_S
        with _ends_of(self._processes.values()) as ends:
            while True:
                now = time.monotonic()
                until = min(look_at, give_up_at, now + _LONGEST_GAP_S)
                if ends.poll(max(0.0, until - now) * 1e3):
                    return
                now = time.monotonic()
                if now >= self._kill_at:
                    self._signal(signal.SIGKILL)
                elif now >= give_up_at:
                    limit = self._spec.timeout_s
                    raise ProgramError(Cause.TIMEOUT, f"it had not ended after {limit:g} s")
                elif now >= look_at:
                    self._look()
                    took = time.monotonic() - now
                    gap = min(2 * gap, _LONGEST_GAP_S)
                    look_at = time.monotonic() + max(gap, _LOOKING * took)

    def _look(self) -> None:
        pids = _tree(self._processes["program"].pid)
        threads = sum(len([*Path(f"/proc/{pid}/task").glob("*")]) for pid in pids)
        self._threads = max(threads, self._threads)
        found = own_memory(pids)
        # Tiering moves pages all the time: what it came to is what counts.
        enough = _NEARLY if self._tier else 1.0
        if sum(found.values()) > enough * sum(self._most.values()):
            self._most = found

    def _check(self, waited: "subprocess.Popen[bytes]") -> None:
        """Raise ProgramError where what ended should not have, or failed."""
        program = self._processes["program"]
        if waited is not program and program.poll() is not None:
            raise self._failed("program", "it ended before its client")
        name = "program" if waited is program else "client"
        status = waited.wait()
        who = "it" if name == "program" else "its client"
        if status < 0:
            raise self._failed(name, f"{who} was ended by {signal.Signals(-status).name}")
        if status > 0:
            raise self._failed(name, f"{who} exited with status {status}")

    def _failed(self, name: str, how: str) -> ProgramError:
        lines = [line.strip() for line in self._text(name, "err").splitlines() if line.strip()]
        said = " | ".join(lines[-_TAIL:])[-_TAIL_LENGTH:]
        return ProgramError(Cause.PROGRAM, f"{how}: {said}" if said else how)

    def _end(self, program: "subprocess.Popen[bytes]") -> None:
        """Let a program whose client is done leave in order."""
        program.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(_GRACE_S)

    def _signal(self, number: int) -> None:
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)

    def _text(self, name: str, end: str) -> str:
        path = self._scratch / f"{name}.{end}"
        return path.read_text(errors="replace") if path.exists() else ""


def _tree(pid: int) -> list[int]:
    """Return a process and all that descends from it.

    As each thread's list of children says, since reading of all processes of the machine takes far
    longer; kernels without CONFIG_PROC_CHILDREN have no such lists.
    """
    found = [pid]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it has ended
                found += map(int, path.read_text().split())
    return found if Path("/proc/thread-self/children").exists() else process_tree(pid)


@contextlib.contextmanager
def _ends_of(processes: "Sequence[subprocess.Popen[bytes]] | Any") -> Iterator[select.poll]:
    """Give what polls readable once one of the processes ends."""
    with contextlib.ExitStack() as stack:
        found = select.poll()
        for process in processes:
            descriptor = os.pidfd_open(process.pid)
            stack.callback(os.close, descriptor)
            found.register(descriptor, select.POLLIN)
        yield found
