"""gdsio's job files: what is read, what is refused, and that damage never ends in a traceback."""

import re
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.damage import damaged
from tests.gdsio.guide import JOB_FILES
from tests.gpu import gpu_machine

from tierscope.model.errors import UserError
from tierscope.peers.gdsio.job_file import parse_jobs, parse_line, read_job_file
from tierscope.peers.gdsio.options import BY_FLAG, BY_KEY
from tierscope.peers.gdsio.plan import spec_of
from tierscope.peers.gdsio.workload import Workload, workload

MACHINE = gpu_machine.machine(gpus=16)
ALL_KEYS = """\
# everything
[global]
  # indented
name = all of them
xfer_type = 6
rw = randwrite
bs = 64K:256K:64K
size = 128M
start_offset = 4K
runtime = 7
do_verify = 1
skip_bufregister = 1
enable_nvlinks = 0
random_seed = 0308
fill_random = 1
refill_buffer = 1
unaligned_random = 1

[job-a]
numa_node = 1
gpu_dev_id = 3
num_threads = 4
directory = $DATA/${USER_DIR}/a
size = 256M
[job-b]
filename = /data/b#1
num_threads = 4
"""


def read(text: str, **environment: str) -> Workload:
    return workload(parse_jobs(text, "x.gdsio", environment))


def refusal(text: str, **environment: str) -> str:
    with pytest.raises(UserError) as refused:
        spec_of(read(text, **environment), MACHINE)
    return str(refused.value)


def test_every_key_of_the_reference() -> None:
    work = read(ALL_KEYS, DATA="/mnt/x", USER_DIR="me")
    first, second = work.jobs
    assert (first.path, first.gpu, first.node, first.threads) == ("/mnt/x/me/a", 3, 1, 4)
    assert (first.size, second.size) == (256 << 20, 128 << 20)
    assert (second.path, second.is_directory, second.gpu) == ("/data/b#1", False, 0)
    assert (work.transfer_number, work.operation, work.seconds, work.seed) == (6, 3, 7, 308)
    assert work.sizes.values == (64 << 10, 128 << 10, 192 << 10, 256 << 10)
    assert (work.offset, work.align, work.refill, work.registered) == (4096, 512, True, False)
    assert work.verify
    assert [job["name"] for job in spec_of(work, MACHINE)["jobs"]] == ["job-a", "job-b"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("begin", ["", "\ufeff"])
def test_editors_of_other_systems(ending: str, begin: str, tmp_path: Path) -> None:
    file = tmp_path / "x.gdsio"
    text = begin + JOB_FILES["nfs_rr.gdsio"].replace("\n", ending)
    file.write_bytes(text.encode())
    request = read_job_file(str(file))
    assert (
        workload(request).jobs
        == workload(parse_jobs(JOB_FILES["nfs_rr.gdsio"], str(file), {})).jobs
    )


JOB = "[job1]\nfilename=/x\nsize=1G\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "x.gdsio: no job found; a job begins with [job1]"),
        ("[global]\nrw=read\n", "x.gdsio: no job found; a job begins with [job1]"),
        ("rw=read\n", "x.gdsio:1: 'rw' is outside any section such as [global]"),
        ("[]\n", "x.gdsio:1: the section has no name; [global], or a job's"),
        ("[globl]\nrw=read\n", "x.gdsio:2: 'rw' belongs in [global], not in [globl]"),
        (f"{JOB}{JOB}", "x.gdsio:4: section [job1] begins at x.gdsio:1 already"),
        (f"{JOB}nonsense\n", "x.gdsio:4: 'nonsense' is neither [SECTION] nor KEY=VALUE nor # c"),
        (
            "[global]\nhs=4k\n",
            "x.gdsio:2: unknown key 'hs'; did you mean 'bs'?; [global] takes size,",
        ),
        ("[job1]\nnum_thread=4\n", "x.gdsio:2: unknown key 'num_thread'; did you mean 'num_thre"),
        ("[global]\nnum_threads=4\n", "x.gdsio:2: 'num_threads' belongs in a job's section"),
        (f"{JOB}rw=read\n", "x.gdsio:4: 'rw' belongs in [global], not in [job1]"),
        (f"{JOB}size=2G\n", "x.gdsio:4: 'size' was given before, at x.gdsio:3: size"),
        (f"{JOB}num_threads=\n", "x.gdsio:4: num_threads: the value is missing"),
        (f"{JOB}num_threads=two\n", "x.gdsio:4: num_threads: 'two' is not a whole number from 1"),
        (f"{JOB}directory=/y\n", "x.gdsio:4: directory: x.gdsio:2: filename names a file already"),
        ("[job1]\nsize=1G\n", "x.gdsio:1: [job1] has neither filename nor directory"),
        (f"[global]\nrw=rread\n{JOB}", "x.gdsio:2: rw: 'rread' is not one of read, write, randre"),
        (f"[global]\ndo_verify=yes\n{JOB}", "x.gdsio:2: do_verify: 'yes' is not a whole number f"),
        (f"[global]\nenable_nvlinks=1\n{JOB}", "x.gdsio:2: enable_nvlinks: cuFile decides by its"),
        ("[job1]\nrdma_url=http://x\n", "x.gdsio:2: rdma_url: rdma_url needs NVIDIA's own client"),
        ("[job1]\nfilename=$DATA/x\n", "x.gdsio:2: filename: the environment has no variable 'DA"),
        (
            f"{JOB}[job2]\nfilename=/y\nsize=1G\nstart_offset=4K\n",
            "x.gdsio:7: start_offset: all jobs have to have the same value",
        ),
        (
            f"{JOB}[job2]\nfilename=/y\nsize=2G\n",
            "without -T (runtime) all threads move the same number of bytes, and these jobs have",
        ),
    ],
)
def test_an_error_names_file_line_and_key(text: str, said: str) -> None:
    assert refusal(text).startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[global]\nname=\xff\n", ":2: not text in UTF-8, so not a job file"),
        (b"#" * (2 << 20), "is larger than 1 MiB; a job file is a short text"),
    ],
)
def test_what_is_no_job_file(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "x.gdsio"
    file.write_bytes(content)
    with pytest.raises(UserError, match=re.escape(said)):
        read_job_file(str(file))


def test_a_directory_is_no_job_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        read_job_file(str(tmp_path))


def examples(short: int) -> settings:
    soak = settings.get_current_profile_name() == "soak"
    shared = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=2000 if soak else short, suppress_health_check=shared)


