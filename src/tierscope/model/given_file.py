"""Open the files that users name."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_OWN = ("/dev/fd/", "/proc/self/fd/")
"""Folders of what this process was handed open, as by <(...) of a shell."""
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def open_given(path: str | Path) -> BinaryIO:
    """Open a file to read it; raises OSError, also where it is none that ends.

    A pipe is opened only where the process was handed it: any other one may wait for ever.
    """
    mode = os.stat(path).st_mode  # noqa: PTH116 - of names of any length, too
    name = os.fspath(path)
    handed = name == "/dev/stdin" or name.startswith(_OWN)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(mode) and not (handed and stat.S_ISFIFO(mode)):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise OSError(errno.EINVAL, f"it is {kind}; a regular file is needed", name)
    # Not blocking: it may have become a pipe since.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if handed else os.O_NONBLOCK))
    return os.fdopen(descriptor, "rb")
