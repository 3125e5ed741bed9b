"""The engine as a process: find it, start it, ask it, read its events."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.capability import Capabilities
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, EventAdapter

if TYPE_CHECKING:
    import subprocess

_PATIENCE_S = 1.0
"""Time that the kernel gets to take a killed process away."""
VARIABLE = "TIERSCOPE_ENGINE"
_IN_PACKAGE = Path("_bin") / "tierscope-engine"
HOST = "TIERSCOPE_HOST"
"""Variable by which engines of a fleet's host keep a list of its files of its own."""
_TIMEOUT_S = 60
REFUSED = 2
"""Exit status of an engine that refuses a plan."""
_LONGEST_LINE = 1 << 30
_EXIT_S = 5.0
"""Time that an engine gets to exit after its input was closed."""
_POLL_S = 1.0
"""A signal may bring the deadline forward; it is looked at this often."""


def answer_of(
    command: Sequence[str | Path],
    timeout_s: float,
    text: str | None = None,
    inherited: Sequence[int] = (),
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end; ``text`` is its standard input, ``inherited`` what is open in it.

    Raises UserError where it does not start, or is still running after ``timeout_s``.
    """
    try:
        return subprocess.run(
            command,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
            pass_fds=inherited,
        )
    except OSError as error:
        raise UserError(f"{command[0]} does not start: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        words = " ".join(map(str, command))
        raise UserError(
            f"'{words}' did not answer in {timeout_s:g} s", ExitCode.NOTHING_MEASURED
        ) from None


def end_or_abandon(process: "subprocess.Popen[Any]", patience_s: float = _PATIENCE_S) -> str:
    """Kill a process; return "" once it is gone, else what it waits for.

    One that waits in the kernel for what does not come (a dead NFS server, a drive that is gone)
    ignores even SIGKILL. It is left behind, and reaped should it ever end.
    """
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)
        return ""
    threading.Thread(target=process.wait, daemon=True).start()
    return waiting(process.pid)


def waiting(pid: int) -> str:
    """Say what a process waits for in the kernel, as far as this user may see it."""
    place = ""
    with contextlib.suppress(OSError):
        for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(OSError):  # it ended meanwhile
                state = (thread / "stat").read_text().rpartition(") ")[2][:1]
                if state == "D":  # the others died when the process was killed
                    place = place or _place(thread)
    return f"process {pid} waits in the kernel" + (f" ({place})" if place else "")


def _place(thread: Path) -> str:
    with contextlib.suppress(OSError):
        # Innermost first: "[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]"; for root only.
        frame = re.match(r"\[<\w+>\] ([\w.]+)", (thread / "stack").read_text())
        if frame:
            return frame[1]
    with contextlib.suppress(OSError):
        return (thread / "wchan").read_text().strip("0")
    return ""


def find_engine() -> Path:
    """Return the engine named by TIERSCOPE_ENGINE, else the one installed with this package.

    Raises UserError where there is none that can be executed.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not _is_executable(Path(named)):
            raise UserError(
                f"{VARIABLE} names '{named}', which is not an executable file; "
                "correct it or unset it to use the installed engine"
            )
        return Path(named)
    for candidate in _candidates():
        if _is_executable(candidate):
            return candidate
    raise UserError(
        "tierscope-engine is not installed with this tierscope; build it with 'make build', "
        f"install the wheel again, or name one in {VARIABLE}"
    )


def engine_environment() -> dict[str, str]:
    """Return the environment of engines: ours, and where a libcufile is that came as a Python
    package, which they open where the system has none.
    """
    folder = packaged("nvidia/cu13/lib/libcufile.so.0")
    return {**os.environ, "TIERSCOPE_CUFILE_PACKAGE": str(folder)} if folder else dict(os.environ)


def packaged(*libraries: str) -> Path | None:
    """Return the folder of the first of these libraries that came as a Python package, each named
    by its path below ``site-packages``."""
    files = (Path(entry, library) for library in libraries for entry in sys.path)
    return next((file.parent for file in files if file.is_file()), None)


def _candidates() -> Iterator[Path]:
    yield Path(__file__).parents[1] / _IN_PACKAGE
    # An editable install reads the modules from src/ but leaves the engine in site-packages.
    for entry in sys.path:
        yield Path(entry) / "tierscope" / _IN_PACKAGE


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def capabilities() -> Capabilities:
    """Return what the engine can measure here and, for what it cannot, why.

    Raises UserError where the engine is missing, dies or speaks another version of the protocol.
    """
    output = _ask("capabilities").stdout
    try:
        found = Capabilities.model_validate_json(output)
    except ValidationError as error:
        raise UserError(
            f"{find_engine()} does not answer like an engine of this tierscope "
            f"({_first_error(error)}); rebuild it with 'make build' or check {VARIABLE}"
        ) from None
    if found.plan_version != PLAN_VERSION:
        raise UserError(
            f"{find_engine()} reads plans of version {found.plan_version}, this tierscope writes "
            f"version {PLAN_VERSION}; rebuild it with 'make build' or check {VARIABLE}"
        )
    return found


def topology_xml() -> str:
    """Return this machine's topology as hwloc XML; raises UserError where the engine cannot."""
    text = _ask("topology").stdout
    if not text.lstrip().startswith("<"):
        raise UserError(
            f"'{find_engine()} topology' wrote no XML; rebuild it with 'make build' or check "
            f"{VARIABLE}"
        )
    return text


def check(plan: Plan) -> str | None:
    """Return None where the engine accepts the plan, else its one line of refusal."""
    answer = _call("check", plan.model_dump_json())
    if answer.returncode == 0:
        return None
    if answer.returncode == REFUSED:
        return last_line(answer.stderr)
    raise _died("check", answer)


def last_line(text: str) -> str:
    """Return the last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _ask(command: str) -> "subprocess.CompletedProcess[str]":
    answer = _call(command, None)
    if answer.returncode != 0:
        raise _died(command, answer)
    return answer


def _call(command: str, text: str | None) -> "subprocess.CompletedProcess[str]":
    return answer_of([find_engine(), command], _TIMEOUT_S, text)


def _died(command: str, answer: "subprocess.CompletedProcess[str]") -> UserError:
    said = last_line(answer.stderr) or "it said nothing"
    return UserError(
        f"'{find_engine()} {command}' ended with {ending(answer.returncode)}: {said}",
        ExitCode.NOTHING_MEASURED,
    )


def ending(returncode: int) -> str:
    """Name how a process ended: ``exit status 3`` or ``signal SIGSEGV``."""
    import signal

    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"signal {signal.Signals(-returncode).name}"
    except ValueError:
        return f"signal {-returncode}"


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


class BrokenError(Exception):
    """The engine process is of no more use; str() says why."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


class EngineProcess:
    """A running ``tierscope-engine repetitions``."""

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
                [engine, "repetitions"],
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

    def repetition(self, name: str, seconds: float, fresh: bool) -> None:
        """Ask for a repetition; its events come from ``events``."""
        order = {"repetition": name, "seconds": seconds, "fresh": fresh}
        self._send(json.dumps(order).encode() + b"\n")

    def answer(self, message: dict[str, Any]) -> None:
        """Send what it waits for in the middle of a repetition, after an ``Exchange``."""
        self._send(json.dumps(message).encode() + b"\n")

    def events(self) -> Iterator[Event]:
        """Yield events as they come, for as long as its output is open.

        Raises BrokenError where it writes what is not an event, or nothing until ``give_up_at``.
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
