"""Reading of kept runs, shared by several commands."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli.output import waiting
from tierscope.model.errors import UserError, shown

if TYPE_CHECKING:
    from tierscope.analysis.concurrent import Together
    from tierscope.model.run import Run


def refuse_imported(run: "Run", path: Path, why: str) -> None:
    """Raise UserError, with the reason, where another program measured a run."""
    if run.header.imported:
        raise UserError(
            f"run '{shown(path)}' is imported, {run.header.imported.program} measured it; {why}"
        )


def check_one_machine(runs: "Iterable[Run]", why: str) -> None:
    """Raise UserError, with the reason, where runs are of several machines."""
    hosts = list(dict.fromkeys(run.header.host for run in runs))
    if len(hosts) > 1:
        raise UserError(
            f"the runs are of several machines, {' and '.join(map(shown, hosts))}; {why}"
        )


def say_left_out(problems: Iterable[str]) -> None:
    """Say which files were left out, and why."""
    for problem in problems:
        click.echo(f"tierscope: left out: {problem}", err=True)


def runs_at(paths: Sequence[Path]) -> "list[tuple[str, Run]]":
    """Read runs, each with the name to call it by."""
    from tierscope.runs.read import read_run

    with waiting("reading runs"):
        return [(shown(path.stem), read_run(path)) for path in paths]


def together_of(paths: Sequence[Path], runs: "Sequence[tuple[str, Run]]") -> "list[Together]":
    """Return the runs of several hosts that began at the same moment, beside those alone."""
    from tierscope.analysis.concurrent import NamedRun, together
    from tierscope.runs.schedule import spans_of

    if all(run.header.start_at is None for _, run in runs):
        return []
    named = [
        NamedRun(name, run, spans_of(path)) for path, (name, run) in zip(paths, runs, strict=True)
    ]
    return together(named)
