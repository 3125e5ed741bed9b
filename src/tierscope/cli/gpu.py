"""``tierscope gpu``."""

from typing import Annotated

import typer

from tierscope.cli import options

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Trace = Annotated[
    bool, typer.Option("--trace", help="Show where the time went: calls, copies, kernels (CUPTI)")
]
Engine = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="ce (copy engine), sm (kernel), tma  [default: ce]"),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Host memory: pinned, write-combined, registered, pageable, managed, "
        "managed-prefetch, managed-advised  [default: pinned]",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(metavar="SIZES", help="Bytes of one copy, as in 4..4g*4  [default: 512m]"),
]
Side = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Between GPUs: read (by the destination's GPU) or write  [default: read]",
    ),
]
BothWays = Annotated[
    bool, typer.Option("--both-ways", help="With the opposite direction at the same time")
]


@app.callback()
def gpu(
    context: typer.Context,
    gpus: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Numbers from 0 on, as in 0,2 or 0..3  [default: all]"),
    ] = None,
    trace: Trace = False,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure GPUs: from the naive copy to the best one, and what is left on the table.

    Without a command: pageable and pinned memory, small and large copies, every NUMA node, copy
    engine and kernel, both directions; under half a minute for each GPU.

    \b
    Examples:
      tierscope gpu
      tierscope gpu --gpus 0 --trace
      tierscope gpu copy --from node:0 --to gpu:0 --size 4..1g*4
      tierscope gpu matrix --both-ways
    """
    if context.invoked_subcommand is None:
        from tierscope.cli.gpu_flow import measure_story

        measure_story(gpus, trace, options.Output(json, dry_run, out))


@app.command()
def copy(
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACES", help="node:0, gpu:1, node:*, gpu:*, all"),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="PLACES", help="The same")] = None,
    engine: Engine = None,
    memory: Memory = None,
    pages: options.Pages = None,
    size: Size = None,
    streams: Annotated[
        str | None,
        typer.Option(metavar="COUNTS", help="CUDA streams that share a copy, as in 1..8"),
    ] = None,
    side: Side = None,
    rows: Annotated[
        str | None, typer.Option(metavar="ROW:PITCH", help="Strided (2D) copies, as in 4k:8k")
    ] = None,
    both_ways: BothWays = False,
    trace: Trace = False,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure copies between places: host memory of any kind on any node, and GPUs.

    \b
    Examples:
      tierscope gpu copy
      tierscope gpu copy --from gpu:0 --to node:* --memory pinned,pageable
      tierscope gpu copy --from node:0 --to gpu:0 --size 4..4g*4 --engine ce,sm
      tierscope gpu copy --from gpu:0 --to gpu:1 --side read,write --both-ways
    """
    from tierscope.cli.gpu_flow import measure_request

    given = options.given(locals()) | options.flags(both_ways=both_ways, trace=trace)
    measure_request("gpu-copy", "gpu-copy", given, options.Output(json, dry_run, out))


@app.command()
def matrix(
    engine: Engine = None,
    memory: Memory = None,
    size: Size = None,
    side: Side = None,
    both_ways: BothWays = False,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure every pair of host nodes and GPUs, one pair at a time.

    \b
    Examples:
      tierscope gpu matrix
      tierscope gpu matrix --engine ce,sm --side read,write
      tierscope gpu matrix --both-ways --json
    """
    from tierscope.cli.gpu_flow import measure_request

    given = options.given(locals()) | {"from": "all", "to": "all"}
    given |= options.flags(both_ways=both_ways)
    measure_request("gpu-copy", "gpu-matrix", given, options.Output(json, dry_run, out))


@app.command()
def together(
    set_: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="LIST",
            help="host-to-all, all-to-host, all-and-host, one-to-all, all-to-one, all-to-all "
            "[default: all of them]",
        ),
    ] = None,
    engine: Engine = None,
    size: Size = None,
    trace: Trace = False,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure copies that run at once, each contested to its end.

    Each transfer's rate is that of its own bytes, while all others are under way. Sets that GPUs
    serve in turn are measured until all bytes are moved.

    \b
    Examples:
      tierscope gpu together
      tierscope gpu together --set all-to-host --engine ce,sm
    """
    from tierscope.cli.gpu_flow import measure_request

    given = options.given(locals()) | options.flags(trace=trace)
    measure_request("gpu-together", "gpu-together", given, options.Output(json, dry_run, out))


@app.command()
def memory(
    from_: Annotated[
        str | None, typer.Option("--from", metavar="GPUS", help="gpu:0 or gpu:*  [default: gpu:*]")
    ] = None,
    op: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="read, write, copy, scale, add, triad, random"),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Bytes of each array, as in 1m..4g  [default: 1g]"),
    ] = None,
    access_size: Annotated[
        str | None, typer.Option(metavar="SIZES", help="Bytes of a random access  [default: 32]")
    ] = None,
    trace: Trace = False,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure the bandwidth of GPUs' own memory; small arrays show the L2.

    \b
    Examples:
      tierscope gpu memory
      tierscope gpu memory --op read --size 1m..4g
      tierscope gpu memory --op random --access-size 32..128 --from gpu:0
    """
    from tierscope.cli.gpu_flow import measure_request

    given = options.given(locals()) | options.flags(trace=trace)
    measure_request("gpu-memory", "gpu-memory", given, options.Output(json, dry_run, out))


@app.command()
def latency(
    from_: Annotated[
        str | None, typer.Option("--from", metavar="GPUS", help="gpu:0 or gpu:*  [default: gpu:*]")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="PLACES", help="gpu:0, node:0, ...  [default: gpu:*,node:*]"),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="LIST", help="sm (loads), tma  [default: sm]")
    ] = None,
    memory: Memory = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="Working set, as in 16k..1g  [default: 1g, 64m of the host]"
        ),
    ] = None,
    stride: Annotated[
        str | None,
        typer.Option(metavar="SIZES", help="Bytes from one access to the next  [default: 128]"),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="random (one cycle), linear  [default: random]"),
    ] = None,
    per_sm: Annotated[
        bool, typer.Option("--per-sm", help="Percentiles over the GPU's multiprocessors")
    ] = False,
    every_sm: Annotated[
        bool, typer.Option("--every-sm", help="The mean over all multiprocessors, not one's")
    ] = False,
    trace: Trace = False,
    precision: options.Precision = None,
    budget: options.Budget = None,
    sample: options.Sample = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure a GPU's dependent loads from its L1, L2 and memory, a peer's and the host's.

    \b
    Examples:
      tierscope gpu latency
      tierscope gpu latency --from gpu:0 --to gpu:0 --size 16k..1g
      tierscope gpu latency --to gpu:0 --size 4m --per-sm
    """
    from tierscope.cli.gpu_flow import measure_request

    given = options.given(locals()) | options.flags(per_sm=per_sm, every_sm=every_sm, trace=trace)
    measure_request("gpu-latency", "gpu-latency", given, options.Output(json, dry_run, out))
