"""Write what commands are asked to write: the only place that creates or replaces users' files.

A file is replaced whole or not at all, so that a full disk costs nobody the file that was there.
Run files, their tags and what a command reads are never replaced. ``-`` is standard output.
"""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tierscope.model.errors import ExitCode, UserError
from tierscope.runs.store import SUFFIX, TAGS_SUFFIX, is_run_file

_STANDARD = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")
_unfinished: set[Path] = set()


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path] = ()) -> None:
    """Raise UserError, before anything is measured or read, where an output cannot be written.

    ``outputs`` are the files by the options that name them, ``inputs`` what the command reads.
    """
    reads = list(inputs)
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        same = Path("-") if is_stdout(path) else Path(os.path.realpath(path))
        if same in taken:
            raise UserError(f"{taken[same]} and {option} both write to '{path}'; name two files")
        taken[same] = option
        _check(path, option, reads)


def write_output(path: Path, content: str | bytes, option: str) -> None:
    """Write a file, or to a pipe or device; UserError names the option that asked for it."""
    _check(path, option)
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        if is_stdout(path):
            _print(data)
        elif _is_stream(path):
            _send(path, data)
        else:
            replace_file(path, data)
    except OSError as error:
        if is_stdout(path):
            raise  # as for anything else that is printed
        raise _refusal(
            path, option, error.strerror or str(error), ExitCode.COMMAND_FAILED
        ) from None


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of what is there, or of what a link there leads to.

    Owner and mode of a file that was there stay. Raises OSError, nothing changed, where it cannot.
    """
    with replacing(path) as beside, beside.open("xb") as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the name of a new file to write, which takes the place of ``path`` at the block's end.

    For what is too large to be held in memory; otherwise as ``replace_file``.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".tierscope-{os.urandom(6).hex()}.tmp")
    _unfinished.add(beside)
    try:
        yield beside
        with beside.open("rb+") as file:
            _take_over(file.fileno(), target)
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(beside)
    with contextlib.suppress(OSError):  # not every file system has this
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def discard_unfinished() -> None:
    """Remove files that a signal kept from taking their place."""
    for path in _unfinished:
        path.unlink(missing_ok=True)


def is_stdout(path: Path) -> bool:
    """Return whether a path means standard output."""
    return _descriptor(path) == 1


def _take_over(descriptor: int, target: Path) -> None:
    """Give a file the owner and mode of the one whose place it takes, if there is one."""
    if not target.exists():
        return
    status = target.stat()
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path names, if it names one."""
    found = _DESCRIPTOR.fullmatch(str(path))
    return int(found[1]) if found else _STANDARD.get(str(path))


def _is_stream(path: Path) -> bool:
    """Return whether a path is written to as it is: an open file, a pipe or a device."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file())


def _print(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _send(path: Path, data: bytes) -> None:
    number = _descriptor(path)
    opened = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if number is None else os.dup(number)
    with open(opened, "wb", buffering=0) as file:  # noqa: PTH123 - it is open
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]


def _check(path: Path, option: str, inputs: Iterable[Path] = ()) -> None:
    why = "" if _descriptor(path) is not None else _obstacle(path, inputs)
    if why:
        raise _refusal(path, option, why)


def _obstacle(path: Path, inputs: Iterable[Path]) -> str:
    """Return why a path must not be written to, or cannot be; empty where it may."""
    folder = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - bytes of any encoding
    try:
        status = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        if not os.path.isdir(folder):  # noqa: PTH112
            return "there is no such directory"
        return "" if os.access(folder, os.W_OK) else "its directory cannot be written to"
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISDIR(status.st_mode):
        return "it is a directory"
    if stat.S_ISBLK(status.st_mode):
        return "it is a block device"
    if not stat.S_ISREG(status.st_mode):
        return ""
    return _obstacle_of_file(path, inputs) or (
        "" if os.access(folder, os.W_OK) else "its directory cannot be written to"
    )


def _obstacle_of_file(path: Path, inputs: Iterable[Path]) -> str:
    """Return why a file that is there must not be replaced; empty where it may."""
    if any(os.path.exists(one) and os.path.samefile(one, path) for one in inputs):  # noqa: PTH110, PTH121
        return "this command reads it"
    if is_run_file(path):
        return "it is a run file, and those are never replaced"
    if path.suffix == TAGS_SUFFIX and os.path.exists(path.with_suffix(SUFFIX)):  # noqa: PTH110
        return "it holds the tags of a run"
    if not os.access(path, os.W_OK):
        return "it is read-only"
    return ""


def _refusal(path: Path, option: str, why: str, code: ExitCode | None = None) -> UserError:
    return UserError(f"{option}: '{path}' cannot be written: {why}; name another file", code)
