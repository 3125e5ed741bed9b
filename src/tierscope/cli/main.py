"""``tierscope``: gather the commands and turn every error into one line and an exit code."""

import os
import sys
from typing import Annotated

import typer

from tierscope.cli import bandwidth, doctor, latency, run, show

app = typer.Typer(
    name="tierscope",
    no_args_is_help=True,
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


app.command("run")(run.run)
app.command("bandwidth")(bandwidth.bandwidth)
app.command("latency")(latency.latency)
app.command("show")(show.show)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line; never shows a traceback unless TIERSCOPE_DEBUG asks for it."""
    try:
        app()
    except BrokenPipeError:
        # The reader of our output left (as head does); what we still hold goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        _end("interrupted before anything was measured", 130)
    except Exception as error:
        from tierscope.model.errors import UserError

        if isinstance(error, UserError):
            _end(str(error), int(error.exit_code))
        if os.environ.get("TIERSCOPE_DEBUG"):
            raise
        _end(
            f"internal error, please report it: {type(error).__name__}: {error} "
            "(TIERSCOPE_DEBUG=1 shows where)",
            1,
        )


def _end(message: str, status: int) -> None:
    one_line = " ".join(message.split())
    sys.stderr.write(f"tierscope: {one_line}\n")
    sys.exit(status)
