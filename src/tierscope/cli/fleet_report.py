"""``tierscope fleet report``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("place", metavar="DIR|URL", type=click.Path())
@options.out_option("FILE", "The page  [default: DIR.html]")
@options.file_option("--expect", "Show golden values: rules of this file", "FILE.yaml")
@click.option(
    "--by",
    metavar="GROUP",
    default="model",
    help="Compare hosts of one machine model, and of one rack, switch, or group of FILE, as "
    "'fleet check' does  [default: model]",
)
@click.option(
    "--minimum",
    metavar="SHARE",
    default="1%",
    help="A host that is slower by less is not named  [default: 1%]",
)
@options.json_option
def report(
    place: str, out: Path | None, expect: Path | None, by: str, minimum: str, json: str | None
) -> None:
    """Write a fleet's report: one self-contained HTML file with a page for each host.

    DIR is what 'tierscope fleet run' left, or a folder of run files. It is gathered first where
    that was not done. At a URL, as s3://bucket/fleet, are its tables. Slow hosts come first; then
    each path over all hosts, as a map and as distributions with medians, limits and golden values.

    \b
    Examples:
      tierscope fleet report fleet
      tierscope fleet report fleet --expect golden.yaml -o acceptance.html
      tierscope fleet report fleet --by rack
    """
    from tierscope.cli.fleet_flow import report_fleet

    report_fleet(place, out, expect, by, minimum, options.Forms(json))
