"""From the folder of a fleet to its tables, and to what is wrong with its hosts."""

import json
from pathlib import Path

import click

from tierscope.cli.files import say_written
from tierscope.cli.forms import Forms, emit
from tierscope.cli.waiting import waiting
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.text import shown
from tierscope.runs.output import is_stdout, write_output


def gather_fleet(folder: Path, out: Path, forms: Forms) -> None:
    """Write the tables of a fleet and print what they hold."""
    from tierscope.fleet.gather import gather
    from tierscope.fleet.show import show_gathered
    from tierscope.report.console import make_console

    forms.check()
    with waiting("gathering") as say:
        found = gather(folder, out, lambda done, of: say(f"gathering: {done} of {of} run files"))
    for problem in found.unreadable:
        click.echo(f"tierscope: left out: {problem}", err=True)
    for path in found.older:
        click.echo(f"tierscope: left out: {path}: its host has a later run", err=True)
    emit(
        forms,
        lambda: found.model_dump_json(),
        lambda: show_gathered(make_console(), found),
    )


def check_folder(
    place: str,
    expect: Path | None,
    by: str,
    minimum: str,
    junit: Path | None,
    drain: bool,
    forms: Forms,
) -> int:
    """Check a fleet; returns the exit status."""
    from tierscope.analysis.rules import read_rules
    from tierscope.fleet.check import check_fleet
    from tierscope.fleet.find import BY, outliers_of
    from tierscope.fleet.groups import read_groups
    from tierscope.fleet.show import drain_lines, junit_xml
    from tierscope.kinds.words import vocabulary

    forms.check({"--junit": junit}, [path for path in (expect,) if path])
    if drain and (forms.printed != "tables" or (junit is not None and is_stdout(junit))):
        raise UserError("--drain prints commands only; name files, as --json=FILE, --junit FILE")
    rules = read_rules(expect, vocabulary()) if expect else []
    share = _minimum(minimum)
    groups = None if by in BY else read_groups(Path(by))
    with waiting("checking") as say:
        _make_tables(place, expect)
        verdict = outliers_of(place, by, groups, share)
        found = check_fleet(
            place, verdict, rules, lambda done, of: say(f"golden values: {done} of {of} hosts")
        )
    if junit is not None:
        write_output(junit, junit_xml(found, place), "--junit")
        say_written("JUnit XML", junit, aside=drain or forms.printed != "tables")

    def tables() -> None:
        if drain:
            click.echo("".join(f"{line}\n" for line in drain_lines(found)), nl=False)
        elif junit is None or not is_stdout(junit):
            from tierscope.fleet.show import show_check
            from tierscope.report.console import make_console

            show_check(make_console(), found)

    def in_json() -> str:
        listed = [one.model_dump(mode="json") for one in found.drain()]
        return json.dumps({**found.model_dump(mode="json"), "drain": listed})

    emit(forms, in_json, tables)
    return int(ExitCode.ALL_MEASURED if found.accepted else ExitCode.SOMETHING_FAILED)


def report_fleet(
    place: str, out: Path | None, expect: Path | None, by: str, minimum: str, forms: Forms
) -> None:
    """Write the HTML report of a fleet."""
    from tierscope.analysis.rules import read_rules
    from tierscope.fleet.find import BY
    from tierscope.fleet.groups import read_groups
    from tierscope.fleet.index_file import INDEX
    from tierscope.fleet.tables import COLUMNS, is_url, name_of
    from tierscope.fleet.view import read_view
    from tierscope.kinds.words import vocabulary
    from tierscope.report.html.fleet import render_fleet

    folder = Path(place)
    if not (is_url(place) or folder.is_dir()):
        raise UserError(f"'{shown(folder)}' is no directory; name the folder of a fleet")
    page = out or Path(f"{name_of(place) or 'fleet'}.html")
    reads = [folder / INDEX, *(folder / f"{name}.parquet" for name in COLUMNS)]
    forms.check({"--out": page}, [*reads, *([expect] if expect else [])])
    rules = read_rules(expect, vocabulary()) if expect else []
    share = _minimum(minimum)
    groups = None if by in BY else read_groups(Path(by))
    with waiting("gathering") as say:
        _make_tables(place, expect)
        say("comparing the hosts")
        view = read_view(place, rules, by, groups, share)
        say("drawing the report")
        content = render_fleet(view)
    write_output(page, content, "--out")
    written = {
        "report": shown(page),
        "hosts": len(view.hosts),
        "measured": view.states["measured"],
        "slow": [one.host for one in view.outliers],
    }
    if forms.printed == "tables":
        say_written("report", page)
    emit(forms, lambda: json.dumps(written), lambda: None)


def _make_tables(place: str, expect: Path | None) -> None:
    """Gather a folder where that was not done since its run files were written.

    At a URL are tables and no run files, with which golden values are compared.
    """
    from tierscope.fleet.check import is_stale
    from tierscope.fleet.gather import gather
    from tierscope.fleet.tables import is_url

    if is_url(place):
        if expect is not None:
            raise UserError("--expect needs the run files, which are not at a URL; name a folder")
        return
    folder = Path(place)
    if is_stale(folder):
        for problem in gather(folder, folder).unreadable:
            click.echo(f"tierscope: left out: {problem}", err=True)


def _minimum(text: str) -> float:
    from tierscope.plans.grammar import parse_share

    try:
        return parse_share(text, -1e-9, 0.99)
    except UserError as error:
        raise UserError(f"--minimum: {error}") from None
