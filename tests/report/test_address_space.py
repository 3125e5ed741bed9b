"""Pages and pictures are drawn where a site limits address space, and refused in one line."""

import re
import subprocess
from pathlib import Path

import pytest
from tests import synthetic
from tests.fleet.fleet_tables import make_fleet
from tests.test_cli import PROGRAM

_LIMIT_KB = 2_000_000


def limited(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run tierscope with a limit of address space, as sites set it in shells and batch jobs."""
    return subprocess.run(
        ["sh", "-c", f'ulimit -v {_LIMIT_KB}; exec "$@"', "sh", *PROGRAM, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def pictures_in(page: Path) -> list[str]:
    return re.findall(r"<svg[^>]*aria-labelledby.*?</svg>", page.read_text(), re.DOTALL)


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return Path(synthetic.write(synthetic.full(), tmp_path / "run.jsonl"))


def test_a_report_has_its_pictures(run_file: Path, tmp_path: Path) -> None:
    done = limited(tmp_path, "report", run_file, "-o", "page.html")
    assert done.returncode == 0, done.stderr
    pictures = pictures_in(tmp_path / "page.html")
    assert len(pictures) > 20
    assert all(re.search(r"<(path|rect|line|text) ", picture) for picture in pictures)


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_pictures_become_files(run_file: Path, tmp_path: Path, form: str, start: bytes) -> None:
    done = limited(tmp_path, "report", run_file, f"--{form}", "out")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) > 20
    assert {file.suffix for file in files} == {f".{form}"}
    assert all(file.read_bytes().startswith(start) for file in files)


def test_a_comparison_has_its_pictures(run_file: Path, tmp_path: Path) -> None:
    other = synthetic.write(synthetic.full(seed=2), tmp_path / "other.jsonl")
    done = limited(tmp_path, "compare", run_file, other, "-o", "page.html")
    assert done.returncode in (0, 1), done.stderr
    assert pictures_in(tmp_path / "page.html")


def test_a_fleet_s_report_has_its_pictures(tmp_path: Path) -> None:
    make_fleet(tmp_path / "fleet", hosts=20, paths=3)
    done = limited(tmp_path, "fleet", "report", "fleet", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert len(pictures_in(tmp_path / "page.html")) >= 3
