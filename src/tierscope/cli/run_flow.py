"""``tierscope run``: plans, recipes, and runs that were cut short."""

from pathlib import Path

import click

from tierscope.cli.flow import carry_out, finish, planned, progress_of, refinement_of
from tierscope.cli.options import Output
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import UserError
from tierscope.plans.fit import check_memory, fit_time
from tierscope.plans.grammar import did_you_mean, parse_number
from tierscope.plans.yaml_plan import read_plan
from tierscope.recipes.registry import RECIPES
from tierscope.topology.discover import discover
from tierscope.topology.settings import thp_available


def measure_plan_file(path: Path, budget: str | None, output: Output) -> int:
    """Measure what a YAML plan asks for."""
    requests = read_plan(path)
    topology = discover()
    plan = planned(requests, topology)
    if budget is not None:
        plan = fit_time(plan, _seconds(budget))
    return carry_out(path.stem, plan, topology, output, refinement_of(requests))


def measure_profile(name: str, budget: str | None, output: Output) -> int:
    """Measure what a recipe makes of this machine."""
    if name not in RECIPES:
        known = tuple(RECIPES)
        raise UserError(
            f"--profile: '{name}' is not one of {', '.join(known)}{did_you_mean(name, known)}"
        )
    topology = discover()
    prepared = RECIPES[name].prepare(topology, thp_available())
    plan = prepared.plan
    check_memory(plan, topology)
    if budget is not None:
        plan = fit_time(plan, _seconds(budget))
    elif prepared.seconds is not None:
        # A machine of very many nodes takes the profile longer rather than not at all.
        plan = fit_time(plan, prepared.seconds, strictly=False)
    refined = prepared.refined and budget is None
    refinement = refinement_of(prepared.requests) if refined else None
    return carry_out(name, plan, topology, output, refinement)


def resume_run(name: str, output: Output) -> int:
    """Measure what a run lacks that was cut short or interrupted, into the same file."""
    from tierscope.runs.resume import NothingToResumeError, read_resumable, resume
    from tierscope.runs.store import find_run

    path = find_run(name)
    try:
        _, specs = read_resumable(path)
    except NothingToResumeError as complete:
        click.echo(str(complete), err=output.json)
        return 0
    topology = discover()
    with progress_of(Plan(version=PLAN_VERSION, measurements=specs)) as watch:
        outcome = resume(path, topology, watch)
    return finish(outcome, output)


def _seconds(budget: str) -> float:
    try:
        return parse_number(budget, 0, 1e6)
    except UserError as error:
        raise UserError(f"--budget: {error}") from None
