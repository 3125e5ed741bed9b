"""``tierscope fleet run``."""

from pathlib import Path

import click

from tierscope.cli import options


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
    help="For trials: each rank is a host of its own, HOST-RANK, also where they share a machine",
)
@click.option(
    "--dry-run", is_flag=True, help="Check the plan on every host and say who can; measure nothing"
)
@options.out_option("DIR", "Folder of the results  [default: a new one in the data directory]")
@options.json_option
def run(
    plan: Path | None,
    profile: str | None,
    time_limit: str | None,
    one_by_one: bool,
    patience: str,
    ranks_as_hosts: bool,
    dry_run: bool,
    out: Path | None,
    json: str | None,
) -> int:
    """Measure a plan or profile on all hosts of an MPI job, one rank a host.

    All hosts begin each visit together, on the clock of rank 0. Start it with mpirun or srun.

    \b
    Examples:
      mpirun --enable-recovery --map-by ppr:1:node tierscope fleet run plan.yaml --out fleet
      srun --ntasks-per-node=1 tierscope fleet run --profile quick --time-limit 1min
      mpirun -n 2 tierscope fleet run --ranks-as-hosts --one-by-one --time-limit 20s
      tierscope fleet run --profile standard --dry-run
    """
    from tierscope.cli.fleet_run_flow import Given, run_fleet

    return run_fleet(
        Given(plan, profile, time_limit, one_by_one, patience, ranks_as_hosts, dry_run, out),
        options.Forms(json),
    )
