"""``tierscope show``."""

from typing import Annotated

import typer

from tierscope.cli import options


def show(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run file, a run's name, or last")
    ] = "last",
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one line a measurement")] = False,
) -> None:
    """Show a run again, whole or cut.

    \b
    Examples:
      tierscope show
      tierscope show results/20260105-140307-quick.jsonl --csv
      tierscope show 20260105-140307-quick --json
    """
    from tierscope.cli.flow import show_file
    from tierscope.model.errors import UserError

    if json and csv:
        raise UserError("give --json or --csv, not both")
    show_file(run, "json" if json else "csv" if csv else "tables")
