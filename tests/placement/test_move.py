"""Moving pages, policies of files in memory, and hmctl's command line, on one node or none."""

import ctypes
import errno
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fixture_machine import make_machine

from forked import tierscope
from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.peers.hmsdk import hmctl
from tierscope.place import kernel as system_calls
from tierscope.place import pages as moving
from tierscope.place.memory_file import attached, place_file, place_segment
from tierscope.place.nodes import Selection
from tierscope.place.pages import BLOCK, mappings, move
from tierscope.place.policy import Policy

TIERSCOPE = Path(sys.executable).with_name("tierscope")


KEY = 0x70000000 | os.getpid()
"""Of a segment; keys are the whole machine's, and other processes run these tests, too."""


class FakeKernel:
    """Pages of one mapping on node 0, which go where they are told to, but for some."""

    def __init__(self, start: int, pages: int, refusals: dict[int, int], room: int = 1 << 30):
        self.nodes = {start + 4096 * page: 0 for page in range(pages)}
        self.refusals = {start + 4096 * page: number for page, number in refusals.items()}
        self.room = room

    def move_pages(
        self, _pid: int, addresses: Sequence[int], to: Sequence[int] | None, _shared: bool = False
    ) -> list[int]:
        if to is None:
            return [self.nodes.get(address, -errno.ENOENT) for address in addresses]
        return [self._move(*pair) for pair in zip(addresses, to, strict=True)]

    def _move(self, address: int, node: int) -> int:
        if address in self.refusals:
            return -self.refusals[address]
        if self.room <= 0:
            return -errno.ENOMEM
        self.room -= 4096
        self.nodes[address] = node
        return node


def stat_of(start_time: str) -> str:
    """Process 7 with a name that is no help to those who split it."""
    return f"7 (a) 1 (b) S {'0 ' * 18}{start_time} 0 0\n"


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Process 7: 20 MiB on node 0, beginning between two blocks."""
    start, size = 0x7F0000100000, 20 << 20
    proc = tmp_path / "proc/7"
    proc.mkdir(parents=True)
    line = f"{start:x} default anon=5120 N0={size // 4096} kernelpagesize_kB=4\n"
    (proc / "numa_maps").write_text(line)
    (proc / "maps").write_text(f"{start:x}-{start + size:x} rw-p 00000000 00:00 0\n")
    (proc / "stat").write_text(stat_of("4000"))
    monkeypatch.setattr(moving, "Files", lambda: Files(tmp_path))
    return start


def test_what_stays_is_counted_by_the_reason(process: int, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = {1: errno.EACCES, 2: errno.EBUSY, 3: errno.EBUSY}
    kernel = FakeKernel(process, 5120, refusals)
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    moved = move(7, (0,), Selection((2,)))
    assert moved.moved_bytes == moved.to_bytes[2] == 5117 * 4096
    assert {why.partition(";")[0]: count for why, count in moved.stayed.items()} == {
        "mapped by several processes": 4096,
        "in use by the kernel just then, as for I/O, or pinned": 2 * 4096,
    }


def test_shares_are_in_whole_blocks(process: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel(process, 5120, {})
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    moved = move(7, (0,), Selection((2, 4), (3, 1)))
    assert sum(moved.to_bytes.values()) == 20 << 20
    assert abs(moved.to_bytes[4] - (5 << 20)) <= BLOCK
    blocks = {address // BLOCK: node for address, node in kernel.nodes.items()}
    assert all(blocks[address // BLOCK] == node for address, node in kernel.nodes.items())


def test_moving_ends_where_there_is_no_room(process: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel(process, 5120, {}, room=0)
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    moved = move(7, (0,), Selection((2,)))
    assert moved.moved_bytes == 0
    assert moved.stayed["no room on the node that they were to go to"] == 16 << 20
    assert moved.stayed["not tried, since there is no room"] == 4 << 20


def test_where_nothing_is_left_to_move_there_may_be_room(
    process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first 16 MiB all has gone elsewhere meanwhile; the rest still moves."""
    kernel = FakeKernel(process, 5120, {})
    kernel.nodes |= {process + 4096 * page: 5 for page in range(4096)}
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    moved = move(7, (0,), Selection((2,)))
    assert moved.moved_bytes == moved.to_bytes[2] == 4 << 20
    assert moved.stayed == {}


