"""From a plan to tables: what the measuring commands share."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tierscope.cli.options import Output
from tierscope.kinds.plan import Plan
from tierscope.model.run import Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory, longest_seconds, peak_bytes
from tierscope.plans.loaded_latency import most_points
from tierscope.plans.request import Request
from tierscope.runs.export import to_json
from tierscope.runs.measure import measure
from tierscope.runs.refine import Refine, further_seconds, refinement
from tierscope.topology.settings import thp_available

Show = Callable[[Any, Run, Path], None]
"""Prints a run to a console; the path is the run file's."""


def planned(requests: list[Request], topology: Topology) -> Plan:
    """Return the plan that requests make on this machine, checked against its memory."""
    plan = expand(requests, topology, thp_available())
    check_memory(plan, topology)
    return plan


def carry_out_refined(
    label: str, plan: Plan, requests: list[Request], topology: Topology, output: Output
) -> int:
    """Measure a plan and the further points of the curves that it begins; print its run."""
    points = most_points(requests)
    refine = refinement(plan, points)
    further = further_seconds(plan, points)
    return carry_out(label, plan, topology, output, refine=refine, further_s=further)


def carry_out(
    label: str,
    plan: Plan,
    topology: Topology,
    output: Output,
    show: Show | None = None,
    refine: Refine | None = None,
    further_s: float = 0.0,
    keep: Callable[[Run], None] | None = None,
) -> int:
    """Measure a plan and print its run; returns the exit status.

    ``show`` prints it where the command has a view of its own. ``refine`` adds points to curves
    that the plan begins, for ``further_s`` at most. ``keep`` gets the run once it is printed.
    """
    if output.dry_run:
        _print_plan(plan, further_s, output)
        return 0
    from tierscope.report.progress import live_progress

    ids = [spec.id for spec in plan.measurements]
    seconds = dict(zip(ids, longest_seconds(plan), strict=True))
    longest = max(seconds.values())
    with live_progress(plan, lambda name: seconds.get(name, longest)) as watch:
        outcome = measure(plan, label, topology, sys.argv, output.directory, watch, refine)
    print_run(outcome.run, outcome.path, output.json, show)
    if keep:
        keep(outcome.run)
    if outcome.error:
        raise outcome.error
    return int(outcome.exit_code)


def print_run(run: Run, path: Path, as_json: bool, show: Show | None = None) -> None:
    """Print a run as JSON or tables."""
    if as_json:
        click.echo(to_json(run))
        return
    from tierscope.report.console import make_console
    from tierscope.report.run import show_run

    if show is None:
        from tierscope.kinds.views import VIEWS

        show_run(make_console(), run, path, VIEWS)
    else:
        show(make_console(), run, path)


def _print_plan(plan: Plan, further_s: float, output: Output) -> None:
    seconds = sum(longest_seconds(plan))
    if output.json:
        estimate = {
            "seconds": round(seconds, 1),
            "further_seconds": round(further_s, 1),
            "peak_bytes": peak_bytes(plan),
        }
        click.echo(json.dumps({"plan": plan.model_dump(mode="json"), "estimate": estimate}))
        return
    from tierscope.report.console import make_console
    from tierscope.report.plan import show_plan

    show_plan(make_console(), plan, seconds, peak_bytes(plan))
    if further_s:
        click.echo(f"and points of each curve where it bends, at most about {further_s:.0f} s more")
