"""Write a run file so that whatever happens leaves it readable."""

import os
import time
from pathlib import Path

from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Footer, Header, Measurement

_SYNC_S = 1.0
"""Least seconds between two fsync calls: each record reaches the kernel at once, so that a crash
of ours loses nothing; only a crash of the machine may lose the last second. On a disk that takes
10 ms for an fsync, one a record would cost more than a short measurement."""


class RunWriter:
    """Appends records to a new file, whole lines or nothing."""

    def __init__(self, path: Path, header: Header) -> None:
        """Create the file, with its directory; raises UserError where that cannot be.

        Raises FileExistsError where the file is there already.
        """
        self.path = path
        self._length = 0
        self._synced = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _refusal(path, error) from None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise
        except OSError as error:
            raise _refusal(path, error) from None
        try:
            self._append(header)
        except UserError:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def add(self, record: Measurement | Footer) -> None:
        """Append a record; raises UserError, the file's earlier records intact, where it cannot."""
        self._append(record)
        if isinstance(record, Footer) or time.monotonic() - self._synced > _SYNC_S:
            os.fsync(self._descriptor)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Close the file; nothing is buffered here."""
        os.close(self._descriptor)

    def _append(self, record: Header | Measurement | Footer) -> None:
        line = record.model_dump_json().encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            os.ftruncate(self._descriptor, self._length)
            raise UserError(
                f"writing {self.path} failed: {error.strerror}; measurements finished before "
                "are kept in it; make room or name another directory with --out",
                ExitCode.REQUEST_WRONG if isinstance(record, Header) else ExitCode.SOMETHING_FAILED,
            ) from None
        self._length += len(line)


def _refusal(path: Path, error: OSError) -> UserError:
    return UserError(
        f"the run cannot be written to {path.parent}: {error.strerror}; "
        "name another directory with --out"
    )
