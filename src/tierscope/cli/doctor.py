"""``tierscope doctor``."""

from tierscope.cli import options


def doctor(json: options.Json = False) -> None:
    """Say what can be measured here, what cannot and why, and which settings spoil figures.

    \b
    Examples:
      tierscope doctor
      tierscope doctor --json
    """
    from tierscope.report.doctor import examine

    examine(as_json=json)