@examples(300)
@given(
    random=st.randoms(use_true_random=False),
    text=st.sampled_from([*JOB_FILES.values(), ALL_KEYS]),
)
def test_a_damaged_job_file_is_planned_or_refused_in_one_line(random: Random, text: str) -> None:
    content = damaged(random, text.encode()).decode(errors="replace")
    try:
        spec_of(read(content, DATA="/mnt/x", USER_DIR="me"), MACHINE)
    except UserError as error:
        said = str(error)
        assert re.match(r"x\.gdsio|without -T|with |two jobs|there is no GPU|I/O sizes", said), said


WORDS = st.sampled_from(
    [*(f"-{flag}" for flag in BY_FLAG), "-h", "-v", "--", "--json", "-", "", "x.gdsio", "\0"]
) | st.text(max_size=8)
VALUES = st.sampled_from(
    ["0", "1", "7", "1M", "3.5G", "4K:64K:4K", "/a", "/b", "-1", "1e9", "0308", "9" * 30, "\ud800"]
)


@examples(300)
@given(words=st.lists(WORDS | VALUES, max_size=12))
def test_any_command_line_is_planned_or_refused(words: list[str]) -> None:
    with suppress(UserError):
        line = parse_line(words)
        assert line.help or line.version or line.request is not None
        if line.request is not None:
            spec_of(workload(line.request), MACHINE)


NUMBERS = {"d": 15, "n": 1, "w": 64, "x": 7, "I": 3, "T": 9, "k": 999}


@examples(200)
@given(
    values=st.fixed_dictionaries(
        {flag: st.integers(1 if flag in "wT" else 0, most) for flag, most in NUMBERS.items()}
    ),
    order=st.randoms(use_true_random=False),
    joined=st.booleans(),
    size=st.integers(64, 4096),
)
def test_a_command_line_means_the_same_in_any_order_and_spelling(
    values: dict[str, int], order: Random, joined: bool, size: int
) -> None:
    pairs = [*((f"-{flag}", str(value)) for flag, value in values.items()), ("-s", f"{size}M")]
    pairs.append(("-D", "/data"))
    plain = [word for pair in pairs for word in pair]
    order.shuffle(pairs)
    mixed = ["".join(pair) for pair in pairs] if joined else [word for p in pairs for word in p]
    specs = []
    for words in (plain, mixed):
        request = parse_line(words).request
        assert request is not None
        specs.append(spec_of(workload(request), MACHINE))
    assert specs[0] == specs[1]
    assert specs[0]["jobs"][0]["files"]["size"] == size << 20


def test_the_same_words_as_flags_and_as_a_job_file() -> None:
    flags = "-D /data -d 3 -n 1 -w 8 -s 1G -i 64K -x 5 -I 3 -T 9 -k 42 -V -b -F -U"
    request = parse_line(flags.split()).request
    text = (
        "[global]\nsize=1G\nbs=64K\nxfer_type=5\nrw=randwrite\nruntime=9\nrandom_seed=42\n"
        "do_verify=1\nskip_bufregister=1\nrefill_buffer=1\nunaligned_random=1\n"
        "[job1]\ndirectory=/data\ngpu_dev_id=3\nnuma_node=1\nnum_threads=8\n"
    )
    assert request is not None
    assert spec_of(workload(request), MACHINE) == spec_of(read(text), MACHINE)


def test_flags_that_have_a_key_share_its_row() -> None:
    shared = {flag: option.key for flag, option in BY_FLAG.items() if option.key}
    assert shared["x"] == "xfer_type"
    assert {option.name for option in BY_KEY.values()} >= {"operation", "name"}
