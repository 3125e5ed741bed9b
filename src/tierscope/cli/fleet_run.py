"""``tierscope fleet run``: a plan on all hosts of an MPI job."""

import secrets
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tierscope.cli import options
from tierscope.cli.measure import time_limit_seconds
from tierscope.cli.output import Output
from tierscope.cli.run import suite_of
from tierscope.model.errors import ExitCode, UserError, shown
from tierscope.plans.grammar import parse_duration
from tierscope.runs.store import runs_directory

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.fleet.rank import Args
    from tierscope.model.fleet import FleetIndex

_MEASURING = [sys.executable, "-m", "tierscope.cli.fleet_host"]
_OTHER_RANKS = 0
"""Exit status of all ranks but rank 0, whose own covers all hosts. Open MPI 5 ends every rank once
one returns another status, also with ``--enable-recovery``."""
_FEW = 64
"""Hosts up to which their run files are read at once to show what they moved together."""


@options.command("run")
@click.argument("plan", metavar="[PLAN.yaml]", type=options.PATH, required=False)
@click.option("--profile", metavar="NAME", help="A profile, as of run  [default: quick]")
@click.option(
    "--time-limit",
    metavar="TIME",
    help="Fit each host's run into this time, as in 2min  [default: the profile's or the plan's]",
)
@click.option("--one-by-one", is_flag=True, help="Measure one host after the other, not together")
@click.option(
    "--patience",
    metavar="TIME",
    default="2min",
    help="Drop a host that others wait for longer than this  [default: 2min]",
)
@click.option(
    "--ranks-as-hosts",
    is_flag=True,
    help="For trials: treat each rank as a host, HOST-RANK, even on a shared machine",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Check the plan on every host and list those that can run it",
)
@options.out_option("DIR", "Folder of the results  [default: a new one in the data directory]")
@options.json_option
def run(output: Output, **given: Any) -> int:
    """Measure a plan or profile on all hosts of an MPI job, one rank a host.

    All hosts begin each repetition together, on the clock of rank 0. Start it with mpirun or srun.

    \b
    Examples:
      mpirun --enable-recovery --map-by ppr:1:node tierscope fleet run plan.yaml --out fleet
      srun --ntasks-per-node=1 tierscope fleet run --profile quick --time-limit 1min
      mpirun -n 2 tierscope fleet run --ranks-as-hosts --one-by-one --time-limit 20s
      tierscope fleet run --profile standard --dry-run
    """
    return _run_fleet(Given(**given), output)


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


def _run_fleet(given: Given, output: Output) -> int:
    """Take part in a fleet as this rank; rank 0 prints what became of all hosts."""
    from tierscope.fleet.index import Index, exit_code
    from tierscope.fleet.rank import Rank
    from tierscope.machine.launcher import end_launcher, launched_rank, warning

    first = not launched_rank()
    now = datetime.now().astimezone()
    try:
        args = _args(given, output, first, now)
    except UserError:  # every rank finds the same; one says it
        if first:
            raise
        return _OTHER_RANKS
    if first and (warned := warning()):
        click.echo(warned, err=True)
    started = now.isoformat(timespec="seconds")
    index = Index(args, started, lambda line: click.echo(line, err=True))
    rank = Rank(args, _MEASURING, index.watch, seed=f"{started} {secrets.token_hex(8)}")
    try:
        rank.run()
    except UserError as error:
        if not first and error.exit_code is not ExitCode.NOTHING_MEASURED:
            return _OTHER_RANKS
        raise
    if rank.coordinator is None:
        return _OTHER_RANKS
    found = index.finish(rank.coordinator)
    if rank.interrupted:
        return int(ExitCode.INTERRUPTED)
    output.emit(
        lambda: found.model_dump_json(indent=2), lambda console: _tables(console, found, args)
    )
    if rank.coordinator.any_lost:
        sys.stdout.flush()
        end_launcher()
    all_can = all(host.state == "waiting" for host in found.hosts)
    return 0 if args.dry_run and all_can else int(exit_code(found))


def _args(given: Given, output: Output, first: bool, now: datetime) -> "Args":
    from tierscope.fleet.index import make_folder
    from tierscope.fleet.rank import Args

    if given.plan is not None and given.profile is not None:
        raise UserError("give only one of PLAN.yaml and --profile")
    with options.blaming("--patience"):
        patience_s = parse_duration(given.patience, 0.5, 1e6)
    directory = given.out or runs_directory().parent / "fleets" / f"{now:%Y%m%d-%H%M%S}"
    text = None
    if first:
        output.check()
        text = _text(given.plan) if given.plan else None
        _check(given)
        make_folder(directory, given.dry_run)
    return Args(
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
    from tierscope.peers.registry import plan_readers
    from tierscope.plans.yaml_file import read_source
    from tierscope.plans.yaml_plan import parse_plan

    text = read_source(plan)
    if text is None or any(reader.reads(text, plan) for reader in plan_readers()):
        raise UserError(f"'{shown(plan)}' has workloads of CXL-Bench; give a plan of tierscope")
    parse_plan(text, shown(plan))
    return text


def _check(given: Given) -> None:
    """Refuse what no host could do, before any rank is asked."""
    if given.time_limit is not None:
        time_limit_seconds(given.time_limit)
    if given.profile is not None:
        suite_of(given.profile)


def _tables(console: "Console", index: "FleetIndex", args: "Args") -> None:
    from tierscope.fleet.together import together_of
    from tierscope.report.fleet import show_hosts, show_shared

    show_hosts(console, index, args.dry_run)
    if not args.dry_run:
        if args.order == "together" and len(index.hosts) <= _FEW:
            show_shared(console, together_of(args.directory, index))
        click.echo(f"results: {shown(args.directory)}")
