"""The scripts of examples/fleet: they do what their first lines say, also where something fails."""

import json
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
        assert "asked >= 900000 GB/s" in said

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
    assert not [*tmp_path.glob("fleet-7/drain.*")]


def test_what_is_measured_is_not_in_the_way_of_others(tmp_path: Path) -> None:
    """Job scripts are sent to nodes as copies: each works from any folder."""
    copy = shutil.copy(RECIPES / "health-check.sh", tmp_path / "prolog.sh")
    done = subprocess.run(
        [copy], cwd="/", env={"PATH": os.environ["PATH"], "TIERSCOPE": "/no/such/program"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert "not judged" in done.stderr


FULL = "dd if=/dev/zero of={folder}/ballast bs=4k 2>/dev/null"
"""Takes what is left of a file system."""


class TestNothingIsSaidAboutTheMachine:
    """What goes wrong in the command itself, and not in the machine, drains no host."""

    @pytest.fixture
    def golden(self, tmp_path: Path) -> Path:
        """Rules that the hosts of ``run_files`` meet, but for the last."""
        file = tmp_path / "golden.yaml"
        file.write_text('rules:\n  - "node:0 -> node:0 read: >= 180 GB/s"\n')
        return file

    def qualify(self, folder: Path, golden: Path, **environment: object) -> tuple[int, str, Path]:
        """Qualify a job's nodes by what lies in ``measured``."""
        program(folder / "srun", f'cp -r {folder}/measured/. "${{@: -1}}"')
        done = run(
            "qualify.sbatch", "--profile", "quick", folder=folder, GOLDEN=golden, SLURM_JOB_ID=7,
            PATH=f"{folder}:{os.environ['PATH']}", **{"OUT": folder / "fleet", **environment},
        )  # fmt: skip
        return done.returncode, done.stderr, folder / "fleet"

    def check(self, folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
        command = ["fleet", "check", folder, *words]
        return subprocess.run(
            [str(TIERSCOPE), *map(str, command)], capture_output=True, text=True, timeout=300
        )

    def damage(self, folder: Path) -> None:
        """Damage n1's run file, give n2's a later version, cut n3's, empty n4's, remove n5's."""
        hosts = folder / "hosts"
        lines = (hosts / "n1.jsonl").read_text().splitlines(keepends=True)
        (hosts / "n1.jsonl").write_text("".join([lines[0], "{broken\n", *lines[2:]]))
        header, rest = (hosts / "n2.jsonl").read_text().split("\n", 1)
        later = {**json.loads(header), "version": 99}
        (hosts / "n2.jsonl").write_text(f"{json.dumps(later)}\n{rest}")
        (hosts / "n3.jsonl").write_text("".join(lines[:2]).replace('"n1"', '"n3"'))
        (hosts / "n4.jsonl").write_text("")
        (hosts / "n5.jsonl").unlink()

    @pytest.mark.parametrize("slow", [True, False])
    def test_files_that_cannot_be_read_drain_nobody(
        self, tmp_path: Path, golden: Path, slow: bool
    ) -> None:
        run_files(tmp_path / "measured", 20)
        if not slow:
            shutil.rmtree(tmp_path / "measured")
            run_files(tmp_path / "measured", 21)
            (tmp_path / "measured/hosts/n21.jsonl").unlink()
        self.damage(tmp_path / "measured")
        status, said, made = self.qualify(tmp_path, golden, MOST_DRAINED="20%")
        assert status == (1 if slow else 3), said
        drained = (made / "drain.txt").read_text() if slow else ""
        assert (made / "drain.txt").exists() == slow
        assert drained.count("\n") == slow
        assert ("NodeName=n20 " in drained) == slow
        line = self.check(made, "--expect", golden, "--drain", "--most-drained", "20%").stderr
        missing = "n5" if slow else "n[5,21]"
        for host, why in {
            "n1": "hosts/n1.jsonl:2: ", "n2": "version 99; this one reads", "n3": "partial",
            missing: "its run file is missing",
        }.items():  # fmt: skip
            assert f"{host} (not judged: " in line
            assert why in line.split(f"{host} (not judged: ")[1].split("; n")[0]
        assert "n4 (not judged: " in line
        assert not [*made.glob("drain.part")]

    def test_a_host_that_only_failed_is_drained_by_nobody(self, tmp_path: Path) -> None:
        """Its engine crashed, MPI did not start, its disk was full: none is the hardware."""
        run_files(tmp_path, 12)
        index = json.loads((tmp_path / "fleet.json").read_text())
        (tmp_path / "hosts/n12.jsonl").unlink()
        states = {"n10": "failed", "n11": "lost", "n12": "cannot"}
        for host in index["hosts"]:
            if state := states.get(host["host"]):
                host.update(state=state, reason="the engine ended by SIGSEGV")
        (tmp_path / "fleet.json").write_text(json.dumps(index))
        done = self.check(tmp_path, "--drain")
        assert (done.returncode, done.stdout) == (3, "")
        for host, state in states.items():
            assert f"{host} (not judged: {state}: the engine ended by SIGSEGV)" in done.stderr

    def test_a_full_disk_is_no_verdict(
        self, tmp_path: Path, golden: Path, small_disk: Path
    ) -> None:
        run_files(tmp_path / "measured", 12)
        made = tmp_path / "made"
        shutil.copytree(tmp_path / "measured", made)
        assert self.check(made, "--expect", golden, "--most-drained", "10%").returncode == 1
        (small_disk / "ballast").write_bytes(b"x" * (64 << 10))
        junit = self.check(made, "--expect", golden, "--junit", small_disk / "check.xml")
        assert junit.returncode == 4, junit.stderr
        assert "No space left on device" in junit.stderr
        for file in made.glob("*.parquet"):
            file.unlink()
        words = f"ulimit -f 1; exec {TIERSCOPE} fleet check {made} --drain"
        gathered = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
        assert (gathered.returncode, gathered.stdout) == (4, "")
        assert "the tables cannot be made: File too large; make room" in gathered.stderr

    def test_a_job_on_a_full_disk_drains_nothing(self, tmp_path: Path, golden: Path) -> None:
        run_files(tmp_path / "measured", 12)
        # From the second check on nothing can be written: not the commands that drain.
        limited = program(
            tmp_path / "limited",
            f'[[ "$*" != *--drain* ]] || ulimit -f 0\nexec {TIERSCOPE} "$@"',
        )
        status, said, made = self.qualify(tmp_path, golden, TIERSCOPE=limited, MOST_DRAINED="10%")
        assert status == 1, said
        assert "No usable temporary directory" in said
        assert not [*made.glob("drain.*")]

    @pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "| true"])
    def test_output_that_nobody_gets_is_no_verdict(
        self, tmp_path: Path, golden: Path, redirection: str
    ) -> None:
        run_files(tmp_path / "fleet", 12)
        check = f"{TIERSCOPE} check {tmp_path}/fleet/hosts/n12.jsonl --expect {golden}"
        of_fleet = f"{TIERSCOPE} fleet check {tmp_path}/fleet --drain --most-drained 10%"
        for command in (check, of_fleet):
            for words, expected in ((command, 1), (f"{command} {redirection}", 4)):
                done = subprocess.run(
                    ["bash", "-o", "pipefail", "-c", words], capture_output=True, text=True
                )
                assert done.returncode == expected, done.stderr

    def test_an_internal_error_is_no_verdict(self, tmp_path: Path, golden: Path) -> None:
        run_files(tmp_path / "fleet", 12)
        code = (
            "import tierscope.analysis.expect as e, tierscope.fleet.outliers as o\n"
            "e.check = o.outliers_of = lambda *a, **k: 1 / 0\n"
            "from tierscope.cli.main import main; main()"
        )
        python = [ROOT / ".venv/bin/python", "-c", code]
        for words in (
            ["check", tmp_path / "fleet/hosts/n12.jsonl", "--expect", golden],
            ["fleet", "check", tmp_path / "fleet", "--drain"],
        ):
            done = subprocess.run([*python, *words], capture_output=True, text=True)
            assert (done.returncode, done.stdout) == (4, "")
            assert "internal error" in done.stderr
            assert done.stderr.count("\n") == 1

    def health(
        self, folder: Path, how: str, **environment: object
    ) -> "subprocess.CompletedProcess[str]":
        """The health check of a slow node as ``how`` checks it."""
        run_files(folder / "made", 1)
        settings = folder / "settings"
        settings.mkdir()
        (settings / "health.yaml").write_text(PLAN)
        (settings / "golden.yaml").write_text('rules:\n  - "node:0 -> node:0 read: >= 9 TB/s"\n')
        text = (
            f'[ "$1" = check ] || {{ cp {folder}/made/hosts/n1.jsonl "${{@: -1}}"; exit; }}\n{how}'
        )
        return run(
            "health-check.sh", folder=folder, TIERSCOPE=program(settings / "tierscope", text),
            TIERSCOPE_HEALTH=settings, TIERSCOPE_LONGEST=60, **environment,
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("how", "why"),
        [
            ("ulimit -f 0; exec {tierscope} \"$@\"", "status 4"),
            ("exit 1", "status 1 and no verdict"),
            ("PYTHONHOME=/nowhere exec {python} -m tierscope", "status 1 and no verdict"),
            ("exec {tierscope} \"$@\" >&-", "status 4"),
            ('head -c 300 "$2" > x; mv x "$2"; exec {tierscope} "$@"', "holds no run"),
            ('sed -i \'1s/"version":[0-9]*/"version":99/\' "$2"; exec {tierscope} "$@"', "99"),
        ],
        ids=["no space", "silent", "no Python", "closed", "damaged", "later version"],
    )  # fmt: skip
    def test_a_health_check_that_fails_leaves_the_node(
        self, tmp_path: Path, how: str, why: str
    ) -> None:
        python = ROOT / ".venv/bin/python"
        how = how.format(tierscope=TIERSCOPE, python=python)
        done = self.health(tmp_path, how, SLURM_JOB_ID=7)
        assert done.returncode == 0, done.stderr
        assert "not judged" in done.stderr
        assert why in done.stderr

    def test_a_health_check_on_a_full_disk_leaves_the_node(
        self, tmp_path: Path, small_disk: Path
    ) -> None:
        how = f'{FULL.format(folder=small_disk)}; exec {TIERSCOPE} "$@"'
        done = self.health(tmp_path, how, TMPDIR=small_disk)
        assert done.returncode == 0, done.stderr
        assert "not judged" in done.stderr
        (small_disk / "ballast").unlink()

    def test_the_same_node_goes_where_nothing_fails(self, tmp_path: Path) -> None:
        done = self.health(tmp_path, f'exec {TIERSCOPE} "$@"', SLURM_JOB_ID=7)
        assert done.returncode == 1, done.stderr
        assert "golden values missed: " in done.stderr

    @pytest.mark.parametrize(
        ("fails", "expected"),
        [("run:3", 3), ("run:2", 2), ("tag:1", 4), ("export:4", 4), ("compare:4", 4)],
    )
    def test_a_night_without_a_comparison_is_not_slower(
        self, tmp_path: Path, fails: str, expected: int
    ) -> None:
        (tmp_path / "plan.yaml").write_text(PLAN)
        command, status = fails.split(":")
        text = f'[ "$1" != {command} ] || exit {status}\nexec {TIERSCOPE} "$@"'
        places = {"TIERSCOPE_PAGES": tmp_path, "TIERSCOPE_TEXTFILES": tmp_path}
        if command == "compare":
            assert run("nightly.sh", "plan.yaml", folder=tmp_path, **places).returncode == 0
        done = run(
            "nightly.sh", "plan.yaml", folder=tmp_path,
            TIERSCOPE=program(tmp_path / "fails", text), **places,
        )  # fmt: skip
        assert done.returncode == expected, done.stderr
