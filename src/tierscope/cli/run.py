"""``tierscope run``."""

from datetime import datetime
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tierscope.cli import options

_TOPOLOGY = (
    "--topology plans a profile for another machine, or a workload file of CXL-Bench; it goes with "
    "--dry-run"
)
_RESUME = "--resume continues a run as it began; only --json and --csv go with it"


def _complete_profile(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from tierscope.recipes.registry import RECIPES

    return [
        CompletionItem(recipe.name, help=recipe.summary)
        for recipe in RECIPES.values()
        if recipe.name.startswith(incomplete)
    ]


@options.command()
@click.argument("plan", metavar="[PLAN.yaml|FOLDER]", type=options.PATH, required=False)
@click.option(
    "--profile",
    metavar="NAME",
    shell_complete=_complete_profile,
    help="quick, standard, full, or any recipe  [default: quick]",
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
    help="Also measure storage here, in half a minute more; may be given again",
)
@click.option(
    "--fit",
    is_flag=True,
    help="Of CXL-Bench's files: make regions, threads and times as small as this machine asks for",
)
@click.option(
    "--map-nodes",
    "map_nodes",
    metavar="OLD=NEW",
    multiple=True,
    help="Of CXL-Bench's files: take node NEW for node or DAX device OLD, as in 8=4,dax2.0=4",
)
@click.option(
    "--destroy-data",
    metavar="LIST",
    help="Of CXL-Bench's files: overwrite these DAX devices, as in dax2.0",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "cxlbench"]),
    default="table",
    help="cxlbench: the JSON of CXL-Bench's results, for its plotting scripts  [default: table]",
)
@options.file_option(
    "--topology", "With --dry-run: plan for the machine of this hwloc XML", metavar="FILE.xml"
)
@options.moved_option(
    "--budget",
    "it is the time for each measurement; the whole run's is --time-limit",
)
@options.output_options
def run(
    plan: Path | None,
    profile: str | None,
    resume: str | None,
    time_limit: str | None,
    storage: tuple[str, ...],
    fit: bool,
    map_nodes: tuple[str, ...],
    destroy_data: str | None,
    form: str,
    topology: Path | None,
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
) -> int:
    """Measure this machine by a profile, or what a plan asks for.

    quick takes at most a minute, standard about five, full as long as every path needs. A YAML
    file without the key measurements, and a folder, are read as workloads of CXL-Bench.

    \b
    Examples:
      tierscope run
      tierscope run --profile standard --out results
      tierscope run plan.yaml --time-limit 2min --json
      tierscope run --resume last
      tierscope run --storage /tmp
      tierscope run --dry-run
      tierscope run workloads/ddr_bw --fit --map-nodes 8=4 --dry-run
      tierscope run --profile coherent-gpu --dry-run --topology grace-hopper.xml
    """
    from tierscope.cli.run_flow import measure_plan_file, measure_profile, resume_run
    from tierscope.model.errors import UserError

    if sum(given is not None for given in (plan, profile, resume)) > 1:
        raise UserError("give only one of PLAN.yaml, --profile and --resume")
    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    text = None
    if plan is not None:
        from tierscope.recipes.cxlbench.workload import is_workload, read_source

        text = read_source(plan)
        if is_workload(text, plan):
            from tierscope.cli.workload_flow import Asked, measure_workload

            asked = Asked(fit, map_nodes, destroy_data, topology, form == "cxlbench", time_limit)
            return measure_workload(plan, text, asked, output, bool(storage))
    _refuse_of_workloads(fit, map_nodes, destroy_data, form)
    if topology is not None and (not dry_run or plan is not None or resume is not None or storage):
        raise UserError(_TOPOLOGY)
    if resume is not None:
        if time_limit is not None or dry_run or out is not None or storage or start_at or energy:
            raise UserError(_RESUME)
        return resume_run(resume, output)
    if plan is not None:
        return measure_plan_file(plan, text or "", time_limit, output, storage)
    return measure_profile(profile or "quick", time_limit, output, storage, topology)


def _refuse_of_workloads(
    fit: bool, map_nodes: tuple[str, ...], destroy_data: str | None, form: str
) -> None:
    """Refuse what goes with workload files only."""
    from tierscope.model.errors import UserError

    given = {"--fit": fit, "--map-nodes": map_nodes, "--destroy-data": destroy_data}
    for name, value in {**given, "--format": form != "table"}.items():
        if value:
            raise UserError(f"{name} goes with workload files of CXL-Bench only")
