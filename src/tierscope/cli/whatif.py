"""``tierscope whatif``: what other memory would do, predicted from figures of this machine."""

import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.kept import check_one_machine
from tierscope.cli.measure import planned, taken
from tierscope.cli.output import Output
from tierscope.model.errors import ExitCode, UserError, counted, shown
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from tierscope.analysis.whatif import Tier
    from tierscope.kinds.plan import Plan
    from tierscope.model.run import Run
    from tierscope.model.topology import Topology
    from tierscope.runs.measure import Outcome


BUDGET = "1s"


@options.command()
@options.runs_argument()
@click.option(
    "--tier",
    "tiers",
    metavar="TIER",
    multiple=True,
    shell_complete=options.complete_run,
    help="Latency and bandwidth, as in 250ns,30GB/s; +150ns: more than local memory; or a run, as "
    "in RUN or RUN:node:2; several times for several tiers",
)
@click.option(
    "--memory",
    "memories",
    metavar="MODULES",
    multiple=True,
    help="In place of --tier: theoretical limits of nodes with these modules, as in 4xDDR5-5600 or "
    "node:2=4xDDR5-5600; nothing is measured",
)
@click.option(
    "--budget",
    metavar="TIME",
    default=BUDGET,
    help=f"Maximum time of each figure that is measured, as in 5s  [default: {BUDGET}]",
)
@options.run_file_option()
@options.dry_run_option
@options.json_option
@click.pass_context
def whatif(
    context: click.Context,
    runs: tuple[str, ...],
    tiers: tuple[str, ...],
    memories: tuple[str, ...],
    budget: str,
    out: Path | None,
    output: Output,
) -> int:
    """Predict what slower memory would do to operations and bandwidth of this machine.

    No slow tier is needed. RUN is a run file, the name of a run, a tag, or last, with operations
    ('ops', 'chain') or bandwidth over threads ('traffic') on local memory; what a prediction needs
    besides is measured at once. Without RUN, a B+-tree, a hash index, a chain of reads and
    bandwidth are measured, which takes about half a minute.

    A tier of a run is its memory with the highest idle latency, or the target that is named. Each
    prediction has a range; docs/whatif.md says what it assumes and how well it predicts.

    With --memory it compares theoretical limits of nodes with other modules, and measures nothing.

    \b
    Examples:
      tierscope whatif --tier 250ns,30GB/s
      tierscope whatif --tier +150ns --tier +400ns last
      tierscope whatif --tier cxl-host:node:2 my-index
      tierscope whatif --tier 250ns,30GB/s --json last
      tierscope whatif --memory 4xDDR5-5600 --memory 12xDDR5-6400
    """
    if memories:
        if runs:
            raise UserError(f"--memory compares theoretical limits; leave out '{shown(runs[0])}'")
        why = "--memory compares theoretical limits"
        options.refuse_given(context, why, "tiers", "budget", "out", "dry_run")
        _show_memory(memories, output)
        return 0
    if not tiers:
        raise UserError(
            "say what memory: a tier, as in --tier 250ns,30GB/s, or modules, as in "
            "--memory 4xDDR5-5600"
        )
    from tierscope.machine.discover import discover
    from tierscope.report.whatif import show_whatif, whatif_json
    from tierscope.runs.read import read_run
    from tierscope.suites.whatif import predicted

    output = replace(output, directory=out)
    output.check()
    with options.blaming("--tier"):
        asked = [_tier(text) for text in tiers]
    files = [find_run(name) for name in runs]
    found = [read_run(file) for file in files]
    check_one_machine(found, "predictions are of one")
    topology = discover()
    plan = _lacking(found, topology, budget)
    outcome = None
    if plan is not None:
        _check_here(found, plan)
        outcome = _measured(plan, topology, output)
        if outcome is None:
            return 0
        found.append(outcome.run)
        files.append(outcome.path)
    elif output.dry_run:
        output.emit({"plan": None}, "the runs have all that is needed; nothing would be measured")
        return 0
    said = predicted(found, asked)
    names = [shown(file.stem) for file in files]
    output.emit(whatif_json(said, names), lambda console: show_whatif(console, said, names))
    return int(outcome.exit_code) if outcome else 0


def _show_memory(memories: Sequence[str], output: Output) -> None:
    from tierscope.analysis.whatif_memory import memory_limits
    from tierscope.machine.discover import discover
    from tierscope.report.whatif_memory import show_memory_limits

    output.check()
    with options.blaming("--memory"):
        found = memory_limits(discover(), memories)
    said = {"limits": [one.model_dump(mode="json") for one in found]}
    output.emit(said, lambda console: show_memory_limits(console, found))


def _tier(text: str) -> "Tier":
    from tierscope.analysis.tiers import is_stated, parse_tier
    from tierscope.runs.read import read_run
    from tierscope.suites.whatif import tier_name, tier_of

    if is_stated(text):
        return parse_tier(text)
    name, target = tier_name(text)
    return tier_of(read_run(find_run(name)), target, shown(text))


def _lacking(runs: "Sequence[Run]", topology: "Topology", budget: str) -> "Plan | None":
    """Return what predictions need and runs do not have; None where they have all."""
    from tierscope.kinds.plan import PLAN_VERSION, Plan
    from tierscope.machine.settings import thp_available
    from tierscope.plans.fit import check_memory
    from tierscope.suites.whatif import needed, requests, specs_of

    specs = specs_of(runs) if runs else planned(requests(topology, budget), topology).measurements
    more = [*needed(specs, topology, thp_available(), runs, budget)]
    lacking = more if runs else [*specs, *more]
    if not lacking:
        return None
    plan = Plan(version=PLAN_VERSION, measurements=lacking)
    check_memory(plan, topology)
    return plan


def _check_here(runs: "Sequence[Run]", plan: "Plan") -> None:
    """Refuse to measure here what runs of another machine lack."""
    host = socket.gethostname()
    other = next((run for run in runs if run.header.host != host), None)
    if other is not None:
        raise UserError(
            f"run '{shown(other.header.name)}' is of {shown(other.header.host)} and lacks "
            f"{counted(len(plan.measurements), 'figure')} that predictions need; run 'tierscope "
            "whatif' on that machine, and name the run that it leaves, too",
            ExitCode.NOTHING_MEASURED,
        )


def _measured(plan: "Plan", topology: "Topology", output: Output) -> "Outcome | None":
    """Measure what lacks; None after a dry run."""
    from tierscope.plans.fit import longest_seconds

    if not output.dry_run:
        seconds = sum(longest_seconds(plan.measurements))
        click.echo(
            f"measuring {counted(len(plan.measurements), 'figure')} that predictions need, at most "
            f"about {seconds:.0f} s",
            err=True,
        )
    outcome = taken("whatif", plan, topology, output)
    if outcome and outcome.error:
        raise outcome.error
    return outcome
