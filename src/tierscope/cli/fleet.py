"""``tierscope fleet``."""

import click

from tierscope.cli.commands import fleet_entries
from tierscope.cli.group import LazyGroup
from tierscope.cli.options import SETTINGS


@click.group(cls=LazyGroup, entries=fleet_entries(), context_settings=SETTINGS)
def fleet() -> None:
    """Measure many machines, join their runs, and find those that are slower than the others.

    \b
    Examples:
      tierscope fleet gather fleet
      tierscope fleet check fleet --expect golden.yaml
      tierscope fleet report fleet
    """
