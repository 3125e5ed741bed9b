"""A fast node that is made smaller: programs get what is left of it, and the rest elsewhere."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tierscope.place.ballast import MIB, NAME, Held, ballast, tolerance
from tierscope.place.launch import start
from tierscope.place.policy import Policy
from tierscope.place.room import room
from tierscope.place.shared_memory import own_memory
from waiting import wait_until

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("nothing_is_killed")]

FAST = 0
ROOM = 64 * MIB
TAKES = 128 * MIB
ABOUT = 40 * MIB
"""CPUs have lists of free pages for programs there: on a node of 1 GiB of about 30 MiB."""
KEEPS = f"""
import mmap, sys
memory = mmap.mmap(-1, {TAKES}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[::4096] = bytes([1]) * ({TAKES} // 4096)
print("ready", flush=True)
sys.stdin.read()
"""


def shown(held: Held) -> None:
    now = held.remaining()
    print(
        f"held {held.held_bytes >> 20} MiB in {held.seconds:.1f} s, on the node "
        f"{held.on_node() >> 20}, locked {held.locked() >> 20}; free {now.free >> 20}, "
        f"cache {now.cache >> 20}, pieces {now.pieces >> 20}, lists {now.lists >> 20}; "
        f"{held.drift()}"
    )


def bytes_of_a_program(policy: Policy) -> dict[int, int]:
    """Where a program has 128 MiB."""
    command = [sys.executable, "-S", "-c", KEEPS]
    with start(
        policy, command, None, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        found = own_memory([program.pid])
        print({name: size >> 20 for name, size in vars(room(FAST)).items()})
        program.communicate()
    print(policy, {node: size >> 20 for node, size in found.items()})
    return found


@pytest.mark.parametrize("policy", [Policy("preferred", (0,)), Policy("bind", (0, 2))], ids=str)
def test_a_program_gets_the_room_and_the_rest_on_another_node(policy: Policy) -> None:
    before = room(FAST)
    with ballast(FAST, ROOM) as held:
        shown(held)
        assert held.held_bytes == held.on_node() == held.locked()
        assert held.held_bytes > before.free - ROOM - ABOUT
        assert held.remaining().free == pytest.approx(ROOM, abs=tolerance(before))
        found = bytes_of_a_program(policy)
        assert found[FAST] == pytest.approx(ROOM, abs=ABOUT)
        assert sum(found.values()) >= TAKES
        wait_until(
            lambda: abs(held.remaining().free - ROOM) < ABOUT,
            "the program's memory is free again",
        )
        shown(held)
    wait_until(lambda: room(FAST).free > before.free - 64 * MIB, "the node has its memory back")
    assert bytes_of_a_program(Policy("preferred", (FAST,)))[FAST] >= TAKES


def test_page_cache_makes_room() -> None:
    """A program that may have memory of another node has no page cache reclaimed for it."""
    with contextlib.ExitStack() as stack:
        cpus = os.sched_getaffinity(0)
        stack.callback(os.sched_setaffinity, 0, cpus)
        os.sched_setaffinity(0, [0])
        for drive in sorted(Path("/dev").glob("nvme?n1"))[:2]:
            file = stack.enter_context(drive.open("rb", buffering=0))
            while file.read(4 * MIB):
                pass
        os.sched_setaffinity(0, cpus)
        before = room(FAST)
        assert before.cache > 200 * MIB
        print({name: size >> 20 for name, size in vars(before).items()})
        with ballast(FAST, ROOM) as held:
            shown(held)
            assert held.remaining().cache < before.cache // 2
            found = bytes_of_a_program(Policy("preferred", (FAST,)))
            assert found[FAST] == pytest.approx(ROOM, abs=ABOUT)


HOLDS = f"""
import sys
from tierscope.place.ballast import ballast
with ballast({FAST}, {ROOM}) as held:
    print(held.pid, flush=True)
    sys.stdin.read()
"""


def test_memory_comes_back_when_tierscope_is_killed() -> None:
    before = room(FAST)
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}/comm").read_text().strip() == NAME
        assert room(FAST).free < before.free // 2
        os.kill(parent.pid, signal.SIGKILL)
    began = time.monotonic()
    wait_until(lambda: room(FAST).free > before.free - 64 * MIB, "the node has its memory back")
    print(f"given back {time.monotonic() - began:.1f} s after SIGKILL")
    assert not Path(f"/proc/{pid}/numa_maps").exists() or not Path(f"/proc/{pid}/maps").read_text()


def test_killed_while_it_is_filled() -> None:
    before = room(FAST)
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        wait_until(lambda: room(FAST).free < before.free - ROOM, "it takes memory")
        os.kill(parent.pid, signal.SIGKILL)
    wait_until(lambda: room(FAST).free > before.free - 64 * MIB, "the node has its memory back")
