"""Crash tests of persistent memory: writers that are killed, and the replay of their files."""

import os
import random
import re
import secrets
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple, NoReturn, TypeVar

from pydantic import ValidationError

from tierscope.engine.process import VARIABLE, answer_of, ending, find_engine, last_line
from tierscope.model.base import Model
from tierscope.model.errors import UserError
from tierscope.model.pmem_check import (
    BROKEN,
    CrashCheck,
    ReplayedWriter,
    ReplayedWriters,
    Survivor,
    Writer,
    verdict_of,
)

_PREFIX = "tierscope-pmem-check"
FILE_BYTES = 8 << 20
"""The least that libpmemobj makes a pool of."""
LIBRARY = "libpmemobj.so.1"
_COMMAND = "pmem-check"
_ANSWER_S = 60
_PACE_S = 0.3
"""Time to find out how long one update takes."""
_SHORTEST_S = 0.02
_UPDATES = 10
"""A writer is killed within the time of so many updates, or _SHORTEST_S if that is longer."""
_TAIL = 48
"""Bytes that have the last whole line of numbers."""
Answer = TypeVar("Answer", bound=Model)


def make_file(writer: Writer, directory: str) -> str:
    """Make a file of a new name that outlives a power cut; return its path. Raises UserError."""
    path = Path(directory) / f"{_PREFIX}.{writer}.{secrets.token_hex(8)}"
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UserError(f"{path} cannot be made: {error.strerror}") from None
    try:
        os.posix_fallocate(number, 0, FILE_BYTES)
        os.fsync(number)
        _sync_directory(directory)
    except OSError as error:
        path.unlink()
        raise UserError(f"{path} cannot be made: {error.strerror}") from None
    finally:
        os.close(number)
    return str(path)


def look_at(writer: Writer, directory: str, acknowledged: int) -> CrashCheck:
    """Look at the writer's file after the cut, and remove it where it is consistent.

    Raises UserError where several files could be meant.
    """
    found = _files(writer, directory)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise UserError(f"{directory} has several files of this writer: {names}; move all but one")
    problem, reason = f"the file of writer '{writer}' is not in {directory}", ""
    if found:
        problem = problem_of(look(writer, str(found[0])), acknowledged)
        if problem:
            reason = f"{found[0]} is kept to be looked at"
        else:
            found[0].unlink()
    return CrashCheck(
        method="power-cut",
        writer=writer,
        broken=writer in BROKEN,
        tried=1,
        inconsistent=1 if problem else 0,
        first=problem,
        generations=acknowledged,
        verdict=verdict_of(writer, 1 if problem else 0),
        reason=reason,
    )


def _files(writer: Writer, directory: str) -> list[Path]:
    """Files of this writer that a user has whose names only ``make_file`` gives."""
    pattern = re.compile(rf"{_PREFIX}\.{writer}\.[0-9a-f]{{16}}")
    return [
        path
        for path in Path(directory).iterdir()
        if pattern.fullmatch(path.name)
        and path.is_file()
        and not path.is_symlink()
        and path.stat().st_uid == os.geteuid()
        and path.stat().st_nlink == 1
    ]


def _sync_directory(directory: str) -> None:
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class WriterError(Exception):
    """A writer ended by itself; str() says why."""


class Written(NamedTuple):
    """Output of a writer until it was killed."""

    generation: int
    """The last one that it acknowledged."""
    seconds: float


def replayed(states: int, seed: int) -> list[CrashCheck]:
    """Replay the recorded writers with unflushed lines dropped; ``states`` a crash point."""
    answer = answer_of([find_engine(), _COMMAND, "replay", str(states), str(seed)], _ANSWER_S * 10)
    return [_of_states(found) for found in _parsed("replay", answer, ReplayedWriters).checks]


