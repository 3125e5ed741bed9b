"""Measurements of nodes behind a memory-side cache: sizes, what is said, the levels found."""

import io

import pytest

import synthetic
from tierscope.kinds.bandwidth.show import over_working_set
from tierscope.kinds.bandwidth.show import show_table as show_bandwidth
from tierscope.kinds.latency.show import show_table
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import MemorySideCache, Topology
from tierscope.plans.expand import expand
from tierscope.plans.machine import default_size
from tierscope.plans.request import Request
from tierscope.report.evidence import warnings
from tierscope.report.pictures.picture import PictureInput
from tierscope.report.style import make_console

MIB, GIB = 1 << 20, 1 << 30


def behind(topology: Topology, number: int, size: int) -> Topology:
    """The machine with a cache in front of one node."""
    caches = [MemorySideCache(level=1, size_bytes=size)]
    nodes = [
        node.model_copy(update={"memory_side_caches": caches}) if node.number == number else node
        for node in topology.nodes
    ]
    return topology.model_copy(update={"nodes": nodes})


@pytest.mark.parametrize(
    ("target", "cache", "expected"),
    [(2, 512 * MIB, 2 * GIB), (0, 512 * MIB, 256 * MIB), (2, 96 * GIB, 4 * GIB)],
    ids=["exceeds the cache", "not of this node", "at most 4 GiB"],
)
def test_the_default_size_exceeds_a_memory_side_cache_where_it_can(
    machine: Topology, target: int, cache: int, expected: int
) -> None:
    assert default_size(behind(machine, 2, cache), [0], [target], 1) == expected


@pytest.mark.parametrize(("size", "held"), [("1g", True), ("2g", False)])
def test_a_spec_knows_whether_the_cache_in_front_may_hold_it(
    machine: Topology, size: str, held: bool
) -> None:
    options = {"op": "read", "from": "node:0", "to": "node:2", "threads": "1", "size": size}
    (spec,) = expand([Request(kind="bandwidth", options=options)], machine, True).measurements
    assert spec.fits_memory_side_cache(behind(machine, 2, GIB).nodes) == held
    assert not spec.fits_memory_side_cache(behind(machine, 1, GIB).nodes)


@pytest.mark.parametrize(
    ("in_llc", "in_front", "said"), [(False, True, True), (True, True, False), (False, None, False)]
)
def test_figures_of_the_cache_are_marked(in_llc: bool, in_front: bool | None, said: bool) -> None:
    (found, *_) = synthetic.memory_measurements(synthetic.Maker())
    changes = {"fits_caches": in_llc, "fits_memory_side_cache": in_front}
    lines = warnings([found.model_copy(update=changes)])
    assert any("memory-side cache" in line for line in lines) == said


def sweep(cache: int) -> tuple[list[Measurement], Run]:
    """Idle latency of a node behind a cache: L1, L2, L3, the cache, memory."""
    maker = synthetic.Maker()
    found = []
    for power in range(12, 34):
        size = 1 << power
        levels = ((48 << 10, 1.4), (2 * MIB, 4.5), (60 * MIB, 24.0), (cache, 110.0))
        value = next((ns for end, ns in levels if size <= end), 320.0)
        pattern = {"order": "random", "stride": 256, "size": size, "pages": "thp"}
        found.append(maker.make("latency", "node:0", "node:0", pattern, value, "ns"))
    run = synthetic.run(found)
    run.header.machine["nodes"][0]["memory_side_caches"] = [{"size_bytes": cache}]
    return found, run


def levels_said(cache: int) -> str:
    found, run = sweep(cache)
    file = io.StringIO()
    show_table(make_console(file), found, run)
    return " ".join(file.getvalue().split())


def test_a_memory_side_cache_is_a_level_between_the_last_cache_and_memory() -> None:
    said = levels_said(GIB)
    assert "memory-side cache of node:0: the system reports 1 GiB; measured: 110 ns up to" in said
    assert "memory: 320 ns" in said


def test_a_sweep_that_the_cache_holds_does_not_call_its_end_memory() -> None:
    said = levels_said(96 * GIB)
    assert "memory-side cache: 110 ns" in said
    assert "memory-side cache of node:0: the system reports 96 GiB; the sweep ends at" in said


def bandwidth_sweep(cache: int) -> tuple[list[Measurement], Run]:
    """Reads of a node behind a cache: 40 GB/s from it, 8 GB/s from the memory behind it."""
    maker = synthetic.Maker(noise=1e-6)
    found = []
    for power in range(20, 34):
        size = 1 << power
        held = size <= 60 * MIB
        rate = 200e9 if held else 40e9 if size <= cache else 8e9
        pattern = {"operation": "read", "order": "sequential", "access_size": 64, "size": size,
                   "pages": "thp", "isa": "auto", "threads": 8}  # fmt: skip
        made = maker.make("bandwidth", "node:0", "node:0", pattern, rate)
        found.append(made.model_copy(update={"fits_caches": held}))
    run = synthetic.run(found)
    run.header.machine["nodes"][0]["memory_side_caches"] = [{"size_bytes": cache}]
    return found, run


def test_bandwidth_says_what_the_cache_gives_and_what_comes_from_behind_it() -> None:
    found, run = bandwidth_sweep(GIB)
    file = io.StringIO()
    show_bandwidth(make_console(file), found, run)
    said = " ".join(file.getvalue().split())
    assert "memory-side cache of node:0, 1 GiB: 40" in said
    assert "GB/s with 1 GiB inside; 8" in said
    assert "with 8 GiB (8.0 x its size)" in said


def test_a_bandwidth_sweep_that_the_cache_holds_says_nothing_of_the_memory() -> None:
    found, run = bandwidth_sweep(96 * GIB)
    file = io.StringIO()
    show_bandwidth(make_console(file), found, run)
    assert "inside;" not in file.getvalue()


def test_the_picture_of_bandwidth_over_working_set_marks_the_cache() -> None:
    found, run = bandwidth_sweep(GIB)
    (picture,) = over_working_set(PictureInput("bandwidth", "Bandwidth", found, run))
    assert "memory-side cache" in str(picture.spec)
    assert "8 GiB have 8" in picture.alt
    assert "1 GiB inside" in picture.alt
