"""``tierscope tier``."""

import click

from tierscope.cli.commands import tier_entries
from tierscope.cli.group import LazyGroup
from tierscope.cli.options import SETTINGS


@click.group(cls=LazyGroup, entries=tier_entries(), context_settings=SETTINGS)
def tier() -> None:
    """Move hot pages to fast nodes and cold ones to slow nodes, while programs run.

    DAMON, the kernel's monitor of memory accesses, moves them by rules; a preset has NUMA balancing
    and reclaim move them instead. Needs root and Linux 6.11 or later.

    \b
    Examples:
      tierscope tier start --pair 0:2
      tierscope tier status
      tierscope tier stop
      tierscope tier observe 4711
    """
