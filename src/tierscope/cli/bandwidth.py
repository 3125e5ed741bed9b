"""``tierscope bandwidth``."""

from typing import Annotated

import typer

from tierscope.cli import options


def bandwidth(
    from_: options.From = None,
    to: options.To = None,
    op: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="read, write, write-nt, copy, copy-nt, scale, add, triad, rmw  [default: read]",
        ),
    ] = None,
    pin: options.Pin = None,
    threads: Annotated[
        str | None,
        typer.Option(metavar="COUNTS", help="Such as 1..8 or 1..all*2  [default: all]"),
    ] = None,
    access_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="Bytes an access touches at once, a multiple of 64  [default: 64]"
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="sequential, reverse, strided, random  [default: sequential]"
        ),
    ] = None,
    stride: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Bytes between accesses of order strided, as in 4k"),
    ] = None,
    size: options.Size = None,
    pages: options.Pages = None,
    isa: options.Isa = None,
    policy: options.Policy = None,
    mechanism: options.Mechanism = None,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure the bandwidth of CPUs to memory.

    Every option takes a value, a list or a range, so that one command is a sweep: sizes double
    (64..64k), counts go up by one (1..8), and *N or +N sets another step (1..64*2).

    \b
    Examples:
      tierscope bandwidth --op read,write,copy,triad --threads 1..all
      tierscope bandwidth --from node:0 --to node:1 --op read
      tierscope bandwidth --order random --access-size 64..64k --threads 1..8
      tierscope bandwidth --to node:0,1@3:1,node:0,1 --op read,triad --json
    """
    from tierscope.cli.flow import measure_options

    measure_options("bandwidth", options.given(locals()), options.Output(json, dry_run, out))
