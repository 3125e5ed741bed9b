"""``tierscope place weights``."""

from datetime import datetime
from pathlib import Path

import click

from tierscope.cli import options
from tierscope.cli.generated import given_options, parameter
from tierscope.recipes.place_options import OPTIONS


@options.command(params=[parameter(option) for option in OPTIONS])
@click.option(
    "--run",
    "run",
    metavar="RUN",
    shell_complete=options.complete_run,
    help="Decide from a run: one of 'expand', or one with each node's bandwidth",
)
@click.option(
    "--use",
    metavar="TARGET",
    help="Use these weights, whatever is best, as in node:0,2@3:1",
)
@click.option("--apply", "apply", is_flag=True, help="Write the kernel's weights (needs root)")
@click.option(
    "--revert", is_flag=True, help="Restore the weights and the mode that --apply replaced"
)
@options.output_options
def weights(
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
    run: str | None,
    use: str | None,
    apply: bool,
    revert: bool,
    **given: str | bool | None,
) -> int:
    """Find the interleave weights with the most bandwidth, and apply them.

    It measures each node, predicts the best shares of pages, measures those and others about them,
    and says whether spreading pages pays. The kernel has one table of weights for the whole machine
    (Linux 6.9); programs use it with numactl --weighted-interleave. With several initiators, as
    in --from node:*, the weights are those with which the worst-off initiator loses least.

    \b
    Examples:
      tierscope place weights
      tierscope place weights --to node:0,2 --mix 50:50 --apply
      tierscope place weights --run last --apply
      tierscope place weights --revert
    """
    from tierscope.cli.place_weights_flow import Asked, place_weights, revert_weights

    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    if revert:
        context = click.get_current_context()
        options.refuse_given(
            context, "--revert goes alone, with --json", *_others(context, "revert", "json")
        )
        return revert_weights(output.forms)
    return place_weights(Asked(given_options(OPTIONS, given), run, use, apply), output)


def _others(context: click.Context, *names: str) -> list[str]:
    return [one.name for one in context.command.params if one.name and one.name not in names]
