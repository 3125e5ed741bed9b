"""Programs that answer once."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tierscope.model.errors import ExitCode, UserError


def answer_of(
    command: Sequence[str | Path],
    timeout_s: float,
    text: str | None = None,
    inherited: Sequence[int] = (),
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end; ``text`` is its standard input, ``inherited`` what is open in it.

    Raises UserError where it does not start, or is still running after ``timeout_s``.
    """
    try:
        return subprocess.run(
            command,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
            pass_fds=inherited,
        )
    except OSError as error:
        raise UserError(f"{command[0]} does not start: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        words = " ".join(map(str, command))
        raise UserError(
            f"'{words}' did not answer in {timeout_s:g} s", ExitCode.NOTHING_MEASURED
        ) from None
