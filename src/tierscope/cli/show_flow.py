"""From run files to reports, comparisons and checks: what the showing commands share."""

import json
from pathlib import Path

import typer

from tierscope.analysis.flat import flat_run
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Run
from tierscope.plans.grammar import parse_number
from tierscope.report.waiting import waiting
from tierscope.runs import find_run, read_run


def runs_named(names: list[str]) -> list[tuple[str, Run]]:
    """Read runs by file, name, tag or ``last``; each with the name to call it by."""
    found = [find_run(name) for name in names]
    with waiting("reading runs"):
        return [(path.stem, flat_run(read_run(path))) for path in found]


def report_runs(names: list[str], output: Path | None, png: Path | None, svg: Path | None) -> None:
    """Write the HTML report, and pictures where asked."""
    from tierscope.kinds.views import VIEWS
    from tierscope.report.html import render_report, write_page
    from tierscope.report.pictures.files import write_pictures

    runs = runs_named(names or ["last"])
    for folder, form in ((png, "png"), (svg, "svg")):
        if folder is not None:
            with waiting("drawing pictures"):
                count = write_pictures(runs, folder, form, VIEWS)
            typer.echo(f"{count} pictures in {folder}")
    if output is None and (png or svg):
        return
    path = output or Path(f"{runs[0][0]}.html")
    with waiting("drawing the report"):
        write_page(render_report(runs, VIEWS), path)
    typer.echo(f"report: {path}")


def compare_runs(
    names: list[str],
    tolerance: str,
    allow: str | None,
    also: list[str],
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare the first run with each other one; exit as ``compare`` documents."""
    from tierscope.analysis.compare import compare
    from tierscope.analysis.obstacles import check_allowed

    if len(names) < 2:
        raise UserError("compare takes at least two runs: BASE NEW")
    try:
        share = parse_number(tolerance, -1e-9, 0.99)
    except UserError:
        raise UserError(
            f"--tolerance: '{tolerance}' is not a share from 0, which counts every change, to 99%"
        ) from None
    allowed = [word.strip() for word in allow.split(",")] if allow else []
    check_allowed(allowed)
    runs = runs_named(names)
    others = len(runs) - 1
    with waiting("comparing"):
        before = [run for _, run in runs_named(also)]
        comparisons = [compare(runs[0], run, share, allowed, others, before) for run in runs[1:]]
    if output is not None:
        from tierscope.report.html import write_page
        from tierscope.report.html.compare import render_comparison

        write_page(render_comparison(runs, comparisons), output)
    if as_json:
        typer.echo(json.dumps({"comparisons": [c.model_dump(mode="json") for c in comparisons]}))
    else:
        from tierscope.report.compare import show_comparison, show_trend
        from tierscope.report.console import make_console

        if others == 1:
            show_comparison(make_console(), comparisons[0])
        else:
            show_trend(make_console(), runs, comparisons)
    if output is not None:
        typer.echo(f"page: {output}", err=as_json)
    slower = any(c.count("slower") for c in comparisons)
    judged = any(d.verdict != "not comparable" for c in comparisons for d in c.differences)
    if slower:
        raise typer.Exit(int(ExitCode.SOMETHING_FAILED))
    raise typer.Exit(int(ExitCode.ALL_MEASURED if judged else ExitCode.NOTHING_MEASURED))
