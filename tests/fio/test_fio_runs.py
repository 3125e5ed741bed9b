"""fio's jobs, measured by the engine."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope
from tierscope.runs.read import parse_contents

KEYS = (Path(__file__).parent / "keys.txt").read_text().splitlines()
"""Of the JSON that fio 3.33 writes, but for its statistics of disks."""
NAMES = ("bins", "disk_util", "job options", "global options", "percentile")
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
        assert job["usr_cpu"] + job["sys_cpu"] > 0
        assert all(job[name] >= 0 for name in ("ctx", "majf", "minf"))
        for name in ("iodepth_level", "iodepth_submit", "iodepth_complete"):
            assert sum(job[name].values()) == pytest.approx(100), name
        assert 30 <= job["job_runtime"] <= 30_000, "milliseconds, of which 300 were asked for"
        shares = [*job["latency_ns"].values(), *job["latency_us"].values()]
        assert sum([*shares, *job["latency_ms"].values()]) == pytest.approx(100)
    writer, mix = found[2:]
    levels = {job["jobname"]: job["iodepth_level"] for job in found}
    assert levels["readers"]["4"] > 0, "four in flight"
    assert levels["readers"]["8"] == levels["writer"]["4"] == 0
    assert levels["mix"]["1"] == 100
    assert writer["write"]["io_bytes"] == writer["write"]["total_ios"] * 65536
    assert mix["read"]["total_ios"] > mix["write"]["total_ios"]


ENDS = """\
[global]
size=1m
[amount]
rw=write
[short]
rw=randread
runtime=200ms
time_based
[late]
rw=randread
startdelay=300ms
runtime=400ms
time_based
"""


def test_each_job_ends_at_its_own_end(fio: Fio) -> None:
    amount, short, late = jobs_of(fio("--output-format=json", "-", text=ENDS))
    assert (amount["write"]["io_bytes"], amount["write"]["total_ios"]) == (1 << 20, 256)
    assert short["job_runtime"] >= 200
    assert late["job_runtime"] >= 400
    assert short["read"]["total_ios"] > 0 < late["read"]["total_ios"]


def test_a_job_that_ends_may_end_others(fio: Fio, tmp_path: Path) -> None:
    text = (
        "[global]\nsize=1m\nexitall\n[first]\nexit_what=all\n[endless]\nnew_group\nrw=randread\n"
        "time_based\nruntime=600\n[never]\nstonewall\n"
    )
    found = jobs_of(
        fio("--output-format=json", "-", text=text.replace("rw=write", "exit_what=all"))
    )
    assert [job["jobname"] for job in found] == ["first", "endless"]
    assert found[1]["job_runtime"] < 300_000, "in milliseconds, of 600 s"
    (run,) = (tmp_path / "data/tierscope/runs").glob("*.jsonl*")
    made = parse_contents(run.read_bytes(), str(run)).repetitions
    assert [len(repetitions) for repetitions in made.values()] == [1], "jobs run once"
    assert found[0]["read"]["io_bytes"] == 1 << 20


def test_rates_of_reads_and_writes_hold_apart(fio: Fio) -> None:
    words = "--name=a --rw=randrw --size=1m --rate_iops=400,100 --runtime=1 --time_based"
    (job,) = jobs_of(fio(*words.split(), "--output-format=json"))
    assert 0 < job["write"]["total_ios"] <= 101, "100 a second are due in a second"
    assert job["write"]["total_ios"] < job["read"]["total_ios"] <= 401


def test_a_rate_that_was_not_reached_is_a_failure(fio: Fio) -> None:
    words = "--name=a --size=1m --rate_iops=50 --rate_iops_min=1000 --runtime=1200ms --time_based"
    done = fio(*words.split(), "--output-format=json")
    assert done.returncode == 1
    assert "--name=a: rate_iops_min: a.0 had reads of" in done.stderr
    assert json.loads(done.stdout)["jobs"][0]["read"]["total_ios"] > 0


def test_pauses_follow_operations(fio: Fio) -> None:
    words = "--name=a --size=1m --number_ios=40 --thinktime=10ms --thinktime_blocks=8"
    (job,) = jobs_of(fio(*words.split(), "--output-format=json"))
    assert job["read"]["total_ios"] == 40
    assert job["job_runtime"] >= 40, "four pauses between five groups of operations"


def test_a_flow_keeps_the_ratio_of_weights(fio: Fio) -> None:
    text = (
        "[global]\nsize=1m\nruntime=500ms\ntime_based\nrate_iops=800\nflow_sleep=100\n"
        "[few]\nflow=1\n[many]\nflow=4\n"
    )
    few, many = jobs_of(fio("--output-format=json", "-", text=text))
    ratio = many["read"]["total_ios"] / few["read"]["total_ios"]
    assert 2 < ratio < 6


@pytest.mark.parametrize(
    "engine", ["sync", "pvsync", "pvsync2", "splice", "mmap", "libpmem", "posixaio", "io_uring"]
)
def test_every_engine_moves_and_verifies_its_data(fio: Fio, engine: str) -> None:
    words = f"--name=a --ioengine={engine} --rw=randwrite --size=256k --iodepth=4 --verify=md5"
    done = fio(*words.split(), "--output-format=json")
    (job,) = jobs_of(done)
    assert job["write"]["io_bytes"] == 256 << 10
    assert "verified: 64 of 64 blocks written were read back" in done.stderr


def test_ftruncate_cuts_a_file_that_is_whole_again_for_the_next_job(
    fio: Fio, tmp_path: Path
) -> None:
    words = "--name=a --filename=cut --ioengine=ftruncate --rw=randwrite --size=64k"
    for _again in range(2):
        (job,) = jobs_of(fio(*words.split(), "--output-format=json"))
        assert job["write"]["total_ios"] == 16
        content = (tmp_path / "work" / "cut").read_bytes()
        assert len(content) == 64 << 10
        assert not any(content[-4096:]), "behind the first cut there is a hole"
    for option, why in (("--rw=randread", "takes write"), ("--verify=md5", "writes no data")):
        done = fio(*words.split(), option)
        assert done.returncode == 2
        assert f"ioengine=ftruncate {why}" in done.stderr


def test_ftruncate_leaves_others_files_alone(fio: Fio, tmp_path: Path) -> None:
    other = tmp_path / "work" / "other"
    other.write_bytes(b"x" * 65536)
    done = fio("--name=a", "--filename=other", "--ioengine=ftruncate", "--rw=write", "--size=64k")
    assert done.returncode == 2
    assert "tierscope did not make it" in done.stderr
    assert other.read_bytes() == b"x" * 65536


FILES = """\
[global]
ioengine={engine}
nrfiles=50
filesize=4k
create_on_open={opens}
[t0]
[t1]
numjobs=2
rw=write
[later]
stonewall
ioengine=sync
create_on_open=0
nrfiles=1
"""


@pytest.mark.parametrize("engine", ["filecreate", "filestat", "filedelete"])
def test_engines_of_files_use_each_file_once(fio: Fio, tmp_path: Path, engine: str) -> None:
    theirs = tmp_path / "work" / "t0.0.0"
    theirs.write_text("precious")
    text = FILES.format(engine=engine, opens=int(engine == "filecreate"))
    done = fio("--output-format=normal,json", "-", text=text)
    assert done.returncode == 0, done.stderr
    printed, _, document = done.stdout.partition("\n{\n")
    found = json.loads("{" + document)["jobs"]
    assert [job["jobname"] for job in found] == ["t0", "t1", "t1", "later"]
    for job in found[:3]:
        one = job["read" if job["jobname"] == "t0" else "write"]
        assert (one["total_ios"], one["io_bytes"], one["clat_ns"]["N"]) == (50, 50 << 12, 50)
        assert 0 < one["clat_ns"]["min"] <= one["clat_ns"]["mean"]
        assert one["iops"] > 0
        assert job["iodepth_level"]["1"] == 100
    assert found[3]["read"]["io_bytes"] == 4096
    assert f"ioengine={engine}, iodepth=1" in printed
    assert "issued rwts: total=50,0,0,0" in printed
    assert theirs.read_text() == "precious"
    assert {one.name for one in (tmp_path / "work").iterdir()} == {
        ".tierscope-files.json", "later.0.0", "t0.0.0",
    }  # fmt: skip


def test_engines_of_files_do_not_run_together_with_others(fio: Fio) -> None:
    text = "[global]\nsize=64k\n[a]\nioengine=filestat\n[b]\n"
    done = fio("-", text=text)
    assert done.returncode == 2
    assert "filestat and by psync do not run together; give a stonewall" in done.stderr


FRAGMENTS = """\
[global]
ioengine=falloc
size=1m
filename=fragments
number_ios=64
bs=4k
[reserve]
rw=randwrite
[free]
rw=randtrim
number_ios=32
[keep]
rw=randread
[write]
stonewall
ioengine=libaio
rw=write
direct=0
"""


def test_falloc_reserves_and_frees_blocks_of_our_own_file(fio: Fio, tmp_path: Path) -> None:
    data = tmp_path / "work" / "fragments"
    only = fio("--name=a", "--filename=fragments", "--size=1m", "--ioengine=falloc", "--rw=trim",
               "--number_ios=64", "--output-format=json")  # fmt: skip
    (job,) = jobs_of(only)
    assert (job["trim"]["total_ios"], job["trim"]["io_bytes"]) == (64, 256 << 10)
    assert job["read"]["total_ios"] == job["write"]["total_ios"] == 0
    assert not any(data.read_bytes()[: 256 << 10]), "freed blocks read as zeros"
    done = fio("--output-format=json", "-", text=FRAGMENTS)
    reserve, free, keep, write = jobs_of(done)
    assert reserve["write"]["total_ios"] == keep["read"]["total_ios"] == 64
    assert free["trim"]["clat_ns"]["N"] == free["trim"]["total_ios"] == 32
    assert write["write"]["io_bytes"] == 256 << 10
    assert data.stat().st_size == 1 << 20
    text = fio("--section=free", "-", text=FRAGMENTS)
    assert "issued rwts: total=0,0,32,0" in text.stdout
    assert "   TRIM: bw=" in text.stdout
    again = fio("--name=a", "--filename=fragments", "--size=1m", "--rw=randwrite")
    assert again.returncode == 0, "a file with holes is still tierscope's: " + again.stderr


def test_falloc_takes_nobody_else_s_file(fio: Fio, tmp_path: Path) -> None:
    other = tmp_path / "work" / "other"
    other.write_bytes(b"x" * 65536)
    for rw in ("trim", "write", "read"):
        done = fio("--name=a", "--filename=other", "--ioengine=falloc", f"--rw={rw}",
                   "--size=64k", "--overwrite-others")  # fmt: skip
        assert done.returncode == 2
        assert "takes tierscope's own files only" in done.stderr
    assert other.read_bytes() == b"x" * 65536
    assert other.stat().st_blocks >= 128


@pytest.mark.parametrize("direct", ["0", "1"])
def test_libpmem_says_what_its_mapping_goes_through(fio: Fio, direct: str) -> None:
    words = f"--name=a --ioengine=libpmem --rw=randwrite --size=256k --direct={direct} --sync=1"
    done = fio(*words.split(), "--output-format=json")
    (job,) = jobs_of(done)
    assert job["write"]["io_bytes"] == 256 << 10
    assert job["mapping"] == "page cache", "no file system of this machine is on DAX"
    shown = fio(*words.replace("randwrite", "randread").split(), "--verify=md5")
    assert "  mapping      : page cache" in shown.stdout
    assert "verified: every block read" in shown.stderr


PRIORITIES = """\
[a]
filename=data
size=2m
number_ios=400
rw=randrw
bs=4k
iodepth=4
prio=6
cmdprio_bssplit=4k/30/3/1,4k/0
write_lat_log=x
log_prio=1
"""


@pytest.mark.parametrize("engine", ["libaio", "io_uring"])
def test_operations_have_priorities_and_times_by_them(
    fio: Fio, tmp_path: Path, engine: str
) -> None:
    done = fio("--output-format=normal,json+", "-", text=f"{PRIORITIES}ioengine={engine}\n")
    assert done.returncode == 0, done.stderr
    printed, _, document = done.stdout.partition("\n{\n")
    (job,) = json.loads("{" + document)["jobs"]
    rows = job["read"]["prios"]
    assert [(one["prioclass"], one["prio"]) for one in rows] == [(2, 6), (3, 1)]
    counts = [one["clat_ns"]["N"] for one in rows]
    assert sum(counts) == job["read"]["total_ios"]
    assert 0.1 < counts[1] / sum(counts) < 0.5, "30% are asked for"
    assert [sum(one["clat_ns"]["bins"].values()) for one in rows] == counts
    assert "prios" not in job["write"], "all writes have the job's"
    assert "    clat prio 3/1 (" in printed
    assert (
        f"    clat prio 2/6 ({100 * counts[0] / sum(counts):.2f}% of IOs) percentiles (" in printed
    )
    lines = [
        line.split(", ") for line in (tmp_path / "work" / "x_clat.1.log").read_text().splitlines()
    ]
    assert {(line[2], line[4]) for line in lines} == {
        ("0", "0x4006"), ("0", "0x6001"), ("1", "0x4006"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        "--prioclass=1",
        "--ioengine=libaio --cmdprio_percentage=50",
        "--ioengine=io_uring --cmdprio_percentage=50",
    ],
)
def test_a_class_that_the_user_may_not_have_is_one_line(
    fio: Fio, tmp_path: Path, options: str
) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed; it comes with util-linux")
    words = f"fio --name=a --size=64k --directory={tmp_path} {options}".split()
    without = ["--bounding-set=-sys_nice,-sys_admin", "--inh-caps=-all"]
    done = subprocess.run(
        ["setpriv", *without, sys.executable, "-c",
         "from tierscope.cli.main import main; main()", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    said = [line for line in done.stderr.splitlines() if "priority class 1" in line]
    assert len(said) == 1
    assert "CAP_SYS_NICE" in said[0]


def pages(path: Path) -> list[bytes]:
    content = path.read_bytes()
    return [content[at : at + 4096] for at in range(0, len(content), 4096)]


DUPLICATES = """\
[global]
ioengine=libaio
iodepth=16
size=2m
rw=write
bs=8k
dedupe_mode=working_set
dedupe_percentage=50
dedupe_working_set_percentage=40
dedupe_global={together}
[a]
[b]
"""


def test_written_blocks_occur_several_times_and_files_stay_our_own(
    fio: Fio, tmp_path: Path
) -> None:
    shared = []
    for together in (0, 1):
        found = jobs_of(fio("--output-format=json", "-", text=DUPLICATES.format(together=together)))
        assert [job["write"]["io_bytes"] for job in found] == [2 << 20] * 2
        first, second = (pages(tmp_path / "work" / f"{name}.0.0") for name in "ab")
        alone = (first + second,) if together else (first, second)
        for one in alone:
            assert 0.35 < len(set(one)) / len(one) < 0.65, "half occur before"
        shared.append(len(set(first) & set(second)))
    assert shared[0] == 0
    assert shared[1] > 50
    for words in (["--rw=read", "--readonly"], ["--rw=randwrite", "--verify=md5"]):
        again = fio("--name=a", "--filename=a.0.0", "--size=2m", *words)
        assert again.returncode == 0, again.stderr
    assert "blocks written were read back" in again.stderr


def test_repeated_blocks_are_those_before(fio: Fio, tmp_path: Path) -> None:
    words = "--name=a --filename=d --size=1m --rw=write --bs=4k --dedupe_percentage=100"
    assert fio(*words.split()).returncode == 0
    assert len(set(pages(tmp_path / "work" / "d"))) == 1


def test_a_file_system_is_filled_but_for_a_twentieth(fio: Fio, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)]
    answer = subprocess.run(mount, capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip(f"mounting a tmpfs needs root: {answer.stderr.strip()}")
    try:
        words = [f"--directory={folder}", "--filename=all", "--bs=64k", "--verify=meta",
                 "--verify_pattern=0xaa555aa5", "--verify_interval=512",
                 "--output-format=json"]  # fmt: skip
        done = fio("--name=w", "--rw=write", "--fill_device=1", "--do_verify=0", *words)
        (job,) = jobs_of(done)
        moved = job["write"]["io_bytes"]
        assert 0.85 * (64 << 20) < moved < 0.95 * (64 << 20)
        assert (folder / "all").stat().st_size == moved
        read = fio("--name=r", "--rw=read", *words)
        assert jobs_of(read)[0]["read"]["io_bytes"] == moved
        assert "verified: every block read" in read.stderr
        again = fio("--name=w", "--rw=write", "--fill_device=1", *words)
        assert jobs_of(again)[0]["write"]["io_bytes"] == moved
        full = fio("--name=w", "--bs=4m", "--rw=write", "--fill_device=1", f"--directory={folder}")
        assert full.returncode == 2
        assert "a twentieth stays free" in full.stderr
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("engine", ["mmap", "libpmem", "dev-dax"])
def test_threads_that_store_to_the_same_place_leave_whole_blocks(fio: Fio, engine: str) -> None:
    words = f"--name=a --filename=d --size=4m --numjobs=8 --ioengine={engine} --bs=2m"
    for rw in ("randwrite --number_ios=200", "randread", "write --bsrange=4k-64k"):
        done = fio(*words.split(), *f"--rw={rw}".split(), "--verify=md5")
        assert done.returncode == 0, done.stderr
        assert "verified: " in done.stderr


def test_null_needs_no_file_and_says_what_it_measures(fio: Fio, tmp_path: Path) -> None:
    words = "--name=a --ioengine=null --rw=randread --size=100g --number_ios=1000"
    done = fio(*words.split(), "--output-format=json")
    (job,) = jobs_of(done)
    assert job["read"]["total_ios"] == 1000
    assert "what tierscope itself needs" in done.stderr
    assert not list((tmp_path / "work").iterdir())


def test_files_without_a_bottom_take_and_give_what_is_asked_for(fio: Fio) -> None:
    text = (
        "[global]\nsize=1m\n[w]\nfilename=/dev/null\nrw=write\n[r]\nfilename=/dev/zero\nrw=read\n"
    )
    written, read = jobs_of(fio("--output-format=json", "-", text=text))
    assert written["write"]["io_bytes"] == read["read"]["io_bytes"] == 1 << 20
    done = fio("--name=a", "--filename=/dev/null", "--rw=read", "--size=1m")
    assert "/dev/null has nothing to read" in done.stderr


def test_data_that_repeats_bytes_is_on_the_disk(fio: Fio, tmp_path: Path) -> None:
    words = "--name=a --filename=data --size=64k --rw=write --verify_pattern=0xdeadbeef"
    done = fio(*words.split(), "--verify=pattern", "--output-format=json")
    jobs_of(done)
    assert "verified: 16 of 16" in done.stderr
    content = (tmp_path / "work" / "data").read_bytes()
    assert content.count(b"\xde\xad\xbe\xef") > 0.95 * len(content) / 4


def test_logs_have_lines_of_averages(fio: Fio, tmp_path: Path) -> None:
    words = "--name=a --rw=randrw --size=1m --runtime=500ms --time_based --log_avg_msec=100"
    logs = "--write_bw_log=x --write_iops_log=x --write_lat_log=x"
    (job,) = jobs_of(fio(*words.split(), *logs.split(), "--output-format=json"))
    for kind in ("bw", "iops", "clat", "lat"):
        lines = (tmp_path / "work" / f"x_{kind}.1.log").read_text().splitlines()
        rows = [[int(word) for word in line.split(", ")] for line in lines]
        assert {len(row) for row in rows} == {5}
        assert {row[2] for row in rows} == {0, 1}
        assert len(rows) >= 2
        times = [row[0] for row in rows]
        assert times == sorted(times)
        assert times[-1] >= 490
    assert (tmp_path / "work" / "x_slat.1.log").read_text() == "", "a synchronous engine"
    assert job["read"]["bw_samples"] >= 1


def test_the_depth_for_a_latency_is_found(fio: Fio) -> None:
    words = "--name=a --rw=randread --size=1m --ioengine=libaio --iodepth=8"
    search = "--latency_target=10s --latency_window=100ms --latency_percentile=90"
    (job,) = jobs_of(fio(*words.split(), *search.split(), "--time_based", "--runtime=60",
                         "--output-format=json"))  # fmt: skip
    assert job["latency_depth"] == 8, "all depths are fast enough"
    assert (job["latency_target"], job["latency_window"]) == (10_000_000, 100_000)
    assert 90 <= job["job_runtime"] < 30_000, "one window"
    (slow,) = jobs_of(fio(*words.split(), "--latency_target=1", "--latency_window=100ms",
                          "--direct=1", "--time_based", "--runtime=60",
                          "--output-format=json"))  # fmt: skip
    assert slow["latency_depth"] == 1


def test_a_job_ends_when_it_is_steady(fio: Fio) -> None:
    words = "--name=a --rw=randread --size=1m --rate_iops=200 --time_based --runtime=60"
    steady = "--steadystate=iops:20% --ss_dur=3 --output-format=json"
    (job,) = jobs_of(fio(*words.split(), *steady.split()))
    found = job["steadystate"]
    assert (found["attained"], found["duration"], found["ss"]) == (1, 3, "iops:20.000000%")
    assert len(found["data"]["iops"]) == 3
    assert job["job_runtime"] < 30_000


def test_what_drives_did_is_in_the_json(fio: Fio) -> None:
    words = "--name=a --rw=write --size=1m --direct=1 --output-format=json"
    done = fio(*words.split())
    drives = json.loads(done.stdout)["disk_util"]
    for drive in drives:
        assert set(drive) == {
            "name", "read_ios", "write_ios", "read_merges", "write_merges", "read_ticks",
            "write_ticks", "in_queue", "util",
        }  # fmt: skip
        assert 0 <= drive["util"] <= 100
    assert json.loads(fio(*words.split(), "--disk_util=0").stdout)["disk_util"] == []


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
        "  cpu          : usr=",
        "  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%",
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
    job.write_text("[a]\nioengine=cpuio\n")
    done = fio(str(job))
    assert done.returncode == 2
    assert done.stderr == (
        f"tierscope: {job}:2: ioengine: 'cpuio' is not available: it does not read or write files\n"
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
