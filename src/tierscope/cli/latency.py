"""``tierscope latency``."""

from typing import Annotated

import typer

from tierscope.cli import options


def latency(
    from_: options.From = None,
    to: options.To = None,
    size: options.Size = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="random, or page-random, which holds TLB misses apart  [default: random]",
        ),
    ] = None,
    stride: options.Stride = None,
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
    """Measure the idle latency of dependent loads, by the first CPU of each initiator.

    A range of sizes shows the caches' plateaus, which are set beside the sizes that the system
    names.

    \b
    Examples:
      tierscope latency --size 4k..1g
      tierscope latency --from node:0 --to node:* --size 1g --pages thp,base
      tierscope latency --from cpus:3 --order random,page-random --json
    """
    from tierscope.cli.flow import measure_options

    measure_options("latency", options.given(locals()), options.Output(json, dry_run, out))
