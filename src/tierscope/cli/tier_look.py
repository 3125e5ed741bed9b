"""``tierscope tier status``, ``watch``, ``stop`` and ``restore``."""

import click

from tierscope.cli import options


@options.command()
@options.json_option
def status(json: str | None) -> None:
    """Show what tiering has moved, where the pages are, and why nothing moves.

    It takes as long as DAMON's aggregation interval, since it reads all regions.

    \b
    Examples:
      tierscope tier status
      tierscope tier status --json
    """
    from tierscope.cli.tier_flow import show_status

    show_status(options.Forms(json))


@options.command()
@click.option(
    "--interval",
    metavar="TIME",
    default="2s",
    show_default=True,
    help="From one reading to the next",
)
@options.json_option
def watch(interval: str, json: str | None) -> int:
    """Show the status live, until Ctrl-C or until tiering ends.

    With --json, each reading is one line.

    \b
    Examples:
      tierscope tier watch
      tierscope tier watch --interval 10s --json
    """
    from tierscope.cli.tier_flow import watch_tiering

    return watch_tiering(interval, options.Forms(json))


@options.command()
@options.json_option
def stop(json: str | None) -> None:
    """Stop tiering, and restore what it changed: kdamonds, settings, its cgroup.

    Pages stay where they are.

    \b
    Examples:
      tierscope tier stop
    """
    from tierscope.cli.tier_flow import end_tiering

    end_tiering(options.Forms(json), killed=False)


@options.command()
@options.json_option
def restore(json: str | None) -> None:
    """Restore what tiering changed before it was killed; do nothing where nothing is left.

    \b
    Examples:
      tierscope tier restore
    """
    from tierscope.cli.tier_flow import end_tiering

    end_tiering(options.Forms(json), killed=True)
