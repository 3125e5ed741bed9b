"""From the options of ``tierscope streamer`` to tables, sentences, pictures and a page."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tierscope.analysis.streamer import Study, is_study
from tierscope.cli.files import make_folder, say_written, write_pictures
from tierscope.cli.flow import taken
from tierscope.cli.forms import emit
from tierscope.cli.options import Output
from tierscope.model.errors import UserError, counted
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.plans.fit import check_memory
from tierscope.recipes.streamer import groups_asked, plan_of
from tierscope.recipes.streamer_results import as_csv, read_results
from tierscope.recipes.streamer_view import Others, view_of
from tierscope.report.streamer import StudyView
from tierscope.runs.output import is_stdout, write_output
from tierscope.topology.discover import discover
from tierscope.topology.settings import thp_available

if TYPE_CHECKING:
    from rich.console import Console

_STUDY = "STREAMer"
"""What the study's own results are called."""


class Asked(NamedTuple):
    """What is shown, and where it goes."""

    run: str | None
    no_measure: bool
    study: Path | None
    others: tuple[str, ...]
    report: Path | None
    folders: Mapping[str, Path | None]
    """By the form of the pictures, png or svg."""


def show_streamer(given: dict[str, str], asked: Asked, output: Output) -> int:
    """Measure, or read what is to be shown; returns the exit status."""
    _check(given, asked)
    inputs = [asked.study] if asked.study else []
    output.forms.check({"--report": asked.report}, inputs)
    others = _read_others(asked)
    groups = groups_asked(given)
    for form, folder in asked.folders.items():
        if folder is not None and not output.dry_run:
            make_folder(folder, form)
    run, path, code, error = None, None, 0, None
    if asked.run is not None:
        run, path = _kept_run(asked.run)
    elif not asked.no_measure:
        topology = discover()
        plan = plan_of(given, topology, thp_available())
        check_memory(plan, topology)
        outcome = taken("streamer", plan, topology, output)
        if outcome is None:
            return 0
        run, path = outcome.run, outcome.path
        code, error = int(outcome.exit_code), outcome.error
    _show(view_of(run, others, groups), run, path, asked, output)
    if error:
        raise error
    return code


def _check(given: Mapping[str, str], asked: Asked) -> None:
    """Raise UserError where options contradict each other."""
    if asked.no_measure and asked.run is not None:
        raise UserError("--no-measure: --run measures nothing either; give one of them")
    if asked.no_measure and not (asked.study or asked.others):
        raise UserError("--no-measure: there is nothing to show; name results in --study or --with")
    if asked.no_measure or asked.run is not None:
        named = "--no-measure" if asked.no_measure else "--run"
        for name in given:
            raise UserError(f"--{name} has no effect here: with {named} nothing is measured")


def _kept_run(name: str) -> tuple[Run, Path]:
    from tierscope.runs.read import read_run
    from tierscope.runs.store import find_run

    path = find_run(name)
    run = read_run(path)
    if not is_study(run):
        raise UserError(f"--run: {shown(path)} is not a run of 'tierscope streamer'")
    return run, path


def _read_others(asked: Asked) -> Others:
    published = read_results(asked.study, _STUDY) if asked.study else []
    machines: list[Study] = []
    runs: list[Run] = []
    for text in asked.others:
        name, path = _named(text)
        if path.suffix == ".jsonl":
            runs.append(_kept_run(str(path))[0])
        else:
            machines += read_results(path, name)
    return Others(published, machines, runs)


def _named(text: str) -> tuple[str, Path]:
    """Return the name and the path of ``NAME=PATH``; the path's own name where none is given."""
    name, equals, rest = text.partition("=")
    if equals and "/" not in name:
        if not (name and name.isprintable() and rest):
            raise UserError(f"--with: '{text}' is not NAME=PATH")
        return name, Path(rest)
    path = Path(text)
    return shown(path.stem), path


def _show(
    view: StudyView, run: Run | None, path: Path | None, asked: Asked, output: Output
) -> None:
    """Print the study, and write the page and the pictures asked for."""

    def in_json() -> str:
        from tierscope.report.streamer import study_json
        from tierscope.runs.export import to_json

        found = study_json(view)
        return to_json(run, found) if run else json.dumps(found)

    def tables() -> None:
        if asked.report and is_stdout(asked.report):
            return
        from tierscope.report.console import make_console

        print_study(make_console(), view, run, path)

    emit(output.forms, in_json, tables, lambda: as_csv(view.studies))
    aside = output.forms.printed != "tables"
    for form, folder in asked.folders.items():
        if folder is not None:
            count = write_pictures(folder, form, study_pictures(view, run, form))
            click.echo(f"{counted(count, 'picture')} in {folder}", err=aside)
    if asked.report is not None:
        write_output(asked.report, _page(view, run, path), "--report")
        say_written("report", asked.report, aside=aside)


def print_study(console: "Console", view: StudyView, run: Run | None, path: Path | None) -> None:
    """Print a study, and what its run did not measure."""
    from tierscope.report.run import show_end, show_machine, show_missing
    from tierscope.report.streamer import show_study

    if run:
        show_machine(console, run)
    show_study(console, view)
    if run and path:
        show_missing(console, run)
        show_end(console, run, path)


def study_pictures(view: StudyView, run: Run | None, form: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each picture; ``form`` is png or svg."""
    from tierscope.report.pictures.files import drawn, origin_of
    from tierscope.report.streamer import pictures

    return drawn(pictures(view), form, origin_of(run) if run else "")


def _page(view: StudyView, run: Run | None, path: Path | None) -> str:
    if run is None or path is None:
        from tierscope.report.html.study import render_study

        return render_study(view)
    from tierscope.kinds.views import VIEWS
    from tierscope.report.html.page import render_report

    name = shown(path.stem)
    return render_report([(name, run)], VIEWS, {name: view})
