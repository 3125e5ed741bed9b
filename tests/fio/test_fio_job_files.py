"""fio's job files: what is read, what is refused and where, and that no text ends a run."""

import re
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.damage import damaged

from tierscope.model.errors import UserError
from tierscope.peers.fio.job_file import parse_jobs, parse_line, shown
from tierscope.peers.fio.jobs import Job
from tierscope.peers.fio.logs import log_paths
from tierscope.peers.fio.options import BY_NAME, FIXED, OPTIONS, RefusedError
from tierscope.peers.fio.plan import Stage, stages

EVERYTHING = """\
; everything
[global]
ioengine=libaio   # inline comments
direct = 1
size=1g ; 1 GiB
bssplit=4k/60:64k/40
rw=randrw
rwmixread=70
iodepth=16
runtime=${SECONDS}
time_based
ramp_time=500ms
group_reporting
randseed=7
invalidate=1
directory=/data
cpus_allowed=0-1
numa_mem_policy=bind:0
percentile_list=50:99.9
norandommap
[readers]
rw=randread
numjobs=2
[writers]
rw=randwrite
refill_buffers
buffer_compress_percentage=50
fsync=32
new_group
[later]
stonewall
rw=randread
bs=$pagesize
verify=crc32c
"""


def read(text: str, **environment: str) -> list[Stage]:
    jobs, _common = parse_jobs(text, "x.fio", environment)
    return stages([Job(one) for one in jobs])


def jobs(text: str) -> list[Job]:
    return [job for stage in read(text) for job in stage.jobs]


def job(*lines: str) -> Job:
    (found,) = jobs("\n".join(["[a]", *lines]))
    return found


def refusal(text: str, **environment: str) -> str:
    with pytest.raises(UserError) as refused:
        read(text, **environment)
    said = str(refused.value)
    assert "\n" not in said
    return said


def test_everything_is_read() -> None:
    first, second = read(EVERYTHING, SECONDS="3")
    readers, writers = first.jobs
    assert (readers.operation, readers.of("numjobs"), readers.depth, readers.direct) == (
        "read", 2, 16, True,
    )  # fmt: skip
    assert readers.blocks == ((4096, 6000), (65536, 4000))
    times = ("runtime", "ramp_time", "time_based")
    assert [readers.of(name) for name in times] == [3, 0.5, True]
    assert readers.of("percentile_list") == (50.0, 99.9)
    assert readers.directory == "/data"
    assert writers.operation == "write"
    assert [clone.part for clone in first.clones] == ["readers.0", "readers.1", "writers.0"]
    assert [clone.group for clone in first.clones] == [0, 0, 1]
    (later,) = second.jobs
    assert later.verify
    assert len(later.blocks) == 2, "bssplit counts, which is more than bs"
    assert second.clones[0].group == 2


def test_a_job_has_what_global_said_before_it() -> None:
    first, second = jobs("[global]\nsize=1m\n[a]\n[global]\nsize=2m\nrw=write\n[b]\nrw=read\n")
    assert (first.size, first.operation) == (1 << 20, "read")
    assert (second.size, second.operation) == (2 << 20, "read")


def test_defaults_are_those_of_fio() -> None:
    found = job()
    assert (found.operation, found.work.random, found.blocks) == ("read", False, ((4096, 1),))
    assert (found.engine.name, found.depth, found.direct) == ("psync", 1, False)
    assert found.of("numjobs") == 1
    assert found.of("filename_format") == "$jobname.$jobnum.$filenum"
    assert found.directory == str(Path.cwd())
    assert found.of("percentile_list")[:3] == (1, 5, 10)
    assert found.of("runtime") == 0
    assert not job("time_based").time_based, "without a runtime it changes nothing"


def test_a_mix_of_all_or_nothing_is_none() -> None:
    assert job("rw=randrw", "rwmixread=100").operation == "read"
    assert job("rw=randrw", "rwmixwrite=100").operation == "write"
    assert job("rw=rw", "rwmixwrite=30").reads_percent == 70


