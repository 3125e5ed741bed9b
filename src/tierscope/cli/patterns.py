"""``tierscope streams``, ``tierscope atomics`` and ``tierscope mapping``."""

from typing import Annotated

import typer

from tierscope.cli import options

Threads = Annotated[
    str | None, typer.Option(metavar="COUNTS", help="Such as 1..8 or 1..all*2  [default: all]")
]


def streams(
    from_: options.From = None,
    to: options.To = None,
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Reads:writes, with nt, clwb or clflushopt  [default: 100:0]",
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="STREAMS",
            help="Others at the same time: 'to=node:2 mix=0:100nt; from=node:1 threads=2'",
        ),
    ] = None,
    threads: Threads = None,
    pin: options.Pin = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="sequential, random, zipf  [default: sequential]"),
    ] = None,
    zipf_alpha: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Of order zipf, above 0, at most 10  [default: 0.9]"),
    ] = None,
    access_size: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Bytes an access touches at once  [default: 1k]"),
    ] = None,
    prefetch: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Bytes that a software prefetch runs ahead, at most 1m  [default: 0]",
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="NS", help="Least time from one access of a thread to its next  [default: 0]"
        ),
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
    """Measure streams of mixed reads and writes, several different ones at once if asked.

    All pass one gate and stop together; each has its own figure.

    \b
    Examples:
      tierscope streams --mix 100:0,67:33,50:50,0:100,0:100nt,0:100clwb
      tierscope streams --mix 100:0 --beside "mix=0:100nt"
      tierscope streams --order random,zipf --access-size 64..4k --threads 1..all*2
      tierscope streams --prefetch 64,256,1k,4k --threads 1
      tierscope streams --to node:0 --beside "name=cxl to=node:2 threads=4"
    """
    from tierscope.cli.flow import measure_options

    measure_options("streams", options.given(locals()), options.Output(json, dry_run, out))


def atomics(
    from_: options.From = None,
    to: options.To = None,
    op: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="fetch-and-add, compare-and-swap  [default: fetch-and-add]"
        ),
    ] = None,
    shared: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="no: each thread its own counters; yes: all the same  [default: no]",
        ),
    ] = None,
    threads: Threads = None,
    pin: options.Pin = None,
    size: options.Size = None,
    pages: options.Pages = None,
    policy: options.Policy = None,
    mechanism: options.Mechanism = None,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure atomic updates a second, contended or not.

    \b
    Examples:
      tierscope atomics --op fetch-and-add,compare-and-swap --shared no,yes
      tierscope atomics --shared yes --threads 1..all*2
      tierscope atomics --to node:2 --size 64m
    """
    from tierscope.cli.flow import measure_options

    measure_options("atomics", options.given(locals()), options.Output(json, dry_run, out))


def mapping(
    from_: options.From = None,
    to: options.To = None,
    sharing: Annotated[str | None, typer.Option(metavar="LIST", help="private, shared")] = None,
    size: options.Size = None,
    pages: options.Pages = None,
    policy: options.Policy = None,
    precision: options.Precision = None,
    budget: options.Budget = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure what it costs to map, populate and unmap memory.

    \b
    Examples:
      tierscope mapping --pages base,thp --sharing private,shared
      tierscope mapping --to node:* --pages base --size 1g
    """
    from tierscope.cli.flow import measure_options

    measure_options("mapping", options.given(locals()), options.Output(json, dry_run, out))
