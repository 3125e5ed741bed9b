"""``tierscope loaded-latency``."""

from typing import Annotated

import typer

from tierscope.cli import options


def loaded_latency(
    from_: options.From = None,
    to: options.To = None,
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Reads:writes of the load, nt for non-temporal stores  [default: 100:0]",
        ),
    ] = None,
    load_from: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINTS", help="CPUs that load  [default: --from, less the chase's core]"
        ),
    ] = None,
    load_to: Annotated[
        str | None, typer.Option(metavar="ENDPOINTS", help="Memory loaded  [default: --to]")
    ] = None,
    load_threads: Annotated[
        str | None, typer.Option(metavar="COUNT", help="CPUs that load  [default: all]")
    ] = None,
    load_order: Annotated[
        str | None, typer.Option(metavar="LIST", help="sequential, random  [default: sequential]")
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Loaded points of each curve, 6 to 200  [default: 12]"),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="Bytes of the chase, as in 1g  [default: past the caches]"
        ),
    ] = None,
    load_size: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Bytes of the load's array  [default: past the caches]"),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Of the chase: random, page-random  [default: random]"),
    ] = None,
    stride: options.Stride = None,
    pages: options.Pages = None,
    policy: options.Policy = None,
    mechanism: options.Mechanism = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="95% interval's half-width to reach, at most 50%  [default: 2%]"
        ),
    ] = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure latency under load: a curve over the bandwidth that others move meanwhile.

    The first CPU of each initiator chases pointers while the other CPUs read and write at a rate
    that goes up from point to point. Points gather where the curve bends; idle controls stand
    between them. Another initiator or target for the load shows what tiers do to each other.

    \b
    Examples:
      tierscope loaded-latency
      tierscope loaded-latency --mix 100:0,75:25,67:33,50:50,67:33nt
      tierscope loaded-latency --from node:0 --to node:2 --load-to node:0
      tierscope loaded-latency --to node:* --points 20 --json
    """
    from tierscope.cli.flow import measure_options

    measure_options("loaded-latency", options.given(locals()), options.Output(json, dry_run, out))
