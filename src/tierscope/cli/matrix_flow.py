"""From the options of ``tierscope matrix`` to its tables."""

from pathlib import Path

from rich.console import Console

from tierscope.cli.files import check_writable, write_file
from tierscope.cli.flow import carry_out, planned
from tierscope.cli.options import Output
from tierscope.model.errors import ExitCode
from tierscope.model.run import Run
from tierscope.plans.matrix import MATRIX_POINTS, matrix_requests, parse_rates
from tierscope.report.matrix import show_matrix
from tierscope.runs.refine import further_seconds, refinement
from tierscope.topology.discover import discover

_HWLOC = "--hwloc-xml"


def measure_matrix(given: dict[str, str], hwloc_xml: Path | None, output: Output) -> int:
    """Measure each pair of initiator and target, print matrices, write the hwloc XML asked for."""
    if hwloc_xml:
        check_writable(hwloc_xml, _HWLOC)
    at = given.get("at")
    rates = parse_rates(at) if at is not None else []
    options = {name: value for name, value in given.items() if name != "at"}
    topology = discover()
    plan = planned(matrix_requests(options, loaded=bool(rates)), topology)

    def show(console: Console, run: Run, path: Path) -> None:
        show_matrix(console, run, path, rates)

    def keep(run: Run) -> None:
        if hwloc_xml:
            _write_hwloc_xml(run, hwloc_xml)

    return carry_out(
        "matrix",
        plan,
        topology,
        output,
        show=show,
        refine=refinement(plan, MATRIX_POINTS, rates),
        further_s=further_seconds(plan, MATRIX_POINTS),
        keep=keep,
    )


def _write_hwloc_xml(run: Run, path: Path) -> None:
    from tierscope.engine.query import topology_xml
    from tierscope.report.hwloc_xml import with_measured

    content = with_measured(topology_xml(), run)
    write_file(path, content, _HWLOC, ExitCode.SOMETHING_FAILED)