def test_a_call_that_ends_for_want_of_room_counts_its_pages(
    process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(process, 5120, {}, room=1 << 20)

    def move_pages(
        pid: int, addresses: Sequence[int], to: Sequence[int] | None, shared: bool = False
    ) -> list[int]:
        status = kernel.move_pages(pid, addresses, to, shared)
        if to is not None and -errno.ENOMEM in status:
            raise OSError(errno.ENOMEM, "no memory")
        return status

    monkeypatch.setattr(system_calls, "move_pages", move_pages)
    moved = move(7, (0,), Selection((2,)))
    assert moved.moved_bytes == 1 << 20
    assert sum(moved.stayed.values()) == 19 << 20


def test_a_later_process_of_the_same_number_is_left_alone(
    process: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = FakeKernel(process, 5120, {})
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    stat = tmp_path / "proc/7/stat"
    moved = move(7, (0,), Selection((2,)), 0, False, lambda *_: stat.write_text(stat_of("4001")))
    assert moved.ended
    assert moved.moved_bytes == 16 << 20
    assert moved.moved_bytes == 4096 * [*kernel.nodes.values()].count(2)


def test_a_rate_is_kept(process: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel(process, 5120, {})
    slept: list[float] = []
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    monkeypatch.setattr(moving.time, "sleep", slept.append)
    move(7, (0,), Selection((2,)), rate=1 << 20)
    assert [round(one) for one in slept] == [16, 20]


def test_a_process_of_somebody_else_is_refused(
    process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(system_calls, "move_pages", refuse)
    with pytest.raises(UserError, match="be its owner, or root"):
        move(7, (0,), Selection((2,)))


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return tierscope(*words)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("PID --from 0 --to 9", "node 9 does not exist"),
        ("PID --from 0 --to 0", "is in --from and is all of --to: nothing to move"),
        ("4194000 --from 0 --to 0@2", "there is no process 4194000"),
        ("PID --from 0@2 --to 0@2", "only --to takes weights"),
    ],
)
def test_wrong_moves_are_refused_in_one_line(words: str, complaint: str) -> None:
    done = run("place", "move", *words.replace("PID", str(os.getpid())).split())
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_move_says_what_it_found() -> None:
    with mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        area.write(bytes(4 << 20))
        done = run("place", "move", str(os.getpid()), "--from", "0", "--to", "0@1", "--json")
    found = json.loads(done.stdout)
    assert found["moved_bytes"] >= 4 << 20
    assert found["to_bytes"]["0"] == found["moved_bytes"]
    assert done.returncode == (1 if found["stayed"] else 0)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    path = Path(f"/dev/shm/tierscope-test-{os.getpid()}")
    yield path
    path.unlink(missing_ok=True)


def test_a_file_in_memory_is_made_and_its_holes_stay(in_memory: Path) -> None:
    assert place_file(in_memory, Policy("bind", (0,)), 1 << 20) == {}
    with in_memory.open("r+b") as file:
        file.seek(500 << 10)
        file.write(b"here")
    assert place_file(in_memory, Policy("weighted", (0,), (3,))) == {0: 4096}
    assert in_memory.stat().st_blocks * 512 == 4096


def test_files_that_have_no_policy_are_refused(in_memory: Path, tmp_path: Path) -> None:
    in_memory.touch()
    with pytest.raises(UserError, match="is empty; --size makes it longer"):
        place_file(in_memory, Policy("bind", (0,)))
    with pytest.raises(UserError, match="No such file or directory; --size makes it"):
        place_file(in_memory.with_name("tierscope-nowhere"), Policy("bind", (0,)))
    with pytest.raises(UserError, match="is on no file system in memory"):
        place_file(Path("/proc/version"), Policy("bind", (0,)))


@pytest.fixture
def segment() -> Iterator[int]:
    """The id of a segment of 1 MiB with the key ``KEY`` and data in its third page."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(KEY, 1 << 20, 0o1600)
    assert number >= 0, os.strerror(ctypes.get_errno())
    start = libc.shmat(number, None, 0)
    ctypes.memset(start + 2 * 4096, 1, 1)
    yield number
    libc.shmdt(ctypes.c_void_p(start))
    libc.shmctl(number, 0, None)


def test_a_segment_of_shared_memory_is_found_by_key_and_id(segment: int) -> None:
    for name in (f"shmkey:0x{KEY:x}", f"shmkey:{KEY}", f"shmid:{segment}"):
        assert place_segment(name, Policy("bind", (0,))) == {0: 4096}
    command = [TIERSCOPE, "place", "file", f"shmkey:0x{KEY:X}", "--to", "node:0@3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["bytes_by_node"] == {"0": 4096}


def test_a_segment_has_its_policy_for_every_process(segment: int) -> None:
    place_segment(f"shmkey:0x{KEY:x}", Policy("bind", (0,)))
    with attached(f"shmid:{segment}") as area:
        (seen,) = [one for one in mappings(os.getpid()) if one.start == area.start]
    assert seen.policy == "bind:0"


def test_a_segment_that_is_not_there_is_refused() -> None:
    for name in ("shmkey:0x12345", "shmid:99999999"):
        with pytest.raises(UserError, match="there is no such segment; ipcs -m lists"):
            place_segment(name, Policy("bind", (0,)))
    command = [TIERSCOPE, "place", "file", "shmid:1", "--to", "node:0", "--size", "1m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "leave --size out" in done.stderr) == (2, True)


@pytest.fixture
def four_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(make_machine(tmp_path))
    monkeypatch.setattr("tierscope.place.nodes.Files", lambda: files)


@pytest.mark.usefixtures("four_nodes")
@pytest.mark.parametrize(
    ("words", "mode", "mask"),
    [
        ("-m 0,2 x", "2", "5"),
        ("-p 1 x", "1", "2"),
        ("-P1-2 x", "5", "6"),
        ("-i all x", "3", "23"),
        ("--weighted-interleave=0,4 x", "6", "17"),
        ("--weighted 0 x", "6", "1"),
        ("-i 0 -w 1 -p 2 -P 4 x", "5", "16"),
        ("-i 0 -w 1 -p 2 x", "1", "4"),
        ("-i 0 -w 1 x", "6", "2"),
        ("-m 0 x -m 2", "2", "1"),
        ("x", None, None),
    ],
)
def test_hmctl_sets_its_environment(words: str, mode: str | None, mask: str | None) -> None:
    options, command = hmctl._parse(words.split())
    found = hmctl.variables(options)
    assert command[0] == "x"
    assert found["HMALLOC_JEMALLOC"] == "1"
    assert (found.get("HMALLOC_MPOL_MODE"), found.get("HMALLOC_NODEMASK")) == (mode, mask)


@pytest.mark.usefixtures("four_nodes")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("-m 3 x", "node 3 is offline"),
        ("-p 0,1 x", "name one node; --preferred-many takes several"),
        ("-w 0@3 x", "the weights are the kernel's"),
        ("-z x", "option -z not recognized"),
        ("-m", "option -m requires argument"),
        ("-m 0", "name a program"),
    ],
)
def test_hmctl_refuses_what_it_cannot_do(words: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        hmctl.run(words.split())


def test_hmctl_becomes_the_program_and_sets_no_policy() -> None:
    script = "env | grep ^HMALLOC_ | sort; grep -c -v default /proc/self/numa_maps"
    done = run("hmctl", "-m", "0", "sh", "-c", script)
    assert done.stdout.splitlines() == [
        "HMALLOC_JEMALLOC=1", "HMALLOC_MPOL_MODE=2", "HMALLOC_NODEMASK=1", "0",
    ]  # fmt: skip
    assert run("hmctl", "-?").stdout.startswith("Usage: tierscope hmctl [OPTION]... PROGRAM")
    assert run("hmctl", "--usage").stdout.startswith("Usage: tierscope hmctl [-?] [-m NODES]")
    assert run("hmctl", "nine-times-nine").returncode == 127


def test_progress_is_of_all_that_is_on_the_sources(
    process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two batches; node 3, a source too, has nothing."""
    kernel = FakeKernel(process, 5120, {})
    monkeypatch.setattr(system_calls, "move_pages", kernel.move_pages)
    seen: list[tuple[int, int]] = []
    move(7, (0, 3), Selection((2,)), progress=lambda m, of: seen.append((m.moved_bytes, of)))
    assert seen == [(16 << 20, 20 << 20), (20 << 20, 20 << 20)]
