"""HMSDK's documented command lines on a machine that has the nodes, and what they lead to."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[2] / "hmsdk"))
import test_command_lines as lines

from tierscope.cli.app import app

pytestmark = pytest.mark.testbed

bin_folder, started = lines.bin_folder, lines.started
_weights_return = lines._weights_return
ON_NODES = [row for row in lines.TABLE if row.get("nodes")]


@pytest.mark.parametrize("row", ON_NODES, ids=lambda row: row["line"])
def test_a_documented_line_works(row: dict[str, Any], started: Any) -> None:
    assert set(row["nodes"]) <= set(lines.NODES), "this machine has them all"
    lines.test_a_documented_line_works_or_is_refused(row, started)


def test_the_policy_is_one_that_tiering_starts_with(bin_folder: Path, tmp_path: Path) -> None:
    policy = tmp_path / "hmsdk.yaml"
    subprocess.run(
        [bin_folder / "gen_migpol.py", "-m", "0", "2", "-g", "--output", policy], check=True
    )
    started = CliRunner().invoke(app, ["tier", "start", "--rules", str(policy)])
    try:
        status = CliRunner().invoke(app, ["tier", "status"])
    finally:
        stopped = CliRunner().invoke(app, ["tier", "stop"])
    assert (started.exit_code, status.exit_code, stopped.exit_code) == (0, 0, 0), started.output
    assert "migrate_cold" in status.output or "demote" in status.output
