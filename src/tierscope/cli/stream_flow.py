"""From the options of ``tierscope stream`` to its tables, or to STREAM's text."""

from pathlib import Path

import click
from rich.console import Console

from tierscope.cli.flow import carry_out, planned
from tierscope.cli.options import Output
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.recipes.stream import MEMCPY, STORES, requests, with_size
from tierscope.recipes.stream_figures import in_json
from tierscope.topology.discover import discover
from tierscope.topology.settings import thp_available


def measure_stream(given: dict[str, str], as_stream: bool, output: Output) -> int:
    """Measure STREAM's functions and print them."""
    if as_stream and output.forms.printed != "tables":
        raise UserError(
            "--format stream prints to stdout, and so do --json and --csv; name a file, --json=FILE"
        )
    made = requests(given, (MEMCPY,) if as_stream else STORES)
    if as_stream and "," in given.get("stores", ""):
        raise UserError("--stores: STREAM's text has one rate for each function; name one")
    topology = discover()
    plan = planned(with_size(made, topology, thp_available()), topology)

    def show(console: Console, run: Run, path: Path) -> None:
        if as_stream:
            from tierscope.recipes.stream_text import stream_text

            click.echo(stream_text(run), nl=False)
            click.echo(f"run file: {path}", err=True)
            return
        from tierscope.recipes.stream_table import show_stream

        show_stream(console, run, path, "size" in given)

    return carry_out("stream", plan, topology, output, show=show, more=in_json)