def killed(writer: Writer, directory: str, kills: int, seed: int) -> CrashCheck:
    """Kill a writer at random moments, each on a file of its own, and look at what is left.

    Raises WriterError where it ends by itself, UserError where no file can be made.
    """
    moments = random.Random(f"{seed} {writer}")  # noqa: S311 - moments, no secrets
    longest: float | None = None
    generations, problems = 0, []
    for _ in range(kills):
        with _unnamed(directory) as file:
            if longest is None:
                pace = _written_until(writer, file, _PACE_S)
                longest = max(_SHORTEST_S, _UPDATES * pace.seconds / max(1, pace.generation))
                file.truncate(0)
                _allocate(file, directory)
            written = _written_until(writer, file, moments.uniform(0, longest))
            found = look(writer, f"/proc/self/fd/{file.fileno()}", [file.fileno()])
        generations += written.generation
        if problem := problem_of(found, written.generation):
            problems.append(problem)
    return CrashCheck(
        method="kill",
        writer=writer,
        broken=verdict_of(writer, 0) == "not caught",
        tried=kills,
        inconsistent=len(problems),
        first=problems[0] if problems else "",
        generations=generations,
        verdict=verdict_of(writer, len(problems)),
    )


def look(writer: Writer, path: str, inherited: Sequence[int] = ()) -> Survivor:
    """Look at what a writer left in a file, which recovers a pool. Raises UserError."""
    command = [str(find_engine()), _COMMAND, "look", writer, path]
    answer = answer_of(command, _ANSWER_S, inherited=inherited)
    return _parsed("look", answer, Survivor)


def problem_of(found: Survivor, acknowledged: int) -> str:
    """Say what is wrong with what was left; empty where nothing is."""
    if found.problem or found.generation >= acknowledged:
        return found.problem
    return f"generation {acknowledged} was acknowledged, and {found.generation} is there"


def become_writer(writer: Writer, path: str) -> NoReturn:
    """Become a writer of a file, which prints what it acknowledges until it is cut off."""
    engine = str(find_engine())
    os.execv(engine, [engine, _COMMAND, "write", writer, path])  # noqa: S606 - our own engine


def last_acknowledged(said: bytes) -> int:
    """Return the last number that a writer printed; a line that was cut is none."""
    return int(said.rpartition(b"\n")[0].rpartition(b"\n")[2])


def _of_states(found: ReplayedWriter) -> CrashCheck:
    return CrashCheck(
        method="replay",
        writer=found.writer,
        broken=verdict_of(found.writer, 0) == "not caught",
        tried=found.states,
        inconsistent=found.inconsistent,
        first=found.first,
        crash_points=found.crash_points,
        sampled=found.sampled,
        verdict=verdict_of(found.writer, found.inconsistent),
    )


def _unnamed(directory: str) -> IO[bytes]:
    try:
        file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise UserError(f"no file can be made in {directory}: {error.strerror}") from None
    _allocate(file, directory)
    return file


def _allocate(file: IO[bytes], directory: str) -> None:
    try:
        os.posix_fallocate(file.fileno(), 0, FILE_BYTES)
    except OSError as error:
        file.close()
        raise UserError(
            f"{directory} has no room for {FILE_BYTES >> 20} MiB: {error.strerror}"
        ) from None


def _written_until(writer: Writer, file: IO[bytes], seconds: float) -> Written:
    """Have a writer write a file and kill it so long after it began."""
    number = file.fileno()
    process = subprocess.Popen(
        [find_engine(), _COMMAND, "write", writer, f"/proc/self/fd/{number}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[number],
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stdout as output:
        try:
            said = os.read(output.fileno(), 1 << 16)  # the writer has begun, or ended
            start = time.monotonic()
            ended = not said
            # What it says is read meanwhile, so that it never waits for us.
            while not ended and (left := start + seconds - time.monotonic()) > 0:
                if select.select([output], [], [], left)[0]:
                    more = os.read(output.fileno(), 1 << 16)
                    ended = not more
                    said = said[-_TAIL:] + more
        finally:
            process.kill()
        said = said[-_TAIL:] + output.read()
        if ended:
            why = last_line(process.stderr.read().decode(errors="replace"))
            raise WriterError(why.removeprefix("tierscope-engine: ") or ending(process.wait()))
    return Written(last_acknowledged(said), seconds)


def _parsed(what: str, answer: "subprocess.CompletedProcess[str]", kind: type[Answer]) -> Answer:
    if answer.returncode != 0:
        why = last_line(answer.stderr).removeprefix("tierscope-engine: ")
        raise UserError(why or f"'pmem-check {what}' ended with {ending(answer.returncode)}")
    try:
        return kind.model_validate_json(answer.stdout)
    except ValidationError:
        raise UserError(
            f"'{find_engine()} {_COMMAND} {what}' does not answer like an engine of this "
            f"tierscope; rebuild it with 'make build' or check {VARIABLE}"
        ) from None
