"""From a plan to tables: what the measuring commands share."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import click

from tierscope.analysis.time_series import seconds_left
from tierscope.cli.forms import Forms, emit
from tierscope.cli.leftovers import name_leftovers
from tierscope.cli.options import Output
from tierscope.cli.print_run import More, Show, print_run
from tierscope.cli.waiting import say_start
from tierscope.kinds.plan import Plan, Spec
from tierscope.kinds.registry import KINDS
from tierscope.model.case import Case
from tierscope.model.run import Refinement, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory, longest_seconds, peak_bytes
from tierscope.plans.forms import form_of
from tierscope.plans.request import Request
from tierscope.runs.measure import Outcome, Watch, measure
from tierscope.runs.refine import further_seconds
from tierscope.topology.settings import thp_available


def planned(requests: list[Request], topology: Topology) -> Plan:
    """Return the plan that requests make on this machine, checked against its memory."""
    plan = expand(requests, topology, thp_available())
    check_memory(plan, topology)
    return plan


def serves(kinds: Iterable[str]) -> bool:
    """On any other rank than 0 of a run over MPI, answer rank 0 to its end; return whether so.

    Only where a kind takes several ranks: of others each rank is a run of its own.
    """
    if not any(kind in KINDS and KINDS[kind].over_mpi for kind in kinds):
        return False
    from tierscope.mpi.ranks import ranks, served

    if served():
        return True
    ranks()  # before the machine is looked at: they give back the CPUs that mpirun took
    return False


def refinement_of(requests: Sequence[Request]) -> Refinement | None:
    """Return the further points that requests ask for; None where none asks for any.

    Where several ask, each curve gets as many points as the most that is asked for.
    """
    asked = [
        form.refinement(request)
        for request in requests
        if (form := form_of(request.kind)).refinement is not None
    ]
    if not asked:
        return None
    rates = sorted({rate for each in asked for rate in each.at})
    points, ratios = (max(getattr(each, name) for each in asked) for name in ("points", "ratios"))
    return Refinement(points=points, at=rates, ratios=ratios)


def carry_out(
    label: str,
    plan: Plan,
    topology: Topology,
    output: Output,
    refinement: Refinement | None = None,
    show: Show | None = None,
    keep: Callable[[Run], None] | None = None,
    more: More | None = None,
    cases: list[Case] | None = None,
) -> int:
    """Measure a plan and print its run; returns the exit status.

    ``refinement`` adds points to the curves that the plan begins. ``show`` prints the run where
    the command has a view of its own, ``more`` adds to its JSON. ``keep`` gets the run once it is
    printed. ``cases`` are another benchmark's, which the plan was made of.
    """
    outcome = taken(label, plan, topology, output, refinement, cases)
    return finish(outcome, output, show, keep, more) if outcome else 0


def taken(
    label: str,
    plan: Plan,
    topology: Topology,
    output: Output,
    refinement: Refinement | None = None,
    cases: list[Case] | None = None,
) -> Outcome | None:
    """Measure a plan; None where a dry run was asked for, which prints the plan."""
    further_s = further_seconds(plan.measurements, refinement) if refinement else 0.0
    output.forms.check()
    if output.dry_run:
        print_plan(plan, further_s, output.forms)
        return None
    restore_prefetchers()
    name_leftovers(plan.measurements)
    say_start(output.start_at)
    with progress_of(plan.measurements) as watch:
        return measure(
            plan,
            label,
            topology,
            sys.argv,
            output.directory,
            watch,
            refinement,
            output.start_at,
            output.energy,
            cases,
        )


def restore_prefetchers() -> None:
    """Restore what a run that was killed left switched, and say so on standard error."""
    from tierscope.engine.prefetchers import restore_left

    if said := restore_left():
        click.echo(said, err=True)


def progress_of(specs: Sequence[Spec]) -> AbstractContextManager[Watch]:
    """Return what shows the progress of these measurements, and of points that are added."""
    from tierscope.report.progress import live_progress

    if not specs:
        return nullcontext(lambda _: None)
    ids = [spec.id for spec in specs]
    seconds = dict(zip(ids, longest_seconds(specs), strict=True))
    longest = max(seconds.values())
    return live_progress(specs, lambda name: seconds.get(name, longest))


def finish(
    outcome: Outcome,
    output: Output,
    show: Show | None = None,
    keep: Callable[[Run], None] | None = None,
    more: More | None = None,
) -> int:
    """Print a run that ended and return its exit status; raises what ended it before its time."""
    print_run(outcome.run, outcome.path, output.forms, show, more)
    if keep:
        keep(outcome.run)
    if outcome.error:
        raise outcome.error
    return int(outcome.exit_code)


def estimate_of(plan: Plan, further_s: float = 0.0) -> tuple[list[float | None], dict[str, float]]:
    """Return the most seconds that each measurement may take, None where nobody knows, and what
    the whole plan takes as JSON has it."""
    specs = plan.measurements
    seconds = [
        None if spec.scheduled_apart and seconds_left(spec, ()) is None else longest
        for spec, longest in zip(specs, longest_seconds(specs), strict=True)
    ]
    return seconds, {
        "seconds": round(sum(one for one in seconds if one is not None), 1),
        "further_seconds": round(further_s, 1),
        "peak_bytes": peak_bytes(plan),
    }


def print_plan(plan: Plan, further_s: float, forms: Forms) -> None:
    """Print a plan with its time and memory, for a dry run."""
    specs = plan.measurements
    seconds, estimate = estimate_of(plan, further_s)

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.plan import show_plan

        show_plan(make_console(), specs, seconds, peak_bytes(plan))
        if further_s:
            click.echo(
                f"and points of each curve where it bends, at most about {further_s:.0f} s more"
            )

    found = {"plan": plan.model_dump(mode="json"), "estimate": estimate}
    emit(forms, lambda: json.dumps(found), tables)