def test_a_synchronous_engine_has_one_operation_in_flight() -> None:
    found = job("ioengine=sync", "iodepth=16")
    assert found.depth == 1
    assert any("iodepth=16 changes nothing" in remark for remark in found.remarks)
    assert any("ioengine=sync" in remark for remark in found.remarks)


def test_amounts() -> None:
    assert job("size=1m").amount is None
    assert job("io_size=8k", "loops=3").amount == 3 * 8192
    assert job("number_ios=10", "bs=8k").amount == 81920
    assert job("filesize=4k", "nrfiles=3", "rw=randread").size == 3 * 4096
    assert job("size=100%").size is None


def test_rates() -> None:
    assert job("rate_iops=100").rate == 100.0
    assert job("rate=1m", "bs=4k", "rate_process=poisson").rate == 256.0
    assert job("rw=write", "rate_iops=100,50").rate == 50.0
    mix = job("rw=rw", "rate=1m,512k", "bs=4k,8k")
    assert (mix.rate, mix.write_rate) == (256 + 64, 64)


def test_times_without_units_are_fio_s() -> None:
    found = job("thinktime=2000", "latency_target=500", "latency_window=5s", "log_avg_msec=250")
    times = ("thinktime", "latency_target", "latency_window", "log_avg_msec")
    assert [found.of(name) for name in times] == [0.002, 0.0005, 5, 0.25]
    assert job("thinktime=2ms").of("thinktime") == 0.002


def test_data_may_repeat_bytes() -> None:
    assert job("rw=write", "zero_buffers").fill == "00"
    assert job("rw=write", "buffer_pattern=0xdeadbeef").fill == "deadbeef"
    assert job("rw=write", 'buffer_pattern="abc"').fill == "616263"
    assert job("rw=write", "buffer_pattern=258").fill == "0201", "fio turns numbers round"
    assert job("rw=write", "verify_pattern=1").fill is None, "without verify it is not used"
    assert job("rw=write", "verify=pattern", "verify_pattern=1").fill == "01"
    (said,) = (one for one in job("rw=write", "zero_buffers").remarks if "112 bytes" in one)
    assert "between tierscope's headers" in said


def test_logs_have_the_names_of_fio() -> None:
    found = job("write_bw_log", "write_lat_log=x", "log_avg_msec=100")
    assert {str(path) for path in log_paths(found, 3).values()} == {
        "a_bw.3.log", "x_slat.3.log", "x_clat.3.log", "x_lat.3.log",
    }  # fmt: skip
    one = job("write_iops_log=x", "per_job_logs=0")
    assert [*map(str, log_paths(one, 3).values())] == ["x_iops.log"]
    assert any("averages of 500 ms" in said for said in one.remarks)


WAITS = "[a]\n[b]\nstonewall\n[c]\nwait_for=b\n[d]\nwait_for=a\n[e]\nnew_group\n"


def test_jobs_wait_at_a_stonewall() -> None:
    found = read(WAITS)
    assert [[one.name for one in stage.jobs] for stage in found] == [["a"], ["b"], ["c", "d", "e"]]
    assert [clone.group for stage in found for clone in stage.clones] == [0, 1, 2, 2, 3]


def test_results_are_of_a_clone_or_of_a_group() -> None:
    alone = read("[a]\nnumjobs=2\n[b]\n")[0]
    assert [len(entry) for entry in alone.entries()] == [1, 1, 1]
    grouped = read("[global]\ngroup_reporting\n[a]\nnumjobs=2\n[b]\n[c]\nnew_group\n")[0]
    assert [len(entry) for entry in grouped.entries()] == [3, 1]
    joined = read("[a]\n[b]\ngroup_reporting\nnumjobs=2\n[c]\n")[0]
    assert [len(entry) for entry in joined.entries()] == [3, 1]


def test_names_of_clones_are_unlike() -> None:
    (stage,) = read("[a]\n[a]\n")
    assert [clone.part for clone in stage.clones] == ["a.0", "a.0#2"]


