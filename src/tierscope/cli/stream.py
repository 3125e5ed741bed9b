"""``tierscope stream``."""

from datetime import datetime
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.recipes.stream import OPTIONS


@options.command(params=[parameter(option) for option in OPTIONS])
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "stream"]),
    default="table",
    help="stream: the text of STREAM 5.10, for programs that read it  [default: table]",
)
@options.output_options
def stream(
    form: str,
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
    **given: str | bool | None,
) -> int:
    """Measure Copy, Scale, Add and Triad by the rules of STREAM.

    \b
    Arrays are those of stream.c: Copy c = a, Scale b = s * c, Add c = a + b, Triad a = b + s * c.
    Each has at least 4 times the bytes of the last-level caches used, and what was written is
    compared with what it should be.

    \b
    Examples:
      tierscope stream
      tierscope stream --threads 1..all --pin spread --stores non-temporal
      tierscope stream --to node:0 --c node:1
      tierscope stream --format stream --first-touch --size 512m
    """
    from tierscope.cli.stream_flow import measure_stream

    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    return measure_stream(given_options(OPTIONS, given), form == "stream", output)
