"""From jobs of fio's to specs of the kind io, on machines that are not this one."""

from typing import Any

import pytest
from tests.fake_paths import DEVICE, DEVICE_BYTES, DIRECTORY, OTHER, fake_paths
from tests.gpu import gpu_machine

from tierscope.model.errors import UserError
from tierscope.model.storage import OwnFile, OwnFiles
from tierscope.peers import drop_in
from tierscope.peers.drop_in import plan_of
from tierscope.peers.fio import plan
from tierscope.peers.fio.file_engines import files_spec
from tierscope.peers.fio.job_file import parse_jobs
from tierscope.peers.fio.jobs import Job
from tierscope.peers.fio.plan import Stage, buffered_foreign, spec_of, stages, targets_of

MIB = 1 << 20
MACHINE = gpu_machine.machine(gpus=2)
OWN = [OwnFile(name="own", bytes=MIB, keep=True, state="leftover")]


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Sizes of the files that there are, by path; may be filled."""
    sizes = fake_paths(monkeypatch, plan)
    monkeypatch.setattr(drop_in, "leftovers", lambda _: OwnFiles(directory="/", files=OWN))
    return sizes


def stage_of(text: str) -> Stage:
    jobs, _common = parse_jobs(f"[global]\ndirectory=/data\n{text}", "x.fio", {})
    (found,) = stages([Job(one) for one in jobs])
    return found


def spec(text: str, overwrite: bool = False) -> dict[str, Any]:
    stage = stage_of(text)
    found = spec_of(targets_of(stage, overwrite), MACHINE, overwrite)
    assert plan_of(found)
    return found


def refusal(text: str) -> str:
    with pytest.raises(UserError) as refused:
        spec(text)
    return str(refused.value)


def test_engines_of_files_have_one_directory_and_take_their_files_in_turn() -> None:
    text = "ioengine=filestat\nfilesize=8k\nnrfiles=20\niodepth=8\n[a]\n[b]\nnumjobs=2\n"
    found = files_spec(stage_of(text), MACHINE)
    assert plan_of(found)
    assert found["pattern"] == {
        "operation": "stat", "file_size": 8192, "files": 60, "directories": "shared",
    }  # fmt: skip
    assert (len(found["cpu_sets"]), found["directory"]) == (3, "/data")
    (job, _other) = stage_of(text).jobs
    assert any("iodepth: no data is moved" in one for one in job.remarks)
    with pytest.raises(UserError, match="have one number of files, and"):
        stage_of(f"{text}nrfiles=10\n")


def test_priorities_of_jobs_and_of_single_operations() -> None:
    found = spec(
        "[a]\nsize=8m\nioengine=libaio\nrw=randrw\nbssplit=64k/50:1m/50\nprio=7\n"
        "cmdprio_bssplit=64k/25/1/1:64k/75:1m/0,1m/0\ncmdprio_class=3\n"
    )["pattern"]
    assert found["priority"] == {"io_class": "best-effort", "level": 7}
    rows = {"of": "reads", "bytes": 65536}
    assert found["command_priorities"] == [
        {**rows, "percent": 25, "io_class": "realtime", "level": 1},
        {**rows, "percent": 75, "io_class": "idle", "level": 0},
    ]
    found = spec(
        "[a]\nsize=8m\nioengine=io_uring\nrw=write\nprioclass=3\ncmdprio_percentage=20,5\n"
    )["pattern"]
    assert found["priority"] == {"io_class": "idle", "level": 0}
    assert found["command_priorities"] == [
        {"of": "writes", "percent": 5, "io_class": "realtime", "level": 0}
    ]
    assert "priority" not in spec("[a]\nsize=8m\n")["pattern"]


DEDUPE = "size=8m\nrw=write\ndedupe_percentage=50\ndedupe_mode=working_set\n"


def test_jobs_share_a_set_of_duplicates_or_have_one_each() -> None:
    text = (
        "dedupe_working_set_percentage=50\n[own]\n" + DEDUPE
        + "[a]\ndedupe_global=1\nnumjobs=2\n" + DEDUPE + "[b]\ndedupe_global=1\n" + DEDUPE
    )  # fmt: skip
    jobs = spec(text)
    rows = [job.get("pattern", jobs["pattern"])["duplicates"] for job in jobs["jobs"]]
    assert [(one["stream"], one["streams"]) for one in rows] == [(3, 1), (0, 3), (1, 3), (2, 3)]
    assert {(one["percent"], one["working_set"]) for one in rows} == {(50, 1024)}
    (again,) = [spec("[a]\nsize=1m\nrw=randwrite\ndedupe_percentage=9\n")["pattern"]["duplicates"]]
    assert again == {"percent": 9, "stream": 0, "streams": 1}
    assert "duplicates" not in spec("[a]\nsize=1m\ndedupe_percentage=9\n")["pattern"]


@pytest.mark.parametrize(
    ("common", "own", "direct"),
    [
        ("direct=0\nbuffered=0", "", True),
        ("buffered=0\ndirect=0", "", False),
        ("direct=0\nbuffered=0", "buffered=1", False),
        ("buffered=1", "direct=1", True),
        ("direct=1\nbuffered=0\ndirect=0", "", False),
    ],
)
def test_the_last_of_direct_and_buffered_counts(common: str, own: str, direct: bool) -> None:
    found = spec(f"{common}\n[a]\nsize=1m\n{own}\n")
    assert found["pattern"]["direct"] == direct


def test_a_job_is_a_thread_for_each_clone_with_files_named_as_by_fio() -> None:
    found = spec("[a]\nsize=8m\nnumjobs=2\nrw=randread\nioengine=libaio\niodepth=4\nnrfiles=2\n")
    assert [job["name"] for job in found["jobs"]] == ["a.0", "a.1"]
    assert [job["cpu_sets"] for job in found["jobs"]] == [[MACHINE.cpus]] * 2
    assert found["initiator"] == "cpus:0-7"
    files = found["jobs"][1]["files"]
    assert (files["directory"], files["stem"], files["count"], files["size"], files["keep"]) == (
        "/data", "a.1.", 2, 4 * MIB, True,
    )  # fmt: skip
    pattern = found["pattern"]
    assert (pattern["order"], pattern["depth"], pattern["batch"], pattern["amount"]) == (
        "random", 4, 1, 8 * MIB,
    )  # fmt: skip
    assert all("pattern" not in job for job in found["jobs"])


def test_time_and_amount() -> None:
    timed = spec("[a]\nsize=1m\ntime_based\nruntime=7\nramp_time=2\n")
    assert timed["sampling"]["budget_s"] == 7
    assert timed["sampling"]["sample_s"] == 0.5
    assert timed["pattern"]["ramp_s"] == 2
    assert "amount" not in timed["pattern"]
    both = spec("[a]\nsize=1m\nruntime=7\n")
    assert (both["pattern"]["amount"], both["pattern"]["time_limit_s"]) == (MIB, 7)
    assert spec("[a]\nsize=1m\nloops=3\n")["pattern"]["amount"] == 3 * MIB
    (measurement,) = plan_of(timed).measurements
    assert measurement.one_repetition


def test_operations_of_a_rate_are_spaced() -> None:
    rated = "[a]\nsize=1m\nrate_iops=100\n"
    assert spec(rated)["pattern"]["arrivals"] == "regular"
    assert spec(f"{rated}rate_process=poisson\n")["pattern"]["arrivals"] == "poisson"


def test_jobs_that_differ_have_patterns_of_their_own() -> None:
    found = spec("[global]\nsize=1m\n[a]\nrw=randread\n[b]\nrw=write\nbs=64k\n")
    first, second = found["jobs"]
    assert "pattern" not in first
    assert (second["pattern"]["operation"], second["pattern"]["block_size"]) == ("write", 65536)


def test_a_rate_is_of_each_clone() -> None:
    found = spec("[a]\nsize=1m\nnumjobs=2\nrate_iops=100\n")
    assert [job["pattern"]["rate"] for job in found["jobs"]] == [100.0, 100.0]


def test_clones_share_a_named_file_and_begin_where_offset_increment_says() -> None:
    found = spec("[a]\nfilename=f\nsize=1m\nnumjobs=3\noffset=4k\noffset_increment=1m\n")
    assert {job["files"]["path"] for job in found["jobs"]} == {"/data/f"}
    assert {job["files"]["size"] for job in found["jobs"]} == {3 * MIB + 4096}
    patterns = [job.get("pattern", found["pattern"]) for job in found["jobs"]]
    assert [one["offset"] for one in patterns] == [4096, MIB + 4096, 2 * MIB + 4096]
    assert {one["range"] for one in patterns} == {MIB}


def test_names_by_filename_format() -> None:
    found = spec("[a]\nsize=1m\nnumjobs=2\nfilename_format=x-$jobnum.dat\n")
    assert [job["files"]["path"] for job in found["jobs"]] == ["/data/x-0.dat", "/data/x-1.dat"]
    stem = spec("[a]\nsize=1m\nfilename_format=$jobname-$jobnum-$filenum\n")
    assert stem["jobs"][0]["files"]["stem"] == "a-0-"
    assert "cannot be the name of files" in refusal("[a]\nsize=1m\nfilename_format=../$filenum\n")
    spaced = spec("[a b]\nsize=1m\n")
    assert spaced["jobs"][0]["files"]["path"] == "/data/a b.0.0"


def test_cpus_nodes_and_buffers() -> None:
    found = spec("[a]\nsize=1m\nnumjobs=3\ncpus_allowed=2,5\nnuma_mem_policy=bind:1\n")
    assert [job["cpu_sets"] for job in found["jobs"]] == [[[2, 5]]] * 3
    assert found["jobs"][0]["buffers"]["placement"]["nodes"] == [{"node": 1}]
    near = spec("[a]\nsize=1m\nnuma_cpu_nodes=1\n")
    assert near["jobs"][0]["cpus"] == MACHINE.nodes[1].cpus
    assert near["initiator"] == "node:1"
    split = spec("[a]\nsize=1m\nnumjobs=3\ncpus_allowed=2,5\ncpus_allowed_policy=split\n")
    assert [job["cpus"] for job in split["jobs"]] == [[2], [5], [2]]
    assert near["jobs"][0]["buffers"]["placement"]["nodes"] == [{"node": 1}]
    spread = spec("[a]\nsize=1m\nnuma_mem_policy=interleave:0-1\n")
    assert spread["jobs"][0]["buffers"]["placement"]["policy"] == "interleave"
    assert "CPU 99 is not there" in refusal("[a]\nsize=1m\ncpus_allowed=99\n")
    assert "node 7 has no memory" in refusal("[a]\nsize=1m\nnuma_mem_policy=bind:7\n")


def test_clones_of_libcufile_take_gpus_in_turn() -> None:
    head = "[a]\nsize=1m\nioengine=libcufile\nnumjobs=3\n"
    found = spec(f"{head}direct=1\ngpu_dev_ids=0:1\n")
    assert [job["buffers"]["gpu"] for job in found["jobs"]] == [0, 1, 0]
    assert (found["pattern"]["backend"], found["initiator"]) == ("cufile", "gpu:0")
    assert spec(f"{head}cuda_io=posix\n")["pattern"]["backend"] == "staged"
    assert "give direct=1" in refusal(head)


def test_clones_write_from_gpus_to_files_of_their_own() -> None:
    text = "[a]\nsize=1m\nioengine=libcufile\ndirect=1\nrw=write\nnumjobs=2\n"
    assert len(spec(text)["jobs"]) == 2
    assert spec(f"{text}filename=f\nverify=md5\n")
    assert "give directory in place of filename" in refusal(f"{text}filename=f\n")


def test_the_page_cache_is_as_invalidate_says() -> None:
    assert spec("[a]\nsize=1m\n")["pattern"]["cache"] == "cold"
    assert spec("[a]\nsize=1m\ninvalidate=0\n")["pattern"]["cache"] == "as-found"
    assert spec("[a]\nsize=1m\npre_read=1\n")["pattern"]["cache"] == "warm"


def test_another_s_file_is_read_and_not_written(there: dict[str, int]) -> None:
    there["/data/f"] = 8 * MIB
    text = "[a]\nfilename=f\nrw={}\n"
    read = spec(text.format("read"))
    assert read["jobs"][0]["files"] == {"path": "/data/f"}
    assert read["pattern"]["amount"] == 8 * MIB
    assert "tierscope did not make it" in refusal(text.format("write"))
    assert "--overwrite-others" in refusal(text.format("write"))
    assert spec(text.format("write"), overwrite=True)["jobs"][0]["files"]["overwrite"]
    stage = stage_of(text.format("read"))
    assert buffered_foreign(targets_of(stage, False)) == ["/data/f"]


def test_tierscope_s_own_file_is_written(there: dict[str, int]) -> None:
    there["/data/own"] = MIB
    files = spec("[a]\nfilename=own\nrw=write\n")["jobs"][0]["files"]
    assert files == {"path": "/data/own"}


def test_a_clone_s_file_that_fio_made_is_read_by_its_name(there: dict[str, int]) -> None:
    there["/data/a.0.0"] = 8 * MIB
    assert spec("[a]\nsize=8m\n")["jobs"][0]["files"]["path"] == "/data/a.0.0"
    assert "tierscope did not make it" in refusal("[a]\nsize=8m\nrw=write\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\n", "x.fio:3: [a] needs a size"),
        ("[a]\nsize=2k\n", "less than one operation of 4096"),
        ("[a]\nfilename=small\nsize=8m\n", "/data/small has 4096 bytes, and 8388608 are needed"),
        ("[a]\nfilename=folder\n", "/data/folder is a directory"),
        ("[a]\nfilename=zero\n", "neither a file nor a block device"),
        ("[a]\nfilename=/dev/nosuch\n", "there is no such device"),
        ("[a]\nfilename=new\nsize=1m\nallow_file_create=0\n", "and allow_file_create=0"),
        ("[a]\nfilename=drive\nrw=write\n", "/data/drive is a device, and writing destroys"),
    ],
)
def test_files_that_do_not_do_are_refused(there: dict[str, int], text: str, said: str) -> None:
    there |= {
        "/data/small": 4096,
        "/data/folder": DIRECTORY,
        "/data/drive": DEVICE,
        "/data/zero": OTHER,
    }
    assert said in refusal(text)


def test_a_device_is_read(there: dict[str, int]) -> None:
    there["/dev/nvme0n1"] = DEVICE
    found = spec("[a]\nfilename=/dev/nvme0n1\ndirect=1\n")
    assert found["jobs"][0]["files"] == {"device": "/dev/nvme0n1"}
    assert found["target"] == "dev:/dev/nvme0n1"
    assert found["pattern"]["amount"] == DEVICE_BYTES
