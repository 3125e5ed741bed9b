"""The runs that are kept, listed, tagged, asked, exported and checked."""

import csv
import json
import math
import sys
from pathlib import Path
from typing import Any

import typer

from tierscope.model.errors import ExitCode, UserError
from tierscope.report.waiting import waiting
from tierscope.runs import find_run, read_run


def list_runs(tag: str | None, host: str | None, directory: Path | None, as_json: bool) -> None:
    """Print the kept runs."""
    from tierscope.runs.history import entries

    found = [
        entry
        for entry in entries(directory)
        if (tag is None or tag in entry.tags) and (host is None or host == entry.host)
    ]
    if as_json:
        typer.echo(json.dumps({"runs": [entry.model_dump(mode="json") for entry in found]}))
        return
    from tierscope.report.console import make_console
    from tierscope.report.history import show_entries

    show_entries(make_console(), found)


def tag_run(name: str, add: list[str], remove: list[str]) -> None:
    """Change a run's tags and print those that it has."""
    from tierscope.runs.history import set_tags

    path = find_run(name)
    read_run(path)
    tags = set_tags(path, add, remove)
    typer.echo(f"{path.stem}: {', '.join(tags) if tags else 'no tags'}")


def query_runs(sql: str, directory: Path | None, form: str) -> None:
    """Print what a query finds."""
    from tierscope.runs.query import query

    with waiting("reading runs"):
        names, rows, problems = query(_all_paths(directory), sql)
    _warn(problems)
    if form == "json":
        twins = sorted({name for name in names if names.count(name) > 1})
        if twins:
            raise UserError(f"two columns are called '{twins[0]}'; name one of them with AS")
        records = [dict(zip(names, map(_json_value, row), strict=True)) for row in rows]
        typer.echo(json.dumps({"rows": records}, default=str))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    else:
        from tierscope.report.console import make_console
        from tierscope.report.history import show_rows

        show_rows(make_console(), names, rows)


def _json_value(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value


def export_runs(
    names: list[str],
    every: bool,
    parquet: Path | None,
    csv_file: Path | None,
    prometheus: Path | None,
) -> None:
    """Write what was asked for; raises UserError where nothing was."""
    if parquet is None and csv_file is None and prometheus is None:
        raise UserError("say what to write: --parquet FILE, --csv FILE or --prometheus FILE")
    if every and names:
        raise UserError("name runs or give --all, not both")
    paths = _all_paths(None) if every else [find_run(name) for name in names or ["last"]]
    if prometheus is not None and len(paths) != 1:
        raise UserError(f"--prometheus takes one run, not {len(paths)}: it says how things are now")
    from tierscope.analysis.flat import flat_run
    from tierscope.runs.export_tables import export_table, write_prometheus

    targets: tuple[tuple[Path | None, str], ...] = ((parquet, "parquet"), (csv_file, "csv"))
    for target, form in targets:
        if target is not None:
            with waiting("exporting"):
                count, problems = export_table(paths, target, form)
            _warn(problems)
            typer.echo(f"{count} measurements of {len(paths) - len(problems)} runs: {target}")
    if prometheus is not None:
        typer.echo(
            f"{write_prometheus(flat_run(read_run(paths[0])), prometheus)} figures: {prometheus}"
        )


def check_run(name: str, expect: Path, junit: Path | None, as_json: bool) -> None:
    """Compare a run with its golden values and exit with what was found."""
    from tierscope.analysis.expect import check
    from tierscope.analysis.flat import flat_run
    from tierscope.analysis.rules import read_rules
    from tierscope.kinds.words import vocabulary
    from tierscope.report.check import show_findings, write_junit

    rules = read_rules(expect, vocabulary())
    run = flat_run(read_run(find_run(name)))
    findings = check(run, rules)
    if junit is not None:
        write_junit(run, findings, junit)
    if as_json:
        found: dict[str, Any] = {"findings": [f.model_dump(mode="json") for f in findings]}
        typer.echo(json.dumps(found))
    else:
        from tierscope.report.console import make_console

        show_findings(make_console(), findings)
    met = all(finding.passed for finding in findings)
    raise typer.Exit(int(ExitCode.ALL_MEASURED if met else ExitCode.SOMETHING_FAILED))


def _all_paths(directory: Path | None) -> list[Path]:
    from tierscope.runs.history import entries

    return [Path(entry.path) for entry in entries(directory)]


def _warn(problems: list[str]) -> None:
    for problem in problems:
        typer.echo(f"tierscope: left out: {problem}", err=True)
