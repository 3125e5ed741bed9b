"""gdsio's result line, character for character, from what was measured."""

import re
import shlex
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gdsio.guide import JOB_FILES, RESULTS

from tierscope.model.event import Column, Distribution, Evidence, Repetition, Series
from tierscope.model.histogram import bucket_of
from tierscope.peers.gdsio.job_file import parse_jobs, parse_line
from tierscope.peers.gdsio.output import result_line
from tierscope.peers.gdsio.workload import Workload, workload
from tierscope.peers.totals import Totals, totals_of

LINE = re.compile(
    r"IoType: (?P<io>\w+) XferType: (?P<xfer>\w+) Threads: (?P<threads>\d+)( IoDepth: \d+)? "
    r"DataSetSize: (?P<moved>\d+)/(?P<data>\d+)\(KiB\) IOSize: (?P<block>[\d-]+)\(KiB\) "
    r"Throughput: (?P<rate>\d+\.\d{6}) GiB/sec, Avg_Latency: (?P<latency>\d+\.\d{6}) usecs "
    r"ops: (?P<ops>\d+) total_time (?P<time>\d+\.\d{6}) secs"
)


def asked(words: str) -> Workload:
    if words in JOB_FILES:
        return workload(parse_jobs(JOB_FILES[words], words, {}))
    request = parse_line(shlex.split(words)).request
    assert request is not None
    return workload(request)


@pytest.mark.parametrize(("words", "line"), RESULTS)
def test_a_line_of_the_guide(words: str, line: str) -> None:
    """From its bytes, operations, time and latency, all the rest follows."""
    found = LINE.fullmatch(line)
    assert found
    totals = Totals(
        bytes=int(found["moved"]) * 1024,
        operations=int(found["ops"]),
        seconds=float(found["time"]),
        latency_s=float(found["latency"]) * 1e-6,
    )
    assert result_line(asked(words), totals) == line


TOTALS = Totals(bytes=20 * 4096, operations=20, seconds=0.00725, latency_s=3476.65e-6)


def test_a_line_of_batches_has_their_depth() -> None:
    """As gdsio prints it of one batch of ten operations, over ten files of 8 KiB."""
    line = result_line(asked("-x 6 -d 0 -s 8K -i 4K -D /mnt/gds/dir -I 1 -w 10"), TOTALS)
    assert line == (
        "IoType: WRITE XferType: GPU_BATCH Threads: 1 IoDepth: 10 DataSetSize: 80/80(KiB) "
        "IOSize: 4(KiB) Throughput: 0.010523 GiB/sec, Avg_Latency: 3476.650000 usecs ops: 20 "
        "total_time 0.007250 secs"
    )
    line = result_line(asked("-x 7 -s 1G -D /d -w 4 -B 16 -I 2"), TOTALS)
    assert line.startswith("IoType: RANDREAD XferType: GPU_BATCH_STREAM Threads: 4 IoDepth: 16 D")


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (0, "GPUD"), (1, "CPUONLY"), (2, "CPU_GPU"), (3, "CPU_ASYNC_GPU"), (4, "CPU_CACHED_GPU"),
        (5, "GPUD_ASYNC"), (6, "GPU_BATCH"), (7, "GPU_BATCH_STREAM"),
    ],
)  # fmt: skip
def test_words_of_transfer_types(number: int, word: str) -> None:
    line = result_line(asked(f"-D /d -s 1G -x {number}"), TOTALS)
    assert line.startswith(f"IoType: READ XferType: {word} Threads: 1 ")
    assert LINE.fullmatch(line)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("-D /d -w 4 -s 1G -i 4K:16K:4K", " DataSetSize: 80/4194304(KiB) IOSize: 4-16-4(KiB) "),
        ("-f /d/x -w 4 -s 1G", " Threads: 4 DataSetSize: 80/1048576(KiB) IOSize: 1024(KiB) "),
        ("-f /a -s 1G -D /b -w 2 -s 1G -T 1", " Threads: 3 DataSetSize: 80/3145728(KiB) "),
        ("-D /d -s 1G -i 512", " IOSize: 0.5(KiB) "),
        ("-D /d -s 1G -M 70 -x 6", "IoType: MIXED XferType: GPU_BATCH Threads: 1 IoDepth: 1 "),
    ],
)
def test_what_a_line_says_of_its_data(words: str, part: str) -> None:
    assert part in result_line(asked(words), TOTALS)


