"""``tierscope streamer``: measures the study and shows tables, sentences, pictures and a page."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tierscope.cli.measure import taken
from tierscope.cli.output import Output, make_folder, write_pictures
from tierscope.machine.discover import discover
from tierscope.machine.settings import thp_available
from tierscope.model.errors import UserError, counted, shown
from tierscope.model.run import Run
from tierscope.peers.registry import PEERS
from tierscope.peers.streamer.importer import as_csv, read_results
from tierscope.peers.streamer.output import (
    Others,
    StudyView,
    pictures,
    show_run,
    study_json,
    view_of,
)
from tierscope.peers.streamer.plan import groups_asked, plan_of
from tierscope.peers.streamer.study import Study
from tierscope.plans.fit import check_memory
from tierscope.report.pictures.of_run import drawn, origin_of
from tierscope.runs.export import to_json
from tierscope.runs.output import write_output

_STUDY = "STREAMer"
"""The name of the study's own results."""


class Shown(NamedTuple):
    """Input and output of the study."""

    run: str | None
    no_measure: bool
    study: Path | None
    others: tuple[str, ...]
    report: Path | None
    folders: Mapping[str, Path | None]
    """Folders by the form of pictures, png or svg."""


def show_streamer(given: dict[str, str], asked: Shown, output: Output) -> int:
    """Measure or read a study, and show it; returns the exit status."""
    _check(given, asked)
    inputs = [asked.study] if asked.study else []
    output = output.beside({"--report": asked.report})
    output.check(inputs)
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


def _check(given: Mapping[str, str], asked: Shown) -> None:
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
    if not PEERS["streamer"].owns(run):
        raise UserError(f"--run: {shown(path)} is not a run of 'tierscope streamer'")
    return run, path


def _read_others(asked: Shown) -> Others:
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
    view: StudyView, run: Run | None, path: Path | None, asked: Shown, output: Output
) -> None:
    """Print the study, and write the page and the pictures asked for."""

    def in_json() -> str:
        found = study_json(view)
        return to_json(run, found) if run else json.dumps(found)

    output.emit(
        in_json, lambda console: show_run(console, view, run, path), lambda: as_csv(view.studies)
    )
    for form, folder in asked.folders.items():
        if folder is not None:
            made = drawn(pictures(view), form, origin_of(run) if run else "")
            output.say(f"{counted(write_pictures(folder, form, made), 'picture')} in {folder}")
    if asked.report is not None:
        write_output(asked.report, _page(view, run, path), "--report")
        output.say_written("report", asked.report)


def _page(view: StudyView, run: Run | None, path: Path | None) -> str:
    from tierscope.peers.streamer.page import render_study, study_section

    if run is None or path is None:
        return render_study(view)
    from tierscope.kinds.views import VIEWS
    from tierscope.report.html.page import render_report

    name = shown(path.stem)
    return render_report([(name, run)], VIEWS, {name: partial(study_section, view)})
