"""A child that cannot outlive its parent."""

import ctypes
import os
import signal

_LIBC = ctypes.CDLL(None)  # loaded before the fork: after it only simple calls are safe
_PARENT = os.getpid()
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel, in the child, to kill it when its parent ends, however that happens."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != _PARENT:  # it ended before the kernel was asked
        os._exit(1)
