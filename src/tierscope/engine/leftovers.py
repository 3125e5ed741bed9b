"""Files that earlier runs left in a directory, and their removal, both by a child of ours.

Nothing is removed but what the directory's manifest proves to be tierscope's.
"""

import subprocess

from tierscope.engine.find import HOST, engine_environment, find_engine
from tierscope.engine.paths import DEADLINE_S, ask_of
from tierscope.model.storage import OwnFiles

_REMOVING_S = 60.0
"""Time that removing gets: file systems free large files slowly."""


def leftovers(directory: str) -> OwnFiles:
    """Return the files of earlier runs in a directory; raises as ``engine.paths.ask_of``."""
    return ask_of(directory, "leftovers", OwnFiles, DEADLINE_S)


def start_cleaning(directory: str, host: str) -> "subprocess.Popen[bytes]":
    """Start to remove what a host of a fleet left in a directory, of its own files only."""
    return subprocess.Popen(
        [find_engine(), "clean", directory],
        env={**engine_environment(), HOST: host},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def clean(directory: str) -> OwnFiles:
    """Remove those that no process uses; raises as ``engine.paths.ask_of``."""
    return ask_of(directory, "clean", OwnFiles, _REMOVING_S)
