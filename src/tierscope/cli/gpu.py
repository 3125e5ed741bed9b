"""``tierscope gpu``."""

from datetime import datetime
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.commands import gpu_entries
from tierscope.cli.group import LazyGroup


@click.group(
    cls=LazyGroup,
    entries=gpu_entries(),
    invoke_without_command=True,
    context_settings=options.SETTINGS,
)
@click.option("--gpus", metavar="LIST", help="Numbers from 0 on, as in 0,2 or 0..3  [default: all]")
@click.option(
    "--trace", is_flag=True, help="Show where the time went: calls, copies, kernels (CUPTI)"
)
@options.output_options
@click.pass_context
def gpu(
    context: click.Context,
    gpus: str | None,
    trace: bool,
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
) -> int | None:
    """Measure GPUs: from the naive copy to the best one, and what lies between them.

    Without a command: pageable and pinned memory, small and large copies, every NUMA node, copy
    engine and kernel, both directions; under half a minute for each GPU.

    \b
    Examples:
      tierscope gpu
      tierscope gpu --gpus 0 --trace
      tierscope gpu copy --from node:0 --to gpu:0 --size 4..1g*4
      tierscope gpu matrix --both-ways
    """
    if context.invoked_subcommand is not None:
        options.refuse_given(context, f"give it after '{context.invoked_subcommand}'")
        return None
    from tierscope.cli.gpu_flow import measure_tour

    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    return measure_tour(gpus, trace, output)
