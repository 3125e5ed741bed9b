"""Damaged run files, tags, plans, golden values, XML, job files of fio and cufile.json are read, or
refused in one line."""

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.damage import damaged, damaged_run, run_files
from tests.gpu import gpu_machine

from tierscope.analysis.expect import read_expectation
from tierscope.cli.app import app
from tierscope.kinds.vocabulary import vocabulary
from tierscope.machine.cufile_audit import audit, read_cufile
from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.plans.expand import expand
from tierscope.plans.yaml_plan import read_plan
from tierscope.runs.export import prometheus_text, to_json
from tierscope.runs.read import parse_run

CODES = {*map(int, ExitCode)} - {ExitCode.INTERRUPTED}
XML = Path(__file__).parents[1] / "topology/xml"
PLAN = b"""\
version: 1
measurements:
  - name: idle
    kind: latency
    args: {from: node:0, to: "node:*", size: 4k..1g}
  - kind: bandwidth
    args:
      op: read
      pages: base
    matrix:
      threads: [1, 2, 4]
      to: [node:0, "node:0,2@3:1"]
"""
RULES = b"""\
rules:
  - "gpu:* <- node: >= 0.85 of limit"
  - "node:0 -> node:0 read: >= 20 GB/s"
  - "every node:0 -> node:* latency pages=thp: <= 150 ns"
"""
FIO = b"""\
; jobs
[global]
ioengine=libaio   # inline
size=1g
bssplit=4k/60:64k/40
rw=randrw
rwmixread=70
runtime=${SECONDS}
time_based
cpus_allowed=0-1
[readers]
numjobs=2
[later]
stonewall
rate_iops=1k
"""
CUFILE = b"""\
{
  // NVIDIA's layout
  "logging": {"dir": "/tmp", "level": "ERROR"},
  "profile": {"nvtx": false, "cufile_stats": 0},
  "properties": {
    "max_direct_io_size_kb": 16384, /* per operation */
    "allow_compat_mode": true,
    "gpu_bounce_buffer_slab_size_kb": [4, 1024],
    "gpu_bounce_buffer_slab_count": [2, 2],
    "rdma_dev_addr_list": ["172.172.1.240"]
  },
  "fs": {"nfs": {"mount_table": {"/mnt/a": {"rdma_dev_addr_list": ["172.172.1.40"]}}}},
  "denylist": {"drivers": [], "devices": [], "mounts": [], "filesystems": ["ext3"]}
}
"""
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def examples(short: int) -> Any:
    """So many examples in CI; those of the profile ``soak`` there."""
    soak = settings.get_current_profile_name() == "soak"
    return settings(max_examples=2000 if soak else short, suppress_health_check=SHARED)


RANDOM = st.randoms(use_true_random=False)


def one_line(said: str, begins: str = "") -> None:
    assert said
    assert re.match(begins, said)
    assert "Traceback" not in said


@examples(300)
@given(random=RANDOM)
def test_a_damaged_run_is_read_whole_or_refused_with_its_place(random: Random) -> None:
    content = damaged_run(random)
    try:
        run = parse_run(content, "x.jsonl")
    except UserError as error:
        one_line(str(error), "x.jsonl|run 'x.jsonl'")
        return
    to_json(run)
    prometheus_text(run)


COMMANDS = [
    ["show", "damaged"],
    ["show", "tagged", "--json"],
    ["show", "damaged", "--csv"],
    ["list"],
    ["list", "--json"],
    ["query", "select * from runs join measurements on run = name"],
    ["export", "--all", "--csv=out.csv", "--parquet=out.parquet"],
    ["export", "damaged", "--prometheus", "out.prom"],
    ["compare", "damaged", "sound", "--allow", "host,machine"],
    ["compare", "sound", "damaged", "sound", "--json"],
    ["check", "damaged", "--expect", "rules.yaml", "--junit", "out.xml"],
    ["tag", "damaged"],
    ["bundle", "damaged"],
    ["run", "--resume", "damaged", "--json"],
]
SLOW = [
    ["report", "damaged", "-o", "out.html"],
    ["compare", "sound", "damaged", "-o", "out.html"],
]


