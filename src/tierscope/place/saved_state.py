"""Settings of the machine that a command changed, saved so that they can be restored after SIGKILL.

A state file is written before the first change and removed after the last one was undone. Root's
are in ``/run/tierscope``, others' in ``$XDG_STATE_HOME/tierscope`` (default ``~/.local/state``).
Each is written beside and renamed, on the disk before it gets its name, so that it is whole or
absent. It holds the boot's id, since a reboot restores what these files are about: a file of an
earlier boot is void.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tierscope.machine.trust import why_untrusted
from tierscope.model.errors import ExitCode, UserError

ROOT = Path("/")
_POLL_S = 0.02


class StateError(UserError):
    """A state file cannot be written, read, locked or removed; the text ends with the remedy."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        message = f"{problem}; {remedy}" if remedy else problem
        super().__init__(message, ExitCode.COMMAND_FAILED)
        self.problem, self.remedy = problem, remedy


def path_of(name: str, root: Path = ROOT) -> Path:
    """Return where a state file is; where there is none, where ``save`` would write it."""
    system = root / "run/tierscope" / f"{name}.json"
    if os.geteuid() == 0 or root != ROOT:
        return system
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    own = Path(home, "tierscope", f"{name}.json")
    return system if system.exists() and not own.exists() else own


def save(name: str, content: Any, root: Path = ROOT) -> None:
    """Write or replace a state file with JSON content; raises StateError."""
    path = path_of(name, root)
    beside = path.with_suffix(".new")
    try:
        whole = {
            "boot_id": _boot_id(root),
            "content": content,
        }
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with beside.open("w") as file:
            os.fchmod(file.fileno(), 0o644)  # whatever the umask: `load` refuses what others write
            json.dump(whole, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise StateError(f"cannot save what is to be restored in {path}: {error}") from None


def load(name: str, root: Path = ROOT) -> Any:
    """Return a state file's content; None where there is none, or one of an earlier boot.

    Raises StateError where it cannot be read, is none of ours or may be others'.
    """
    path = path_of(name, root)
    try:
        with path.open() as file:
            if why := why_untrusted(file.fileno()):
                raise StateError(f"{path} is not read: {why}", "reboot, or check and own the file")
            text = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(name, error, root) from None
    try:
        whole: Any = json.loads(text)
        if whole["boot_id"] != _boot_id(root):
            return None
        return whole["content"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise unreadable(name, error, root) from None


def unreadable(name: str, error: Exception, root: Path = ROOT) -> StateError:
    """Return the error of a state file whose content is not what its reader expects."""
    return StateError(
        f"{path_of(name, root)}, which says what to restore, cannot be read: {error!r}",
        "reboot, which restores it, or remove the file",
    )


def discard(name: str, root: Path = ROOT) -> None:
    """Remove a state file, if there is one."""
    path = path_of(name, root)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(f"cannot remove {path}: {error.strerror}") from None


@contextlib.contextmanager
def locked(name: str, root: Path = ROOT, patience_s: float = 0) -> Iterator[int | None]:
    """Give the descriptor of the lock file beside a state file, locked.

    None where another process has the lock, and keeps it for ``patience_s``. Raises StateError
    where the lock cannot be made.
    """
    path = path_of(name, root).with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}", "run it as root") from None
    try:
        yield descriptor if _lock(descriptor, patience_s) else None
    finally:
        os.close(descriptor)


def _lock(descriptor: int, patience_s: float) -> bool:
    give_up_at = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_at:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def _boot_id(root: Path) -> str:
    return (root / "proc/sys/kernel/random/boot_id").read_text().strip()
