"""gdsio's command lines and job files, from their words to what is measured."""

import shlex
from typing import Any

import pytest
from tests.gdsio.guide import COMMAND_LINES, JOB_FILES
from tests.gpu import gpu_machine

from tierscope.kinds.io.spec import IoSpec
from tierscope.model.errors import ExitCode, UserError
from tierscope.peers.gdsio.job_file import parse_jobs, parse_line
from tierscope.peers.gdsio.options import BY_FLAG
from tierscope.peers.gdsio.plan import spec_of
from tierscope.peers.gdsio.workload import Workload, workload

MACHINE = gpu_machine.machine(gpus=16)
MIB = 1 << 20
GIB = 1 << 30


def asked(words: str) -> Workload:
    request = parse_line(shlex.split(words)).request
    assert request is not None
    return workload(request)


def asked_by_file(text: str, **environment: str) -> Workload:
    return workload(parse_jobs(text, "x.gdsio", environment))


def spec(work: Workload | str, **how: Any) -> dict[str, Any]:
    """Return the spec as it is handed over, which the kind's model takes."""
    made = spec_of(asked(work) if isinstance(work, str) else work, MACHINE, **how)
    IoSpec.model_validate(made)
    return made


def pattern(words: str) -> dict[str, Any]:
    found: dict[str, Any] = spec(words)["pattern"]
    return found


def the_job(words: str) -> dict[str, Any]:
    (job,) = spec(words)["jobs"]
    return job  # type: ignore[no-any-return]


def refusal(words: str) -> str:
    with pytest.raises(UserError) as refused:
        spec(words)
    assert refused.value.exit_code in (ExitCode.REQUEST_WRONG, ExitCode.NOTHING_MEASURED)
    return str(refused.value)


@pytest.mark.parametrize("words", COMMAND_LINES)
def test_a_command_line_of_the_guide(words: str) -> None:
    given = dict(zip(words.split()[::2], words.split()[1::2], strict=True))
    (job,) = spec(words)["jobs"]
    threads = int(given["-w"])
    size = {"500M": 500 * MIB, "1G": GIB}[given["-s"]]
    assert job["files"] == {
        "directory": given["-D"], "stem": "gdsio.", "count": threads, "size": size, "keep": True,
        "large": True,
    }  # fmt: skip
    assert job["buffers"] == {"memory": "device", "gpu": int(given["-d"])}
    assert len(job["cpu_sets"]) == threads
    made = spec(words)
    assert made["initiator"] == f"gpu:{given['-d']}"
    assert made["target"] == f"file:{given['-D']}"
    assert made["sampling"]["budget_s"] == int(given["-T"])
    operation, order = {
        "0": ("read", "sequential"), "1": ("write", "sequential"),
        "2": ("read", "random"), "3": ("write", "random"),
    }[given["-I"]]  # fmt: skip
    assert (made["pattern"]["operation"], made["pattern"]["order"]) == (operation, order)
    assert made["pattern"]["block_size"] == {"4K": 4096, "1M": MIB}[given["-i"]]
    assert made["pattern"]["seed"] == (308 if "-k" in given else 1)
    assert made["pattern"]["backend"] == "cufile"
    assert made["pattern"]["direct"]
    assert made["pattern"]["registered"]
    assert "amount" not in made["pattern"]


def test_the_guide_s_job_file_of_random_reads() -> None:
    work = asked_by_file(JOB_FILES["nfs_rr.gdsio"])
    made = spec(work)
    assert [job["name"] for job in made["jobs"]] == ["job1", "job2", "job3", "job4"]
    assert [job["buffers"]["gpu"] for job in made["jobs"]] == [0, 2, 4, 6]
    assert [job["files"]["directory"] for job in made["jobs"]] == [
        f"/mnt/nfs/ib{port}/data/0/gds_dir" for port in range(4)
    ]
    assert all(len(job["cpu_sets"]) == 16 for job in made["jobs"])
    near = set(MACHINE.nodes[0].cpus)
    assert all(set(job["cpus"]) <= near for job in made["jobs"])
    assert made["sampling"]["budget_s"] == 120
    assert made["pattern"]["order"] == "random"
    assert made["pattern"]["block_size"] == 4096


