"""testbed/run as its user sees it: status, output, and nothing left behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.testbed

PROJECT = Path(__file__).resolve().parents[2]
RUN = PROJECT / "testbed" / "run"
SMALL = ("-m", "one-node")


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [RUN, *arguments], cwd=PROJECT, capture_output=True, text=True, check=False
    )


def started_with(mark: str) -> list[str]:
    """Programs that run with this text in their environment: what one test started, all of it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text().strip())
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"waited 60 s for {what}"
        time.sleep(0.05)


def test_output_and_status_are_the_commands_own() -> None:
    done = run(*SMALL, "--", "sh", "-c", "echo 'to  stdout'; echo to stderr >&2; pwd; exit 7")
    assert done.returncode == 7
    assert done.stdout == f"to  stdout\n{PROJECT}\n"
    assert done.stderr == "to stderr\n"


def test_a_large_output_arrives_whole_and_a_single_argument_is_a_shell_line() -> None:
    done = run(*SMALL, "seq 1 200000 | cat; exit 3")
    assert done.returncode == 3
    assert done.stdout == "".join(f"{number}\n" for number in range(1, 200_001))


def test_the_project_is_written_through_and_the_rest_is_not(tmp_path: Path) -> None:
    mark = PROJECT / "build" / f"testbed-{os.getpid()}"
    mark.parent.mkdir(exist_ok=True)
    try:
        done = run(*SMALL, f"echo here > {mark}; echo there > {tmp_path}/file; cat {tmp_path}/file")
        assert (done.returncode, done.stdout) == (0, "there\n")
        assert mark.read_text() == "here\n"
        assert list(tmp_path.iterdir()) == []
    finally:
        mark.unlink(missing_ok=True)


def test_a_command_that_leaves_something_running_ends_all_the_same() -> None:
    done = run(*SMALL, "-t", "100", "sleep 1000 & echo started")
    assert (done.returncode, done.stdout) == (0, "started\n")


def test_124_when_time_is_up() -> None:
    done = run(*SMALL, "-t", "25", "echo begun; sleep 1000")
    assert done.returncode == 124
    assert done.stderr == "testbed: the command had not ended after 25 s\n"


def test_125_with_the_consoles_end_when_the_guest_dies() -> None:
    done = run(*SMALL, "echo c > /proc/sysrq-trigger")
    assert done.returncode == 125
    assert "sysrq triggered crash" in done.stderr
    assert done.stderr.endswith(
        "testbed: the guest died before the command ended; above, the end of its console\n"
    )


def test_125_when_it_does_not_come_up() -> None:
    done = run(*SMALL, "--boot-timeout", "1", "true")
    assert done.returncode == 125
    assert done.stderr.endswith("testbed: the guest was not up after 1 s\n")


def test_2_when_the_request_is_wrong() -> None:
    done = run("-m", "nine-nodes", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "testbed/run: no machine nine-nodes; there are: no-thp, old-kernel, one-node, "
        "sixteen-nodes, two-socket-cxl\n"
    )


def test_2_before_the_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    done = run(*SMALL, "true")
    assert done.returncode == 2
    assert done.stderr == f"testbed/run: no kernel 6.12 in {tmp_path}; run `make testbed` once\n"


def test_it_ends_when_what_started_it_is_killed(tmp_path: Path) -> None:
    mark = f"{tmp_path}/mark"
    with subprocess.Popen(
        ["sh", "-c", f"{RUN} -m one-node 'echo running; sleep 1000'; true"],
        cwd=PROJECT,
        env={**os.environ, "TESTBED_TEST": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"running\n"
        shell.kill()
    wait_for(lambda: not started_with(mark), "every process to end")


@pytest.mark.parametrize("moment", ["at once", "booting", "running"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_killed_at_any_moment_it_leaves_nothing_behind(
    number: signal.Signals, moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    mark = f"{tmp_path}/mark"
    mounts = Path("/proc/self/mounts").read_text()
    with subprocess.Popen(
        [RUN, *SMALL, "echo running; sleep 1000"],
        cwd=PROJECT,
        env={**os.environ, "TESTBED_TEST": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        if moment == "booting":
            wait_for(lambda: "qemu-system-x86" in started_with(mark), "QEMU to start")
        if moment == "running":
            assert process.stdout.readline() == b"running\n"
        process.send_signal(number)
        process.wait(30)
    wait_for(lambda: not started_with(mark), "every process to end")
    assert list(tmp_path.iterdir()) == []
    assert Path("/proc/self/mounts").read_text() == mounts
    if number != signal.SIGKILL and moment != "at once":
        assert process.returncode == 128 + number
