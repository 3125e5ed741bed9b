"""Copies of the package that tests change and run in place of the installed one."""

from pathlib import Path

_FIRST = """\
import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__
]
"""


def put_first(folder: Path) -> None:
    """Let a package below ``folder`` on PYTHONPATH stand before an editable install.

    The finder of such an install else wins; ``sitecustomize`` runs after it was added.
    """
    (folder / "sitecustomize.py").write_text(_FIRST)
