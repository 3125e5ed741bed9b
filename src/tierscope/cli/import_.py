"""``tierscope import``: results of other programs as a run."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.output import Output, waiting
from tierscope.cli.print_run import print_run
from tierscope.model.errors import UserError, shown
from tierscope.model.given_file import open_given
from tierscope.peers.registry import IMPORTERS, imported_programs
from tierscope.runs.store import new_run_path

if TYPE_CHECKING:
    from tierscope.model.run import Run
    from tierscope.peers.importing import Found


_FORMS = list(IMPORTERS)
_CLOCKED = " and ".join(f"{one.program}'s" for one in IMPORTERS.values() if one.clocked)
_EXAMPLES = "".join(
    f"  tierscope import {example}\n" for one in IMPORTERS.values() for example in one.examples
)
_HELP = f"""\
Import published results of {imported_programs()} as a run.

The run is shown, reported, compared, queried and exported as others are, and marked as imported
wherever it has figures: tierscope measured none of them. What files do not tell is unknown.

\b
Examples:
{_EXAMPLES}"""
_MAX_BYTES = 1 << 28
"""Maximum bytes of one file; published ones have a few MB."""


@options.command("import", help=_HELP)
@click.argument("form", metavar="|".join(_FORMS), type=click.Choice(_FORMS))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.PATH)
@options.run_file_option()
@click.option("--from", "initiator", metavar="ENDPOINT", help="CPUs that the files do not name")
@click.option("--to", "target", metavar="ENDPOINT", help="Memory that the files do not name")
@click.option(
    "--clock", metavar="HZ", help=f"Clock of {_CLOCKED} latencies in cycles, as 2.1ghz; or ns"
)
@options.json_option
@options.csv_option
def import_(
    form: str,
    files: tuple[Path, ...],
    out: Path | None,
    initiator: str | None,
    target: str | None,
    clock: str | None,
    output: Output,
) -> None:
    """Import files."""
    from tierscope.peers.importing import Source, run_of
    from tierscope.peers.registry import PEERS

    path = _checked_ends(form, (initiator, target))
    if clock is not None and not IMPORTERS[form].clocked:
        others = ", ".join(name for name, importer in IMPORTERS.items() if importer.clocked)
        raise UserError(f"--clock: {form} says in which units its figures are; it is for {others}")
    output.check(files)
    with waiting("reading files"):
        sources = [Source(shown(file), _content(file)) for file in files]
        found: Found = PEERS[form].module("importer").read(sources, path, clock)
    if not found.measurements:
        raise UserError(f"{sources[0].name}: it holds no figure")
    command = [shown(word) for word in sys.argv]
    label = f"{form}-{Path(sources[0].name).stem}"
    run = run_of(form, found, sources, command, label)
    written = _write(run, out, label)
    print_run(run, written, output)


def _checked_ends(form: str, ends: tuple[str | None, str | None]) -> tuple[str, str] | None:
    from tierscope.model.endpoint import parse_initiator, parse_target

    given = [option for option, end in zip(("--from", "--to"), ends, strict=True) if end]
    if given and IMPORTERS[form].names_nodes:
        program = IMPORTERS[form].program
        raise UserError(f"{given[0]}: {program}'s files name their nodes; leave it out")
    initiator, target = ends
    if initiator is None and target is None:
        return None
    if initiator is None or target is None:
        raise UserError(f"{given[0]} goes with the other end; give both --from and --to")
    return str(parse_initiator(initiator)), str(parse_target(target))


def _content(file: Path) -> bytes:
    try:
        with open_given(file) as opened:
            content = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{shown(file)} cannot be read: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise UserError(
            f"{shown(file)} is larger than {_MAX_BYTES >> 20} MiB: it is not a result file"
        )
    return content


def _write(run: "Run", out: Path | None, label: str) -> Path:
    """Write the run file, NAME.jsonl as asked or a new one in a directory; return its path."""
    from tierscope.runs.write import RunWriter

    path = new_run_path(label, out, datetime.now().astimezone())
    writer = RunWriter.create(path, run.header)
    try:
        for measurement in run.measurements:
            writer.add(measurement)
        assert run.footer is not None
        writer.add(run.footer)
    finally:
        writer.close()
    return path
