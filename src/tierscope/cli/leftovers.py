"""What earlier runs left in the directories that a plan goes to."""

from collections.abc import Sequence

import click

from tierscope.engine.leftovers import leftovers
from tierscope.engine.paths import PathError, known_path
from tierscope.model.errors import counted
from tierscope.model.spec import MeasurementSpec
from tierscope.report.figures import size_text


def name_leftovers(specs: Sequence[MeasurementSpec]) -> None:
    """Say on standard error what earlier runs left there, and how it is removed."""
    for path in dict.fromkeys(path for spec in specs for path in spec.files()):
        try:
            if known_path(path).kind == "directory":
                _name(path)
        except PathError:  # The engine says so of its own try.
            continue


def _name(path: str) -> None:
    left = [file for file in leftovers(path).files if file.state == "leftover" and not file.keep]
    if not left:
        return
    number = sum(1 if file.files is None else file.files for file in left)
    size = size_text(sum(file.bytes for file in left))
    click.echo(
        f"tierscope: {path} has {counted(number, 'file')} that earlier runs left, {size}: "
        f"'tierscope storage {path} --clean' removes what is tierscope's",
        err=True,
    )
