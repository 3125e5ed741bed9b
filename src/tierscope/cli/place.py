"""``tierscope place``."""

import click

from tierscope.cli.commands import place_entries
from tierscope.cli.group import LazyGroup
from tierscope.cli.options import SETTINGS


@click.group(cls=LazyGroup, entries=place_entries(), context_settings=SETTINGS)
def place() -> None:
    """Place the pages of programs that start, of processes that run, and of files in memory.

    \b
    Examples:
      tierscope place exec --to node:0 -- ./stream
      tierscope place move 4711 --from node:0 --to node:2
      tierscope place file /dev/shm/table --to node:0,2 --policy interleave
      tierscope place weights --to node:0,2 --apply
    """
