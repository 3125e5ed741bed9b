"""Memory that processes share: of recorded numa_maps, and of real processes."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tierscope.machine.files import Files
from tierscope.place.pages import bytes_by_node
from tierscope.place.shared_memory import own_memory

MIB = 1 << 20
SHARES = f"""
import mmap, os
area = mmap.mmap(-1, {64 * MIB})
for start in range(0, {64 * MIB}, {2 * MIB}):  # so that the kernel has 64 mappings of it
    area.madvise(mmap.MADV_RANDOM, start, {MIB})
if not os.fork():
    for page in range({8 * MIB}, {40 * MIB}, mmap.PAGESIZE):
        area[page] = 1
    os._exit(0)
os.wait()
print("ready", flush=True)
input()
"""
"""Has 32 MiB of 64 touched by a child that ends."""


def test_shared_memory_counts_once_for_a_program_and_its_children(tmp_path: Path) -> None:
    shared = "7f00 default file=/dev/zero\\040(deleted) mapped={0} N0={0} kernelpagesize_kB=4"
    for pid, own, mapped in ((7, 3, 100), (8, 5, 40)):
        path = tmp_path / f"proc/{pid}/numa_maps"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"5500 default heap anon={own} N2={own} kernelpagesize_kB=4\n{shared.format(mapped)}\n"
            "7fff default file=/usr/lib/libc.so.6 mapped=9 N0=9 kernelpagesize_kB=4\n"
        )
    assert own_memory([7, 8, 9], Files(tmp_path)) == {0: 100 * 4096, 2: 8 * 4096}


TWICE = f"""
import mmap, os
file = os.memfd_create("heap")
os.ftruncate(file, {16 * MIB})
views = [mmap.mmap(file, {16 * MIB}) for _ in range(2)]
for view in views:
    for page in range(0, {16 * MIB}, mmap.PAGESIZE):
        view[page] = 1
print("ready", flush=True)
input()
"""
"""Has 16 MiB that it has touched at two addresses each."""


@contextlib.contextmanager
def running(code: str) -> Iterator[tuple[int, list[Path]]]:
    """Give the process of a program that is ready, and its files in /proc/PID/map_files."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            links = [*Path(f"/proc/{program.pid}/map_files").iterdir()]
            try:
                links[0].stat()
            except PermissionError:
                pytest.skip("/proc/PID/map_files may not be opened here")
            yield program.pid, links
        finally:
            program.communicate("\n")


def shared_bytes(pid: int) -> int:
    return sum(own_memory([pid]).values()) - sum(bytes_by_node(pid, heap_only=True).values())


def test_pages_count_that_no_living_process_has_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def counted(path: str, flags: int) -> int:
        opened.append(path)
        return os.open(path, flags)

    own = SimpleNamespace(**vars(os) | {"open": counted})
    monkeypatch.setattr("tierscope.place.shared_memory.os", own)
    with running(SHARES) as (pid, links):
        zero = [one for one in links if "/dev/zero" in str(one.readlink())]
        blocks = zero[0].stat().st_blocks
        seen = shared_bytes(pid)
        assert 32 * MIB <= seen < 33 * MIB
        assert len(zero) == 64
        assert len(opened) == 1, "once for all of its mappings: there may be thousands"
        assert zero[0].stat().st_blocks == blocks, "the holes stay"
        assert shared_bytes(pid) == seen


def test_pages_that_are_mapped_twice_count_once() -> None:
    with running(TWICE) as (pid, _):
        assert 16 * MIB <= shared_bytes(pid) < 17 * MIB
