"""Kept runs and their tags.

Tags of NAME.jsonl stand in NAME.tags beside it, one a line, so that a run that ended is never
written to again and tags move with it.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tierscope.model.base import Model
from tierscope.model.errors import UserError, shown
from tierscope.model.given_file import open_given
from tierscope.model.run import Footer, Header
from tierscope.runs.output import replace_file
from tierscope.runs.read import is_later, record_of
from tierscope.runs.store import BOM, LINE_BYTES, SUFFIX, TAGS_SUFFIX, runs_directory, tags_of

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_TAIL = 4096
"""Bytes at a file's end in which its footer stands, if it has one."""


class Entry(Model):
    """One kept run, as its file's two ends tell."""

    name: str
    path: str
    tags: list[str]
    host: str = ""
    cpu: str = ""
    started: str = ""
    emulated: bool = False
    imported: str = ""
    """The program that measured it; empty where tierscope did."""
    planned: int = 0
    measured: int | None = None
    """None where the run was cut, so that only reading all of it would tell."""
    state: Literal["complete", "interrupted", "cut", "unreadable"]


def entries(directory: Path | None = None) -> list[Entry]:
    """Return the runs of a directory, by default the user's, oldest first."""
    return sorted(map(_entry, run_files(directory)), key=lambda entry: (entry.started, entry.name))


def run_files(directory: Path | None = None) -> list[Path]:
    """Return the run files of a directory, by default the user's, by name; raises UserError."""
    folder = directory or runs_directory()
    if directory is not None and not os.path.isdir(folder):  # noqa: PTH112 - of any length
        raise UserError(f"--in: '{folder}' is not a directory")
    if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):  # noqa: PTH112
        raise UserError(f"the directory '{folder}' cannot be read; name another one with --in")
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file())


def _entry(path: Path) -> Entry:
    try:
        with open_given(path) as file:
            header = record_of(file.readline(LINE_BYTES).removeprefix(BOM))
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            tail = file.read().rstrip().split(b"\n")
    except OSError:
        header = None
        tail = []
    tags = tags_of(path)
    if not isinstance(header, Header):
        return Entry(name=shown(path.stem), path=shown(path), tags=tags, state="unreadable")
    footer = _footer(tail)
    return Entry(
        name=shown(path.stem),
        path=shown(path),
        tags=tags,
        host=header.host,
        cpu=str(header.machine.get("cpu", "")),
        started=header.started,
        emulated=header.emulated,
        imported=header.imported.program if header.imported else "",
        planned=max(len(header.plan.get("measurements", [])), _total(footer)),
        measured=footer.measured if footer else None,
        state="cut" if footer is None else "interrupted" if footer.interrupted else "complete",
    )


def _total(footer: Footer | None) -> int:
    """Return how many measurements a run came to, those included that were planned later."""
    return footer.measured + footer.skipped + footer.failed if footer else 0


def _footer(tail: list[bytes]) -> Footer | None:
    """Return the footer where the last record is one, records of later versions aside."""
    for line in reversed(tail):
        record = record_of(line)
        if record is not None or not is_later(line):
            return record if isinstance(record, Footer) else None
    return None


def set_tags(path: Path, add: list[str], remove: list[str]) -> list[str]:
    """Give a run tags and take tags from it; return those that it has then."""
    for tag in add:
        if not _TAG.fullmatch(tag) or tag == "last":
            raise UserError(
                f"tag '{tag}': letters, digits, '.', '-' and '_' only, at most 40, and not 'last'"
            )
    if not add and not remove:
        return tags_of(path)
    known = tags_of(path)
    for tag in remove:
        if tag not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise UserError(f"run '{path.stem}' has no tag '{tag}'; {has}")
    file = path.with_suffix(TAGS_SUFFIX)
    try:
        with _locked(file):
            tags = [tag for tag in dict.fromkeys([*tags_of(path), *add]) if tag not in remove]
            if tags:
                replace_file(file, "".join(f"{tag}\n" for tag in tags).encode())
            else:
                file.unlink()
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}") from None
    return tags


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Keep other processes from changing a file of tags meanwhile; it is made where there is none.

    Who waited for the lock has that of a file whose place another one took, and tries again.
    """
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if file.exists() and os.path.samestat(os.fstat(descriptor), file.stat()):
                yield
                return
        finally:
            os.close(descriptor)
