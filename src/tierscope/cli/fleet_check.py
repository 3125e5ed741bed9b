"""``tierscope fleet check``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("place", metavar="DIR|URL", type=click.Path())
@options.file_option("--expect", "Rules that figures of every host have to meet", "FILE.yaml")
@click.option(
    "--by",
    metavar="GROUP",
    default="model",
    help="Compare hosts of one machine model, and of one rack, switch, or group of FILE: Slurm's "
    "topology.conf, or HOST and GROUP as .csv or .yaml  [default: model]",
)
@click.option(
    "--minimum",
    metavar="SHARE",
    default="1%",
    help="A host that is slower by less is left alone  [default: 1%]",
)
@options.file_option("--junit", "Write JUnit XML too, for CI systems")
@click.option(
    "--drain", is_flag=True, help="Print only Slurm commands that drain hosts; run none of them"
)
@options.json_option
def check(
    place: str,
    expect: Path | None,
    by: str,
    minimum: str,
    junit: Path | None,
    drain: bool,
    json: str | None,
) -> int:
    """Check that all hosts of a fleet are measured, alike, and up to golden values.

    DIR is what 'tierscope fleet run' left, or a folder of run files. It is gathered first where
    that was not done. At a URL, as s3://bucket/fleet, are its tables. A host is named once, by the
    path on which it is most surely slower than its group, with what differs between it and the
    others. Of the hosts that are named at most 5% are false alarms. Rules are those of 'tierscope
    check'.

    Exit status: 0 accepted, 1 a host is slower than its group, below golden values, or not
    measured in full.

    \b
    Examples:
      tierscope fleet check fleet
      tierscope fleet check fleet --expect golden.yaml --junit acceptance.xml
      tierscope fleet check fleet --by /etc/slurm/topology.conf --minimum 2%
      tierscope fleet check fleet --drain
    """
    from tierscope.cli.fleet_flow import check_folder

    return check_folder(place, expect, by, minimum, junit, drain, options.Forms(json))
