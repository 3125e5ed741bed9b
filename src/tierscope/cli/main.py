"""The entry point: turn every error into one line and an exit status."""

import contextlib
import errno
import os
import signal
import sys
from types import FrameType

_COMMAND_FAILED = 4
_INTERRUPTED = 130
_LONGEST = 2000
"""Characters of a message: what it quotes may be of any length."""
_CLOSED = "standard output is closed; send it to a file or to /dev/null"
_SHOW_CURSOR = "\x1b[?25h"
"""Undoes what a progress display does to a terminal."""


def main() -> None:
    """Run the command line; never shows a traceback unless TIERSCOPE_DEBUG asks for it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    # Looking for pydantic's plugins costs time at every start, and none is used here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    _replace_closed_streams()
    stdout = sys.stdout
    try:
        from tierscope.cli.app import app  # in here, so that Ctrl-C while it loads is quiet too

        status = app.main(prog_name="tierscope", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as left:  # the reader of our output left, as head does
        # Upon a broken pipe click and rich end with status 1; click wraps stdout first.
        broken = isinstance(left.__context__, BrokenPipeError) or sys.stdout is not stdout
        if isinstance(left, SystemExit) and not broken:
            raise
        _drop_output()
        sys.exit(_COMMAND_FAILED)
    except Exception as error:
        status = _explain(error)
    if status == _INTERRUPTED:
        _say("interrupted")
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(status if isinstance(status, int) else 0)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End at once on Ctrl-C or SIGTERM, except while measuring, when the engine's events take over.

    A KeyboardInterrupt would get lost where Python ignores exceptions, as in the callbacks that
    imports leave behind; and outside measuring there is nothing to put in order.
    """
    output = sys.modules.get("tierscope.runs.output")
    if discard := getattr(output, "discard_unfinished", None):  # not while it is being imported
        discard()
    if sys.stderr is not None:
        if sys.stderr.isatty():
            sys.stderr.write(_SHOW_CURSOR)
        _say("interrupted")
        sys.stderr.flush()
    os._exit(_INTERRUPTED)


def _explain(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit status that goes with it."""
    from tierscope.model.errors import UserError, is_exhausted

    if isinstance(error, UserError):
        _say(str(error))
        return int(error.exit_code)
    if hasattr(error, "format_message"):  # click's own, about the command line's form
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "tierscope"
        _say(f"{error.format_message()} (see '{command} --help')")
        return int(getattr(error, "exit_code", 2))
    if os.environ.get("TIERSCOPE_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        _say("out of memory; raise the limits of memory and of addresses (ulimit -v)")
    elif not isinstance(error, OSError):
        _say_internal(error)
    elif error.filename is not None:
        _say(f"'{error.filename}' cannot be reached: {error.strerror}; name another place")
        return _COMMAND_FAILED if is_exhausted(error) else 2
    elif error.errno == errno.EBADF:
        _say(f"the output could not be written: {_CLOSED}")
    elif is_exhausted(error):
        _say(f"the output could not be written: {error.strerror}")
    elif error.errno == errno.ENOENT:  # tempfile names the directories that it tried
        _say(f"{error.strerror}; make room, or name another directory with TMPDIR")
    else:
        _say_internal(error)
    return _COMMAND_FAILED


def _say_internal(error: Exception) -> None:
    _say(
        f"internal error, please report it: {type(error).__name__}: {error} "
        "(TIERSCOPE_DEBUG=1 shows where)"
    )


def _replace_closed_streams() -> None:
    """Give a process that was started without stdout or stderr (``>&-``) ones that can be named.

    Writing to stdout fails, as it does for other programs; what goes to stderr is dropped.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # names may be any bytes


def _drop_output() -> None:
    """Let what stdout still holds go nowhere, so that nothing complains at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    from tierscope.model.text import printable

    line = " ".join(message.split())
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}..."
    # Names in it may be anyone's; none may steer the terminal.
    with contextlib.suppress(OSError):  # where it is full, too, the exit status says the rest
        sys.stderr.write(f"tierscope: {printable(line, '?')}\n")
