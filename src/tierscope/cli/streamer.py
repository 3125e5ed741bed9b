"""``tierscope streamer``."""

from datetime import datetime
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.recipes.streamer import OPTIONS


@options.command(params=[parameter(option) for option in OPTIONS])
@click.option("--run", metavar="RUN", help="Show this run of the study; measure nothing")
@click.option("--no-measure", is_flag=True, help="Show only what --study and --with name")
@click.option(
    "--study",
    metavar="PATH",
    type=options.PATH,
    help="The study's published results, which its paper's text is held against",
)
@click.option(
    "--with",
    "others",
    metavar="[NAME=]PATH",
    multiple=True,
    help="Results of another machine: STREAMer's folders, CSV, or a run file of this command",
)
@options.file_option("--report", "Write a page with the pictures and what the figures say")
@options.file_option("--png", "Write the pictures as PNG files", metavar="DIR")
@options.file_option("--svg", "Write the pictures as SVG files", metavar="DIR")
@options.output_options
def streamer(
    run: str | None,
    no_measure: bool,
    study: Path | None,
    others: tuple[str, ...],
    report: Path | None,
    png: Path | None,
    svg: Path | None,
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
    **given: str | bool | None,
) -> int:
    """Carry out the STREAMer study: STREAM on persistent and far memory, by sockets and threads.

    \b
    Groups: 1a local memory as persistent memory, 1b remote memory from one socket, 1c all sockets
    with close and spread affinity; 2a remote memory as a NUMA node from one socket, 2b all sockets.
    Remote memory is the other socket's, and CXL memory. Sentences compare the memories; what the
    machine has nothing for is left out with the reason.

    \b
    Examples:
      tierscope streamer
      tierscope streamer --groups 2a,2b --threads 1..all --report study.html
      tierscope streamer --study STREAMer/results --with lab=lab.csv --svg pictures
      tierscope streamer --no-measure --study published.csv --report published.html
    """
    from tierscope.cli.streamer_flow import Asked, show_streamer

    asked = Asked(run, no_measure, study, others, report, {"png": png, "svg": svg})
    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    return show_streamer(given_options(OPTIONS, given), asked, output)
