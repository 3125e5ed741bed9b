"""Programs that are started under each policy: where the pages are is what was asked for."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tierscope.analysis.effect import Watched, landing
from tierscope.model.endpoint import parse_ranges
from tierscope.model.errors import UserError
from tierscope.place.launch import Mechanism, decide, own_environment, preloading, start
from tierscope.place.look import look_at
from tierscope.place.memory_file import place_file
from tierscope.place.nodes import Selection
from tierscope.place.pages import mappings, move
from tierscope.place.policy import Policy, make_policy

sys.path.insert(0, str(Path(__file__).parents[2] / "placement"))
from probing import PAGE, Probe, build, counted, probe_of

pytestmark = pytest.mark.testbed

DRAM, REMOTE_DRAM, HBM, OFFLINE, CXL = 0, 1, 2, 3, 4
WITH_MEMORY = (DRAM, REMOTE_DRAM, HBM, CXL)
FIVE_THREE_ONE = {DRAM: 5, REMOTE_DRAM: 3, HBM: 1}
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
TIERSCOPE = Path(sys.executable).with_name("tierscope")
PAGES = 8 * 256
"""Of each thread: 8 MiB."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("probe"))


@pytest.fixture
def kernel_weights() -> Iterator[None]:
    """The kernel's weights are the machine's: set here, put back after."""
    before = {node: (WEIGHTS / f"node{node}").read_text() for node in FIVE_THREE_ONE}
    for node, weight in FIVE_THREE_ONE.items():
        (WEIGHTS / f"node{node}").write_text(str(weight))
    yield
    for node, text in before.items():
        (WEIGHTS / f"node{node}").write_text(text)


