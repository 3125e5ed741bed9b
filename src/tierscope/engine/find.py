"""Where the engine's executable is."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tierscope.model.errors import UserError

VARIABLE = "TIERSCOPE_ENGINE"
_IN_PACKAGE = Path("_bin") / "tierscope-engine"


def find_engine() -> Path:
    """Return the engine named by TIERSCOPE_ENGINE, else the one installed with this package.

    Raises UserError where there is none that can be executed.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not _is_executable(Path(named)):
            raise UserError(
                f"{VARIABLE} names '{named}', which is not an executable file; "
                "correct it or unset it to use the installed engine"
            )
        return Path(named)
    for candidate in _candidates():
        if _is_executable(candidate):
            return candidate
    raise UserError(
        "tierscope-engine is not installed with this tierscope; build it with 'make build', "
        f"install the wheel again, or name one in {VARIABLE}"
    )


HOST = "TIERSCOPE_HOST"
"""Variable by which engines of a fleet's host keep a list of its files of its own."""


def engine_environment() -> dict[str, str]:
    """Return the environment of engines: ours, and where a libcufile is that came as a Python
    package, which they open where the system has none.
    """
    for entry in sys.path:
        folder = Path(entry, "nvidia/cu13/lib")
        if (folder / "libcufile.so.0").is_file():
            return {**os.environ, "TIERSCOPE_CUFILE_PACKAGE": str(folder)}
    return dict(os.environ)


def _candidates() -> Iterator[Path]:
    yield Path(__file__).parents[1] / _IN_PACKAGE
    # An editable install reads the modules from src/ but leaves the engine in site-packages.
    for entry in sys.path:
        yield Path(entry) / "tierscope" / _IN_PACKAGE


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
