"""From the options of ``tierscope gpu`` to tables."""

import os
import sys
from pathlib import Path

from tierscope.cli.flow import carry_out
from tierscope.cli.options import Output
from tierscope.engine import capabilities
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.plan import Plan
from tierscope.model.topology import Gpu, Topology
from tierscope.plans import check_memory, gpu_expand
from tierscope.plans.gpu_expand import Given
from tierscope.plans.gpu_specs import gpu_numbered, require_gpus
from tierscope.plans.gpu_story import story
from tierscope.plans.grammar import expand_counts
from tierscope.topology import discover


def measure_story(gpus: str | None, trace: bool, output: Output) -> None:
    """``tierscope gpu`` without a command."""
    from tierscope.report.gpu_story import show_story
    from tierscope.report.run import show_end, show_missing

    topology = gpu_topology()
    chosen = _chosen(topology, gpus)

    def show(console: object, run: object, path: Path) -> None:
        show_story(console, run)  # type: ignore[arg-type]
        show_missing(console, run)  # type: ignore[arg-type]
        show_end(console, run, path)  # type: ignore[arg-type]

    carry_out("gpu", _checked(story(topology, chosen, trace), topology), topology, output, show)


def measure_copies(label: str, given: Given, both_ways: bool, trace: bool, output: Output) -> None:
    """``tierscope gpu copy`` and ``matrix``."""
    topology = gpu_topology()
    plan = gpu_expand.copies(topology, given, both_ways=both_ways, trace=trace)
    carry_out(label, _checked(plan, topology), topology, output)


def measure_sets(given: Given, trace: bool, output: Output) -> None:
    """``tierscope gpu together``."""
    topology = gpu_topology()
    plan = gpu_expand.together(topology, given, trace=trace)
    carry_out("gpu-together", _checked(plan, topology), topology, output)


def measure_memory(given: Given, trace: bool, output: Output) -> None:
    """``tierscope gpu memory``."""
    topology = gpu_topology()
    plan = gpu_expand.memory(topology, given, trace=trace)
    carry_out("gpu-memory", plan, topology, output)


def measure_latency(given: Given, per_sm: bool, trace: bool, output: Output) -> None:
    """``tierscope gpu latency``."""
    topology = gpu_topology()
    plan = gpu_expand.latency(topology, given, per_sm=per_sm, trace=trace)
    carry_out("gpu-latency", _checked(plan, topology), topology, output)


def gpu_topology() -> Topology:
    """This machine; raises UserError (exit code 3) where the engine can use no GPU on it."""
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
    if gpus is None:
        return topology.gpus
    try:
        # expand_counts takes numbers from 1, indices begin at 0
        numbers = [0] if gpus.strip() == "0" else sorted({*_indices(gpus)})
    except UserError as error:
        raise UserError(f"--gpus: {error}") from None
    return [gpu_numbered(topology, number) for number in numbers]


def _indices(text: str) -> list[int]:
    found = []
    for part in text.split(","):
        if part.strip() == "0":
            found.append(0)
        else:
            found += expand_counts(part, 1024)
    return found


def _checked(plan: Plan, topology: Topology) -> Plan:
    check_memory(plan, topology)
    return plan
