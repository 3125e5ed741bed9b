"""Where run files lie: NAME.jsonl in the user's data directory, or in a directory asked for."""

import contextlib
import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from tierscope.machine.data_directory import data_directory
from tierscope.model.errors import UserError, shown
from tierscope.model.given_file import open_given

SUFFIX = ".jsonl"
TAGS_SUFFIX = ".tags"
HEAD_BYTES = 4 << 20
"""In these first bytes of a run file its header names itself, whoever wrote it last: the keys of a
header of a thousand CPUs and ten thousand measurements fit before."""
LINE_BYTES = 64 << 20
"""The longest line of a run file: a header of a hundred thousand measurements."""
_PARSED_BYTES = 400 << 20
"""What a line takes once it is parsed: the largest plan, of a study of GPUs on 72 cores, 380 MB."""
_SHORT = 1 << 20
"""Bytes of a line that takes less in any case."""
BOM = b"\xef\xbb\xbf"
"""Byte order mark, which some editors write."""
_FOOTER_BYTES = 1000
_TAGS_BYTES = 1 << 20
_NO_FIGURES = re.compile(rb'"record":"footer",.*"interrupted":false,"measured":0,.*"imported":null')
_HEADER = re.compile(rb'"record"\s*:\s*"header"')


def runs_directory() -> Path:
    """Return the directory of kept runs, by default ~/.local/share/tierscope/runs."""
    return data_directory() / "runs"


def too_long(line: bytes) -> str:
    """Return why a line is none of a run file, however it goes on; empty where it may be one."""
    if len(line) > LINE_BYTES:
        return f"the line is longer than {LINE_BYTES >> 20} MiB, the maximum in a run file"
    if len(line) > _SHORT and _parsed_bytes(line) > _PARSED_BYTES:
        mib = _PARSED_BYTES >> 20
        return f"the line takes more than {mib} MiB once it is parsed, the maximum in a run file"
    return ""


def _parsed_bytes(line: bytes) -> int:
    """Return about what the values of a line take: measured of lines of numbers, objects, texts."""
    nested = line.count(b"{") + line.count(b"[")
    return 45 * line.count(b",") + 100 * (nested + line.count(b'"') // 2)


def is_run(head: bytes) -> bool:
    """Return whether these are the first bytes of a run file, torn ones included."""
    return head.removeprefix(BOM).lstrip()[:1] == b"{" and bool(_HEADER.search(head))


def is_run_file(path: Path) -> bool:
    """Return whether a file is a run file; False where it cannot be read."""
    try:
        with open_given(path) as file:
            return is_run(file.read(HEAD_BYTES))
    except OSError:
        return False


def new_run_path(label: str, out: Path | None, now: datetime) -> Path:
    """Return a path that no run file has yet: ``out`` where that ends in .jsonl, or
    YYYYMMDD-HHMMSS-label.jsonl in it. Raises UserError where the file is there already."""
    folder = out or runs_directory()
    if folder.suffix == SUFFIX and not os.path.isdir(folder):  # noqa: PTH112 - of any length
        if os.path.exists(folder):  # noqa: PTH110
            raise UserError(f"--out: '{shown(folder)}' is there already; name another file")
        return folder
    stem = f"{now:%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9._-]+', '-', label)[:40]}"
    path = folder / f"{stem}{SUFFIX}"
    number = 1
    while os.path.exists(path):  # noqa: PTH110 - no error for a name that is too long
        number += 1
        path = folder / f"{stem}-{number}{SUFFIX}"
    return path


def find_run(name: str) -> Path:
    """Return the run file of a path, a name or a tag in the data directory, or ``last``.

    A tag that several runs have names the newest of them. The last run is the newest one with a
    figure, if there is one.

    Raises UserError that says where it was looked for.
    """
    if "/" in name or os.path.isfile(name):  # noqa: PTH113 - no error for a name that is too long
        return Path(name)
    folder = runs_directory()
    if name == "last":
        newest = _by_age(folder.glob(f"*{SUFFIX}"))
        if not newest:
            raise UserError(f"there is no run in {folder} yet; make one with 'tierscope run'")
        return next((path for path in newest if not _ended_without_figures(path)), newest[0])
    path = folder / (name if name.endswith(SUFFIX) else name + SUFFIX)
    if os.path.isfile(path):  # noqa: PTH113
        return path
    tagged = _by_age(path for path in folder.glob(f"*{SUFFIX}") if name in tags_of(path))
    if tagged:
        return tagged[0]
    raise UserError(f"run '{name}' is neither a file nor the name of a run in {folder}, nor a tag")


def _by_age(paths: Iterable[Path]) -> list[Path]:
    """Return files, that which was written to last first; links that lead nowhere do not count."""
    times = []
    for path in paths:
        with contextlib.suppress(OSError):
            times.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(times, reverse=True)]


def _ended_without_figures(path: Path) -> bool:
    """Return whether a run came to its end and has no figure, as its footer says."""
    try:
        with open_given(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _FOOTER_BYTES))
            return bool(_NO_FIGURES.search(file.read()))
    except OSError:
        return False


def tags_of(path: Path) -> list[str]:
    """Return the tags of a run file: the lines of NAME.tags beside NAME.jsonl."""
    try:
        with open_given(path.with_suffix(TAGS_SUFFIX)) as file:
            lines = file.read(_TAGS_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [line.strip() for line in lines if line.strip()]
