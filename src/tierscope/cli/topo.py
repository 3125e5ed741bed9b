"""``tierscope topo``."""

from typing import Annotated

import typer

from tierscope.cli import options


def topo(
    endpoints: Annotated[
        list[str] | None,
        typer.Argument(metavar="INITIATOR TARGET", help="Show the path between these two only"),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE.xml", help="Another machine's hwloc 2 XML"),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="FILE.xml", help="Write this machine as hwloc XML")
    ] = None,
    svg: Annotated[str | None, typer.Option(metavar="FILE.svg", help="Draw the machine")] = None,
    pcie: Annotated[
        bool, typer.Option("--pcie", help="Affinity over PCIe alone, as nvidia-smi topo -mp")
    ] = False,
    json: options.Json = False,
) -> None:
    """Show what the machine is made of, how it hangs together, and the limit of every link.

    \b
    Examples:
      tierscope topo
      tierscope topo gpu:0 file:/data
      tierscope topo --svg machine.svg
      tierscope topo --from other.xml --json
    """
    from tierscope.report.topology_show import show

    show(endpoints or [], source=source, save=save, svg=svg, as_json=json, nvlink=not pcie)
