"""From other programs' files to a run."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tierscope.cli.forms import Forms
from tierscope.cli.print_run import print_run
from tierscope.cli.waiting import waiting
from tierscope.model.endpoint import parse_initiator, parse_target
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.recipes.imported import cxlbench, mess, mlc
from tierscope.recipes.imported.build import Found, run_of
from tierscope.recipes.imported.source import Format, Source
from tierscope.runs.output import is_stdout
from tierscope.runs.store import SUFFIX, new_run_path
from tierscope.runs.write import RunWriter

_MAX_BYTES = 1 << 28
"""Of one file; published ones have a few MB."""


def import_files(
    form: Format,
    files: Sequence[Path],
    out: Path | None,
    ends: tuple[str | None, str | None],
    clock: str | None,
    forms: Forms,
) -> None:
    """Make a run of files and print it; raises UserError of one line."""
    path = _checked_ends(form, ends)
    if clock is not None and form != "mess":
        raise UserError(f"--clock: {form} says in which units its figures are; it is for mess")
    forms.check({}, files)
    with waiting("reading files"):
        sources = [Source(shown(file), _content(file)) for file in files]
        found = _read(form, sources, path, clock)
    if not found.measurements:
        raise UserError(f"{sources[0].name}: it holds no figure")
    command = [shown(word) for word in sys.argv]
    label = f"{form}-{Path(sources[0].name).stem}"
    run = run_of(form, found, sources, command, label)
    written = _write(run, out, label)
    print_run(run, written, forms)


def _checked_ends(form: Format, ends: tuple[str | None, str | None]) -> tuple[str, str] | None:
    given = [option for option, end in zip(("--from", "--to"), ends, strict=True) if end]
    if given and form == "cxlbench":
        raise UserError(f"{given[0]}: CXL-Bench's files name their nodes; leave it out")
    initiator, target = ends
    if initiator is None and target is None:
        return None
    if initiator is None or target is None:
        raise UserError(f"{given[0]} goes with the other end; give both --from and --to")
    return str(parse_initiator(initiator)), str(parse_target(target))


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{shown(file)} cannot be read: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise UserError(
            f"{shown(file)} is larger than {_MAX_BYTES >> 20} MiB: it is no result file"
        )
    return content


def _read(
    form: Format, sources: Sequence[Source], path: tuple[str, str] | None, clock: str | None
) -> Found:
    if form == "cxlbench":
        return cxlbench.read(sources)
    if form == "mess":
        return mess.read(sources, path, clock)
    return mlc.read(sources, path)


def _write(run: Run, out: Path | None, label: str) -> Path:
    """Write the run file, NAME.jsonl as asked or a new one in a directory; return its path."""
    if out is not None and is_stdout(out):
        raise UserError("--out: a run goes to a file; name one that ends in .jsonl, or a directory")
    now = datetime.now().astimezone()
    asked = out is not None and out.suffix == SUFFIX
    path = out if out is not None and asked else new_run_path(label, out, now)
    try:
        writer = RunWriter.create(path, run.header)
    except FileExistsError:
        raise UserError(f"--out: '{shown(path)}' is there already; name another file") from None
    try:
        for measurement in run.measurements:
            writer.add(measurement)
        assert run.footer is not None
        writer.add(run.footer)
    finally:
        writer.close()
    return path
