"""``tierscope run``."""

from pathlib import Path
from typing import Annotated

import typer

from tierscope.cli import options


def run(
    plan: Annotated[
        Path | None, typer.Argument(metavar="[PLAN.yaml]", help="A plan; without one, a profile")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="quick, standard or full  [default: quick]"),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help="Fit the whole run into this time  [default: the profile's or plan's]",
        ),
    ] = None,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    out: options.Out = None,
) -> None:
    """Measure this machine's memory by a profile, or what a plan says.

    quick takes at most a minute, standard about five, full as long as every path needs.

    \b
    Examples:
      tierscope run
      tierscope run --profile standard --out results
      tierscope run plan.yaml --budget 120 --json
      tierscope run --dry-run
    """
    from tierscope.cli.flow import measure_plan_file, measure_profile
    from tierscope.model.errors import UserError

    output = options.Output(json, dry_run, out)
    if plan is not None and profile is not None:
        raise UserError("give a plan or a --profile, not both")
    if plan is not None:
        measure_plan_file(plan, budget, output)
    else:
        measure_profile(profile or "quick", budget, output)
