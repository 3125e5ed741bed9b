"""A process that outlives the command that started it, to undo what the command changed.

It is in a session of its own and as far up in the tree of cgroups as it is let, ignores the signals
that end commands, and has one open file beside /dev/null: the end of a pipe that the command writes
to. The pipe's end tells it that the command has ended, by SIGKILL too.
"""

import contextlib
import ctypes
import fcntl
import gc
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tierscope.model.errors import ExitCode, UserError
from tierscope.place import cgroups
from tierscope.place.kernel import Kernel

NAME = "tierscope-tier"
"""As ps shows it; the kernel keeps 15 characters."""
FOLLOW, KEEP, END, TERMINATE = b"f", b"k", b"", b"t"
"""Messages to a supervisor: all is set up; the command will end, and what it set up stays; it has
ended; SIGTERM came after that."""
_PR_SET_NAME = 15
_NEVER = "-1000"
"""Of oom_score_adj: the kernel does not choose the process when memory is short."""


@dataclass
class Supervisor:
    """The process, and the command's end of the pipe."""

    pid: int
    _pipe: int

    def send(self, word: bytes) -> None:
        """Send a message, to no avail where the supervisor has been killed."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, word)

    def close(self) -> None:
        """Close the pipe, as the end of this process does."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


class Channel:
    """The supervisor's end of the pipe.

    SIGTERM counts only once the command has ended: both get it when the machine shuts down, and the
    command undoes what it changed.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)
        self._ended = self._terminated = False
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._terminated = True

    def receive(self, seconds: float) -> bytes | None:
        """Return the next message, END once; None where none came in so many seconds."""
        if self._ended:
            time.sleep(0 if self._terminated else seconds)
            return TERMINATE if self._terminated else None
        if not self._poll.poll(seconds * 1000):
            return None
        word = os.read(self._pipe, 1)
        self._ended = word == END
        return word


def start(kernel: Kernel, work: Callable[[Channel], None]) -> Supervisor:
    """Start a supervisor that does ``work``; raises UserError."""
    theirs, ours = open_pipe()
    told, tells = open_pipe()
    try:
        child = os.fork()
        if child == 0:
            _become(kernel, work, theirs, tells)
        os.close(tells)
        with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored
            os.waitpid(child, 0)
        pid = os.read(told, 32)
    except OSError as error:
        os.close(ours)
        why = error.strerror
        raise UserError(f"no supervisor starts: {why}", ExitCode.NOTHING_MEASURED) from None
    finally:
        os.close(theirs)
        os.close(told)
    if not pid:
        os.close(ours)
        raise UserError("the supervisor has been killed", ExitCode.NOTHING_MEASURED)
    return Supervisor(int(pid), ours)


def alive(pid: int) -> bool:
    """Whether a process is a supervisor, which has this machine's /proc in tests, too."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == NAME
    except OSError:
        return False


def _become(kernel: Kernel, work: Callable[[Channel], None], pipe: int, tells: int) -> None:
    """Be the supervisor, in a child of a child: nobody has to wait for it."""
    try:
        os.setsid()
        if os.fork():
            return
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        gc.freeze()  # the command's objects must not close files by numbers that are reused
        keep_open(pipe, tells)
        os.chdir("/")
        ctypes.CDLL(None).prctl(_PR_SET_NAME, NAME.encode(), 0, 0, 0)
        with contextlib.suppress(UserError):
            kernel.write("/proc/self/oom_score_adj", _NEVER)
        with contextlib.suppress(UserError):
            cgroups.leave(kernel)
        os.write(tells, str(os.getpid()).encode())
        os.close(tells)
        work(Channel(pipe))
    finally:
        os._exit(0)


def open_pipe() -> tuple[int, int]:
    """Return both ends of a pipe, at no number of a standard file that is closed."""
    pipe = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in pipe)
    for end in pipe:
        os.close(end)
    return read, write


def keep_open(*numbers: int) -> None:
    """Close all other files, and have /dev/null in place of the standard ones."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    low = 3
    for number in (*sorted(numbers), os.sysconf("SC_OPEN_MAX")):
        os.closerange(low, number)
        low = number + 1
