"""Run a plan through the engine, whatever happens to the engine.

A crash, a hang or a line that is not an event costs the measurement that was under way: it is
reported as failed, and the engine is started again with the measurements after it.
"""

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from types import FrameType

from pydantic import ValidationError

from tierscope.engine.find import find_engine
from tierscope.engine.query import ending, last_line
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import (
    Event,
    EventAdapter,
    Failed,
    Finished,
    Progress,
    Result,
    Skipped,
    Started,
)

_REFUSED = 2
_LONGEST_LINE = 256 << 20
_START_S = 60.0
"""Longest silence before the first event and between measurements."""
_INTERRUPT_S = 10.0
"""Time that an interrupted engine gets, beside one sample, before it is killed."""
_SLOWEST_BYTES_PER_S = 4e6
"""A tier slower than this is taken for a hang; emulated CXL memory moves 5 to 10 MB/s."""
_BUDGETS = 10
_EXIT_S = 5.0
"""Time that an engine gets to exit after its last event."""


class _BrokenError(Exception):
    """The engine process is of no more use; str() says why."""


@dataclass
class _Session:
    """One plan on its way through one or more engine processes."""

    pending: list[Spec]
    """Measurements without an outcome yet, in order."""
    current: Spec | None = None
    """The first of them, once the engine has started it."""
    interrupted: bool = False
    process: "subprocess.Popen[bytes] | None" = None
    give_up_at: float = float("inf")
    """When silence becomes a hang, by time.monotonic()."""
    said: Callable[[], str] = field(default=lambda: "")


def stream(plan: Plan) -> Generator[Event, None, None]:
    """Run a plan and yield its events; the last is always ``Finished``, unless it raises.

    SIGINT and SIGTERM let the engine end its sample, so that what was measured is kept; a second
    one kills it. Closing the iterator kills the engine. Raises UserError where the engine is
    missing, refuses the plan, or dies twice in a row before it starts a measurement.
    """
    session = _Session(pending=list(plan.measurements))
    stillborn = 0
    with _signals_to(session):
        while session.pending and not session.interrupted:
            before = len(session.pending)
            try:
                yield from _run_engine(session)
                break
            except _BrokenError as broken:
                if session.interrupted:
                    break
                if session.current is None:
                    stillborn = stillborn + 1 if len(session.pending) == before else 0
                    if stillborn == 2:
                        raise UserError(
                            f"the engine died twice without starting a measurement: {broken}",
                            ExitCode.NOTHING_MEASURED
                            if before == len(plan.measurements)
                            else ExitCode.SOMETHING_FAILED,
                        ) from None
                    continue
                stillborn = 0
                failed = Failed(id=session.current.id, reason=str(broken))
                _settle(session, failed)
                yield failed
        yield Finished(interrupted=session.interrupted)


def _run_engine(session: _Session) -> Iterator[Event]:
    """Yield one engine process's events, less ``Finished``; raises _BrokenError where it breaks."""
    plan = Plan(version=PLAN_VERSION, measurements=session.pending)
    engine = find_engine()
    with _memory_file(plan.model_dump_json().encode()) as stdin, _memory_file(b"") as stderr:
        try:
            process = subprocess.Popen(
                [engine, "run"],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                process_group=0,  # Ctrl-C reaches it through us only, and once
            )
        except OSError as error:
            raise UserError(f"{engine} does not start: {error.strerror}") from None
        session.process = process
        session.said = lambda: _read_all(stderr)
        if session.interrupted:  # before there was a process to tell
            process.send_signal(signal.SIGINT)
        try:
            yield from _events(session, process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_EXIT_S)
        finally:
            session.process = None
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _events(session: _Session, process: "subprocess.Popen[bytes]") -> Iterator[Event]:
    session.give_up_at = time.monotonic() + _START_S
    for line in _lines(session, process):
        event = _parse(line)
        if isinstance(event, Finished):
            session.interrupted = session.interrupted or event.interrupted
            if session.pending and not session.interrupted:
                raise _BrokenError("the engine finished without measuring it")
            return
        _settle(session, event)
        if isinstance(event, Started):
            session.give_up_at = time.monotonic() + _longest(session.pending[0])
        elif not isinstance(event, Progress):
            session.give_up_at = time.monotonic() + _START_S
        yield event
    _explain_end(session, process.wait())


def _explain_end(session: _Session, returncode: int) -> None:
    """Raise for an engine that ended without a ``finished`` event."""
    said = last_line(session.said())
    if session.interrupted:
        return
    if returncode == _REFUSED and session.current is None:
        raise UserError(f"the engine refuses the plan: {said}")
    how = ending(returncode)
    if returncode == -signal.SIGKILL:
        how += ", perhaps by the kernel for want of memory (dmesg says so if it did)"
    raise _BrokenError(f"the engine ended with {how}{': ' if said else ''}{said}")


def _settle(session: _Session, event: Event) -> None:
    """Check that an event is about the measurement that is due, and take note of it."""
    assert not isinstance(event, Finished)
    if not session.pending or event.id != session.pending[0].id:
        raise _BrokenError(f"the engine spoke of '{event.id}' out of turn")
    if isinstance(event, Started):
        session.current = session.pending[0]
    elif isinstance(event, Result | Skipped | Failed):
        session.pending.pop(0)
        session.current = None


def _parse(line: bytes) -> Event:
    try:
        return EventAdapter.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        shown = line[:60].decode("utf-8", "replace")
        raise _BrokenError(
            f"the engine wrote a line that is not an event ({where + ': ' if where else ''}"
            f"{first['msg']}): {shown!r}"
        ) from None


def _lines(session: _Session, process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Yield complete lines until the engine closes its output or stays silent past a deadline."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    parts: list[bytes] = []
    length = 0
    while True:
        if time.monotonic() > session.give_up_at:
            raise _BrokenError("the engine took far longer than its budget and was killed")
        # Wakes up each second, since a signal may have brought the deadline forward.
        ready, _, _ = select.select([descriptor], [], [], 1.0)
        if not ready:
            continue
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            return
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            yield b"".join([*parts, line])
            parts, length = [], 0
        parts.append(rest)
        length += len(rest)
        if length > _LONGEST_LINE:
            raise _BrokenError("the engine wrote a line without end")


def _longest(spec: Spec) -> float:
    """Return seconds after which a measurement without an outcome is taken to hang."""
    set_up = 3 * MeasurementSpec.host_bytes(spec) / _SLOWEST_BYTES_PER_S  # populate, write, verify
    return _START_S + set_up + _BUDGETS * spec.sampling.budget_s


@contextlib.contextmanager
def _signals_to(session: _Session) -> Iterator[None]:
    """Hand SIGINT and SIGTERM to the engine instead of raising in the middle of a record."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        process = session.process
        if process is not None:
            process.send_signal(signal.SIGKILL if session.interrupted else signal.SIGINT)
        session.interrupted = True
        grace = _INTERRUPT_S + (session.pending[0].sampling.sample_s if session.pending else 0)
        session.give_up_at = min(session.give_up_at, time.monotonic() + grace)

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _memory_file(content: bytes) -> Iterator[int]:
    """Hold bytes in a file without a disk, so that no pipe can fill up and no disk can be full."""
    descriptor = os.memfd_create("tierscope")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, min(size, 1 << 16), max(0, size - (1 << 16))).decode(
        "utf-8", "replace"
    )
