"""``tierscope tier observe``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("target", metavar="PID|CGROUP|machine")
@click.option(
    "--for",
    "duration",
    metavar="TIME",
    default="20s",
    show_default=True,
    help="How long to observe",
)
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=options.complete_run,
    help="A run that measured latencies, for the cost of a slow node, as in last",
)
@click.option("--pair", metavar="FAST:SLOW", help="With --run: the nodes, as in 0:2")
@options.file_option("--png", "Write the pictures as PNG files", metavar="DIR")
@options.file_option("--svg", "Write the pictures as SVG files", metavar="DIR")
@options.json_option
def observe(
    target: str,
    duration: str,
    run: str | None,
    pair: str | None,
    png: Path | None,
    svg: Path | None,
    json: str | None,
) -> None:
    """Show which memory is accessed, and how much could be on a slow node; move nothing.

    A process is observed with all its children, including those that it starts meanwhile.
    --png and --svg draw the working set over time, and a heat map of addresses and time of
    each process or node, of the four largest.

    \b
    Examples:
      tierscope tier observe 4711
      tierscope tier observe 4711 --for 1min --run last --pair 0:2
      tierscope tier observe 4711 --for 1min --png pictures
      tierscope tier observe /system.slice/redis.service
      tierscope tier observe machine --json
    """
    from tierscope.cli.tier_observe_flow import observe_target

    observe_target(target, duration, run, pair, {"png": png, "svg": svg}, options.Forms(json))
