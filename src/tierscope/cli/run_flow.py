"""``tierscope run``: plans, recipes, and runs that were cut short."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from tierscope.cli.flow import (
    carry_out,
    finish,
    planned,
    progress_of,
    refinement_of,
    restore_prefetchers,
    serves,
)
from tierscope.cli.options import Output
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.run import Refinement
from tierscope.model.text import shown
from tierscope.model.topology import Topology
from tierscope.plans.expand import with_new_id
from tierscope.plans.fit import check_memory, fit_time
from tierscope.plans.grammar import parse_duration
from tierscope.plans.rated import with_ratings_of
from tierscope.plans.yaml_plan import parse_plan
from tierscope.recipes.registry import RECIPES, Recipe
from tierscope.topology.discover import discover
from tierscope.topology.settings import thp_available


class Prepared(NamedTuple):
    """A plan for a machine, and how its curves get further points."""

    plan: Plan
    topology: Topology
    refinement: Refinement | None


def measure_plan_file(
    path: Path, text: str, time_limit: str | None, output: Output, storage: Sequence[str] = ()
) -> int:
    """Measure what a YAML plan asks for, and the storage at these paths; ``text`` is the plan's."""
    if serves(request.kind for request in parse_plan(text, shown(path))):
        return 0
    made = prepared_file(shown(path), text, time_limit, storage)
    return carry_out(path.stem, made.plan, made.topology, output, made.refinement)


def prepared_file(
    name: str, text: str, time_limit: str | None, storage: Sequence[str] = ()
) -> Prepared:
    """Return what a YAML plan asks of this machine."""
    requests = parse_plan(text, name)
    topology = with_ratings_of(discover(), requests)
    plan = _with_storage(planned(requests, topology), topology, storage)
    if time_limit is not None:
        plan = fit_time(plan, time_limit_seconds(time_limit))
    return Prepared(plan, topology, refinement_of(requests))


def measure_profile(
    name: str,
    time_limit: str | None,
    output: Output,
    storage: Sequence[str] = (),
    machine: Path | None = None,
) -> int:
    """Measure what a recipe makes of this machine, and the storage at these paths.

    ``machine`` is the hwloc XML of another one, which a dry run plans for.
    """
    made = prepared_profile(name, time_limit, storage, machine)
    return carry_out(name, made.plan, made.topology, output, made.refinement)


def prepared_profile(
    name: str,
    time_limit: str | None,
    storage: Sequence[str] = (),
    machine: Path | None = None,
) -> Prepared:
    """Return what a recipe makes of this machine; its notes go to standard error."""
    recipe = recipe_of(name)
    topology = described_machine(machine) if machine else discover()
    # What another machine's kernel offers is unknown; nearly all have transparent huge pages.
    prepared = recipe.prepare(topology, thp=machine is not None or thp_available())
    for line in prepared.notes:
        click.echo(line, err=True)
    plan = prepared.plan
    if time_limit is None and prepared.seconds is not None:
        # A machine of very many nodes takes the profile longer rather than not at all.
        plan = fit_time(plan, prepared.seconds, strictly=False)
    plan = _with_storage(plan, topology, storage)
    check_memory(plan, topology)
    if time_limit is not None:
        plan = fit_time(plan, time_limit_seconds(time_limit))
    refined = prepared.refined and time_limit is None
    return Prepared(plan, topology, refinement_of(prepared.requests) if refined else None)


def recipe_of(name: str) -> Recipe:
    """Return the recipe that ``--profile`` names."""
    if name not in RECIPES:
        known = tuple(RECIPES)
        raise UserError(
            f"--profile: '{name}' is not one of {', '.join(known)}{did_you_mean(name, known)}"
        )
    return RECIPES[name]


def described_machine(path: Path) -> Topology:
    """Return the machine of an hwloc XML file."""
    from tierscope.topology.hwloc import read_hwloc

    return read_hwloc(path)


def _with_storage(plan: Plan, topology: Topology, paths: Sequence[str]) -> Plan:
    """Return a plan with the main part of the tour of storage at these paths behind it."""
    if not paths:
        return plan
    from tierscope.cli.storage_flow import Asked, storage_tour

    made = storage_tour(topology, Asked(tuple(paths)), main_only=True)
    taken = {spec.id for spec in plan.measurements}
    added = [with_new_id(spec, taken) for spec in made.plan.measurements]
    return Plan(version=PLAN_VERSION, measurements=[*plan.measurements, *added])


def resume_run(name: str, output: Output) -> int:
    """Measure what a run lacks that was cut short or interrupted, into the same file."""
    from tierscope.runs.resume import NothingToResumeError, resumable, resume
    from tierscope.runs.store import find_run

    try:
        found = resumable(find_run(name))
    except NothingToResumeError as complete:
        click.echo(str(complete), err=output.forms.printed != "tables")
        return 0
    if serves(spec.kind for spec in found.pending):
        return 0
    topology = discover()
    restore_prefetchers()
    with progress_of(found.pending) as watch:
        outcome = resume(found, topology, watch)
    return finish(outcome, output)


def time_limit_seconds(time_limit: str) -> float:
    """Return the seconds of ``--time-limit``."""
    try:
        return parse_duration(time_limit, 0, 1e6)
    except UserError as error:
        raise UserError(f"--time-limit: {error}") from None
