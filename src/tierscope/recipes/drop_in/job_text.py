"""The text of a job file."""

from pathlib import Path
from typing import BinaryIO

from tierscope.model.errors import UserError

MAX_BYTES = 1 << 20
"""More than any job file needs; a wrong file is often a large one."""


def read_job_text(name: str) -> str:
    """Read a job file; UserError names the file, and the line that is no text."""
    try:
        with Path(name).open("rb") as file:
            return job_text(file, name)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(f"job file '{name}' cannot be read: {why}") from None


def job_text(file: BinaryIO, name: str) -> str:
    """Read an open job file; ``name`` is what errors call it."""
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UserError(f"'{name}' is larger than 1 MiB; a job file is a short text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{name}:{line}: not text in UTF-8, so not a job file") from None
