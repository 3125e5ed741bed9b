"""Write a run file so that whatever happens leaves it readable."""

import errno
import fcntl
import os
import time
from pathlib import Path

from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Footer, Header, Measurement, PlanRecord, RepetitionRecord
from tierscope.runs.checksum import sealed
from tierscope.runs.store import too_long

_SYNC_S = 1.0
"""Least seconds between two fsync calls: each record reaches the kernel at once, so that a crash
of ours loses nothing; only a crash of the machine may lose the last second. On a disk that takes
10 ms for an fsync, one a record would cost more than a short measurement."""


_Record = Header | PlanRecord | RepetitionRecord | Measurement | Footer


class RunWriter:
    """Appends records to a run file, whole lines or nothing."""

    def __init__(self, path: Path, descriptor: int, length: int, last: int | None) -> None:
        self.path = path
        self._descriptor = descriptor
        self._length = length
        self._last = last
        """Number of the last record; None where lines get no checksums."""
        self._synced = time.monotonic()

    @classmethod
    def create(cls, path: Path, header: Header) -> "RunWriter":
        """Create the file, with its directory; raises UserError where that cannot be.

        Raises FileExistsError where the file is there already.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _refusal(path, error) from None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise
        except OSError as error:
            raise _refusal(path, error) from None
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        writer = cls(path, descriptor, 0, 0)
        try:
            writer._append(header)
        except OSError as error:
            writer.close()
            path.unlink(missing_ok=True)
            raise _refusal(path, error) from None
        return writer

    @classmethod
    def resume(cls, path: Path, length: int, last: int | None) -> "RunWriter":
        """Go on with a file after its first ``length`` bytes, whole lines; what follows is torn.

        ``last`` is the number of the last record by its checksum; lines get none where it has none.
        Raises UserError where it cannot be written, or another process goes on with it.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"run '{path}' cannot be resumed: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise UserError(f"run '{path}' is being measured by another process") from None
        os.ftruncate(descriptor, length)
        writer = cls(path, descriptor, length, last)
        if length and os.pread(descriptor, 1, length - 1) != b"\n":
            writer._write(b"\n")
        return writer

    def add(self, record: PlanRecord | RepetitionRecord | Measurement | Footer) -> None:
        """Append a record; raises UserError, the file's earlier records intact, where it cannot."""
        try:
            self._append(record)
            if isinstance(record, Footer) or time.monotonic() - self._synced > _SYNC_S:
                os.fsync(self._descriptor)
                self._synced = time.monotonic()
        except OSError as error:
            os.ftruncate(self._descriptor, self._length)
            raise UserError(
                f"writing {self.path} failed: {error.strerror}; what was finished before is kept "
                "in it; make room or name another directory with --out",
                ExitCode.COMMAND_FAILED,
            ) from None

    def close(self) -> None:
        """Close the file; nothing is buffered here."""
        os.close(self._descriptor)

    def _append(self, record: _Record) -> None:
        line = _line(record)
        number = None if self._last is None else self._last + 1
        if number is not None:
            line = sealed(line, number)
        line += b"\n"
        if why := too_long(line):
            raise OSError(errno.EFBIG, f"{record.record}: {why}: measure less in one run")
        self._write(line)
        self._last = number

    def _write(self, line: bytes) -> None:
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])
        self._length += len(line)


def _line(record: _Record) -> bytes:
    sparse = isinstance(record, RepetitionRecord)  # nearly all keys of its evidence are absent
    return record.model_dump_json(exclude_none=sparse).encode()


def _refusal(path: Path, error: OSError) -> UserError:
    return UserError(
        f"the run cannot be written to {path.parent}: {error.strerror}; "
        "name another directory with --out"
    )