REFUSED = {
    "ioengine=cpuio": "it does not read or write",
    "ioengine=rbd": "by a library of its own",
    "ioengine=lib-aio": "did you mean 'libaio'",
    "exec_prerun=reboot": "foreign commands are not run",
    "ioscheduler=none": "settings of the machine are left alone",
    "write_hist_log=x": "histograms are not logged",
    "random_distribution=sequence:2,0": "only random, zipf",
    "random_distribution=zoned:50/5:30/15": "add up to 100 each",
    "random_distribution=zipf:1.2:0.3": "the center cannot be chosen",
    "latency_target=500": "needs a latency_window",
    "steadystate=iops:10%": "needs a steadystate_duration",
    "steadystate=iops\nss_dur=3": "is not one such as iops:10%",
    "thinktime=10\nthinktime_spin=20": "is a part of thinktime",
    "thinktime=10\nthinktime_iotime=5": "pauses come after operations",
    "zonemode=strided\nzonesize=1k": "needs 4096 bytes",
    "zonesize=4k": "needs zonemode=strided",
    "file_service_type=random\nnrfiles=2": "by turns",
    "rw=rw\nrate_iops=10,0": "limits reads and writes of a mix",
    "buffer_pattern=0xg": "is not bytes such as",
    "size=8*1024": "arithmetic is not evaluated",
    "size=10%": "100% is the only",
    "zonemode=zbd": "zoned devices are not measured",
    "verify_only=1": "data is verified in tierscope's own way",
    "bs=4m1": "is not a number",
    "iodepth=0": "not a whole number from 1",
    "nosuch=1": "no option that tierscope knows",
    "numjob=4": "did you mean 'numjobs'",
    "rw": "the value is missing",
    "size=": "the value is missing",
    "filename=${NOSUCH}": "the environment has no variable 'NOSUCH'",
    "ramp_time=1": "needs time_based",
    "hipri": "needs ioengine=io_uring",
    "gpu_dev_ids=0": "needs ioengine=libcufile",
    "filename=a:b": "one file by name",
    "rwmixread=70\nrwmixwrite=70": "does not add up to 100",
    "cmdprio_percentage=5": "needs ioengine=libaio or io_uring",
    "cmdprio_bssplit=4k/5\ncmdprio_percentage=5\nioengine=libaio": "goes without",
    "prio=8": "from 0 to 7",
    "dedupe_global=1": "needs dedupe_mode=working_set",
    "dedupe_percentage=96\ndedupe_mode=working_set\nrw=write": "are more than 100",
    "verify=md5\ndedupe_percentage=5\nrw=write": "do not say where they belong",
    "dedupe_percentage=5\nrw=write\nioengine=mmap": "does not go with ioengine=mmap",
    "fill_device=1\nioengine=filestat": "takes no fill_device",
    "rw=trim": "goes with ioengine=falloc",
    "ioengine=falloc\nrw=rw": "takes reads, writes or trims",
    "ioengine=falloc\nverify=md5": "writes no data",
    "sync=1": "use fsync=1 or fdatasync=1",
    "create_on_open=1": "files are made before anything is timed",
    "runtime=1\nioengine=filestat": "uses each file once, and takes no runtime",
    "ioengine=filedelete\nrw=rw": "takes read or write",
    "filesize=32m\nioengine=filestat\nsize=32m": "files of at most 16m",
    "direct=1\nioengine=mmap": "goes through the page cache",
    "rw=write\nfilename=/dev/sda": "destroys what is on it",
    "wait_for=b": "there is no job 'b'",
    "bssplit=4k/50:8k/50\nnumber_ios=2": "give io_size",
    "fixedbufs": "needs ioengine=io_uring",
    "io_submit_mode=offload": "offload needs a rate",
    "unified_rw_reporting=both": "reported apart",
    "numjobs=257": "not a whole number",
}


