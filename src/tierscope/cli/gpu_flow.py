"""From the options of ``tierscope gpu`` to tables."""

import os
import sys
from pathlib import Path

import click
from rich.console import Console

from tierscope.cli.flow import carry_out
from tierscope.cli.options import Output
from tierscope.engine.query import capabilities
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.fit import check_memory
from tierscope.plans.gpu import gpu_numbered, require_gpus
from tierscope.plans.grammar import expand_counts
from tierscope.topology.discover import discover


def measure_tour(gpus: str | None, trace: bool, output: Output) -> int:
    """``tierscope gpu`` without a command."""
    from tierscope.recipes.gpu_tour import plan_of, tour
    from tierscope.recipes.gpu_tour_report import show_tour
    from tierscope.report.run import show_end, show_missing

    topology = gpu_topology(output.dry_run)
    steps = tour(topology, _chosen(topology, gpus), trace)
    plan = plan_of(steps)
    check_memory(plan, topology)

    def show(console: Console, run: Run, path: Path) -> None:
        show_tour(console, run, steps)
        show_missing(console, run)
        show_end(console, run, path)

    return carry_out("gpu", plan, topology, output, show=show)


def gpu_topology(dry_run: bool = False) -> Topology:
    """This machine; raises UserError (exit code 3) where the engine can use no GPU on it.

    A dry run needs none: without a GPU, its plan is for a machine with one.
    """
    if dry_run:
        topology = discover()
        if topology.gpus:
            return topology
        click.echo("tierscope: no GPU was found; this is the plan for one GPU", err=True)
        return topology.model_copy(update={"gpus": [Gpu(index=0, name="", address="")]})
    _find_cupti()
    gpu = next(entry for entry in capabilities().capabilities if entry.name == "gpu")
    if not gpu.available:
        raise UserError(
            f"no GPU can be used: {gpu.reason}; {gpu.remedy}", ExitCode.NOTHING_MEASURED
        )
    topology = discover()
    require_gpus(topology)
    return topology


def _find_cupti() -> None:
    """Tell the engine of a CUPTI that came as a Python package, where there is one."""
    for entry in sys.path:
        folder = Path(entry, "nvidia/cu13/lib")
        if (folder / "libcupti.so.13").is_file():
            os.environ.setdefault("TIERSCOPE_CUPTI", str(folder))
            return


def _chosen(topology: Topology, gpus: str | None) -> list[Gpu]:
    if gpus is None or gpus.strip() == "all":
        return topology.gpus
    try:
        numbers = sorted(expand_counts(gpus, len(topology.gpus) - 1, minimum=0))
    except UserError as error:
        raise UserError(f"--gpus: {error}") from None
    return [gpu_numbered(topology, number) for number in numbers]
