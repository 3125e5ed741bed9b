"""The suite that compares loops, pages and figures with CXL-Bench's finds planted differences."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tierscope.machine.hwloc import read_hwloc
from tierscope.model.spec import Placement
from tierscope.peers.cxlbench.placing import Means
from tierscope.peers.cxlbench.plan import prepare
from tierscope.peers.cxlbench.workload import expand, parse_workload

ROOT = Path(__file__).parents[2]
MACHINE = read_hwloc(ROOT / "tests/topology/xml/xeon-cluster-on-die.xml")
REGION = range(0x1000, 0x100000)


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "bench")
    for name in ("cxlbench", "stepping"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("cxlbench")


@pytest.fixture
def stepping(suite: ModuleType) -> ModuleType:  # which makes it importable
    return importlib.import_module("stepping")


WRITE_BACK = {"load 64": 1.0, "store 64": 1.0, "clwb 64": 1.0, "sfence": 1.0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"loop": {k: v for k, v in WRITE_BACK.items() if k != "sfence"}}, "'sfence' comes 0.00"),
        ({"loop": {**WRITE_BACK, "mfence": 1.0}}, "'mfence' comes 1.00 times here, 0.00 there"),
        (
            {"loop": {"clflushopt 64" if k == "clwb 64" else k: 1.0 for k in WRITE_BACK}},
            "'clflushopt 64' comes 1.00 times here, 0.00 there",
        ),
        ({"ranges": [("0", 0.25), ("1", 0.25), ("2", 0.5)]}, "pages: 25% on node 0, 25% on node 1"),
        ({"ranges": [("0,1", 0.6), ("2", 0.4)]}, "pages: 60% on node 0,1"),
        ({"figure": 8.7}, "ratio 8.70"),  # a mapping's time for an unmapping's
    ],
)
def test_a_planted_difference_is_found(
    change: dict[str, Any], said: str, suite: ModuleType
) -> None:
    facts = {"loop": WRITE_BACK, "ranges": [("0,1", 0.5), ("2", 0.5)], "figure": 1.0}
    theirs = suite.Facts(**facts)
    assert list(suite.differences(suite.Facts(**facts), theirs)) == []
    found = list(suite.differences(suite.Facts(**{**facts, **change}), theirs))
    assert any(said in one for one in found), found


def test_other_placing_is_found_in_the_plan(suite: ModuleType) -> None:
    text = (
        "a: {args: {numa_memory_nodes: [0, 1, 2, 3], numa_task_nodes: [0], "
        "memory_region_size: 1G, percentage_pages_first_partition: 60, "
        "node_count_first_partition: 2}}"
    )
    workload = parse_workload(text, "w.yaml")
    (spec,) = prepare(workload, Means(MACHINE)).specs
    ((values,),) = [raw.parts for raw in expand(workload.benchmarks)]
    placement = spec.regions()[0].placement
    expected = suite.expected_ranges(values)
    assert expected == [("0,1", 0.6), ("2,3", 0.4)]
    assert list(suite.placed_apart("plan", suite.planned_ranges(placement), expected)) == []
    ranges = Placement.model_validate(placement.model_dump(exclude={"ranges"}))
    (said,) = suite.placed_apart("plan", suite.planned_ranges(ranges), expected)
    assert said.startswith("plan: 30% on node 0, 30% on node 1, 20% on node 2")


@pytest.mark.parametrize(
    ("name", "operands", "locked", "steps"),
    [
        ("mov", "(%rax),%rcx", False, [("load", 0x2000, 8)]),
        ("vmovdqu", "0x20(%rax),%ymm0", False, [("load", 0x2020, 32)]),
        ("movups", "%xmm0,-0x10(%rax,%rcx,8)", False, [("store", 0x2030, 16)]),
        ("vmovntdq", "%ymm0,(%rax)", False, [("nt-store", 0x2000, 32)]),
        ("movntdqa", "(%rax),%xmm1", False, [("nt-load", 0x2000, 16)]),
        ("add", "%rcx,(%rax)", False, [("load", 0x2000, 8), ("store", 0x2000, 8)]),
        ("cmpxchg", "%rcx,(%rax)", True, [("atomic", 0x2000, 8)]),
        ("clwb", "(%rax)", False, [("clwb", 0x2000, 0)]),
        ("sfence", "", False, [("sfence", 0, 0)]),
        ("lea", "(%rax),%rcx", False, []),
        ("mov", "(%rsp),%rcx", False, []),
        ("mov", "%fs:0x28(%rax),%rcx", False, []),
    ],
)
def test_an_instruction_is_what_it_does_to_the_region(
    name: str, operands: str, locked: bool, steps: list[tuple[str, int, int]], stepping: ModuleType
) -> None:
    registers = {"rax": 0x2000, "rcx": 8, "rsp": 0x7FFF0000}
    instruction = stepping.Instruction(name, operands, locked)
    found = list(stepping.steps_of(instruction, registers, REGION))
    assert [(one.what, one.address, one.size) for one in found] == steps


def test_a_loop_is_its_events_whatever_the_width_of_its_instructions(
    stepping: ModuleType,
) -> None:
    def trace(width: int) -> list[Any]:
        found = []
        for line in (0x4000, 0x2000, 0x8000, 0x1000, 0x6000):
            for what in ("load", "store"):
                found += [stepping.Step(what, line + i, width) for i in range(0, 64, width)]
            found += [stepping.Step("clwb", line), stepping.Step("sfence")]
        return found

    narrow, wide = (stepping.loop(stepping.events(trace(width))) for width in (16, 32))
    assert narrow == wide
    assert set(narrow) == {"load 64", "store 64", "clwb 64", "sfence"}
    stream = [stepping.Step("load", 0x1000 + 32 * i, 32) for i in range(1000)]
    assert stepping.events(stream) == ["load of a stream"]


def test_a_case_becomes_a_file_of_the_programs_branch(suite: ModuleType, tmp_path: Path) -> None:
    text = (
        "a: {args: {exec_mode: random, operation: write, flush_instruction: cache, "
        "numa_memory_nodes: [0], numa_task_nodes: [0], memory_region_size: 1G, access_size: 64}}"
    )
    workload = parse_workload(text, "w.yaml")
    (spec,) = prepare(workload, Means(MACHINE)).specs
    ((values,),) = [raw.parts for raw in expand(workload.benchmarks)]
    path = tmp_path / "program"
    both = "memory_region_size numa_memory_nodes numa_task_nodes access_size exec_mode operation "
    both += "number_operations run_time number_threads random write "
    for names, cache in (
        ("flush_instruction min_io_chunk_size", "flush_instruction: cache"),
        (
            "cache_instruction min_io_batch_size memory-unmap-private",
            "cache_instruction: write-back",
        ),
    ):
        path.write_text(both + names)
        written = suite.workload_of(suite.Program(path), values, spec)
        assert cache in written
        ((again,),) = [raw.parts for raw in expand(parse_workload(written, "x").benchmarks)]
        assert again["memory_region_size"] == 1 << 30
        assert again["cache_instruction"] in ("cache", "write-back")
    path.write_text(both)
    assert suite.workload_of(suite.Program(path), values, spec) is None
