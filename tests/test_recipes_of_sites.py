"""The recipes of packaging/: they name what this version and its archives are called."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="they are made with Python 3.11 or newer")
ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
NAME = "tierscope-VERSION-pythonPYTHON-MACHINE.tar"
"""What tools/offline.py calls an archive."""


def test_archives_are_called_as_the_recipes_expect() -> None:
    text = (ROOT / "tools/offline.py").read_text()
    assert 'name = f"tierscope-{read(wheel).version}-python{python}-{machine}"' in text
    easyconfig = (PACKAGING / f"easybuild/tierscope-{VERSION}-system.eb").read_text()
    values: dict[str, object] = {"SYSTEM": None}
    exec(easyconfig, values)  # an easyconfig is Python
    (source,) = values["sources"]  # type: ignore[misc]
    filled = source % {"name": "tierscope", "version": "VERSION", "arch": "MACHINE"}
    assert filled.replace(str(values["local_python"]), "PYTHON") == NAME
    assert values["version"] == VERSION
    assert str(values["install_cmd"]).startswith("./install --python ")
    spack = (PACKAGING / "spack/package.py").read_text()
    (made,) = re.findall(r"/(tierscope-\{version.*\.tar)", spack)
    assert made.format(version="VERSION", python="PYTHON", machine="MACHINE") == NAME
    assert f'version("{VERSION}")' in spack


@pytest.mark.parametrize("file", ["spack/package.py", "reframe/tierscope_check.py"])
def test_recipes_in_python_parse(file: str) -> None:
    ast.parse((PACKAGING / file).read_text())


def test_the_module_has_this_version_and_names_what_a_wheel_installs() -> None:
    (module,) = (PACKAGING / "lmod/tierscope").glob("*.lua")
    assert module.stem == VERSION
    named = re.findall(r'"(share/[^"]+)"', module.read_text())
    assert len(named) == 2
    for path in named:
        assert (ROOT / path).exists()


def test_reframe_asks_for_options_that_there_are(tmp_path: Path) -> None:
    """Its command, as a shell runs it; ReFrame itself is tried by hand (docs/install.md)."""
    (function,) = (
        node
        for node in ast.walk(ast.parse((PACKAGING / "reframe/tierscope_check.py").read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == "name_commands"
    )
    options = next(node for node in ast.walk(function) if isinstance(node, ast.List))
    words = [one.value if isinstance(one, ast.Constant) else None for one in options.elts]
    asked = [{1: "quick", 3: "1min"}.get(place, word) for place, word in enumerate(words)]
    tierscope = shutil.which("tierscope", path=str(ROOT / ".venv/bin"))
    assert tierscope
    done = subprocess.run(
        [tierscope, *map(str, asked), "--dry-run"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
