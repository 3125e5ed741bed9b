"""From requests to tables: what the measuring commands share."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from tierscope.cli.options import Output
from tierscope.kinds.plan import Plan
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.model.topology import Topology
from tierscope.plans import (
    Request,
    check_memory,
    expand,
    fit_time,
    longest_seconds,
    peak_bytes,
    profile_named,
    profile_requests,
    read_plan,
)
from tierscope.plans.grammar import parse_number
from tierscope.plans.loaded_latency import most_points
from tierscope.runs import find_run, measure, read_run, to_csv, to_json
from tierscope.runs.refine import Refine, further_seconds, refinement
from tierscope.topology import discover
from tierscope.topology.settings import thp_available

Show = Callable[[Any, Run, Path], None]
"""Prints a run to a console; the path is the run file's."""


def measure_options(kind: str, given: dict[str, str], output: Output) -> None:
    """Measure one request made of a command's options."""
    request = Request.model_validate({"kind": kind, "options": given})
    topology = discover()
    carry_out_refined(kind, planned([request], topology), [request], topology, output)


def measure_plan_file(path: Path, budget: str | None, output: Output) -> None:
    """Measure what a YAML plan asks for."""
    requests = read_plan(path)
    topology = discover()
    plan = planned(requests, topology)
    if budget is not None:
        plan = fit_time(plan, _seconds(budget))
    carry_out_refined(path.stem, plan, requests, topology, output)


def measure_profile(name: str, budget: str | None, output: Output) -> None:
    """Measure what a profile makes of this machine."""
    profile = profile_named(name)
    topology = discover()
    requests = profile_requests(profile, topology)
    plan = planned(requests, topology)
    if budget is not None:
        plan = fit_time(plan, _seconds(budget))
    elif profile.seconds is not None:
        # A machine of very many nodes takes the profile longer rather than not at all.
        plan = fit_time(plan, profile.seconds, strictly=False)
    if profile.refined and budget is None:
        carry_out_refined(name, plan, requests, topology, output)
    else:
        carry_out(name, plan, topology, output)


def show_file(name: str, form: str) -> None:
    """Print a run file as tables, JSON or CSV."""
    path = find_run(name)
    run = read_run(path)
    if form == "json":
        typer.echo(to_json(run))
    elif form == "csv":
        typer.echo(to_csv(run), nl=False)
    else:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.console import make_console
        from tierscope.report.run import show_run

        show_run(make_console(), run, path, VIEWS)


def _seconds(budget: str) -> float:
    try:
        return parse_number(budget, 0, 1e6)
    except UserError as error:
        raise UserError(f"--budget: {error}") from None


def planned(requests: list[Request], topology: Topology) -> Plan:
    """Return the plan that requests make on this machine, checked against its memory."""
    plan = expand(requests, topology, thp_available())
    check_memory(plan, topology)
    return plan


def carry_out_refined(
    label: str, plan: Plan, requests: list[Request], topology: Topology, output: Output
) -> None:
    """Measure a plan and the further points of the curves that it begins; print its run."""
    points = most_points(requests)
    refine = refinement(plan, points)
    carry_out(label, plan, topology, output, refine=refine, further_s=further_seconds(plan, points))


def carry_out(
    label: str,
    plan: Plan,
    topology: Topology,
    output: Output,
    show: Show | None = None,
    refine: Refine | None = None,
    further_s: float = 0.0,
    keep: Callable[[Run], None] | None = None,
) -> None:
    """Measure a plan and print its run, by ``show`` where the command has a view of its own.

    ``refine`` adds points to curves that the plan begins, for ``further_s`` at most; ``keep`` gets
    the run once it is printed.
    """
    if output.dry_run:
        _print_plan(plan, further_s, output)
        return
    from tierscope.report.progress import live_progress

    ids = [spec.id for spec in plan.measurements]
    seconds = dict(zip(ids, longest_seconds(plan), strict=True))
    longest = max(seconds.values())
    with live_progress(plan, lambda name: seconds.get(name, longest)) as watch:
        outcome = measure(plan, label, topology, sys.argv, output.directory, watch, refine)
    if output.json:
        typer.echo(to_json(outcome.run))
    else:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.console import make_console
        from tierscope.report.run import show_run

        console = make_console()
        if show is None:
            show_run(console, outcome.run, outcome.path, VIEWS)
        else:
            show(console, outcome.run, outcome.path)
    if keep:
        keep(outcome.run)
    if outcome.error:
        raise outcome.error
    raise typer.Exit(int(outcome.exit_code))


def _print_plan(plan: Plan, further_s: float, output: Output) -> None:
    seconds = sum(longest_seconds(plan))
    if output.json:
        estimate = {
            "seconds": round(seconds, 1),
            "further_seconds": round(further_s, 1),
            "peak_bytes": peak_bytes(plan),
        }
        typer.echo(json.dumps({"plan": plan.model_dump(mode="json"), "estimate": estimate}))
        return
    from tierscope.report.console import make_console
    from tierscope.report.plan import show_plan

    show_plan(make_console(), plan, seconds, peak_bytes(plan))
    if further_s:
        typer.echo(f"and points of each curve where it bends, at most about {further_s:.0f} s more")
