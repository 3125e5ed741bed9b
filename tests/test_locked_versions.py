"""Versions and hashes in tools/lock.txt, which a newcomer's pip has to accept."""

import hashlib
import importlib.util
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
DEBIAN_12 = "3.11.2"
"""Its Python, the oldest on which `make run` and `make test` have to work."""
BUILDS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def locked(python: str, machine: str) -> dict[str, tuple[str, str]]:
    """Version and hashes by name."""
    found = tool("offline").locked(python, machine)
    return {
        canonicalize_name(one.name): (str(one.specifier).removeprefix("=="), hashes)
        for one, hashes in found
    }


def test_locked_versions_install_on_the_oldest_python() -> None:
    here = {name for name in locked("3.11", "x86_64") if _installed(name)}
    assert len(here) > 90
    needs = {name: metadata.metadata(name)["Requires-Python"] or "" for name in here}
    newer = {name: need for name, need in needs.items() if DEBIAN_12 not in SpecifierSet(need)}
    assert not newer, "Debian 12's pip refuses these versions"


def test_what_is_installed_here_is_what_is_locked() -> None:
    versions = {name: version for name, (version, _) in locked("3.11", "x86_64").items()}
    other = {
        name: (metadata.version(name), version)
        for name, version in versions.items()
        if _installed(name) and metadata.version(name) != version and name != "pip"
    }
    assert not other


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", BUILDS)
def test_each_python_and_machine_gets_all_that_is_asked_for(python: str, machine: str) -> None:
    found = locked(python, machine)
    for version, hashes in found.values():
        assert re.fullmatch(r"[\w.]+", version)
        assert re.fullmatch(r"(--hash=sha256:[0-9a-f]{64} ?)+", f"{' '.join(hashes.split())} ")
    lock = tool("lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = [Requirement(text) for text in lock.requirements(project)]
    assert len(asked) > 30
    for one in asked:
        there = {"python_version": python, "sys_platform": "linux"}
        if one.marker is None or one.marker.evaluate(there):
            version, _ = found[canonicalize_name(one.name)]
            assert version in one.specifier, one


def test_the_lock_names_no_server() -> None:
    text = (ROOT / "tools/lock.txt").read_text()
    assert "://" not in text
    assert "index-url" not in text


def test_another_file_of_a_locked_version_is_refused(tmp_path: Path) -> None:
    """By the function of tools/bootstrap that installs everything."""
    version, hashes = locked("3.11", "x86_64")["annotated-types"]
    name = f"annotated_types-{version}"
    path = tmp_path / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            f"{name}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: annotated-types\nVersion: {version}\n",
        )
        archive.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}.dist-info/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest not in hashes
    text = (ROOT / "tools/bootstrap").read_text()
    (functions,) = re.findall(r"^pip\(\) .*?^locked\(\) .*?^}$", text, re.MULTILINE | re.DOTALL)
    options = f"--no-index --find-links {tmp_path} --target {tmp_path}/to"
    # The environment's own pip stays as it is.
    script = f"venv={ROOT}/.venv\n{functions}\nsed() {{ :; }}; locked {options} annotated-types"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert digest in done.stderr
