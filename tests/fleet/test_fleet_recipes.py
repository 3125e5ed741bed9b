"""The scripts of examples/fleet: they do what their first lines say, also where something fails."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import synthetic
from tests.fleet.made import PATTERN
from tests.fleet.test_fleet_report import run_files

from tierscope.model.event import Evidence

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples/fleet"
SCRIPTS = [*RECIPES.glob("*.sh"), *RECIPES.glob("*.sbatch")]
TIERSCOPE = ROOT / ".venv/bin/tierscope"
PLAN = """
measurements:
  - kind: bandwidth
    args: {op: read, threads: 1, size: 1m, budget: 0.2s}
"""


def run(
    script: str, *words: object, folder: Path, **environment: object
) -> "subprocess.CompletedProcess[str]":
    settings = {name: str(value) for name, value in environment.items()}
    return subprocess.run(
        [RECIPES / script, *map(str, words)],
        cwd=folder,
        env=os.environ | {"TIERSCOPE": str(TIERSCOPE), "XDG_DATA_HOME": str(folder), **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )


def program(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/bash\n{text}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_parses_and_can_be_started(script: Path) -> None:
    assert os.access(script, os.X_OK)
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_plan_and_the_golden_values_are_valid(tmp_path: Path) -> None:
    done = subprocess.run(
        [TIERSCOPE, "run", RECIPES / "health.yaml", "--time-limit", "8s", "--dry-run"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    run_files(tmp_path / "fleet", 1)
    check = [TIERSCOPE, "check", tmp_path / "fleet/hosts/n1.jsonl", "--expect"]
    done = subprocess.run([*check, RECIPES / "golden.yaml"], capture_output=True, text=True)
    assert done.returncode == 2, "no latency is in this run"
    assert f"{RECIPES / 'golden.yaml'}:6: rule 'node:0 -> node:0 latency" in done.stderr
    assert done.stderr.count("\n") == 1


class TestHealthCheck:
    """Slurm's prolog and epilog."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Path:
        folder = tmp_path / "settings"
        folder.mkdir()
        (folder / "health.yaml").write_text(PLAN)
        return folder

    def check(
        self, settings: Path, bound: str, path: str = "node:* -> node:*", **environment: object
    ) -> tuple[int, str]:
        rule = f'rules:\n  - "{path} read size=1m: >= {bound}"\n'
        (settings / "golden.yaml").write_text(rule)
        scratch = settings.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        done = run(
            "health-check.sh", folder=settings.parent, TIERSCOPE_HEALTH=settings,
            TMPDIR=scratch, TIERSCOPE_SECONDS=3, **{"TIERSCOPE_LONGEST": 60, **environment},
        )  # fmt: skip
        assert not [*scratch.iterdir()], "it cleans up"
        return done.returncode, done.stderr

    def test_a_good_node_stays(self, settings: Path) -> None:
        assert self.check(settings, "200 GB/s", TIERSCOPE=self.measured(settings)) == (0, "")

    def test_a_node_that_is_measured_stays(self, settings: Path) -> None:
        status, said = self.check(settings, "1 B/s")
        assert status == 0, said

    def measured(self, settings: Path, **changes: Any) -> Path:
        """A tierscope that has measured 250 GB/s before, with an interval of 1%."""
        pattern = {**PATTERN, "operation": "read", "size": 1 << 20}
        one = synthetic.Maker().make("bandwidth", "node:0", "node:0", pattern, 250e9)
        values = {"estimate": 250e9, "ci_low": 248.75e9, "ci_high": 251.25e9, **changes}
        one = synthetic.changed(one, **values)
        if one.status == "skipped":
            one = one.model_copy(update={"figures": []})
        made = synthetic.run([one])
        synthetic.write(made, settings / "made.jsonl")
        text = f'[ "$1" = run ] || exec {TIERSCOPE} "$@"\ncp {settings}/made.jsonl "${{@: -1}}"'
        return program(settings / "measured", text)

    def test_a_slow_node_goes_with_the_figure(self, settings: Path) -> None:
        status, said = self.check(settings, "900 TB/s", TIERSCOPE=self.measured(settings))
        assert status == 1
        assert "golden values missed" in said
        assert "asked >= 9e+05 GB/s" in said

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"ci_high": 300e9}, "the bound is within its interval"),
            ({"ci_low": None, "ci_high": None, "no_interval": "few-samples"}, "has no confidence"),
            ({"evidence": Evidence(disturbed=1)}, "other programs disturbed it"),
            ({"status": "skipped", "reason": "no memory"}, "not measured"),
        ],
        ids=["interval", "no interval", "disturbed", "skipped"],
    )
    def test_a_figure_in_doubt_drains_nothing(
        self, settings: Path, changes: dict[str, object], why: str
    ) -> None:
        measured = self.measured(settings, **changes)
        status, said = self.check(settings, "300 GB/s", TIERSCOPE=measured)
        assert status == 0, said
        assert "not judged: " in said
        assert why in said

    @pytest.mark.parametrize(
        ("environment", "expected"), [({}, 2), ({"SLURM_JOB_ID": 7}, 0)], ids=["by hand", "Slurm"]
    )
    def test_a_rule_that_matches_nothing_drains_nothing(
        self, settings: Path, environment: dict[str, object], expected: int
    ) -> None:
        measured = self.measured(settings)
        status, said = self.check(
            settings, "1 B/s", "node:1 -> node:1", TIERSCOPE=measured, **environment
        )
        assert status == expected, said
        assert "golden.yaml:2: rule 'node:1 -> node:1 read size=1m: >= 1 B/s'" in said
        assert said.count("\n") == 1

    @pytest.mark.parametrize("broken", ["health.yaml", "golden.yaml"])
    def test_a_mistake_in_a_file_drains_nothing(self, settings: Path, broken: str) -> None:
        self_made = settings / broken
        if broken == "golden.yaml":
            status, said = self.check(settings, "many GB/s")
        else:
            self_made.write_text("measurements: none")
            status, said = self.check(settings, "1 B/s")
        assert status == 2
        assert "not judged" in said
        assert broken in said

    def test_a_tierscope_that_hangs_or_is_missing_drains_nothing(self, settings: Path) -> None:
        hangs = program(settings / "hangs", "sleep 1000")
        status, said = self.check(settings, "1 B/s", TIERSCOPE=hangs, TIERSCOPE_LONGEST=3)
        assert status == 0
        assert "not judged, measuring ended with status 124" in said
        status, said = self.check(settings, "1 B/s", TIERSCOPE=settings / "nothing")
        assert status == 0
        assert "not judged" in said


