"""``tierscope query``."""

import click

from tierscope.cli import options


@options.command()
@click.argument("sql", metavar="SQL")
@click.option(
    "--in",
    "place",
    metavar="DIR|URL",
    help="A directory of runs; the folder of a fleet, or several as NIGHTS/*; s3://... of a fleet  "
    "[default: the data directory]",
)
@options.json_option
@options.csv_option
def query(sql: str, place: str | None, json: str | None, csv: str | None) -> None:
    """Query kept runs, or the tables of a fleet, in SQL (DuckDB).

    SQL is one statement that only reads.

    \b
    runs           name, tags, host, started, complete, cpu, kernel, governor, machine, ...
    measurements   run, id, kind, initiator, target, operation, threads, size, pages, pattern,
                   status, metric, unit, estimate, ci_low, ci_high, n, samples, efficiency, ...
    DESCRIBE runs and DESCRIBE measurements list all columns.

    A fleet that 'tierscope fleet gather' joined has other tables.

    \b
    hosts          host, state, reason, rack, switch, model, kernel, governor, facts, ...
    figures        host, and the columns of measurements
    together       what hosts moved at once of storage that they share: estimate, fairness, ...

    \b
    Examples:
      tierscope query "select run, max(estimate) / 1e9 as best from measurements
                       where kind = 'bandwidth' group by run"
      tierscope query "describe measurements"
      tierscope query "from runs select host, count(*) group by host" --json
      tierscope query "select state, count(*) from hosts group by state" --in fleet
    """
    from tierscope.cli.history_flow import query_runs

    query_runs(sql, place, options.Forms(json, csv))
