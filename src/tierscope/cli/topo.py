"""``tierscope topo``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("endpoints", metavar="[INITIATOR TARGET]", nargs=-1)
@click.option("--input", "-i", "source", metavar="FILE.xml", help="hwloc XML of another machine")
@click.option("--fsroot", metavar="DIR", help="Copy of another machine's /sys and /proc")
@options.file_option("--save", "Write this machine as hwloc XML", metavar="FILE.xml")
@options.file_option("--svg", "Draw the machine", metavar="FILE.svg")
@click.option("--pcie", is_flag=True, help="Affinity over PCIe alone, as nvidia-smi topo -mp")
@click.option("--drives", is_flag=True, help="GPUs, drives and NICs only, and what they share")
@click.option(
    "--assign",
    is_flag=True,
    help="A drive and a NIC for each GPU that share the fewest uplinks with others'",
)
@options.moved_option("--from", "a machine's file is --input, as in lstopo")
@options.json_option
def topo(
    endpoints: tuple[str, ...],
    source: str | None,
    fsroot: str | None,
    save: Path | None,
    svg: Path | None,
    pcie: bool,
    drives: bool,
    assign: bool,
    json: str | None,
) -> None:
    """Show the machine's parts, the links between them, and the limit of every link.

    With two endpoints, show the path between them only.

    \b
    Examples:
      tierscope topo
      tierscope topo gpu:0 file:/data
      tierscope topo --drives --assign
      tierscope topo --svg machine.svg
      tierscope topo --input other.xml --json
      tierscope topo --fsroot machine/
    """
    from tierscope.cli.topo_flow import Parts, show

    show(
        endpoints,
        source=source,
        fsroot=fsroot,
        save=save,
        svg=svg,
        forms=options.Forms(json),
        parts=Parts(nvlink=not pcie, drives=drives, assign=assign),
    )
