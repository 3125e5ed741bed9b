"""``tierscope``: gather the commands and turn every error into one line and an exit code."""

import os
import sys
from typing import Annotated

import typer

from tierscope.cli import bandwidth, doctor, latency, run, show, topo

_INTERRUPTED = 130

app = typer.Typer(
    name="tierscope",
    invoke_without_command=True,
    rich_markup_mode=None,  # rich's help costs more time than all else that --help does
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from tierscope.runs.record import version

        typer.echo(f"tierscope {version()}")
        raise typer.Exit


@app.callback()
def _tierscope(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Measure every tier of memory a machine has, and say how sure each figure is.

    \b
    Start with:
      tierscope run                    this machine's memory, in a minute
      tierscope doctor                 what can be measured here, what spoils figures
      tierscope bandwidth --op read,copy --threads 1..all
      tierscope latency --size 4k..1g

    Exit status: 0 measured, 1 something failed, 2 the request was wrong, 3 nothing could be
    measured, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("run")(run.run)
app.command("bandwidth")(bandwidth.bandwidth)
app.command("latency")(latency.latency)
app.command("show")(show.show)
app.command("doctor")(doctor.doctor)
app.command("topo")(topo.topo)


def main() -> None:
    """Run the command line; never shows a traceback unless TIERSCOPE_DEBUG asks for it."""
    try:
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
