"""Write files that a command makes beside what it prints, and say so."""

from collections.abc import Iterable
from pathlib import Path

import click

from tierscope.model.errors import UserError
from tierscope.runs.output import is_stdout, write_output


def say_written(what: str, path: Path, aside: bool = False) -> None:
    """Print ``report: PATH``; ``aside`` is for where standard output has something else."""
    if not is_stdout(path):
        click.echo(f"{what}: {path}", err=aside)


def make_folder(folder: Path, form: str) -> None:
    """Make a folder for pictures where it is missing; ``form`` is png or svg. Raises UserError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--{form}: {folder} cannot be made: {error.strerror}") from None


def write_pictures(folder: Path, form: str, files: Iterable[tuple[str, bytes]]) -> int:
    """Write pictures (name, content) into a folder; return how many. Raises UserError."""
    make_folder(folder, form)
    count = 0
    for name, content in files:
        write_output(folder / name, content, f"--{form}")
        count += 1
    return count
