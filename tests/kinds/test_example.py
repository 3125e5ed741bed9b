"""The kind that docs/architecture.md adds as its worked example, added."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(
    r"^The row in `([\w/.]+)`[^:]*:\n\n```diff\n\+(.*?)^```$", re.MULTILINE | re.DOTALL
)
NEXT = r"""(?=^(?:  ROW\("gpu-copy"|\)\nKINDS))"""
"""What follows a row that is added to either table."""
PAGE = (ROOT / "docs/architecture.md").read_text()
COPY_FIRST = """\
import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__
]
"""
"""Lets the copy on PYTHONPATH stand before an editable install, whose finder else wins."""
FILES = dict(FILE.findall(PAGE))
ROWS = dict(ROW.findall(PAGE))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package with the example in it."""
    for folder in ("src/tierscope", "engine"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for path, row in ROWS.items():
        table = (tmp_path / path).read_text()
        before, after = re.split(NEXT, table, flags=re.MULTILINE)
        (tmp_path / path).write_text(before + row + after)
    return tmp_path


def test_the_page_has_a_kind_whole() -> None:
    assert sorted(FILES) == [
        "engine/kinds/fill.cpp",
        "src/tierscope/kinds/fill/request.py",
        "src/tierscope/kinds/fill/spec.py",
        "src/tierscope/kinds/fill/view.py",
        "tests/kinds/test_fill.py",
    ]
    assert sorted(ROWS) == ["engine/kinds/registry.cpp", "src/tierscope/kinds/registry.py"]


def test_the_kind_conforms(tree: Path) -> None:
    (tree / "copy_first.py").write_text(COPY_FIRST)
    options = ["-q", "-p", "copy_first", "-p", "no:cacheprovider", "-k", "fill"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/kinds/test_conformance.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{tree}:{tree / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_kind_compiles(tree: Path) -> None:
    options = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DFMT_HEADER_ONLY"]
    sources = [f"{tree / 'engine/kinds' / name}.cpp" for name in ("fill", "registry")]
    done = subprocess.run(
        ["c++", *options, f"-I{tree / 'engine'}", *sources],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
