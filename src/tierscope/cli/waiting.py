"""Say on stderr that something takes a while, or begins later."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import click


@contextlib.contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Show ``text`` with a moving sign until the block ends; nothing where stderr is no terminal.

    The block gets a function that shows another text.
    """
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)) as status:
        yield lambda text: status.update(Text(text))


def say_start(start_at: datetime | None) -> None:
    """Say on standard error how long there is to wait, or by how much it is too late."""
    if start_at is None:
        return
    left = (start_at - datetime.now(UTC)).total_seconds()
    when = start_at.isoformat()
    if left < 0:
        click.echo(f"late by {-left:.1f} s: the start was to be at {when}", err=True)
    else:
        click.echo(f"measuring begins at {when}, in {left:.1f} s", err=True)
