"""``tierscope list`` and ``tierscope tag``."""

from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli import options

In = Annotated[
    Path | None,
    typer.Option("--in", metavar="DIR", help="A directory of runs  [default: the data directory]"),
]


def list_(
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only runs with this tag")] = None,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Only runs of this host")] = None,
    directory: In = None,
    json: options.Json = False,
) -> None:
    """List the runs that are kept, oldest first.

    \b
    Examples:
      tierscope list
      tierscope list --tag golden
      tierscope list --in results --json
    """
    from tierscope.cli.history_flow import list_runs

    list_runs(tag, host, directory, json)


def tag(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run file, name, tag or last")],
    tags: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TAG...]", help="Letters, digits, . - _, at most 40"),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Take this tag away; may be repeated")
    ] = None,
) -> None:
    """Give a run tags; a tag then names the run wherever a run is asked for.

    Of several runs with a tag, the newest is meant.

    \b
    Examples:
      tierscope tag last golden
      tierscope compare golden last
      tierscope tag golden --remove golden
    """
    from tierscope.cli.history_flow import tag_run

    tag_run(run, tags or [], remove or [])
