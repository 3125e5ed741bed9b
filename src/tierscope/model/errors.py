"""Errors that end a command in one line, and the exit codes that every command shares."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says."""

    ALL_MEASURED = 0
    SOMETHING_FAILED = 1
    REQUEST_WRONG = 2
    NOTHING_MEASURED = 3
    NOT_EXECUTABLE = 126
    """Of a program to start, as shells say it."""
    NOT_FOUND = 127
    INTERRUPTED = 130


class UserError(Exception):
    """One line for the user: what was wrong, where, what is allowed, what to do.

    Line breaks, which quoted input may have, become spaces.
    """

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.REQUEST_WRONG) -> None:
        super().__init__(" ".join(message.splitlines()))
        self.exit_code = exit_code


def counted(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def did_you_mean(word: str, allowed: tuple[str, ...]) -> str:
    """Name the nearest allowed word, or nothing."""
    import difflib

    nearest = difflib.get_close_matches(word, allowed, n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
