"""``tierscope bundle``."""

from pathlib import Path

import click

from tierscope.cli import options


@click.command(context_settings=options.SETTINGS)
@options.run_argument
@click.option(
    "--output", "-o", metavar="FILE", type=options.PATH, help="The archive  [default: RUN.tar.gz]"
)
@options.json_option
def bundle(run: str, output: Path | None, json: bool) -> None:
    """Pack a run for a bug report: the run file, the topology and all versions.

    Host names are replaced in the copy; the run itself stays as it is. RUN is a run file, the name
    of a run, a tag, or last, which is the default.

    \b
    Examples:
      tierscope bundle
      tierscope bundle 20260105-140307-quick -o report.tar.gz
    """
    from tierscope.cli.show_flow import bundle_run

    bundle_run(run, output, json)
