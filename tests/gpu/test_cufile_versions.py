"""Commands with versions of cuFile from before it counted, by an engine whose GPUs are fake."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_gpu_engine import ENGINE, environment_of, require_fake_gpus

from fleet_jobs import TIERSCOPE

IO = ("io", "--from", "gpu:0", "--backend", "cufile", "--size", "1m", "--block-size", "64k",
      "--budget", "0.3", "--sample", "50ms")  # fmt: skip


@pytest.fixture(autouse=True)
def _fake_engine() -> None:
    require_fake_gpus()


def call(
    folder: Path, version: str, *words: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    files = folder / "files"
    files.mkdir(exist_ok=True)
    own = {name: text for name, text in environment_of(folder).items() if "CUFILE_" not in name}
    return subprocess.run(
        [sys.executable, str(TIERSCOPE), *words],
        env={
            **own,
            "TIERSCOPE_CUFILE": str(ENGINE.parent / "fake-cufile" / version),
            **environment,
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def measured(folder: Path, version: str, *words: str, **environment: str) -> dict[str, Any]:
    done = call(
        folder, version, *IO, "--to", f"file:{folder}/files", "--json", *words, **environment
    )
    assert done.stdout.startswith("{"), done.stderr
    (result,) = json.loads(done.stdout)["results"]
    return dict(result)


def test_cufile_1_12_is_measured_and_its_way_is_not_proven(tmp_path: Path) -> None:
    evidence = measured(tmp_path, "1120")["evidence"]
    assert evidence["cufile"]["version"] == "1.12"
    assert evidence["cufile"]["allow_compat_mode"] is True
    assert "proof" not in evidence["cufile"]
    assert "ways" not in evidence["storage_io"]
    (note,) = [one for one in evidence["notes"] if one.startswith("way not proven")]
    assert "libcufile 1.12 does not count the ways of operations, 1.15 does" in note
    assert "set CUFILE_ALLOW_COMPAT_MODE=false" in note
    assert "echo 1 > /sys/module/nvidia_fs/parameters/rw_stats_enabled" in note


def test_the_table_says_that_the_way_is_not_proven(tmp_path: Path) -> None:
    done = call(tmp_path, "1120", *IO, "--to", f"file:{tmp_path}/files", "-v")
    words = " ".join(done.stdout.split())
    assert "1 of 1: the way between storage and GPU is not proven" in words
    assert "set CUFILE_ALLOW_COMPAT_MODE=false" in words
    counted = call(tmp_path, "1150", *IO, "--to", f"file:{tmp_path}/files")
    assert "not proven" not in counted.stdout


def test_a_required_way_fails_with_what_helps_on_that_version(tmp_path: Path) -> None:
    result = measured(tmp_path, "1120", "--require", "gpudirect")
    assert (result["status"], result["cause"]) == ("failed", "path")
    assert "--require gpudirect: not proven: libcufile 1.12" in result["reason"]
    strict = measured(tmp_path, "1120", "--require", "gpudirect", CUFILE_ALLOW_COMPAT_MODE="false")
    assert "CUFILE_ALLOW_COMPAT_MODE" not in strict["reason"], "it is off"
    assert "modprobe nvidia-fs" in strict["reason"]


def test_a_library_that_counts_proves_the_way(tmp_path: Path) -> None:
    evidence = measured(tmp_path, "1150")["evidence"]
    assert evidence["cufile"]["proof"] == "libcufile"
    assert evidence["storage_io"]["ways"]["posix"] >= evidence["storage_io"]["reads"] > 0


def test_gdsio_says_that_the_way_is_not_proven(tmp_path: Path) -> None:
    words = f"gdsio -D {tmp_path}/files -d 0 -w 1 -s 1M -i 64K -x 6 -I 0 -T 1".split()
    done = call(tmp_path, "1120", *words)
    assert done.returncode == 0, done.stderr
    assert "way not proven: libcufile 1.12 does not count the ways of operations" in done.stderr
