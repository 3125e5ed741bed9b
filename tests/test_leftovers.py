"""What the engine says and does about files that tierscope left in a directory."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tierscope.engine.process import find_engine


def engine(command: str, directory: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command of the engine on a directory."""
    done = subprocess.run(
        [find_engine(), command, str(directory)], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def listed(command: str, directory: Path) -> dict[str, Any]:
    """What it prints."""
    answer: dict[str, Any] = json.loads(engine(command, directory).stdout)
    return answer


@pytest.mark.parametrize("command", ["leftovers", "clean"])
def test_a_directory_without_a_manifest_has_no_leftovers(command: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("precious")
    assert listed(command, tmp_path) == {"directory": str(tmp_path.resolve()), "files": []}
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_a_manifest_that_is_not_ours_is_refused_in_one_line(tmp_path: Path) -> None:
    manifest = tmp_path / ".tierscope-files.json"
    manifest.write_text("{}\n")
    manifest.chmod(0o600)
    done = engine("clean", tmp_path, 2)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tierscope-engine: {manifest} does not prove which files")
    assert "remove it" in line
    assert manifest.read_text() == "{}\n"


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    done = engine("leftovers", tmp_path / "none", 2)
    (line,) = done.stderr.splitlines()
    assert "none cannot be opened: No such file or directory" in line


def test_a_manifest_of_a_file_that_is_gone_goes_too(tmp_path: Path) -> None:
    example = Path(__file__).parents[1] / "engine/tests/manifests/two-files.json"
    manifest = tmp_path / ".tierscope-files.json"
    manifest.write_bytes(example.read_bytes())
    manifest.chmod(0o600)
    expected = {
        "name": "tierscope.0",
        "bytes": 0,
        "keep": True,
        "state": "missing",
        "reason": "it is missing",
    }
    assert listed("leftovers", tmp_path)["files"] == [expected]
    assert manifest.exists()
    assert listed("clean", tmp_path)["files"] == [expected]
    assert not manifest.exists()


def test_a_file_of_others_under_the_name_of_ours_stays(tmp_path: Path) -> None:
    example = Path(__file__).parents[1] / "engine/tests/manifests/two-files.json"
    manifest = tmp_path / ".tierscope-files.json"
    manifest.write_bytes(example.read_bytes())
    manifest.chmod(0o600)
    (tmp_path / "tierscope.0").write_text("precious")
    (file,) = listed("clean", tmp_path)["files"]
    assert file["state"] == "unproven"
    assert file["reason"].startswith("it is another file")
    assert (tmp_path / "tierscope.0").read_text() == "precious"