def test_the_guide_s_job_file_of_large_reads() -> None:
    work = asked_by_file(JOB_FILES["nfs_sr.gdsio"])
    made = spec(work)
    assert [job["name"] for job in made["jobs"]] == [f"job{number}" for number in range(1, 16, 2)]
    assert [job["buffers"]["gpu"] for job in made["jobs"]] == list(range(0, 16, 2))
    assert made["jobs"][4]["cpus"][0] in MACHINE.nodes[1].cpus
    assert not made["pattern"]["verify"]
    assert {job["files"]["size"] for job in made["jobs"]} == {GIB}


@pytest.mark.parametrize(
    ("number", "backend", "memory", "direct"),
    [
        (0, "cufile", "device", True),
        (1, "posix", "host", True),
        (2, "staged", "device", True),
        (3, "staged-managed", "managed", True),
        (4, "staged", "device", False),
        (5, "cufile-stream", "device", True),
        (6, "cufile-batch", "device", True),
        (7, "cufile-batch-stream", "device", True),
    ],
)
def test_transfer_types(number: int, backend: str, memory: str, direct: bool) -> None:
    words = f"-D /data -s 64M -T 1 -x {number}"
    assert pattern(words)["backend"] == backend
    assert pattern(words)["direct"] is direct
    assert pattern(f"{words} -O 1")["direct"] is False
    assert pattern(f"{words} -O 1")["cache"] == "as-found"  # neither filled nor emptied
    assert the_job(words)["buffers"]["memory"] == memory
    assert pattern(words)["registered"] is (number in (0, 5, 6, 7))
    assert pattern(f"{words} -b")["registered"] is False


@pytest.mark.parametrize(
    ("number", "memory"), [*enumerate(["device", "vmm", "pinned", "plain", "plain"])]
)
def test_memory_types(number: int, memory: str) -> None:
    assert the_job(f"-D /data -s 64M -m {number}")["buffers"]["memory"] == memory


def test_host_memory_needs_cufile() -> None:
    assert refusal("-D /data -s 64M -x 2 -m 2") == (
        "-m: host memory (2, 3, 4) goes with -x 0, 5, 6 and 7; -x is 2"
    )
    assert "no GPU's memory is used" in refusal("-D /data -s 64M -x 1 -m 1")
    assert "always uses managed memory" in refusal("-D /data -s 64M -x 3 -m 1")


@pytest.mark.parametrize(
    "words",
    [
        "-D /data -d 2 -w 8 -s 1G -I 2 -T 5 -V",
        "-D/data -d2 -w8 -s1G -I2 -T5 -V",
        "-VD /data -d 2 -w 8 -s 1024M -I 2 -T 05",
        "-T 5 -I 2 -V -s 1g -D /data -w 8 -d 2",
        "-D /data/. -d 2 -w 8 -s 1GiB -T 5 -I 2 -V --",
        "-D /data -d 2 -w 8 -s 64K -s 1G -T 5 -I 2 -V",
    ],
)
def test_what_getopt_allows_is_allowed(words: str) -> None:
    assert spec(words) == spec("-D /data -d 2 -w 8 -s 1G -I 2 -T 5 -V")


def test_fractions_of_sizes() -> None:
    assert the_job("-D /data -s 3.5G")["files"]["size"] == 3584 * MIB


def test_without_a_time_each_thread_goes_over_its_data_once() -> None:
    assert pattern("-D /data -w 4 -s 1G")["amount"] == GIB
    assert pattern("-f /data/x -w 4 -s 1G")["amount"] == GIB // 4
    assert "amount" not in pattern("-D /data -w 4 -s 1G -T 1")
    assert pattern("-D /data -w 4 -s 1G -T 0")["amount"] == GIB


def test_one_file_is_made_under_its_own_name_and_kept() -> None:
    assert the_job("-f /data/x -w 4 -s 1G")["files"] == {
        "path": "/data/x", "create": True, "size": GIB, "keep": True, "large": True,
    }  # fmt: skip


