"""A ballast: how it makes room, what it refuses, and that its memory goes with its parent."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from children import children
from tierscope.machine.cgroup import MemoryLimit
from tierscope.model.errors import ExitCode, UserError
from tierscope.place import ballast as module
from tierscope.place.ballast import MIB, NAME, Memory, ballast, holding, make_room, tolerance
from tierscope.place.kernel import Kernel
from tierscope.place.room import Room, room, settled_room
from waiting import wait_until

SIZE = 64 * MIB
ZONES = """\
Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 99
  pages free     3000
        boost    0
        min      10
        low      1000
        high     56
        protection: (0, 100, 400, 500, 600)
      nr_free_pages 3840
  pagesets
    cpu: 0
              count:    7
              high:     378
    cpu: 1
              count:    3
Node 0, zone   Normal
  pages free     50
        low      60
        protection: (0, 0, 0, 0, 0)
Node 0, zone  Movable
  pages free     0
        low      32
        protection: (0, 0, 0, 0, 0)
Node 0, zone   Device
  pages free     0
        low      0
        protection: (0, 0, 0, 0, 0)
Node 2, zone   Normal
  pages free     {free}
        low      1
        protection: (0, 0, 0, 0)
"""


BUDDIES = """\
Node 0, zone      DMA      9      8      7      6      5      4      3      2      1      2      3
Node 0, zone   Normal     99     98     97      0      0      0      0      0      0      1      0
Node 2, zone   Normal      0      0      0      0      0      0      0      0      0      0      5
"""


def machine(root: Path, free: int = 1 << 20, nodes: str = "0,2") -> Kernel:
    """A machine whose node 0 has little and whose node 2 has ``free`` pages."""
    for path, text in {
        "proc/zoneinfo": ZONES.format(free=free),
        "proc/buddyinfo": BUDDIES,
        "proc/self/status": "Mems_allowed_list: 0-9",
        "sys/devices/system/node/has_memory": nodes,
        "sys/devices/system/node/online": nodes,
        "sys/devices/system/node/possible": "0-3",
        **{
            f"sys/devices/system/node/node{node}/meminfo": (
                f"Node {node} MemTotal: 8388608 kB\nNode {node} Active(file): 100 kB\n"
                f"Node {node} Inactive(file): 30 kB\nNode {node} Mapped: 20 kB\n"
            )
            for node in (0, 2)
        },
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Kernel(root)


def test_room_is_what_is_above_watermarks_and_reserves(tmp_path: Path) -> None:
    kernel = machine(tmp_path)
    page = os.sysconf("SC_PAGESIZE")
    # Of the first zone 3000, less 1000 and the reserve from requests that may be served by Movable,
    # the third zone: 400. The second zone is below its watermark. The CPUs' lists have 7 and 3.
    # Pieces of 512 and 1024 pages are as large as huge pages.
    huge = (2 * 512 + 3 * 1024 + 512) * page
    assert room(0, kernel) == Room(8 << 30, 1600 * page, 110 << 10, huge, 10 * page)
    assert room(2, kernel).free == ((1 << 20) - 1) * page
    assert room(7, kernel) == Room(0, 0, 0)


class ListsOfCpus(Kernel):
    """Each refresh gives half of the pages in the first CPU's list back to the node, down to 3."""

    in_list = 99
    refused = False
    writes = 0

    def text(self, path: str) -> str | None:
        found = super().text(path)
        if path != "/proc/zoneinfo" or found is None:
            return found
        return found.replace("count:    7", f"count:    {self.in_list}")

    def write(self, path: str, value: str) -> None:
        assert (path, value) == ("/proc/sys/vm/stat_refresh", "1")
        self.writes += 1
        if self.refused:
            raise UserError("cannot write: needs root")
        self.in_list = max(3, self.in_list // 2)


def test_cpus_give_back_what_is_in_their_lists(tmp_path: Path) -> None:
    machine(tmp_path)
    kernel = ListsOfCpus(tmp_path)
    page = os.sysconf("SC_PAGESIZE")
    assert room(0, kernel).lists == 102 * page
    assert settled_room(0, kernel).lists == 6 * page
    assert kernel.writes < 12
    kernel.in_list, kernel.refused, kernel.writes = 99, True, 0
    assert settled_room(0, kernel).lists == 102 * page
    assert kernel.writes == 3


def test_this_machine_s_room_is_less_than_what_is_free() -> None:
    found = room(0)
    meminfo = Kernel("/").fields("/sys/devices/system/node/node0/meminfo")
    assert found.total > 0
    assert 0 <= found.cache <= meminfo["Active(file)"] + meminfo["Inactive(file)"] + 64 * MIB


class FakeMemory(Memory):
    """A node of 8 GiB that drops page cache once its free memory is used up."""

    def __init__(self, free: int, cache: int, stuck: int = 0, most: int = 8 << 30) -> None:
        self.free, self.cache, self.stuck = free * MIB, cache * MIB, stuck * MIB
        self.start = self.end = 0
        self._limit = most
        self.steps: list[tuple[int, bool]] = []
        self.lowest = self.free

    def look(self) -> Room:
        return Room(8 << 30, max(0, self.free), self.cache, max(0, self.free - 100 * MIB))

    def take(self, size: int, huge: bool = True) -> int:
        size = min(size, self._limit - self.end)
        self.steps.append((size, huge))
        self.end += size
        self.free -= size
        dropped = min(max(0, -self.free), self.cache - self.stuck)
        self.cache -= dropped
        self.free += dropped
        self.lowest = min(self.lowest, self.free)
        return size

    def give(self, size: int) -> int:
        size = min(size, self.held)
        self.start += size
        self.free += size
        return size


def test_all_is_taken_and_huge_pages_are_given_back() -> None:
    memory = FakeMemory(free=6000, cache=10)
    make_room(memory, 500 * MIB, memory.look)
    assert memory.free == pytest.approx(500 * MIB, abs=tolerance(memory.look()) / 4)
    assert memory.lowest >= 0
    assert memory.start == pytest.approx(500 * MIB, abs=tolerance(memory.look()))
    assert [huge for _, huge in memory.steps] == [True] * 3 + [False]
    assert max(size for size, _ in memory.steps) == 2 << 30


def test_page_cache_is_dropped_so_that_the_room_is_free() -> None:
    memory = FakeMemory(free=1000, cache=5000)
    make_room(memory, 2000 * MIB, memory.look)
    assert memory.free == pytest.approx(2000 * MIB, abs=tolerance(memory.look()) / 4)
    assert memory.cache <= tolerance(memory.look())
    assert memory.start > 0  # it gave back what it took first
    assert {huge for size, huge in memory.steps if size <= 256 * MIB} >= {False}


def test_page_cache_that_is_in_use_ends_the_dropping() -> None:
    memory = FakeMemory(free=1000, cache=5000, stuck=3000)
    make_room(memory, 200 * MIB, memory.look)
    assert memory.free == pytest.approx(200 * MIB, abs=tolerance(memory.look()) / 4)
    assert memory.cache == 3000 * MIB
    assert memory.lowest > -4 * 256 * MIB


def test_room_that_others_fill_meanwhile_leaves_nothing_to_hold() -> None:
    memory = FakeMemory(free=1000, cache=0)
    others = False

    def look() -> Room:
        nonlocal others
        others = others or memory.held > 500 * MIB
        memory.free = 0 if others else memory.free
        return memory.look()

    make_room(memory, 100 * MIB, look)
    assert memory.end > 500 * MIB
    assert memory.held == 0


def test_room_that_others_free_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 0)
    memory = FakeMemory(free=1000, cache=0, most=2000 * MIB)
    with pytest.raises(UserError, match="100 MiB were to be left free, and 900 MiB are, after"):
        make_room(memory, 100 * MIB, lambda: Room(8 << 30, 900 * MIB, 0))


