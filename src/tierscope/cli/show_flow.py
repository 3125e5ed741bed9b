"""From run files to tables, reports, comparisons and bundles."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.analysis.streamer import is_study
from tierscope.cli.files import say_written, write_pictures
from tierscope.cli.forms import Forms, emit
from tierscope.cli.waiting import waiting
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.runs.output import is_stdout, write_output
from tierscope.runs.read import read_run
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from tierscope.analysis.together import Together
    from tierscope.report.streamer import StudyView


def show_file(name: str, forms: Forms) -> None:
    """Print a run file, or write it, in the forms asked for."""
    from tierscope.cli.print_run import print_run

    forms.check()
    path = find_run(name)
    forms.check(inputs=[path])
    with waiting("reading the run"):
        run = read_run(path)
    print_run(run, path, forms)


def _study_of(run: Run) -> "StudyView | None":
    """Return what is shown of a run of ``tierscope streamer``; None of other runs."""
    if not is_study(run):
        return None
    from tierscope.recipes.streamer_view import view_of

    return view_of(run)


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
                count = write_pictures(folder, form, _pictures(runs, form))
            written[form] = count
            if forms.printed == "tables":
                click.echo(f"{counted(count, 'picture')} in {folder}", err=aside)
    if page_path is not None:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.html.page import render_report

        with waiting("drawing the report"):
            studies = {name: view for name, run in runs if (view := _study_of(run))}
            page = render_report(runs, VIEWS, studies, _together(paths, runs))
        write_output(page_path, page, "--out")
        written["report"] = shown(page_path)
        if forms.printed == "tables":
            say_written("report", page_path)
    emit(forms, lambda: json.dumps(written), lambda: None)


def _pictures(runs: list[tuple[str, Run]], form: str) -> Iterator[tuple[str, bytes]]:
    """Yield every picture of every run; studies of ``tierscope streamer`` have their own."""
    from tierscope.cli.streamer_flow import study_pictures
    from tierscope.kinds.views import VIEWS
    from tierscope.report.pictures.files import beside_files, picture_files

    studies = {name: view for name, run in runs if (view := _study_of(run))}
    for name, run in runs:
        prefix = f"{name}-" if len(runs) > 1 else ""
        if name in studies:
            for file, content in study_pictures(studies[name], run, form):
                yield f"{prefix}{file}", content
        else:
            for file, content in picture_files([(name, run)], form, VIEWS):
                yield f"{prefix}{file}", content
    if len(runs) > 1:
        yield from beside_files(runs, form, VIEWS)


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
    beside = _together(paths[: len(names)], runs)
    if beside and "host" not in allowed:
        allowed.append("host")
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

        if beside:
            from tierscope.report.together import show_together

            show_together(make_console(), beside)
        if others == 1:
            show_comparison(make_console(), comparisons[0])
        else:
            show_trend(make_console(), runs, comparisons)

    found = {
        "comparisons": [c.model_dump(mode="json") for c in comparisons],
        **({"together": [group.model_dump(mode="json") for group in beside]} if beside else {}),
    }
    emit(forms, lambda: json.dumps(found), tables)
    if out is not None:
        say_written("page", out, aside=forms.printed != "tables")
    if any(c.count("slower") for c in comparisons):
        return int(ExitCode.SOMETHING_FAILED)
    unjudged = ("undecided", "not comparable")
    judged = any(d.verdict not in unjudged for c in comparisons for d in c.differences)
    return int(ExitCode.ALL_MEASURED if judged else ExitCode.NOTHING_MEASURED)


def _together(paths: Sequence[Path], runs: Sequence[tuple[str, Run]]) -> "list[Together]":
    """Return the runs of several hosts that began at the same moment, beside those alone."""
    from tierscope.analysis.together import NamedRun, together
    from tierscope.runs.spans import spans_of

    if all(run.header.start_at is None for _, run in runs):
        return []
    named = [
        NamedRun(name, run, spans_of(path)) for path, (name, run) in zip(paths, runs, strict=True)
    ]
    return together(named)


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
