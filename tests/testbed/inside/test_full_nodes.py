"""Full nodes: no program is killed, none grows beyond what it holds, each page of it has room."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tierscope.machine.files import Files
from tierscope.peers.hmsdk import hmctl
from tierscope.place.launch import find_library
from tierscope.place.nodes import nodes_with_memory

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("nothing_is_killed")]

MIB = 1 << 20
NODE = 2 if 2 in nodes_with_memory() else nodes_with_memory()[-1]
"""HBM, or on machines without any the last node."""
MEMINFO = Files().text(f"/sys/devices/system/node/node{NODE}/meminfo") or "0 0 0 0"
HAS = int(MEMINFO.split()[3]) >> 10
"""MiB in all; 0 where the kernel lists no nodes."""
LIBRARIES = find_library().parent
HEADERS = LIBRARIES.with_name("_include")
SOURCES = Path(__file__).parents[2] / "alloc"
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MORE_THAN_IT_HAS = HAS + 60
ON_IT_ALONE = [f"{NODE}", f"bind:{NODE}"]
WEIGHTED = [f"{NODE}@2,0@1", f"weighted:{NODE}"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    for name, library in (("full_node", "tierscope-alloc"), ("hmalloc_program", "hmalloc")):
        linked = ["-L", LIBRARIES, f"-l{library}", f"-Wl,-rpath,{LIBRARIES}"]
        source = SOURCES / f"{name}.c"
        subprocess.run(
            ["cc", "-O1", "-pthread", "-I", HEADERS, source, *linked, "-o", folder / name],
            check=True,
        )
    return folder


@pytest.fixture(params=["always", "madvise", "never"])
def thp(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each setting of transparent huge pages; the one before it afterwards."""
    before = THP.read_text().split("[")[1].split("]")[0]
    THP.write_text(request.param)
    yield request.param
    THP.write_text(before)


def start(*command: object) -> "subprocess.Popen[str]":
    return subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)  # fmt: skip


@contextlib.contextmanager
def taken(programs: Path) -> Iterator[None]:
    """Another program holds all that the node had free."""
    with start(programs / "full_node", "hold", NODE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield
        holder.communicate()


def numbers(process: "subprocess.Popen[str]") -> tuple[int, ...]:
    """What a program prints at its end, after it got a line; it ends by itself."""
    printed, _ = process.communicate("\n")
    assert process.returncode == 0
    return tuple(map(int, printed.split()))


def check(found: tuple[int, ...], nodes: str) -> None:
    usable, resident, _, grown, elsewhere = found
    assert resident <= 1.1 * usable + 16 * MIB
    assert grown <= 4 * MIB
    if nodes.startswith("bind:"):
        assert elsewhere == 0


@pytest.mark.parametrize("nodes", [*ON_IT_ALONE, *WEIGHTED])
def test_a_program_that_fills_the_node_spills(nodes: str, thp: str, programs: Path) -> None:
    found = numbers(start(programs / "full_node", "fill", nodes, MORE_THAN_IT_HAS))
    check(found, nodes)
    usable, _, spilled, _, _ = found
    assert usable >= MORE_THAN_IT_HAS * MIB
    if nodes in ON_IT_ALONE:
        assert spilled > 0


@pytest.mark.parametrize("nodes", [*ON_IT_ALONE, *WEIGHTED, f"bind:0,{NODE}"])
def test_a_node_that_another_program_filled_has_nothing(
    nodes: str, thp: str, programs: Path
) -> None:
    with taken(programs):
        found = numbers(start(programs / "full_node", "fill", nodes, 100))
    check(found, nodes)
    if nodes in ON_IT_ALONE:
        assert found[2] > 0


@pytest.mark.parametrize("nodes", [*ON_IT_ALONE, *WEIGHTED])
def test_memory_that_is_used_after_another_program_filled_the_node(
    nodes: str, thp: str, programs: Path
) -> None:
    with start(programs / "full_node", "late", nodes, 100) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        with taken(programs):
            check(numbers(program), nodes)


def test_programs_that_fill_a_node_together(thp: str, programs: Path) -> None:
    command = (programs / "full_node", "fill", f"bind:{NODE}", MORE_THAN_IT_HAS // 2)
    for program in [start(*command) for _ in range(3)]:
        check(numbers(program), f"bind:{NODE}")


def test_hmalloc_under_membind_returns_null(thp: str, programs: Path) -> None:
    done = subprocess.run(
        [programs / "hmalloc_program", "fill", str(2 * HAS)],
        env=os.environ | hmctl.variables({"--membind": str(NODE)}),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    assert HAS / 4 <= int(done.stdout) <= HAS
