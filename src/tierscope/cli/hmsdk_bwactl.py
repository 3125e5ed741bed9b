"""``tierscope hmsdk bwactl``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command("bwactl")
@options.file_option("--mlc-file", "MLC's matrix of bandwidths  [default: measure one]")
@options.file_option("--lstopo-file", "lstopo's XML  [default: this machine]")
@click.option(
    "--topology",
    metavar="GROUPS",
    help='Nodes to spread memory over together, as "[[0,2],[1,3]]"  [default: each package\'s]',
)
@click.option(
    "--max-weight",
    metavar="N",
    type=click.IntRange(1, 255),
    default=255,
    help="Largest weight  [default: 255]",
)
@click.option("--hmsdk-rule", is_flag=True, help="Halve and round as HMSDK does, up to 10")
@click.option("--dry-run", is_flag=True, help="Print the weights; write none")
@options.json_option
def bwactl(
    mlc_file: Path | None,
    lstopo_file: Path | None,
    topology: str | None,
    max_weight: int,
    hmsdk_rule: bool,
    dry_run: bool,
    json: str | None,
) -> int:
    """Set the kernel's interleave weights in proportion to bandwidths, as HMSDK's bwactl does.

    Bandwidths are read from MLC's output, or measured: reads of each group's CPUs from each of its
    nodes. Writing weights needs root and Linux 6.9; without them the commands are printed.
    'tierscope place weights --revert' restores the weights that were replaced.

    \b
    Examples:
      tierscope hmsdk bwactl --dry-run
      tierscope hmsdk bwactl --mlc-file mlc.txt --lstopo-file lstopo.xml
      tierscope hmsdk bwactl --mlc-file mlc.txt --topology "[[0,2],[1,3]]" --dry-run
    """
    from tierscope.cli.hmsdk_bwactl_flow import Asked, set_weights

    asked = Asked(mlc_file, lstopo_file, topology, max_weight, hmsdk_rule, dry_run)
    return set_weights(asked, options.Forms(json))
