"""``tierscope run``: plans, suites, and runs that were cut short."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from tierscope.cli import options
from tierscope.cli.measure import (
    carry_out,
    described_machine,
    finish,
    fitted,
    planned,
    progress_of,
    refinement_of,
    restore_prefetchers,
    serves,
)
from tierscope.cli.output import Output
from tierscope.cli.stated import requests_of
from tierscope.model.errors import UserError, did_you_mean, shown
from tierscope.peers.registry import plan_readers
from tierscope.suites.registry import SUITES

if TYPE_CHECKING:
    from tierscope.kinds.plan import Plan
    from tierscope.model.run import Refinement
    from tierscope.model.topology import Topology
    from tierscope.suites.suite import Suite


_TOPOLOGY = (
    "--topology plans a profile for another machine, or a workload file of CXL-Bench; it goes with "
    "--dry-run"
)
_RESUME = "--resume continues a run as it began; only --json and --csv go with it"


def _complete_profile(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [
        CompletionItem(suite.name, help=suite.summary)
        for suite in SUITES.values()
        if suite.name.startswith(incomplete)
    ]


def _complete_plan(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    profiles = _complete_profile(context, parameter, incomplete)
    return [*profiles, CompletionItem(incomplete, type="file")]


def _options_of_peers(function: options.Function) -> options.Function:
    for reader in plan_readers():
        for option in reversed(reader.RUN_OPTIONS):
            function = option(function)
    return function


@options.command()
@click.argument(
    "plan",
    metavar="[PROFILE|PLAN.yaml|FOLDER]",
    type=options.PATH,
    required=False,
    shell_complete=_complete_plan,
)
@click.option(
    "--profile",
    metavar="NAME",
    shell_complete=_complete_profile,
    help="quick, standard, full, or any suite  [default: quick]",
)
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=options.complete_run,
    help="Complete a run that was cut short or interrupted",
)
@click.option(
    "--time-limit",
    metavar="TIME",
    help="Fit the whole run into this time, as in 2min  [default: the profile's or the plan's]",
)
@click.option(
    "--storage",
    "storage",
    metavar="DIR",
    multiple=True,
    help="Also measure storage in DIR, which adds half a minute; may be given again",
)
@_options_of_peers
@options.file_option(
    "--topology", "With --dry-run: plan for the machine of this hwloc XML", metavar="FILE.xml"
)
@options.moved_option(
    "--budget",
    "it is the time for each measurement; the whole run's is --time-limit",
)
@options.stated_options
@options.output_options
def run(
    plan: Path | None,
    profile: str | None,
    resume: str | None,
    time_limit: str | None,
    storage: tuple[str, ...],
    topology: Path | None,
    output: Output,
    **of_peers: Any,
) -> int:
    """Measure this machine by a profile, or what a plan asks for.

    quick takes at most a minute, standard about five, full as long as every path needs. A YAML
    file without the key measurements, and a folder, are read as workloads of CXL-Bench.

    \b
    Examples:
      tierscope run
      tierscope run standard --out results
      tierscope run plan.yaml --time-limit 2min --json
      tierscope run --resume last
      tierscope run --storage /tmp
      tierscope run --dry-run
      tierscope run workloads/ddr_bw --fit --map-nodes 8=4 --dry-run
      tierscope run --profile coherent-gpu --dry-run --topology grace-hopper.xml
    """
    if sum(given is not None for given in (plan, profile, resume)) > 1:
        raise UserError("give only one of PLAN.yaml, --profile and --resume")
    text = None
    plan, profile = _named(plan, profile)
    if plan is not None:
        from tierscope.plans.yaml_file import read_source

        text = read_source(plan)
        for reader in plan_readers():
            if reader.reads(text, plan):
                limits = {"time_limit": time_limit, "storage": storage, "machine": topology}
                return int(reader.measure(plan, text, {**of_peers, **limits}, output))
        if text is None:
            raise UserError(f"'{plan}' is a folder; name the file of a plan")
    for reader in plan_readers():
        reader.refuse(of_peers)
    if topology is not None and (
        not output.dry_run or plan is not None or resume is not None or storage
    ):
        raise UserError(_TOPOLOGY)
    if resume is not None:
        if time_limit is not None or output != Output(output.json, output.csv) or storage:
            raise UserError(_RESUME)
        return _resume(resume, output)
    if plan is not None and text is not None:
        from tierscope.plans.yaml_plan import parse_plan

        if serves(request.kind for request in parse_plan(text, shown(plan))):
            return 0
        made = prepared_file(shown(plan), text, time_limit, storage)
        return carry_out(plan.stem, made.plan, made.topology, output, made.refinement)
    name = profile or "quick"
    made = prepared_profile(name, time_limit, storage, topology)
    return carry_out(name, made.plan, made.topology, output, made.refinement)


def _named(plan: Path | None, profile: str | None) -> tuple[Path | None, str | None]:
    """Return a plan and a profile; a word that is no file, but a profile's name, is that one."""
    if plan is not None and profile is None and str(plan) in SUITES and not plan.exists():
        return None, str(plan)
    return plan, profile


