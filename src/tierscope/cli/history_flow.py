"""The kept runs: listed, tagged, queried, exported and checked."""

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tierscope.cli.files import say_written
from tierscope.cli.forms import STDOUT, Forms, emit
from tierscope.cli.waiting import waiting
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.model.text import is_text, shown
from tierscope.runs.output import is_stdout, write_output
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from tierscope.model.run import Run


def list_runs(tag: str | None, host: str | None, directory: Path | None, forms: Forms) -> None:
    """Print the kept runs."""
    from tierscope.runs.history import entries

    found = [
        entry
        for entry in entries(directory)
        if (tag is None or tag in entry.tags) and (host is None or host == entry.host)
    ]

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.history import show_entries

        show_entries(make_console(), found)

    runs = [entry.model_dump(mode="json") for entry in found]
    emit(forms, lambda: json.dumps({"runs": runs}), tables)


def tag_run(name: str, add: Sequence[str], remove: Sequence[str], forms: Forms) -> None:
    """Change a run's tags and print those that it has."""
    from tierscope.runs.history import set_tags
    from tierscope.runs.read import read_run

    path = find_run(name)
    read_run(path)
    tags = set_tags(path, list(add), list(remove))
    line = f"{shown(path.stem)}: {', '.join(tags) if tags else 'no tags'}"
    found = {"run": shown(path.stem), "tags": tags}
    emit(forms, lambda: json.dumps(found), lambda: click.echo(line))


def query_runs(sql: str, place: str | None, forms: Forms) -> None:
    """Print what a query finds, in kept runs or in the tables of a fleet."""
    from tierscope.fleet.tables import is_gathered, is_url, query_fleet
    from tierscope.runs.query import query

    if not is_text(sql):
        raise UserError("the query failed: it is not UTF-8 text")
    if place is not None and (is_url(place) or is_gathered(place)):
        forms.check()
        with waiting("reading the fleet"):
            names, rows = query_fleet(place, sql)
    else:
        paths = _all_paths(Path(place) if place is not None else None)
        forms.check(inputs=paths)
        with waiting("reading runs"):
            names, rows, problems = query(paths, sql)
        _warn(problems)

    def in_json() -> str:
        twins = sorted({name for name in names if names.count(name) > 1})
        if twins:
            raise UserError(f"two columns are called '{twins[0]}'; name one of them with AS")
        records = [dict(zip(names, map(_json_value, row), strict=True)) for row in rows]
        return json.dumps({"rows": records}, default=str)

    def in_csv() -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([names, *rows])
        return text.getvalue()

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.history import show_rows

        show_rows(make_console(), names, rows)

    emit(forms, in_json, tables, in_csv)


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
    names: Sequence[str],
    parquet: str | None,
    csv_file: str | None,
    of_one: Mapping[str, Path | None],
    every: bool,
    forms: Forms,
) -> None:
    """Write what was asked for; raises UserError where nothing was.

    ``of_one`` are the files that hold one run's, by the options that name them.
    """
    single = {option: path for option, path in of_one.items() if path is not None}
    if parquet is None and csv_file is None and not single:
        raise UserError(
            "say what to write: --parquet=FILE, --csv=FILE, --prometheus FILE, --numactl FILE, "
            "--udev FILE, --systemd FILE or --cxlbench FILE"
        )
    if every and names:
        raise UserError("name runs or give --all, not both")
    paths = _all_paths(None) if every else [find_run(name) for name in names or ["last"]]
    if single and len(paths) != 1:
        raise UserError(f"--{min(single)} takes one run, not {len(paths)}: it holds one state")
    if parquet == STDOUT and sys.stdout.isatty():
        raise UserError("--parquet is not text for a terminal; name a file, as --parquet=FILE")
    printed = [target for target in (parquet, csv_file, forms.json) if target == STDOUT]
    if len(printed) > 1:
        raise UserError("only one of --parquet, --csv and --json can go to stdout; name files")
    if not paths:
        raise UserError("--all: there is no run yet; make one with 'tierscope run'")
    asked = {"parquet": parquet, "csv": csv_file}
    tables = {form: Path(file) for form, file in asked.items() if file is not None}
    outputs = {f"--{form}": path for form, path in (tables | single).items()}
    forms.check(outputs, paths)
    aside = bool(printed) or any(is_stdout(path) for path in outputs.values())
    written: list[dict[str, object]] = []
    for form, target in tables.items():
        count, runs = _export_table(paths, target, form, every)
        written.append({"file": shown(target), "measurements": count, "runs": runs})
        say_written(f"{counted(count, 'measurement')} of {counted(runs, 'run')}", target, aside)
    for option, path in single.items():
        written.append(_export_one(paths[0], option, path, aside))
    emit(forms, lambda: json.dumps({"written": written}), lambda: None)


