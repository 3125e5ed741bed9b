"""``tierscope hmsdk``: the programs of SK hynix's HMSDK, by their names and options."""

import click

from tierscope.cli.commands import hmsdk_entries
from tierscope.cli.group import LazyGroup
from tierscope.cli.options import SETTINGS


@click.group(cls=LazyGroup, entries=hmsdk_entries(), context_settings=SETTINGS)
def hmsdk() -> None:
    """Run HMSDK's programs, with their options and files.

    \b
    Examples:
      tierscope hmsdk bwprof record -i 1
      tierscope hmsdk bwactl --mlc-file mlc.txt --topology "[[0,2],[1,3]]"
      tierscope hmsdk gen_migpol -m 0 2 -o policy.yaml
    """
