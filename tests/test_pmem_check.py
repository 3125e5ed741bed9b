"""Writers of persistent memory that are cut off: what is found of them, and what is refused."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forked import tierscope
from tierscope.engine.pmem_check import last_acknowledged
from waiting import wait_until

PROGRAM = [sys.executable, "-c", "from tierscope.cli.main import main; main()", "pmem-check"]
KILLS = "30"


def check(*words: object, status: int = 0, **variables: str) -> "subprocess.CompletedProcess[str]":
    done = tierscope("pmem-check", *words, environment=variables)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def checks(*words: object, status: int = 0, **variables: str) -> dict[str, dict[str, Any]]:
    """What was found of each writer: all methods here have writers of their own."""
    found = json.loads(check(*words, "--json", status=status, **variables).stdout)["checks"]
    return {f"{one['method']} {one['writer']}": one for one in found}


def verdicts(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: one["verdict"] for name, one in found.items()}


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory, where durability costs no time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tierscope-test-") as name:
        yield Path(name)


def test_transactions_survive_kills_and_every_broken_writer_is_caught(memory: Path) -> None:
    (memory / "theirs").write_text("precious")
    found = checks(memory, "--kills", KILLS, "--seed", "1")
    assert verdicts(found) == {
        "kill transactions": "consistent",
        "kill no-transactions": "caught",
        "replay slots": "consistent",
        "replay slots-no-flush": "caught",
        "replay slots-no-fence": "caught",
    }
    assert found["kill transactions"]["tried"] == int(KILLS)
    assert found["kill transactions"]["inconsistent"] == 0
    assert found["kill transactions"]["generations"] > int(KILLS)
    assert found["replay slots"]["sampled"] == 0, "all of its states are tried"
    assert [path.name for path in memory.iterdir()] == ["theirs"]
    assert (memory / "theirs").read_text() == "precious"


def test_the_table_says_what_each_method_proves(memory: Path) -> None:
    shown = " ".join(tierscope("pmem-check", memory, "--kills", "2").stdout.split())
    assert "pool, in transactions 2 kills 2 consistent" in shown
    assert "They do not show that stores are flushed." in shown
    assert "not of libpmemobj" in shown


def test_a_method_that_misses_a_broken_writer_fails(memory: Path) -> None:
    # One state of a crash point: the one without any pending store.
    found = checks(memory, "--kills", "1", "--states", "1", "--seed", "1", status=1)
    assert found["replay slots-no-fence"]["verdict"] == "not caught"


def test_the_same_seed_tries_the_same_states(memory: Path) -> None:
    words = ["pmem-check", memory, "--kills", "1", "--states", "100", "--json", "--seed"]
    first, second, other = (json.loads(tierscope(*words, seed).stdout) for seed in (5, 5, 6))
    assert first["checks"][2:] == second["checks"][2:] != other["checks"][2:]


def test_without_libpmemobj_the_kills_are_skipped_with_the_package(
    memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "libpmemobj.so.1").write_text("no library")
    found = checks(memory, LD_LIBRARY_PATH=str(tmp_path))
    skipped = found["kill transactions"]
    assert skipped["verdict"] == "skipped"
    assert "apt-get install libpmemobj1" in skipped["reason"]
    assert found["replay slots"]["verdict"] == "consistent"


def write_until_killed(writer: str, directory: Path) -> int:
    """Have a writer write for a moment; return the last number that it printed."""
    with subprocess.Popen(
        [*PROGRAM, str(directory), "--until-cut", writer],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(30)]
        process.kill()
        said += process.stdout.readlines()
    return last_acknowledged(b"".join(said))


@pytest.mark.parametrize("writer", ["slots", "transactions"])
def test_what_was_acknowledged_before_a_cut_is_there_and_goes(writer: str, memory: Path) -> None:
    last = write_until_killed(writer, memory)
    assert last >= 29
    assert len([*memory.iterdir()]) == 1
    found = checks(memory, "--after-cut", f"{writer}={last}")
    assert verdicts(found) == {f"power-cut {writer}": "consistent"}
    assert [*memory.iterdir()] == []


def test_a_killed_writer_without_flushes_is_not_noticed(memory: Path) -> None:
    last = write_until_killed("slots-no-flush", memory)
    found = checks(memory, "--after-cut", f"slots-no-flush={last}", status=1)
    assert verdicts(found) == {"power-cut slots-no-flush": "not caught"}


def test_an_acknowledged_number_that_is_lost_is_inconsistent_and_the_file_stays(
    memory: Path,
) -> None:
    write_until_killed("slots", memory)
    (file,) = memory.iterdir()
    found = checks(memory, "--after-cut", "slots=999999999999", status=1)["power-cut slots"]
    assert found["verdict"] == "inconsistent"
    assert "generation 999999999999 was acknowledged" in found["first"]
    assert str(file) in found["reason"]
    assert file.exists()


def test_a_file_that_is_lost_is_inconsistent(memory: Path) -> None:
    found = checks(memory, "--after-cut", "slots=1", status=1)["power-cut slots"]
    assert "is not in" in found["first"]


def test_files_of_others_are_not_looked_at(memory: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(bytes(8 << 20))
    (memory / "tierscope-pmem-check.slots.0123456789abcdef").symlink_to(theirs)
    os.mkfifo(memory / "tierscope-pmem-check.slots.00000000000000ff")
    (memory / "tierscope-pmem-check.slots.mine").write_bytes(bytes(8 << 20))
    found = checks(memory, "--after-cut", "slots=0", status=1)["power-cut slots"]
    assert "is not in" in found["first"]
    assert len([*memory.iterdir()]) == 3
    assert theirs.exists()


def test_killed_it_leaves_nothing(memory: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, str(memory), "--kills", "100000"], stdout=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: holders(memory), "a writer appears")
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not holders(memory), "all writers end")
    assert [*memory.iterdir()] == []


def holders(directory: Path) -> list[str]:
    """Processes that have a file of the directory open, named or not."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for one in process.glob("fd/*"):
            try:
                target = str(one.readlink())
            except OSError:
                continue
            if target.startswith(f"{directory}/"):
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], "none is missing; name a directory"),
        (["file"], "file is a file; name a directory"),
        ([".", "--kills", "0"], "0 is not in the range"),
        ([".", "--until-cut", "nobody"], "'nobody' is not one of"),
        ([".", "--until-cut", "slots", "--kills", "3"], "--kills has no effect here"),
        ([".", "--after-cut", "slots"], "--after-cut slots: takes WRITER=N"),
        ([".", "--after-cut", "slot=3"], "did you mean 'slots'?"),
        ([".", "--after-cut", "slots=1", "--seed", "1"], "--seed has no effect here"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(
    words: list[str], said: str, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(memory)
    (memory / "file").touch()
    done = check(*words, status=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in memory.iterdir()] == ["file"]


def test_a_directory_without_room_is_named(memory: Path) -> None:
    limited = ["bash", "-c", 'ulimit -f 1000; exec "$@"', "bash", *PROGRAM, str(memory)]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith(f"tierscope: {memory} has no room for 8 MiB")
    assert done.stderr.count("\n") == 1


@given(st.lists(st.integers(0, 1 << 60), min_size=1), st.integers(0, 30))
def test_a_number_that_was_cut_is_not_acknowledged(numbers: list[int], cut: int) -> None:
    whole = "".join(f"{number}\n" for number in numbers).encode()
    left = whole[: max(len(str(numbers[0])) + 1, len(whole) - cut)]
    expected = numbers[left.count(b"\n") - 1]
    assert last_acknowledged(left) == expected
    assert last_acknowledged(left[-48:]) == expected
