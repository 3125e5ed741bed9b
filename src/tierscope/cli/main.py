"""The entry point: turn every error into one line and an exit status."""

import os
import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; never shows a traceback unless TIERSCOPE_DEBUG asks for it."""
    try:
        from tierscope.cli.app import app  # in here, so that Ctrl-C while it loads is quiet too

        status = app(standalone_mode=False)
    except BrokenPipeError:
        # The reader of our output left (as head does); what we still hold goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except Exception as error:
        status = _explain(error)
    if status == _INTERRUPTED:
        _say("interrupted")
    sys.exit(status if isinstance(status, int) else 0)


def _explain(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit status that goes with it."""
    from tierscope.model.errors import UserError

    if isinstance(error, UserError):
        _say(str(error))
        return int(error.exit_code)
    if hasattr(error, "format_message"):  # typer's own, about the command line's form
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "tierscope"
        _say(f"{error.format_message()} (see '{command} --help')")
        return int(getattr(error, "exit_code", 2))
    if os.environ.get("TIERSCOPE_DEBUG"):
        raise error
    _say(
        f"internal error, please report it: {type(error).__name__}: {error} "
        "(TIERSCOPE_DEBUG=1 shows where)"
    )
    return 1


def _say(message: str) -> None:
    sys.stderr.write(f"tierscope: {' '.join(message.split())}\n")
