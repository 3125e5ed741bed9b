"""``tierscope watch``."""

from datetime import datetime

import click

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.kinds.registry import KINDS

_OPTIONS = KINDS["watch"].request.options


@options.command(params=[parameter(option) for option in _OPTIONS])
@click.option(
    "--record",
    metavar="[FILE]",
    is_flag=False,
    flag_value="",
    help="Write a run file, too: FILE, or one in the data directory",
)
@options.json_option
@options.start_option
def watch(
    record: str | None, json: str | None, start_at: datetime | None, **given: str | bool | None
) -> int:
    """Watch counters of memory, GPUs, drives and ports over time.

    Memory and its bandwidth by node and socket, pages of a process by node, pressure, migrations,
    GPUs, drives and network ports: live in a terminal, in lines elsewhere, with --json as a JSON
    object for each reading. Ctrl-C ends it with exit status 0.

    \b
    Examples:
      tierscope watch
      tierscope watch --interval 500ms --duration 2s --record
      tierscope watch --pid 1 --duration 1s
      tierscope watch --duration 2s --json
    """
    from tierscope.cli.watch_flow import watch_machine

    return watch_machine(given_options(_OPTIONS, given), record, options.Forms(json), start_at)
