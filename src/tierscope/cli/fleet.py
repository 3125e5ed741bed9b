"""``tierscope fleet``."""

import click

from tierscope.cli.commands import fleet_entries
from tierscope.cli.group import LazyGroup
from tierscope.cli.options import SETTINGS


@click.group(cls=LazyGroup, entries=fleet_entries(), context_settings=SETTINGS)
def fleet() -> None:
    """Measure many machines over MPI, join their runs, and find those that are slower than others.

    \b
    Examples:
      tierscope fleet run --dry-run
      mpirun --enable-recovery --map-by ppr:1:node tierscope fleet run --profile quick --out fleet
      srun --ntasks-per-node=1 tierscope fleet run plan.yaml --out fleet
      tierscope fleet gather fleet
      tierscope fleet check fleet --expect golden.yaml
      tierscope fleet report fleet
    """