def check_command(words: Sequence[str], files: dict[str, bytes]) -> None:
    """Run a command in a data directory of these files; it may end with an error of one line."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        data = Path(folder, "tierscope/runs")
        data.mkdir(parents=True)
        for name, content in files.items():
            (data / name).write_bytes(content)
        patch.setenv("XDG_DATA_HOME", folder)
        patch.setenv("TIERSCOPE_ENGINE", "/nonexistent")
        patch.chdir(data)
        done = CliRunner().invoke(app, list(words), standalone_mode=False)
        if done.exception is None or isinstance(done.exception, SystemExit):
            assert int(done.return_value or 0) in CODES
            return
        if not isinstance(done.exception, UserError):
            raise done.exception
        one_line(str(done.exception))
        assert int(done.exception.exit_code) in CODES
        assert not os.path.lexists(data / "out.html")


def files_with(content: bytes, tags: bytes = b"tagged\n") -> dict[str, bytes]:
    sound = run_files()[0]
    return {
        "damaged.jsonl": content, "damaged.tags": tags, "sound.jsonl": sound, "rules.yaml": RULES,
    }  # fmt: skip


@examples(150)
@given(random=RANDOM, words=st.sampled_from(COMMANDS))
def test_commands_say_in_one_line_what_is_wrong_with_a_run(
    random: Random, words: list[str]
) -> None:
    check_command(words, files_with(damaged_run(random)))


@examples(8)
@given(random=RANDOM, words=st.sampled_from(SLOW))
def test_reports_of_damaged_runs(random: Random, words: list[str]) -> None:
    check_command(words, files_with(damaged_run(random)))


WITH_TAGS = [
    ["list"],
    ["show", "tagged", "--csv"],
    ["tag", "sound", "new"],
    ["tag", "damaged", "new"],
    ["query", "select tags from runs"],
]


@examples(40)
@given(random=RANDOM, words=st.sampled_from(WITH_TAGS))
def test_damaged_tags(random: Random, words: list[str]) -> None:
    tags = damaged(random, b"golden\nidle\ntagged\n")
    check_command(words, files_with(run_files()[0], tags))


@examples(200)
@given(random=RANDOM)
def test_a_damaged_plan_is_expanded_or_refused(random: Random, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_bytes(damaged(random, PLAN))
    try:
        expand(read_plan(file), gpu_machine.machine(gpus=0), True)
    except UserError as error:
        one_line(str(error))


@examples(200)
@given(random=RANDOM)
def test_damaged_golden_values_are_read_or_refused(random: Random, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_bytes(damaged(random, RULES))
    try:
        read_expectation(file, vocabulary())
    except UserError as error:
        one_line(str(error), re.escape(f"{file}:"))


@examples(30)
@given(
    random=RANDOM,
    name=st.sampled_from(sorted(path.name for path in XML.glob("*.xml"))),
    words=st.sampled_from([[], ["--json"], ["--svg", "out.svg"], ["node:0", "node:0"]]),
)
def test_topo_of_damaged_xml(random: Random, name: str, words: list[str]) -> None:
    content = damaged(random, (XML / name).read_bytes())
    check_command(["topo", "--input", "x.xml", *words], {"x.xml": content})


def damaged_or_any(content: bytes) -> st.SearchStrategy[bytes]:
    """A file with damages, or any bytes."""
    return RANDOM.map(lambda random: damaged(random, content)) | st.binary(max_size=200)


@examples(100)
@given(
    content=damaged_or_any(FIO),
    words=st.sampled_from([["--parse-only"], ["--showcmd"], ["--section=readers", "--parse-only"]]),
)
def test_fio_of_any_bytes(content: bytes, words: list[str]) -> None:
    check_command(["fio", *words, "x.fio"], {"x.fio": content})


@examples(200)
@given(content=damaged_or_any(CUFILE))
def test_any_bytes_are_audited_as_cufile_json_or_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "cufile.json"
    file.write_bytes(content)
    try:
        audit(read_cufile(str(file)), "", Files(tmp_path), {})
    except UserError as error:
        one_line(str(error), re.escape(f"{file}:"))
