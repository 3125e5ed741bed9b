"""Say what a command wrote."""

from pathlib import Path

import click

from tierscope.runs.output import is_stdout


def say_written(what: str, path: Path, aside: bool = False) -> None:
    """Print ``report: PATH``; ``aside`` is for where standard output has something else."""
    if not is_stdout(path):
        click.echo(f"{what}: {path}", err=aside)
