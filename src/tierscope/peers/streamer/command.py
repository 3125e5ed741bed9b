"""``tierscope streamer``."""

from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.cli.output import Output
from tierscope.peers.streamer.plan import OPTIONS


@options.command(params=[parameter(option) for option in OPTIONS])
@click.option("--run", metavar="RUN", help="Show this run of the study without measuring")
@click.option("--no-measure", is_flag=True, help="Show only --study and --with")
@click.option(
    "--study",
    metavar="PATH",
    type=options.PATH,
    help="Published results of the study, compared with the text of its paper",
)
@click.option(
    "--with",
    "others",
    metavar="[NAME=]PATH",
    multiple=True,
    help="Results of another machine: STREAMer's folders, CSV, or a run file of this command",
)
@options.file_option("--report", "Write a page with pictures and findings")
@options.file_option("--png", "Write the pictures as PNG files", metavar="DIR", essential=False)
@options.file_option("--svg", "Write the pictures as SVG files", metavar="DIR", essential=False)
@options.stated_options
@options.output_options
def streamer(
    run: str | None,
    no_measure: bool,
    study: Path | None,
    others: tuple[str, ...],
    report: Path | None,
    png: Path | None,
    svg: Path | None,
    output: Output,
    **given: str | bool | None,
) -> int:
    """Carry out the STREAMer study: STREAM on persistent and far memory, by sockets and threads.

    \b
    Groups: 1a local memory as persistent memory, 1b remote memory from one socket, 1c all sockets
    with close and spread affinity; 2a remote memory as a NUMA node from one socket, 2b all sockets.
    Remote memory is the other socket's, and CXL memory. Sentences compare the memories; groups
    that the machine has no hardware for are left out with the reason.

    \b
    Examples:
      tierscope streamer
      tierscope streamer --groups 2a,2b --threads 1..all --report study.html
      tierscope streamer --study STREAMer/results --with lab=lab.csv --svg pictures
      tierscope streamer --no-measure --study published.csv --report published.html
    """
    from tierscope.peers.streamer.run import Shown, show_streamer

    shown = Shown(run, no_measure, study, others, report, {"png": png, "svg": svg})
    return show_streamer(given_options(OPTIONS, given), shown, output)
