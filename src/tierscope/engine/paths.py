"""What a path is, as a child of ours finds out: tierscope itself never touches a target.

A file system that does not answer holds every process that asks it for anything, so the child has a
deadline, and is left behind where it waits in the kernel.
"""

import subprocess
from typing import TypeVar

from pydantic import ValidationError

from tierscope.engine.abandon import end_or_abandon
from tierscope.engine.find import VARIABLE, find_engine
from tierscope.engine.query import ending, last_line
from tierscope.model.base import Model
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.storage import PathFacts

DEADLINE_S = 5.0
"""Time that a path gets to answer."""


class PathError(UserError):
    """A path cannot be looked at; str() says why, in one line."""


class PathSilentError(PathError):
    """A path does not answer."""


def path_facts(path: str, deadline_s: float | None = None) -> PathFacts:
    """Look at a path, for ``DEADLINE_S`` at most unless told otherwise; raises as ``ask_of``."""
    return ask_of(path, "path", PathFacts, deadline_s or DEADLINE_S)


Answer = TypeVar("Answer", bound=Model)


def ask_of(path: str, command: str, answer: type[Answer], deadline_s: float) -> Answer:
    """Return what a command of the engine answers about a path.

    Raises PathError where it has none, PathSilentError where the path does not answer, and
    UserError where there is no engine to ask.
    """
    engine = find_engine()
    try:
        process = subprocess.Popen(
            [engine, command, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise UserError(f"{engine} does not start: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise PathError(f"{path!r} is no path: {error}") from None
    try:
        output, said = process.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        raise _silent(path, deadline_s, end_or_abandon(process)) from None
    except BaseException:
        end_or_abandon(process)
        raise
    if process.returncode != 0:
        why = last_line(said).removeprefix("tierscope-engine: ")
        raise PathError(why or f"{path}: the engine ended with {ending(process.returncode)}")
    try:
        return answer.model_validate_json(output)
    except ValidationError:
        raise UserError(
            f"'{engine} {command}' does not answer like an engine of this tierscope; rebuild it "
            f"with 'make build' or check {VARIABLE}"
        ) from None


def _silent(path: str, deadline_s: float, waits: str) -> PathSilentError:
    where = f": {waits}" if waits else ""
    return PathSilentError(
        f"{path} does not answer in {deadline_s:g} s{where}; "
        "its file system or drive hangs: see `dmesg`, or name another path",
        ExitCode.NOTHING_MEASURED,
    )


_kept: dict[str, PathFacts | PathError] = {}
"""What each path said when it was looked at first."""


def known_path(path: str) -> PathFacts:
    """Return what ``path_facts`` said of a path the first time, so that a dead one is asked once.

    What changes (sizes, space) may be out of date. Raises as ``path_facts`` does.
    """
    if path not in _kept:
        try:
            _kept[path] = path_facts(path)
        except PathError as error:
            _kept[path] = error
    found = _kept[path]
    if isinstance(found, PathError):
        raise found
    return found


def forget_path(path: str) -> None:
    """Look at a path anew next time: it may have died since."""
    _kept.pop(path, None)
