"""Peers: a row and a folder each, which can be taken out together."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from copied_package import put_first
from tierscope.peers.registry import PEERS, Peer

ROOT = Path(__file__).parent.parent
SHOWN = ("cxlbench", "streamer")
"""Peers with runs of their own."""
CALL = "from tierscope.cli.main import main; main()"


def without(place: Path, *names: str) -> Path:
    """Copy the package without the folders and rows of peers; return the folder that it is in."""
    package = place / "tierscope"
    ignored = shutil.ignore_patterns("__pycache__", "_bin", "_lib", "_include")
    shutil.copytree(ROOT / "src/tierscope", package, ignore=ignored)
    for name in names:
        shutil.rmtree(package / "peers" / name)
    table = package / "peers/registry.py"
    text = table.read_text()
    (rows,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_ROWS"
    )
    assert isinstance(rows, ast.Tuple)
    lines = text.splitlines(keepends=True)
    for row in reversed(rows.elts):
        if ast.unparse(row).startswith(tuple(f"Peer('{name}'" for name in names)):
            del lines[row.lineno - 1 : row.end_lineno]
    table.write_text("".join(lines))
    shutil.copy(ROOT / "pyproject.toml", place)
    put_first(place)
    return place


def run(tree: Path, *words: str) -> str:
    answer = subprocess.run(
        [*words],
        env={**os.environ, "PYTHONPATH": str(tree), "HOME": str(tree)},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_taken_out_by_its_folder_and_its_row(name: str, tmp_path: Path) -> None:
    tree = without(tmp_path, name)
    table = run(tree, sys.executable, "-c", "from tierscope.peers import registry as r\n"
                "from tierscope.suites.registry import SUITES\n"
                "print(r.__file__, *r.PEERS, *SUITES)")  # fmt: skip
    file, *rest = table.split()
    assert Path(file).is_relative_to(tree)
    assert name not in rest
    shown = run(tree, sys.executable, "-c", CALL, "--help")
    for one in PEERS[name].commands:
        assert f"  {one.name} " not in shown
    for command in ("run", "import", "export", "list"):
        run(tree, sys.executable, "-c", CALL, command, "--help")
    assert "0 broken" in run(tree, str(Path(sys.executable).with_name("lint-imports")))


def test_without_any_peer_all_else_is_there(tmp_path: Path) -> None:
    tree = without(tmp_path, *PEERS)
    shown = run(tree, sys.executable, "-c", CALL, "--help")
    assert "  bandwidth " in shown
    assert "  import " not in shown
    for command in ("run", "export", "list"):
        run(tree, sys.executable, "-c", CALL, command, "--help")


@pytest.mark.parametrize("row", PEERS.values(), ids=list(PEERS))
def test_a_row_has_modules_for_all_that_it_says(row: Peer) -> None:
    for command in row.commands:
        assert getattr(row.module("command"), command.name.replace("-", "_")).help
    wanted = {
        "importer": ("recognises", "read") if row.importer else (),
        "output": (*["export"] * bool(row.export), *["run_view"] * (row.name in SHOWN)),
        "command": ("RUN_OPTIONS", "reads", "refuse", "measure") if row.reads_plans else (),
    }
    for module, names in wanted.items():
        assert all(hasattr(row.module(module), name) for name in names)
