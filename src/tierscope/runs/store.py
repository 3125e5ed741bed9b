"""Where run files lie: NAME.jsonl in the user's data directory, or in a directory asked for."""

import os
import re
from datetime import datetime
from pathlib import Path

from tierscope.model.errors import UserError

SUFFIX = ".jsonl"


def runs_directory() -> Path:
    """Return $XDG_DATA_HOME/tierscope/runs, by default ~/.local/share/tierscope/runs."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    data = Path(base) if base.startswith("/") else _home() / ".local/share"
    return data / "tierscope" / "runs"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise UserError(
            "there is no home directory to keep the run in; name a directory with --out"
        ) from None


def new_run_path(label: str, directory: Path | None, now: datetime) -> Path:
    """Return a path that no run file has yet: YYYYMMDD-HHMMSS-label.jsonl."""
    folder = directory or runs_directory()
    stem = f"{now:%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9._-]+', '-', label)[:40]}"
    path = folder / f"{stem}{SUFFIX}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{SUFFIX}"
    return path


def find_run(name: str) -> Path:
    """Return the run file of a path, a name or a tag in the data directory, or ``last``.

    A tag that several runs have names the newest of them.

    Raises UserError that says where it was looked for.
    """
    if "/" in name or Path(name).is_file():
        return Path(name)
    folder = runs_directory()
    if name == "last":
        found = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime)
        if not found:
            raise UserError(f"there is no run in {folder} yet; make one with 'tierscope run'")
        return found[-1]
    path = folder / (name if name.endswith(SUFFIX) else name + SUFFIX)
    if path.is_file():
        return path
    tagged = [path for path in folder.glob(f"*{SUFFIX}") if name in tags_of(path)]
    if tagged:
        return max(tagged, key=lambda path: path.stat().st_mtime)
    raise UserError(f"run '{name}' is neither a file nor the name of a run in {folder}, nor a tag")


def tags_of(path: Path) -> list[str]:
    """Return the tags of a run file: the lines of NAME.tags beside NAME.jsonl."""
    try:
        lines = path.with_suffix(".tags").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [line.strip() for line in lines if line.strip()]