def test_relative_paths_are_below_the_current_directory(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert the_job("-D data -s 1G")["files"]["directory"] == f"{tmp_path}/data"


def test_without_a_size_files_are_read_as_they_are() -> None:
    assert the_job("-f /data/x -T 1")["files"] == {"path": "/data/x"}
    jobs = spec("-D /data -w 2 -T 1")["jobs"]
    assert [job["files"] for job in jobs] == [{"path": "/data/gdsio.0"}, {"path": "/data/gdsio.1"}]
    assert [len(job["cpu_sets"]) for job in jobs] == [1, 1]


def test_without_a_time_each_file_is_gone_over_once() -> None:
    found = spec("-D /data -w 2 -s 1G -i 1M")
    assert IoSpec.model_validate(found).one_repetition
    assert found["pattern"]["amount"] == GIB


def test_foreign_files_are_written_after_a_word_only() -> None:
    assert "overwrite" not in str(spec("-f /data/x -s 1G -I 1"))
    (job,) = spec("-f /data/x -s 1G -I 1", overwrite=True)["jobs"]
    made = {"path": "/data/x", "create": True, "keep": True, "large": True, "size": GIB}
    assert job["files"] == {**made, "overwrite": True}
    jobs = spec("-D /data -w 2 -s 1G -I 1", overwrite=True)["jobs"]
    assert [job["files"]["path"] for job in jobs] == ["/data/gdsio.0", "/data/gdsio.1"]


def test_devices_are_read_and_never_written() -> None:
    words = "-f /dev/nvme0n1 -d 0 -m 0 -s 1G -i 64k -x 0 -I 2 -T 30 -a 64k"
    assert the_job(words)["files"] == {"device": "/dev/nvme0n1", "size": GIB}
    assert spec(words)["target"] == "dev:/dev/nvme0n1"
    assert pattern(words)["align"] == 64 << 10
    assert "destroys what is on it" in refusal("-f /dev/nvme0n1 -s 1G -I 1")
    assert "keep" in the_job("-f /dev/shm/x -s 1G -I 1")["files"]


def test_batches() -> None:
    """Without -B, one thread has -w operations in flight over -w files, as the original prints."""
    one = the_job("-x 6 -d 0 -s 8K -i 4K -D /data -I 1 -w 10")
    assert (len(one["cpu_sets"]), one["files"]["count"], one["shared"]) == (1, 10, True)
    assert pattern("-x 6 -d 0 -s 8K -i 4K -D /data -I 1 -w 10")["depth"] == 10
    assert pattern("-x 6 -d 0 -s 8K -i 4K -D /data -I 1 -w 10")["amount"] == 80 << 10
    several = the_job("-x 7 -s 1G -D /data -w 4 -B 16")
    assert (len(several["cpu_sets"]), several["files"]["count"], several["shared"]) == (4, 4, False)
    assert pattern("-x 7 -s 1G -D /data -w 4 -B 16")["depth"] == 16
    assert pattern("-x 0 -s 1G -D /data -w 4")["depth"] == 1
    assert refusal("-x 0 -s 1G -D /data -B 4") == "-B: batches go with -x 6 or -x 7, and -x is 0"
    assert "which all jobs share" in refusal("-x 6 -s 1G -D /a -w 4 -D /b -w 8 -T 1")


def test_offsets_and_sizes_of_operations() -> None:
    found = pattern("-D /data -s 64M -i 4K:16K:4K -o 1M -I 2 -U")
    assert found["offset"] == MIB
    assert [one["bytes"] for one in found["blocks"]] == [4096, 8192, 12288, 16384]
    assert found["block_size"] == 10240
    assert found["align"] == 512
    assert the_job("-D /data -s 64M -o 1M")["files"]["size"] == 65 * MIB
    assert "align" not in pattern("-D /data -s 64M -U")


def test_mixes_verification_refilling() -> None:
    found = pattern("-D /data -s 64M -M 70 -x 6 -V -F")
    assert (found["operation"], found["read_percent"]) == ("mix", 70)
    assert found["verify"]
    assert found["refill"]
    assert not pattern("-D /data -s 64M -F")["refill"]


def test_a_required_way_has_to_be_possible() -> None:
    work = asked("-D /data -s 64M -x 1 -O 1")
    with pytest.raises(UserError, match="--require p2p: only -x 0, 5, 6 and 7 go through cuFile"):
        spec_of(work, MACHINE, require="p2p")
    with pytest.raises(UserError, match="--require odirect: -O 1 and -x 4 go through the page"):
        spec_of(work, MACHINE, require="odirect")


def test_a_required_way() -> None:
    line = parse_line(["-D", "/data", "-s", "64M", "--require", "p2p"])
    assert line.require == "p2p"
    assert line.request is not None
    made = spec_of(workload(line.request), MACHINE, require=line.require)
    assert made["pattern"]["require"] == "p2p"


@pytest.mark.parametrize(
    "words",
    [
        "-D /a -d 0 -w 2 -n 0 -D /b -d 3 -w 4 -n 1 -s 64M -T 1",
        "-s 64M -D /a -w 2 -n 0 -T 1 -d 0 -D /b -d 3 -n 1 -w 4",
        "-d 0 -w 2 -n 0 -D /a -d 3 -w 4 -n 1 -D /b -s 64M -T 1",
    ],
)
def test_flags_of_jobs_come_in_groups(words: str) -> None:
    first, second = asked(words).jobs
    assert (first.path, first.gpu, first.threads, first.node) == ("/a", 0, 2, 0)
    assert (second.path, second.gpu, second.threads, second.node) == ("/b", 3, 4, 1)


def test_threads_are_on_the_node_asked_for_or_near_the_gpu() -> None:
    job = the_job("-D /data -s 1G -w 9 -n 1")
    assert job["cpu_sets"] == [MACHINE.nodes[1].cpus] * 9
    assert job["cpus"] == MACHINE.nodes[1].cpus
    jobs = spec("-f /data/a -s 1G -w 1 -n 1 -f /data/b -s 1G -w 1 -n 1")["jobs"]
    assert [job["cpu_sets"] for job in jobs] == [[MACHINE.nodes[1].cpus]] * 2
    assert set(the_job("-D /data -s 1G -w 9 -d 3")["cpus"]) == set(MACHINE.nodes[1].cpus)
    host = the_job("-D /data -s 1G -w 2 -n 1 -x 1")
    assert host["buffers"]["placement"]["nodes"] == [{"node": 1}]
    assert spec("-D /data -s 1G -w 2 -n 1 -x 1")["initiator"] == "node:1"


def test_without_a_gpu_only_x_1_runs() -> None:
    none = gpu_machine.machine(gpus=0)
    assert (
        spec_of(asked("-D /data -d 0 -s 1G -x 1"), none)["jobs"][0]["buffers"]["memory"] == "host"
    )
    with pytest.raises(UserError, match="no NVIDIA GPU was found") as refused:
        spec_of(asked("-D /data -d 0 -s 1G -x 0"), none)
    assert refused.value.exit_code is ExitCode.NOTHING_MEASURED


def test_what_changes_nothing_is_said() -> None:
    assert asked("-D /data -s 1G -R -U -F -x 1 -b").remarks == (
        "-R changes nothing: buffers are always filled with random data",
        "-U changes nothing: I/O is sequential",
        "-F changes nothing: nothing is written",
        "-b changes nothing: -x 1 does not go through cuFile",
    )
    assert asked("-D /data -s 1G -I 3 -U -F").remarks == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "what to read or write is missing: -f FILE, -D DIR or a job file; see "),
        ("-s 1G", "what to read or write is missing: -f FILE, -D DIR or a job file; see "),
        ("-D", "-D needs DIR, files gdsio.0 to gdsio.N-1, one per thread"),
        ("-D /a -z", "unknown option -z; see 'tierscope gdsio --help'"),
        ("-D /a --jsn", "unknown option --jsn; did you mean '--json'?; see "),
        ("-D /a --json=x", "--json takes no value"),
        ("-D /a -x 8", "-x: '8' is not a whole number from 0 to 7"),
        ("-D /a -I read", "-I: 'read' is not a whole number from 0 to 3"),
        ("-D /a -w 0", "-w: '0' is not a whole number from 1 to 4096"),
        ("-D /a -d -1", "-d: '-1' is not a whole number from 0 to 1023"),
        ("-D /a -d ٣", "-d: '٣' is not a whole number from 0 to 1023"),
        ("-D /a -s 1X", "-s: '1X' is not a size such as 64, 4k, 1.5m or 2g"),
        ("-D /a -s 1.3K", "-s: size '1.3K' is not a whole number of bytes up to 1024t"),
        ("-D /a -s 1K", "-s: '1K' is not from 4k to 1024t"),
        ("-D /a -i 1M:2M", "-i: '1M:2M' is neither a size such as 1M nor MIN:MAX:STEP"),
        ("-D /a -i 2M:1M:1K", "-i: '2M:1M:1K': MIN:MAX:STEP goes up from MIN to MAX by a STEP"),
        ("-D /a -i 1M:2M:0", "-i: '1M:2M:0': MIN:MAX:STEP goes up from MIN to MAX by a STEP"),
        ("-D /a -i 4K:1G:4K", "-i: '4K:1G:4K' has 262144 sizes; at most 64, so make the step"),
        ("-D /a -i 100", "-i: '100' is not from 512 to 1g"),
        ("-D /a -i 1000 -s 1M", "with O_DIRECT, I/O sizes and start offset are multiples of 512"),
        ("-D /a -f /b -s 1G", None),
        ("-D /a -I 1", "-D /a: writing needs the size of the files; give -s (size)"),
        ("-D /a -s 64K -i 1M", "-D /a: each thread has 65536 bytes of data, less than one I/O of"),
        (f"-D {'a' * 4000} -s 1G", "-D: the path is longer than 3800 bytes, or not UTF-8"),
        ("-f /a\udcff -s 1G", "-f: the path is longer than 3800 bytes, or not UTF-8"),
        ("-f /a\ud800 -s 1G", r"-f: '/a\ud800' is not a path"),
        ("-D /a -d 0 -d 1 -s 1G", "-d is given twice for -D /a"),
        ("-d 0 -D /a -s 1G -D /b -d 1", "-d is before the first -f or -D, and other flags"),
        ("-D /a -s 1G -p", "-p: cuFile decides by itself whether data crosses NVLink"),
        ("-D /a -s 1G -P rdma://x", "-P: rdma_url needs NVIDIA's own client and"),
        ("-D /a -s 1G -U -a 4K -I 2", "-U and -a contradict each other; give one"),
        ("-D /a -s 1G -d 16", "there is no GPU 16; this machine's GPUs are 0, 1, 2"),
        ("-D /a -s 1G -n 7", "-D /a: node 7 has no memory to use; nodes: 0, 1"),
        ("-D /a -s 1G -I 1 -D /a", "two jobs write to /a; give each its own file or directory"),
        ("-D /a -s 1G -O 2", "-O: '2' is not a whole number from 0 to 1"),
        ("-D /a -s 1G --require gds", "--require: 'gds' is not one of p2p, nvfs, gpudirect, odir"),
        ("a.gdsio b.gdsio", "unexpected arguments a.gdsio, b.gdsio: one job file, or flags"),
        ("a.gdsio -T 1", "'a.gdsio' is a job file, but -T is given, too; give"),
        ("/nonexistent/a.gdsio", "job file '/nonexistent/a.gdsio' cannot be read: No such file"),
    ],
)
def test_an_error_names_the_flag_and_what_is_allowed(words: str, said: str | None) -> None:
    if said is None:  # a group each
        assert len(asked(words).jobs) == 2
        return
    assert refusal(words).startswith(said)


def test_every_flag_of_the_reference_is_known() -> None:
    assert set(BY_FLAG) == set("fDdnmwsoixITkUaRFbpVBMJOP")
