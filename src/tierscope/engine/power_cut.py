"""Files of writers that are cut off together with their machine, looked at after its next boot."""

import os
import re
import secrets
from pathlib import Path

from tierscope.engine.pmem_check import FILE_BYTES, look, problem_of
from tierscope.model.errors import UserError
from tierscope.model.pmem_check import BROKEN, CrashCheck, Writer, verdict_of

_PREFIX = "tierscope-pmem-check"


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
