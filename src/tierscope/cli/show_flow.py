"""From run files to tables, reports, comparisons and bundles."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from tierscope.cli.files import say_written
from tierscope.cli.forms import Forms, emit
from tierscope.cli.waiting import waiting
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.runs.output import is_stdout, write_output
from tierscope.runs.read import read_run
from tierscope.runs.store import find_run


def show_file(name: str, forms: Forms) -> None:
    """Print a run file, or write it, in the forms asked for."""
    from tierscope.cli.print_run import print_run

    forms.check()
    path = find_run(name)
    forms.check(inputs=[path])
    with waiting("reading the run"):
        run = read_run(path)
    print_run(run, path, forms)


def runs_at(paths: Sequence[Path]) -> list[tuple[str, Run]]:
    """Read runs, each with the name to call it by."""
    with waiting("reading runs"):
        return [(shown(path.stem), read_run(path)) for path in paths]


def report_runs(
    names: Sequence[str], out: Path | None, png: Path | None, svg: Path | None, forms: Forms
) -> None:
    """Write the HTML report, and pictures where asked."""
    paths = [find_run(name) for name in names or ["last"]]
    page_path = out or (None if png or svg else Path(f"{paths[0].stem}.html"))
    forms.check({"--out": page_path}, paths)
    runs = runs_at(paths)
    aside = bool(page_path and is_stdout(page_path))
    written: dict[str, object] = {}
    for folder, form in ((png, "png"), (svg, "svg")):
        if folder is not None:
            with waiting("drawing pictures"):
                count = _write_pictures(runs, folder, form)
            written[form] = count
            if forms.printed == "tables":
                click.echo(f"{counted(count, 'picture')} in {folder}", err=aside)
    if page_path is not None:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.html.page import render_report

        with waiting("drawing the report"):
            page = render_report(runs, VIEWS)
        write_output(page_path, page, "--out")
        written["report"] = shown(page_path)
        if forms.printed == "tables":
            say_written("report", page_path)
    emit(forms, lambda: json.dumps(written), lambda: None)


def _write_pictures(runs: list[tuple[str, Run]], folder: Path, form: str) -> int:
    from tierscope.kinds.views import VIEWS
    from tierscope.report.pictures.files import picture_files

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--{form}: {folder} cannot be made: {error.strerror}") from None
    count = 0
    for name, content in picture_files(runs, form, VIEWS):
        write_output(folder / name, content, f"--{form}")
        count += 1
    return count


def compare_runs(
    names: Sequence[str],
    tolerance: str,
    allow: str | None,
    also: Sequence[str],
    out: Path | None,
    forms: Forms,
) -> int:
    """Compare the first run with each other one; returns the exit status of ``compare``."""
    from tierscope.analysis.compare import compare
    from tierscope.analysis.obstacles import check_allowed

    if len(names) < 2:
        raise UserError("compare takes at least two runs: BASE NEW")
    share = _share(tolerance)
    allowed = [word.strip() for word in allow.split(",")] if allow else []
    check_allowed(allowed)
    paths = [find_run(name) for name in (*names, *also)]
    forms.check({"--out": out}, paths)
    runs = runs_at(paths[: len(names)])
    others = len(runs) - 1
    with waiting("comparing"):
        before = [run for _, run in runs_at(paths[len(names) :])]
        comparisons = [compare(runs[0], run, share, allowed, others, before) for run in runs[1:]]
    if out is not None:
        from tierscope.report.html.compare import render_comparison

        write_output(out, render_comparison(runs, comparisons), "--out")

    def tables() -> None:
        if out is not None and is_stdout(out):
            return
        from tierscope.report.compare import show_comparison, show_trend
        from tierscope.report.console import make_console

        if others == 1:
            show_comparison(make_console(), comparisons[0])
        else:
            show_trend(make_console(), runs, comparisons)

    found = {"comparisons": [c.model_dump(mode="json") for c in comparisons]}
    emit(forms, lambda: json.dumps(found), tables)
    if out is not None:
        say_written("page", out, aside=forms.printed != "tables")
    if any(c.count("slower") for c in comparisons):
        return int(ExitCode.SOMETHING_FAILED)
    unjudged = ("undecided", "not comparable")
    judged = any(d.verdict not in unjudged for c in comparisons for d in c.differences)
    return int(ExitCode.ALL_MEASURED if judged else ExitCode.NOTHING_MEASURED)


def _share(tolerance: str) -> float:
    from tierscope.plans.grammar import parse_number

    try:
        return parse_number(tolerance, -1e-9, 0.99)
    except UserError:
        raise UserError(
            f"--tolerance: '{tolerance}' is not a share from 0, which counts every change, to 99%"
        ) from None


def bundle_run(name: str, directory: Path | None, forms: Forms) -> None:
    """Pack a run for a bug report and say where the archive is."""
    from tierscope.runs.bundle import bundle

    with waiting("packing the run"):
        path = bundle(find_run(name), directory)
    emit(forms, lambda: json.dumps({"bundle": shown(path)}), lambda: click.echo(f"bundle: {path}"))
