"""Writes tools/lock.txt: `make lock`.

It resolves all that pyproject.toml asks for, for every Python and machine that tierscope is built
or installed on, and writes each version with the hashes of its files: a constraint of pip's that
--require-hashes accepts. Versions in the file stay as long as they fit; --upgrade takes the newest.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "tools/lock.txt"
OLDEST = "3.10"
"""Python that installs; building, testing and linting need BUILDS or newer."""
BUILDS = "3.11"
HEAD = (
    "# Written by `make lock`: versions with the hashes of their files, for pip --require-hashes.\n"
)


def requirements(project: dict[str, Any]) -> Iterator[str]:
    """Yield what is installed: the package and its extras anywhere, groups where it is built."""
    table = project["project"]
    yield "pip>=25.1"
    yield from table["dependencies"]
    for extra in table["optional-dependencies"].values():
        yield from extra
    for group in project["dependency-groups"].values():
        for one in group:
            if isinstance(one, str):  # else it includes a group
                name, _, marker = (part.strip() for part in one.partition(";"))
                there = f"python_version >= '{BUILDS}'"
                yield f"{name} ; {there} and {marker}" if marker else f"{name} ; {there}"


def main(options: list[str]) -> None:
    """Resolve, and write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    command = ["uv", "pip", "compile", "-", "--quiet", "--universal", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", f"--python-version={OLDEST}"]
    asked = "\n".join(requirements(project))
    done = subprocess.run(
        [*command, f"--output-file={LOCK}", *options], input=asked, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)
    LOCK.write_text(HEAD + LOCK.read_text().removeprefix(HEAD))


if __name__ == "__main__":
    main(sys.argv[1:])