def test_a_machine_with_one_node_is_refused(tmp_path: Path) -> None:
    kernel = machine(tmp_path, nodes="0")
    with (
        pytest.raises(UserError, match="node 0 is the only one that this process may use"),
        ballast(0, MIB, kernel),
    ):
        pytest.fail("it began")


def test_a_node_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="node 3 is offline"), ballast(3, 0, machine(tmp_path)):
        pytest.fail("it began")


def test_without_room_on_another_node_it_is_refused(tmp_path: Path) -> None:
    kernel = machine(tmp_path, free=50)
    with (
        pytest.raises(UserError, match="no other node has room: nodes 2 have at most 1 MiB"),
        ballast(0, 0, kernel),
    ):
        pytest.fail("it began")


def test_a_cgroup_s_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "memory_limit", lambda: MemoryLimit(1 << 30, 3 * MIB))
    with (
        pytest.raises(UserError, match="the cgroup that tierscope is in leaves 3 MiB"),
        ballast(0, 0, machine(tmp_path)),
    ):
        pytest.fail("it began")


def test_where_no_more_is_available_nothing_is_held(tmp_path: Path) -> None:
    with ballast(0, 1 << 30, machine(tmp_path)) as held:
        assert (held.held_bytes, held.pid, held.on_node()) == (0, 0, 0)
        assert held.remaining().free < 1 << 30
        assert "less than was to be left" in held.drift()


