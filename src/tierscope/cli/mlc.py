"""``tierscope mlc``."""

from datetime import datetime

import click

from tierscope.cli.options import start_option
from tierscope.cli.waiting import say_start


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@start_option
@click.pass_context
def mlc(context: click.Context, start_at: datetime | None) -> int:
    """Measure memory with the options and text of Intel's Memory Latency Checker.

    \b
    Examples:
      tierscope mlc
      tierscope mlc --latency_matrix
      tierscope mlc --bandwidth_matrix -W5 -b500m -X
      tierscope mlc --loaded_latency -d0 -t4 --json
    """
    from tierscope.recipes.mlc.command import run

    say_start(start_at)
    return run(context.args, start_at)
