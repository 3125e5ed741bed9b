"""``tierscope fleet gather``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("folder", metavar="DIR", type=options.PATH)
@options.out_option("DIR", "Where the tables go  [default: the folder itself]")
@options.json_option
def gather(folder: Path, out: Path | None, json: str | None) -> None:
    """Join the run files of many hosts as tables in Parquet: hosts, figures and together.

    DIR is what 'tierscope fleet run' left, or any folder with run files of hosts in it or below,
    copied together. A run file that was cut counts with what it has. Of several run files of a host
    the latest counts.

    \b
    Examples:
      tierscope fleet gather fleet
      tierscope fleet gather copied --out tables --json
      tierscope query "select host, state, reason from hosts where state <> 'measured'" --in fleet
    """
    from tierscope.cli.fleet_flow import gather_fleet

    gather_fleet(folder, out or folder, options.Forms(json))
