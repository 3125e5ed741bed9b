"""Storage against fio: the same file, pattern, engine, depth and CPU, in turn.

Takes fio's path from $FIO, by default the one on PATH; it is made for 3.33. Files are made below
$DIRECTORY, by default the current one, and removed. A part of the cases is chosen by a regular
expression in $CASES. As root a file on a loop device over /dev/shm is measured too.

Both sides take latency from before an operation is handed over until its end is seen: fio's `lat`,
which starts when an operation is filled in (get_io_u) and contains what a batch in front of it
takes. Latencies of fio are in buckets of up to 1.6%, so that ratios of very narrow distributions
are off by up to 0.8%. Random offsets of both come once each before any comes again. fio's writes
scramble a few bytes of each 512, ours stamp each 4 KiB, as either does by default. Buffers are
aligned to pages on both sides (iomem=mmap). fio's default for cached files is 16 bytes behind a
page's start, where copies of 1 MiB took 7 to 10% less time on one CPU (Sapphire Rapids).

CPU time an operation is the process's, io_uring's workers included: of fio that of the whole run
less that of a single operation, of ours what the engine reports.

In an open loop fio counts latency from when an operation was issued, ours from when it was due.
They agree while nothing stalls, at the tenth of the rate that one at a time reaches.

Ratios are ours / theirs. Lower is better of latencies and CPU time.
"""

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairs import FEWEST, LIMIT_S, NODE, Comparison, is_narrow, made_file, take_turns
from tierscope.analysis.distribution import merged, percentile
from tierscope.engine.repetitions import LivingEngine, living_engine
from tierscope.kinds.io.spec import IoSpec
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.spec import Sampling

FIO = os.environ.get("FIO", "fio")
IO_URING = os.environ.get("T_IO_URING")
"""Path of t/io_uring, which is built from fio's source; without it that part is left out."""
IO_URING_MEBIBYTES = 2048
"""Of its file: more than caches hold, as its random offsets come again, and ours do not."""
IO_URING_S = 3
"""Of one run of it, which says its rate each second but the last."""
DIRECTORY = os.environ.get("DIRECTORY", ".")
CASES = re.compile(os.environ.get("CASES", ""))
FILE_BYTES = 256 << 20
RUN_S = 1.0
"""Of one side of a pair."""
CPU = max(os.sched_getaffinity(0))
BACKENDS = {"psync": "posix", "libaio": "libaio", "io_uring": "io_uring"}
DEPTHS = {4096: 32, 1 << 20: 8}
"""Of asynchronous engines, by block size."""


@dataclass(frozen=True)
class Case:
    """A pattern that both sides run."""

    place: str
    engine: str
    direct: bool
    operation: str
    """fio's: read, write, randread, randwrite."""
    block: int
    file: Path
    rate: float | None = None

    @property
    def depth(self) -> int:
        """Operations in flight."""
        return 1 if self.engine == "psync" else DEPTHS[self.block]

    def __str__(self) -> str:
        size = f"{self.block >> 10}k" if self.block < 1 << 20 else f"{self.block >> 20}m"
        way = "direct" if self.direct else "cached"
        rate = "" if self.rate is None else f" poisson {self.rate:.0f}/s"
        return f"{self.place} {self.engine} {way} {self.operation} {size} d{self.depth}{rate}"


DROP_INS = {
    "psync randread 4k": "--rw=randread --bs=4k",
    "libaio randread 128k d16": "--ioengine=libaio --iodepth=16 --rw=randread --bs=128k",
    "io_uring randread 4k d32": "--ioengine=io_uring --iodepth=32 --rw=randread --bs=4k",
}
"""Command lines that both programs take."""
DROP_IN_S = 2
PAIRS = int(os.environ.get("PAIRS", "16"))
"""Of each of them."""

Side = dict[str, float]
"""Figures of one run by name: iops, GB/s, p50, p99, CPU."""
UNITS = {"iops": "1/s", "GB/s": "GB/s", "p50": "us", "p99": "us", "CPU": "ns/op"}
DECISIVE = ("iops", "GB/s", "p50")
"""Those that are repeated until they are narrow."""


def compare() -> Iterator[Comparison | str]:
    """All cases: files on the disk, in the page cache, on a loop device; open loop; t/io_uring."""
    if shutil.which(FIO) is None:
        raise SystemExit("fio is missing: put it on PATH or name it in FIO")
    with made_file("disk", Path(DIRECTORY)) as file:
        for case in cases("disk", file):
            yield from compared(case)
        yield from open_loop("disk", file)
        yield from drop_ins(file)
    with made_file("disk", Path(DIRECTORY), IO_URING_MEBIBYTES) as file:
        yield from beside_io_uring(file)
    if os.geteuid() != 0:
        yield "loop device: skipped, as only root can set one up"
        return
    with loop_directory() as directory, made_file("loop", directory) as file:
        for case in cases("loop", file):
            yield from compared(case)