class Prepared(NamedTuple):
    """A plan for a machine, and how its curves get further points."""

    plan: "Plan"
    topology: "Topology"
    refinement: "Refinement | None"


def prepared_file(
    name: str, text: str, time_limit: str | None, storage: Sequence[str] = ()
) -> Prepared:
    """Return what a YAML plan asks of this machine."""
    from tierscope.machine.discover import discover
    from tierscope.plans.rated import with_ratings_of

    requests = requests_of(text, name)
    topology = with_ratings_of(discover(), requests)
    plan = _with_storage(planned(requests, topology), topology, storage)
    return Prepared(fitted(plan, time_limit), topology, refinement_of(requests))


def prepared_profile(
    name: str,
    time_limit: str | None,
    storage: Sequence[str] = (),
    machine: Path | None = None,
) -> Prepared:
    """Return what a suite makes of this machine; its notes go to standard error.

    ``machine`` is the hwloc XML of another one, which a dry run plans for.
    """
    from tierscope.machine.settings import thp_available
    from tierscope.plans.fit import check_memory, fit_time

    suite = suite_of(name)
    topology = described_machine(machine)
    # What another machine's kernel offers is unknown; nearly all have transparent huge pages.
    prepared = suite.prepare(topology, thp=machine is not None or thp_available())
    for line in prepared.notes:
        click.echo(line, err=True)
    plan = prepared.plan
    if time_limit is None and prepared.seconds is not None:
        # A machine of very many nodes takes the profile longer rather than not at all.
        plan = fit_time(plan, prepared.seconds, strictly=False)
    plan = _with_storage(plan, topology, storage)
    check_memory(plan, topology)
    plan = fitted(plan, time_limit)
    refined = prepared.refined and time_limit is None
    return Prepared(plan, topology, refinement_of(prepared.requests) if refined else None)


def suite_of(name: str) -> "Suite":
    """Return the suite that ``--profile`` names."""
    if name not in SUITES:
        known = tuple(SUITES)
        raise UserError(
            f"--profile: '{name}' is not one of {', '.join(known)}{did_you_mean(name, known)}"
        )
    return SUITES[name]


def _with_storage(plan: "Plan", topology: "Topology", paths: Sequence[str]) -> "Plan":
    """Return a plan with the main part of the tour of storage at these paths behind it."""
    from tierscope.kinds.plan import PLAN_VERSION, Plan
    from tierscope.plans.expand import with_new_id

    if not paths:
        return plan
    from tierscope.cli.storage import Args, storage_tour

    made = storage_tour(topology, Args(tuple(paths)), main_only=True)
    taken = {spec.id for spec in plan.measurements}
    added = [with_new_id(spec, taken) for spec in made.plan.measurements]
    return Plan(version=PLAN_VERSION, measurements=[*plan.measurements, *added])


def _resume(name: str, output: Output) -> int:
    """Measure what a run lacks that was cut short or interrupted, into the same file."""
    from tierscope.machine.discover import discover
    from tierscope.runs.resume import NothingToResumeError, resumable, resume
    from tierscope.runs.store import find_run

    try:
        found = resumable(find_run(name))
    except NothingToResumeError as complete:
        output.say(str(complete))
        return 0
    if serves(spec.kind for spec in found.pending):
        return 0
    topology = discover()
    restore_prefetchers()
    with progress_of(found.pending) as watch:
        outcome = resume(found, topology, watch)
    return finish(outcome, output)
