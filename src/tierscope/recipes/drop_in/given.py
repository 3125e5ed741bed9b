"""A value that was given, and where."""

from dataclasses import dataclass
from typing import Any

from tierscope.model.errors import UserError


@dataclass(frozen=True)
class Given:
    """A value and its place, which errors begin with: ``-x``, or ``jobs.gdsio:5: xfer_type``."""

    value: Any
    place: str


def path(text: str) -> str:
    """Check a path's characters; nothing is looked at."""
    signs = [ord(sign) for sign in text]
    # Bytes that are no UTF-8 arrive as U+DC80 to U+DCFF; other surrogates stand for nothing.
    strange = any(0xD800 <= sign < 0xDC80 or 0xDCFF < sign < 0xE000 for sign in signs)
    if not text or strange or 0 in signs or "\n" in text:
        raise UserError(f"{text!r} is not a path")
    return text


def is_device(path: str) -> bool:
    """Return whether an absolute path is that of a device, by its name alone."""
    return path.startswith("/dev/") and not path.startswith(("/dev/shm/", "/dev/hugepages/"))  # noqa: S108