def test_what_is_held_is_locked_on_the_node_until_the_block_ends() -> None:
    with holding(0, SIZE, lambda memory: memory.take(SIZE)) as held:
        assert held.held_bytes == held.on_node() == held.locked() == SIZE
        assert Path(f"/proc/{held.pid}/comm").read_text().strip() == NAME
        assert Path(f"/proc/{held.pid}/oom_score_adj").read_text().strip() == "1000"
        files = {one.resolve() for one in Path(f"/proc/{held.pid}/fd").iterdir()}
        assert files == {Path(os.devnull)}
        os.kill(held.pid, signal.SIGTERM)  # the end of a service, which tierscope gets, too
        assert held.on_node() == SIZE
    assert held.pid not in children()


def test_what_was_taken_first_is_given_back() -> None:
    def fill(memory: Memory) -> None:
        first = memory.start
        for huge in (True, False):
            assert memory.take(SIZE, huge) == SIZE
        assert memory.take(SIZE) == 0
        assert memory.give(SIZE) == SIZE
        assert memory.start == first + SIZE

    with holding(0, 2 * SIZE, fill) as held:
        assert held.held_bytes == held.on_node() == held.locked() == SIZE


def test_pages_are_written_one_by_one_where_the_kernel_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MADV_POPULATE_WRITE", 9999)
    with holding(0, SIZE, lambda memory: memory.take(SIZE)) as held:
        assert held.on_node() == SIZE


def test_what_the_child_cannot_do_is_raised_here() -> None:
    def refused(_memory: Memory) -> None:
        raise UserError("no room", ExitCode.SOMETHING_FAILED)

    before = children()
    with pytest.raises(UserError, match="no room") as caught, holding(0, SIZE, refused):
        pytest.fail("it began")
    assert caught.value.exit_code == ExitCode.SOMETHING_FAILED
    with (
        pytest.raises(UserError, match="memory cannot be bound to node 1000"),
        holding(1000, SIZE, refused),
    ):
        pytest.fail("it began")
    assert children() == before


def test_a_child_that_was_killed_is_an_error() -> None:
    def killed(_memory: Memory) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(UserError, match="memory was short"), holding(0, SIZE, killed):
        pytest.fail("it began")


def test_a_ballast_that_the_kernel_took_is_told() -> None:
    with holding(0, SIZE, lambda memory: memory.take(SIZE)) as held:
        os.kill(held.pid, signal.SIGKILL)
        wait_until(lambda: held.on_node() == 0, "its memory is free")
        assert held.drift() == "the kernel took the ballast on node 0 away: memory was short"


def test_too_small_a_limit_of_locked_memory_is_named() -> None:
    """As of a user that is not root, in a process of its own."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (MIB, MIB))
            if os.geteuid() == 0:
                os.setuid(65534)
            Memory(0, SIZE)
        except UserError as error:
            wanted = "64 MiB cannot be locked: Cannot allocate memory; the limit is 1 MiB: "
            status = 0 if str(error).startswith(wanted) and "ulimit -l 65536" in str(error) else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


HOLDS = f"""
import sys
from tierscope.place.ballast import holding
with holding(0, {SIZE}, lambda memory: memory.take({SIZE})) as held:
    print(held.pid, flush=True)
    sys.stdin.read()
"""


def test_its_memory_goes_when_the_parent_is_killed() -> None:
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}/comm").read_text().strip() == NAME
        parent.kill()
    wait_until(lambda: not _has_memory(pid), "the child has ended, too")


def _has_memory(pid: int) -> bool:
    try:
        return bool(Path(f"/proc/{pid}/maps").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_parent_that_died_before_the_child_asked_leaves_no_child() -> None:
    """The child is started with another parent's number, as if that had died and been replaced."""
    told, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        module._become(0, SIZE, lambda memory: memory.take(SIZE), os.getpid(), tells)
    os.close(tells)
    _, status = os.waitpid(pid, 0)
    assert status == 0
    assert os.read(told, 1) == b""
    os.close(told)