@pytest.mark.parametrize("lines", REFUSED)
def test_what_cannot_be_honoured_is_refused_with_its_line_and_reason(lines: str) -> None:
    said = refusal(f"[global]\nsize=1m\n[a]\n{lines}\n")
    assert REFUSED[lines] in said
    key = re.split("[=\n]", lines)[0]
    places = [f"x.fio:{4 + number}: {line.partition('=')[0]}" for number, line in
              enumerate(lines.split("\n"))]  # fmt: skip
    assert said.startswith(tuple(places)), (said, key)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no job found"),
        ("[global]\nrw=read\n", "no job found"),
        ("rw=read\n[a]\n", "x.fio:1: 'rw=read' is outside any section"),
        ("[a\n", "x.fio:1: '[a' is not a section"),
        ("[]\n", "x.fio:1: '[]' is not a section"),
        ("[a]\ninclude other.fio\n", "x.fio:2: include other.fio: other files are not read"),
        (
            "[a]\n[b]\nruntime=3\ntime_based\nramp_time=2\n",
            "x.fio:5: ramp_time: jobs that run together have one ramp_time",
        ),
        ("[a]\n[b]\nss=iops:1%\nss_dur=2\n", "x.fio:3: ss: jobs that run together have one steady"),
        ("[a]\n[b]\n[c]\nwait_for=a\n", "x.fio:4: wait_for: other jobs run together with 'a'"),
        ("[a]\nnumjobs=200\n[b]\nnumjobs=200\n", "x.fio:1: 400 threads run together"),
        ("[a]\nioengine=libcufile\ndirect=1\n[b]\n", "x.fio:4: jobs by libcufile run together"),
    ],
)
def test_what_does_not_make_jobs_is_refused(text: str, said: str) -> None:
    assert said in refusal(text)


def test_what_changes_nothing_is_said() -> None:
    said = job("norandommap", "thread", "gtod_reduce=1", "fallocate=none", "flow=0").remarks
    assert [remark.partition(" ")[0] for remark in said] == ["norandommap=1", "gtod_reduce=1"]


def test_each_option_is_in_one_table() -> None:
    assert not set(BY_NAME) & set(FIXED)
    assert len(BY_NAME) == sum(1 + len(option.aliases) for option in OPTIONS)
    assert all(one.why for one in FIXED.values())


