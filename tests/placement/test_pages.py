"""Pages by node, of real processes and of recorded numa_maps."""

import ctypes
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixture_machine import write

from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place.pages import bytes_by_node, mappings, nodes_of_pages, process_tree

NUMA_MAPS = """\
55d0 default file=/usr/bin/a\\040program mapped=10 N0=10 kernelpagesize_kB=4
55d1 bind:0,2 heap anon=30 dirty=30 N0=10 N2=20 kernelpagesize_kB=4
7f00 interleave:0-2 anon=512 dirty=512 N1=512 kernelpagesize_kB=4
7f10 bind:1 file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N1=3 kernelpagesize_kB=2048
7f20 prefer=static:4
7ffe default stack anon=2 dirty=2 N0=2 kernelpagesize_kB=4
"""


def test_pages_of_every_size_count_as_bytes(tmp_path: Path) -> None:
    write(tmp_path, "proc/7/numa_maps", NUMA_MAPS)
    files = Files(tmp_path)
    assert bytes_by_node(7, files=files) == {
        0: (10 + 10 + 2) * 4096,
        1: 512 * 4096 + 3 * (2 << 20),
        2: 20 * 4096,
    }
    assert bytes_by_node(7, heap_only=True, files=files) == {
        0: 10 * 4096,
        1: 512 * 4096 + 3 * (2 << 20),
        2: 20 * 4096,
    }
    assert mappings(7, files)[1].policy == "bind:0,2"
    assert mappings(7, files)[1].start == 0x55D1


def test_a_process_that_ended_has_no_pages(tmp_path: Path) -> None:
    assert bytes_by_node(7, files=Files(tmp_path)) == {}


def test_pages_of_this_process_are_counted_where_move_pages_finds_them() -> None:
    size = 64 * mmap.PAGESIZE
    before = sum(bytes_by_node(os.getpid(), heap_only=True).values())
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        area.write(bytes(size // 2))
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        found = nodes_of_pages(0, range(start, start + size, mmap.PAGESIZE))
        assert sum(bytes_by_node(os.getpid(), heap_only=True).values()) >= before + size // 2
    assert all(node is not None for node in found[:32])


def test_pages_of_nobody_are_refused() -> None:
    with pytest.raises(UserError, match="process 4194304 cannot be located: there is no such"):
        nodes_of_pages(4194304, [0])


def test_a_process_tree_has_children_of_children() -> None:
    code = "import subprocess; subprocess.run(['sh', '-c', 'echo $$; read x; true'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        shell = int(process.stdout.readline())
        assert process_tree(process.pid) == [process.pid, shell]
        assert process.pid in process_tree(os.getpid())
        process.communicate("\n")


def test_the_name_of_a_process_may_look_like_its_fields(tmp_path: Path) -> None:
    write(tmp_path, "proc/5/stat", "5 (a) S 1 (x) S 4 5 5 0")
    write(tmp_path, "proc/6/stat", "6 (b) S 5 6 6 0")
    assert process_tree(4, Files(tmp_path)) == [4, 5, 6]
