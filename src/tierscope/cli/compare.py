"""``tierscope compare``."""

from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli import options


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE NEW [NEWER...]", help="Run files, names, tags or last; more are a trend"
        ),
    ],
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Change up to which a figure counts as the same")
    ] = "3%",
    allow: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Compare although these differ: host, machine, kernel, governor, turbo, smt, "
            "thp, numa-balancing, frequency-driver, link, isa, emulated",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="A further run from before; what it differs in from BASE counts as no change. "
            "May be repeated",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write an HTML page too")
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare runs measurement by measurement, and say what got faster or slower.

    Measurements are joined on kind, endpoints and pattern. A change counts when its interval,
    made of both runs' intervals and of how far medians wander between them, leaves out 1 and it
    is larger than --tolerance. Exit status: 0 nothing got slower, 1 something did, 3 nothing
    could be compared.

    \b
    Examples:
      tierscope compare before last
      tierscope compare base.jsonl new.jsonl --tolerance 5% -o change.html
      tierscope compare monday tuesday wednesday
      tierscope compare golden last --also monday --also tuesday
      tierscope compare node017.jsonl node018.jsonl --allow host
    """
    from tierscope.cli.show_flow import compare_runs

    compare_runs(runs, tolerance, allow, also or [], output, json)
