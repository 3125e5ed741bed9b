"""``tierscope fleet``: many hosts joined, checked and reported."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.commands import fleet_entries
from tierscope.cli.kept import say_left_out
from tierscope.cli.output import Output, waiting
from tierscope.cli.parsing import LazyGroup
from tierscope.model.errors import ExitCode, UserError, shown
from tierscope.runs.output import write_output

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.analysis.expect import Rule


_by_option = click.option(
    "--by",
    metavar="GROUP",
    default="model",
    help="Compare hosts of one machine model, and of one rack, switch, or group of FILE: Slurm's "
    "topology.conf, or HOST and GROUP as .csv or .yaml  [default: model]",
)
_minimum_option = click.option(
    "--minimum",
    metavar="SHARE",
    default="1%",
    help="Ignore hosts that are slower by less than this  [default: 1%]",
)
_most_drained_option = click.option(
    "--most-drained",
    metavar="SHARE",
    default="5%",
    help="Share of a group's hosts that may be slow for a reason, and of all hosts that may be "
    "drained  [default: 5%]",
)


@click.group(cls=LazyGroup, entries=fleet_entries(), context_settings=options.SETTINGS)
def fleet() -> None:
    """Measure many machines over MPI, join their runs, and find those that are slower than others.

    \b
    Examples:
      tierscope fleet run --dry-run
      mpirun --enable-recovery --map-by ppr:1:node tierscope fleet run --profile quick --out fleet
      srun --ntasks-per-node=1 tierscope fleet run plan.yaml --out fleet
      tierscope fleet gather fleet
      tierscope fleet check fleet --expect golden.yaml
      tierscope fleet report fleet
    """


@options.command()
@click.argument("folder", metavar="DIR", type=options.PATH)
@options.out_option("DIR", "Where the tables go  [default: the folder itself]")
@options.json_option
def gather(folder: Path, out: Path | None, output: Output) -> None:
    """Join the run files of many hosts as tables in Parquet: hosts, figures and together.

    DIR is what 'tierscope fleet run' left, or any folder with run files of hosts in it or below,
    copied together. A run file that was cut counts with what it has. Of several run files of a host
    the latest counts.

    \b
    Examples:
      tierscope fleet gather fleet
      tierscope fleet gather copied --out tables --json
      tierscope query "select host, state, reason from hosts where state <> 'measured'" --in fleet
    """
    from tierscope.fleet.gather import gather
    from tierscope.fleet.show import show_gathered

    output.check()
    with waiting("gathering") as say:
        found = gather(
            folder, out or folder, lambda done, of: say(f"gathering: {done} of {of} run files")
        )
    say_left_out(found.unreadable)
    say_left_out(f"{path}: its host has a later run" for path in found.older)
    output.emit(found.model_dump_json, lambda console: show_gathered(console, found))


@options.command()
@click.argument("place", metavar="DIR|URL", type=click.Path())
@options.file_option(
    "--expect", "Golden values that every host's figures have to meet", "FILE.yaml"
)
@_by_option
@_minimum_option
@options.file_option("--junit", "Write JUnit XML too, for CI systems")
@_most_drained_option
@click.option(
    "--drain", is_flag=True, help="Print the Slurm commands that drain hosts; run nothing"
)
@options.json_option
def check(
    place: str,
    expect: Path | None,
    by: str,
    minimum: str,
    most_drained: str,
    junit: Path | None,
    drain: bool,
    output: Output,
) -> int:
    """Check that all hosts of a fleet are measured, alike, and up to golden values.

    DIR is what 'tierscope fleet run' left, or a folder of run files. It is gathered first where
    that was not done. At a URL, as s3://bucket/fleet, are its tables. A host is named once, by the
    path on which it is most surely slower than its group, with what differs between it and the
    others. Of the hosts that are named at most 5% are false alarms. If more than --most-drained of
    a group's hosts are slower than the others, the group itself is uneven, and the check says so in
    place of naming them. Rules are those of 'tierscope check'.

    --drain drains hosts of which a figure is slower than its group, or misses its golden value,
    by more than its interval; none at all if these are more than --most-drained of the fleet. Those
    whose figures were disturbed or have the bound within their intervals, and those that were not
    measured or whose run files cannot be read, it names on stderr with the reason.

    Exit status: 0 accepted, 1 a host is slower than its group or misses a golden value, 2 the
    request or a file is wrong: a rule that matches nothing on any host is, and then nothing is
    drained, 3 nothing worse than inconclusive: not measured in full, an uneven group, or one too
    small to be compared without --expect, 4 the command failed, as for want of space: nothing is
    said about the hosts.

    \b
    Examples:
      tierscope fleet check fleet
      tierscope fleet check fleet --expect golden.yaml --junit acceptance.xml
      tierscope fleet check fleet --by /etc/slurm/topology.conf --minimum 2%
      tierscope fleet check fleet --drain
    """
    from tierscope.fleet.check import check_fleet
    from tierscope.fleet.outliers import outliers_of
    from tierscope.fleet.show import check_xml, drain_lines, inconclusive_line, show_check

    output = output.beside({"--junit": junit})
    output.check([path for path in (expect,) if path])
    if drain and output.printed != "tables":
        raise UserError("--drain prints commands only; name files, as --json=FILE, --junit FILE")
    rules, groups, share, most = _compared(expect, by, minimum, most_drained)
    with waiting("checking") as say:
        _make_tables(place, expect)
        verdict = outliers_of(place, by, groups, share, most=most)
        found = check_fleet(
            place,
            verdict,
            rules,
            most,
            lambda done, of: say(f"golden values: {done} of {of} hosts"),
        )
    if junit is not None:
        write_output(junit, check_xml(found, place), "--junit")
        if drain:
            click.echo(f"JUnit XML: {junit}", err=True)
        else:
            output.say_written("JUnit XML", junit)

    def tables(console: "Console") -> None:
        if drain:
            click.echo("".join(f"{line}\n" for line in drain_lines(found)), nl=False)
            if found.withheld():
                click.echo(f"tierscope: {found.withheld()}", err=True)
            if found.inconclusive():
                click.echo(f"tierscope: {inconclusive_line(found.inconclusive())}", err=True)
        else:
            show_check(console, found)

    def in_json() -> str:
        lists = {"drain": found.drain(), "inconclusive": found.inconclusive()}
        listed = {key: [one.model_dump(mode="json") for one in all_] for key, all_ in lists.items()}
        return json.dumps({**found.model_dump(mode="json"), **listed})

    output.emit(in_json, tables)
    if found.accepted:
        return int(ExitCode.ALL_MEASURED)
    return int(ExitCode.SOMETHING_FAILED if found.defective else ExitCode.NOTHING_MEASURED)


@options.command()
@click.argument("place", metavar="DIR|URL", type=click.Path())
@options.out_option("FILE", "The page  [default: DIR.html]")
@options.file_option("--expect", "Show golden values: rules of this file", "FILE.yaml")
@_by_option
@_minimum_option
@_most_drained_option
@options.json_option
def report(
    place: str,
    out: Path | None,
    expect: Path | None,
    by: str,
    minimum: str,
    most_drained: str,
    output: Output,
) -> None:
    """Write a fleet's report: one self-contained HTML file with a page for each host.

    DIR is what 'tierscope fleet run' left, or a folder of run files. It is gathered first where
    that was not done. At a URL, as s3://bucket/fleet, are its tables. Slow hosts come first; then
    each path over all hosts, as a map and as distributions with medians, limits and golden values.

    \b
    Examples:
      tierscope fleet report fleet
      tierscope fleet report fleet --expect golden.yaml -o acceptance.html
      tierscope fleet report fleet --by rack
    """
    from tierscope.fleet.index import INDEX
    from tierscope.fleet.tables import COLUMNS, is_url, name_of
    from tierscope.fleet.view import read_view
    from tierscope.report.html.fleet import render_fleet

    folder = Path(place)
    if not (is_url(place) or folder.is_dir()):
        raise UserError(f"'{shown(folder)}' is not a directory; name the folder of a fleet")
    page = out or Path(f"{name_of(place) or 'fleet'}.html")
    reads = [folder / INDEX, *(folder / f"{name}.parquet" for name in COLUMNS)]
    output = output.beside({"--out": page})
    output.check([*reads, *([expect] if expect else [])])
    rules, groups, share, most = _compared(expect, by, minimum, most_drained)
    with waiting("gathering") as say:
        _make_tables(place, expect)
        say("comparing the hosts")
        view = read_view(place, rules, by, groups, share, most)
        say("drawing the report")
        content = render_fleet(view)
    write_output(page, content, "--out")
    written = {
        "report": shown(page),
        "hosts": len(view.hosts),
        "measured": view.states["measured"],
        "slow": [one.host for one in view.outliers],
    }
    if output.printed == "tables":
        output.say_written("report", page)
    output.emit(written, None)


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
        say_left_out(gather(folder, folder).unreadable)


def _compared(
    expect: Path | None, by: str, minimum: str, most_drained: str
) -> "tuple[list[Rule], dict[str, str] | None, float, float]":
    """Return golden values, the groups of a file, the share that counts as slower, and that of the
    hosts that may be."""
    from tierscope.analysis.expect import read_expectation
    from tierscope.fleet.groups import read_groups
    from tierscope.fleet.outliers import BY
    from tierscope.kinds.vocabulary import vocabulary
    from tierscope.plans.grammar import parse_share

    rules = read_expectation(expect, vocabulary()).rules if expect else []
    with options.blaming("--minimum"):
        share = parse_share(minimum, -1e-9, 0.99)
    with options.blaming("--most-drained"):
        most = parse_share(most_drained, 0, 1)
    return rules, None if by in BY else read_groups(Path(by)), share, most
