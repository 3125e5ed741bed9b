"""``tierscope fleet run``: from the options to the table of hosts."""

import secrets
import sys
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import click

from tierscope.cli.forms import Forms, emit
from tierscope.cli.run_flow import recipe_of, time_limit_seconds
from tierscope.fleet.index import Index, exit_code, make_folder
from tierscope.fleet.rank import Asked, Rank
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import FleetIndex
from tierscope.model.text import shown
from tierscope.mpi.launcher import end_launcher, launched_rank, warning
from tierscope.plans.grammar import parse_duration
from tierscope.plans.yaml_plan import parse_plan
from tierscope.recipes.cxlbench.workload import is_workload, read_source
from tierscope.runs.store import runs_directory

_MEASURING = [sys.executable, "-m", "tierscope.cli.fleet_host"]
_FEW = 64
"""Hosts up to which their run files are read at once to show what they moved together."""


class Given(NamedTuple):
    """The options, as they were given."""

    plan: Path | None
    profile: str | None
    time_limit: str | None
    one_by_one: bool
    patience: str
    ranks_as_hosts: bool
    dry_run: bool
    out: Path | None


def run_fleet(given: Given, forms: Forms) -> int:
    """Take part in a fleet as this rank; rank 0 prints what became of all hosts."""
    first = not launched_rank()
    now = datetime.now().astimezone()
    try:
        asked = _asked(given, forms, first, now)
    except UserError as error:  # every rank finds the same; one says it
        if first:
            raise
        return int(error.exit_code)
    if first and (warned := warning()):
        click.echo(warned, err=True)
    started = now.isoformat(timespec="seconds")
    index = Index(asked, started, lambda line: click.echo(line, err=True))
    rank = Rank(asked, _MEASURING, index.watch, seed=f"{started} {secrets.token_hex(8)}")
    try:
        with_rank_0 = rank.run()
    except UserError as error:
        if not first and error.exit_code in (ExitCode.REQUEST_WRONG, ExitCode.INTERRUPTED):
            return int(error.exit_code)
        raise
    if rank.coordinator is None:
        return 0 if with_rank_0 else int(ExitCode.SOMETHING_FAILED)
    found = index.finish(rank.coordinator)
    if rank.interrupted:
        return int(ExitCode.INTERRUPTED)
    emit(forms, lambda: found.model_dump_json(indent=2), lambda: _tables(found, asked))
    if rank.coordinator.any_lost:
        sys.stdout.flush()
        end_launcher()
    return 0 if asked.dry_run and _all_can(found) else int(exit_code(found))


def _asked(given: Given, forms: Forms, first: bool, now: datetime) -> Asked:
    if given.plan is not None and given.profile is not None:
        raise UserError("give only one of PLAN.yaml and --profile")
    try:
        patience_s = parse_duration(given.patience, 0.5, 1e6)
    except UserError as error:
        raise UserError(f"--patience: {error}") from None
    directory = given.out or runs_directory().parent / "fleets" / f"{now:%Y%m%d-%H%M%S}"
    text = None
    if first:
        forms.check()
        text = _text(given.plan) if given.plan else None
        _check(given)
        make_folder(directory, given.dry_run)
    return Asked(
        plan=shown(given.plan) if given.plan else given.profile or "quick",
        text=text,
        time_limit=given.time_limit,
        order="one-by-one" if given.one_by_one else "together",
        patience_s=patience_s,
        directory=directory.absolute(),
        command=[shown(word) for word in sys.argv],
        dry_run=given.dry_run,
        ranks_as_hosts=given.ranks_as_hosts,
    )


def _text(plan: Path) -> str:
    text = read_source(plan)
    if text is None or is_workload(text, plan):
        raise UserError(f"'{shown(plan)}' has workloads of CXL-Bench; give a plan of tierscope")
    parse_plan(text, shown(plan))
    return text


def _check(given: Given) -> None:
    """Refuse what no host could do, before any is asked."""
    if given.time_limit is not None:
        time_limit_seconds(given.time_limit)
    if given.profile is not None:
        recipe_of(given.profile)


def _tables(index: FleetIndex, asked: Asked) -> None:
    from tierscope.fleet.at_once import together_of
    from tierscope.report.at_once import show_together
    from tierscope.report.console import make_console
    from tierscope.report.fleet import show_hosts

    console = make_console()
    show_hosts(console, index, asked.dry_run)
    if not asked.dry_run:
        if asked.order == "together" and len(index.hosts) <= _FEW:
            show_together(console, together_of(asked.directory, index))
        click.echo(f"results: {shown(asked.directory)}")


def _all_can(index: FleetIndex) -> bool:
    return all(host.state == "waiting" for host in index.hosts)
