"""What bench/agreement.py makes of repeated runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[1] / "bench" / "agreement.py"
ENGINE = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
number = int(folder.name.split("-")[1])
print(json.dumps({"results": [
    {"id": "a", "status": "measured",
     "figures": [{"estimate": 10.0, "ci_low": 9.0, "ci_high": 11.0}]},
    {"id": "b", "status": "measured",
     "figures": [{"estimate": 10.0 * number, "ci_low": 10.0 * number - 1,
                  "ci_high": 10.0 * number + 1}]},
    {"id": "c", "status": "measured",
     "figures": [{"estimate": 5.0, "ci_low": None, "ci_high": None}]},
    {"id": "d", "status": "skipped", "figures": []}]}))
"""


def agreement(folder: Path, runs: int, *more: str) -> subprocess.CompletedProcess[str]:
    side = folder / "side.py"
    side.write_text(ENGINE)
    command = f"{sys.executable} {side}"
    line = [sys.executable, str(SCRIPT), "--runs", str(runs), "--keep", str(folder / "kept")]
    return subprocess.run(
        [*line, "--ours", command, *more], capture_output=True, text=True, check=False
    )


def test_pairs_of_runs_agree_where_their_intervals_overlap(tmp_path: Path) -> None:
    done = agreement(tmp_path, 3)
    assert done.returncode == 0, done.stderr
    *_, last = done.stdout.splitlines()
    assert last.startswith("ours: 3 runs of 3 figures: 50.0% of 6 pairs agree")
    assert "3 without interval" in last


def test_runs_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    agreement(tmp_path, 1)
    kept = tmp_path / "kept" / "ours-001.json"
    run: dict[str, Any] = json.loads(kept.read_text())
    kept.write_text(json.dumps({"results": run["results"][:1]}))
    done = agreement(tmp_path, 2, "--other", f"{sys.executable} {tmp_path / 'side.py'}")
    made = [line.split(":")[0] for line in done.stdout.splitlines() if line.endswith(" s")]
    assert made == ["other-001", "other-002", "ours-002"]
    assert "100.0% of 1 pairs agree" in done.stdout.splitlines()[-2]


def test_a_side_that_fails_ends_it_and_is_named(tmp_path: Path) -> None:
    done = agreement(tmp_path, 1, "--other", f"{sys.executable} -c 'raise SystemExit(4)'")
    assert done.returncode == 1
    assert "exit status 4, no results" in done.stderr
    assert (tmp_path / "kept" / "ours-001.json").exists()
