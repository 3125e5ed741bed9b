"""From the options of ``tierscope matrix`` to its tables."""

from pathlib import Path

from rich.console import Console

from tierscope.cli.files import say_written
from tierscope.cli.flow import carry_out, planned, refinement_of
from tierscope.cli.options import Output
from tierscope.cli.run_flow import time_limit_seconds
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.plans.fit import fit_time
from tierscope.recipes import core_matrix, matrix
from tierscope.recipes.matrix_table import show_matrix
from tierscope.runs.output import is_stdout, write_output
from tierscope.topology.discover import discover

_HWLOC = "--hwloc-xml"


def measure_matrix(given: dict[str, str], hwloc_xml: Path | None, output: Output) -> int:
    """Measure each pair of initiator and target, print matrices, write the hwloc XML asked for."""
    output.forms.check({_HWLOC: hwloc_xml})
    for option in core_matrix.OPTIONS:
        if option.name in given:
            raise UserError(f"--{option.name} goes with --cores")
    topology = discover()
    requests = matrix.requests(given)
    plan = planned(requests, topology)
    refinement = refinement_of(requests)

    def show(console: Console, run: Run, path: Path) -> None:
        if not (hwloc_xml and is_stdout(hwloc_xml)):
            show_matrix(console, run, path, refinement.at if refinement else [])

    def keep(run: Run) -> None:
        if hwloc_xml:
            _write_hwloc_xml(run, hwloc_xml)
            say_written("hwloc XML", hwloc_xml, aside=output.forms.printed != "tables")

    return carry_out("matrix", plan, topology, output, refinement, show, keep)


def measure_cores(given: dict[str, str], hwloc_xml: Path | None, output: Output) -> int:
    """Measure all pairs of cores, fitted into a time, and print them."""
    if hwloc_xml:
        raise UserError(f"{_HWLOC} goes with the matrix of nodes, not with --cores")
    topology = discover()
    plan = planned(core_matrix.requests(given, topology), topology)
    limit = given.get("time-limit")
    if limit is None:
        plan = fit_time(plan, core_matrix.SECONDS, strictly=False)
    else:
        plan = fit_time(plan, time_limit_seconds(limit))
    return carry_out("core-matrix", plan, topology, output)


def _write_hwloc_xml(run: Run, path: Path) -> None:
    from tierscope.engine.query import topology_xml
    from tierscope.recipes.hwloc_xml import with_measured

    content = with_measured(topology_xml(), run)
    write_output(path, content, _HWLOC, ExitCode.SOMETHING_FAILED)
