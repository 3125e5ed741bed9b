"""CXL-Bench's workload files as plans of ``tierscope run``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tierscope.cli.output import Output
from tierscope.model.errors import UserError

RUN_OPTIONS = (
    click.option(
        "--fit",
        is_flag=True,
        help="CXL-Bench files: reduce regions, threads and times to what this machine has",
    ),
    click.option(
        "--map-nodes",
        "map_nodes",
        metavar="OLD=NEW",
        multiple=True,
        help="CXL-Bench files: use node NEW for node or DAX device OLD, as in 8=4,dax2.0=4",
    ),
    click.option(
        "--destroy-data",
        metavar="LIST",
        help="CXL-Bench files: overwrite these DAX devices, as in dax2.0",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "cxlbench"]),
        default="table",
        help="cxlbench: the JSON of CXL-Bench's results, for its plotting scripts  "
        "[default: table]",
    ),
)


def reads(text: str | None, path: Path) -> bool:
    """Whether a plan is a workload file, or a folder (no text) of them."""
    from tierscope.peers.cxlbench.workload import is_workload

    return is_workload(text, path)


def refuse(given: Mapping[str, Any]) -> None:
    """Raise UserError where an option was given that goes with workload files only."""
    named = {
        "--fit": given["fit"],
        "--map-nodes": given["map_nodes"],
        "--destroy-data": given["destroy_data"],
        "--format": given["form"] != "table",
    }
    for name, value in named.items():
        if value:
            raise UserError(f"{name} goes with workload files of CXL-Bench only")


def measure(path: Path, text: str | None, given: dict[str, Any], output: Output) -> int:
    """Measure a workload file, or all of a folder; returns the exit status.

    ``given`` are the options of ``RUN_OPTIONS``, and ``machine``, ``time_limit`` and ``storage``.
    """
    from tierscope.peers.cxlbench.run import measure_workload

    return measure_workload(path, text, output, **given)
