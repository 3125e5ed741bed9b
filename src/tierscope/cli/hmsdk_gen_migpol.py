"""``tierscope hmsdk gen_migpol``."""

from collections.abc import Callable
from pathlib import Path

import click

from tierscope.cli import options

_NODE = click.IntRange(0, 1023)


def _ways(
    short: str, long: str, name: str, nodes: str, help_text: str
) -> Callable[[options.Function], options.Function]:
    return click.option(
        short, long, name, type=(_NODE, _NODE), multiple=True, metavar=nodes, help=help_text
    )


@options.command("gen_migpol")
@_ways("-d", "--demote", "demotions", "SRC DEST", "Demote pages from SRC to DEST")
@_ways("-p", "--promote", "promotions", "SRC DEST", "Promote pages from SRC to DEST")
@_ways("-m", "--migrate", "both", "FAST_TIER SLOW_TIER", "Demote and promote between two nodes")
@click.option(
    "-g", "--global", "everything", is_flag=True,
    help="Move pages of all processes, not only of those in the cgroup 'hmsdk'",
)  # fmt: skip
@click.option(
    "-s", "--region-max-size", "most", metavar="SIZE",
    help="Cut larger regions, as in 1G; each piece gets a kdamond",
)  # fmt: skip
@options.file_option("-o", "Write the policy to a file", metavar="FILE")
@options.json_option
def gen_migpol(
    demotions: tuple[tuple[int, int], ...],
    promotions: tuple[tuple[int, int], ...],
    both: tuple[tuple[int, int], ...],
    everything: bool,
    most: str | None,
    o: Path | None,
    json: str | None,
) -> None:
    """Write a migration policy as HMSDK's gen_migpol does: YAML that damo and 'tier start' read.

    \b
    Examples:
      tierscope hmsdk gen_migpol -d 0 2 -p 2 0 -o hmsdk.yaml
      tierscope hmsdk gen_migpol -m 0 2 -g
    """
    from tierscope.cli.hmsdk_gen_migpol_flow import Ways, write_policy

    ways = Ways(demotions, promotions, both, everything, most)
    write_policy(ways, o, options.Forms(json))
