"""Say on a terminal's stderr that something takes a while; nothing where stderr goes elsewhere."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show ``text`` with a moving sign until the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(text)):
        yield
