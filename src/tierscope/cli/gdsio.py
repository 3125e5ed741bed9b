"""``tierscope gdsio``."""

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
def gdsio(context: click.Context, start_at: datetime | None) -> int:
    """Measure storage with gdsio's flags, job files and result line.

    \b
    Examples:
      tierscope gdsio -D /data -d 0 -w 8 -s 500M -i 1M -x 0 -I 1
      tierscope gdsio -D /data -d 0 -w 8 -s 500M -i 1M -x 0 -I 0 -T 10
      tierscope gdsio -f /data/x -x 1 -w 2 -s 64M -i 4K -I 2 -T 5 --json
      tierscope gdsio jobs.gdsio
    """
    from tierscope.recipes.gdsio.command import run

    say_start(start_at)
    return run(context.args, start_at)
