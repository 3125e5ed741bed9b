"""Errors that end a command in one line, and the exit codes that every command shares."""

import errno
import os
import sys
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """Exit statuses of commands."""

    ALL_MEASURED = 0
    SOMETHING_FAILED = 1
    REQUEST_WRONG = 2
    NOTHING_MEASURED = 3
    COMMAND_FAILED = 4
    """Output was not written, the system ran out of something, or an internal error: whatever was
    asked about the machine is not answered. Nobody may act on it as on a figure that is missed."""
    NOT_EXECUTABLE = 126
    """The program to start cannot be executed (as in shells)."""
    NOT_FOUND = 127
    INTERRUPTED = 130


_EXHAUSTED = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE
}  # fmt: skip


def is_exhausted(error: BaseException | None) -> bool:
    """Return whether the system had no more of something, or a device failed: no other request
    would have done better."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


class UserError(Exception):
    """One line for the user: what was wrong, where, what is allowed, what to do.

    Line breaks, which quoted input may have, become spaces. Without ``exit_code`` the request was
    wrong, unless the error that is being handled says that the system is exhausted.
    """

    def __init__(self, message: str, exit_code: ExitCode | None = None) -> None:
        super().__init__(" ".join(message.splitlines()))
        if exit_code is None:
            exhausted = is_exhausted(sys.exc_info()[1])
            exit_code = ExitCode.COMMAND_FAILED if exhausted else ExitCode.REQUEST_WRONG
        self.exit_code = exit_code


def counted(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def did_you_mean(word: str, allowed: tuple[str, ...]) -> str:
    """Name the nearest allowed word, or nothing."""
    import difflib

    if len(word) > 2 * max(map(len, allowed), default=0):  # near to none; looking takes long
        return ""
    nearest = difflib.get_close_matches(word, allowed, n=1)
    if not nearest:  # Of two letters, one is half of the word: too little for difflib.
        alike = [one for one in allowed if len(one) == len(word) and _differ(one, word) == 1]
        nearest = alike if len(alike) == 1 and len(word) > 1 else []
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def _differ(one: str, other: str) -> int:
    """Return in how many letters two words of one length differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def shown(name: str | Path) -> str:
    """Return a file's name, or a word of a command line, as text to show and to keep.

    Names of files are bytes; those that are no UTF-8 become the replacement character, as do
    surrogates that YAML and JSON can write but no file's name has.
    """
    try:
        return os.fsencode(name).decode(errors="replace")
    except UnicodeEncodeError:
        return str(name).encode(errors="surrogatepass").decode(errors="replace")


def is_text(word: str) -> bool:
    """Return whether a word of a command line was UTF-8."""
    return shown(word) == word