@contextlib.contextmanager
def placed(
    program: Path,
    policy: Policy,
    words: str = "mmap 8 1",
    mechanism: Mechanism | None = None,
    heap_only: bool = False,
) -> Iterator[Probe]:
    """The probe as ``tierscope place exec`` starts it."""
    launch = decide(policy, mechanism, heap_only)
    environment = preloading(launch, policy, program, own_environment())
    with (
        start(launch.policy, [str(program), *words.split()], env=environment,
              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
        probe_of(process) as probe,
    ):  # fmt: skip
        yield probe


def assert_in_rounds(
    found: dict[int, int], nodes: Sequence[int], weights: Sequence[int], rounds_off: int = 1
) -> None:
    """Pages have the weights, but for rounds that were begun or not finished."""
    pages, rounds = sum(found.values()), sum(weights)
    assert set(found) <= set(nodes)
    for node, weight in zip(nodes, weights, strict=True):
        assert abs(found.get(node, 0) - pages * weight / rounds) <= rounds_off * rounds, found


@pytest.mark.parametrize("node", WITH_MEMORY)
def test_bind_puts_every_page_on_its_node(program: Path, node: int) -> None:
    # Of the emulated CXL memory the heap alone: QEMU crashed once with a whole process there.
    with placed(program, Policy("bind", (node,)), heap_only=node == CXL) as probe:
        assert probe.pages == [{node: PAGES}]


def test_preferred_and_preferred_many_use_their_nodes_while_there_is_room(program: Path) -> None:
    with placed(program, Policy("preferred", (HBM,))) as probe:
        assert probe.pages == [{HBM: PAGES}]
    with placed(program, Policy("preferred-many", (REMOTE_DRAM, HBM))) as probe:
        assert set(probe.pages[0]) <= {REMOTE_DRAM, HBM}


def test_interleave_takes_a_page_a_node_in_each_thread(program: Path) -> None:
    with placed(program, Policy("interleave", (DRAM, HBM)), "mmap 8 3") as probe:
        assert len(probe.pages) == 3
        for found in probe.pages:
            assert_in_rounds(found, (DRAM, HBM), (1, 1), rounds_off=4)


@pytest.mark.usefixtures("kernel_weights")
def test_the_kernels_weights_hold_within_a_round_in_each_thread(program: Path) -> None:
    nodes, weights = tuple(FIVE_THREE_ONE), tuple(FIVE_THREE_ONE.values())
    launch = decide(Policy("weighted", nodes, weights))
    assert (launch.mechanism, launch.notes) == ("kernel", [])
    with placed(program, Policy("weighted", nodes, weights), "mmap 8 3 fork") as probe:
        assert len(probe.pages) == 3
        for found in probe.pages:
            assert_in_rounds(found, nodes, weights)


def test_weights_other_than_the_kernels_are_placed_in_user_space_and_said() -> None:
    launch = decide(Policy("weighted", (DRAM, HBM), (3, 1)))
    assert launch.mechanism == "user"
    assert launch.notes == [
        (
            "a preloaded library places memory by these weights, since the kernel's weights, one "
            "table for the whole machine, are node 0: 1, node 2: 1; `sudo tierscope place weights "
            "--use node:0,2@3:1 --apply` sets those asked for"
        )
    ]


@pytest.mark.parametrize(
    "words",
    ["mmap 8 1", "mmap 8 3", "malloc 8 1", "malloc 8 3", "small 8 1", "small 8 3", "static 8 1",
     "reserve 8 1", "grow 8 1", "mmap 8 2 fork"],
)  # fmt: skip
def test_weights_in_user_space_hold_however_memory_is_got(program: Path, words: str) -> None:
    policy = Policy("weighted", (DRAM, HBM), (3, 1))
    with placed(program, policy, words, "user") as probe:
        for found in probe.pages:
            # A range may begin and end within a round, and cross into another block.
            assert_in_rounds(found, (DRAM, HBM), (3, 1), rounds_off=3)


def test_weights_in_user_space_need_few_mappings(program: Path) -> None:
    policy = Policy("weighted", (DRAM, REMOTE_DRAM, HBM), (2, 2, 1))
    code = (
        "import mmap, os; areas = [mmap.mmap(-1, size << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)"
        " for size in (1, 16, 256, 1024)]; print(len(open('/proc/self/maps').readlines()))"
    )
    launch = decide(policy, "user")
    python = Path(sys.executable).resolve()
    environment = preloading(launch, policy, python, own_environment())
    with start(launch.policy, [str(python), "-c", code], env=environment,
               stdout=subprocess.PIPE) as process:  # fmt: skip
        assert int(process.communicate()[0]) < 65530 // 4


def test_the_heap_alone_is_placed(program: Path) -> None:
    with placed(program, Policy("bind", (HBM,)), "small 8 1", heap_only=True) as probe:
        assert probe.pages == [{HBM: sum(probe.pages[0].values())}]
        others = [one.policy for one in mappings(probe.pid) if not one.anonymous]
        assert set(others) == {"default"}


@pytest.mark.usefixtures("kernel_weights")
def test_the_heap_alone_by_the_kernels_weights(program: Path) -> None:
    nodes, weights = tuple(FIVE_THREE_ONE), tuple(FIVE_THREE_ONE.values())
    with placed(program, Policy("weighted", nodes), heap_only=True) as probe:
        assert_in_rounds(probe.pages[0], nodes, weights)


def test_the_command_becomes_the_program(program: Path) -> None:
    command = [TIERSCOPE, "place", "exec", "--to", "node:2", "--from", "node:0", "--", program]
    with (
        subprocess.Popen([*command, "malloc", "8", "1"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) as process,
        probe_of(process) as probe,
    ):  # fmt: skip
        assert probe.pid == process.pid
        assert probe.pages == [{HBM: sum(probe.pages[0].values())}]
        cpus = Path("/sys/devices/system/node/node0/cpulist").read_text()
        assert os.sched_getaffinity(probe.pid) == set(parse_ranges(cpus.strip()))


@pytest.mark.parametrize(
    ("to", "complaint"),
    [
        ("node:0,3", "node 3 is offline; choose among the nodes with memory: 0-2,4"),
        ("node:17", "node 17 does not exist; choose"),
    ],
)
def test_a_node_without_memory_is_refused(to: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        make_policy("bind", to)


def test_a_range_is_counted_page_by_page(program: Path) -> None:
    with placed(program, Policy("bind", (DRAM,))) as probe:
        assert counted(probe.pid, probe.ranges[0][:3]) == {DRAM: 3}
        assert probe.ranges[0].step == PAGE


def test_pages_of_a_running_process_move_and_what_stays_is_counted(program: Path) -> None:
    with placed(program, Policy("bind", (DRAM,)), "mmap 8 2") as probe:
        moved = move(probe.pid, (DRAM,), Selection((HBM,)))
        assert [counted(probe.pid, pages) for pages in probe.ranges] == [{HBM: PAGES}] * 2
        assert moved.to_bytes[HBM] == moved.moved_bytes >= 2 * PAGES * PAGE
        assert moved.found_bytes == moved.moved_bytes + sum(moved.stayed.values())
        move(probe.pid, (HBM,), Selection((DRAM, REMOTE_DRAM), (3, 1)))
        found = counted(probe.pid, [page for pages in probe.ranges for page in pages])
        # 16 MiB are eight blocks, begun anywhere in a round of four.
        assert found[DRAM] + found[REMOTE_DRAM] == 2 * PAGES
        assert abs(found[REMOTE_DRAM] - PAGES // 2) <= 512 * 2


def test_a_huge_page_moves_whole(program: Path) -> None:
    policy = Policy("bind", (DRAM,))
    with placed(program, policy, "malloc 8 1") as probe:
        move(probe.pid, (DRAM,), Selection((REMOTE_DRAM,)))
        assert probe.pages == [{DRAM: len(probe.ranges[0])}]
        assert counted(probe.pid, probe.ranges[0]) == {REMOTE_DRAM: len(probe.ranges[0])}


@pytest.mark.soak
def test_a_full_node_is_named_as_the_reason_and_moving_stops(program: Path) -> None:
    with placed(program, Policy("bind", (DRAM,)), "mmap 600 1") as probe:
        moved = move(probe.pid, (DRAM,), Selection((HBM,)))
        assert counted(probe.pid, probe.ranges[0])[HBM] * PAGE <= moved.moved_bytes
        assert "no room on the node that they were to go to" in moved.stayed
        assert moved.moved_bytes < 600 << 20


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy("bind", (HBM,)), {HBM: 16}),
        (Policy("interleave", (DRAM, HBM)), {DRAM: 8, HBM: 8}),
        (Policy("weighted", (DRAM, HBM), (3, 1)), {DRAM: 12, HBM: 4}),
    ],
    ids=str,
)
def test_a_file_in_memory_has_a_policy_of_its_own_for_all_programs(
    policy: Policy, expected: dict[int, int]
) -> None:
    path = Path(f"/dev/shm/tierscope-{os.getpid()}")
    try:
        path.write_bytes(bytes(8 * PAGE))
        assert place_file(path, Policy("bind", (DRAM,))) == {DRAM: 8 * PAGE}
        place_file(path, policy, 16 * PAGE)
        code = f"open('{path}', 'r+b').write(bytes({16 * PAGE}))"
        subprocess.run([sys.executable, "-c", code], check=True)
        found = place_file(path, policy)
        assert found == {node: pages * PAGE for node, pages in expected.items()}
    finally:
        path.unlink()


def test_a_look_says_how_much_landed_where(program: Path) -> None:
    policy = Policy("interleave", (DRAM, HBM))
    with placed(program, policy, "mmap 24 2") as probe:
        look = look_at(probe.pid, 1.0)
        assert look is not None
        judged = landing(Watched(("probe",), policy, "kernel", (), 0, (look,)))
    assert judged is not None
    assert judged.as_asked is True
    assert 0 < judged.tolerance < 0.1
    assert judged.off_nodes == 0
