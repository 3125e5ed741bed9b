"""Processes that this one started: engines, and the server that commands are forked from."""

import os
from pathlib import Path


def children() -> list[int]:
    """Return the process ids of all children, those that ended and were not waited for, too."""
    return [*map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())]


def engines() -> list[int]:
    """Return the process ids of the engines among them."""
    names = {child: Path(f"/proc/{child}/comm").read_text() for child in children()}
    return [child for child, name in names.items() if name.startswith("tierscope-engi")]
