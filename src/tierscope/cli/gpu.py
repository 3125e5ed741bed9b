"""``tierscope gpu``: a tour of GPUs."""

from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.commands import gpu_entries
from tierscope.cli.measure import carry_out, gpu_topology, with_verdict
from tierscope.cli.output import Output
from tierscope.cli.parsing import LazyGroup
from tierscope.plans.grammar import expand_counts

if TYPE_CHECKING:
    from tierscope.model.topology import Gpu, Topology


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
def gpu(context: click.Context, gpus: str | None, trace: bool, output: Output) -> int | None:
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
    from tierscope.plans.fit import check_memory
    from tierscope.suites.gpu_tour import plan_of, show_tour, tour

    topology = gpu_topology(output.dry_run)
    steps = tour(topology, _chosen(topology, gpus), trace)
    plan = plan_of(steps)
    check_memory(plan, topology)
    show = with_verdict(lambda console, run: show_tour(console, run, steps))
    return carry_out("gpu", plan, topology, output, show=show)


def _chosen(topology: "Topology", gpus: str | None) -> "list[Gpu]":
    from tierscope.plans.gpu import gpu_numbered

    if gpus is None or gpus.strip() == "all":
        return topology.gpus
    with options.blaming("--gpus"):
        numbers = sorted(expand_counts(gpus, len(topology.gpus) - 1, minimum=0))
    return [gpu_numbered(topology, number) for number in numbers]