def drop_ins(file: Path) -> Iterator[Comparison]:
    """The same command lines by `tierscope fio` and by fio, each on the CPUs that it chooses."""
    tierscope = [sys.executable, "-c", "from tierscope.cli.main import main; main()", "fio"]
    for name, options in DROP_INS.items():
        if CASES.search(f"drop-in {name}") is None:
            continue
        job = f"--name=a {options} --direct=1 --time_based --runtime={DROP_IN_S} --invalidate=0"
        words = [*job.split(), f"--filename={file}", "--output-format=json", "--lat_percentiles=1"]

        def figures(program: list[str], words: list[str] = words) -> Side:
            job = json.loads(run([*program, *words])[0])["jobs"][0]["read"]
            return {
                "iops": job["iops"],
                "GB/s": job["bw_bytes"] / 1e9,
                "p50": job["lat_ns"]["percentile"]["50.000000"] / 1e3,
            }

        ours, theirs = take_turns(PAIRS, lambda: figures(tierscope), lambda: figures([FIO]))
        for figure in DECISIVE:
            sides = ([one[figure] for one in side] for side in (ours, theirs))
            yield Comparison(f"drop-in {name} {figure}", UNITS[figure], *sides)


def cases(place: str, file: Path) -> Iterator[Case]:
    """Every combination."""
    for engine in BACKENDS:
        for direct in (True, False):
            for block in DEPTHS:
                for operation in ("read", "randread", "write", "randwrite"):
                    yield Case(place, engine, direct, operation, block, file)


def compared(case: Case) -> Iterator[Comparison]:
    """The figures of one case, from pairs until the decisive ones are narrow."""
    if CASES.search(str(case)) is None:
        return
    prepare(case)
    with living_engine() as engine:
        engine.plan([spec_of(case)])
        start_up = statistics.median(fio_once(case) for _ in range(3))
        sides: tuple[list[Side], list[Side]] = ([], [])
        began = time.monotonic()
        while len(sides[0]) < FEWEST or not (
            time.monotonic() - began > LIMIT_S or all(map(is_narrow, ratios(case, sides, DECISIVE)))
        ):
            more = take_turns(2, lambda: ours(case, engine), lambda: theirs(case, start_up))
            for kept, new in zip(sides, more, strict=True):
                kept.extend(new)
    for comparison in ratios(case, sides, tuple(UNITS)):
        yield replace(comparison, name=f"{case} {comparison.name}")


def ratios(
    case: Case, sides: tuple[list[Side], list[Side]], names: tuple[str, ...]
) -> list[Comparison]:
    """Comparisons of those figures that every run has and that say something of this case."""
    left_out = "GB/s" if case.block < 1 << 20 else "iops"
    return [
        Comparison(name, UNITS[name], *([one[name] for one in side] for side in sides))
        for name in names
        if name != left_out and all(name in one for side in sides for one in side)
    ]


def prepare(case: Case) -> None:
    """Have the file in the page cache, or out of it."""
    with case.file.open("rb+") as file:
        os.fsync(file.fileno())
        if case.direct:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        else:
            while file.read(1 << 20):
                pass


def spec_of(case: Case) -> IoSpec:
    """Return what the engine is asked for."""
    random = case.operation.startswith("rand")
    return IoSpec.model_validate(
        {
            "id": "case",
            "initiator": "node:0",
            "target": f"file:{case.file}",
            "sampling": Sampling(budget_s=RUN_S, sample_s=0.1),
            "jobs": [
                {
                    "cpus": [CPU],
                    "buffers": {"placement": NODE},
                    "files": {"path": str(case.file), "overwrite": True},
                }
            ],
            "pattern": {
                "operation": case.operation.removeprefix("rand"),
                "order": "random" if random else "sequential",
                "block_size": case.block,
                "backend": BACKENDS[case.engine],
                "direct": case.direct,
                "depth": case.depth,
                "registered": case.engine == "io_uring",
                **({} if case.rate is None else {"rate": case.rate, "arrivals": "poisson"}),
            },
        }
    )


def ours(case: Case, engine: LivingEngine) -> Side:
    """One repetition by an engine that goes on living."""
    (repetition,) = (
        event
        for event in engine.repetition("case", RUN_S)
        if isinstance(event, Repetition | Skipped | Failed)
    )
    if not isinstance(repetition, Repetition):
        raise RuntimeError(f"{case}: {repetition.reason}")
    (series,) = repetition.series
    columns = {column.metric: column.values for column in series.columns}
    operations = [
        (rate or 0) * seconds
        for rate, seconds in zip(columns["iops"], series.durations, strict=True)
    ]
    each = columns["cpu_per_operation"]
    cpu = sum([n * (ns or 0) for n, ns in zip(operations, each, strict=True)], start=0.0)
    (latency,) = (d.samples for d in series.distributions or () if d.metric == "io_latency")
    whole = merged([latency])
    iops = sum(operations) / sum(series.durations)
    return {
        "iops": iops,
        "GB/s": iops * case.block / 1e9,
        "CPU": cpu / sum(operations),
        **percentiles(lambda beyond: percentile(whole, beyond)),
    }