def _export_table(paths: list[Path], target: Path, form: str, every: bool) -> tuple[int, int]:
    """Write a table; returns how many measurements of how many runs."""
    from tierscope.runs.export_tables import table_bytes

    with waiting("exporting"):
        content, count, problems = table_bytes(paths, form)
    if problems and (not every or len(problems) == len(paths)):
        raise UserError(problems[0])  # it was asked for by name, or there is no other
    write_output(target, content, f"--{form}")
    _warn(problems)
    return count, len(paths) - len(problems)


def _export_one(run: Path, option: str, target: Path, aside: bool) -> dict[str, object]:
    """Write one run's state in the form of an option; return what the JSON says of it."""
    from tierscope.recipes.weights_export import FORMS
    from tierscope.runs.export_tables import prometheus_text
    from tierscope.runs.read import read_run

    found = read_run(run)
    if option == "cxlbench":
        from tierscope.recipes.cxlbench.output import document

        text, cases = document(found, run)
        write_output(target, text, "--cxlbench")
        say_written(counted(cases, "case"), target, aside)
        return {"file": shown(target), "cases": cases}
    if option in FORMS:
        _refuse_imported(found, run, f"--{option} takes weights that tierscope measured")
    if option == "prometheus":
        write_output(target, prometheus_text(found), "--prometheus")
        count = sum(m.has_figure for m in found.measurements)
        say_written(counted(count, "figure"), target, aside)
        return {"file": shown(target), "figures": count}
    write_output(target, FORMS[option](found), f"--{option}")
    say_written(option, target, aside)
    return {"file": shown(target), "form": option}


def check_run(name: str, expect: Path, junit: Path | None, forms: Forms) -> int:
    """Check a run against golden values; returns the exit status."""
    from tierscope.analysis.expect import check
    from tierscope.analysis.rules import read_rules
    from tierscope.kinds.words import vocabulary
    from tierscope.runs.read import read_run

    path = find_run(name)
    forms.check({"--junit": junit}, [path, expect])
    rules = read_rules(expect, vocabulary())
    run = read_run(path)
    _refuse_imported(run, path, "golden values hold for figures that tierscope measured")
    findings = check(run, rules)
    if junit is not None:
        from tierscope.report.check import junit_xml

        write_output(junit, junit_xml(run, findings), "--junit")
        say_written("JUnit XML", junit, aside=forms.printed != "tables")

    def tables() -> None:
        if junit is not None and is_stdout(junit):
            return
        from tierscope.report.check import show_findings
        from tierscope.report.console import make_console

        show_findings(make_console(), findings)

    found = {"findings": [finding.model_dump(mode="json") for finding in findings]}
    emit(forms, lambda: json.dumps(found), tables)
    met = all(finding.passed for finding in findings)
    return int(ExitCode.ALL_MEASURED if met else ExitCode.SOMETHING_FAILED)


def _refuse_imported(run: "Run", path: Path, why: str) -> None:
    if run.header.imported:
        raise UserError(
            f"run '{shown(path)}' is imported, {run.header.imported.program} measured it; {why}"
        )


def _all_paths(directory: Path | None) -> list[Path]:
    from tierscope.runs.history import run_files

    return run_files(directory)


def _warn(problems: list[str]) -> None:
    for problem in problems:
        click.echo(f"tierscope: left out: {problem}", err=True)
