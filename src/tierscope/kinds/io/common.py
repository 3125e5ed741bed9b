"""One file that all hosts of a fleet use: what it is called, and who makes it."""

import hashlib
import math

from tierscope.model.fleet import FleetPlace
from tierscope.model.io import GPU_BACKENDS, Files, IoPattern, PathFiles

SLOWEST_FILL_BYTES_PER_S = 10e6
"""Storage that is slower is taken for a hang."""
_LOOKED_AT_S = 60.0
"""That a client of a network file system may take to see a new name."""


def is_common(files: Files) -> bool:
    """Whether all hosts use one file."""
    return isinstance(files, PathFiles) and files.common is not None


def in_fleet(files: Files, pattern: IoPattern, place: FleetPlace) -> Files:
    """Return the files of one host; of a common file, the first host is its maker.

    Measurements whose file would be the same one share it. Its name has the fleet's token, so that
    no other fleet uses it.
    """
    if not isinstance(files, PathFiles) or files.common is None or place.hosts < 2:
        return files
    same = (place.token, files.path, files.size, pattern.compressible, _contents(pattern))
    name = f"tierscope.{hashlib.sha256(repr(same).encode()).hexdigest()[:16]}.common"
    fill_s = files.most_bytes / SLOWEST_FILL_BYTES_PER_S
    common = files.common.model_copy(
        update={
            "name": name,
            "part": place.number,
            "parts": place.hosts,
            "wait_s": None if place.number == 0 else fill_s + _LOOKED_AT_S,
        }
    )
    return files.model_copy(update={"common": common})


def _contents(pattern: IoPattern) -> tuple[int, bool]:
    """Return what decides how the contents of files can be verified (engine/storage/contents.h)."""
    step = math.gcd(pattern.align or min(pattern.sizes), pattern.misalign, *pattern.sizes)
    cell = next((size for size in (4096, 512) if step % size == 0), 0)
    return cell, pattern.backend in GPU_BACKENDS