def test_the_nightly_run_keeps_a_trend_and_a_prometheus_file(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    places = {"TIERSCOPE_PAGES": tmp_path, "TIERSCOPE_TEXTFILES": tmp_path}
    first = run("nightly.sh", "plan.yaml", folder=tmp_path, **places)
    assert first.returncode == 0, first.stderr
    assert not [*tmp_path.glob("*.html")], "there is nothing to compare yet"
    (made,) = (tmp_path / "tierscope/runs").glob("*.jsonl")
    shutil.copy(made, made.with_name("20200101-030000-plan.jsonl"))
    made.with_name("20200101-030000-plan.tags").write_text("nightly\n")
    third = run("nightly.sh", "plan.yaml", folder=tmp_path, **places)
    assert third.returncode in (0, 1, 3), third.stderr
    (page,) = tmp_path.glob("*.html")
    assert "3 runs, each compared with" in page.read_text()
    assert "Trends" in page.read_text()
    text = (tmp_path / "tierscope.prom").read_text()
    assert "\ntierscope_bandwidth_bytes_per_second{" in text
    assert not [*tmp_path.glob(".tierscope-*")]


def test_a_job_qualifies_its_nodes(tmp_path: Path) -> None:
    """With an srun that has measured before; one of 12 nodes is slow."""
    run_files(tmp_path / "measured", 12)
    program(tmp_path / "srun", f'cp -r {tmp_path}/measured "${{@: -1}}"; exit 1')
    rule = 'rules:\n  - "node:0 -> node:0 read: >= 0.6 of limit"\n'
    (tmp_path / "golden.yaml").write_text(rule)
    done = run(
        "qualify.sbatch", "--profile", "quick", folder=tmp_path, GOLDEN="golden.yaml",
        SLURM_JOB_ID=7, PATH=f"{tmp_path}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    made = tmp_path / "fleet-7"
    assert "NodeName=n12" in (made / "drain.txt").read_text()
    assert "n12" in (made / "check.xml").read_text()
    assert "12 hosts" in (made / "report.html").read_text()


def test_a_job_with_a_typo_in_golden_values_drains_nothing(tmp_path: Path) -> None:
    run_files(tmp_path / "measured", 12)
    program(tmp_path / "srun", f'cp -r {tmp_path}/measured "${{@: -1}}"')
    (tmp_path / "golden.yaml").write_text('rules:\n  - "node:7 -> node:0 read: >= 1 GB/s"\n')
    done = run(
        "qualify.sbatch", "--profile", "quick", folder=tmp_path, GOLDEN="golden.yaml",
        SLURM_JOB_ID=7, PATH=f"{tmp_path}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "golden.yaml:2: rule 'node:7 -> node:0 read: >= 1 GB/s'" in done.stderr
    assert (tmp_path / "fleet-7/drain.txt").read_text() == ""


def test_what_is_measured_is_not_in_the_way_of_others(tmp_path: Path) -> None:
    """Job scripts are sent to nodes as copies: each works from any folder."""
    copy = shutil.copy(RECIPES / "health-check.sh", tmp_path / "prolog.sh")
    done = subprocess.run(
        [copy], cwd="/", env={"PATH": os.environ["PATH"], "TIERSCOPE": "/no/such/program"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert "not judged" in done.stderr
