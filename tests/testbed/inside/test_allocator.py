"""Arenas on real nodes: pages are where they were asked for, and full ones do what they promise."""

import ctypes
import errno
import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tierscope.alloc import Arena, _library
from tierscope.peers.hmsdk import hmctl
from tierscope.place.launch import find_library
from tierscope.place.pages import mappings, nodes_of_pages

sys.path.insert(0, str(Path(__file__).parents[2] / "placement"))
from probing import build, pages_of, probe_of

pytestmark = pytest.mark.testbed

DRAM, REMOTE_DRAM, HBM, CXL = 0, 1, 2, 4
PAGE = 4096
MIB = 1 << 20
TIERSCOPE = Path(sys.executable).with_name("tierscope")
LIBRARIES = find_library().parent
HMALLOC_PROGRAM = Path(__file__).parents[2] / "alloc/hmalloc_program.c"


def touched(view: memoryview) -> memoryview:
    """The same, each page written to."""
    view[::PAGE] = b"\1" * -(-len(view) // PAGE)
    return view


def address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


def nodes_of(view: memoryview) -> Counter[int | None]:
    """Pages by node of a block's whole pages."""
    return Counter(nodes_of_pages(0, pages_of(address(view), len(view))))


def placed_by_numa_maps() -> dict[int, int]:
    """Bytes by node of this process's mappings that have a policy: arenas alone have one."""
    found: Counter[int] = Counter()
    for mapping in mappings(os.getpid()):
        if mapping.policy != "default":
            for node, pages in mapping.pages.items():
                found[node] += pages * mapping.page_bytes
    return dict(found)


def fill(arena: Arena, step: int, most: int) -> list[memoryview]:
    """Blocks of ``step`` bytes, touched, until the arena is full."""
    blocks: list[memoryview] = []
    while len(blocks) * step < most:
        try:
            blocks.append(touched(arena.allocate(step)))
        except MemoryError:
            break
    return blocks


@pytest.fixture(autouse=True)
def _no_arenas_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert placed_by_numa_maps() == {}


@pytest.mark.parametrize("node", [HBM, REMOTE_DRAM, CXL])
def test_pages_of_an_arena_are_on_its_node(node: int) -> None:
    arena = Arena("one", str(node))
    size = MIB // 4 if node == CXL else MIB
    blocks = [touched(arena.allocate(size)) for _ in range(4)]
    small = [touched(arena.allocate(100)) for _ in range(1000)]
    assert [set(nodes_of(block)) for block in blocks] == [{node}] * 4
    assert {_library().ts_tier_of(ctypes.c_void_p(address(block))) for block in small} == {node}
    found = arena.bytes_per_node()
    assert set(found) == {node}
    assert found[node] >= 4 * size + 100 * 1000
    assert found == placed_by_numa_maps()


@pytest.mark.parametrize("size", [300 << 10, 12 * MIB])
def test_a_ratio_holds_within_one_block(size: int) -> None:
    arena = Arena("both", "0@2,2@1")
    for _ in range(3):
        found = nodes_of(touched(arena.allocate(size)))
        pages = found.total()
        assert set(found) == {DRAM, HBM}
        # A block begins and ends anywhere in a round of three pages.
        assert abs(found[DRAM] - pages * 2 / 3) <= 2, found
    assert arena.bytes_per_node() == placed_by_numa_maps()


def test_a_full_arena_fails_spills_or_reclaims_as_asked() -> None:
    failing = Arena("failing", "2", 8 * MIB)
    blocks = fill(failing, MIB, 64 * MIB)
    assert 6 <= len(blocks) <= 8
    assert failing.statistics()["failed_count"] == 1
    assert failing.statistics()["committed"] <= 8 * MIB
    assert set(failing.bytes_per_node()) == {HBM}
    del blocks
    gc.collect()
    assert len(fill(failing, 2 * MIB, 4 * MIB)) == 2, "freed memory is there again"

    spilling = Arena("spilling", "2", 8 * MIB, "spill")
    blocks = fill(spilling, MIB, 16 * MIB)
    assert len(blocks) == 16
    elsewhere = [block for block in blocks if HBM not in nodes_of(block)]
    statistics = spilling.statistics()
    assert len(elsewhere) == statistics["spilled_count"] >= 8
    assert statistics["spilled"] == len(elsewhere) * MIB

    reclaiming = Arena("reclaiming", "2", 8 * MIB, "reclaim")
    blocks = fill(reclaiming, MIB, 64 * MIB)
    assert 6 <= len(blocks) <= 8
    del blocks
    gc.collect()


@pytest.mark.parametrize("nodes", ["2", "bind:2"])
def test_a_full_node_is_said_and_kills_nobody(nodes: str) -> None:
    arena = Arena("all", nodes)
    blocks = fill(arena, 16 * MIB, 1024 * MIB)
    assert 128 <= len(blocks) * 16 < 512
    assert set(arena.bytes_per_node()) == {HBM}
    assert arena.statistics()["failed_count"] == 1


def test_unused_pages_of_other_arenas_are_reclaimed_where_the_node_is_full() -> None:
    lender = Arena("lender", "2")
    blocks = fill(lender, 16 * MIB, 1024 * MIB)
    kept, free = blocks[: len(blocks) // 2], len(blocks) // 2
    del blocks
    gc.collect()
    borrower = Arena("borrower", "2", when_full="reclaim")
    borrowed = fill(borrower, 16 * MIB, (free - 2) * 16 * MIB)
    assert len(borrowed) == free - 2
    assert set(borrower.bytes_per_node()) == {HBM}
    assert all(set(nodes_of(block)) == {HBM} for block in kept)


def test_a_moved_arena_keeps_its_data_and_new_pages_follow() -> None:
    arena = Arena("moving", "2")
    block = arena.allocate(8 * MIB)
    # No zeros: where the kernel splits a huge page to move it, pages of zeros are given back.
    numbers = bytes(1 + number % 250 for number in range(8 * MIB // PAGE))
    block[::PAGE] = numbers
    assert set(arena.bytes_per_node()) == {HBM}
    arena.move_to("bind:0")
    assert set(arena.bytes_per_node()) == {DRAM}
    assert bytes(block[::PAGE]) == numbers
    assert set(nodes_of(touched(arena.allocate(MIB)))) == {DRAM}
    arena.move_to("0@2,2@1")
    found = nodes_of(block)
    assert abs(found[DRAM] - found.total() * 2 / 3) <= 2, found
    assert bytes(block[::PAGE]) == numbers


@pytest.mark.parametrize("nodes", ["2", "bind:2"])
def test_a_move_to_a_full_node_says_that_pages_stayed(nodes: str) -> None:
    filler = Arena("filler", "2")
    fillers = fill(filler, 4 * MIB, 1024 * MIB)
    arena = Arena("staying", "0")
    block = arena.allocate(64 * MIB)
    numbers = bytes(1 + number % 250 for number in range(64 * MIB // PAGE))
    block[::PAGE] = numbers
    with pytest.raises(OSError, match="moving to nodes") as caught:
        arena.move_to(nodes)
    assert caught.value.errno == errno.EBUSY
    assert arena.bytes_per_node()[DRAM] >= 32 * MIB
    assert bytes(block[::PAGE]) == numbers
    del fillers
    gc.collect()
    arena.move_to(nodes)
    assert set(arena.bytes_per_node()) == {HBM}
    assert bytes(block[::PAGE]) == numbers


def test_an_arena_in_persistent_memory_holds_what_its_file_system_does() -> None:
    folder = Path("/mnt/pmem")
    free = os.statvfs(folder)
    arena = Arena("large", f"pmem:{folder}")
    blocks = fill(arena, 4 * MIB, 1024 * MIB)
    assert len(blocks) * 4 * MIB >= free.f_bavail * free.f_frsize * 9 // 10
    assert arena.bytes_per_node() == {}, "no node's memory: the kernel knows none of DAX pages"
    assert list(folder.glob("tierscope-*")) == []
    assert os.statvfs(folder).f_bavail * free.f_frsize < 16 * MIB
    blocks[0][:] = b"\2" * (4 * MIB)
    assert bytes(blocks[1][::PAGE]) == b"\1" * (4 * MIB // PAGE)
    del blocks[len(blocks) // 2 :]
    gc.collect()
    again = fill(arena, 4 * MIB, len(blocks) * 3 * MIB)
    assert len(again) * 4 * MIB >= len(blocks) * 3 * MIB
    del arena, blocks, again
    gc.collect()
    assert os.statvfs(folder).f_bavail == free.f_bavail


@pytest.fixture(scope="module")
def hmalloc_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("hmalloc") / "program"
    headers = LIBRARIES.with_name("_include")
    subprocess.run(["cc", "-O1", "-pthread", "-I", headers, HMALLOC_PROGRAM, "-L", LIBRARIES,
                    "-lhmalloc", "-o", program], check=True)  # fmt: skip
    return program


def pages_by_hmalloc(command: list[str | Path], environment: dict[str, str]) -> dict[str, Any]:
    """What the program prints: pages by node for each way in which it gets memory."""
    done = subprocess.run(
        [*command, "pages", "4"], env=os.environ | environment, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stderr == ""
    found = {}
    for what, *words in map(str.split, done.stdout.splitlines()):
        found[what] = {int(node): int(pages) for node, pages in (one.split(":") for one in words)}
    assert set(found) == {"hmalloc", "hrealloc", "hmmap", "malloc"}
    return found


@pytest.mark.parametrize(
    ("option", "nodes", "shares"),
    [
        ("membind", "2", {HBM: 1}),
        ("preferred", "1", {REMOTE_DRAM: 1}),
        ("preferred-many", "1-2", None),
        ("interleave", "0,2", {DRAM: 1, HBM: 1}),
        ("weighted-interleave", "0,2", {DRAM: 1, HBM: 1}),
    ],
)
def test_hmalloc_follows_the_environment(
    hmalloc_program: Path, option: str, nodes: str, shares: dict[int, int] | None
) -> None:
    environment = hmctl.variables({f"--{option}": nodes}) | {"LD_LIBRARY_PATH": str(LIBRARIES)}
    found = pages_by_hmalloc([hmalloc_program], environment)
    assert HBM not in found["malloc"]
    for what in ("hmalloc", "hrealloc", "hmmap"):
        if shares is None:
            assert set(found[what]) <= {REMOTE_DRAM, HBM}
            continue
        assert set(found[what]) == set(shares), found
        for node, share in shares.items():
            expected = sum(found[what].values()) * share / sum(shares.values())
            assert abs(found[what][node] - expected) <= 2, found


def test_hmctl_places_what_a_program_gets_by_hmalloc(hmalloc_program: Path) -> None:
    command = [TIERSCOPE, "hmctl", "-m", "2", "-w", "0,1", hmalloc_program]
    found = pages_by_hmalloc(command, {"LD_LIBRARY_PATH": str(LIBRARIES)})
    assert HBM not in found.pop("malloc")
    assert all(set(nodes) == {HBM} for nodes in found.values()), found


def test_mremap_of_mappings_that_weights_spread_does_what_it_does_without_them(
    tmp_path: Path,
) -> None:
    program = tmp_path / "mremap_cases"
    source = Path(__file__).parents[2] / "alloc/mremap_cases.c"
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    environment = os.environ | {
        "LD_PRELOAD": str(LIBRARIES / "libtierscope-alloc-preload.so"),
        "TIERSCOPE_ALLOC": "strict",
        "TIERSCOPE_ALLOC_RULES": "arena both 0@2,2@1; map >= 64K -> both",
    }
    plain, spread = (
        subprocess.run([program], env=variables, capture_output=True, text=True, check=True)
        for variables in (os.environ, environment)
    )
    # The kernel does not resize several mappings in place.
    expected = [
        line.partition(":")[0] + f": error {errno.ENOMEM}" if "in place" in line else line
        for line in plain.stdout.splitlines()
    ]
    assert spread.stdout.splitlines() == expected


def test_a_preloaded_rule_places_by_size(tmp_path: Path) -> None:
    program = build(tmp_path)
    environment = os.environ | {
        "LD_PRELOAD": str(LIBRARIES / "libtierscope-alloc-preload.so"),
        "TIERSCOPE_ALLOC": "strict",
        "TIERSCOPE_ALLOC_RULES": "arena slow 2; size >= 1M -> slow",
    }
    for words, nodes in (("malloc 8 2", {HBM}), ("small 8 1", {DRAM, REMOTE_DRAM})):
        with (
            subprocess.Popen([program, *words.split()], env=environment, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) as process,
            probe_of(process) as probe,
        ):  # fmt: skip
            for found in probe.pages:
                assert found
                assert set(found) <= nodes
