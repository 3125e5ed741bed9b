"""``tierscope tier start``."""

from pathlib import Path

import click

from tierscope.cli import options


def rule_options(function: options.Function) -> options.Function:
    """Add what says by which rules pages move."""
    for option in (
        click.option(
            "--pid",
            metavar="PID",
            type=click.IntRange(1),
            help="Move only pages of this process and the children that it has now, by their own "
            "addresses; Linux 6.17",
        ),
        click.option("--cgroup", metavar="PATH", help="Move only pages of this cgroup (version 2)"),
        options.file_option("--rules", "Your own rules, or a damo file (YAML, JSON)"),
        click.option(
            "--preset",
            metavar="NAME",
            help="hmsdk, damo or numa-balancing ('tierscope tier presets')  [default: hmsdk]",
        ),
        click.option(
            "--pair",
            "pairs",
            metavar="FAST:SLOW",
            multiple=True,
            help="A fast and a slow node, as in 0:2. May be given again",
        ),
    ):
        function = option(function)
    return function


@options.command()
@rule_options
@click.option(
    "--for", "duration", metavar="TIME", help="Stop after this time, as in 60s, and end CMD"
)
@options.json_option
@click.argument("program", metavar="[-- CMD [ARG]...]", nargs=-1, type=click.UNPROCESSED)
def start(
    pairs: tuple[str, ...],
    preset: str | None,
    rules: Path | None,
    cgroup: str | None,
    pid: int | None,
    duration: str | None,
    json: str | None,
    program: tuple[str, ...],
) -> int:
    """Start moving pages by rules, for the whole machine, a cgroup, a process, or a program.

    Tiering goes on until 'tierscope tier stop'. With -- CMD it goes on until CMD ends, and with
    --for that long; both show what happened. CMD runs in a cgroup of its own, so that only its
    pages and those of its children move; -- sudo -u USER CMD runs it as another user.

    Exit status: CMD's own.

    \b
    Examples:
      tierscope tier start --pair 0:2
      tierscope tier start --preset damo --pair 0:2 --for 10min
      tierscope tier start --pair 0:2 -- ./server --port 8080
      tierscope tier start --rules my_rules.yaml --cgroup /system.slice/redis.service
    """
    from tierscope.cli.tier_flow import start_tiering
    from tierscope.plans.tier_start import Asked

    return start_tiering(
        Asked(pairs, preset, rules, cgroup, pid), duration, program, options.Forms(json)
    )
