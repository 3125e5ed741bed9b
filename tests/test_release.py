"""The version comes from one place, and `make release` refuses what may not be released."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tierscope.engine.process import find_engine

tomllib = pytest.importorskip("tomllib", reason="a release is made with Python 3.11 or newer")
ROOT = Path(__file__).parent.parent
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def release(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, ROOT / "tools/release.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_version_is_written_once() -> None:
    assert f"version {VERSION}" not in (ROOT / "CMakeLists.txt").read_text().lower()
    heading = re.search(r"^## (\S+) \(.+\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] == VERSION
    assert metadata.version("tierscope") == VERSION, "run 'make build'"


def test_the_engine_is_of_this_version() -> None:
    answer = subprocess.run(
        [find_engine(), "--version"], capture_output=True, text=True, check=True
    )
    assert VERSION in answer.stdout.split()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository whose version 1.2.3 may be released."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3 (2026-05-04)\n\n- All.\n")
    commit(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True)


def test_a_clean_tree_with_a_dated_heading_may_be_released(clone: Path) -> None:
    answer = release("check", clone)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_changes_are_refused(clone: Path) -> None:
    (clone / "new").touch()
    answer = release("check", clone)
    assert answer.returncode == 1
    assert answer.stderr.startswith("release: 1 files are changed or new")


@pytest.mark.parametrize("heading", ["## 1.2.3 (not released)", "## 1.2.2 (2026-05-04)", "#"])
def test_a_changelog_without_the_version_is_refused(clone: Path, heading: str) -> None:
    (clone / "CHANGELOG.md").write_text(f"# Changes\n\n{heading}\n")
    commit(clone)
    answer = release("check", clone)
    assert answer.returncode == 1
    assert "not with '## 1.2.3 (YYYY-MM-DD)'" in answer.stderr


LINKED = "libnuma-dev 2.0.16-1\nhwloc 2.9.0-1\nlibc6 2.31-13\n"


def licences(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, ROOT / "tools/licences.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def portable_wheel(folder: Path) -> Path:
    """A wheel with what tools/licences.py writes of a sysroot."""
    sysroot = folder / "sysroot"
    sysroot.mkdir()
    (sysroot / "packages.txt").write_text(LINKED)
    for name in ("libnuma-dev", "hwloc"):
        (sysroot / f"{name}.txt").write_text(f"licence of {name}")
    about = folder / "about"
    done = licences(about, VERSION, "5.3.0", "--sysroot", sysroot)
    assert done.returncode == 0, done.stderr
    assert "no licence text of libaio was found here" in done.stderr
    wheel = folder / "tierscope-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in (file for file in about.rglob("*") if file.is_file()):
            archive.write(file, f"tierscope-1.dist-info/{file.relative_to(about)}")
    for made in (sysroot, about):
        shutil.rmtree(made)
    return wheel


def test_what_is_installed_here_has_the_licence_and_version_of_each_library() -> None:
    """As every wheel: `make build` installs one."""
    distribution = metadata.distribution("tierscope")
    files = {str(file): file for file in distribution.files or ()}
    (listed,) = (file for name, file in files.items() if name.endswith("sboms/tierscope.cdx.json"))
    parts = json.loads(listed.read_text())
    assert parts["metadata"]["component"]["version"] == VERSION
    versions = {part["name"]: part["version"] for part in parts["components"]}
    texts = {Path(name).stem: file for name, file in files.items() if "licenses/parts/" in name}
    assert set(texts) == set(versions)
    assert all("opyright" in file.read_text() for file in texts.values())
    needed = subprocess.run(
        ["readelf", "-d", find_engine()], capture_output=True, text=True, check=True
    ).stdout
    linked = set(re.findall(r"\[lib(\w+)\.so", needed)) - {"c", "m", "gcc_s", "stdc++", "udev"}
    names = {"aio": "libaio", "numa": "libnuma", "uring": "liburing", "hwy": "highway",
             "hwy_contrib": "highway"}  # fmt: skip
    linked = {names.get(name, name) for name in linked if not name.startswith("ld")}
    assert {"libnuma", "libaio", "hwloc", "liburing"} <= linked
    carried = {"jemalloc", "nlohmann-json", "vega", "vega-lite", "liberation-sans"}
    assert linked | carried == set(versions)
    assert versions["hwloc"].startswith(
        subprocess.run(
            ["pkg-config", "--modversion", "hwloc"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )


def test_a_wheel_that_lacks_a_licence_is_refused(tmp_path: Path) -> None:
    done = licences("check", portable_wheel(tmp_path))
    assert done.returncode == 1
    for name in ("jemalloc", "libaio", "fmt"):
        assert name in done.stderr
    assert "libnuma" not in done.stderr
    assert "hwloc" not in done.stderr


def test_packages_get_checksums_and_a_list_of_their_parts(tmp_path: Path) -> None:
    wheel = portable_wheel(tmp_path)
    answer = release("finish", tmp_path)
    assert answer.returncode == 0, answer.stderr
    listed = json.loads((tmp_path / f"tierscope-{VERSION}.cdx.json").read_text())
    assert (listed["bomFormat"], listed["metadata"]["component"]["version"]) == (
        "CycloneDX", VERSION,
    )  # fmt: skip
    parts = {part["name"]: part.get("version") for part in listed["components"]}
    assert parts["pydantic"] == metadata.version("pydantic")
    assert parts["pydantic-core"] == metadata.version("pydantic-core")
    assert (parts["libnuma"], parts["hwloc"]) == ("2.0.16-1", "2.9.0-1")
    assert {"jemalloc", "duckdb", "vega", "vega-lite", "liberation-sans"} <= set(parts)
    assert not {"pytest", "cyclonedx-python-lib"} & set(parts)
    addresses = {part["name"]: part["purl"] for part in listed["components"]}
    assert addresses["vega"] == f"pkg:npm/vega@{parts['vega']}"
    assert addresses["libnuma"] == "pkg:deb/debian/libnuma-dev@2.0.16-1"
    sums = dict(line.split()[::-1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    assert sums[wheel.name] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert set(sums) == {wheel.name, f"tierscope-{VERSION}.cdx.json"}


def test_a_folder_without_wheels_is_refused(tmp_path: Path) -> None:
    answer = release("finish", tmp_path)
    assert answer.returncode == 1
    assert "has no wheel of tierscope; `make wheels` builds them" in answer.stderr
    assert not list(tmp_path.iterdir())
