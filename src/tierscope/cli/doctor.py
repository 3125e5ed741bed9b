"""``tierscope doctor``."""

import click

from tierscope.cli import options


@click.command(context_settings=options.SETTINGS)
@options.json_option
def doctor(json: bool) -> None:
    """Say what can be measured here, what cannot and why, and which settings distort figures.

    \b
    Examples:
      tierscope doctor
      tierscope doctor --json
    """
    from tierscope.cli.doctor_flow import examine

    examine(json)
