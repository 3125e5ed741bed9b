"""One engine process: lines to its standard input, events from its standard output."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tierscope.engine.abandon import end_or_abandon
from tierscope.engine.find import engine_environment, find_engine
from tierscope.engine.query import ending, last_line
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import Event, EventAdapter

REFUSED = 2
"""Exit status of an engine that refuses a plan."""
_LONGEST_LINE = 1 << 30
_EXIT_S = 5.0
"""Time that an engine gets to exit after its input was closed."""
_POLL_S = 1.0
"""A signal may bring the deadline forward; it is looked at this often."""


class BrokenError(Exception):
    """The engine process is of no more use; str() says why."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


class EngineProcess:
    """A running ``tierscope-engine visits``."""

    def __init__(
        self, named: Path | None = None, environment: dict[str, str] | None = None
    ) -> None:
        """Start it, or the engine that is named, in an environment other than ours if one is given.

        Raises UserError where there is none or it does not start.
        """
        self.give_up_at = float("inf")
        """When silence becomes a hang, by time.monotonic()."""
        self.spoke = False
        """It wrote an event."""
        self._left_behind = False
        """It was killed and waits in the kernel all the same."""
        engine = named or find_engine()
        self._stderr = os.memfd_create("tierscope")  # no pipe that fills up, no disk that is full
        try:
            self._process = subprocess.Popen(
                [engine, "visits"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=environment or engine_environment(),
                start_new_session=True,  # Ctrl-C reaches it through us only, and once
            )
        except OSError as error:
            os.close(self._stderr)
            raise UserError(f"{engine} does not start: {error.strerror}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._events = self._read()

    def plan(self, specs: Sequence[Spec]) -> None:
        """Add measurements, at least one."""
        plan = Plan(version=PLAN_VERSION, measurements=list(specs))
        self._send(b'{"plan":' + plan.model_dump_json().encode() + b"}\n")

    def visit(self, name: str, seconds: float, fresh: bool) -> None:
        """Ask for a visit; its events come from ``events``."""
        order = {"visit": name, "seconds": seconds, "fresh": fresh}
        self._send(json.dumps(order).encode() + b"\n")

    def answer(self, message: dict[str, Any]) -> None:
        """Send what it waits for in the middle of a visit, after an ``Exchange``."""
        self._send(json.dumps(message).encode() + b"\n")

    def events(self) -> Iterator[Event]:
        """Yield events as they come, for as long as its output is open.

        Raises BrokenError where it writes what is no event, or nothing until ``give_up_at``.
        """
        return self._events

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def ending(self) -> tuple[int, str]:
        """Return the exit status of a process that closed its output, and how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_S)
        if self._process.poll() is None:
            return 0, "the engine closed its output"
        code = self._process.returncode
        how = ending(code)
        if code == -signal.SIGKILL:
            how += ", perhaps by the kernel for want of memory (dmesg says so if it did)"
        said = self.said()
        return code, f"the engine ended with {how}{': ' if said else ''}{said}"

    def said(self) -> str:
        """Return the last line of its standard error."""
        size = os.fstat(self._stderr).st_size
        tail = os.pread(self._stderr, min(size, 1 << 16), max(0, size - (1 << 16)))
        return last_line(tail.decode("utf-8", "replace"))

    def close(self, kill: bool) -> None:
        """End it: by closing its input, so that it leaves in order, or at once.

        One that waits in the kernel is left behind.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        if not kill:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_EXIT_S)
        if not self._left_behind:
            end_or_abandon(process)
        process.stdout.close()
        os.close(self._stderr)

    def _end_overdue(self) -> str:
        """Kill it, and say how that went."""
        where = end_or_abandon(self._process)
        self._left_behind = bool(where)
        overdue = "the engine took far longer than its budget and was"
        if not where:
            return f"{overdue} killed"
        return f"{overdue} given up: {where} for a drive or a file system that does not answer"

    def _send(self, line: bytes) -> None:
        """Write a line; an engine that is gone is found out when its output is read."""
        left = memoryview(line)
        while left:
            if time.monotonic() > self.give_up_at:
                raise BrokenError(Cause.TIMEOUT, "the engine does not read its input")
            _, ready, _ = select.select([], [self._input], [], _POLL_S)
            try:
                left = left[os.write(self._input, left) :] if ready else left
            except BrokenPipeError:
                return

    def _read(self) -> Generator[Event, None, None]:
        parts: list[bytes] = []
        length = 0
        while True:
            if time.monotonic() > self.give_up_at:
                raise BrokenError(Cause.TIMEOUT, self._end_overdue())
            ready, _, _ = select.select([self._output], [], [], _POLL_S)
            if not ready:
                continue
            chunk = os.read(self._output, 1 << 20)
            if not chunk:
                return
            *complete, rest = chunk.split(b"\n")
            for line in complete:
                event = _parse(b"".join([*parts, line]))
                parts, length = [], 0
                self.spoke = True
                yield event
            parts.append(rest)
            length += len(rest)
            if length > _LONGEST_LINE:
                raise BrokenError(Cause.PROTOCOL, "the engine wrote a line without end")


def _parse(line: bytes) -> Event:
    try:
        return EventAdapter.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        shown = line[:60].decode("utf-8", "replace")
        raise BrokenError(
            Cause.PROTOCOL,
            f"the engine wrote a line that is not an event ({where + ': ' if where else ''}"
            f"{first['msg']}): {shown!r}",
        ) from None
