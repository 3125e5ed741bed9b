"""``tierscope stream``: STREAM by its rules, and its text."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, parameter
from tierscope.cli.measure import carry_out, planned, with_verdict
from tierscope.cli.output import Output
from tierscope.model.errors import UserError
from tierscope.suites.stream import OPTIONS

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.model.run import Run


@options.command(params=[parameter(option) for option in OPTIONS])
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "stream"]),
    default="table",
    help="stream: the text of STREAM 5.10, for programs that read it  [default: table]",
)
@options.stated_options
@options.output_options
def stream(form: str, output: Output, **arguments: Given) -> int:
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
    from tierscope.machine.discover import discover
    from tierscope.machine.settings import thp_available
    from tierscope.suites.stream import (
        MEMCPY,
        STORES,
        in_json,
        requests,
        show_stream,
        stream_text,
        with_size,
    )

    given = given_options(OPTIONS, arguments)
    as_stream = form == "stream"

    if as_stream and output.printed != "tables":
        raise UserError(
            "--format stream prints to stdout, and so do --json and --csv; name a file, --json=FILE"
        )
    made = requests(given, (MEMCPY,) if as_stream else STORES)
    if as_stream and "," in given.get("stores", ""):
        raise UserError("--stores: STREAM's text has one rate for each function; name one")
    topology = discover()
    plan = planned(with_size(made, topology, thp_available()), topology)

    def show(console: "Console", run: "Run", path: Path) -> None:
        if as_stream:
            click.echo(stream_text(run), nl=False)
            click.echo(f"run file: {path}", err=True)
        else:
            with_verdict(lambda console, run: show_stream(console, run, "size" in given))(
                console, run, path
            )

    return carry_out("stream", plan, topology, output, show=show, more=in_json)
