"""``tierscope gds-stats``."""

import click

from tierscope.cli import options
from tierscope.cli.output import Output


@options.command("gds-stats")
@click.option(
    "--pid", "-p", metavar="PID", type=click.IntRange(1, 1 << 22), required=True,
    help="The process: a run of tierscope, or any that uses cuFile",
)  # fmt: skip
@click.option(
    "--level", "-l", metavar="1|2|3", type=click.IntRange(1, 3), default=1, show_default=True,
    help="1 totals, 2 also operations by size, 3 also each GPU",
)  # fmt: skip
@options.json_option
def gds_stats(pid: int, level: int, output: Output) -> None:
    """Show the cuFile statistics of a running process.

    Of a run of tierscope it shows the repetitions that have ended. For any other process it runs
    NVIDIA's gds_stats, which has to be installed.

    \b
    Examples:
      tierscope gds-stats -p 4711
      tierscope gds-stats -p 4711 -l 3 --json
      watch tierscope gds-stats -p 4711 -l 2
    """
    from tierscope.peers.gds_stats.output import show

    show(pid, level, output)
