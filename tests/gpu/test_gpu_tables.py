"""The tables of copies name all that tells one copy from another."""

import io
from pathlib import Path

import pytest
from gpu_machine import machine, plan_of, run_of
from rich.console import Console
from tests import synthetic

from tierscope.kinds.gpu_copy.show import copies_of, describe
from tierscope.kinds.views import VIEWS
from tierscope.model.topology import Cache
from tierscope.report.run import show_run


def names(**given):
    topology = machine(gpus=1)
    run = run_of(plan_of("gpu-copy", topology, from_="node:0", to="gpu:0", **given), topology)
    return [describe(copy) for copy in copies_of(run.measurements, run)]


def test_a_copy_s_name_tells_rows_memory_and_pages():
    assert names() == ["node:0 -> gpu:0, ce, pinned"]
    assert names(rows="4k:8k") == ["node:0 -> gpu:0, ce, pinned, rows of 4096 B every 8192 B"]
    assert names(memory="registered", pages="base,2m") == [
        "node:0 -> gpu:0, ce, registered",
        "node:0 -> gpu:0, ce, registered in 2m pages",
    ]


def with_l3(size):
    """A machine whose CPUs share one L3, as Grace's do."""
    topology = machine(gpus=1, nodes=1)
    l3 = Cache(level=3, type="unified", size_bytes=size, cpus=topology.cpus)
    return topology.model_copy(update={"caches": [l3]})


def test_host_memory_is_chased_past_the_cpus_caches_unless_asked_otherwise():
    grace = with_l3(114 << 20)
    chased = plan_of("gpu-latency", grace, to="node:0").measurements[0]
    assert chased.pattern.size == 512 << 20
    assert not chased.fits_caches(grace.caches)
    console = Console(file=io.StringIO(), width=100, highlight=False)
    run = run_of(plan_of("gpu-latency", grace, to="node:0", size="64m,1g"), grace)
    show_run(console, run, Path("run"), VIEWS)
    said = " ".join(console.file.getvalue().split())
    assert "node:0: the CPUs' caches may hold working sets of up to 64 MiB; such latencies" in said
    assert "gpu:0: the CPUs' caches" not in said


def shown(**given):
    """What is printed where starting a copy takes as long as 64 KiB of it."""
    topology = machine(gpus=2)
    run = run_of(plan_of("gpu-copy", topology, **given), topology)
    measurements = [
        synthetic.changed(entry, estimate=50e9 * size / (size + (64 << 10)))
        for entry in run.measurements
        for size in [entry.pattern["size"]]
    ]
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_run(console, run.model_copy(update={"measurements": measurements}), Path("run"), VIEWS)
    return " ".join(console.file.getvalue().split())


def test_sweeps_in_pages_of_several_sizes_are_not_taken_for_one():
    sweep = {"memory": "registered", "pages": "base,2m", "size": "4k..1g*4"}
    assert shown(from_="node:0", to="gpu:0", **sweep).count("half of it from 64 KiB on") == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"memory": "write-combined"}, "512 MiB, host memory write-combined"),
        ({"memory": "registered", "pages": "2m"}, "512 MiB, host memory registered in 2m pages"),
        ({"rows": "4k:8k"}, "512 MiB, rows of 4096 B every 8192 B, host memory pinned"),
    ],
)
def test_a_matrix_says_what_memory_and_rows_it_is_of(given, said):
    assert said in shown(from_="all", to="all", **given)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("host-to-all", ["host-to-all: 3 transfers from node:0, ce, pinned"]),
        ("all-to-host", ["all-to-host: 3 transfers to node:0, ce, pinned"]),
        ("one-to-all", [f"one-to-all: 2 transfers from gpu:{one}, ce" for one in range(3)]),
        ("all-to-all", ["all-to-all: 6 transfers, ce"]),
    ],
)
def test_a_set_s_name_tells_the_end_that_its_transfers_share(name, said):
    topology = machine(gpus=3, nodes=1)
    run = run_of(plan_of("gpu-together", topology, set=name), topology)
    copies = copies_of(run.measurements, run)
    assert [describe(copy).partition(", gpu:")[0] for copy in copies] == said
