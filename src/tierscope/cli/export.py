"""``tierscope export``."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Run files, names, tags or last  [default: last]"),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="All measurements, samples too")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="The same as CSV")] = None,
    prometheus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="One run for node_exporter's textfile collector"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All kept runs")] = False,
) -> None:
    """Export runs as a Parquet or CSV table, or for Prometheus.

    \b
    Examples:
      tierscope export --all --parquet runs.parquet
      tierscope export golden last --csv two.csv
      tierscope export --prometheus /var/lib/node_exporter/tierscope.prom
    """
    from tierscope.cli.history_flow import export_runs

    export_runs(runs or [], every, parquet, csv, prometheus)
