"""``tierscope report``."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Run files, names, tags or last  [default: last]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page  [default: RUN.html]"),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pictures as PNG for papers")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pictures as SVG for papers")
    ] = None,
) -> None:
    """Write a report: one HTML file with everything in it, to read, print and pass on.

    With --png or --svg only the pictures are written, unless -o asks for the page too.

    \b
    Examples:
      tierscope report
      tierscope report results/20260105-140307-full.jsonl -o machine.html
      tierscope report last --svg pictures
    """
    from tierscope.cli.show_flow import report_runs

    report_runs(runs or [], output, png, svg)
