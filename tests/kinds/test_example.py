"""The kind that docs/architecture.md adds as its worked example, added."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from copied_package import put_first

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(
    r"^The row in `([\w/.]+)`[^:]*:\n\n```diff\n\+(.*?)^```$", re.MULTILINE | re.DOTALL
)
NEXT = r"""(?=^(?:  ROW\("gpu-copy"|\)\nKINDS))"""
"""What follows a row that is added to either table."""
PAGE = (ROOT / "docs/architecture.md").read_text()
REGISTRY = "engine/kinds/registry.cpp"
TABLES = "engine/protocol/tables.cpp"
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
    put_first(tmp_path)
    return tmp_path


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """Run a command to its good end; return its output."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_python(tree: Path, folder: Path, *words: str | Path, **environment: str) -> None:
    """Run Python, which finds the package of the tree."""
    run([sys.executable, *words], folder, PYTHONPATH=f"{tree}:{tree / 'src'}:{ROOT}", **environment)


def run_pytest(tree: Path, folder: Path, *words: str, **environment: str) -> None:
    """Run pytest on the package of the tree.

    It has a place of its own for what its tests leave: in the usual one it would first remove what
    sessions before it left, for a minute.
    """
    words = ("-q", "-p", "no:cacheprovider", f"--basetemp={tree / 'left'}", *words)
    run_python(tree, folder, "-m", "pytest", *words, **environment)


def test_the_page_has_a_kind_whole() -> None:
    assert sorted(FILES) == [
        "engine/kinds/fill.cpp",
        "src/tierscope/kinds/fill/show.py",
        "src/tierscope/kinds/fill/spec.py",
        "tests/kinds/test_fill.py",
    ]
    assert sorted(ROWS) == ["engine/kinds/registry.cpp", "src/tierscope/kinds/registry.py"]


@pytest.mark.parametrize(
    "checker",
    [
        ["ruff", "check", "--config", ROOT / "pyproject.toml"],
        ["ruff", "format", "--check", "--config", ROOT / "pyproject.toml"],
        ["mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", os.devnull],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_kind_passes_the_checkers_of_lint(tree: Path, checker: list[str | Path]) -> None:
    files = [path for path in FILES if path.startswith("src/")]
    (tree / "tierscope").symlink_to(tree / "src/tierscope")  # whose types mypy reads, not ROOT's
    run([sys.executable, "-m", *checker, *files], tree)


def test_the_engine_s_file_is_formatted(tree: Path) -> None:
    style = f"--style=file:{ROOT / '.clang-format'}"
    clang_format = Path(sys.executable).with_name("clang-format")
    run([clang_format, style, "--dry-run", "--Werror", tree / "engine/kinds/fill.cpp"], tree)


def test_the_kind_conforms(tree: Path) -> None:
    run_pytest(tree, ROOT, "-k", "fill", "tests/kinds/test_conformance.py")


def test_the_engine_measures_both_parts(tree: Path) -> None:
    run_python(tree, tree, "-m", "tierscope.kinds.schema")
    engine = str(engine_with_the_kind(tree))
    run_pytest(tree, tree, "-c", os.devnull, "tests/kinds/test_fill.py", TIERSCOPE_ENGINE=engine)


def engine_with_the_kind(tree: Path) -> Path:
    """Link the engine of the build again, with the tree's registry, tables and kind."""
    build = ROOT / "build/engine"
    commands = json.loads((build / "compile_commands.json").read_text())
    compile_one = next(one["command"] for one in commands if one["file"] == str(ROOT / REGISTRY))

    def compiled(name: str) -> Path:
        command = shlex.split(compile_one.replace(f"{ROOT}/engine", f"{tree}/engine"))
        found = (tree / name).with_suffix(".o")
        command[command.index("-o") :] = ["-Werror", "-o", str(found), "-c", str(tree / name)]
        run(command, build)
        return found

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(compiled, ("engine/kinds/fill.cpp", REGISTRY, TABLES)))
    ninja = Path(sys.executable).with_name("ninja")
    link = run([ninja, "-t", "commands", "-s", "tierscope-engine"], build)
    engine = tree / "tierscope-engine"
    # A member of libengine.a is taken only where no object before it defines its symbols.
    more = f"{shlex.join(map(str, objects))} -o {engine}"
    run(["sh", "-c", link.replace("-o tierscope-engine", more)], build)
    return engine
