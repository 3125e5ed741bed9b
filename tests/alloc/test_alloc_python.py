"""tierscope.alloc: memory of arenas from Python."""

import errno
import gc

import pytest

from tierscope.alloc import Arena

MIB = 1 << 20


def test_memory_is_zeroed_writable_and_of_the_arena() -> None:
    arena = Arena("python", "0")
    numbers = arena.allocate(8 * MIB).cast("d")
    assert len(numbers) == MIB
    assert numbers[7] == 0.0
    for at in range(0, MIB, 512):
        numbers[at] = 1.5
    assert arena.statistics()["allocated"] >= 8 * MIB
    assert sum(arena.bytes_per_node().values()) >= 8 * MIB
    arena.move_to("bind:0")
    assert numbers[512] == 1.5


def test_memory_is_freed_with_its_last_view_and_the_arena_after_it() -> None:
    arena = Arena("python", "0")
    before = arena.statistics()["allocated"]
    block = arena.allocate(16 * MIB)
    view = block[8 * MIB :]
    del block
    assert arena.statistics()["allocated"] >= before + 16 * MIB
    with pytest.raises(OSError, match="File exists") as caught:
        Arena("python", "0")
    assert caught.value.errno == errno.EEXIST
    del arena, caught
    gc.collect()
    view[0] = 7
    with pytest.raises(OSError, match="File exists"):
        Arena("python", "0")
    assert view[0] == 7
    del view
    gc.collect()
    assert Arena("python", "0").statistics()["allocated"] == 0


def test_a_full_arena_raises_or_spills() -> None:
    arena = Arena("small", "0", capacity=4 * MIB)
    with pytest.raises(MemoryError, match="no room for 8388608 bytes"):
        arena.allocate(8 * MIB)
    assert arena.statistics()["failed_count"] == 1
    spilling = Arena("spilling", "0", 4 * MIB, "spill")
    assert len(spilling.allocate(8 * MIB)) == 8 * MIB
    assert spilling.statistics()["spilled"] == 8 * MIB


@pytest.mark.parametrize(("nodes", "number"), [("nowhere", errno.EINVAL), ("1023", errno.ENODEV)])
def test_wrong_nodes_are_an_error_that_names_them(nodes: str, number: int) -> None:
    with pytest.raises(OSError, match=f"arena wrong on nodes {nodes}") as caught:
        Arena("wrong", nodes)
    assert caught.value.errno == number
    with pytest.raises(OSError, match=f"moving to nodes {nodes}"):
        Arena("right", "0").move_to(nodes)


def test_another_word_for_full_is_an_error() -> None:
    with pytest.raises(ValueError, match="when_full is 'drop'; it takes fail, spill or reclaim"):
        Arena("wrong", "0", when_full="drop")  # type: ignore[arg-type]
