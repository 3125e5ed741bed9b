"""fio's jobs, measured by the engine."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

KEYS = (Path(__file__).parent / "keys.txt").read_text().splitlines()
"""Of the JSON that fio 3.33 writes, but for its statistics of disks."""
NAMES = ("bins", "job options", "global options", "percentile")
"""Keys whose own keys depend on what was measured."""
Fio = Callable[..., "subprocess.CompletedProcess[str]"]
MIXED = """\
[global]
ioengine=libaio
size=1m
time_based
runtime=300ms
[readers]
rw=randread
iodepth=4
numjobs=2
[writer]
rw=write
bs=64k
iodepth=2
[mix]
stonewall
rw=randrw
rwmixread=70
group_reporting
numjobs=2
"""


@pytest.fixture
def fio(tmp_path: Path) -> Fio:
    """Run tierscope fio in a directory of its own."""
    (tmp_path / "work").mkdir()

    def call(*words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        return tierscope("fio", *words, folder=tmp_path / "work", stdin=text)

    return call


def keys(value: Any, above: str = "") -> set[str]:
    """Return the paths of all keys."""
    if isinstance(value, list):
        return set().union(*(keys(one, above) for one in value))
    if not isinstance(value, dict):
        return set()
    own = {above + key for key in value}
    return own.union(*(keys(v, f"{above}{k}/") for k, v in value.items() if k not in NAMES))


def jobs_of(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return found


def test_jobs_run_together_and_after_each_other(fio: Fio) -> None:
    done = fio("--output-format=json+", "-", text=MIXED)
    found = jobs_of(done)
    assert [(job["jobname"], job["groupid"]) for job in found] == [
        ("readers", 0), ("readers", 0), ("writer", 0), ("mix", 1),
    ]  # fmt: skip
    assert keys(json.loads(done.stdout)) == set(KEYS)
    for job in found:
        for direction in ("read", "write"):
            one = job[direction]
            wanted = direction in {"readers": "read", "writer": "write"}.get(
                job["jobname"], "read write"
            )
            assert (one["total_ios"] > 0) == wanted
            assert one["clat_ns"]["N"] == one["slat_ns"]["N"] == one["total_ios"]
            assert sum(one["clat_ns"].get("bins", {}).values()) == one["total_ios"]
        assert job["trim"]["total_ios"] == 0
        assert job["usr_cpu"] is None
        assert 30 <= job["job_runtime"] <= 30_000, "milliseconds, of which 300 were asked for"
        shares = [*job["latency_ns"].values(), *job["latency_us"].values()]
        assert sum([*shares, *job["latency_ms"].values()]) == pytest.approx(100)
    writer, mix = found[2:]
    assert writer["write"]["io_bytes"] == writer["write"]["total_ios"] * 65536
    assert mix["read"]["total_ios"] > mix["write"]["total_ios"]


def test_fio_s_own_tool_reads_the_json(fio: Fio, tmp_path: Path) -> None:
    tool = shutil.which("fio_jsonplus_clat2csv")
    if tool is None:
        pytest.skip("fio_jsonplus_clat2csv is not installed; it comes with fio")
    words = "--name=a --rw=randrw --size=1m --number_ios=64 --output-format=json+"
    assert fio(*words.split(), f"--output={tmp_path}/x.json").returncode == 0
    subprocess.run([tool, "x.json", "x.csv"], cwd=tmp_path, check=True, capture_output=True)
    header, *rows = (tmp_path / "x_job0.csv").read_text().splitlines()
    assert "read_clat_ns_count" in header
    column = header.split(", ").index("read_clat_ns_cumulative")
    counted = [row.split(", ")[column] for row in rows if row.split(", ")[column].strip()]
    document = json.loads((tmp_path / "x.json").read_text())
    assert int(counted[-1]) == document["jobs"][0]["read"]["total_ios"]


def test_an_amount_is_moved_exactly(fio: Fio) -> None:
    words = "--name=a --rw=write --size=256k --bs=8k --end_fsync=1 --output-format=json"
    (job,) = jobs_of(fio(*words.split()))
    assert (job["write"]["io_bytes"], job["write"]["total_ios"]) == (256 << 10, 32)
    assert "bins" not in job["write"]["clat_ns"]
    assert job["write"]["bw_samples"] == 1


def test_syncs_are_counted(fio: Fio) -> None:
    words = "--name=a --rw=write --size=256k --bs=8k --fsync=8 --output-format=json"
    (job,) = jobs_of(fio(*words.split()))
    assert job["sync"]["total_ios"] == job["sync"]["lat_ns"]["N"] == 4


def test_text_is_that_of_fio(fio: Fio, tmp_path: Path) -> None:
    done = fio("--name=a", "--rw=randread", "--size=1m", "--number_ios=100", "--lat_percentiles=1")
    assert done.returncode == 0, done.stderr
    for line in (
        "a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=psync, iodepth=1",
        "a: (groupid=0, jobs=1): err= 0: pid=",
        "  read: IOPS=",
        "    clat percentiles (",
        "    lat percentiles (",
        "     issued rwts: total=100,0,0,0 short=0,0,0,0 dropped=0,0,0,0",
        "Run status group 0 (all jobs):",
        "   READ: bw=",
    ):
        assert line in done.stdout
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [
        ".tierscope-files.json", "a.0.0",
    ]  # fmt: skip


def test_a_job_that_goes_wrong_costs_no_other_result(fio: Fio, tmp_path: Path) -> None:
    (tmp_path / "work" / "data").write_bytes(bytes(8192))
    jobs = "[a]\nsize=64k\n[b]\nstonewall\nfilename=data\nrw=write\n[c]\nstonewall\nsize=64k\n"
    done = fio("-", "--output-format=json", text=jobs)
    assert done.returncode == 1
    assert [job["jobname"] for job in json.loads(done.stdout)["jobs"]] == ["a", "c"]
    assert "tierscope: fio: stdin:3: " in done.stderr
    assert "tierscope did not make it" in done.stderr


def test_files_are_removed_where_unlink_says_so(fio: Fio, tmp_path: Path) -> None:
    for name in ([], ["--filename=data"]):
        words = ["--name=a", "--size=64k", "--unlink=1", *name]
        assert fio(*words).returncode == 0
    assert not [one for one in (tmp_path / "work").iterdir() if not one.name.startswith(".")]


def test_data_is_verified(fio: Fio) -> None:
    words = "--name=a --rw=randwrite --size=256k --verify=crc32c --output-format=json"
    done = fio(*words.split())
    assert "verified: 64 of 64 blocks written were read back" in done.stderr
    read = fio(*words.replace("randwrite", "randread").split())
    assert "verified: every block read" in read.stderr


def test_data_that_others_damaged_is_named(fio: Fio, tmp_path: Path) -> None:
    words = "--name=a --rw={} --size=256k --verify=crc32c"
    assert fio(*words.format("write").split()).returncode == 0
    with (tmp_path / "work" / "a.0.0").open("r+b") as file:
        file.seek(4096 * 5 + 1000)
        file.write(b"damage")
    done = fio(*words.format("read").split())
    assert done.returncode == 3
    assert "a.0.0 is left alone" in done.stderr
    assert "holds data, at offset 20480, that another program wrote" in done.stderr
    assert "READ:" not in done.stdout


def test_files_of_others_are_only_read(fio: Fio, tmp_path: Path) -> None:
    path = tmp_path / "work" / "data"
    content = bytes(range(256)) * 256
    path.write_bytes(content)
    words = ["--name=a", "--filename=data", "--bs=4k"]
    done = fio(*words, "--rw=write")
    assert done.returncode == 2
    assert "tierscope did not make it" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert fio(*words, "--rw=read").returncode == 0
    assert path.read_bytes() == content
    assert fio(*words, "--rw=write", "--overwrite-others").returncode == 0
    assert path.read_bytes() != content


def test_nothing_is_measured_where_that_was_asked_for(fio: Fio, tmp_path: Path) -> None:
    job = tmp_path / "x.fio"
    job.write_text("[a]\nrw=write\nsize=1m\ngtod_reduce=1\n")
    done = fio("--parse-only", str(job))
    assert (done.returncode, done.stdout) == (0, "")
    assert "gtod_reduce=1 changes nothing" in done.stderr
    assert fio("--showcmd", str(job)).stdout == (
        "fio --name=a --rw=write --size=1m --gtod_reduce=1\n"
    )
    refused = fio("--readonly", str(job))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "[a] writes" in refused.stderr
    assert not list((tmp_path / "work").iterdir())
    assert "Exit status" in fio("--help").stdout
    assert fio("--version").stdout.startswith("fio-3.33")


def test_readonly_touches_nothing(fio: Fio, tmp_path: Path) -> None:
    words = ("--name=a", "--rw=read", "--size=1m", "--filename=data.bin")
    missing = fio("--readonly", *words)
    assert missing.returncode == 2
    assert "data.bin is missing, and --readonly is given" in missing.stderr
    assert not list((tmp_path / "work").iterdir())
    assert fio(*words).returncode == 0
    data = tmp_path / "work" / "data.bin"
    before = data.stat()
    assert fio("--readonly", *words).returncode == 0
    longer = fio("--readonly", "--name=a", "--rw=read", "--size=2m", "--filename=data.bin")
    assert longer.returncode == 2
    assert "has 1048576 bytes, and 2097152 are needed" in longer.stderr
    assert (data.stat().st_size, data.stat().st_ctime_ns) == (before.st_size, before.st_ctime_ns)


def test_a_kept_file_that_others_rewrote_is_read_as_it_is_and_never_written(
    fio: Fio, tmp_path: Path
) -> None:
    words = ("--name=a", "--size=1m", "--filename=data.bin")
    assert fio("--rw=read", *words).returncode == 0
    data = tmp_path / "work" / "data.bin"
    data.write_bytes(b"precious" * (1 << 17))
    assert fio("--rw=read", *words).returncode == 0
    for rw in ("write", "randrw"):
        refused = fio(f"--rw={rw}", *words)
        assert refused.returncode != 0
        assert "holds data, at offset 0, that another program wrote" in refused.stderr
    data.write_bytes(b"short")
    assert fio("--rw=read", *words).returncode == 2
    assert data.read_bytes() == b"short"


def test_a_wrong_job_file_is_one_line(fio: Fio, tmp_path: Path) -> None:
    job = tmp_path / "x.fio"
    job.write_text("[a]\nioengine=null\n")
    done = fio(str(job))
    assert done.returncode == 2
    assert done.stderr == (
        f"tierscope: {job}:2: ioengine: 'null' is not available: it does not read or write files\n"
    )


def test_all_that_is_wrong_with_a_job_file_is_told_at_once(fio: Fio, tmp_path: Path) -> None:
    job = tmp_path / "x.fio"
    job.write_text("[a]\nnosuch=1\niodepth=0\n[b]\nioscheduler=none\n")
    done = fio(str(job))
    assert (done.returncode, done.stdout) == (2, "")
    said = [line.removeprefix(f"tierscope: {job}:") for line in done.stderr.splitlines()]
    assert [line.split("=")[0].split(": ")[:2] for line in said] == [
        ["2", "nosuch"], ["3", "iodepth"], ["5", "ioscheduler"],
    ]  # fmt: skip


def test_options_complete() -> None:
    import click

    from tierscope.peers.fio.command import fio as command

    context = click.Context(command, info_name="fio")
    assert [one.value for one in command.shell_complete(context, "--rwm")] == [
        "--rwmixread=", "--rwmixwrite=",
    ]  # fmt: skip
    assert [one.type for one in command.shell_complete(context, "job")] == ["file"]