def percentiles(of: Callable[[float], float | None]) -> Side:
    """p50 and p99 in us from what gives them in ns, as far as there are enough operations."""
    found = {"p50": of(0.5), "p99": of(0.01)}
    return {name: value / 1e3 for name, value in found.items() if value is not None}


def theirs(case: Case, start_up: float) -> Side:
    """One run of fio; ``start_up`` is CPU time that a run takes whatever it measures."""
    output, cpu_s = run(fio_command(case, [f"--runtime={RUN_S * 1e3:.0f}ms", "--time_based"]))
    (job,) = json.loads(output)["jobs"]
    if job["error"]:
        raise RuntimeError(f"{case}: fio has error {job['error']}")
    found = job["write" if case.operation.endswith("write") else "read"]
    quantiles = found["lat_ns"]["percentile"]
    enough = found["total_ios"] >= 1000
    return {
        "iops": found["iops"],
        "GB/s": found["bw_bytes"] / 1e9,
        "CPU": (cpu_s - start_up) * 1e9 / found["total_ios"],
        **percentiles(
            {0.5: quantiles["50.000000"], 0.01: quantiles["99.000000"] if enough else None}.get
        ),
    }


def fio_once(case: Case) -> float:
    """CPU seconds of a run that makes one operation."""
    return run(fio_command(case, ["--number_ios=1"]))[1]


def fio_command(case: Case, more: list[str]) -> list[str]:
    """fio's command line, with batches as ours makes them: what is free is submitted at once."""
    options: dict[str, Any] = {
        "name": "case",
        "filename": case.file,
        "ioengine": case.engine,
        "rw": case.operation,
        "bs": case.block,
        "direct": int(case.direct),
        "iodepth": case.depth,
        "cpus_allowed": CPU,
        "invalidate": 0,
        "lat_percentiles": 1,
        "iomem": "mmap",
        "thread": 1,
        "overwrite": 1,
        "output-format": "json",
    }
    if case.depth > 1:
        options |= {
            "iodepth_batch_submit": case.depth,
            "iodepth_batch_complete_min": 1,
            "iodepth_batch_complete_max": case.depth,
        }
    if case.engine == "io_uring":
        options |= {"fixedbufs": 1, "registerfiles": 1}
    if case.rate is not None:
        options |= {"rate_iops": round(case.rate), "rate_process": "poisson"}
    return [FIO, *(f"--{name}={value}" for name, value in options.items()), *more]


def run(command: list[str]) -> tuple[str, float]:
    """Output and CPU seconds of a process, all its threads and kernel workers included."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
        output.seek(0)
        return output.read().decode(), used.ru_utime + used.ru_stime


def open_loop(place: str, file: Path) -> Iterator[Comparison]:
    """Poisson arrivals so rare that nothing queues."""
    for direct in (True, False):
        one = Case(place, "psync", direct, "randread", 4096, file)
        case = replace(one, engine="io_uring", rate=1.0)
        if CASES.search(str(case)) is None:
            continue
        prepare(one)
        yield from compared(replace(case, rate=min(theirs(one, 0)["iops"] / 10, 5000)))


def beside_io_uring(file: Path) -> Iterator[Comparison | str]:
    """CPU time an operation of t/io_uring, which does nothing but reads; it has no latencies."""
    case = Case("disk", "io_uring", False, "randread", 4096, file)
    if CASES.search(f"{case} t/io_uring") is None:
        return
    if IO_URING is None:
        yield "t/io_uring: left out, as T_IO_URING does not name it"
        return
    prepare(case)
    depth = case.depth
    options = f"-d{depth} -s{depth} -c{depth} -b{case.block} -p0 -B1 -F1 -O0 -n1 -r{IO_URING_S}"
    command = ["taskset", "-c", str(CPU), IO_URING, *options.split(), str(file)]

    def theirs() -> float:
        output, cpu_s = run(command)
        found = re.findall(r"^IOPS=([\d.]+)([KM]?)", output, re.MULTILINE)
        rates = [float(number) * {"": 1, "K": 1e3, "M": 1e6}[unit] for number, unit in found]
        return cpu_s * 1e9 / IO_URING_S / statistics.fmean(rates)

    with living_engine() as engine:
        engine.plan([spec_of(case)])
        sides = take_turns(PAIRS, lambda: ours(case, engine)["CPU"], theirs)
    yield Comparison(f"{case} beside t/io_uring CPU", UNITS["CPU"], *sides)


@contextlib.contextmanager
def loop_directory() -> Iterator[Path]:
    """A directory of an ext4 on a loop device over /dev/shm, removed at the end."""
    with contextlib.ExitStack() as stack:
        image = stack.enter_context(tempfile.NamedTemporaryFile(dir="/dev/shm"))
        image.truncate(2 * FILE_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", image.name], check=True)
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        subprocess.run(["mount", "-o", "loop", image.name, directory], check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", directory], check=True)
        yield Path(directory)