def test_a_line_of_one_job() -> None:
    work = asked("nfs_rr.gdsio")
    line = result_line(work, TOTALS, work.jobs[:1])
    assert " Threads: 16 DataSetSize: 80/8192000(KiB) " in line


def repetition(*columns: Column, distributions: tuple[Distribution, ...] = ()) -> Repetition:
    series = Series(
        name="windows",
        starts=[0.0, 0.5],
        durations=[0.5, 0.25],
        columns=[*columns],
        distributions=[*distributions],
    )
    return Repetition(
        id="x", seconds=1, fresh=False, interrupted=False, series=[series], evidence=Evidence()
    )


def columns(part: str, share: float) -> list[Column]:
    rate = [4096.0 * 1000 * share, 4096.0 * 3000 * share]
    return [
        Column(metric="bandwidth", part=part, values=rate),
        Column(metric="iops", part=part, values=[value / 4096 for value in rate]),
    ]


def test_totals_are_sums_over_the_samples_of_all_repetitions() -> None:
    samples = [[bucket_of(1_000_000), 501], [bucket_of(2_000_000), 750]]
    latencies = (Distribution(metric="io_latency", samples=samples),)
    parts = (*columns("", 1.0), *columns("job1", 0.25), *columns("job2", 0.75))
    one = repetition(*parts, distributions=latencies)
    whole = totals_of([one, one])
    assert whole.operations == 2 * (501 + 750)  # as counted, not as rates say
    assert whole.bytes == whole.operations * 4096
    assert whole.seconds == 1.5
    assert whole.latency_s == pytest.approx((501 * 1e-3 + 750 * 2e-3) / 1251, rel=0.005)
    assert totals_of([]) == Totals(0, 0, 0.0, 0.0)


def test_a_job_has_totals_of_its_own() -> None:
    whole = Distribution(metric="io_latency", samples=[[bucket_of(1_000_000), 500], []])
    own = Distribution(metric="io_latency", part="job1", samples=[[bucket_of(2_000_000), 125], []])
    one = repetition(
        Column(metric="iops", values=[1000.0, 0.0]),
        Column(metric="bandwidth", values=[1000.0 * 512, 0.0]),
        Column(metric="iops", part="job1", values=[250.0, 0.0]),
        Column(metric="bandwidth", part="job1", values=[250.0 * 512, 0.0]),
        distributions=(whole, own),
    )
    slow = totals_of([one], ["job1"])
    assert (slow.operations, slow.bytes) == (125, 125 * 512)
    assert slow.latency_s == pytest.approx(2e-3, rel=0.005)


@given(latencies=st.lists(st.integers(1, 10**11), min_size=1, max_size=30))
def test_a_latency_comes_from_the_distribution_within_half_a_percent(latencies: list[int]) -> None:
    counts = sorted(Counter(map(bucket_of, latencies)).items())
    samples = [[number for pair in counts for number in pair], []]
    rate = len(latencies) / 0.5
    one = repetition(
        Column(metric="iops", values=[rate, 0.0]),
        Column(metric="bandwidth", values=[rate * 512, 0.0]),
        distributions=(Distribution(metric="io_latency", samples=samples),),
    )
    found = totals_of([one])
    assert found.operations == len(latencies)
    assert found.latency_s == pytest.approx(sum(latencies) / len(latencies) * 1e-9, rel=0.005)
