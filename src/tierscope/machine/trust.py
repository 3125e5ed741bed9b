"""Whether what a file says may be done with root's rights; alloc/trusted.c asks the same."""

import os
import stat
from pathlib import Path

_ASKED = "root reads what root, or the caller of sudo, alone may write"


def why_untrusted(descriptor: int) -> str:
    """Say who else than root may write an open file or replace it; empty where nobody may.

    The user for whom sudo made this process root's may.

    Empty, too, where this process is not root's: what it reads is that user's own business.
    """
    if os.geteuid() != 0:
        return ""
    if why := _why(os.fstat(descriptor), "the file"):
        return why
    path = Path(f"/proc/self/fd/{descriptor}").readlink()
    if not path.is_absolute():  # a pipe, for one
        return ""
    folders = [folder for folder in path.parents if folder.exists()]
    return next(filter(None, (_why(folder.stat(), str(folder)) for folder in folders)), "")


def _why(found: os.stat_result, what: str) -> str:
    if str(found.st_uid) not in ("0", os.environ.get("SUDO_UID")):
        return f"{what} belongs to user {found.st_uid}; {_ASKED} (chown root)"
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return ""  # nobody replaces another one's file there
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid != 0
    if not by_group and not found.st_mode & stat.S_IWOTH:
        return ""
    mode = f"{stat.S_IMODE(found.st_mode):04o}"
    return f"{what} is writable by others (mode {mode}); {_ASKED} (chmod go-w)"
