"""Write a file whole or not at all, so that a full disk costs nobody the file that was there."""

import os
from pathlib import Path


def replace_file(path: Path, content: str | bytes) -> None:
    """Put a file in the place of what is there; raises OSError, nothing changed, where it cannot.

    Pipes and devices (``/dev/stdout``) are written to as they are.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    if _is_stream(path):
        path.write_bytes(data)
        return
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(None, "Is a directory")
    beside = target.with_name(f".tierscope-{os.getpid()}.tmp")
    try:
        beside.write_bytes(data)
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def check_replaceable(path: Path) -> None:
    """Raise OSError where ``replace_file`` would, as far as can be told without writing."""
    if _is_stream(path):
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise IsADirectoryError(None, "Is a directory")
    if not folder.is_dir():
        raise FileNotFoundError(None, "No such directory")
    if not os.access(folder, os.W_OK):
        raise PermissionError(None, "the directory cannot be written")


def _is_stream(path: Path) -> bool:
    special = path.parts[:2] in (("/", "dev"), ("/", "proc"))
    return special or (path.exists() and not path.is_file() and not path.is_dir())
