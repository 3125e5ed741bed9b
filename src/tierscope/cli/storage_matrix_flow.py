"""From the options of ``tierscope storage --matrix`` to its tables."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from tierscope.cli.flow import carry_out
from tierscope.cli.options import Output
from tierscope.cli.run_flow import time_limit_seconds
from tierscope.cli.storage_flow import Asked, found_path, given_of, machine_of
from tierscope.model.endpoint import Target
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.fit import check_memory, fit_time
from tierscope.recipes.storage_matrix import matrix, readable
from tierscope.topology.settings import thp_available

_PSEUDO = ("tmpfs", "ramfs", "overlay", "squashfs", "iso9660", "devtmpfs")
"""Mounted file systems that are on no drive, or that nobody writes to."""
_NAMED = 6
"""Mounts that are named; of more, the number."""


def measure_matrix(asked: Asked, output: Output) -> int:
    """Measure every initiator against every target, and print the matrices and what is lost."""
    topology = machine_of(asked)
    found, left_out = _targets(topology, asked)
    made = matrix(topology, given_of(asked, found), thp_available())
    if asked.time_limit is not None:
        made = replace(made, plan=fit_time(made.plan, time_limit_seconds(asked.time_limit)))
    check_memory(made.plan, topology)

    def show(console: Console, run: Run, path: Path) -> None:
        from tierscope.recipes.storage_matrix_table import show_storage_matrix
        from tierscope.report.run import show_end, show_missing

        show_storage_matrix(console, run, made, left_out)
        show_missing(console, run)
        show_end(console, run, path)

    def more(run: Run) -> dict[str, Any]:
        from tierscope.recipes.storage_matrix_figures import cells_of, matrix_json
        from tierscope.recipes.storage_together_figures import groups_of, together_json

        return {
            "matrix": matrix_json(cells_of(run, made)),
            "together": together_json(groups_of(run, made)),
            "left_out": left_out,
        }

    return carry_out("storage-matrix", made.plan, topology, output, show=show, more=more)


def _targets(topology: Topology, asked: Asked) -> tuple[list[tuple[Target, PathFacts]], list[str]]:
    """Return the targets, and what of the machine is left out where none were named."""
    if asked.paths:
        return [found_path(path) for path in dict.fromkeys(asked.paths)], []
    found: list[tuple[Target, PathFacts]] = []
    left_out: list[str] = []
    for path in readable(topology):
        try:
            found.append(found_path(path))
        except UserError as error:
            left_out.append(str(error))
    if not found:
        why = f" ({'; '.join(left_out)})" if left_out else ""
        raise UserError(
            f"no drive or array of this machine can be read{why}: name a directory or a file, or "
            "run as root",
            ExitCode.NOTHING_MEASURED,
        )
    return found, [*left_out, *_mounts(topology)]


def _mounts(topology: Topology) -> Iterator[str]:
    """Say which mounts were not measured, the first one of each block device."""
    first = {mount.block or mount.path: mount for mount in reversed(topology.mounts)}
    paths = sorted(mount.path for mount in first.values() if mount.type not in _PSEUDO)
    if paths:
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        yield (
            f"file systems are measured where they are named, since a file is made there: "
            f"{', '.join(paths[:_NAMED])}{more}"
        )