def test_options_of_the_command_line_are_those_of_job_files() -> None:
    words = "--size=1m --direct=1 --name=a --rw randread --time_based --runtime=2 --name=b --bs=8k"
    line = parse_line([*words.split(), "--runtime=2", "--time_based"], {})
    first, second = (Job(section) for section in line.jobs)
    assert (first.name, first.size, first.direct, first.operation) == ("a", 1 << 20, True, "read")
    assert (second.name, second.blocks, second.work.random) == ("b", ((8192, 1),), False)
    assert " ".join(shown(line)).startswith("fio --size=1m --direct=1 --name=a --rw=randread")
    again = parse_line(list(shown(line))[1:], {})
    assert list(shown(again)) == list(shown(line))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "no job found"),
        ("--rw=read", "no job found"),
        ("--name=a x.fio", "give job files alone"),
        ("--name", "--name needs the name of a job"),
        ("--name=a --bs=4q", "--name=a: bs: '4q' is not a number"),
        ("--name=a --nosuch=1", "--name=a: nosuch: no option"),
        ("--bs --name=a", "command line: bs: the value is missing"),
        ("--minimal --name=a", "terse output has mostly fields that are not measured"),
        ("--output-format=terse --name=a", "terse output has mostly"),
        ("--output-format=xml --name=a", "is not one of normal, json, json+"),
        ("--client=host x.fio", "run it there"),
        ("--overwrite --name=a", "--overwrite-others"),
        ("--require=nvlink --name=a", "is not one of"),
        ("/nosuch.fio", "job file '/nosuch.fio' cannot be read"),
    ],
)
def test_a_wrong_command_line_is_refused_in_a_line(words: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        list(map(Job, parse_line(words.split(), {}).jobs))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_sections_and_several_files(tmp_path: Path) -> None:
    one, two = tmp_path / "1.fio", tmp_path / "2.fio"
    one.write_text("[a]\n[b]\n")
    two.write_text("[c]\n[d]\n")
    line = parse_line([str(one), str(two)], {})
    found = stages([Job(section) for section in line.jobs])
    assert [[job.name for job in stage.jobs] for stage in found] == [["a", "b"], ["c", "d"]]
    assert [job.name for job in parse_line([str(one), "--section=b"], {}).jobs] == ["b"]
    with pytest.raises(UserError, match=r"there is no job \[z\]; there are a, b"):
        parse_line([str(one), "--section=z"], {})


def test_all_that_cannot_be_honoured_is_told_at_once() -> None:
    text = "[global]\nnosuch=1\n[a]\niodepth=0\nfilename=${NO}\nbs=4q\nioscheduler=x\n[b]\n"
    first, second = parse_jobs(text, "x.fio", {})[0]
    with pytest.raises(RefusedError) as refused:
        Job(first)
    assert [line.split(": ")[0:2] for line in refused.value.lines] == [
        ["x.fio:5", "filename"], ["x.fio:2", "nosuch"], ["x.fio:4", "iodepth"],
        ["x.fio:6", "bs"], ["x.fio:7", "ioscheduler=x"],
    ]  # fmt: skip
    with pytest.raises(UserError, match=r"x\.fio:2: nosuch"):
        Job(second)


def test_a_job_is_called_what_its_section_says() -> None:
    (first, second) = jobs("[global]\nname=all\n[a]\nname=own\n[b]\n")
    assert (first.name, second.name) == ("own", "b")


def test_a_command_line_is_shown_with_the_quotes_that_a_shell_takes_off(tmp_path: Path) -> None:
    file = tmp_path / "x.fio"
    file.write_text(
        '[global]\ndescription=Emulation of x\'s "y" $z \\w\ndirect=1\n[a b]\nrw=read\n'
        "stonewall\nfilename=/tmp/a\\:b\n[c]\nname=own\n"
    )
    line = parse_line([str(file)], {})
    words = list(shown(line))
    assert words[1].startswith('--description="Emulation of x')
    assert words[2:5] == ["--direct=1", '--name="a b"', "--rw=read"]
    assert words[5] == "--stonewall"
    command = " ".join(["printf", "'%s\\0'", *words[1:]])
    given_back = subprocess.run(["sh", "-c", command], capture_output=True, check=True, text=True)
    again = parse_line(given_back.stdout.split("\0")[:-1], {})
    assert again.common.own["description"].value == line.common.own["description"].value
    assert [Job(one).name for one in again.jobs] == ["a b", "c", "own"]
    assert again.jobs[0].own["filename"].value == "/tmp/a\\:b"


def parsed_or_refused(text: str) -> None:
    said = ""
    try:
        read(text, SECONDS="3")
    except UserError as error:
        said = str(error)
    assert not said or re.match(r"x\.fio(:[0-9]+)?: ", said), said
    assert "\n" not in said


_KEYS = st.sampled_from([*BY_NAME, *FIXED])
_VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["1", "0", "4k", "1m", "randrw", "zipf:1.2", "0-3", "4k/50:8k/50", "${X}"]),
)
_LINES = st.one_of(
    st.sampled_from(["[global]", "[a]", "[b]", "stonewall", "; x", ""]),
    st.builds("{}={}".format, _KEYS, _VALUES),
    st.text(max_size=20),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_LINES, max_size=12))
def test_any_lines_are_read_or_refused_in_one_line(lines: list[str]) -> None:
    parsed_or_refused("\n".join(lines))


@given(st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    parsed_or_refused(text)


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_a_damaged_job_file_is_read_or_refused_in_one_line(seed: int) -> None:
    text = damaged(Random(seed), EVERYTHING.encode()).decode(errors="replace")
    parsed_or_refused(text)


@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    with suppress(UserError):
        for section in parse_line([word for word in words if word != "-"], {}).jobs:
            Job(section)
