"""``tierscope nvbandwidth``."""

import contextlib
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
def nvbandwidth(context: click.Context, start_at: datetime | None) -> int:
    """Run nvbandwidth's test cases, with its options and its output.

    \b
    Examples:
      tierscope nvbandwidth
      tierscope nvbandwidth -t host_to_device_memcpy_ce 4 -b 256
      tierscope nvbandwidth -p device_to_device --json
      mpirun -n 8 tierscope nvbandwidth -p multinode
    """
    from tierscope.model.errors import UserError
    from tierscope.mpi.ranks import served
    from tierscope.recipes.nvbandwidth.command import run

    with contextlib.suppress(UserError):  # rank 0 says why its test cases are waived
        if served():
            return 0
    say_start(start_at)
    return run(context.args, start_at)
