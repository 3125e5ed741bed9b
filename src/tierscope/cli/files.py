"""Write what a command was asked to write."""

from pathlib import Path

from tierscope.model.errors import ExitCode, UserError
from tierscope.runs.replace import check_replaceable, replace_file


def write_file(
    path: Path,
    content: str | bytes,
    option: str,
    exit_code: ExitCode = ExitCode.REQUEST_WRONG,
) -> None:
    """Replace a file whole or not at all; UserError names the option that asked for it."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise _refusal(path, error, option, exit_code) from None


def check_writable(path: Path, option: str) -> None:
    """Raise UserError where ``write_file`` would, before anything is measured."""
    try:
        check_replaceable(path)
    except OSError as error:
        raise _refusal(path, error, option, ExitCode.REQUEST_WRONG) from None


def _refusal(path: Path, error: OSError, option: str, code: ExitCode) -> UserError:
    return UserError(
        f"{option}: '{path}' cannot be written: {error.strerror}; name another file", code
    )
