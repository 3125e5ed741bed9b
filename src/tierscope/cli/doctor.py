"""``tierscope doctor``."""

from tierscope.cli import options


@options.command()
@options.json_option
def doctor(json: str | None) -> None:
    """Say what can be measured here, what cannot and why, and which settings distort figures.

    \b
    Examples:
      tierscope doctor
      tierscope doctor --json
    """
    from tierscope.cli.doctor_flow import examine

    examine(options.Forms(json))
