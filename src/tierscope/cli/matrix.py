"""``tierscope matrix``."""

from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli import options


def matrix(
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="ENDPOINTS", help="Initiators  [default: node:*]"),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="ENDPOINTS", help="Targets  [default: node:*]")
    ] = None,
    op: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Bandwidths to measure  [default: read,write,copy]"),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            metavar="COUNTS", help="Counts that the best is looked for in  [default: 1..all*2]"
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="GB/S", help="Also latency while others move that much: 10,50  [default: none]"
        ),
    ] = None,
    mix: Annotated[
        str | None, typer.Option(metavar="R:W", help="Of the load for --at  [default: 100:0]")
    ] = None,
    size: options.Size = None,
    pages: options.Pages = None,
    precision: options.Precision = None,
    budget: options.Budget = None,
    hwloc_xml: Annotated[
        Path | None,
        typer.Option(
            "--hwloc-xml",
            metavar="FILE",
            help="Write this machine as hwloc XML with the measured values as memory attributes",
        ),
    ] = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure every initiator against every target: idle latency, peak bandwidth, loaded latency.

    The thread count that a peak needs is looked for, and shown beside it. What firmware claims
    (SLIT distances, HMAT latencies and bandwidths) is set beside what was measured.

    \b
    Examples:
      tierscope matrix
      tierscope matrix --op read,write,copy,rmw --threads 1..all
      tierscope matrix --from node:0 --to node:0,node:2 --at 10,50
      tierscope matrix --hwloc-xml machine.xml && lstopo --input machine.xml --memattrs
    """
    from tierscope.cli.matrix_flow import measure_matrix

    measure_matrix(options.given(locals()), hwloc_xml, options.Output(json, dry_run, out))
