"""Where tierscope keeps what belongs to the user: runs, and what is stated about a machine."""

import os
from pathlib import Path

from tierscope.model.errors import UserError


def data_directory() -> Path:
    """Return $XDG_DATA_HOME/tierscope, by default ~/.local/share/tierscope."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    data = Path(base) if base.startswith("/") else home_directory() / ".local/share"
    return data / "tierscope"


def home_directory() -> Path:
    """Return $HOME, else what the password database has; raises UserError without either."""
    home = os.environ.get("HOME", "")
    if not home.startswith("/"):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not home.startswith("/"):
        raise UserError(
            "there is no home directory to keep runs in; set HOME, or name a directory with --out"
        )
    return Path(home)
