"""Storage that fails while it is measured: one line says what, and the run file can be read."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import forked
from children import engines
from tierscope.engine import repetitions
from tierscope.machine.discover import discover
from tierscope.model.cause import Cause
from tierscope.model.event import Event, Progress, Repetition
from tierscope.model.run import Measurement
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.read import read_run
from waiting import PATIENCE_S, wait_until

PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
BACKENDS = {"posix": "yes", "libaio": "yes", "io_uring": "yes", "mmap": "no"}
"""Each with whether it can be direct."""
MIB = 1 << 20


def io(target: Path, output: Path, meanwhile: Callable[[], None], **options: str) -> Outcome:
    """Measure, and call ``meanwhile`` once, as soon as there are rows."""
    usual = {"to": f"file:{target}", "order": "random", "block-size": "4k", "size": "1m"}
    usual |= {
        "budget": "20",
        "precision": "0.0001",
    }  # Long enough for a repetition that has progress.
    topology = discover()
    plan = expand([Request(kind="io", options=usual | options)], topology, thp=False)
    waiting = [meanwhile]

    def watch(event: Event | Measurement) -> None:
        if isinstance(event, Progress) and waiting:
            waiting.pop()()

    outcome = measure(plan, "io", topology, [], output, watch)
    assert not waiting, "it ended before it had rows"
    return outcome


def failed(outcome: Outcome) -> Measurement:
    """The one failed measurement, as its run file has it."""
    (measured,) = read_run(outcome.path).measurements
    assert (measured.status, outcome.exit_code) == ("failed", 1)
    assert "\n" not in measured.reason
    return measured


def tierscope(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return forked.tierscope(*arguments)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of 8 MiB, in the page cache."""
    path = tmp_path / "data"
    path.write_bytes(os.urandom(8 * MIB))
    return path


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A block device of 8 MiB, and the file whose data it gives."""
    image = tmp_path / "image"
    image.write_bytes(os.urandom(8 * MIB))
    answer = subprocess.run(
        ["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        pytest.skip(f"a loop device needs root: {answer.stderr.strip()}")
    device = answer.stdout.strip()
    yield Path(device), image
    subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts a file system of a type, until the end of the test."""
    mounted = []

    def make(kind: str, *options: str) -> Path:
        folder = tmp_path / kind
        folder.mkdir()
        answer = subprocess.run(
            ["mount", "-t", kind, *options, "none", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            pytest.skip(f"mounting a {kind} needs root: {answer.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_drive_that_cannot_be_read_is_named_with_the_place(
    backend: str, drive: tuple[Path, Path], tmp_path: Path
) -> None:
    device, image = drive
    os.truncate(image, 4 * MIB)  # What lies behind it is an error of the drive.
    answer = tierscope(
        *("io", "--to", f"file:{device}", "--order", "random", "--block-size", "4k"),
        *("--backend", backend, "--direct", BACKENDS[backend]),
        *("--budget", "1", "--out", str(tmp_path / "out")),
    )
    assert (answer.returncode, answer.stderr) == (1, "")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    (measured,) = read_run(path).measurements
    assert measured.cause is Cause.STORAGE
    why = "the mapping has no page there; .*" if backend == "mmap" else "Input/output error"
    found = re.fullmatch(rf"read of 4096 bytes at offset (\d+) of {device}: {why}", measured.reason)
    assert found, measured.reason
    assert int(found[1]) >= 4 * MIB
    shown = tierscope("show", str(path))
    assert (shown.returncode, shown.stdout) == (0, answer.stdout)


@pytest.mark.parametrize("backend", ["posix", "libaio", "io_uring"])
def test_a_drive_that_disappears_fails_what_is_measured(
    backend: str, drive: tuple[Path, Path], tmp_path: Path
) -> None:
    device, image = drive
    gone = partial(os.truncate, image, 0)
    measured = failed(io(device, tmp_path / "out", gone, backend=backend))
    assert measured.cause is Cause.STORAGE
    assert measured.reason.endswith(f"of {device}: Input/output error")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_file_that_is_truncated_meanwhile_is_named(
    backend: str, file: Path, tmp_path: Path
) -> None:
    options = {"backend": backend, "direct": "no"}
    measured = failed(io(file, tmp_path / "out", lambda: os.truncate(file, MIB // 2), **options))
    assert measured.cause is Cause.STORAGE
    assert f"of {file}: " in measured.reason
    assert "truncated" in measured.reason


def test_what_does_not_fit_is_refused_before_anything_is_written(
    mount: Callable[..., Path], tmp_path: Path
) -> None:
    folder = mount("tmpfs", "-o", "size=4m")
    asked = ("io", "--to", f"file:{folder}", "--size", "64m", "--budget", "1")
    answer = tierscope(*asked, "--out", str(tmp_path / "out"), "--json")
    assert (answer.returncode, answer.stderr) == (3, "")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    (measured,) = read_run(path).measurements
    assert measured.status == "skipped"
    assert str(folder) in measured.reason
    assert measured.remedy
    assert list(folder.iterdir()) == []


def test_a_file_system_without_direct_io_is_said_to_be_one(
    mount: Callable[..., Path], tmp_path: Path
) -> None:
    file = mount("ramfs") / "data"
    file.write_bytes(os.urandom(MIB))
    answer = tierscope(
        *("io", "--to", f"file:{file}", "--direct", "yes,no", "--budget", "0.5"),
        *("--block-size", "4k", "--out", str(tmp_path / "out")),
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    direct, buffered = read_run(path).measurements
    assert (direct.status, direct.cause) == ("skipped", Cause.STORAGE)
    assert direct.reason == f"{file}: its file system has no direct I/O"
    assert "--direct no" in direct.remedy
    assert buffered.status == "measured"


def test_an_interruption_keeps_the_rows_and_removes_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    command = [
        *PROGRAM,
        *("io", "--to", f"file:{folder}", "--size", "1m", "--block-size", "4k"),
        *("--direct", "no", "--budget", "60", "--precision", "0.0001"),
        *("--out", str(tmp_path / "out")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: list((tmp_path / "out").glob("*.jsonl")), "a run is written")
        wait_until(lambda: list(folder.iterdir()), "a file is measured")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert b"Traceback" not in said
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert read_run(path).footer is not None
    assert tierscope("show", str(path)).returncode == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "cause"), [(signal.SIGKILL, Cause.CRASH), (signal.SIGSTOP, Cause.TIMEOUT)]
)
def test_an_engine_that_dies_or_hangs_leaves_files_that_the_next_run_can_use(
    number: signal.Signals,
    cause: Cause,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if cause is Cause.TIMEOUT:
        monkeypatch.setattr(repetitions, "longest_repetition_s", lambda _spec, _seconds: 5.0)
    folder = tmp_path / "files"
    folder.mkdir()
    options = {"direct": "no", "keep": "yes"}

    def end() -> None:
        (engine,) = engines()
        os.kill(engine, number)

    measured = failed(io(folder, tmp_path / "out", end, **options))
    assert measured.cause is cause
    left = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert left
    again = tierscope(
        *("io", "--to", f"file:{folder}", "--size", "1m", "--direct", "no", "--keep"),
        *("--budget", "0.5", "--out", str(tmp_path / "again")),
    )
    assert (again.returncode, again.stderr) == (0, "")
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == left


def test_a_run_that_is_killed_can_be_shown(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    command = [
        *PROGRAM,
        *("io", "--to", f"file:{folder}", "--size", "1m", "--block-size", "4k"),
        *("--direct", "no", "--budget", "60", "--precision", "0.0001"),
        *("--out", str(tmp_path / "out")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        runs = (tmp_path / "out").glob
        wait_until(lambda: any(b"\n" in path.read_bytes() for path in runs("*.jsonl")), "a header")
        process.kill()
    (path,) = runs("*.jsonl")
    shown = tierscope("show", str(path))
    assert "Traceback" not in shown.stderr
    assert read_run(path).footer is None
    shutil.rmtree(folder)


# Files that other programs write to


KEPT = ("--keep", "--size", "1m", "--block-size", "4k", "--budget", "0.05")


def test_a_kept_file_that_another_program_wrote_is_named_with_what_to_do(tmp_path: Path) -> None:
    """Also where what it wrote are blocks of another file of tierscope's."""
    data = tmp_path / "data"
    data.mkdir()
    command = ("io", "--to", f"file:{data}", "--threads", "2", *KEPT)
    command = (*command, "--out", str(tmp_path / "out"))
    assert tierscope(*command).returncode == 0
    first, second = data / "tierscope.0", data / "tierscope.1"
    own = first.read_bytes()
    first.write_bytes(own[:8192] + second.read_bytes()[8192:])
    answer = tierscope(*command)
    assert (answer.returncode, answer.stderr.count("\n")) == (3, 1), answer.stderr
    assert "that another program wrote since tierscope filled it" in answer.stderr
    assert f"{first} is left alone" in answer.stderr
    assert "at offset 8192" in answer.stderr
    assert f"rm '{first}'" in answer.stderr
    first.unlink()
    assert tierscope(*command).returncode == 0, "as it says"


def test_a_file_that_is_written_to_while_it_is_read_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()

    def rewrite() -> None:
        with (data / "tierscope.0").open("r+b") as file:
            file.seek(12288)
            file.write(os.urandom(MIB - 12288))

    measured = failed(io(data, tmp_path / "out", rewrite, keep="yes", verify="yes"))
    assert measured.cause is Cause.OWNERSHIP
    assert "tierscope.0 was written to while it was measured" in measured.reason
    assert "at offset 12288" in measured.reason
    assert "misdirected" not in measured.reason


def test_traffic_of_other_programs_is_told_apart(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.write_bytes(os.urandom(16 * MIB))
    reading = (
        "import mmap, os, sys\n"
        "file, buffer = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)\n"
        "while True: os.lseek(file, 0, 0); [os.readv(file, [buffer]) for _ in range(16)]\n"
    )
    with subprocess.Popen([sys.executable, "-c", reading, str(other)]) as reader:
        answer = tierscope(
            *("io", "--to", f"file:{data}", "--size", "16m", "--order", "random", "--json"),
            *("--block-size", "4k", "--budget", "0.5", "--out", str(tmp_path / "out")),
        )
        reader.kill()
    assert answer.returncode == 0, answer.stderr
    (result,) = json.loads(answer.stdout)["results"]
    evidence = result["evidence"]
    if "device_bytes_read" not in evidence:
        pytest.skip("the files are on no drive that the kernel counts")
    if "process_bytes_read" not in evidence:
        pytest.skip("the kernel does not count for each process (CONFIG_TASK_IO_ACCOUNTING)")
    asked, own = evidence["storage_io"]["bytes_read"], evidence["process_bytes_read"]
    # Operations that end after the last row are in no row.
    assert 0 <= own - asked <= 8 * MIB
    assert evidence["device_bytes_read"] - own >= MIB, "the other program's"


def test_blocks_of_several_sizes_in_a_kept_file_do_not_stand_in_each_other_s_way(
    tmp_path: Path,
) -> None:
    """The list says what the file holds, whichever measurement wrote to it last."""
    data = tmp_path / "data"
    data.mkdir()
    plan = {"to": f"file:{data}", "keep": "yes", "size": "1m", "order": "random", "op": "write"}
    topology = discover()
    specs = expand(
        [Request(kind="io", options={**plan, "block-size": "4k,512"})], topology, thp=False
    ).measurements
    with repetitions.living_engine() as engine:
        engine.plan(specs)
        for spec in (*specs, *specs):
            events = [*engine.repetition(spec.id, 0.02, fresh=False)]
            assert isinstance(events[-1], Repetition), events[-1]
    reading = ("io", "--to", f"file:{data}", "--keep", "--size", "1m", "--budget", "0.05")
    answer = tierscope(*reading, "--block-size", "4k", "--out", str(tmp_path / "out"))
    assert answer.returncode == 0, answer.stderr
