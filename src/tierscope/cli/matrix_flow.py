"""From the options of ``tierscope matrix`` to its tables."""

from pathlib import Path

from tierscope.cli.flow import carry_out, planned
from tierscope.cli.options import Output
from tierscope.model.run import Run
from tierscope.plans.matrix import MATRIX_POINTS, matrix_requests, parse_rates
from tierscope.runs.refine import further_seconds, refinement
from tierscope.topology import discover


def measure_matrix(given: dict[str, str], hwloc_xml: Path | None, output: Output) -> None:
    """Measure each pair of initiator and target, print matrices, write the hwloc XML asked for."""
    if hwloc_xml:
        from tierscope.recipes.hwloc_xml import check_hwloc_xml

        check_hwloc_xml(hwloc_xml)
    at = given.get("at")
    rates = parse_rates(at) if at is not None else []
    options = {name: value for name, value in given.items() if name != "at"}
    topology = discover()
    plan = planned(matrix_requests(options, loaded=bool(rates)), topology)

    def keep(run: Run) -> None:
        if hwloc_xml:
            from tierscope.engine.query import topology_xml
            from tierscope.recipes.hwloc_xml import write_hwloc_xml

            write_hwloc_xml(topology_xml(), run, hwloc_xml)

    def show(console: object, run: Run, path: Path) -> None:
        from rich.console import Console

        from tierscope.recipes.matrix_table import show_matrix

        assert isinstance(console, Console)
        show_matrix(console, run, path, rates)

    carry_out(
        "matrix",
        plan,
        topology,
        output,
        show=show,
        refine=refinement(plan, MATRIX_POINTS, rates),
        further_s=further_seconds(plan, MATRIX_POINTS),
        keep=keep,
    )
