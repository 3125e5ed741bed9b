"""``tierscope alloc``."""

import click

from tierscope.cli.commands import alloc_entries
from tierscope.cli.group import LazyGroup
from tierscope.cli.options import SETTINGS


@click.group(cls=LazyGroup, entries=alloc_entries(), context_settings=SETTINGS)
def alloc() -> None:
    """Put parts of a program's heap on nodes of choice, and the rest where it is now.

    \b
    Examples:
      tierscope alloc sites -- ./server
      tierscope alloc exec --to node:2 --above 1m -- ./server
      tierscope alloc exec --rules tiers.rules --statistics -- ./server
      cc program.c $(tierscope alloc flags) -o program
    """
