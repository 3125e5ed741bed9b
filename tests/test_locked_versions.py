"""Versions in tools/constraints.txt, which a newcomer's pip has to accept."""

from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

LOCKED = Path(__file__).parent.parent / "tools/constraints.txt"
DEBIAN_12 = "3.11.2"
"""Its Python, the oldest on which `make run` and `make test` have to work."""


def test_locked_versions_install_on_the_oldest_python() -> None:
    locked = [line.split("==")[0] for line in LOCKED.read_text().splitlines() if "==" in line]
    assert locked
    needs = {name: metadata.metadata(name)["Requires-Python"] or "" for name in locked}
    newer = {name: need for name, need in needs.items() if DEBIAN_12 not in SpecifierSet(need)}
    assert not newer, "Debian 12's pip refuses these versions"
